"""Options: what the command line takes, and its help."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from sklearn_probsr import __version__
from sklearn_probsr.cli._help_texts import (
    ABOUT,
    COMPARE,
    COMPARE_EXAMPLES,
    DEMO,
    DEMO_EXAMPLES,
    EXAMPLES,
    EXPLAIN,
    EXPLAIN_EXAMPLES,
    WARM_UP,
)
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

_COMPARED = (".html", ".csv", ".md")
_EXPLAINED = (".csv", ".json", ".parquet", ".md")


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
    top = _Parser(prog="sklearn-probsr", description=ABOUT, epilog=EXAMPLES)
    top.add_argument("--version", action="version", version=f"sklearn-probsr {__version__}")
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for add in (_add_compare, _add_explain, _add_demo, _add_warm_up):
        add(commands).add_argument(
            "--debug", action="store_true", help="show where an error is from"
        )
    return top


def _add_compare(commands: Any) -> Any:
    compare = commands.add_parser(
        "compare",
        help="reasons beside SHAP values, as a page or a table",
        description=COMPARE,
        epilog=COMPARE_EXAMPLES,
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
        "a page (.html) or a table (.csv, .md); without it a table is printed",
    )
    return compare


def _add_explain(commands: Any) -> Any:
    explain = commands.add_parser(
        "explain",
        help="the reasons of rows, in words, as a table or as JSON",
        description=EXPLAIN,
        epilog=EXPLAIN_EXAMPLES,
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
    return explain


def _add_demo(commands: Any) -> Any:
    demo = commands.add_parser(
        "demo",
        help="explain a classifier of breast tumours",
        description=DEMO,
        epilog=DEMO_EXAMPLES,
    )
    demo.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="FOLDER",
        default=Path("sklearn-probsr-demo"),
        help="where to write to (%(default)s)",
    )
    return demo


def _add_warm_up(commands: Any) -> Any:
    return commands.add_parser(
        "warm-up",
        help="compile what explanations need, for images and servers",
        description=WARM_UP,
    )


def _add_output(
    command: argparse.ArgumentParser, group: Any, endings: Sequence[str], what: str
) -> None:
    """Add what says where to write to."""

    def output(text: str) -> Path:
        path = Path(text)
        if path.suffix.lower() not in endings:
            known = f"{', '.join(endings[:-1])} or {endings[-1]}"
            page = path.suffix.lower() == ".html"
            hint = ": pages are written by compare" if page else ""
            raise argparse.ArgumentTypeError(f"must end in {known}, got {text!r}{hint}")
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
