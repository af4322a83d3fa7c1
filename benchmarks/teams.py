"""Teams out of larger real groups: does the interval for other annotators hold? Writes docs/studies/annotator-teams.{md,csv}.

    python benchmarks/teams.py FOLDER [--rounds 60]

FOLDER holds CSV files with the columns item, annotator, label. A team of three to five people who annotated one item is
drawn, and measured on its annotations alone. The truth is SPA of everybody.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars
from publish import run

import spagree

TEAMS, FEWEST_PEOPLE, FEWEST_ITEMS, TRIES = (3, 4, 5), 6, 20, 20


def team_of(rows: polars.DataFrame, size: int, random: np.random.Generator) -> polars.DataFrame | None:
    """The annotations of some people who met on an item; None where they share too few items."""
    for _ in range(TRIES):
        item = rows["item"][int(random.integers(len(rows)))]
        people = rows.filter(polars.col("item") == item)["annotator"].unique().sort()
        if len(people) < size:
            continue
        chosen = people.gather(random.choice(len(people), size, replace=False))
        team = rows.filter(polars.col("annotator").is_in(chosen.implode()))
        if team.group_by("item").len().filter(polars.col("len") > 1).height >= FEWEST_ITEMS:
            return team
    return None


def study(folder: Path, rounds: int) -> Iterator[dict[str, Any]]:
    for path in sorted(folder.glob("*.csv*")):
        rows = polars.read_csv(path, infer_schema=False).drop_nulls()
        rows = rows.unique(["item", "annotator"], keep="first", maintain_order=True)
        if rows["annotator"].n_unique() < FEWEST_PEOPLE:
            continue
        truth = float(spagree.measure(rows).spa)
        for size in TEAMS:
            random = np.random.default_rng([5, size])
            row = cover([team for _ in range(rounds) if (team := team_of(rows, size, random)) is not None], truth)
            if row["teams"] >= rounds / 2:
                yield {"set": path.name.split(".")[0], "people": rows["annotator"].n_unique(), "team": size} | row


def cover(teams: list[polars.DataFrame], truth: float) -> dict[str, Any]:
    inside, width, defined = {"items": 0, "annotators": 0}, {"items": 0.0, "annotators": 0.0}, 0
    for team in teams:
        intervals = spagree.measure(team).intervals()
        if intervals.get("annotators") is None or intervals["annotators"].low is None:
            continue
        defined += 1
        for name, figure in intervals.items():
            inside[name] += float(figure.low or 0) <= truth <= float(figure.high or 0)
            width[name] += float(figure.high or 0) - float(figure.low or 0)
    shares = {f"{name} coverage": inside[name] / max(defined, 1) for name in inside}
    return {"teams": defined} | shares | {f"{name} width": width[name] / max(defined, 1) for name in width}


def report(rows: list[dict[str, Any]], rounds: int) -> str:
    items, others = ([row[f"{name} coverage"] for row in rows] for name in ("items", "annotators"))
    parts = [
        TEXT.format(
            rounds=rounds, items=f"{min(items):.2f}–{max(items):.2f}", others=f"{min(others):.2f}–{max(others):.2f}"
        )
    ]
    parts += [
        "| set | people | team | teams | these annotators | others like them | width | width |",
        "|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    parts += [
        f"| {row['set']} | {row['people']} | {row['team']} | {row['teams']} | {row['items coverage']:.2f} | "
        f"{row['annotators coverage']:.2f} | {row['items width']:.2f} | {row['annotators width']:.2f} |"
        for row in rows
    ]
    return "\n".join(parts) + "\n"


TEXT = """# Small teams out of larger groups

A team of three, four or five people of a real project, measured on their annotations alone: how often do the two 95%
intervals contain the SPA of everyone in the project? The interval for these annotators does not promise this, and contains it for
{items} of the teams; the interval for other annotators like them does for {others}. Up to {rounds:,} teams per row, of people who met on
an item and share at least 20. It fails if one person in the group is of a different kind: whether they are on the team
decides, and no team can know about someone it has not seen. `spagree score` of the whole group warns of such a person
(`one_annotator_decides`). Made by `python benchmarks/teams.py FOLDER`; all rows are in
[annotator-teams.csv](annotator-teams.csv).
"""


if __name__ == "__main__":
    run("annotator-teams", __doc__, study, report, rounds=60)
