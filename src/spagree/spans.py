"""measure_spans(): read → count → estimate, for spans and whatever else people mark on an item."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from spagree.counts.mark_tally import MarkTally
from spagree.counts.marks import CodedMarks, tally_marks
from spagree.counts.saved import saved_counts
from spagree.errors import UsageError, Warning, opt, unknown_name
from spagree.estimate import marks as estimated
from spagree.estimate.marks import NOT_WHO, MarkData, MarkFindings, find_marks
from spagree.estimate.missingness import Missingness
from spagree.estimate.pairs import Overlap, overlap
from spagree.estimate.uncertainty import AUTO, Estimate, check_interval_for, check_level
from spagree.estimate.weights import DEFAULT
from spagree.options import CustomWeights, Estimating, Reading, Spans, declared, defaults
from spagree.present.document import to_json
from spagree.present.next_steps import MARKS, NextStep, Source
from spagree.present.spans import ToldSpans, spans_document, spans_sentences, spans_summary, tell_spans
from spagree.present.terminal import rendered
from spagree.present.verdicts import Verdict
from spagree.present.words import escape_controls
from spagree.read.annotations import Understood
from spagree.read.sources import read_marks
from spagree.write import refuse_existing

if TYPE_CHECKING:
    import polars

    from spagree.estimate.comparison import Groups
    from spagree.options import ReadingOptions

FOR_MARKS = (
    "item", "annotator", "label", "cluster", "text", "by", "time", "time_format", "format", "sheet", "encoding",
    "header", "engine", "query", "where", "exclude_annotator", "duplicates", "question", "status", "ground_truth",
    "empty", "config"
)  # fmt: skip


def measure_spans(
    source: Any,
    seen: Any = None,
    *,
    start: str | None = None,
    end: str | None = None,
    length: str | None = None,
    texts: Any = None,
    quote: str | None = None,
    edges: str | None = None,
    mark: str | Sequence[str] | None = None,
    weights: str | CustomWeights = DEFAULT,
    level: float = 0.95,
    interval_for: str = AUTO,
    **options: Unpack[ReadingOptions],
) -> SpanAgreement:
    """Measure how much annotators agree on what they mark: entities, errors, codes, segments.

    Args:
        source: A path, the export of a tool, a data frame, or rows of (item, annotator, start, end[, label]): one for
            each mark. A row with empty start and end says that somebody saw the item and marked nothing. Also a tally
            of marks, or saved ones.
        seen: Who saw which item, with marks or without: a path, a frame, or rows of (item, annotator[, length]).

    Keyword Args:
        start: Column of the first character of a mark, counted from 0, or of any number such as seconds.
        end: Column of the place where a mark ends: the first character that no longer belongs to it.
        length: Column of ``seen`` with the length of the item's text, for agreement beyond chance.
        texts: The text of each item, where it is a table of its own: a path, a frame, or rows of (item, text).
        quote: Column of the words that were marked: they must stand in the text at these offsets.
        edges: ``"loose"`` leaves out blanks and punctuation at both ends of a mark, where the texts are known.
        mark: Marks that are no places: the column or columns that make one, such as head and dependent of an arc.
        weights: How items are weighted by the number of people who saw them: ``"annotations_m1"``, ``"annotations"``,
            ``"edge"``, ``"flat"``, or your own.
        level: Confidence level of the intervals.
        interval_for: ``"annotators"`` (others like these), ``"items"`` (these annotators, new items), or ``"auto"``.
        options: How the source is read, as for :func:`measure`: ``item``, ``annotator`` and ``label``, guessed if not
            given, ``cluster``, ``text`` and ``time`` (columns of ``seen``, or else of the marks), ``format``, …

    >>> import spagree
    >>> ann = [("q1", "ann", 0, 4, "person"), ("q1", "ann", 10, 15, "place"), ("q1", "ann", 20, 22, "person")]
    >>> bob = [("q1", "bob", 0, 4, "person"), ("q1", "bob", 10, 14, "place")]
    >>> marks = spagree.measure_spans(ann + bob, seen=[("q1", "ann"), ("q1", "bob"), ("q2", "ann"), ("q2", "bob")])
    >>> marks.exact.value, round(marks.characters.value, 3)
    (0.4, 0.842)
    """
    check_level(level)
    check_interval_for(interval_for)
    reading = _for_marks(options)
    chosen: dict[str, Any] = {"weights": weights, "level": level, "interval_for": interval_for}
    places: dict[str, Any] = {"start": start, "end": end, "length": length, "quote": quote, "edges": edges}
    tables = [each if each is None or isinstance(each, str | Path) else True for each in (seen, texts)]
    typed = {**places, "mark": mark, "seen": tables[0], "texts": tables[1], **reading, "format": "spans"}
    usual = {**defaults(Reading), **defaults(Estimating)}
    asked = {name: value for name, value in {**typed, **chosen}.items() if value != usual.get(name)}
    named = Source(None if True in tables else source, asked, called=MARKS)  # frames do not compare
    counted = _counted(source, [name for name in asked if name in typed and name != "format"])
    if counted is not None:
        return SpanAgreement(find_marks(counted, counted.seen or "given", **chosen), counted, chosen)
    rows = read_marks(source, seen, mark=mark or (), texts=texts, **places, **reading)
    marks = CodedMarks.of(rows)
    findings = find_marks(marks, rows.how, **chosen)
    data, warnings = replace(findings.data, left_out=rows.left_out), (*rows.warnings, *findings.warnings)
    findings = replace(findings, data=data, warnings=warnings)
    return SpanAgreement(findings, marks, chosen, rows.understood, options.get("by"), named)


def tally_spans(source: Any, seen: Any = None, **options: Any) -> MarkTally:
    """Count marks in a part of the data: tallies of disjoint items add up, and :func:`measure_spans` measures them.

    Options are those of :func:`measure_spans` for reading.

    >>> import spagree
    >>> whole = spagree.tally_spans([("q1", "ann", 0, 4), ("q1", "bob", 0, 4)])
    >>> spagree.measure_spans(whole + spagree.tally_spans([("q2", "ann", 0, 4), ("q2", "bob", 0, 3)])).exact.value
    0.5
    """
    return spans_tally_and_warnings(source, seen, **options)[0]


def spans_tally_and_warnings(source: Any, seen: Any = None, **options: Any) -> tuple[MarkTally, tuple[Warning, ...]]:
    """The tally, and what was noticed while reading, which a tally does not keep."""
    places = {name: options.pop(name, None) for name in declared(Spans) if name != "seen"}
    reading = _for_marks(options)
    tables = {"seen": seen, "texts": places["texts"]}  # frames do not compare
    plain = {name: value for name, value in {**places, **reading}.items() if name not in ("texts", "format")}
    late = [name for name, value in tables.items() if value is not None]
    late += [name for name, value in plain.items() if value not in (None, (), defaults(Reading).get(name))]
    if (counted := _counted(source, late)) is not None:
        return counted, ()
    for name in ("cluster", "by"):
        if reading.get(name) is not None:
            raise UsageError(f"{opt[name]}: a tally of marks keeps no clusters or groups; measure the marks themselves")
    mark = places.pop("mark") or ()
    rows = read_marks(source, seen, mark=mark, **places, **reading)
    return tally_marks(rows), rows.warnings


def _counted(source: Any, late: Sequence[str]) -> MarkTally | None:
    """Counts that already exist: in memory, saved, or saved in parts; ``late`` are options that come too late then."""
    counted = source if isinstance(source, MarkTally) else saved_counts(source)
    if counted is None:
        return None
    if not isinstance(counted, MarkTally):
        raise UsageError("these are counts of labels, not of marks; measure them without the options for spans")
    if late:
        raise UsageError(
            f"{', '.join(opt[name] for name in late)} has no effect on a tally; give it when counting the marks"
        )
    return counted


def _for_marks(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options that mean something for marks; others are refused."""
    known = {**defaults(Reading), **defaults(Estimating)}
    for name, value in options.items():
        if name not in known:
            raise unknown_name("option", name, (*known, *declared(Spans)))
        if name not in FOR_MARKS and value != known[name]:
            raise UsageError(f"{opt[name]} is not for spans; leave it out")
    return {name: value for name, value in options.items() if name in FOR_MARKS}


@dataclass(frozen=True, repr=False)
class SpanAgreement:
    """Agreement on marks; made by :func:`measure_spans`.

    >>> import spagree
    >>> rows = [(text, who, 0, 4, "person") for text in ("q1", "q2") for who in ("ann", "bob")]
    >>> marks = spagree.measure_spans([*rows, ("q2", "bob", 9, 12, "place")])
    >>> marks.outcomes["same"].value, marks.data.marks, [warning.code for warning in marks.warnings]
    (0.8, 5, ['unseen_unknown'])
    """

    findings: MarkFindings
    counted: CodedMarks | MarkTally = field(repr=False)
    options: Mapping[str, Any] = field(default_factory=dict)
    understood: Understood | None = None
    """How the source was read."""
    by: str | None = None
    """The column of the groups to measure as well."""
    source: Source | None = field(default=None, repr=False, compare=False)
    """What was measured, as its user may name it again."""

    @property
    def told(self) -> ToldSpans:
        """What is said about the number everywhere."""
        return tell_spans(self.findings, self.source, self.understood)

    @property
    def verdict(self) -> Verdict:
        """Whether the number can be quoted, and why not."""
        return self.told.verdict

    @property
    def next_steps(self) -> tuple[NextStep, ...]:
        """What to do next, at most three findings, each with a command that goes on from there."""
        return self.told.steps

    @property
    def marks(self) -> CodedMarks:
        """The marks; refused if there is only a tally of them."""
        if isinstance(self.counted, MarkTally):
            raise UsageError(f"{NOT_WHO}, nor where; measure the marks themselves")
        return self.counted

    @cached_property
    def groups(self) -> Groups | None:
        """The groups of items or annotators, compared; None without ``by``."""
        if self.by is None:
            return None
        return estimated.mark_groups(self.marks, self.by, self.findings.seen, **self.options)

    def only(self, visits: Any) -> SpanAgreement:
        """Agreement on some of the visits, by their places."""
        part = self.marks.only(visits)
        return replace(self, findings=find_marks(part, self.findings.seen, **self.options), counted=part)

    @property
    def exact(self) -> Estimate:
        """How likely another annotator makes the same mark: the same start, end and label."""
        return self.findings.exact

    @property
    def characters(self) -> Estimate:
        """How likely another annotator marks a marked character with the same label."""
        return self.findings.characters

    @property
    def outcomes(self) -> Mapping[str, Estimate]:
        """What a mark meets at another annotator: the same, other_label, other_boundaries, both, nothing."""
        return self.findings.outcomes

    @property
    def data(self) -> MarkData:
        """The counts."""
        return self.findings.data

    @property
    def missingness(self) -> Missingness:
        """The test of the assumption that agreement does not depend on how many saw an item."""
        return self.findings.missingness

    @property
    def warnings(self) -> tuple[Warning, ...]:
        """What to know about the figures."""
        return self.findings.warnings

    def classes(self) -> polars.DataFrame:
        """How often another annotator makes the same mark, and what else it meets, by label."""
        return estimated.mark_classes(self.counted, **self.options)

    def confusion(self) -> polars.DataFrame:
        """The labels that people exchange in one place, or in overlapping ones."""
        return estimated.mark_confusion(self.counted, self.options["weights"])

    def annotators(self) -> polars.DataFrame:
        """How many of each annotator's marks others confirmed, and how many of theirs were found."""
        return estimated.mark_annotators(self.marks, self.options["level"])

    def pairs(self) -> polars.DataFrame:
        """The F1 of each pair of annotators on the items both saw."""
        return estimated.mark_pairs(self.marks, self.options["level"])

    def items(self) -> polars.DataFrame:
        """Agreement of each item, those that lose most first."""
        return estimated.mark_items(self.marks)

    def development(self, steps: int = 40) -> polars.DataFrame:
        """Agreement on whole spans over ``time``, and on the items finished most recently."""
        return estimated.mark_development(self.marks, steps, self.options["weights"], self.options["level"])

    def overlap(self) -> Overlap:
        """Who shares items with whom: teams that never met, thin bridges between them, people alone."""
        return overlap(estimated.mark_people(self.marks).codes)

    def report(self, path: str | os.PathLike[str], *, force: bool = False) -> Path:
        """Write one HTML page: the number, and the texts that are marked most differently, with everybody's marks.

        >>> import spagree, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     page = spagree.measure_spans("example:spans", text="text").report(Path(folder) / "report.html")
        ...     page.read_text("utf-8").splitlines()[0]
        '<!doctype html>'
        """
        from spagree.present.report.page import write_report

        refuse_existing(path, force=force)
        return write_report(self.page(), Path(path), force=force)

    def page(self) -> str:
        """The page as text."""
        from spagree.present.report.layers import MOST_TEXTS, spans_page

        told = tell_spans(self.findings, self.source and self.source.without_folders(), self.understood)
        if isinstance(self.counted, MarkTally):
            disputed, tables = [], {"classes": self.classes()} if self.counted.has_classes else {}
        else:
            disputed = estimated.disputed_texts(self.counted, MOST_TEXTS)
            tables = {"classes": self.classes(), "annotators": self.annotators()}
        return spans_page(told, disputed, tables, self.groups)

    def to_dict(self) -> dict[str, Any]:
        """All figures as plain values, in full precision."""
        return spans_document(self.told, self.groups)

    def to_json(self, indent: int | None = 2) -> str:
        """All figures as JSON, in the documented format."""
        return to_json(self.to_dict(), indent)

    def __str__(self) -> str:
        return rendered(spans_summary(self.told, self.groups))

    def __repr__(self) -> str:
        return f"<SpanAgreement: {' '.join(spans_sentences(self.findings))}>"

    def _repr_html_(self) -> str:
        return "".join(f"<p>{escape(escape_controls(words))}</p>" for words in spans_sentences(self.findings))
