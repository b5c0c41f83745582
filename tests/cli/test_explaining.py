"""The command line on many rows: rules for reasons, ids, tables, and rows without a reason."""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_probsr import Comparison
from sklearn_probsr.explain._explanation import ReasonExplanation
from tests.cli.conftest import NAMES

pytestmark = pytest.mark.usefixtures("here")

EXPLAIN = ("explain", "model.skops", "data.csv", "--target", "said")
COMPARE = ("compare", "model.skops", "data.csv", "--target", "said")


def with_ids(ids: list[object], name: str = "who") -> None:
    """Write the data once more, with a column of ids in the middle."""
    data = pd.read_csv("data.csv")
    data.insert(2, name, ids)
    data.to_csv("data.csv", index=False)


# --- rules -----------------------------------------------------------------------------------


def test_rules_reach_the_search(run):
    """Features are forced in and out by name, and at most so many are taken."""
    rules = ("--include", "late", "--exclude", "home", "--max-size", "2")
    told = json.loads(run(*EXPLAIN, *rules, "--json").out)
    assert len(told["rows"]) == 16
    for row in told["rows"]:
        assert row["reason"][0] == "late"
        assert "home" not in row["reason"]
        assert len(row["reason"]) <= 2
    done = run(*COMPARE, *rules, "--prove", "yes", "--epsilon", "0.01", "-o", "r.csv")
    assert done.code == 0
    assert "\nEvery reason has late, none has home, and none has more than 2 features; " in done.out
    reasons = pd.read_csv("r.csv")["reason"].str.split("; ")
    assert all("late" in names and "home" not in names for names in reasons)
    assert run(*COMPARE, *rules, "-o", "r.csv").code == 0
    sizes = pd.read_csv("r.csv", dtype=str, keep_default_na=False)["abs_shap_size"]
    assert {*sizes} <= {"", "1", "2", "3"}
    assert "" in {*sizes}


def test_rounding_is_shown_as_nothing(run):
    """What an imputer filled in contributes 1e-16 after a scaler, and +0 to a reader."""
    rng = np.random.default_rng(1)
    X = pd.DataFrame({"pay": rng.lognormal(10, 0.5, 90).round(3), "age": rng.normal(40, 9, 90)})
    y = np.log(X["pay"]) + X["age"] / 9 > 14
    X.loc[::9, "pay"] = None
    model = make_pipeline(SimpleImputer(), StandardScaler(), LogisticRegression()).fit(X, y)
    skops.io.dump(model, "gaps.skops")
    X.to_csv("gaps.csv", index=False)
    command = ("explain", "gaps.skops", "gaps.csv", "--background", "gaps.csv", "--row", "0")
    [row] = json.loads(run(*command, "--json").out)["rows"]
    [pay] = [told["shap_value"] for told in row["features"] if told["feature"] == "pay"]
    assert 0 < abs(pay) < 1e-14
    assert re.search(r"^  pay +missing +\+0( |$)", run(*command).out, re.MULTILINE)
    assert run("compare", *command[1:5], "-o", "gaps.html").code == 0
    assert not re.search(r"\de-1\d", Path("gaps.html").read_text(encoding="utf-8"))


def test_no_proof_is_tried_if_none_is_wanted(run):
    """--prove no leaves the search at what it finds."""
    told = json.loads(run(*EXPLAIN, "--prove", "no", "--rows", "3", "--json").out)
    assert [row["row"] for row in told["rows"]] == [0, 1, 2]
    assert run(*EXPLAIN, "--prove", "maybe").code == 2


def test_sets_are_searched_on_a_sample_and_counted_over_all_rows(run, fails):
    """--sample N: guarantees are those over all rows, and every text says how many were drawn."""
    told = json.loads(run(*EXPLAIN, "--sample", "5", "--json").out)
    assert told["distribution"] == "replacement by 5 of 16 background rows"
    assert all(row["guarantee"]["lower"] * 16 % 1 == 0 for row in told["rows"])
    done = run(*COMPARE, "--sample", "5", "-o", "s.csv")
    assert "by those of the 16 rows of data.csv; sets are searched on 5." in done.out
    assert run(*EXPLAIN, "--sample", "0").code == 2
    assert fails(*EXPLAIN, "--sample", "5", "--independent") == (
        "--sample is about rows that replace features together, and --independent has none. Leave "
        "one of them out."
    )


@pytest.mark.parametrize("command", [EXPLAIN, COMPARE])
def test_rules_that_cannot_be_kept(fails, command):
    """They are told in the terms of the command line."""
    assert fails(*command, "--include", "nix") == (
        "--include names an unknown feature, 'nix'. The model's features are 'job', 'home', "
        "'debt', 'late'."
    )
    assert fails(*command, "--exclude", "said").startswith("--exclude names an unknown feature, ")
    assert fails(*command, "--include", "job", "--exclude", "job") == (
        "--include and --exclude must not share features, got 'job' in both."
    )
    assert fails(*command, "--include", "job", "--include", "debt", "--max-size", "1") == (
        "--include forces 2 features in, more than --max-size 1. Raise it, or include fewer."
    )


# --- all rows --------------------------------------------------------------------------------


def test_few_rows_are_told_in_words(run):
    """Without --row all rows are explained; a few as if each had been named."""
    pd.read_csv("data.csv")[:3].to_csv("few.csv", index=False)
    command = ("explain", "model.skops", "few.csv", "--target", "said")
    rows = [word for i in range(3) for word in ("--row", f"{i}")]
    assert run(*command) == run(*command, *rows)
    assert run(*command).out.count("\nRow ") == 3
    assert run(*EXPLAIN, "--rows", "10").out.count("\nRow ") == 10


def test_many_rows_are_told_in_a_table(run):
    """More than ten are lines of a table, of which the first are printed."""
    pd.concat([pd.read_csv("data.csv")] * 2).to_csv("data.csv", index=False)
    done = run(*EXPLAIN)
    assert (done.code, done.err) == (0, "")
    head, table = done.out.split("\n\n", 1)
    assert head.split("\n")[1:3] == [
        "The model is right on 32 of 32 rows (100.0%), by the column 'said'.",
        "32 rows of data.csv, delta = 0.95, over replacement by 32 background rows.",
    ]
    assert head.split("\n")[3] == (
        "A reason has 2 (median, 2 to 3) features; 100% are proved to be as small as possible."
    )
    lines = table.split("\n")
    assert lines[0] == (
        "| row | prediction | truth | reason | reason_size | guarantee_lower | minimality "
        "| status |"
    )
    assert lines[3] == "| 1 | yes | yes | job = 1; debt = 0 | 2 | 1 | minimum | ok |"
    assert table.endswith("\n\n12 more rows: -o FILE writes all of them.\n")
    told = json.loads(run(*EXPLAIN, "--json").out)
    assert [row["row"] for row in told["rows"]] == list(range(32))


def test_the_ending_says_what_is_written(run):
    """CSV, Parquet, Markdown and JSON have every row, and the same in it."""
    told = json.loads(run(*EXPLAIN, "--json").out)["rows"]
    for ending in (".csv", ".parquet", ".json", ".md"):
        done = run(*EXPLAIN, "-o", f"r{ending}")
        assert (done.code, done.err) == (0, "")
        assert done.out.endswith(f"\nWritten to r{ending}.\n")
    assert json.loads(Path("r.json").read_text(encoding="utf-8"))["rows"] == told
    table, kept = pd.read_csv("r.csv"), pd.read_parquet("r.parquet")
    assert table["row"].tolist() == kept["row"].tolist() == list(range(16))
    for name in ("prediction", "truth", "minimality", "sentence"):
        assert table[name].tolist() == kept[name].tolist() == [row[name] for row in told]
    for name in ("reason", "facts"):
        assert [cell.split("; ") for cell in table[name]] == [row[name] for row in told]
        assert [list(cell) for cell in kept[name]] == [row[name] for row in told]
    assert table["guarantee_lower"].tolist() == [row["guarantee"]["lower"] for row in told]
    text = Path("r.md").read_text(encoding="utf-8")
    assert text.count("\n| ") == 18
    assert "more rows" not in text


def test_what_is_there_is_kept(run, fails):
    """A file is not overwritten by accident, and inputs never are."""
    Path("r.csv").write_text("mine", encoding="utf-8")
    message = "r.csv exists already. Choose another name, or pass --force."
    assert fails(*EXPLAIN, "-o", "r.csv") == message
    assert run(*EXPLAIN, "-o", "r.csv", "--force").code == 0
    assert fails(*EXPLAIN, "-o", "data.csv", "--force") == (
        "data.csv is read, so it cannot be written. Choose another name."
    )


def test_formulas_in_a_table_are_inert(run):
    """Ids, labels and facts that a spreadsheet would run get an apostrophe; --raw leaves them."""
    with_ids([f"=1+{i}" for i in range(16)], "@who")
    for more, expected in (((), "'=1+0"), (("--raw",), "=1+0")):
        assert run(*EXPLAIN, "--id", "@who", "-o", "r.csv", "--force", *more).code == 0
        table = pd.read_csv("r.csv")
        assert table.iloc[0, 1] == expected
        assert table.columns[1] == ("@who" if more else "'@who")


# --- ids -------------------------------------------------------------------------------------


def test_ids_go_along(run):
    """A column of ids is no feature, and is in words, tables and JSON, as it was written."""
    ids = [f"{i:03d}" for i in range(7, 23)]
    with_ids(ids)
    done = run(*EXPLAIN, "--id", "who", "--row", "3")
    assert (done.code, done.err) == (0, "")
    assert "\nRow 3 (who 010) of data.csv: called yes rather than no, and it is yes.\n" in done.out
    assert "(2 of 4 features; " in done.out
    told = json.loads(run(*EXPLAIN, "--id", "who", "--json").out)
    assert told["id"] == "who"
    assert [row["id"] for row in told["rows"]] == ids
    assert "\n| row | who | prediction | truth |" in run(*EXPLAIN, "--id", "who").out
    for command in (EXPLAIN, COMPARE):
        assert run(*command, "--id", "who", "-o", "r.csv", "--force").code == 0
        table = pd.read_csv("r.csv", dtype={"who": str})
        assert list(table)[:2] == ["row", "who"]
        assert table["who"].tolist() == ids
        assert table["row"].tolist() == list(range(16))


def test_ids_are_in_the_page_and_in_markdown(run):
    """What `compare` writes calls rows by their ids."""
    ids = [f"{i:03d}" for i in range(7, 23)]
    with_ids(ids)
    for ending in (".html", ".md"):
        assert run(*COMPARE, "--id", "who", "-o", f"r{ending}").code == 0
    held = re.search(r'id="data">(.*?)</script>', Path("r.html").read_text(encoding="utf-8"))
    assert held is not None
    assert json.loads(held[1])["ids"] == ids
    lines = Path("r.md").read_text(encoding="utf-8").split("\n\n")[1].split("\n")
    assert lines[0].startswith("| who | prediction |")
    assert lines[2].startswith("| 007 | ")


def test_ids_of_models_without_names(run):
    """A model that was fitted without names takes the other columns."""
    with_ids(list(range(50, 66)))
    command = ("explain", "plain.skops", "data.csv", "--target", "said", "--id", "who")
    told = json.loads(run(*command, "--rows", "2", "--json").out)
    assert [row["id"] for row in told["rows"]] == [50, 51]
    assert {f["feature"] for f in told["rows"][0]["features"]} == set(NAMES)


def test_ids_in_the_background_are_no_feature(run):
    """A background may have the column, or not."""
    pd.read_csv("data.csv").to_csv("without.csv", index=False)
    with_ids(list(range(50, 66)))
    pd.read_csv("data.csv").to_csv("with.csv", index=False)
    said = {
        run(*EXPLAIN, "--id", "who", "--background", name, "--row", "1", "--json")
        .out.replace(name, "")
        for name in ("with.csv", "without.csv")
    }  # fmt: skip
    assert len(said) == 1


def test_ids_that_rows_share_are_noted(run):
    """What cannot be told apart by its id is said, on the other channel."""
    with_ids([1, 1, *range(2, 16)])
    done = run(*EXPLAIN, "--id", "who", "--row", "0")
    assert done.code == 0
    assert done.err == "Note: 2 rows share their id in the column 'who' with another row.\n"


def test_ids_that_are_none(fails):
    """A column that is not there, that is a feature, or that has the true classes."""
    assert fails(*EXPLAIN, "--id", "who") == (
        "--id who: data.csv has no such column. It has 'job', 'home', 'debt', 'late'."
    )
    assert fails(*EXPLAIN, "--id", "job") == "'job' cannot be an --id: the model was fitted on it."
    assert fails(*EXPLAIN, "--id", "said") == (
        "--id and --target must be two columns, got 'said' twice."
    )


def test_an_id_may_have_the_name_of_another_column(run):
    """In a table the name of the id gives way."""
    with_ids(list(range(50, 66)), "reason")
    assert run(*EXPLAIN, "--id", "reason", "-o", "r.csv").code == 0
    table = pd.read_csv("r.csv")
    assert list(table)[:2] == ["row", "id"]
    assert table["id"].tolist() == list(range(50, 66))


# --- rows without a reason -------------------------------------------------------------------

STATUS = ["ok", "unreachable", "invalid"]
MESSAGE = ["", "0.95 cannot be reached.", "There is no value in 'job'."]


def flag(monkeypatch, kind: type) -> None:
    """Let the table of some result say that two of three rows have no reason."""
    plain = kind.to_frame
    monkeypatch.setattr(
        kind, "to_frame", lambda self: plain(self).assign(status=STATUS, message=MESSAGE)
    )


def test_rows_without_a_reason_exit_with_3(run, monkeypatch):
    """All that there is is printed or written, and the exit code says that it is not all."""
    flag(monkeypatch, Comparison)
    flag(monkeypatch, ReasonExplanation)
    assert run(*COMPARE, "--rows", "3").code == 3
    assert run(*COMPARE, "--rows", "3", "-o", "r.csv").code == 3
    assert pd.read_csv("r.csv")["status"].tolist() == STATUS
    done = run(*EXPLAIN, "--rows", "3")
    assert (done.code, done.err) == (3, "")
    first, second, third = done.out.split("\nRow ")[1:]
    assert first.startswith("0 of data.csv: called no ")
    assert "It is" not in first
    assert second.split("\n")[1] == "It is unreachable: 0.95 cannot be reached."
    assert third == "2 of data.csv: invalid. There is no value in 'job'.\n"
    done = run(*EXPLAIN, "--rows", "3", "-o", "x.csv")
    assert done.code == 3
    assert "\n2 of the rows have none; their status says why.\n" in done.out
    table = pd.read_csv("x.csv", keep_default_na=False)
    assert table["status"].tolist() == STATUS
    assert table["message"].tolist() == MESSAGE
    told = json.loads(run(*EXPLAIN, "--rows", "3", "--json").out)
    assert told["rows"][2]["prediction"] is None
    assert told["rows"][2]["guarantee"] == {"lower": 0.0, "upper": 1.0, "text": "[0, 1]"}


# --- terminals -------------------------------------------------------------------------------


def test_nothing_steers_the_terminal(run):
    """Escape sequences and line ends in names, labels and ids are shown as what they are not."""
    evil = "\x1b[31m\x9b2J\x7f\nred"
    cube = pd.read_csv("data.csv")
    X = cube[NAMES].set_axis([f"{name}{evil}" for name in NAMES], axis=1)
    y = np.where(cube["said"] == "yes", f"yes{evil}", f"no{evil}")
    skops.io.dump(LogisticRegression(C=100).fit(X, y), "evil.skops")
    X.assign(**{f"id{evil}": f"me{evil}"}).assign(truth=y).to_parquet("evil.parquet")
    command = ("evil.skops", "evil.parquet", "--id", f"id{evil}", "--target", "truth")
    for more in (("--row", "3"), (), ("--rows", "12", "--json"), ("--row", "3", "--json")):
        done = run("explain", *command, *more)
        assert done.code == 0
        assert "red" in done.out
        assert all(c.isprintable() or c == "\n" for c in done.out), more
    assert json.loads(done.out)["rows"][0]["prediction"] == f"yes{evil}"
    assert "\nred" not in run("explain", *command, "--row", "3").out
    out = run("compare", *command, "--rows", "3").out
    assert all(c.isprintable() or c == "\n" for c in out)
    assert "\nred" not in out


# --- costs -----------------------------------------------------------------------------------


def test_costs_reach_the_search(run):
    """By name; JSON, tables and words tell them, and nothing is told of them without."""
    costs = ("--cost", "job=10", "--cost", "late=0.5")
    told = json.loads(run(*EXPLAIN, *costs, "--json").out)
    assert told["cost"] == {"job": 10.0, "late": 0.5}
    for row in told["rows"]:
        own = [told["cost"].get(name, 1.0) for name in row["reason"]]
        assert row["cost"] == sum(own) == row["cost_lower"]
        assert "no cheaper set reaches 0.95" in row["sentence"]
    plain = json.loads(run(*EXPLAIN, "--json").out)
    assert "cost" not in {*plain, *plain["rows"][0]}
    assert run(*EXPLAIN, *costs, "-o", "r.csv").code == 0
    table = pd.read_csv("r.csv")
    assert table["cost"].tolist() == [row["cost"] for row in told["rows"]]
    assert "are proved to be as cheap as possible." in run(*EXPLAIN, *costs).out


def test_it_is_told_of_which_sets_minima_speak(run):
    """Wherever minimality stands, if not all features may be taken; and nowhere else."""
    barred, those = ("--exclude", "home"), "of the features allowed"
    head = f"are proved to be as small as possible, among sets {those}."
    assert head in run(*EXPLAIN, *barred).out
    one = run(*EXPLAIN, *barred, "--row", "3").out
    assert f" Minimality: minimum, among sets {those}.\n" in one
    assert f"; no smaller set {those} reaches 0.95)." in one
    told = json.loads(run(*EXPLAIN, *barred, "--json").out)
    assert told["scope"] == those
    for ending, read in (("csv", pd.read_csv), ("parquet", pd.read_parquet)):
        for more in ((), ("--jobs", "1")):  # at once, or batch by batch
            done = run(*EXPLAIN, *barred, *more, "-o", f"r.{ending}", "--force")
            assert (done.code, head in done.out) == (3, True)  # in some rows none of them suffices
            table = read(f"r.{ending}")
            columns = list(table.columns)
            assert columns[columns.index("minimality") + 1] == "scope"
            assert set(table["scope"]) == {those}
    run(*EXPLAIN, *barred, "-o", "r.md")
    assert head in Path("r.md").read_text(encoding="utf-8")
    assert "scope" not in json.loads(run(*EXPLAIN, "--json").out)
    plain = run(*EXPLAIN, "--row", "3").out
    assert " Minimality: minimum.\n" in plain
    run(*EXPLAIN, "-o", "r.csv", "--force")
    assert "scope" not in pd.read_csv("r.csv")


@pytest.mark.parametrize(
    "told", ["job", "job=", "=3", "job=0", "job=nan", "job=-1", "job=x", "job=1e999999999"]
)
def test_what_is_no_cost_is_told(run, told):
    """The name, the sign and a positive number are needed."""
    done = run(*EXPLAIN, "--cost", told)
    assert done.code == 2
    known = "must be the name of a feature, =, and a number from 1E-300 to 1E+300"
    assert f"{known}, got {told!r}" in done.err
