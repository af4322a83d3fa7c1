"""What the user asks of a source, in one record that is checked before anything is read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from spagree import plugins
from spagree.errors import UsageError, opt, unknown_name
from spagree.options import TOOLS, Reading, declared, non_default
from spagree.read import columns
from spagree.read.annotations import ANNOTATOR, CLUSTER, GROUP, ITEM, LABEL, LAYOUTS, TEXT, TIME
from spagree.read.columns import Roles
from spagree.read.table import Table
from spagree.read.tools.registry import MODULES
from spagree.read.where import Condition, written

if TYPE_CHECKING:
    from spagree.read.tools.tool import ReaderOptions, Rules


EACH_ROW = ":row"  # in place of the item: every row is one
POLARS, DUCKDB, SPARK = ENGINES = ("polars", "duckdb", "spark")
ROLES = (ITEM, ANNOTATOR, LABEL, TIME, TEXT, CLUSTER, GROUP)
# The policies of exports, the default first; here because plain tables, which load no tool, check them too.
POLICIES = {"ground_truth": ("keep", "drop"), "multi": ("set", "options"), "empty": ("drop", "keep")}


class Request(Reading):
    """The options for reading and what they mean in combination."""

    __slots__ = ()

    def names(self, role: str) -> tuple[str, ...]:
        """The columns named for a role.

        Several make one item, or one annotator; several ``label`` columns are the annotators of a wide table, the
        classes of a table of counts or of a one-hot table, or the items of a transposed one.
        """
        named = getattr(self, role)
        if named is None or (role == ITEM and self.each_row):
            return ()
        return tuple(map(str, _several(named))) if role in (ITEM, ANNOTATOR, LABEL) else (named,)

    @property
    def each_row(self) -> bool:
        """Whether every row is an item, whatever its columns say."""
        return self.item == EACH_ROW or (not isinstance(self.item, str) and tuple(self.item or ()) == (EACH_ROW,))

    def named(self) -> dict[str, str]:
        """The first column named for each role."""
        return {role: names[0] for role in ROLES if (names := self.names(role))}

    def roles(self, table: Table, roles: Sequence[str], taken: frozenset[int] = frozenset()) -> Roles:
        """The columns of these roles: those named, and guesses from those that are not taken."""
        further = [name for role in (ITEM, ANNOTATOR) for name in self.names(role)[1:]]
        taken |= frozenset(columns.several(table.columns, further, opt.item))
        wanted = [role for role in roles if role != ITEM or not self.each_row]
        found = columns.resolve(table.columns, self.named(), wanted, taken)
        more = {role: columns.several(table.columns, self.names(role)[1:], opt[role]) for role in found.positions}
        return replace(found, places={role: (place, *more[role]) for role, place in found.positions.items()})

    def also(self) -> tuple[str, ...]:
        """The roles that are never guessed, as far as they were named."""
        return tuple(role for role in (TEXT, CLUSTER, GROUP) if getattr(self, role) is not None)

    def refuse(self, options: Iterable[str], why: str) -> None:
        """Refuse options that say nothing about a table in this layout."""
        for name in options:
            if (value := getattr(self, name)) is not None:
                raise UsageError(f"{opt[name](value)} does not apply here: {why}; leave it out")

    @property
    def missing_texts(self) -> tuple[str, ...]:
        """The labels that mean missing."""
        return _several(self.missing)

    @property
    def excluded(self) -> tuple[str, ...]:
        """The annotators who are left out."""
        return _several(self.exclude_annotator)

    def conditions(self) -> list[Condition]:
        """What --where asks of the rows.

        >>> print(*Request(where=["language=en", "status!=draft"]).conditions())
        language=en status!=draft
        >>> print(*Request(where={"batch": 3}).conditions())
        batch=3
        """
        if isinstance(self.where, Mapping):
            return [Condition(column, str(value)) for column, value in self.where.items()]
        return [written(text) for text in _several(self.where)]

    def is_plain(self, tool: str) -> bool:
        """Whether to read a tool's export as a plain table, because the user named the label column."""
        if self.label is None:
            return False
        if self.format == tool:
            raise UsageError(
                f"{opt.label} does not apply to exports of {tool}; choose the question with {opt.question}"
            )
        return True

    def refuse_unknown(self) -> None:
        """Refuse unknown names before anything is read."""
        formats = ("auto", *LAYOUTS, *MODULES)
        if self.format not in formats and self.format not in (added := plugins.installed(plugins.READERS)):
            raise unknown_name("format", str(self.format), (*formats, *added))
        if self.engine is not None and self.engine not in ENGINES:
            raise unknown_name("engine", str(self.engine), ENGINES)
        if self.spark_master is not None and self.engine != SPARK:
            raise UsageError(f"{opt.spark_master(self.spark_master)} only works with {opt.engine('spark')}; give both")
        for name, known in POLICIES.items():
            if getattr(self, name) not in known:
                raise unknown_name(opt[name], str(getattr(self, name)), known)

    def refuse_for_tables(self, source: str) -> None:
        """Refuse options for exports of tools, and for files where a query reads a database."""
        is_tool = self.format not in ("auto", *LAYOUTS)
        file_options = {
            opt.encoding: self.encoding is not None,
            opt.sheet: self.sheet is not None,
            opt.no_header: not self.header,
            opt.engine: self.engine is not None,
            opt.format(self.format): is_tool,
        }
        for option, is_given in file_options.items():
            if is_given and self.query is not None:
                raise UsageError(f"{option} is for files, and {opt.query} reads a table of a database; leave one out")
        options = declared(Reading)
        for name in non_default(self):
            if options[name].group == TOOLS:
                raise UsageError(
                    f"{opt[name]} is for exports of annotation tools, and {source} is a plain table; "
                    f"leave it out, or name the tool with {opt.format}"
                )
        if is_tool:
            raise UsageError(f"{opt.format(self.format)} reads files of that tool, with a header; leave it out")

    def reader_options(self, scratch: Path) -> ReaderOptions:
        """The options that a tool's reader needs."""
        from spagree.read.tools.tool import Chosen, ReaderOptions

        for role in (ITEM, ANNOTATOR):
            if len(names := self.names(role)) > 1:
                raise UsageError(f"{opt[role](list(names))}: several columns make one {role} in tables; name one here")
        named = self.named()
        return ReaderOptions(
            scratch,
            self.encoding,
            named.get(ITEM),
            named.get(ANNOTATOR),
            self.time,
            self.question,
            self.text,
            self.config,
            Chosen(self.conditions()) if self.where else None,
            self.cluster,
            self.by,
        )

    def rules(self) -> Rules:
        """What counts as an annotation."""
        from spagree.read.tools.tool import Rules

        return Rules(_several(self.status), self.ground_truth, self.multi, self.empty)


def _several(texts: str | Sequence[str]) -> tuple[str, ...]:
    return (texts,) if isinstance(texts, str) else tuple(texts)
