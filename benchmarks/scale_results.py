"""The figures of scale.py, peers.py and billion.py: kept as CSV files, shown as a page with charts.

python benchmarks/scale_results.py     writes docs/scale/README.md and its charts again, from the CSV files
"""

from __future__ import annotations

import csv
import json
import math
import os
import platform
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

Row = dict[str, str]

FOLDER = Path(__file__).parent.parent / "docs" / "scale"
REFERENCE, PER_ITEM = "two-level query by hand (duckdb)", "count rows per item (duckdb)"
DRAWN = (
    "decode item and label (duckdb)",
    PER_ITEM,
    REFERENCE,
    "two-level query by hand (polars)",
    "spagree, file",
    "spagree, file, duplicate check",
    "spagree, file, other annotators",
    "spagree, polars LazyFrame",
    "spagree, file, --engine spark",
)
SPAGREE = ("spagree", "spagree, without annotators")
EQUAL_ONLY = "statsmodels, six per item"


def load(path: Path) -> list[Row]:
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def keep(path: Path, rows: Sequence[Row], key: Sequence[str]) -> None:
    """Add rows to a CSV file; older rows with the same key give way."""

    def keyed(row: Row) -> tuple[str, ...]:
        return tuple(row[name] for name in key)

    new = {keyed(row) for row in rows}
    kept = [row for row in load(path) if keyed(row) not in new]
    path.parent.mkdir(exist_ok=True)
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(sorted([*kept, *rows], key=annotations))


def note_environment(
    folder: Path, name: str, packages: Sequence[str], others: tuple[Path, Sequence[str]] | None = None
) -> None:
    """Say when and with what the figures of a file were made; ``others`` are packages of another environment."""
    path = folder / "environment.json"
    known = json.loads(path.read_text()) if path.exists() else {}
    versions = [f"{package} {version(package)}" for package in packages]
    if others:
        code = f"from importlib.metadata import version as v; print(*(f'{{p}} {{v(p)}}' for p in {tuple(others[1])}), sep='\\n')"
        done = subprocess.run([str(others[0]), "-c", code], check=True, capture_output=True, text=True)
        versions += done.stdout.splitlines()
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1024**3
    machine = f"Python {platform.python_version()}, {os.cpu_count()} cores, {memory:.0f} GB"
    known[name] = f"{datetime.now(UTC):%Y-%m-%d}: {', '.join(versions)}, {machine}"
    path.write_text(json.dumps(known, indent=2) + "\n")


def environment(folder: Path, name: str) -> str:
    return str(json.loads((folder / "environment.json").read_text())[name])


def power(annotations: str) -> str:
    """A number of annotations, as 10⁶ or 6·10⁶."""
    exponent = len(annotations) - 1
    digits = str(exponent).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))
    head = annotations.rstrip("0")
    return f"10{digits}" if head == "1" else f"{int(annotations) / 10**exponent:g}·10{digits}"


def in_order(values: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(values))


def cell(row: Row | None) -> str:
    if row is None:
        return ""
    if row["failure"]:
        failed = "" if row["failure"].startswith("not tried") else "failed: "
        return f"{failed}{row['failure']}".replace("|", "\\|")
    return f"{seconds(row):.2f} s, {memory(row):.2f} GB"


def seconds(row: Row) -> float:
    return float(row["seconds"])


def annotations(row: Row) -> int:
    return int(row["annotations"])


def memory(row: Row) -> float:
    return float(row["memory_gb"])


def growth(rows: Iterable[Row]) -> str:
    """The slope of log time over log annotations between the two largest sizes: below, the start weighs in."""
    finished = [row for row in rows if not row["failure"]][-2:]
    if len(finished) < 2:
        return ""
    fewer, more = finished
    times, sizes = (math.log(figure(more) / figure(fewer)) for figure in (seconds, annotations))
    return f"{times / sizes:.2f}"


def cpu(row: Row) -> float:
    return float(row["cpu_seconds"])


def ratio(by_job: Mapping[tuple[str, str], Row], job: str, size: str, reference: str) -> str:
    """Of the time, and of the work: what all threads together computed, which other programs disturb less."""
    one, other = by_job.get((job, size)), by_job.get((reference, size))
    if one is None or other is None or one["failure"] or other["failure"]:
        return ""
    return f"{seconds(one) / seconds(other):.2f} ({cpu(one) / cpu(other):.2f})"


def scale_table(rows: Sequence[Row]) -> list[str]:
    sizes = in_order(row["annotations"] for row in rows)
    by_job = {(row["job"], row["annotations"]): row for row in rows}
    head = ["job", *map(power, sizes), "exponent", "÷ two-level", "÷ per item"]
    lines = [f"| {' | '.join(head)} |", "|---" + "|--:" * (len(head) - 1) + "|"]
    for job in in_order(row["job"] for row in rows):
        cells = [cell(by_job.get((job, size))) for size in sizes]
        ratios = [ratio(by_job, job, sizes[-1], reference) for reference in (REFERENCE, PER_ITEM)]
        own = [row for row in rows if row["job"] == job]
        lines.append(f"| {' | '.join([job, *cells, growth(own), *ratios])} |")
    return lines


def scale_section(folder: Path) -> list[str]:
    rows = load(folder / "scale.csv")
    if not rows:
        return []
    lines = ["## Growth", "", f"{environment(folder, 'scale')}. Made by `python -m benchmarks scale`.", ""]
    lines += [
        "Parquet files of items, annotators and labels: 10 classes, 4 to 8 annotations per item, 6 on average; 2,400",
        "annotators, or one per 2,500 annotations if that is more. String ids look like `item-0001234567`; labels are",
        "text in all files. Random order scatters the annotations of an item over the whole file. Every job is a",
        "process of its own, and its time includes the start of its libraries.",
        "",
        "- *exponent*: slope of log time over log annotations between the two largest sizes; 1 is linear growth.",
        f"- *÷ two-level*, *÷ per item*: time in relation to “{REFERENCE}” and to “{PER_ITEM}”, at the largest size;",
        "  in brackets the same of the CPU seconds of all threads, which other programs on the machine disturb less.",
        "- The two-level queries compute the same agreement by hand, without intervals, checks or warnings; the",
        "  answers are compared. spagree without duplicate check reads item and label, as they do.",
        "",
        "![Time and memory by number of annotations](scale.svg)",
    ]
    for ids, order in dict.fromkeys((row["ids"], row["order"]) for row in rows):
        chosen = [row for row in rows if (row["ids"], row["order"]) == (ids, order)]
        lines += ["", f"### {ids.capitalize()} ids, {order} order", "", *scale_table(chosen)]
    return [*lines, ""]


def peers_table(rows: Sequence[Row]) -> list[str]:
    sizes = in_order(row["annotations"] for row in rows)
    by_peer = {(row["peer"], row["annotations"]): row for row in rows}
    head = ["from the same file", *map(power, sizes)]
    shown = [
        [peer, *(cell(by_peer.get((peer, size))) for size in sizes)] for peer in in_order(row["peer"] for row in rows)
    ]
    rule = "|---" + "|--:" * len(sizes) + "|"
    return [f"| {' | '.join(head)} |", rule, *(f"| {' | '.join(cells)} |" for cells in shown)]


def fastest_peer(rows: Sequence[Row], size: str) -> Row | None:
    finished = [row for row in rows if row["annotations"] == size and not row["failure"]]
    peers = [row for row in finished if row["peer"] not in (*SPAGREE, EQUAL_ONLY)]
    return min(peers, key=seconds, default=None)


def standing_table(rows: Sequence[Row]) -> list[str]:
    """spagree beside the fastest peer that takes such data and finishes."""
    lines = [
        "| annotations | fastest peer | its time ÷ spagree's | its memory ÷ spagree's | without annotators: time | memory |"
    ]
    lines.append("|--:|---|--:|--:|--:|--:|")
    for size in in_order(row["annotations"] for row in rows):
        peer = fastest_peer(rows, size)
        own = {row["peer"]: row for row in rows if row["annotations"] == size and row["peer"] in SPAGREE}
        if peer is None:
            lines.append(f"| {power(size)} | none finishes | | | | |")
            continue
        ratios = [
            f"{figure(peer) / figure(own[name]):.1f}" for name in SPAGREE for figure in (seconds, memory) if name in own
        ]
        lines.append(f"| {power(size)} | {peer['peer']} | {' | '.join(ratios)} |")
    return lines


def values_table(rows: Sequence[Row]) -> list[str]:
    """Values at the largest size that each finishes, beside spagree's of the same coefficient."""
    lines = [
        "| | annotations | coefficient | value | spagree | difference | interval |",
        "|---|--:|---|--:|--:|--:|---|",
    ]
    for peer in in_order(row["peer"] for row in rows):
        finished = [row for row in rows if row["peer"] == peer and not row["failure"]]
        if finished:
            row = finished[-1]
            apart = abs(float(row["value"]) - float(row["spagree_value"]))
            shown = [power(row["annotations"]), row["coefficient"], f"{float(row['value']):.6f}"]
            shown += [f"{float(row['spagree_value']):.6f}", f"{apart:.0e}" if apart else "0", row["interval"] or "no"]
            lines.append(f"| {' | '.join([peer, *shown])} |")
    return lines


def peers_section(folder: Path) -> list[str]:
    rows = load(folder / "peers.csv")
    if not rows:
        return []
    lines = ["## Other packages", "", f"{environment(folder, 'peers')}. Made by `python -m benchmarks peers`.", ""]
    lines += [
        "Everyone starts from the same Parquet file with item, annotator and label (string ids, random order) and ends",
        "with a coefficient; the conversion that a user has to write is part of it and was written to be fast",
        "(`benchmarks/peers.py`). A package that fails twice or exceeds a limit, or would do so by far, is not tried on more.",
        "",
        "- `krippendorff` takes a matrix of annotators × items, or a table of items × classes with counts.",
        "- `statsmodels` wants the same number of annotations for every item and stops with an AssertionError",
        "  otherwise; its second row is a file of its own with exactly six per item.",
        "- `irrCAC` is the only other one with an interval. `crowd-kit` calls `nltk`.",
        "- spagree's row includes the check for annotators who labelled an item twice, all weighting schemes, all",
        "  coefficients with their intervals and the test of the assumption; “without annotators” does not have the check.",
        "- Up to 10⁶ annotations spagree's row also has the interval for other annotators, which looks at each of them",
        "  and at who met whom, and which no other package has: most of its time at 10⁵ and 10⁶. Rows above 10⁶ were",
        "  measured on 2026-11-18, without it.",
        "",
        "![Time and memory by number of annotations](peers.svg)",
        "",
        *peers_table(rows),
        "",
        "spagree beside the fastest peer that takes unequal numbers of annotations and finishes:",
        "",
        *standing_table(rows),
        "",
        "Values, at the largest size that each finishes (`irrCAC` rounds to five digits):",
        "",
        *values_table(rows),
    ]
    return [*lines, ""]


def billion_section(folder: Path) -> list[str]:
    rows = load(folder / "billion.csv")
    if not rows:
        return []
    parts = [row for row in rows if row["step"] == "tally"]
    rest = {row["step"]: row for row in rows if row["step"] != "tally"}
    counting, writing = (sum(float(row[name]) for row in parts) for name in ("seconds", "generating_seconds"))
    peaks, times = [memory(row) for row in parts], [seconds(row) for row in parts]
    total = sum(int(row["annotations"]) for row in parts)
    disk = max(float(row["file_gb"]) for row in parts)
    score = rest["score"]
    return [
        "## In parts",
        "",
        f"{environment(folder, 'billion')}. Made by `python -m benchmarks billion`.",
        "",
        f"{total:,} annotations with integer ids in random order, in {len(parts)} parts whose items do not overlap. Each part is",
        f"written, counted with `spagree tally` (duplicate check included) and deleted: never more than {disk:.2f} GB on disk.",
        "The tallies are then added with `spagree merge` and measured with `spagree score`.",
        "",
        "| step | time | peak memory |",
        "|---|--:|--:|",
        f"| count a part, {int(parts[0]['annotations']):,} annotations | {min(times):.1f} to {max(times):.1f} s | {min(peaks):.2f} to {max(peaks):.2f} GB |",
        f"| count all parts, one after the other | {counting:.0f} s | {max(peaks):.2f} GB |",
        *(f"| {name} | {seconds(rest[name]):.2f} s | {memory(rest[name]):.2f} GB |" for name in ("merge", "score")),
        "",
        f"{total / counting / 1e6:.1f} million annotations per second. SPA {float(score['spa']):.6f}, 95% interval",
        f"{float(score['low']):.6f} to {float(score['high']):.6f}, from {int(score['annotations']):,} annotations. Generating the parts took",
        f"another {writing:.0f} s.",
        "",
    ]


def draw(folder: Path) -> None:
    from spagree.present.charts import studies as charts
    from spagree.present.charts.save import save

    scale = [row for row in load(folder / "scale.csv") if row["order"] == "random" and row["job"] in DRAWN]
    if scale:
        panels = {
            f"{what}, {ids} ids": curves([row for row in scale if row["ids"] == ids], figure, title, "job")
            for ids in in_order(row["ids"] for row in scale)
            for what, figure, title in (("time", "seconds", "seconds"), ("memory", "memory_gb", "GB"))
        }
        save(charts.side_by_side(panels), folder / "scale", ["svg"])
    peers = [row for row in load(folder / "peers.csv") if row["peer"] != "irrCAC, AC1"]  # as "irrCAC, alpha"
    if peers:
        panels = {
            what: curves(peers, figure, title, "peer")
            for what, figure, title in (("time", "seconds", "seconds"), ("memory", "memory_gb", "GB"))
        }
        save(charts.side_by_side(panels), folder / "peers", ["svg"])


def curves(rows: Sequence[Row], figure: str, title: str, colour: str) -> object:
    from spagree.present.charts import studies as charts
    from spagree.present.charts.studies import Axis

    plain = [
        {"annotations": int(row["annotations"]), figure: float(row[figure]), colour: row[colour]}
        for row in rows
        if not row["failure"]
    ]
    axes = Axis("annotations", "annotations", log=True, format="~e"), Axis(figure, title, log=True, format="~g")
    named = Axis(colour, "")
    return charts.layered(charts.lines(plain, *axes, named), charts.points(plain, *axes, named))


def report(folder: Path = FOLDER) -> None:
    draw(folder)
    sections = [scale_section(folder), peers_section(folder), billion_section(folder)]
    text = "\n".join(["# Scale", "", *(line for section in sections for line in section)])
    (folder / "README.md").write_text(text)
    print(text)


if __name__ == "__main__":
    report()
