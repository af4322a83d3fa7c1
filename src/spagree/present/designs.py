"""An assignment in words: one screen that shows how balanced it is, and what came back."""

from __future__ import annotations

from dataclasses import asdict
from textwrap import fill
from typing import TYPE_CHECKING, Any

from spagree.errors import count
from spagree.present.wording import p_value, percent, printable

if TYPE_CHECKING:
    from spagree.assignment.design import Assignment
    from spagree.assignment.returned import Returned

SHOWN = 10
UNEVEN = 0.01


def explain(design: Assignment) -> str:
    """How balanced a design is, one fact per line.

    >>> from spagree.assignment import assign
    >>> print(explain(assign([f"q{i}" for i in range(12)], ["ann", "bob", "cyd", "dan"], per_item=2)))
    Assigned   12 items to 4 annotators, 2 per item: 24 annotations (seed 0)
    Work       6 items each
    Pairs      any two annotators share 2 items
    Connected  all annotators can be compared, directly or through others
    """
    even = design.balance
    people = count(even.annotators, "annotator")
    lines = [
        f"Assigned   {count(even.items, 'item')} to {people}, {design.per_item} per item: "
        f"{count(even.annotations, 'annotation')} (seed {design.seed})",
        f"Work       {_span(even.least_work, even.most_work, 'item')} each",
    ]
    if design.everyone:
        lines.append(f"Everyone   {count(len(design.everyone), 'item')} for all annotators")
    if even.fewest_shared is not None and even.most_shared is not None:
        lines.append(f"Pairs      any two annotators share {_span(even.fewest_shared, even.most_shared, 'item')}")
        apart = "groups share no item: nothing will show whether they agree; assign more items or more per item"
        joined = "all annotators can be compared, directly or through others"
        lines.append(f"Connected  {joined if even.groups == 1 else f'{even.groups:,} {apart}'}")
    return "\n".join(lines)


def _span(low: int, high: int, noun: str) -> str:
    return count(low, noun) if low == high else f"{low:,} to {count(high, noun)}"


def design_rows(design: Assignment) -> dict[str, Any]:
    """The balance as plain values for JSON."""
    return {"per_item": design.per_item, "seed": design.seed, "everyone": len(design.everyone)} | asdict(design.balance)


def explain_returned(returned: Returned, width: int = 100) -> str:
    """What came back, compared with the assignment.

    >>> from spagree.assignment import check_returned
    >>> print(explain_returned(check_returned([("q1", "ann"), ("q1", "bob"), ("q2", "ann")], [("q1", "bob")])))
    Returned   1 of 3 assigned annotations (33%)
    Short      2 items: q1 1 of 2, q2 0 of 1
    Did less   1 annotator: ann 0 of 2
    By people  consistent with chance (p = 0.083): all missed about the same share
    """
    share = percent(returned.done / returned.assigned) if returned.assigned else "none assigned"
    facts = [("Returned", f"{returned.done:,} of {count(returned.assigned, 'assigned annotation')} ({share})")]
    if returned.unplanned:
        facts.append(("Unplanned", f"{count(returned.unplanned, 'annotation')} by people the item was not assigned to"))
    if returned.missing:
        facts.append(("Short", f"{count(len(returned.short_items), 'item')}: {_named(returned.short_items)}"))
        facts.append(("Did less", f"{count(len(returned.people), 'annotator')}: {_named(returned.people)}"))
    facts += _evenness(returned)
    return "\n".join(fill(f"{head:<11}{words}", width, subsequent_indent=" " * 11) for head, words in facts)


def _named(rows: tuple[tuple[str, int, int], ...]) -> str:
    shown = ", ".join(f"{printable(name, 30)} {done} of {assigned}" for name, assigned, done in rows[:SHOWN])
    return shown + (f" and {len(rows) - SHOWN:,} more" if len(rows) > SHOWN else "")


def _evenness(returned: Returned) -> list[tuple[str, str]]:
    """Whether the missing annotations look random, over people and over items."""
    less, same = "some did much less; assign --finish reassigns their work", "all missed about the same share"
    skipped, none = "people skipped the same items; see what these have in common", "no items stand out"
    tests = (("By people", returned.p_people, less, same), ("By items", returned.p_items, skipped, none))
    return [
        (head, f"uneven ({p_value(p)}): {uneven}" if p < UNEVEN else f"consistent with chance ({p_value(p)}): {even}")
        for head, p, uneven, even in tests
        if p is not None
    ]


def returned_rows(returned: Returned) -> dict[str, Any]:
    """The same as plain values for JSON."""
    plain = ("assigned", "done", "missing", "unplanned", "p_people", "p_items")
    return {
        **{name: getattr(returned, name) for name in plain},
        "short_items": [dict(zip(("item", "assigned", "done"), row, strict=True)) for row in returned.short_items],
        "annotators": [dict(zip(("annotator", "assigned", "done"), row, strict=True)) for row in returned.people],
    }
