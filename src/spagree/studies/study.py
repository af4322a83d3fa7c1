"""One run of the experiments: the data, the plan, the output folder and the progress bars."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from spagree.errors import FileError
from spagree.messages import opt
from spagree.present.charts.save import save
from spagree.present.charts.studies import captioned
from spagree.studies.datasets import LabelSet, other_sets, paper_sets
from spagree.studies.rounds import Plan, Tick
from spagree.write import write_atomically

KEPT = "results"
Rows = Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Study:
    """Where the data is and where results go; ``plan.folder`` caches finished parts for the next run."""

    out: Path
    data: Path | None = None
    plan: Plan = field(default_factory=Plan)

    @cached_property
    def paper_sets(self) -> list[LabelSet]:
        """The paper's eight label sets, real or simulated."""
        return paper_sets(self.data, self.plan.seed)

    @cached_property
    def other_sets(self) -> list[LabelSet]:
        """Every other tidy file in the data folder."""
        return other_sets(self.data)

    def table(self, name: str, rows: Rows) -> Path:
        """Write rows as NAME.csv, in full precision."""
        frame = pl.DataFrame(list(rows), infer_schema_length=None)
        return self._written(f"{name}.csv", frame.write_csv)

    def text(self, name: str, content: str) -> Path:
        """Write text as NAME."""
        return self._written(name, lambda path: path.write_text(content + "\n", encoding="utf-8"))

    def figure(self, name: str, chart: Any, title: str, caption: list[str]) -> list[Path]:
        """Draw NAME.svg, NAME.pdf and NAME.png."""
        return save(captioned(chart, title, caption), self._place(name))

    def _written(self, name: str, write: Callable[[Path], object]) -> Path:
        path = self._place(name)
        write_atomically(path, write, force=True)
        return path

    def _place(self, name: str) -> Path:
        try:
            self.out.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise FileError(f"{self.out}: cannot be created ({error.strerror}); choose another {opt.out}") from error
        return self.out / name


@contextmanager
def progress_bars() -> Iterator[Callable[[str, int], Tick]]:
    """One bar per experiment and data set, on standard error; none if that is not a terminal."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:

        def bar(description: str, total: int) -> Tick:
            task = progress.add_task(description, total=total)
            return lambda done: progress.advance(task, done)

        yield bar
