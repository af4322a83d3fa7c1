"""Whether the number can be trusted, and how much of it is beyond chance."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from spagree.errors import count
from spagree.estimate import Estimate
from spagree.estimate.breakdown_values import Breakdowns, known
from spagree.estimate.overlap import Overlap, Team
from spagree.estimate.uncertainty import POPULATIONS
from spagree.estimate.weights import REGISTRY
from spagree.present.charts import agreement as charts
from spagree.present.report.parts import Figure, Listing, Part, Section, Table, absent, drawn, table
from spagree.present.sentence import chance_gap, whom
from spagree.present.tables import Column, columns
from spagree.present.verdicts import Verdict
from spagree.present.wording import left_out, printable

MOST_NAMED, MOST_TEAMS = 8, 20
FEWEST_DRAWN = 3  # annotators up to which a sentence says more than a table

BY_N = columns("name:words many:count value interval", {"name": "annotations", "many": "items", "value": "agreement"})
SCHEMES = columns("name:name value interval means:words", {"name": "scheme", "value": "agreement", "means": "meaning"})
TEAMS = columns(
    "kind:words size:count items:count shared:count names:words",
    {"kind": "group", "size": "annotators", "shared": "items shared with others", "names": "who"},
)
LOST = columns("why:words size:count", {"why": "reason", "size": "annotations"})
CHANCE = columns(
    "name:name value interval observed expected means:words",
    {"name": "coefficient", "expected": "by chance", "means": "meaning"},
)
COEFFICIENTS = {
    "spa_kappa": "SPA beyond chance; chance: labels used as often as here",
    "krippendorff_alpha": "Krippendorff's alpha; chance: two labels drawn from all labels given",
    "fleiss_kappa": "Fleiss' kappa, generalised; chance: classes as common as on average",
    "gwet_ac1": "Gwet's AC1; chance: small if one class is very common",
    "brennan_prediger": "Brennan and Prediger; chance: all classes equally likely",
    "conger_kappa": "Conger's kappa, generalised; chance: every annotator labels as often as here",
}


def trust(breakdowns: Breakdowns, verdicts: tuple[Verdict, ...]) -> Section:
    """The checks, the assumption, the weights, the overlap, and what was left out."""
    parts: list[Part] = [*_by_numbers(breakdowns), *_overlap(breakdowns)]
    lost = [{"why": left_out(why), "size": size} for why, size in breakdowns.findings.data.left_out.items()]
    if lost:
        parts.append(table("left-out", "Annotations that were not used", lost, LOST))
    lead = "What a careful colleague would check before quoting the number."
    return Section("trust", "Trust", "Can I trust it?", lead, [Listing(verdicts, "verdicts.html.j2"), *parts])


def _by_numbers(breakdowns: Breakdowns) -> Iterator[Figure]:
    """What depends on the number of annotations; one sentence if all items have the same number."""
    title = "Does agreement depend on the number of annotations?"
    by_n = breakdowns.findings.missingness.by_n
    if len(by_n) == 1:
        same = count(by_n[0].n, "annotation")
        words = f"Every item that was used has {same}: the assumption cannot fail, and all schemes weight items alike."
        yield absent("by-n", title, words)
        return
    yield drawn(
        breakdowns,
        "by-n",
        title,
        "Each dot: all items with that many annotations, their number above it if there is room; the line through it "
        "is the interval for these annotators, the dashed line the number at the top of the page. Hollow dots rest "
        "on fewer than 10 items; those beyond the scale are at its edge. If dots clearly rise or fall, easy or hard "
        "items were annotated more often, and no single number is right for all of them. The p-value above is how "
        "often chance alone would make such a trend.",
        lambda _: table("by-n", "Agreement by number of annotations", charts.by_n_rows(breakdowns), BY_N),
    )
    yield drawn(
        breakdowns,
        "schemes",
        "Does the weighting scheme matter?",
        "The same data under every weighting scheme. The values should be close; the filled dot in the "
        "accent colour is the one used above.",
        _schemes,
    )


def _schemes(breakdowns: Breakdowns) -> Table:
    meaning = {name: scheme.about for name, scheme in REGISTRY.items()}
    findings = breakdowns.findings
    figures = {**findings.schemes, findings.spa.weights: findings.spa}
    schemes = [
        {**row, **_other(figures[row["name"]]), "means": meaning.get(row["name"], "your own weights")}
        for row in charts.scheme_rows(breakdowns)
    ]
    return table("schemes", "All weighting schemes", schemes, _with_both(breakdowns, SCHEMES))


def _with_both(breakdowns: Breakdowns, shown: tuple[Column, ...]) -> tuple[Column, ...]:
    """The columns with one for each interval, if there are two."""
    names = list(whom(breakdowns.findings).values())
    if len(names) == 1 or not names:
        return shown
    place = next(place for place, column in enumerate(shown) if column.kind == "interval")
    both = [replace(shown[place], title=names[0]), Column("other", names[1], "interval", ("other_low", "other_high"))]
    return (*shown[:place], *both, *shown[place + 1 :])


def _other(figure: Estimate) -> dict[str, float | None]:
    """The ends of the interval that does not lead."""
    name = next((name for name in POPULATIONS if name != figure.interval_for), None)
    each = figure.intervals.get(str(name))
    return {"other_low": None if each is None else each.low, "other_high": None if each is None else each.high}


def _overlap(breakdowns: Breakdowns) -> Iterator[Figure]:
    """A sentence if everybody is connected; a table if there are separate groups."""
    lacking = breakdowns.lacks("overlap")
    title = "Who annotated items together?"
    if lacking:
        yield absent("overlap", title, lacking)
        return
    overlap = known(breakdowns.overlap)
    grouped = len(overlap.teams) > 1 or bool(overlap.thin_bridges)
    if overlap.annotators <= FEWEST_DRAWN:  # begins with a name, which stays as it is written
        yield Figure("overlap", title, "", None, absent=_shared(breakdowns))
    elif not grouped:
        yield absent("overlap", title, _connected(overlap))
    else:
        words = (
            f"{count(overlap.annotators, 'annotator')} form groups that share few items or none; the table names them."
        )
        yield absent("overlap", title, words, _teams(overlap))


def _connected(overlap: Overlap) -> str:
    size = overlap.annotators - len(overlap.alone)
    alone = count(len(overlap.alone), "annotator")
    rest = f" {alone} {'shares' if len(overlap.alone) == 1 else 'share'} no item with anybody." if overlap.alone else ""
    return f"All {size:,} annotators who share items form one group, without a thin link.{rest}"


def _shared(breakdowns: Breakdowns) -> str:
    """Two or three annotators and the items they share, in words."""
    met = known(breakdowns.pairs).sort("annotator", "other").select("annotator", "other", "shared").rows()
    pairs = [
        f"{printable(one, 24)} and {printable(other, 24)} share {count(shared, 'item')}" for one, other, shared in met
    ]
    return f"{'; '.join(pairs) or 'The annotators share no item'}."


def _teams(overlap: Overlap) -> Table:
    lines = [_team("team", team) for team in overlap.teams[:MOST_TEAMS]]
    lines += [
        {**_team("thinly connected", bridge.team), "shared": bridge.items}
        for bridge in overlap.thin_bridges[:MOST_TEAMS]
    ]
    if overlap.alone:
        lines.append(_team("share no item with anybody", Team(overlap.alone, 0)) | {"items": None})
    return table("teams", "Groups of annotators connected by items", lines, TEAMS)


def _team(kind: str, team: Team) -> charts.Row:
    names = ", ".join(printable(name, 24) for name in team.annotators[:MOST_NAMED])
    more = f" and {len(team.annotators) - MOST_NAMED:,} more" if len(team.annotators) > MOST_NAMED else ""
    return {"kind": kind, "size": len(team.annotators), "items": team.items, "shared": None, "names": names + more}


def chance(breakdowns: Breakdowns) -> Section:
    """Coefficients with observed and expected agreement."""
    figure = drawn(
        breakdowns,
        "chance",
        "Agreement beyond chance",
        "Diamond: observed agreement. Triangle: agreement expected from blind guessing. Dot: how "
        "far annotators got from the triangle to 1, with its interval. 0 is no better than guessing, 1 is full "
        "agreement.",
        _chance,
    )
    lead = "Some agreement happens by chance. These coefficients remove it; each defines chance differently."
    notes = [words for words in (chance_gap(breakdowns.findings),) if words]
    return Section("chance", "Chance", "How much agreement is beyond chance?", " ".join([lead, *notes]), [figure])


def _chance(breakdowns: Breakdowns) -> Table:
    coefficients = [
        {"name": name, "value": each.value, "low": each.low, "high": each.high, **_other(each)}
        | {"observed": each.observed}
        | {"expected": each.expected, "means": each.undefined or COEFFICIENTS[name]}
        for name, each in breakdowns.findings.chance.items()
    ]
    return table("chance", "Chance-corrected coefficients", coefficients, _with_both(breakdowns, CHANCE))
