"""The command line on many rows: tables that are printed, written and read back, and JSON."""

import csv
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
import skops.io
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_probsr import SufficientReasonExplainer
from sklearn_probsr.cli import cases
from sklearn_probsr.results._inert_text import csv_cell, csv_text, writable
from sklearn_probsr.results.codec import _machine, atomically
from tests.cli.conftest import NAMES
from tests.explained import mixed, people

pytestmark = pytest.mark.usefixtures("here")

EXPLAIN = ("explain", "model.skops", "data.csv", "--target", "said")
COMPARE = ("compare", "model.skops", "data.csv", "--target", "said")


def rows_of(done) -> list[dict]:
    """Return what --json has printed: an object a line."""
    assert (done.code, done.err) == (0, "")
    return [json.loads(line) for line in done.out.splitlines()]


def with_ids(ids: list[object], name: str = "who") -> None:
    """Write the data once more, with a column of ids in the middle."""
    data = pd.read_csv("data.csv")
    data.insert(2, name, ids)
    data.to_csv("data.csv", index=False)


# --- one table -------------------------------------------------------------------------------


def test_everything_is_told_by_one_table(run):
    """CSV, Parquet and JSON have every row, as `explain_frame` tells it, and so has --row."""
    X, y = people()
    command = ("explain", "mixed.skops", "people.csv", "--target", "paid", "--delta", "0.9")
    for ending in ("csv", "parquet"):
        done = run(*command, "-o", f"r.{ending}")
        assert (done.code, done.err) == (0, "")
        assert done.out.endswith(f"\nWritten to r.{ending}.\n")
    told = SufficientReasonExplainer(mixed(), X, delta=0.9).explain_frame(X)
    printed, kept = rows_of(run(*command, "--json")), pq.read_table("r.parquet").to_pylist()
    table = pd.read_csv("r.csv", keep_default_na=False)
    assert list(printed[0]) == list(kept[0]) == ["row", "truth", *told.columns] == list(table)
    assert printed == kept
    assert [row["row"] for row in kept] == list(range(len(X))) == table["row"].tolist()
    assert [row["truth"] for row in kept] == list(y)
    for name in told.columns:
        assert [row[name] for row in kept] == told[name].tolist()
        if name.startswith("reason") and name != "reason_size":
            assert [cell.split("; ") for cell in table[name]] == told[name].tolist()
        elif told[name].dtype.kind == "f":
            assert table[name].tolist() == told[name].tolist()
    assert rows_of(run(*command, "--row", "4", "--row", "0", "--json")) == [printed[4], printed[0]]
    assert rows_of(run(*command, "--rows", "5", "--json")) == printed[:5]


def test_the_first_rows_are_printed(run):
    """Without a file a summary, and twenty lines of the table."""
    pd.concat([pd.read_csv("data.csv")] * 3).to_csv("data.csv", index=False)
    done = run(*EXPLAIN)
    assert (done.code, done.err) == (0, "")
    head, table, left = done.out.split("\n\n")
    assert head.split("\n")[1:] == [
        "The model is right on 48 of 48 rows (100.0%), by the column 'said'.",
        "48 rows of data.csv, delta = 0.95, over replacement by 48 background rows.",
        "A reason has 2 (median, 2 to 3) features; 100% are proved to be as small as possible.",
    ]
    lines = table.split("\n")
    assert len(lines) == 21
    assert " ".join(lines[0].split()) == (
        "row truth prediction reason reason_size guarantee_lower minimality status"
    )
    assert lines[2].split() == ["1", "yes", "yes", "job;", "debt", "2", "1", "minimum", "ok"]
    assert left == "28 more rows: -o FILE writes all of them.\n"


def test_options_reach_the_search(run):
    """Features are forced in and out by name, cost what is told, and at most so many are taken."""
    rules = ("--include", "late", "--exclude", "home", "--max-size", "2")
    for row in rows_of(run(*EXPLAIN, *rules, "--prove", "yes", "--epsilon", "0.01", "--json")):
        assert row["reason"][0] == "late"
        assert "home" not in row["reason"]
        assert row["reason_size"] <= 2
        assert row["scope"].startswith("of at most 2 features with late ")
    assert run(*COMPARE, *rules, "-o", "r.csv").code == 0
    sizes = pd.read_csv("r.csv", dtype=str, keep_default_na=False)["abs_shap_size"]
    assert {*sizes} <= {"", "1", "2", "3"}
    costs = ("--cost", "job=10", "--cost", "late=0.5")
    for row in rows_of(run(*EXPLAIN, *costs, "--json")):
        own = [{"job": 10.0, "late": 0.5}.get(name, 1.0) for name in row["reason"]]
        assert row["cost"] == sum(own) == row["cost_lower"]
    assert "are proved to be as cheap as possible." in run(*EXPLAIN, *costs).out
    assert "cost" not in rows_of(run(*EXPLAIN, "--json"))[0]
    barred, those = ("--exclude", "home"), "of the features allowed"
    head = f"are proved to be as small as possible, among sets {those}."
    assert head in run(*EXPLAIN, *barred).out
    one = run(*EXPLAIN, *barred, "--row", "3").out
    assert f" Minimality: minimum, among sets {those}.\n" in one
    assert f"; no smaller set {those} reaches 0.95)." in one


def test_rows_that_do_not_reach_delta_are_answers(run):
    """They have the best set and its guarantee, and a status that says so."""
    barred = (*EXPLAIN, "--exclude", "home")
    done = run(*barred, "-o", "r.csv")
    assert (done.code, done.err) == (0, "")
    told = pd.read_csv("r.csv", keep_default_na=False)
    short = told[told["status"] == "unreachable"]
    assert 0 < len(short) < 16
    assert (short["guarantee_lower"] < 0.95).all()
    assert short["prediction"].isin(["yes", "no"]).all()
    assert f"\n{len(short)} of the rows have none; their status says why.\n" in done.out
    alone = run(*barred, "--row", str(short["row"].iloc[0]))
    assert (alone.code, alone.err) == (0, "")
    assert "\nIt is unreachable: delta = 0.95 cannot be reached" in alone.out


def test_rounding_is_shown_as_nothing(run):
    """What an imputer filled in contributes 1e-16 after a scaler, and +0 to a reader."""
    rng = np.random.default_rng(1)
    X = pd.DataFrame({"pay": rng.lognormal(10, 0.5, 90).round(3), "age": rng.normal(40, 9, 90)})
    y = np.log(X["pay"]) + X["age"] / 9 > 14
    X.loc[::9, "pay"] = None
    model = make_pipeline(SimpleImputer(), StandardScaler(), LogisticRegression()).fit(X, y)
    skops.io.dump(model, "gaps.skops")
    X.to_csv("gaps.csv", index=False)
    lines = run("explain", "gaps.skops", "gaps.csv", "--row", "0").out.splitlines()
    assert [line.split()[1:3] for line in lines if line.startswith("  pay ")] == [["missing", "+0"]]


# --- ids -------------------------------------------------------------------------------------


def test_ids_go_along(run, fails):
    """A column of ids is no feature, and is in words, tables and JSON, as it was written."""
    ids = [f"{i:03d}" for i in range(7, 23)]
    pd.read_csv("data.csv").to_csv("without.csv", index=False)
    with_ids(ids)
    asked = ("--id", "who")
    done = run(*EXPLAIN, *asked, "--row", "3")
    assert (done.code, done.err) == (0, "")
    assert "\nRow 3 (who 010) of data.csv: called yes rather than no, and it is yes.\n" in done.out
    assert "(2 of 4 features; " in done.out
    told = rows_of(run(*EXPLAIN, *asked, "--json"))
    assert [row["who"] for row in told] == ids
    assert rows_of(run(*EXPLAIN, *asked, "--background", "without.csv", "--json")) == told
    for command in (EXPLAIN, COMPARE):
        assert run(*command, *asked, "-o", "r.csv", "--force").code == 0
        table = pd.read_csv("r.csv", dtype={"who": str})
        assert list(table)[:2] == ["row", "who"]
        assert table["who"].tolist() == ids
    assert run(*COMPARE, *asked, "-o", "r.html").code == 0
    assert json.dumps(ids)[1:-1].replace(" ", "") in Path("r.html").read_text().replace(" ", "")
    named = ("explain", "plain.skops", "data.csv", "--target", "said", *asked, "--json")
    assert rows_of(run(*named)) == told
    assert fails(*EXPLAIN, "--id", "nobody").startswith("--id nobody: data.csv has no such column.")
    assert fails(*EXPLAIN, "--id", "job") == (
        "'job' cannot be a --target, an --id or dropped: the model was fitted on it."
    )


def test_an_id_may_have_the_name_of_another_column(run):
    """In a table the name of the id gives way."""
    with_ids(list(range(50, 66)), "reason")
    assert run(*EXPLAIN, "--id", "reason", "-o", "r.csv").code == 0
    table = pd.read_csv("r.csv")
    assert list(table)[:2] == ["row", "id"]
    assert table["id"].tolist() == list(range(50, 66))


BIG = 2**53 + 1  # no float is this number


@pytest.mark.parametrize("ending", ["parquet", "feather"])
def test_ids_with_gaps_are_read_back(run, here, ending):
    """Whole numbers of which some are missing stay those that they are, and what is no id a gap."""
    data = pd.read_csv("data.csv")
    whole = [None if i % 7 == 3 else BIG + i for i in range(16)]
    days = [None if i % 7 == 3 else pd.Timestamp(2020, 1, 1 + i) for i in range(16)]
    texts = [None if i % 7 == 3 else f"NA{i}" for i in range(16)]
    for ids in (pd.array(whole, "Int64"), days, texts):
        getattr(data.assign(key=ids), f"to_{ending}")(f"ids.{ending}")
        told = ["" if i % 7 == 3 else str(ids[i]) for i in range(16)]
        command = ("model.skops", f"ids.{ending}", "--target", "said", "--id", "key")
        for name, kind in (("explain", "csv"), ("explain", "parquet"), ("compare", "csv")):
            assert run(name, *command, "-o", f"{name}.{kind}", "--force").code == 0
        for name in ("explain.csv", "compare.csv"):
            found = pd.read_csv(name, dtype=str, keep_default_na=False)
            assert found["key"].tolist() == told
        found = pq.read_table("explain.parquet")["key"].to_pylist()
        assert ["" if one is None else str(one) for one in found] == told
        found = [row["key"] for row in rows_of(run("explain", *command, "--json"))]
        assert ["" if one is None else str(one) for one in found] == told


# --- files of any size -----------------------------------------------------------------------


@pytest.fixture
def many(here: Path, monkeypatch: pytest.MonkeyPatch) -> pd.DataFrame:
    """Work in parts of ten, on 57 rows in three files of a folder, one of which is bad."""
    monkeypatch.setattr(cases, "_FEWEST", 10)
    rng = np.random.default_rng(4)
    X = pd.DataFrame(rng.normal(size=(57, 3)).round(3), columns=["a", "b", "c"])
    model = LogisticRegression().fit(X, np.where(X.sum(axis=1) > 0, "yes", "no"))
    skops.io.dump(model, "three.skops")
    X[:20].to_parquet("some.parquet")
    said = model.predict(X)
    X.insert(1, "who", [f"{i:03}" for i in range(57)])
    X["said"] = said
    X.loc[33, "b"] = np.nan
    Path("data").mkdir()
    for name, part in (("1", X[:24]), ("2", X[24:25]), ("3", X[25:]), (".4", X)):
        part.to_parquet(f"data/{name}.parquet", row_group_size=7)
    X.to_parquet("all.parquet")
    X.to_csv("all.csv", index=False)
    return X


CASE = ("--background", "some.parquet", "--target", "said", "--id", "who", "--on-error", "skip")


@pytest.mark.parametrize("data", ["data", "all.parquet", "all.csv"])
def test_a_folder_a_file_and_a_csv(run, fails, many: pd.DataFrame, data: str):
    """All rows, in their order, as `explain_frame` tells them; a bad one has a line."""
    command = ("explain", "three.skops", data, *CASE)
    done = run(*command, "-o", "r.parquet")
    assert done == (
        0,
        "Unknown features are replaced, all together, by those of the 20 rows of some.parquet.\n"
        "The model is right on 56 of 56 rows (100.0%), by the column 'said'.\n"
        f"57 rows of {data}, delta = 0.95, over replacement by 20 background rows.\n"
        "A reason has 2 (median, 1 to 3) features; 100% are proved to be as small as possible.\n"
        "1 of the rows have none; their status says why.\n"
        "Written to r.parquet.\n",
        "",
    )
    X = many[["a", "b", "c"]]
    told = SufficientReasonExplainer(skops.io.load("three.skops"), X[:20]).explain_frame(X)
    found = pq.read_table("r.parquet").to_pylist()
    assert [row["row"] for row in found] == list(range(57))
    assert [row["who"] for row in found] == many["who"].tolist()
    assert [row["truth"] for row in found] == many["said"].tolist()
    for name in told.columns:
        expected = told[name].astype(object).where(told[name].notna(), None)
        assert [row[name] for row in found] == expected.tolist(), name
    assert found[33]["status"] == "invalid"
    for jobs in ("1", "2"):
        assert run(*command, "--jobs", jobs, "-o", f"r{jobs}.csv", "--rows", "40").code == 0
    assert Path("r1.csv").read_bytes() == Path("r2.csv").read_bytes()
    table = pd.read_csv("r1.csv", dtype={"who": str}, keep_default_na=False)
    assert table["who"].tolist() == many["who"][:40].tolist()
    assert table["reason"].tolist() == ["; ".join(names) for names in told["reason"][:40]]
    text = fails("explain", "three.skops", data, *CASE[:-2], "-o", "new.csv")
    assert text.startswith(f"Row 33 of {data} (the first is 0) cannot be explained: ")
    assert not [name for name in os.listdir() if "new.csv" in name]


def test_rows_of_the_data_replace_what_is_unknown(run, many: pd.DataFrame, monkeypatch):
    """All of them if they are few, else some that are drawn; not those that the model refuses."""
    command = ("explain", "three.skops", "data", *CASE[2:], "-o", "r.csv", "--force")
    done = run(*command)
    assert done.code == 0
    assert done.err == (
        "Note: 1 of 57 rows of data have gaps that the model does not take, and replace no unknown "
        "features.\n"
    )
    monkeypatch.setattr(cases, "MOST_ROWS", 30)
    drawn = [run(*command) for _ in range(2)]
    assert drawn[0] == drawn[1]
    assert " rows of data.\n" in drawn[0].out
    assert "the 57" not in drawn[0].out


# --- texts of somebody else ------------------------------------------------------------------

# What a cell may hold; no number, which reads as one, and no gap.
HOSTILE = [
    "a\nb", "a\rb", "a\r\nb", '"', 'q"u"o', "a,b", "a;b", "x;=1+1", "x; -cmd", "=1+1", "+1+1",
    "-1+1", "@SUM(1)", "\t=1", "\n=1", "\uff1d1+1", ' "=1', "|pipe", "a\tb", " lead", "trail ",
    "'quoted", "-1", "x;-1.5e3;y", "Köchin", "<b>", "",
]  # fmt: skip
UNWRITABLE = ["nul\0nul", "half\ud800half", "half\udc80"]


def test_every_cell_is_read_back():
    """Texts, names and lists come back cell by cell, those that a spreadsheet runs with a mark."""
    cells = [*HOSTILE, *UNWRITABLE]
    columns = dict.fromkeys(filter(None, HOSTILE), cells)
    table = pd.DataFrame(columns | {"lists": [cells] * len(cells)}, dtype=object)
    Path("back.csv").write_bytes(csv_text(table).encode())
    found = pd.read_csv("back.csv", dtype=str, keep_default_na=False)
    assert list(found.columns) == [csv_cell(name) for name in table.columns]
    for name in found.columns[:-1]:
        assert found[name].tolist() == [csv_cell(writable(text)) for text in cells]


def test_a_cell_that_ends_early_is_no_formula():
    """Wherever a spreadsheet may see the end of a cell, what follows runs no more."""
    assert csv_cell("x;=1+1") == "x;'=1+1"
    assert csv_cell("x; -1.5; =y; 2") == "x; -1.5; '=y; 2"
    assert csv_cell("a\n@b\t+c") == "a\n'@b\t'+c"
    assert csv_cell('"=1') == "'\"=1"
    assert csv_cell("\uff1d1") == "'\uff1d1"
    for harmless in ("-1.5", "1;-2;+3e5", "a = -1", "a-b", "x; y", ""):
        assert csv_cell(harmless) == harmless


def test_hostile_names_are_read_back(run):
    """Names of columns, classes and ids stay what they are in tables, part by part, and in JSON."""
    names = ["a\nb", "=1+1;x", 'q"u,o', "\r@home"]
    X = pd.DataFrame((np.arange(48)[:, None] >> np.arange(4)) & 1, columns=names)
    said = np.where(X.to_numpy() @ [3.0, 2.0, -2.0, -1.0] > 1, "yes;=2\nthen", "\t-x")
    skops.io.dump(LogisticRegression(C=100).fit(X, said), "h.skops")
    ids = [*HOSTILE[:15], "nul\0"] * 3
    X.assign(**{"i\nd": ids, "said": said}).to_parquet("h.parquet")
    case = ("h.skops", "h.parquet", "--target", "said", "--id", "i\nd")
    for command in ("explain", "compare"):
        assert run(command, *case, "-o", f"{command}.csv").code == 0
        found = pd.read_csv(f"{command}.csv", dtype=str, keep_default_na=False)
        assert found["row"].tolist() == [str(i) for i in range(48)]
        assert found["i\nd"].tolist() == [csv_cell(writable(text)) for text in ids]
        assert {*found["prediction"]} == {csv_cell("yes;=2\nthen"), csv_cell("\t-x")}
        with open(f"{command}.csv", newline="", encoding="utf-8") as file:
            assert len(list(csv.reader(file))) == 49
    assert run("explain", *case, "-o", "e.parquet").code == 0
    found = pd.read_parquet("e.parquet")
    assert found["i\nd"].tolist() == ids
    assert {name for reason in found["reason"] for name in reason} <= {*names}
    assert [row["i\nd"] for row in rows_of(run("explain", *case, "--json"))] == ids


def test_nothing_steers_the_terminal(run):
    """Escape sequences and line ends in names, labels and ids are shown as what they are not."""
    evil = "\x1b[31m\x9b2J\x7f\nred"
    cube = pd.read_csv("data.csv")
    X = cube[NAMES].set_axis([f"{name}{evil}" for name in NAMES], axis=1)
    y = np.where(cube["said"] == "yes", f"yes{evil}", f"no{evil}")
    skops.io.dump(LogisticRegression(C=100).fit(X, y), "evil.skops")
    X.assign(**{f"id{evil}": f"me{evil}"}).assign(truth=y).to_parquet("evil.parquet")
    command = ("evil.skops", "evil.parquet", "--id", f"id{evil}", "--target", "truth")
    told = [
        run(name, *command, *more)
        for name in ("explain", "compare")
        for more in (() if name == "compare" else ("--row", "3"), ("--rows", "3"))
    ]
    for done in (*told, run("explain", *command, "--json")):
        assert done.code == 0
        assert "red" in done.out
        assert all(c.isprintable() or c == "\n" for c in done.out)
        assert "\nred" not in done.out
    assert json.loads(done.out.splitlines()[3])["prediction"] == f"yes{evil}"


def test_odd_names_of_files_and_titles(run):
    """A file whose name is no UTF-8 is read; half a character in a title is written as none."""
    name = os.fsdecode(b"d\xff.csv")
    Path("data.csv").rename(name)
    assert run("explain", "model.skops", name, "--target", "said", "-o", "r.csv").code == 0
    case = ("compare", "model.skops", name, "--target", "said", "--rows", "2")
    assert run(*case, "-o", "r.html", "--title", "a\udcff<i>").code == 0
    assert "<title>a\ufffd&lt;i&gt;</title>" in Path("r.html").read_text(encoding="utf-8")


def test_what_a_kill_has_left_goes_with_the_next_run(tmp_path):
    """Files that a process was writing when it ended are removed, and no others."""
    for path in tmp_path.iterdir():
        path.unlink()
    code = (
        "import os, pathlib, sys; from sklearn_probsr.results.codec import atomically;"
        "atomically(pathlib.Path('r.csv'), lambda file: os._exit(9))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=False)
    assert done.returncode == 9
    (left,) = os.listdir(tmp_path)
    assert left.startswith(".r.csv.")
    mine = f".r.csv.{_machine()}{os.getpid():08x}{0:016x}"
    elsewhere = f".r.csv.{int(_machine(), 16) ^ 1:08x}{2**22 + 5:08x}{0:016x}"
    others = [mine, elsewhere, ".r.csv.backup", ".q.csv." + left[-32:], "r.csv." + left[-32:]]
    for name in others:
        (tmp_path / name).touch()
    atomically(tmp_path / "r.csv", lambda file: file.write(b"x"))
    assert sorted(os.listdir(tmp_path)) == sorted(["r.csv", *others])
