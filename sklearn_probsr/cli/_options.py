"""Options: what the command line takes, and its help."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from sklearn_probsr import __version__
from sklearn_probsr.cli._option_values import (
    at_least,
    cost,
    jobs,
    probability,
    separator,
    slack,
    whole,
)

__all__ = ["parser"]

_COMPARED = (".html", ".csv", ".json", ".md")
_EXPLAINED = (".csv", ".json", ".parquet", ".md")
_ABOUT = """\
Which few features settle this decision of a linear classifier, and how sure is
that? Sufficient reasons with a proved probability, beside SHAP values.
"""
_EXAMPLES = """\
examples:
  sklearn-probsr demo
  sklearn-probsr compare model.skops test.csv --target y -o report.html
  sklearn-probsr explain model.skops test.csv --row 0

Each command has a --help of its own.
Exit codes: 0 done, 1 something given is wrong, 2 wrong usage, 3 done, but some
rows have no reason, 130 interrupted.
"""
_COMPARE = """\
Put the reason of every row beside its SHAP values: how many features must be
shown, and what is lost by stopping at the largest SHAP values.
"""
_COMPARE_EXAMPLES = """\
examples:
  sklearn-probsr compare model.skops test.csv
  sklearn-probsr compare model.skops test.csv --target y -o report.html
  sklearn-probsr compare model.skops test.csv --background train.csv -o table.csv
  sklearn-probsr compare model.joblib test.parquet --trust-pickle --rows 100
  sklearn-probsr compare model.skops test.csv --id customer --exclude sex \\
      --max-size 3 -o report.html
"""
_EXPLAIN = """\
Say why rows got their class: the few features that settle it, how sure that is,
and what was proved about it. Of a few rows in words, with SHAP values beside;
of many in a table.
"""
_EXPLAIN_EXAMPLES = """\
examples:
  sklearn-probsr explain model.skops test.csv --row 0
  sklearn-probsr explain model.skops test.csv --background train.csv --row 3 --row 7
  sklearn-probsr explain model.skops test.csv --target y --row 0 --json
  sklearn-probsr explain model.skops test.csv --id customer -o reasons.csv
  sklearn-probsr explain model.skops data/ --background train.parquet --jobs 4 \\
      -o reasons.parquet
"""
_DEMO = """\
Explain a classifier of breast tumours, and write what was found to a folder.
"""
_DEMO_EXAMPLES = """\
examples:
  sklearn-probsr demo
  sklearn-probsr demo --output build/demo
"""


_WARM_UP = """\
Compile what explanations need, and keep it on disk: in the package if that can be written to, else
below the user's home, or in NUMBA_CACHE_DIR. It takes a while, once; put it into the build of an
image, under the user who will run it."""


class _Parser(argparse.ArgumentParser):
    """A parser that says what is wrong in one line."""

    def __init__(self, **settings: Any) -> None:
        # Options are written out: --trust-p for --trust-pickle is nothing to guess.
        super().__init__(
            allow_abbrev=False,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            **settings,
        )

    def error(self, message: str) -> NoReturn:
        line = " ".join(message.split())
        self.exit(2, f"{self.prog}: {line}. Try: {self.prog} --help\n")


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line; ``command`` names the one that was asked for."""
    top = _Parser(prog="sklearn-probsr", description=_ABOUT, epilog=_EXAMPLES)
    top.add_argument("--version", action="version", version=f"sklearn-probsr {__version__}")
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True)

    compare = commands.add_parser(
        "compare",
        help="reasons beside SHAP values, as a page or a table",
        description=_COMPARE,
        epilog=_COMPARE_EXAMPLES,
    )
    _add_case(compare)
    compare.add_argument(
        "--rows", type=at_least(1), metavar="N", help="explain only the first N rows (all)"
    )
    compare.add_argument(
        "--dependence",
        action="store_true",
        help="say also what it matters that features depend on each other, which takes longer",
    )
    compare.add_argument("--title", metavar="TEXT", help="the title of the page")
    _add_output(
        compare,
        compare,
        _COMPARED,
        "a page (.html), a table (.csv, .md) or everything (.json); without it a table is printed",
    )

    explain = commands.add_parser(
        "explain",
        help="the reasons of rows, in words, as a table or as JSON",
        description=_EXPLAIN,
        epilog=_EXPLAIN_EXAMPLES,
    )
    _add_case(explain)
    which = explain.add_mutually_exclusive_group()
    which.add_argument(
        "--row",
        type=whole,
        metavar="N",
        action="append",
        help="a row of DATA, the first is 0; may be repeated (all rows)",
    )
    which.add_argument(
        "--rows", type=at_least(1), metavar="N", help="explain only the first N rows"
    )
    explain.add_argument(
        "--jobs",
        type=jobs,
        metavar="N",
        help="how many processes share the rows (1); -1: all cores",
    )
    explain.add_argument(
        "--resume",
        action="store_true",
        help="go on where a run for the same FILE was interrupted",
    )
    where = explain.add_mutually_exclusive_group()
    where.add_argument("--json", action="store_true", help="print JSON")
    _add_output(
        explain,
        where,
        _EXPLAINED,
        "a table (.csv, .parquet, .md), or all that --json prints (.json); without it rows are "
        "printed, in words if they are few",
    )

    demo = commands.add_parser(
        "demo",
        help="explain a classifier of breast tumours",
        description=_DEMO,
        epilog=_DEMO_EXAMPLES,
    )
    demo.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="FOLDER",
        default=Path("sklearn-probsr-demo"),
        help="where to write to (%(default)s)",
    )
    warm_up = commands.add_parser(
        "warm-up",
        help="compile what explanations need, for images and servers",
        description=_WARM_UP,
    )
    for command in (compare, explain, demo, warm_up):
        command.add_argument("--debug", action="store_true", help="show where an error is from")
    return top


def _add_output(
    command: argparse.ArgumentParser, group: Any, endings: Sequence[str], what: str
) -> None:
    """Add what says where to write to."""

    def output(text: str) -> Path:
        path = Path(text)
        if path.suffix.lower() not in endings:
            known = f"{', '.join(endings[:-1])} or {endings[-1]}"
            raise argparse.ArgumentTypeError(f"must end in {known}, got {text!r}")
        return path

    group.add_argument("-o", "--output", type=output, metavar="FILE", help=what)
    command.add_argument(
        "--raw",
        action="store_true",
        help="in a .csv, write text as it is, also if a spreadsheet takes it for a formula",
    )
    command.add_argument("--force", action="store_true", help="overwrite FILE if it is there")


def _add_case(command: argparse.ArgumentParser) -> None:
    """Add what says which model, which rows and what replaces an unknown feature."""
    add = command.add_argument
    add("model", type=Path, metavar="MODEL", help="a file that skops.io.dump wrote")
    add(
        "data",
        type=Path,
        metavar="DATA",
        help="the rows: CSV with names, Parquet or Feather; to explain, also a folder of Parquet",
    )
    add(
        "--target",
        metavar="COL",
        help="the column of the true class, which is no feature",
    )
    add("--id", metavar="COL", help="the column that names rows, which is no feature")
    add(
        "--delta",
        type=probability,
        default=0.95,
        metavar="P",
        help="the probability to guarantee (%(default)s)",
    )
    add(
        "--background",
        metavar="FILE",
        help="rows that replace unknown features (those of DATA), or the word uniform",
    )
    add(
        "--independent",
        action="store_true",
        help="replace features each by itself, not together by those of a row",
    )
    add(
        "--sample",
        type=at_least(1),
        metavar="N",
        help="search on so many of the rows, drawn at random; guarantees are counted over all",
    )
    add("--class", dest="label", metavar="C", help="of more than two classes, the one to explain")
    add("--versus", metavar="C", help="and the one to compare it with")
    for option, what in (("--include", "must"), ("--exclude", "must not")):
        add(
            option,
            metavar="NAME",
            action="append",
            default=[],
            help=f"a feature that every reason {what} have; may be repeated",
        )
    add(
        "--present-only",
        action="store_true",
        help="choose features that are there: words that occur, numbers other than 0",
    )
    add(
        "--supporting-only",
        action="store_true",
        help="choose facts that speak for the class, by more than they do on average",
    )
    add(
        "--cost",
        type=cost,
        metavar="NAME=NUMBER",
        action="append",
        default=[],
        help="what it costs to know a feature (1): find the cheapest reasons; may be repeated",
    )
    add(
        "--max-size", type=at_least(0), metavar="N", help="the most features that a reason may have"
    )
    add(
        "--prove",
        choices=("auto", "yes", "no"),
        default="auto",
        help="how hard to try to prove that no smaller set will do (%(default)s)",
    )
    add(
        "--epsilon",
        type=slack,
        metavar="E",
        help="how far below P a guarantee may be (not at all)",
    )
    add("--drop", metavar="COL", action="append", default=[], help="a column that is no feature")
    add("--sep", type=separator, metavar="CHAR", help="what separates the fields of a CSV (,)")
    add(
        "--trust",
        metavar="TYPE",
        action="append",
        default=[],
        help="a type that MODEL may hold; may be repeated",
    )
    add(
        "--trust-pickle",
        action="store_true",
        help="load MODEL though it is a pickle, which can run any code",
    )
