"""The command line: what it prints and writes, how it ends, and what it says of bad input."""

import io
import json
import os
import pty
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
import shap
import skops.io
from sklearn.datasets import load_iris
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from sklearn_probsr import __version__
from sklearn_probsr.cli import _warm_up
from sklearn_probsr.cli._command import main
from sklearn_probsr.cli._trusted_models import ALLOWED
from tests.explained import mixed, people, tumours

COMMAND = [sys.executable, "-m", "sklearn_probsr"]
NAMES = ["job", "home", "debt", "late"]

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


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], ": the following arguments are required: COMMAND"),
        (["compare", "m.skops"], " compare: the following arguments are required: DATA"),
        (["explain", "m"], " explain: the following arguments are required: DATA"),
        (
            ["explain", "m", "d", "--row", "1", "--rows", "2"],
            " explain: argument --rows: not allowed with argument --row",
        ),
        (
            ["explain", "m", "d", "--json", "-o", "r.csv"],
            " explain: argument -o/--output: not allowed with argument --json",
        ),
        (
            ["explain", "m", "d", "-o", "r.html"],
            " explain: argument -o/--output: must end in .csv, .json, .parquet or .md, got "
            "'r.html': pages are written by compare",
        ),
        (
            ["compare", "m", "d", "--max-size", "-1"],
            " compare: argument --max-size: must be at least 0, got -1",
        ),
        (
            ["compare", "m", "d", "--epsilon", "1"],
            " compare: argument --epsilon: must be a number between 0 and 1, got '1'",
        ),
        (["compare", "m", "d", "--trust-p"], ": unrecognized arguments: --trust-p"),
        (
            ["explain", "m", "d", "--row", "x"],
            " explain: argument --row: must be a whole number, got 'x'",
        ),
        (
            ["compare", "m", "d", "--rows", "0"],
            " compare: argument --rows: must be at least 1, got 0",
        ),
        (
            ["compare", "m", "d", "--delta", "95"],
            " compare: argument --delta: must be a number from 0 to 1, got '95'",
        ),
        (
            ["compare", "m", "d", "--delta", "high"],
            " compare: argument --delta: must be a number from 0 to 1, got 'high'",
        ),
        (
            ["compare", "m", "d", "--sep", ";;"],
            " compare: argument --sep: must be one character, or tab, got ';;'",
        ),
        (
            ["compare", "m", "d", "--sep", "\n"],
            " compare: argument --sep: must be of ASCII, and neither a quotation mark nor a line "
            "end, got '\\n'",
        ),
        (
            ["compare", "m", "d", "-o", "report.pdf"],
            " compare: argument -o/--output: must end in .html, .csv, .json or .md, got "
            "'report.pdf'",
        ),
    ],
)
def test_wrong_usage(run, arguments, message):
    """Wrong usage is one line and exit code 2."""
    prog = f"sklearn-probsr{' ' + arguments[0] if message.startswith(' ') else ''}"
    done = run(*arguments)
    assert done == (2, "", f"sklearn-probsr{message}. Try: {prog} --help\n")


def test_unknown_command(run):
    """The commands there are are listed."""
    done = run("comapre")
    assert done.code == 2
    assert done.err.count("\n") == 1
    assert all(name in done.err for name in ("'comapre'", "compare", "explain", "demo"))


# --- compare ---------------------------------------------------------------------------------

HEAD = "Unknown features are replaced, all together, by those of the 16 rows of data.csv.\n"


def test_compare_prints(run):
    """Without a file to write to, what replaces features, accuracy, summary and table are said."""
    done = run("compare", "model.skops", "data.csv", "--target", "said", "--rows", "2")
    assert (done.code, done.err) == (0, "")
    right = "The model is right on 16 of 16 rows (100.0%), by the column 'said'.\n"
    assert done.out.startswith(
        f"{HEAD}{right}2 rows, delta = 0.95, over replacement by 16 background rows.\n"
    )
    assert "\n| 1 | yes | job; debt | 2 | 1 | minimum |" in done.out


def test_formulas_in_a_table_are_inert(run):
    """Text that a spreadsheet would run gets an apostrophe, numbers do not; --raw leaves it."""
    data = pd.read_csv("data.csv")
    names = ["=cmd|' /C calc'!A0", "@home", "-debt", "+late"]
    labels = np.where(data["said"] == "yes", "\t=1", "-1")
    model = LogisticRegression().fit(data[NAMES].set_axis(names, axis=1), labels)
    model.coef_, model.intercept_ = np.array([[-3.0, -2.0, 2.0, 1.0]]), np.array([1.0])
    if model.classes_[1] != "-1":
        model.coef_, model.intercept_ = -model.coef_, -model.intercept_
    skops.io.dump(model, "formulas.skops")
    data[NAMES].set_axis(names, axis=1).to_csv("formulas.csv", index=False)
    tables = {}
    for name, more in (("safe.csv", []), ("raw.csv", ["--raw"])):
        done = run("compare", "formulas.skops", "formulas.csv", "-o", name, *more)
        assert (done.code, done.err) == (0, "")
        tables[name] = pd.read_csv(name, dtype=str)
    safe, raw = tables["safe.csv"], tables["raw.csv"]
    assert {*safe["prediction"]} == {"'\t'=1", "-1"}
    assert {*raw["prediction"]} == {"\t=1", "-1"}
    inert = ["; ".join(f"'{name}" for name in reason.split("; ")) for reason in raw["reason"]]
    assert safe["reason"].tolist() == inert
    assert {reason[0] for reason in raw["reason"]} <= set("=@-+")
    rest = [name for name in safe if name not in {"prediction", "reason"}]
    assert raw[rest].equals(safe[rest])
    assert any(margin.startswith("-") for margin in safe["margin"])


@pytest.mark.smoke
def test_compare_writes(run, here):
    """The ending of the file says what is written; a summary is printed."""
    for ending in (".csv", ".md"):
        done = run("compare", "model.skops", "data.csv", "--target", "said", "-o", f"r{ending}")
        assert (done.code, done.err) == (0, "")
        assert done.out.endswith(f"\nWritten to r{ending}.\n")
    table = pd.read_csv("r.csv", index_col="row")
    assert len(table) == 16
    assert table["reason"][1] == "job; debt"
    assert Path("r.md").read_text(encoding="utf-8").count("\n| ") == 17
    assert not [path for path in here.iterdir() if path.name.startswith(".")]


def test_compare_writes_a_page(run):
    """An .html file is the page, with the title that was asked for."""
    command = ("compare", "model.skops", "data.csv", "--target", "said", "-o", "r.html")
    assert run(*command, "--title", "Who gets a loan?").code == 0
    page = Path("r.html").read_text(encoding="utf-8")
    assert page.lower().startswith("<!doctype html>")
    assert "<title>Who gets a loan?</title>" in page


def test_compare_tells_what_dependence_matters(run):
    """Only if asked to: two columns, and a line of the summary."""
    command = ("compare", "model.skops", "data.csv", "--target", "said", "-o", "r.csv", "--force")
    plain, asked = (run(*command, *more) for more in ((), ("--dependence",)))
    assert "If the features were independent" not in plain.out
    assert "\nIf the features were independent, the reasons' guarantees would be " in asked.out
    columns = ["independent_guarantee_lower", "independent_guarantee_upper"]
    assert list(pd.read_csv("r.csv"))[-2:] == columns


def test_compare_takes_a_background(run, fails):
    """Rows of another file, each feature by itself, or coins."""
    pd.read_csv("data.csv")[:8].to_csv("train.csv", index=False)
    command = ("compare", "model.skops", "data.csv", "--target", "said", "--background")
    done = run(*command, "train.csv")
    assert done.out.startswith(
        "Unknown features are replaced, all together, by those of the 8 rows of train.csv.\n"
    )
    assert "over replacement by 8 background rows.\n" in done.out
    done = run(*command, "train.csv", "--independent")
    assert done.out.startswith(
        "Unknown features are replaced, each by itself, from the 8 rows of train.csv.\n"
    )
    assert "over independent completions with the marginals of 8 background rows.\n" in done.out
    done = run(*command, "uniform")
    assert done.out.startswith(
        "Unknown features are drawn at random, each value as often as another.\n"
    )
    assert "over uniform completions.\n" in done.out
    assert fails(*command, "uniform", "--independent") == (
        "--independent is about rows, and --background uniform has none. Leave one of them out."
    )
    assert fails(*command, "people.csv").startswith("people.csv lacks 3 of the 4 columns ")
    assert fails(*command, "none.csv") == "There is no file none.csv."
    pd.read_csv("data.csv")[:1].to_csv("one.csv", index=False)
    assert "by those of the only row of one.csv.\n" in run(*command, "one.csv").out


def test_coins_are_for_zeros_and_ones(run):
    """Numbers cannot be drawn from coins: such a row is flagged, and what to do is said."""
    data = pd.read_csv("data.csv").astype({"debt": float})
    data.loc[3, "debt"] = 2.5
    data.to_csv("data.csv", index=False)
    done = run(
        "compare", "model.skops", "data.csv", "--target", "said", "--background", "uniform",
        "-o", "found.csv",
    )  # fmt: skip
    assert done.code == 3
    found = pd.read_csv("found.csv")
    assert found["status"].tolist() == ["ok"] * 3 + ["invalid"] + ["ok"] * (len(found) - 4)
    assert found["message"][3] == (
        "X must be 0 or 1 in every column, got 2.5 in column 'debt'. This distribution needs "
        "features with states, and knows no other there. Pass data as masker, where numbers may be "
        "any, or bin the column in the Pipeline."
    )


def test_names_of_the_table_are_used(run):
    """A model without names of its own is explained by those of the table."""
    done = run("compare", "plain.skops", "data.csv", "--target", "said", "--rows", "2")
    assert done.code == 0
    assert "\n| 1 | yes | job; debt | 2 | 1 | minimum |" in done.out
    done = run("explain", "plain.skops", "data.csv", "--drop", "said", "--row", "1")
    assert "given job = 1 and debt = 0 (2 of 4 features; " in done.out


def test_backgrounds_of_nameless_models_are_taken_by_name(run, fails):
    """Where the model knows no names, the two files must agree on them, in any order."""
    data = pd.read_csv("data.csv")
    data[["late", "said", *NAMES[:3]]][:8].to_csv("train.csv", index=False)
    command = ("explain", "plain.skops", "data.csv", "--target", "said", "--row", "3")
    command += ("--json", "--background", "train.csv")
    expected = json.loads(run(*command).out)["rows"]
    named = ("explain", "model.skops", *command[2:])
    assert json.loads(run(*named).out)["rows"] == expected
    data.rename(columns={"late": "LATE"}).to_csv("train.csv", index=False)
    assert fails(*command) == "train.csv must have the columns of data.csv, it lacks 'late'."


def test_ignored_columns_are_noted(run):
    """Columns that the model does not know are left out, which is said on the other channel."""
    pd.read_csv("data.csv").assign(id=7).to_csv("more.csv", index=False)
    done = run("explain", "model.skops", "more.csv", "--row", "0", "--json")
    assert done.code == 0
    assert done.err == (
        "Note: more.csv has 2 columns that the model does not know, which are ignored: 'said', "
        "'id'.\n"
    )
    assert json.loads(done.out)["data"] == "more.csv"


def test_true_classes_may_be_missing(run):
    """Rows without a true class do not count, and none at all are told."""
    data = pd.read_csv("data.csv")
    data.loc[3:, "said"] = None
    data.loc[0, "said"] = "yes"
    data.to_csv("some.csv", index=False)
    command = ("compare", "model.skops", "some.csv", "--target", "said", "--rows", "1")
    assert (
        "\nThe model is right on 2 of 3 rows (66.7%), by the column 'said'.\n" in run(*command).out
    )
    data.assign(said=np.nan).to_csv("some.csv", index=False)
    assert "\nThere are no classes in the column 'said'.\n" in run(*command).out


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


def test_explain_as_json(run):
    """JSON has the same, number by number; the SHAP values are those of shap."""
    command = ("explain", "mixed.skops", "people.csv", "--target", "paid", "--delta", "0.9")
    done = run(*command, "--row", "4", "--row", "0", "--json")
    told = json.loads(done.out)
    assert {k: told[k] for k in ("model", "data", "background", "distribution", "delta")} == {
        "model": "mixed.skops",
        "data": "people.csv",
        "background": "people.csv",
        "distribution": "replacement by 120 background rows",
        "delta": 0.9,
    }
    assert told["classes"] == ["granted", "refused"]
    assert [row["row"] for row in told["rows"]] == [4, 0]
    for row in told["rows"]:
        inside = [f["feature"] for f in row["features"] if f["in_reason"]]
        assert sorted(inside) == sorted(row["reason"])
        assert 0.9 <= row["guarantee"]["lower"] <= row["guarantee"]["upper"] <= 1
        assert row["minimality"] == "minimum"
        assert row["epsilon"] == 0
        assert row["prediction"] == mixed().predict(people()[0])[row["row"]]
        assert row["truth"] == people()[1][row["row"]]
        assert row["sentence"].startswith(f"Class {row['prediction']} is kept with probability ")
        sizes = [abs(f["shap_value"]) for f in row["features"]]
        assert sizes == sorted(sizes, reverse=True)


def test_explain_has_the_values_of_shap(run):
    """The SHAP values are those of shap over all rows, and the base value is theirs."""
    done = run("explain", "model.skops", "data.csv", "--target", "said", "--row", "5", "--json")
    cube = pd.read_csv("data.csv")[NAMES]
    told = json.loads(done.out)
    masker = shap.maskers.Independent(cube, max_samples=16)
    values = shap.LinearExplainer(([3.0, 2.0, -2.0, -1.0], -1.0), masker)(cube[5:6])
    assert told["base_value"] == pytest.approx(values.base_values[0])
    found = {f["feature"]: f["shap_value"] for f in told["rows"][0]["features"]}
    assert [found[name] for name in NAMES] == pytest.approx(values.values[0])


def test_explain_shows_the_largest_of_many(run):
    """Of many features ten are shown, and those of the reason."""
    X, y = tumours()[0], tumours()[2]
    model = LogisticRegression().fit(X, y)
    skops.io.dump(model, "tumours.skops")
    X.to_csv("tumours.csv", index=False)
    done = run("explain", "tumours.skops", "tumours.csv", "--row", "0")
    table = done.out.split("\n\n")[-1].splitlines()
    assert len(table) >= 13
    assert table[-2] == f"  and {30 - len(table) + 3} more, with smaller SHAP values"


def test_explain_names_a_row(fails):
    """A row that is not there is told with those that are."""
    command = ("explain", "model.skops", "data.csv", "--target", "said", "--row")
    assert fails(*command, "16") == "--row 16: data.csv has 16 rows, 0 to 15."
    assert fails(*command, "-1") == "--row -1: data.csv has 16 rows, 0 to 15."
    Path("model.skops").write_text("no model: it is not looked at before")
    pd.read_csv("data.csv")[:1].to_csv("data.csv", index=False)
    assert fails(*command, "1") == "--row 1: data.csv has 1 row, which is 0."


def test_two_of_several_classes(run, fails):
    """Of three classes two are told apart, and rows of the third are noted."""
    X, y = load_iris(return_X_y=True, as_frame=True)
    skops.io.dump(LogisticRegression(max_iter=1000).fit(X, y), "iris.skops")
    X.assign(kind=y).to_csv("iris.csv", index=False)
    command = ("explain", "iris.skops", "iris.csv", "--target", "kind", "--row", "149")
    assert "\nRow 149 of iris.csv: called 2, and it is 2.\n" in f"\n{run(*command).out}"
    assert fails(*command, "--class", "2") == (
        "iris.skops tells 3 classes apart: 0, 1, 2. Ask for all of them, without --class, or for "
        "one against another: --class 1 --versus 0."
    )
    assert fails(*command, "--class", "5", "--versus", "0") == (
        "--class 5: the model's classes are 0, 1, 2."
    )
    assert fails(*command, "--class", "1", "--versus", "1") == (
        "--class and --versus must be two classes, got 1 twice."
    )
    assert fails(*command, "--versus", "0") == "--versus 0 needs a --class to compare with it."
    done = run(*command, "--class", "2", "--versus", "1")
    assert "\nRow 149 of iris.csv: called 2 rather than 1, and it is 2.\n" in done.out
    assert done.err == (
        "Note: The model calls 50 of 150 rows neither 2 nor 1; their reasons say why one of the "
        "two rather than the other.\n"
    )
    done = run("compare", "iris.skops", "iris.csv", "--class", "2", "--versus", "1", "--rows", "1")
    assert "\n| 0 | 1 | petal length (cm) | 1 | 1 | minimum |" in done.out


def test_texts_go_together(fails, run):
    """A model of texts is explained by words; each by itself is for tables."""
    words, y = ["good day", "bad day", "good", "bad"] * 5, ["up", "down"] * 10
    model = make_pipeline(CountVectorizer(binary=True), LogisticRegression()).fit(words, y)
    skops.io.dump(model, "text.skops")
    pd.DataFrame({"said": words, "mood": y}).to_csv("text.csv", index=False)
    command = ("explain", "text.skops", "text.csv", "--target", "mood", "--row", "0")
    assert '"good"' in run(*command).out
    assert fails(*command, "--independent") == (
        "--independent is for tables, and the model takes texts."
    )
    there = run(*command, "--delta", "0.7", "--present-only").out
    assert 'given "good"' in there
    assert "present features" in there
    supported = run(*command, "--delta", "0.7", "--supporting-only", "--present-only").out
    assert "present and supporting features" in supported


def test_truth_of_another_type(run):
    """A class that is a number is the same where gaps have made it 1.0; a gap is no class."""
    X = pd.read_csv("data.csv")[NAMES]
    skops.io.dump(LogisticRegression().fit(X, X["job"]), "jobs.skops")
    X.assign(is_=[None, *X["job"][1:]]).to_csv("jobs.csv", index=False)
    command = ("explain", "jobs.skops", "jobs.csv", "--target", "is_", "--row")
    assert "\nRow 1 of jobs.csv: called 1 rather than 0, and it is 1.\n" in run(*command, "1").out
    assert "\nRow 0 of jobs.csv: called 0 rather than 1.\n" in run(*command, "0").out


def test_terminals_that_lack_a_character(monkeypatch):
    """What cannot be shown is written out, rather than an error."""
    pd.read_csv("data.csv").rename(columns={"job": "Beruf ≥ 1"}).to_csv("data.csv", index=False)
    stdout = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", stdout)
    assert main(["explain", "plain.skops", "data.csv", "--target", "said", "--row", "1"]) == 0
    assert b"Beruf \\u2265 1" in stdout.buffer.getvalue()


# --- bad input and bad luck ------------------------------------------------------------------


@pytest.mark.parametrize("command", [("compare",), ("explain", "--row", "0")])
def test_bad_input_is_one_line(fails, command):
    """Nothing is printed but the error, nothing is written or left behind."""
    name, *options = command
    for model, data, start in (
        ("none.skops", "data.csv", "There is no file none.skops."),
        ("model.skops", "none.csv", "There is no file none.csv."),
        ("data.csv", "data.csv", "data.csv is not a model: "),
        ("model.skops", "people.csv", "people.csv lacks 3 of the 4 columns "),
    ):
        assert fails(name, model, data, *options).startswith(start)
    assert fails(name, "model.skops", "data.csv", "--target", "x", *options) == (
        "--target x: data.csv has no such column. It has 'job', 'home', 'debt', 'late', 'said'."
    )
    assert fails(name, "model.skops", "data.csv", "--drop", "job", *options) == (
        "'job' cannot be a --target or dropped: the model was fitted on it."
    )


def test_an_output_that_exists_is_kept(run, fails):
    """It is overwritten only by force, and never if it is read."""
    Path("r.csv").write_text("mine")
    command = ("compare", "model.skops", "data.csv", "--target", "said", "-o")
    assert fails(*command, "r.csv") == (
        "r.csv exists already. Choose another name, or pass --force."
    )
    assert run(*command, "r.csv", "--force").code == 0
    assert Path("r.csv").read_text().startswith("row,prediction,")
    assert fails(*command, "data.csv", "--force") == (
        "data.csv is read, so it cannot be written. Choose another name."
    )
    assert fails(*command, "no/r.csv") == "There is no folder no to write r.csv to."


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
    assert fails("compare", "none.skops", "none.csv", "-o", "disk/r.csv") == (
        "Nothing can be written to the folder disk."
    )


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write to any folder")
def test_a_read_only_folder(fails):
    """So is a folder that one may not write to."""
    Path("closed").mkdir(mode=0o500)
    assert fails("compare", "none.skops", "none.csv", "-o", "closed/r.csv") == (
        "Nothing can be written to the folder closed."
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

    def fail(request, asked):
        raise error

    monkeypatch.setattr("sklearn_probsr.cli._case_files.load_case", fail)
    assert run("explain", "model.skops", "data.csv", "--row", "0") == (1, "", f"{line}\n")
    done = run("explain", "model.skops", "data.csv", "--row", "0", "--debug")
    assert done.code == 1
    assert done.err.startswith("Traceback (most recent call last):\n")
    assert done.err.endswith(f"\n{line}\n")


def test_an_interrupted_kernel(run, monkeypatch):
    """Ctrl-C in compiled code arrives as another error, and ends as it should."""

    def fail(request, asked):
        raise SystemError("returned a result with an exception set") from KeyboardInterrupt()

    monkeypatch.setattr("sklearn_probsr.cli._case_files.load_case", fail)
    done = run("explain", "model.skops", "data.csv", "--row", "0")
    assert done == (130, "", "Interrupted.\n")


def test_ctrl_c_while_it_works(here):
    """A terminal sees what goes on; Ctrl-C ends it with one line, and nothing half-written."""
    X, _, y = tumours()
    skops.io.dump(LogisticRegression().fit(X, y), "model.skops")
    pd.concat([tumours()[0]] * 20).to_csv("data.csv", index=False)
    before = sorted(here.iterdir())
    terminal, other_end = pty.openpty()
    process = subprocess.Popen(
        [*COMMAND, "compare", "model.skops", "data.csv", "-o", "r.html"],
        stdout=subprocess.PIPE,
        stderr=other_end,
    )
    os.close(other_end)
    said = b""
    while b"\n" not in said:
        said += os.read(terminal, 1000)
    assert said.strip() == (
        b"Searching the reasons of 11,380 rows ... This takes a while; --rows N explains fewer."
    )
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate()
    rest = os.read(terminal, 1000).split()
    os.close(terminal)
    assert (process.returncode, out) == (130, b"")
    assert rest == [b"Interrupted."]
    assert sorted(here.iterdir()) == before


def test_a_reader_that_leaves():
    """A closed pipe ends a command quietly."""
    code = "import sys; from sklearn_probsr.cli import _command as c; "
    code += "c._COMMANDS['demo'] = lambda args: print('something'); sys.exit(c.main(['demo']))"
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, "-c", code], stdout=writing, stderr=subprocess.PIPE, check=False
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (1, b"")


# --- warm-up ---------------------------------------------------------------------------------


def test_warm_up(run, monkeypatch):
    """It tells what it is at and where code is kept, and fails where that is nowhere."""
    first = next(iter(_warm_up._cases()))
    monkeypatch.setattr(_warm_up, "_cases", lambda: iter([first]))
    done = run("warm-up")
    if numba.config.DISABLE_JIT:
        assert done.code == 1
        return
    told, kept = done.out.splitlines()
    assert re.fullmatch(r"1 of 1: uniform completions, \d+\.\d s", told)
    assert kept == f"Compiled code is kept in {_warm_up.kept_in()} and beside it."
    monkeypatch.setattr(_warm_up, "kept_in", lambda: None)
    assert run("warm-up") == (
        1,
        "",
        "Error: Compiled code can be kept nowhere: neither the package nor the home nor the "
        "temporary directory can be written to. Set NUMBA_CACHE_DIR to a directory of your own.\n",
    )
    monkeypatch.setattr(_warm_up, "kept_in", lambda: Path("nowhere"))
    assert run("warm-up").err == (
        "Error: Nothing could be written to nowhere. Set NUMBA_CACHE_DIR to a directory of your "
        "own.\n"
    )


# --- demo ------------------------------------------------------------------------------------


def test_demo(run, monkeypatch):
    """The demo is told where to write, and what it says is printed."""

    def demo(folder: Path, say):
        say(f"into {folder}")
        return []

    monkeypatch.setattr("sklearn_probsr.report._demo.demo", demo)
    assert run("demo") == (0, "into sklearn-probsr-demo\n", "")
    assert run("demo", "--output", "x/y") == (0, f"into {Path('x/y')}\n", "")


def test_demo_needs_a_folder(run):
    """A file in the place of the folder is told, before any work is done."""
    assert run("demo", "-o", "data.csv") == (
        1,
        "",
        "Error: data.csv is a file, and the demo writes to a folder. Choose another name.\n",
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
        for name in ("compare", "explain", "demo")
    ]
    for option in set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", page)) - {"--help"}:
        assert any(f"{option}" in text for text in helps), option
