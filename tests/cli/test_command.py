"""The command line: what it prints and writes, how it ends, and what it says of bad input."""

import io
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numba
import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression

from sklearn_probsr import __main__, __version__
from sklearn_probsr.cli import warm_up
from sklearn_probsr.cli.main import main
from sklearn_probsr.cli.models import ALLOWED
from tests.explained import mixed, people, tumours

COMMAND = [sys.executable, "-m", "sklearn_probsr"]
NAMES = ["job", "home", "debt", "late"]
EXPLAIN = ("explain", "model.skops", "data.csv", "--target", "said")
COMPARE = ("compare", "model.skops", "data.csv", "--target", "said")
HEAD = "Unknown features are replaced, all together, by those of the 16 rows of data.csv.\n"

pytestmark = pytest.mark.usefixtures("here")


# --- help and usage --------------------------------------------------------------------------


@pytest.mark.smoke
@pytest.mark.parametrize("arguments", [["--help"], ["compare", "--help"], ["--version"]])
def test_help_is_fast(arguments):
    """Help and version take less than a second of CPU time, with examples in the help."""
    start = os.times()
    done = subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, check=True)
    end = os.times()
    spent = end.children_user + end.children_system - start.children_user - start.children_system
    assert spent < 1
    expected = f"sklearn-probsr {__version__}\n" if "--version" in arguments else "examples:\n"
    assert expected in done.stdout
    assert done.stderr == ""


WRONG = [
    ("comapre", "Error: No such command 'comapre'. Did you mean 'compare'?"),
    ("compare model.skops", "Error: Missing argument 'DATA'."),
    ("explain m data.csv", "Error: Invalid value for 'MODEL': Path 'm' does not exist."),
    ("explain {} --row 1 --rows 2", "--row and --rows exclude each other. Leave one of them out."),
    ("explain {} --json -o r.csv", "--json prints and -o writes. Leave one of them out."),
    (
        "explain {} -o r.html",
        "'r.html' must end in .csv or .parquet: pages are written by compare.",
    ),
    ("compare {} -o r.pdf", "'r.pdf' must end in .html, .csv or .parquet."),
    ("compare {} --max-size -1", "-1 is not in the range x>=0."),
    ("compare {} --epsilon 1", "1.0 is not in the range 0<x<1."),
    ("compare {} --delta 95", "95.0 is not in the range 0<=x<=1."),
    ("compare {} --delta high", "'high' is not a valid float range."),
    ("compare {} --trust-p", "No such option '--trust-p'."),
    ("explain {} --row x", "'x' is not a valid integer range."),
    ("compare {} --rows 0", "0 is not in the range x>=1."),
    ("explain {} --prove maybe", "'maybe' is not one of 'auto', 'yes', 'no'."),
    ("explain {} --jobs 0", "--jobs must be at least 1, or -1 for all cores, got 0."),
    ("explain {} --versus 0", "--class and --versus name two classes. Pass both, or neither."),
    ("compare {} --sep ;;", "';;' must be one character of ASCII, or tab, and neither a quotation"),
    (
        "compare {} --background uniform --independent",
        "--independent is about rows, and --background uniform has none. Leave one out.",
    ),
    (
        "explain {} --sample 5 --independent",
        "--sample is about rows that replace features together, and --independent replaces each by "
        "itself. Leave one of them out.",
    ),
    *(
        (f"explain {{}} --cost {told}", f"{told!r} must be the name of a feature, =, and a number ")
        for told in ("job", "job=", "=3", "job=0", "job=nan", "job=-1", "job=x", "job=1e999999999")
    ),
]


@pytest.mark.parametrize(("typed", "message"), WRONG)
def test_wrong_usage(run, typed, message):
    """Wrong usage is told in a sentence behind how the command is used, and the exit code is 2."""
    before = sorted(Path().iterdir())
    done = run(*shlex.split(typed.format("model.skops data.csv").replace(";;", "';;'")))
    assert (done.code, done.out) == (2, "")
    assert message in done.err
    assert done.err.startswith("Usage: sklearn-probsr ")
    assert sorted(Path().iterdir()) == before


def test_what_is_missing_is_told(monkeypatch, capsys):
    """Without the libraries of the command line it says which to install."""
    monkeypatch.setitem(sys.modules, "sklearn_probsr.cli.main", None)
    monkeypatch.delitem(sys.modules, "sklearn_probsr.cli.main")
    monkeypatch.setitem(sys.modules, "click", None)
    assert __main__.main() == 1
    assert capsys.readouterr().err == (
        "Error: click is not installed. Run: pip install click pyarrow skops\n"
    )


# --- explain ---------------------------------------------------------------------------------


def test_explain_says_why(run):
    """A sentence, what was proved, and the features beside their SHAP values."""
    done = run("explain", "model.skops", "data.csv", "--target", "said", "--row", "3")
    assert done == (
        0,
        f"""\
{HEAD}
Row 3 of data.csv: called yes rather than no, and it is yes.
Class yes is kept with probability at least 1 over replacement by 16 background rows, \
given job = 1 and home = 1 (2 of 4 features; no smaller set reaches 0.95).
Guarantee: 1. Minimality: minimum.

  feature  value  SHAP value
  job          1        +1.5  in the reason
  home         1          +1  in the reason
  debt         0          +1
  late         0        +0.5
  SHAP values above 0 are towards yes, from 0 on average; at 0 the class changes.
""",
        "",
    )


@pytest.mark.smoke
def test_explain_tells_kinds_and_gaps(run):
    """Categories, bins and missing values appear as they are in the file."""
    X, y = people()
    row = int(np.flatnonzero(X["savings"].isna())[0])
    done = run("explain", "mixed.skops", "people.csv", "--target", "paid", "--row", f"{row}")
    assert (done.code, done.err) == (0, "")
    assert f"\nRow {row} of people.csv: called {mixed().predict(X)[row]} rather than " in done.out
    assert f" it is {y[row]}.\n" in done.out
    lines = {line.split()[0]: line.split()[1] for line in done.out.splitlines() if line[:2] == "  "}
    assert lines["savings"] == "missing"
    assert float(lines["age"]) == X["age"][row]
    assert lines["smoker"] == X["smoker"][row]


def test_all_features_of_a_reason_are_shown(run):
    """Of many features the ten largest are shown, and those of the reason in any case."""
    X, _, y = tumours()
    skops.io.dump(LogisticRegression().fit(X, y), "tumours.skops")
    X.to_csv("tumours.csv", index=False)
    done = run("explain", "tumours.skops", "tumours.csv", "--row", "0")
    table = done.out.split("\n\n")[-1].splitlines()
    assert len(table) >= 13
    assert table[-2] == f"  and {30 - len(table) + 3} more, with smaller SHAP values"


def test_explain_names_a_row(fails):
    """A row that is not there is told."""
    assert fails(*EXPLAIN, "--row", "16") == ("--row 16: data.csv has 16 rows, and the first is 0.")


def test_two_of_several_classes(run, fails):
    """Of three classes all are told apart, or two."""
    X, y = load_iris(return_X_y=True, as_frame=True)
    skops.io.dump(LogisticRegression(max_iter=1000).fit(X, y), "iris.skops")
    X.assign(kind=y).to_csv("iris.csv", index=False)
    command = ("explain", "iris.skops", "iris.csv", "--target", "kind", "--row", "149")
    assert "\nRow 149 of iris.csv: called 2, and it is 2.\n" in run(*command).out
    assert fails(*command, "--class", "5", "--versus", "0") == (
        "--class 5: the classes of iris.skops are 0, 1, 2."
    )
    done = run(*command, "--class", "2", "--versus", "1")
    assert "\nRow 149 of iris.csv: called 2 rather than 1, and it is 2.\n" in done.out
    done = run("compare", "iris.skops", "iris.csv", "--class", "2", "--versus", "1", "--rows", "1")
    assert "\n| 0 | 1 | petal length (cm) | 1 | 1 | minimum |" in done.out


def test_truth_of_another_type(run):
    """A class that is a number is the same where gaps have made it 1.0; a gap is no class."""
    X = pd.read_csv("data.csv")[NAMES]
    skops.io.dump(LogisticRegression().fit(X, X["job"]), "jobs.skops")
    X.assign(is_=[None, *X["job"][1:]]).to_csv("jobs.csv", index=False)
    command = ("explain", "jobs.skops", "jobs.csv", "--target", "is_")
    done = run(*command, "--row", "1", "--row", "0")
    assert "\nRow 1 of jobs.csv: called 1 rather than 0, and it is 1.\n" in done.out
    assert "\nRow 0 of jobs.csv: called 0 rather than 1.\n" in done.out
    assert "The model is right on 15 of 15 rows (100.0%), by the column 'is_'." in run(*command).out
    X.assign(is_=np.nan).to_csv("jobs.csv", index=False)
    assert "\nThere are no classes in the column 'is_'.\n" in run(*command).out


def test_ignored_columns_are_noted(run):
    """Columns that the model does not know are left out, which is said on the other channel."""
    pd.read_csv("data.csv").assign(id=7).to_csv("more.csv", index=False)
    done = run("explain", "model.skops", "more.csv", "--row", "0", "--json")
    assert done.code == 0
    ignored = "has columns that the model does not know, which are ignored: 'said', 'id'."
    assert done.err == f"Note: more.csv {ignored}\n"


def test_what_replaces_features(run, fails):
    """Rows of another file, each feature by itself, or coins; always told first."""
    pd.read_csv("data.csv")[:8].to_csv("train.csv", index=False)
    pd.read_csv("data.csv")[:1].to_csv("one.csv", index=False)
    together = "Unknown features are replaced, all together, by those of"
    for command in (EXPLAIN, COMPARE):
        for more, line, over in (
            ("train.csv", f"{together} the 8 rows of train.csv.", "over replacement by 8 back"),
            ("one.csv", f"{together} the only row of one.csv.", "over replacement by 1 back"),
            (
                "train.csv --independent",
                "Unknown features are replaced, each by itself, from the 8 rows of train.csv.",
                "over independent completions with the marginals of 8 background rows.",
            ),
            (
                "train.csv --sample 5",
                f"{together} the 8 rows of train.csv; sets are searched on 5.",
                "over replacement by 5 of 8 background rows.",
            ),
            (
                "uniform",
                "Unknown features are drawn at random, each value as often as any.",
                "over uniform completions.",
            ),
        ):
            done = run(*command, "--background", *more.split())
            assert (done.code, done.err) == (0, "")
            assert done.out.startswith(f"{line}\n")
            assert over in done.out
        assert fails(*command, "--background", "people.csv") == (
            "people.csv must have the columns that the model takes, it lacks 'home', 'debt', "
            "'late'."
        )
        assert fails(*command, "--background", "none.csv") == "There is no file none.csv."


def test_names_of_the_table_are_used(run, fails):
    """A model without names of its own is explained by those of the table, in any file."""
    data = pd.read_csv("data.csv")
    data[["late", "said", *NAMES[:3]]][:8].to_csv("train.csv", index=False)
    command = (
        "explain",
        "plain.skops",
        "data.csv",
        "--target",
        "said",
        "--background",
        "train.csv",
    )
    assert "given job = 1 and home = 1 (2 of 4 features; " in run(*command, "--row", "3").out
    named = ("explain", "model.skops", *command[2:])
    assert run(*command, "--json") == run(*named, "--json")
    assert run("compare", *command[1:]) == run("compare", *named[1:])
    data.rename(columns={"late": "LATE"}).to_csv("train.csv", index=False)
    assert fails(*command).endswith("it lacks 'late'.")


# --- compare ---------------------------------------------------------------------------------


def test_compare_prints(run):
    """Without a file to write to, what replaces features, accuracy, summary and table are said."""
    done = run(*COMPARE, "--rows", "2")
    assert (done.code, done.err) == (0, "")
    right = "The model is right on 2 of 2 rows (100.0%), by the column 'said'.\n"
    assert done.out.startswith(
        f"{HEAD}{right}2 rows, delta = 0.95, over replacement by 16 background rows.\n"
    )
    assert "\n| 1 | yes | job; debt | 2 | 1 | minimum |" in done.out


@pytest.mark.smoke
def test_compare_writes(run, here):
    """The ending of the file says what is written; a summary is printed."""
    for ending in (".csv", ".parquet", ".html"):
        done = run(*COMPARE, "-o", f"r{ending}", "--title", "Who gets a loan?")
        assert (done.code, done.err) == (0, "")
        assert done.out.endswith(f"\nWritten to r{ending}.\n")
    table = pd.read_csv("r.csv")
    assert table["row"].tolist() == list(range(16))
    assert table["reason"][1] == "job; debt"
    assert pd.read_parquet("r.parquet")["reason"][1].tolist() == ["job", "debt"]
    page = Path("r.html").read_text(encoding="utf-8")
    assert page.lower().startswith("<!doctype html>")
    assert "<title>Who gets a loan?</title>" in page
    assert not [path for path in here.iterdir() if path.name.startswith(".")]


def test_compare_tells_what_dependence_matters(run):
    """Only if asked to: two columns, and a line of the summary."""
    plain, asked = (
        run(*COMPARE, *more, "-o", "r.csv", "--force") for more in ((), ("--dependence",))
    )
    assert "If the features were independent" not in plain.out
    assert "\nIf the features were independent, the reasons' guarantees would be " in asked.out
    columns = ["independent_guarantee_lower", "independent_guarantee_upper"]
    assert list(pd.read_csv("r.csv"))[-2:] == columns


# --- bad input and bad luck ------------------------------------------------------------------


@pytest.mark.parametrize("command", ["compare", "explain"])
def test_bad_input_is_one_line(fails, command):
    """Nothing is printed but the error, nothing is written or left behind."""
    for model, data, start in (
        ("data.csv", "data.csv", "data.csv is not a model: "),
        ("model.skops", "model.skops", "model.skops is not text: "),
        ("model.skops", "people.csv", "people.csv lacks 3 of the 4 columns "),
    ):
        assert fails(command, model, data).startswith(start)
    told = (command, "model.skops", "data.csv", "--target", "said")
    assert fails(*told, "--include", "nix").startswith("include names an unknown feature, 'nix'.")
    assert fails(*told, "--include", "job", "--exclude", "job").startswith("include and exclude ")


def test_a_row_that_the_model_does_not_take(run, fails):
    """It is an error that names the row and the way out; or a line without a reason."""
    data = pd.read_csv("data.csv").astype({"debt": float})
    data.to_csv("train.csv", index=False)
    data.loc[3, "debt"] = None
    data.to_csv("data.csv", index=False)
    for command in (EXPLAIN, COMPARE):
        own = fails(*command)
        assert own.startswith("data.csv: masker must ")
        assert "row 3, column 'debt'" in own
        asked = (*command, "--background", "train.csv")
        assert fails(*asked).startswith("Row 3 of data.csv (the first is 0) cannot be explained: ")
        assert fails(*asked, "-o", "new.csv").endswith(
            " Or pass --on-error skip: such rows have no reason then."
        )
        for more in ((), ("--background", "train.csv")):
            done = run(*command, *more, "--on-error", "skip", "-o", "r.csv", "--force")
            assert done.code == 0
            assert ("1 of 16 rows of data.csv have gaps" in done.err) == (not more)
            told = pd.read_csv("r.csv")
            assert told["status"].tolist() == ["ok"] * 3 + ["invalid"] + ["ok"] * 12
            assert "'debt'" in told["message"][3]
    assert fails(*EXPLAIN, "--background", "train.csv", "--row", "3").startswith(
        "Row 3 of data.csv"
    )


def test_an_output_that_exists_is_kept(run, fails):
    """It is overwritten only by force, and never if it is read."""
    Path("r.csv").write_text("mine")
    for command in (EXPLAIN, COMPARE):
        assert fails(*command, "-o", "r.csv") == (
            "r.csv exists already. Choose another name, or pass --force."
        )
        assert fails(*command, "-o", "data.csv", "--force") == (
            "data.csv is read, so it cannot be written. Choose another name."
        )
        assert fails(*command, "-o", "no/r.csv") == "There is no folder no to write r.csv to."
    assert run(*COMPARE, "-o", "r.csv", "--force").code == 0
    assert Path("r.csv").read_text().startswith("row,truth,prediction,")
    Path("folder.csv").mkdir()
    assert fails(*EXPLAIN, "-o", "folder.csv") == "folder.csv is a folder. Name a file in it."


@pytest.fixture
def small_disk(here):
    """Return a folder on a file system of its own, of 16 kB, and what makes it read-only."""
    folder = here / "disk"
    folder.mkdir()
    mount = shutil.which("mount")
    if mount is None or os.geteuid() != 0:
        pytest.skip("only root can mount a file system")
    made = subprocess.run(
        [mount, "-t", "tmpfs", "-o", "size=16k", "tmpfs", folder], capture_output=True, check=False
    )
    if made.returncode:
        pytest.skip(f"cannot mount a file system here: {made.stderr!r}")
    try:
        yield lambda: subprocess.run([mount, "-o", "remount,ro", folder], check=True)
    finally:
        subprocess.run(["umount", folder], check=True)


def test_a_full_disk(fails, small_disk):
    """An output that does not fit leaves nothing behind."""
    data = pd.read_csv("data.csv")
    pd.concat([data] * 30).to_csv("data.csv", index=False)
    command = ("compare", "model.skops", "data.csv", "--target", "said", "-o", "disk/r.csv")
    assert fails(*command) == "disk/r.csv could not be written: No space left on device."
    assert list(Path("disk").iterdir()) == []


def test_a_read_only_disk(fails, small_disk):
    """A file system that takes nothing is told before any work is done."""
    small_disk()
    assert fails("compare", "data.csv", "data.csv", "-o", "disk/r.csv") == (
        "Nothing can be written to the folder disk."
    )


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (KeyError("x"), "Error: KeyError: 'x' (--debug shows where)"),
        (MemoryError(), "Error: Out of memory. Try fewer rows, or a smaller background."),
        (OSError(5, "Input/output error", "data.csv"), "Error: data.csv: Input/output error."),
        (OSError(28, "No space left on device"), "Error: output: No space left on device."),
        (
            ModuleNotFoundError("No module named 'skops'", name="skops"),
            "Error: skops is not installed. Run: pip install skops",
        ),
    ],
)
def test_unexpected_errors_are_one_line(run, monkeypatch, error, line):
    """Whatever goes wrong is one line; a traceback is for those who ask."""

    def fail(*given, **asked):
        raise error

    monkeypatch.setattr("sklearn_probsr.cli.cases.Case", fail)
    assert run("explain", "model.skops", "data.csv", "--row", "0") == (1, "", f"{line}\n")
    done = run("explain", "model.skops", "data.csv", "--row", "0", "--debug")
    assert done.code == 1
    assert done.err.startswith("Traceback (most recent call last):\n")
    assert done.err.endswith(f"\n{line}\n")


def test_an_interrupted_kernel(run, monkeypatch):
    """Ctrl-C in compiled code arrives as another error, and ends as it should."""

    def fail(*given, **asked):
        raise SystemError("returned a result with an exception set") from KeyboardInterrupt()

    monkeypatch.setattr("sklearn_probsr.cli.cases.Case", fail)
    done = run("explain", "model.skops", "data.csv", "--row", "0")
    assert (done.code, done.out, done.err.strip()) == (1, "", "Interrupted.")


def test_ctrl_c_while_it_works(here):
    """Ctrl-C ends a command with one line, and nothing half-written."""
    X, _, y = tumours()
    skops.io.dump(LogisticRegression().fit(X, y), "model.skops")
    pd.concat([X] * 60).to_csv("data.csv", index=False)
    before = sorted(here.iterdir())
    process = subprocess.Popen(
        [*COMMAND, "explain", "model.skops", "data.csv", "-o", "r.csv"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    while sorted(here.iterdir()) == before:  # until the file is being written
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate()
    assert (process.returncode, out, err.strip()) == (1, b"", b"Interrupted.")
    assert sorted(here.iterdir()) == before


def test_a_reader_that_leaves():
    """A closed pipe ends a command quietly."""
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [*COMMAND, *EXPLAIN, "--json"], stdout=writing, stderr=subprocess.PIPE, check=False
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (1, b"")


def test_terminals_that_lack_a_character(monkeypatch):
    """What cannot be shown is no error."""
    pd.read_csv("data.csv").rename(columns={"job": "Beruf ≥ 1"}).to_csv("data.csv", index=False)
    stdout = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", stdout)
    assert main(["explain", "plain.skops", "data.csv", "--target", "said", "--row", "1"]) == 0
    assert b"given Beruf " in stdout.buffer.getvalue()


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize(("data", "code"), [("data.csv", 0), ("people.csv", 1)])
def test_streams_may_be_closed(here, closed, data, code):
    """What nobody hears is said to nobody: the files are written, and the exit code is the same."""
    command = f"{sys.executable} -m sklearn_probsr explain model.skops {data} --target said"
    done = subprocess.run(
        f"{command} -o r.csv {closed}", shell=True, capture_output=True, text=True, check=False
    )
    assert done.returncode == code
    assert Path("r.csv").exists() == (code == 0)
    assert "Traceback" not in done.stdout + done.stderr
    if code == 0:
        assert len(pd.read_csv("r.csv")) == 16


# --- warm-up ---------------------------------------------------------------------------------


def test_warm_up(run, monkeypatch):
    """It tells what it is at and where code is kept, and fails where that is nowhere."""
    first = next(iter(warm_up._cases()))
    monkeypatch.setattr(warm_up, "_cases", lambda: iter([first]))
    done = run("warm-up")
    if numba.config.DISABLE_JIT:
        assert done.code == 1
        return
    told, kept = done.out.splitlines()
    assert re.fullmatch(r"1 of 1: uniform completions, \d+\.\d s", told)
    assert kept == f"Compiled code is kept in {warm_up.kept_in()} and beside it."
    monkeypatch.setattr(warm_up, "kept_in", lambda: None)
    assert run("warm-up") == (
        1,
        "",
        "Error: Compiled code can be kept nowhere: neither the package nor the home nor the "
        "temporary directory can be written to. Set NUMBA_CACHE_DIR to a directory of your own.\n",
    )
    monkeypatch.setattr(warm_up, "kept_in", lambda: Path("nowhere"))
    assert run("warm-up").err == (
        "Error: Nothing could be written to nowhere. Set NUMBA_CACHE_DIR to a directory of your "
        "own.\n"
    )


# --- documentation ---------------------------------------------------------------------------

PAGE = Path(__file__).resolve().parents[2] / "docs" / "command-line.md"
needs_page = pytest.mark.skipif(not PAGE.is_file(), reason="the sources are not beside the tests")


@needs_page
def test_documented_commands_print_that(run):
    """The commands of the page, on the files that it makes, print what the page says."""
    page = PAGE.read_text(encoding="utf-8")
    (code,) = re.findall(r"^```python\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    exec(compile(code, PAGE.name, "exec"), {})
    shown = r"^```sh\n(\S[^\n]*)\n```\n\n```text\n(.*?)^```$"
    commands = re.findall(shown, page, re.DOTALL | re.MULTILINE)
    assert len(commands) == 3
    for command, expected in commands:
        program, *arguments = shlex.split(command)
        assert program == "sklearn-probsr"
        assert run(*arguments) == (0, expected, "")


@needs_page
def test_documented_types_are_the_list():
    """The page lists exactly the types that are loaded unasked."""
    page = PAGE.read_text(encoding="utf-8")
    table = page.split("<!-- allowed -->")[1].split("<!-- end -->")[0]
    rows = [re.findall(r"`([^`]+)`", line) for line in table.splitlines()]
    assert {f"{row[0]}.{name}" for row in rows if row for name in row[1:]} == ALLOWED


@needs_page
def test_documented_options_exist():
    """Every option that the page mentions is one of a command."""
    page = PAGE.read_text(encoding="utf-8")
    helps = [
        subprocess.run(
            [*COMMAND, name, "--help"], capture_output=True, text=True, check=True
        ).stdout
        for name in ("compare", "explain")
    ]
    for option in set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", page)) - {"--help", "--version"}:
        assert any(f"{option}" in text for text in helps), option
