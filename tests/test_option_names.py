"""Messages name options as the reader writes them: keyword arguments in Python, --options on the command line."""

from __future__ import annotations

import pytest

from spagree.option_names import command_line, spelled


@pytest.mark.parametrize(
    ("typed", "python"),
    [
        ("say --item 'doc' --item 'sentence_no' if", 'say item=["doc", "sentence_no"] if'),
        ("--missing 'skip' --missing '-' gives", 'missing=["skip", "-"] gives'),
        ("--missing skip gives", 'missing="skip" gives'),
        ("--exclude-annotator 'ann' --exclude-annotator 'bob'", 'exclude_annotator=["ann", "bob"]'),
        ("--format wide --item 'doc'", 'format="wide", item="doc"'),
        ("--normalize --no-header", "normalize=True, header=False"),
        ("--item 'a' --label 'x' --label 'y'", 'item="a", label=["x", "y"]'),
        ("--duplicates says what counts", "duplicates= says what counts"),
        ("--duplicates first or --duplicates last", 'duplicates="first" or duplicates="last"'),
        ("name it with --label or --item", "name it with label= or item="),
        ("no options", "no options"),
    ],
)
def test_options_in_python_and_as_they_are_typed(typed: str, python: str) -> None:
    assert spelled(typed) == python
    with command_line():
        assert spelled(typed) == typed
