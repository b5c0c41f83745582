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
    from sklearn_probsr.cli._case import Case, Request
    from sklearn_probsr.report._comparison import Comparison

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
        The exit code: 0, or 1 if something given is wrong, or 130 if interrupted. Wrong usage ends
        the process with 2.
    """
    args = parser().parse_args(argv)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # for terminals that lack a character
    try:
        with _notes(args.debug):
            _COMMANDS[args.command](args)
        sys.stdout.flush()
    except KeyboardInterrupt:
        return _ended("Interrupted.", 130, args.debug)
    except BrokenPipeError:
        # Who reads the output has left. Python must not try to flush it when it ends.
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except Exception as error:
        if _interrupted(error):
            return _ended("Interrupted.", 130, args.debug)
        return _ended(f"Error: {_said(error)}", 1, args.debug)
    return 0


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
        return f"{error.name} is not installed. Run: pip install 'sklearn-probsr[all]'"
    return f"{type(error).__name__}: {error} (--debug shows where)"


def _ended(text: str, code: int, debug: bool) -> int:
    from sklearn_probsr.cli._files import one_line

    if debug:
        traceback.print_exc()
    print(one_line(text), file=sys.stderr)
    return code


@contextlib.contextmanager
def _notes(debug: bool) -> Iterator[None]:
    """Print what was warned of, each once and in one line, after what was asked for.

    If that fails, its error is the one line. What is for programmers is for those who debug.
    """
    from sklearn_probsr.cli._files import one_line

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for category in (DeprecationWarning, PendingDeprecationWarning, FutureWarning):
            warnings.simplefilter("always" if debug else "ignore", category)
        yield
    for text in dict.fromkeys(one_line(str(warning.message)) for warning in caught):
        print(f"Note: {text}", file=sys.stderr)


# --- commands --------------------------------------------------------------------------------


def _compare(args: argparse.Namespace) -> None:
    from sklearn_probsr.cli._case import load_case
    from sklearn_probsr.cli._files import check_output, write_output

    request, output = _request(args), args.output
    if output is not None:
        check_output(output, args.force, request.inputs)
    case = load_case(request)
    with case.answering(), _working(case, len(case.features.rows[: args.rows])):
        found = case.compared(args.rows, args.dependence)
        if output is not None:  # a page searches for more, so this may last as well
            write_output(output, args.force, lambda path: _write(found, path, args))
    print(case.replacement)
    if accuracy := case.accuracy():
        print(accuracy)
    if output is None:
        print(found.to_markdown())
    else:
        print(f"{found.summary()}\nWritten to {output}.")


def _write(found: Comparison, path: Path, args: argparse.Namespace) -> None:
    from sklearn_probsr.results._archive import atomically
    from sklearn_probsr.results._inert import csv_frame

    ending = path.suffix.lower()
    if ending == ".html":
        found.to_html(path, title=args.title)
        return
    if ending == ".csv":
        table = found.to_frame()
        table["reason"] = ["; ".join(names) for names in table["reason"]]
        table = table if args.raw else csv_frame(table)
        text = table.to_csv(index_label="row", lineterminator="\n")
    else:
        text = f"{found.to_json() if ending == '.json' else found.to_markdown(len(found))}\n"
    atomically(path, lambda file: file.write(text.encode()))


def _explain(args: argparse.Namespace) -> None:
    from sklearn_probsr.cli._case import load_case

    case = load_case(_request(args))
    # It takes seconds to import, and what is wrong with the files should be said before.
    from sklearn_probsr.cli._spoken import explain, to_json, to_text

    with case.answering(), _working(case, len(args.row)):
        told = explain(case, args.row)
    if args.json:
        print(to_json(told))
    else:
        print(f"{case.replacement}\n\n{to_text(told)}")


def _demo(args: argparse.Namespace) -> None:
    from sklearn_probsr.exceptions import InvalidInputError

    if args.output.exists() and not args.output.is_dir():
        raise InvalidInputError(
            f"{args.output} is a file, and the demo writes to a folder. Choose another name."
        )
    from sklearn_probsr.report._demo import demo

    demo(args.output, lambda text: print(text, flush=True))


@contextlib.contextmanager
def _working(case: Case, n: int) -> Iterator[None]:
    """Tell a terminal what goes on, with a bar if it lasts; keep the bar out of files."""
    if sys.stderr.isatty():
        others = 0 if case.background is None else len(case.background)
        hint = " This takes a while; --rows N explains fewer." if n * others > _MANY else ""
        rows = f"{n} row{'s' if n > 1 else ''}"
        print(f"Searching the reasons of {rows} ...{hint}", file=sys.stderr)
        yield
        return
    with contextlib.redirect_stderr(io.StringIO()):
        yield


def _request(args: argparse.Namespace) -> Request:
    from sklearn_probsr.cli._case import Request

    names = Request.__dataclass_fields__
    return Request(**{name: getattr(args, name) for name in names})


_COMMANDS: dict[str, Callable[[argparse.Namespace], None]] = {
    "compare": _compare,
    "explain": _explain,
    "demo": _demo,
}
