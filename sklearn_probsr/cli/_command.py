"""The command line: what is asked for, and how it ends."""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sklearn_probsr.cli._options import parser

if TYPE_CHECKING:
    from pandas import DataFrame

    from sklearn_probsr.cli._case import Case
    from sklearn_probsr.cli._request import Request
    from sklearn_probsr.report.comparison._comparison import Comparison

__all__ = ["main"]

# So many pairs of a row and a background row may take a minute.
_MANY = 3_000_000


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command.

    Parameters
    ----------
    argv : sequence of str or None, default=None
        What follows the name of the program; None: what was typed.

    Returns
    -------
    int
        The exit code: 0, or 1 if something given is wrong, or 3 if all was done, but there are
        rows without a reason, or 130 if interrupted. Wrong usage ends the process with 2.
    """
    _open_streams()
    args = parser().parse_args(argv)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # for terminals that lack a character
    try:
        with _notes(args.debug):
            code = _COMMANDS[args.command](args)
        sys.stdout.flush()
    except KeyboardInterrupt as error:
        return _ended(" ".join(["Interrupted.", *map(str, error.args)]), 130, args.debug)
    except BrokenPipeError:
        # Who reads the output has left. Python must not try to flush it when it ends.
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except Exception as error:
        if _interrupted(error):
            return _ended("Interrupted.", 130, args.debug)
        return _ended(f"Error: {_said(error)}", 1, args.debug)
    return code


def _open_streams() -> None:
    """Open those of the standard streams that were closed, to nowhere.

    Otherwise a file that is opened would get the number of one, and what libraries print be in it.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115


def _interrupted(error: BaseException | None) -> bool:
    """Whether Ctrl-C is behind an error: in compiled code it ends as a SystemError."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None


def _said(error: Exception) -> str:
    """Return what to tell of an error."""
    from sklearn_probsr.exceptions import ProbSRError

    if isinstance(error, ProbSRError):
        return str(error)
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename or 'output'}: {error.strerror}."
    if isinstance(error, MemoryError):
        return "Out of memory. Try fewer rows, or a smaller background."
    if isinstance(error, ModuleNotFoundError):
        return f"{error.name} is not installed. Run: pip install {error.name}"
    return f"{type(error).__name__}: {error} (--debug shows where)"


def _ended(text: str, code: int, debug: bool) -> int:
    from sklearn_probsr.cli._terminal_text import one_line

    if debug:
        traceback.print_exc()
    print(one_line(text), file=sys.stderr)
    return code


@contextlib.contextmanager
def _notes(debug: bool) -> Iterator[None]:
    """Print what was warned of, each once and in one line, after what was asked for.

    If that fails, its error is the one line. What is for programmers is for those who debug.
    """
    from sklearn_probsr.cli._terminal_text import one_line

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for category in (DeprecationWarning, PendingDeprecationWarning, FutureWarning):
            warnings.simplefilter("always" if debug else "ignore", category)
        yield
    for text in dict.fromkeys(one_line(str(warning.message)) for warning in caught):
        print(f"Note: {text}", file=sys.stderr)


# --- commands --------------------------------------------------------------------------------


def _compare(args: argparse.Namespace) -> int:
    from sklearn_probsr.cli._case_files import load_case
    from sklearn_probsr.cli._paths import check_output, write_output

    request, output = _request(args), args.output
    if output is not None:
        check_output(output, args.force, request.inputs)
    case = load_case(request)
    with case.answering(), _working(case, len(case.features.rows[: args.rows])):
        found = case.compared(args.rows, args.dependence)
        if output is not None:  # a page searches for more, so this may last as well
            write_output(output, args.force, lambda path: _write(found, case, path, args))
    _say(case.replacement)
    if accuracy := case.accuracy():
        _say(accuracy)
    if output is None:
        _say(found.to_markdown())
    else:
        _say(f"{found.summary()}\nWritten to {output}.")
    return _code(found.to_frame())


def _write(found: Comparison, case: Case, path: Path, args: argparse.Namespace) -> None:
    from sklearn_probsr.cli._tabled_reasons import to_csv
    from sklearn_probsr.results._inert_text import writable
    from sklearn_probsr.results.codec import atomically

    ending = path.suffix.lower()
    if ending == ".html":
        found.to_html(path, title=None if args.title is None else writable(args.title))
        return
    if ending == ".csv":
        table = found.to_frame()
        rows = range(len(table))
        content = to_csv(case.numbered(table.reset_index(drop=True), rows), args.raw)
    else:
        content = f"{writable(found.to_markdown(len(found)))}\n".encode()
    atomically(path, lambda file: file.write(content))


def _explain(args: argparse.Namespace) -> int:
    from sklearn_probsr.cli._batched_files import in_batches
    from sklearn_probsr.cli._case_files import load_case
    from sklearn_probsr.cli._paths import check_output, write_output

    request, output = _request(args), args.output
    if args.row is None and in_batches(request.data, output, args.jobs, args.resume):
        from sklearn_probsr.cli._many_rows import explain_files

        text, code = explain_files(request, output, args)
        _say(text)
        return code
    if output is not None:
        check_output(output, args.force, request.inputs)
    case = load_case(request, asked=args.row or ())
    # It takes seconds to import, and what is wrong with the files should be said before.
    from sklearn_probsr.cli import _tabled_reasons
    from sklearn_probsr.cli._spoken_reasons import explain, flagged, to_json, to_text

    rows = range(len(case.features.rows[: args.rows])) if args.row is None else args.row
    with case.answering(), _working(case, len(rows)):
        told = explain(case, rows)
    head = "\n".join(filter(None, (case.replacement, case.accuracy())))
    if output is not None:
        write_output(
            output, args.force, lambda path: _tabled_reasons.write(case, told, path, args.raw)
        )
        _say(f"{head}\n{_tabled_reasons.summary(told)}\nWritten to {output}.")
    elif args.json:
        print(to_json(told))
    elif args.row is None and len(rows) > _tabled_reasons.MOST_IN_WORDS:
        _say(f"{head}\n{_tabled_reasons.to_markdown(case, told, _tabled_reasons.MOST_LINES)}")
    else:
        _say(f"{case.replacement}\n\n{to_text(told)}")
    return 3 if flagged(told) else 0


def _say(text: str) -> None:
    """Print text of somebody else's, which must not steer the terminal."""
    from sklearn_probsr.cli._terminal_text import printable

    print(printable(text))


def _code(table: DataFrame) -> int:
    """Return the exit code, which says whether rows have no reason."""
    return 3 if "status" in table and (table["status"] != "ok").any() else 0


def _demo(args: argparse.Namespace) -> int:
    from sklearn_probsr.exceptions import InvalidInputError

    if args.output.exists() and not args.output.is_dir():
        raise InvalidInputError(
            f"{args.output} is a file, and the demo writes to a folder. Choose another name."
        )
    from sklearn_probsr.report._demo import demo

    demo(args.output, lambda text: print(text, flush=True))
    return 0


def _warm_up(args: argparse.Namespace) -> int:
    from sklearn_probsr.cli._warm_up import warm_up

    warm_up(lambda text: print(text, flush=True))
    return 0


@contextlib.contextmanager
def _working(case: Case, n: int) -> Iterator[None]:
    """Tell a terminal what goes on, with a bar if it lasts; keep the bar out of files."""
    if sys.stderr.isatty():
        others = 0 if case.background is None else len(case.background)
        hint = " This takes a while; --rows N explains fewer." if n * others > _MANY else ""
        rows = f"{n:,} row{'s' if n > 1 else ''}"
        print(f"Searching the reasons of {rows} ...{hint}", file=sys.stderr)
        yield
        return
    with contextlib.redirect_stderr(io.StringIO()):
        yield


def _request(args: argparse.Namespace) -> Request:
    from sklearn_probsr.cli._request import Request

    names = Request.__dataclass_fields__
    return Request(**{name: getattr(args, name) for name in names})


_COMMANDS: dict[str, Callable[[argparse.Namespace], int]] = {
    "compare": _compare,
    "explain": _explain,
    "demo": _demo,
    "warm-up": _warm_up,
}
