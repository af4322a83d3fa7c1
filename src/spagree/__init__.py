"""spagree measures how much annotators agree when not everyone labelled everything.

    >>> import spagree
    >>> agreement = spagree.measure("example:krippendorff2011")     # or a path, a dataframe, (item, annotator, label)
    >>> agreement
    <Agreement: SPA 0.793 (0.336 to 0.967), 11 of 12 items, 41 annotations>

``print(agreement)`` shows the summary; ``agreement.items()``, ``.classes()``, ``.annotators()`` and ``.pairs()`` say
where annotators disagree, ``agreement.report("page.html")`` writes a page with charts, ``agreement.plan()`` says how
many annotations a narrower interval takes.

    measure, measure_all        agreement in a source, or in each of its questions
    measure_spans               agreement on what people mark: entities, errors, codes, segments
    compare                     rounds with each other, or a model with people
    tally, count_items, load    counts that merge with +, of marks tally_spans; LiveTally grows one annotation at a time
    assign, simulate, example   who annotates what; data with known agreement; data from the literature
"""

# __init__.pyi lists the public names; they are loaded on first use, so that `import spagree` and --help stay fast.

from functools import cache
from importlib import import_module

__version__ = "0.1.0"


@cache
def _homes() -> dict[str, str]:
    """Every public name with its module."""
    import ast
    import pkgutil

    lines = ast.parse(pkgutil.get_data(__name__, "__init__.pyi")).body
    return {alias.name: line.module for line in lines if isinstance(line, ast.ImportFrom) for alias in line.names}


def __getattr__(name: str) -> object:
    if name == "__all__":
        return __dir__()
    if name not in _homes():
        raise AttributeError(f"module 'spagree' has no attribute {name!r}")
    value = getattr(import_module(_homes()[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*_homes(), "__version__"])
