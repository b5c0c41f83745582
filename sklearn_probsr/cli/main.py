"""The command line: what can be asked, and how it ends.

``main`` takes what was typed and returns the exit code: 0 if all was done, 1 if something given is
wrong, 2 if it was asked for wrongly. Nothing slow is imported before a command runs.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from sklearn_probsr import __version__

if TYPE_CHECKING:
    from sklearn_probsr.cli.cases import Case

_Command = TypeVar("_Command", bound=Callable[..., Any])

# Costs are exact: one of a million digits would take all memory.
_LEAST, _MOST = Decimal("1e-300"), Decimal("1e300")


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command.

    Parameters
    ----------
    argv : sequence of str or None, default=None
        What follows the name of the program; None: what was typed.

    Returns
    -------
    int
        The exit code: 0, or 1 if something given is wrong, or 2 if the usage is.
    """
    typed = list(sys.argv[1:] if argv is None else argv)
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        # Without a stream a file that is opened would get its number, and what is printed.
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # for terminals that lack a character
    try:
        with _notes("--debug" in typed):
            _group.main(typed, "sklearn-probsr", standalone_mode=False)
            sys.stdout.flush()
        return 0
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except BrokenPipeError:
        # Who reads the output has left. Python must not try to flush it when it ends.
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (Exception, KeyboardInterrupt) as error:
        if "--debug" in typed:
            traceback.print_exc()
        click.echo(_one_line(_said(error)), err=True)
        return 1


def _said(error: BaseException) -> str:
    """Return what to tell of an error."""
    from sklearn_probsr.exceptions import ProbSRError

    cause: BaseException | None = error
    while cause is not None:  # in compiled code Ctrl-C ends as a SystemError
        if isinstance(cause, KeyboardInterrupt | click.Abort):
            return "Interrupted."
        cause = cause.__cause__ or cause.__context__
    if isinstance(error, ProbSRError):
        return f"Error: {error}"
    if isinstance(error, OSError) and error.strerror:
        return f"Error: {error.filename or 'output'}: {error.strerror}."
    if isinstance(error, MemoryError):
        return "Error: Out of memory. Try fewer rows, or a smaller background."
    if isinstance(error, ModuleNotFoundError):
        return f"Error: {error.name} is not installed. Run: pip install {error.name}"
    return f"Error: {type(error).__name__}: {error} (--debug shows where)"


@contextlib.contextmanager
def _notes(debug: bool) -> Iterator[None]:
    """Print what was warned of, each once and in one line, after what was asked for.

    If that fails, its error is the one line. What is for programmers is for those who debug.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for category in (DeprecationWarning, PendingDeprecationWarning, FutureWarning):
            warnings.simplefilter("always" if debug else "ignore", category)
        # The status of such rows is told with them.
        warnings.filterwarnings("ignore", r"\d+ of \d+ rows? could not be explained")
        yield
    for text in dict.fromkeys(_one_line(str(warning.message)) for warning in caught):
        click.echo(f"Note: {text}", err=True)


def _one_line(text: str) -> str:
    """Return text as one line that a terminal can show, whatever somebody has put into it."""
    return "".join(c if c.isprintable() else "?" for c in " ".join(text.split()))


def _say(text: str) -> None:
    """Print text of somebody else's, which must not steer the terminal."""
    click.echo("".join(c if c.isprintable() or c == "\n" else "?" for c in text))


# --- options ---------------------------------------------------------------------------------


def _cost(context: click.Context, option: click.Parameter, texts: Sequence[str]) -> Any:
    """Return what features cost, of texts such as "age=2.5"; None if nothing is told."""
    costs = {}
    for text in texts:
        name, _, told = text.rpartition("=")
        try:
            number = Decimal(told)
        except ArithmeticError:
            number = Decimal(0)
        if not name or not number.is_finite() or not _LEAST <= number <= _MOST:
            raise click.BadParameter(
                f"{text!r} must be the name of a feature, =, and a number from {_LEAST} to {_MOST}."
            )
        costs[name] = number
    return costs or None


def _separator(context: click.Context, option: click.Parameter, text: str | None) -> str | None:
    """Return the character between the fields of a CSV."""
    named = {"tab": "\t", "\\t": "\t"}.get(text or "", text)
    if named is not None and (len(named) != 1 or named in '"\r\n\0' or not named.isascii()):
        raise click.BadParameter(
            f"{text!r} must be one character of ASCII, or tab, and neither a quotation mark nor a "
            "line end."
        )
    return named


def _proof(context: click.Context, option: click.Parameter, text: str) -> bool | str:
    return {"yes": True, "no": False}.get(text, text)


def _ending(*endings: str) -> Callable[..., Path | None]:
    """Return what checks that the name of a file ends in one of some endings."""

    def check(context: click.Context, option: click.Parameter, path: Path | None) -> Path | None:
        if path is not None and path.suffix.lower() not in endings:
            page = ": pages are written by compare" if path.suffix.lower() == ".html" else ""
            raise click.BadParameter(
                f"{str(path)!r} must end in {', '.join(endings[:-1])} or {endings[-1]}{page}."
            )
        return path

    return check


def _option(typed: str, about: str, **more: Any) -> Callable[[_Command], _Command]:
    """Return an option as it is typed, "--rows N"; one without a value is there or not."""
    if " " not in typed:
        return click.option(typed, is_flag=True, help=about, **more)
    *names, value = typed.split()
    return click.option(*names, metavar=value, help=about, **more)


_FILE = click.Path(path_type=Path)
_INPUT = click.Path(exists=True, path_type=Path)
_AT_LEAST_0, _AT_LEAST_1 = click.IntRange(min=0), click.IntRange(min=1)
_OPEN = click.FloatRange(0, 1, min_open=True, max_open=True)
_PROVE, _ON_ERROR = click.Choice(["auto", "yes", "no"]), click.Choice(["raise", "skip"])
_SHOWN: dict[str, Any] = {"show_default": True}
_MANY: dict[str, Any] = {"multiple": True}
_OPTIONS = [
    click.argument("model", type=_INPUT),
    click.argument("data", type=_INPUT),
    _option("--target COL", "The column of the true class, no feature."),
    _option("--id COL", "The column of what rows are called, no feature."),
    _option("--drop COL", "A column that is no feature.", **_MANY),
    _option("--background FILE", "Rows that replace unknown features (DATA), or uniform."),
    _option("--independent", "Replace features each by itself, not together by a row's."),
    _option(
        "--sample N",
        "Search on so many of these rows, drawn at random; guarantees are counted over all.",
        type=_AT_LEAST_1,
    ),
    _option(
        "--delta P",
        "The probability to guarantee.",
        type=click.FloatRange(0, 1),
        default=0.95,
        **_SHOWN,
    ),
    _option("--include NAME", "A feature that every reason must have.", **_MANY),
    _option("--exclude NAME", "A feature that no reason may have.", **_MANY),
    _option("--max-size N", "The most features that a reason may have.", type=_AT_LEAST_0),
    _option(
        "--cost NAME=NUMBER",
        "What it costs to know a feature (1): the cheapest reasons are looked for.",
        callback=_cost,
        **_MANY,
    ),
    _option("--class label C", "Of more than two classes, the one to explain."),
    _option("--versus C", "And the one to compare it with."),
    _option("--present-only", "Choose features that are there: words that occur, numbers not 0."),
    _option("--supporting-only", "Choose facts that speak for the class, more than on average."),
    _option("--epsilon E", "How far below P a guarantee may be (not at all).", type=_OPEN),
    _option(
        "--prove auto|yes|no",
        "How hard to try to prove that no smaller set will do.",
        type=_PROVE,
        default="auto",
        callback=_proof,
        **_SHOWN,
    ),
    _option("--jobs N", "How many processes share the rows (1); -1: all cores.", type=int),
    _option(
        "--on-error raise|skip",
        "What becomes of a row that the model does not take: an error, or no reason.",
        type=_ON_ERROR,
        default="raise",
        **_SHOWN,
    ),
    _option("--rows N", "Explain only the first N rows (all).", type=_AT_LEAST_1),
    _option("--sep CHAR", "What separates the fields of a CSV (,).", callback=_separator),
    _option("--trust TYPE", "A type that MODEL may hold.", **_MANY),
    _option("--trust-pickle", "Load MODEL though it is a pickle, which can run any code."),
    _option("--force", "Overwrite FILE if it is there."),
]


def _asking(command: _Command) -> _Command:
    """Let a command take a model, rows, and how reasons are searched."""
    for add in reversed(_OPTIONS):
        command = add(command)
    return command


def _debug(command: _Command) -> _Command:
    return _option("--debug", "Show where an error is from.", expose_value=False)(command)


# --- commands --------------------------------------------------------------------------------

_EXAMPLES = """\b
examples:
  sklearn-probsr explain model.skops test.csv --row 0
  sklearn-probsr explain model.skops test.csv --background train.csv -o reasons.csv
  sklearn-probsr compare model.skops test.csv --target y -o report.html

Exit codes: 0 done, 1 something given is wrong, 2 wrong usage.
"""
_EXPLAIN = """\b
examples:
  sklearn-probsr explain model.skops test.csv --row 0
  sklearn-probsr explain model.skops test.csv --background train.csv --row 3 --row 7
  sklearn-probsr explain model.skops test.csv --target y --json
  sklearn-probsr explain model.skops data/ --id customer --jobs 4 -o reasons.parquet
"""
_COMPARE = """\b
examples:
  sklearn-probsr compare model.skops test.csv
  sklearn-probsr compare model.skops test.csv --target y -o report.html
  sklearn-probsr compare model.skops test.csv --background train.csv -o table.csv
"""


@click.group(epilog=_EXAMPLES)
@click.version_option(__version__, message="sklearn-probsr %(version)s")
def _group() -> None:
    """Tell which few features settle a decision of a linear classifier, and how sure that is."""


@_group.command(epilog=_EXPLAIN)
@_asking
@_option(
    "--row numbers N",
    "A row of DATA, in words; the first is 0. May be repeated.",
    type=_AT_LEAST_0,
    **_MANY,
)
@_option("--json", "Print a JSON object a row.")
@_option(
    "-o --output FILE",
    "Write a table: .csv or .parquet.",
    type=_FILE,
    callback=_ending(".csv", ".parquet"),
)
@_debug
def explain(
    numbers: Sequence[int], json: bool, output: Path | None, force: bool, **asked: Any
) -> None:
    """Say why rows got their class: the few features that settle it, and how sure that is.

    MODEL is a file that skops.io.dump wrote; DATA is CSV with a line of names, Parquet, Feather, or
    a folder of Parquet. A row that --row names is told in words, all rows as a table.
    """
    if numbers and asked["rows"] is not None:
        raise click.UsageError("--row and --rows exclude each other. Leave one of them out.")
    if json and output is not None:
        raise click.UsageError("--json prints and -o writes. Leave one of them out.")
    case = _case(asked, output, force)
    from sklearn_probsr.cli import told

    if numbers and not json and output is None:
        _say(f"{case.replacement}\n\n{told.in_words(case, *case.explained(numbers))}")
        return
    tables, seen = case.told(numbers), told.Summary()
    if json:
        for table in tables:
            for line in told.json_lines(table):
                click.echo(line)
        return
    if output is not None:
        kept = (seen.count(table) for table in tables)
        schema = case.schema() if output.suffix.lower() == ".parquet" else None
        _write(output, lambda file: told.write(kept, output.suffix, schema, file))
        _say(f"{case.replacement}\n{seen.text(case)}\nWritten to {output}.")
        return
    for table in tables:
        seen.count(table)
    _say(f"{case.replacement}\n{seen.text(case)}\n\n{seen.printed()}")


@_group.command(epilog=_COMPARE)
@_asking
@_option("--dependence", "Say what it matters that features depend on each other; slower.")
@_option("--title TEXT", "The title of the page.")
@_option(
    "-o --output FILE",
    "Write a page (.html), or a table: .csv or .parquet.",
    type=_FILE,
    callback=_ending(".html", ".csv", ".parquet"),
)
@_debug
def compare(
    dependence: bool, title: str | None, output: Path | None, force: bool, **asked: Any
) -> None:
    """Put the reason of every row beside its SHAP values.

    How many features must be shown, and what is lost by stopping at the largest SHAP values?
    MODEL and DATA are as in explain.
    """
    case = _case(asked, output, force)
    from sklearn_probsr.cli import told
    from sklearn_probsr.results._inert_text import writable

    with _quietly():
        found, table = case.compared(dependence)
    seen = told.Summary()
    seen.count(table)
    if output is None:
        _say("\n".join(filter(None, [case.replacement, seen.accuracy(case), found.to_markdown()])))
        return
    if output.suffix.lower() == ".html":
        with _quietly(), _writing(output):  # a page searches for more, so this may last as well
            found.to_html(output, title=None if title is None else writable(title))
    else:
        _write(output, lambda file: told.write([table], output.suffix, None, file))
    lines = [case.replacement, seen.accuracy(case), found.summary(), f"Written to {output}."]
    _say("\n".join(filter(None, lines)))


@_group.command()
@_debug
def warm_up() -> None:
    """Compile what explanations need, and keep it on disk.

    In the package if that can be written to, else below the user's home, or in NUMBA_CACHE_DIR. It
    takes a while, once; put it into the build of an image, under the user who will run it.
    """
    from sklearn_probsr.cli.warm_up import warm_up as run

    run(click.echo)


def _case(asked: dict[str, Any], output: Path | None, force: bool) -> Case:
    """Return what was asked about; refuse what cannot be asked together, or written, before."""
    uniform = asked["background"] == "uniform"
    for name in ("independent", "sample"):
        if uniform and asked[name]:
            raise click.UsageError(
                f"--{name} is about rows, and --background uniform has none. Leave one out."
            )
    if asked["sample"] and asked["independent"]:
        raise click.UsageError(
            "--sample is about rows that replace features together, and --independent replaces "
            "each by itself. Leave one of them out."
        )
    if asked["jobs"] == 0:
        raise click.UsageError("--jobs must be at least 1, or -1 for all cores, got 0.")
    if (asked["versus"] is None) != (asked["label"] is None):
        raise click.UsageError("--class and --versus name two classes. Pass both, or neither.")
    if output is not None:
        other = [] if uniform or asked["background"] is None else [Path(asked["background"])]
        _check_output(output, force, [asked["model"], asked["data"], *other])
    from sklearn_probsr.cli.cases import Case

    return Case(**asked)


def _check_output(path: Path, force: bool, inputs: Iterable[Path]) -> None:
    """Refuse to write where that cannot be done, or where something is already."""
    from sklearn_probsr.exceptions import InvalidInputError

    if path.is_dir():
        raise InvalidInputError(f"{path} is a folder. Name a file in it.")
    if os.path.lexists(path):
        if not force:
            raise InvalidInputError(f"{path} exists already. Choose another name, or pass --force.")
        if any(path.exists() and other.exists() and path.samefile(other) for other in inputs):
            raise InvalidInputError(
                f"{path} is read, so it cannot be written. Choose another name."
            )
    if not path.parent.is_dir():
        raise InvalidInputError(f"There is no folder {path.parent} to write {path.name} to.")
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise InvalidInputError(f"Nothing can be written to the folder {path.parent}.")


def _write(path: Path, write: Callable[[Any], Any]) -> None:
    """Let something write a file, which appears when it is whole."""
    from sklearn_probsr.results.codec import atomically

    with _writing(path):
        atomically(path, write)


@contextlib.contextmanager
def _quietly() -> Iterator[None]:
    """Keep a progress bar out of files: it is for terminals."""
    if sys.stderr.isatty():
        yield
        return
    with contextlib.redirect_stderr(io.StringIO()):
        yield


@contextlib.contextmanager
def _writing(path: Path) -> Iterator[None]:
    from sklearn_probsr.exceptions import InvalidInputError

    try:
        yield
    except OSError as error:
        raise InvalidInputError(
            f"{path} could not be written: {error.strerror or error}."
        ) from error
