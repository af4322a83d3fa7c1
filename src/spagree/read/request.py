"""What the user asked of a source, in one record that is checked before anything is read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from spagree import extensions
from spagree.errors import UsageError, unknown_name
from spagree.options import TOOLS, Reading, declared, given
from spagree.read import layouts
from spagree.read.layouts import Question

if TYPE_CHECKING:
    from spagree.read.tools.chosen import Chosen
    from spagree.read.tools.rules import Rules
    from spagree.read.tools.tool import ReaderOptions

POLARS, DUCKDB, SPARK = ENGINES = ("polars", "duckdb", "spark")


class Request(Reading):
    """The options for reading and what they mean in combination."""

    __slots__ = ()

    @property
    def missing_texts(self) -> tuple[str, ...]:
        """The labels that mean missing."""
        return _several(self.missing)

    @property
    def may_be_export(self) -> bool:
        """Whether a tool may have written it: no query, no named layout, a header, and not read by Spark or polars."""
        is_export = self.format not in layouts.FORMATS and self.header and self.query is None
        return is_export and self.engine in (None, DUCKDB)

    def is_plain(self, tool: str) -> bool:
        """Whether to read a tool's export as a plain table, because the user named the label column."""
        if self.label is None:
            return False
        if self.format == tool:
            raise UsageError(f"--label does not apply to a {tool} export; choose the question with --question")
        return True

    def refuse_unknown(self) -> None:
        """Refuse unknown names before anything is read."""
        from spagree.read.tools.registry import MODULES

        known = ("auto", *layouts.FORMATS, *MODULES)
        if self.format not in known and self.format not in (added := extensions.installed(extensions.READERS)):
            raise unknown_name("format", str(self.format), (*known, *added))
        if self.engine is not None and self.engine not in ENGINES:
            raise unknown_name("engine", str(self.engine), ENGINES)
        if self.spark_master is not None and self.engine != SPARK:
            raise UsageError(f"--spark-master {self.spark_master} only works with --engine spark; give both")
        self.rules()

    def refuse_for_tables(self, source: str) -> None:
        """Refuse options that only make sense for a tool's export."""
        of_tools = [name for name, option in declared(Reading).items() if option.group == TOOLS]
        for name in given(self):
            if name in of_tools:
                raise UsageError(
                    f"--{name.replace('_', '-')} is for exports of annotation tools, and {source} is a plain table; "
                    "leave it out, or name the tool with --format"
                )

    def refuse_tool(self) -> None:
        """Refuse a tool's format for anything but files."""
        if self.format != "auto" and self.format not in layouts.FORMATS:
            raise UsageError(f"--format {self.format} reads files of that tool, with a header; leave it out")

    def refuse_engine(self) -> None:
        """Refuse an engine for data in memory, which is counted where it is."""
        if self.engine is not None:
            raise UsageError(f"--engine {self.engine} is for files; a data frame is counted by its own engine")

    def refuse_matrix(self) -> None:
        """Refuse a matrix unless the format says whether its numbers are counts or labels."""
        if self.format == "auto":
            raise UsageError(
                "a numpy matrix may hold counts or labels; say which: --format counts (items × classes), --format wide "
                "(labels, items × annotators) or --format transposed (labels, annotators × items)"
            )

    def refuse_kind(self, kind: str, name: str) -> None:
        """Refuse files that the named engine reads less strictly than duckdb, or not at all."""
        reads = {POLARS: ("parquet", "arrow"), DUCKDB: ("parquet", "text")}
        if self.engine is not None and kind not in reads[self.engine]:
            raise UsageError(f"--engine {self.engine} does not read {name} ({kind}); leave it out, or use Parquet")

    def refuse_for_databases(self) -> None:
        """Refuse options that only make sense for files."""
        named = {
            "encoding": self.encoding is not None,
            "sheet": self.sheet is not None,
            "no-header": not self.header,
            "engine": self.engine is not None,
        }
        named[f"format {self.format}"] = self.format not in ("auto", *layouts.FORMATS)
        for option, is_given in named.items():
            if is_given:
                raise UsageError(f"--{option} is for files, and --query reads a table of a database; leave one out")

    def columns(self) -> Question:
        """The columns of a table that the user named."""
        return Question(
            _names(self.item),
            _names(self.annotator),
            _names(self.label),
            self.time,
            self.missing_texts,
            self.text,
            self.question,
            self.time_format,
            self.cluster,
            self.by,
        )

    def asked(self, scratch: Path) -> ReaderOptions:
        """The options that a tool's reader needs."""
        from spagree.read.tools.tool import ReaderOptions

        item, annotator = (self._single(role) for role in ("item", "annotator"))
        return ReaderOptions(
            scratch,
            self.encoding,
            item,
            annotator,
            self.time,
            self.question,
            self.text,
            self.config,
            self._chosen(),
            self.cluster,
            self.by,
        )

    def _chosen(self) -> Chosen | None:
        from spagree.read.filters import conditions
        from spagree.read.tools.chosen import Chosen

        return Chosen(conditions(self.where)) if self.where else None

    def _single(self, role: str) -> str | None:
        """The one field of a role: a tool's export has no more."""
        names = _names(getattr(self, role))
        if len(names) > 1:
            raise UsageError(f"--{role} {' '.join(names)}: several columns make one {role} in tables; name one here")
        return names[0] if names else None

    def rules(self) -> Rules:
        """What counts as an annotation."""
        from spagree.read.tools.rules import Rules

        return Rules(_several(self.status), self.ground_truth, self.multi, self.empty)


def _names(given: str | Sequence[str] | None) -> tuple[str, ...]:
    return () if given is None else tuple(map(str, _several(given)))


def _several(given: str | Sequence[str]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)
