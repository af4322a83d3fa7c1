"""The items to read: their labels, who gave them, and each item's share of all disagreement."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from spagree.errors import count
from spagree.estimate.breakdown_values import Breakdowns, known
from spagree.estimate.breakdowns import MOST_DISPUTED
from spagree.estimate.similarity import SET_METRICS, as_set
from spagree.present.charts.agreement import NO_OPTION, annotator_keys, class_keys, seconds
from spagree.present.report.parts import Card, Cards, Name, Section, Vote, absent
from spagree.present.tables import chips
from spagree.present.wording import escape_controls, figure, moment, percent, printable
from spagree.timestamps import is_date

if TYPE_CHECKING:
    import polars

COLOURS = 6
MOST_PEOPLE = 12  # names beside a label
LONGEST_TEXT, LONGEST_NAME, LONGEST_LABEL = 400, 60, 40
ADDRESSES = ("http://", "https://")
TITLE = "Which items should be read first?"


def items(breakdowns: Breakdowns) -> Section:
    """Items as cards, largest share of all disagreement first."""
    lacking = breakdowns.lacks("disputed")
    if lacking and breakdowns.findings.spa.value == 1:
        lacking = "All items are unanimous: there is nothing to read."
    part = absent("cards", "Items", lacking) if lacking else cards(breakdowns)
    lead = "Ranked by their share of all disagreement. Filter them here, or click a class or an annotator anywhere."
    return Section("items", "Items", TITLE, "" if lacking else lead, [part])


def cards(breakdowns: Breakdowns) -> Cards:
    """One card per item; the filters offer only what is on the cards."""
    frame, answers = known(breakdowns.disputed), known(breakdowns.answers)
    classes, people = class_keys(breakdowns), annotator_keys(breakdowns)
    by_item = {key[0]: part for key, part in answers.partition_by("item", as_dict=True).items()}
    options = _options if breakdowns.findings.metric in SET_METRICS else chips
    drawn = tuple(_card(row, by_item[row["item"]], classes, people, options=options) for row in frame.rows(named=True))
    names = sorted({name for name in answers["annotator"] if name in people})
    shown = {key for card in drawn for key in card.classes}
    return Cards(
        drawn,
        tuple(Name(key, _label(label)) for label, key in classes.items() if key in shown),
        tuple(Name(people[name], printable(name, LONGEST_LABEL)) for name in names),
        _note(frame),
    )


def _note(frame: polars.DataFrame) -> str:
    notes = ["Unanimous items are left out."]
    if frame.height == MOST_DISPUTED:
        notes.append(f"These {frame.height} account for {percent(float(frame['share'].sum()))} of all disagreement.")
    if frame["share"].n_unique() < frame.height:
        notes.append("Among equal shares, items with the commonest confusion come first.")
    several = int((frame["texts"] > 1).sum()) if "texts" in frame.columns else 0
    if several:
        notes.append(f"{count(several, 'item')} came with several texts; one of them is shown.")
    return " ".join(notes)


def _card(
    row: Mapping[str, Any],
    answers: polars.DataFrame,
    classes: Mapping[str, str],
    people: Mapping[str, str],
    *,
    options: Callable[[str], tuple[str, ...]],
) -> Card:
    votes = answers.group_by("label").agg("annotator", "count").rows(named=True)
    votes.sort(key=lambda vote: (-sum(vote["count"]), classes.get(vote["label"], "")))
    link = str(row.get("link") or "")
    first, last = _days(answers["time"].drop_nulls().to_list())
    return Card(
        printable(str(row["item"]), LONGEST_NAME) or "''",
        f"{percent(row['share'])} of disagreement, agreement {figure(row['agreement'], 2)}",
        tuple(_votes(votes, options)),
        tuple(classes[vote["label"]] for vote in votes if vote["label"] in classes),
        tuple(sorted({people[name] for name in answers["annotator"] if name in people})),
        printable(str(row.get("text") or ""), LONGEST_TEXT),
        link if link.startswith(ADDRESSES) else "",
        first,
        last,
    )


def _days(times: Sequence[Any]) -> tuple[str, str]:
    """The first and the last day, if times are dates."""
    dates = sorted(seconds(time) for time in times)
    scale = 1000 if dates and is_date(dates[0] / 1000) else 1
    if not dates or not is_date(dates[0] / scale):
        return "", ""
    return moment(dates[0] / scale)[:10], moment(dates[-1] / scale)[:10]


def _options(label: str) -> tuple[str, ...]:
    """The options of a label that is a set of them, however it is written."""
    return tuple(printable(option, LONGEST_LABEL) for option in sorted(as_set(label))) or (NO_OPTION,)


def _votes(votes: Sequence[Mapping[str, Any]], options: Callable[[str], tuple[str, ...]]) -> list[Vote]:
    """Parts of one bar, side by side."""
    everything = sum(sum(vote["count"]) for vote in votes)
    parts, start = [], 0.0
    for place, vote in enumerate(votes):
        size = sum(vote["count"])
        width = 100 * size / everything
        named = sorted(printable(name, LONGEST_LABEL) for name in vote["annotator"] if name is not None)
        more = f" and {len(named) - MOST_PEOPLE:,} more" if len(named) > MOST_PEOPLE else ""
        colour = min(place, COLOURS - 1)
        people = tuple(named[:MOST_PEOPLE])
        parts.append(Vote(_label(vote["label"]), size, start, width, colour, people, more, options(vote["label"])))
        start += width
    return parts


def _label(label: str) -> str:
    return printable(escape_controls(label), LONGEST_LABEL) or "''"
