"""Alerts: what was found, the figures behind it and what to do; each has a beginning and an end.

Statistical alerts control their false alarms over a whole project or phase of it (from one mark of new
guidelines to the next), however often people look: if nothing is wrong, an alert of its kind ever opens in at
most 5% of them (docs/studies/watching.md). That people agree less on the latest items may be a harder batch:
it is a notice, no alert. Alerts about people say whose items to look at; different is not wrong.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from functools import partial
from typing import Any

from spagree.errors import count
from spagree.monitor.figures import SURE, Live
from spagree.present.words import figure, percent, printable

ENOUGH = 20  # annotations before missing overlap is reported
LONGEST = 60


@dataclass(frozen=True, slots=True)
class Alert:
    """One alert; ``subject`` is the class or annotator it is about, ``link`` leads to the evidence."""

    project: str
    question: str
    code: str
    title: str
    words: str
    to_do: str
    figures: dict[str, Any] = field(default_factory=dict)
    subject: str = ""
    link: str = "#live"
    began: float = 0.0
    ended: float | None = None

    @property
    def state(self) -> str:
        """Open or ended."""
        return "open" if self.ended is None else "ended"

    @property
    def key(self) -> tuple[str, str, str, str]:
        """What identifies it while it is open."""
        return self.project, self.question, self.code, self.subject

    def document(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {**asdict(self), "state": self.state}

    def row(self) -> dict[str, Any]:
        """As stored."""
        keys = {name: getattr(self, name) for name in ("project", "question", "code", "subject", "began", "ended")}
        return {**keys, "document": json.dumps(self.document())}


def alerts(live: Live) -> list[Alert]:
    """Every alert that should be open now."""
    return [*_about_answers(live), *_about_items(live)]


def notice(live: Live) -> str:
    """Where people agree less on the latest items, which a harder batch could explain: a hint, not an alert."""
    fall = live.fall
    if fall is None or not fall.is_clear:
        return ""
    return (
        f"From {figure(fall.before, 2)} to {figure(fall.after, 2)} on the latest {count(fall.items, 'item')}. It may "
        "be a batch of harder items, or people changed: look at a few of them. If the guidelines changed, add a mark."
    )


def _about_answers(live: Live) -> Iterator[Alert]:
    """Whether agreement is below the target, and who answers differently."""
    alert = partial(Alert, live.project, live.question)
    target, safe = live.settings.target, live.safe
    if target is not None and safe.low is not None and safe.high is not None and safe.high < target:
        yield alert(
            "below_target",
            "Agreement is below the target",
            f"It lies between {figure(safe.low)} and {figure(safe.high)}; the target is {figure(target)}.",
            "Look at the hardest items and the confused classes, clarify the guidelines, and mark the change.",
            {"target": target, "low": safe.low, "high": safe.high, "items": safe.items},
            link="#where",
        )
    people = live.people
    for code in people.named.nonzero()[0].tolist():
        name, apart = live.columns.annotators[code], -float(people.difference[code])
        items, shown = int(people.items[code]), printable(live.columns.annotators[code], LONGEST)
        yield alert(
            "annotator_apart",
            f"{shown} answers differently from the others",
            f"On the same {count(items, 'item')} the others agree with each other {round(100 * apart)} percentage "
            f"points more often than with {shown}. Where all are alike, anyone at all is named in at most 5% of "
            "projects, however many people join.",
            "Look at these items together. Different is not wrong: the others may be mistaken.",
            {"difference": -apart, "items": items, "log_e_value": float(people.evidence[code])},
            name,
            "#people",
        )


def _about_items(live: Live) -> Iterator[Alert]:
    """Whether people meet on the same items, and whether one number describes them."""
    alert = partial(Alert, live.project, live.question)
    teams, annotations = live.overlap.teams, len(live.columns.item)
    is_enough = annotations >= ENOUGH
    if is_enough and live.agreement is not None and not live.agreement.data.pairable_items:
        yield alert(
            "no_overlap",
            "No item has two annotations yet",
            f"{count(annotations, 'annotation')} so far, but no two annotators share an item.",
            "Give some items to two or more annotators: agreement can only be measured there.",
            {"annotations": annotations},
        )
    elif is_enough and len(teams) > 1:
        yield alert(
            "teams_apart",
            f"{len(teams)} teams never annotate the same items",
            "Nothing shows whether the teams agree with each other.",
            "Give a few of each team's items to people from the other teams.",
            {"teams": [len(team.annotators) for team in teams]},
            link="#people",
        )
    missingness = live.agreement.missingness if live.agreement else None
    if live.adaptive is not None:
        more, rest = live.adaptive
        yield alert(
            "adaptive_overlap",
            "Items with disagreement get more annotators",
            f"Of the items with more than two annotations {percent(more)} started with disagreement, of the others "
            f"{percent(rest)}.",
            "The tool seems to ask more people when the first ones disagree. Use the safe bounds, "
            "or measure with --first 2: the number from all annotations is too low.",
            {"disagree_with_more": more, "disagree_with_two": rest},
            link="#method",
        )
    elif missingness is not None and missingness.z is not None and abs(missingness.z) > SURE:
        yield alert(
            "assumption",
            "Agreement depends on the number of annotations per item",
            f"People agree {'less' if missingness.z < 0 else 'more'} on items with more annotations.",
            "One number for all items then depends on which items got more annotations: see the chart.",
            {"z": missingness.z, "p": missingness.p},
            link="#method",
        )


class Register:
    """Open and past alerts: new ones begin, and those no longer justified end."""

    def __init__(self, rows: Sequence[Mapping[str, Any]]) -> None:
        names = {field.name for field in fields(Alert)}
        documents = [json.loads(row["document"]) | {"ended": row["ended"]} for row in rows]
        alerts = [Alert(**{name: document[name] for name in names & document.keys()}) for document in documents]
        self.past = [alert for alert in alerts if alert.ended is not None]
        self.open = {alert.key: alert for alert in alerts if alert.ended is None}

    def update(self, project: str, question: str, alerts: Sequence[Alert], now: float) -> list[Alert]:
        """Compare with the alerts that should be open now, and return those that began or ended."""
        before = {key: alert for key, alert in self.open.items() if key[:2] == (project, question)}
        began = {key: alert.began for key, alert in before.items()}
        current = {alert.key: replace(alert, began=began.get(alert.key, now)) for alert in alerts}
        ended = [replace(alert, ended=now) for key, alert in before.items() if key not in current]
        self.past = [*self.past, *ended]  # new ones: somebody may be reading the old ones
        self.open = {key: alert for key, alert in self.open.items() if key not in before} | current
        return [*(alert for key, alert in current.items() if key not in before), *ended]

    def of_question(self, project: str, question: str) -> tuple[list[Alert], list[Alert]]:
        """A question's open alerts, that about the whole question first, and its past ones, latest first."""
        current = [alert for key, alert in self.open.items() if key[:2] == (project, question)]
        past = [alert for alert in self.past[::-1] if alert.key[:2] == (project, question)]
        return sorted(current, key=lambda alert: alert.code != "below_target"), past
