"""What is written, read back: names and cells with line ends, quotes, formulas and worse."""

import csv
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.linear_model import LogisticRegression

from sklearn_probsr.cli import _batched_files, _many_rows
from sklearn_probsr.cli._command import main
from sklearn_probsr.results._inert_text import csv_cell, csv_text, writable
from sklearn_probsr.results.codec import _machine, atomically

pq = pytest.importorskip("pyarrow.parquet")

# What a cell may hold; no number, which reads as one, and no gap.
HOSTILE = [
    "a\nb", "a\rb", "a\r\nb", '"', 'q"u"o', "a,b", "a;b", "x;=1+1", "x; -cmd", "=1+1", "+1+1",
    "-1+1", "@SUM(1)", "\t=1", "\n=1", "\uff1d1+1", ' "=1', "|pipe", "a\tb", " lead", "trail ",
    "'quoted", "-1", "x;-1.5e3;y", "Köchin", "<b>", "",
]  # fmt: skip
UNWRITABLE = ["nul\0nul", "half\ud800half", "half\udc80"]
NAMES = ["a\nb", "=1+1;x", 'q"u,o', "\r@home"]


def back(text: str) -> pd.DataFrame:
    """Return what pandas reads in a CSV, all of it as texts."""
    Path("back.csv").write_bytes(text.encode())
    return pd.read_csv("back.csv", dtype=str, keep_default_na=False)


@pytest.fixture
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("_here")
@pytest.mark.parametrize("raw", [True, False])
def test_every_cell_is_read_back(raw):
    """Texts, names and lists come back cell by cell, those that a spreadsheet runs with a mark."""
    cells = [*HOSTILE, *UNWRITABLE]
    whole = [writable(cell) for cell in cells]
    columns = dict.fromkeys(filter(None, HOSTILE), cells)
    table = pd.DataFrame(columns | {"lists": [cells] * len(cells)}, dtype=object)
    found = back(csv_text(table, raw))
    guard = (lambda text: text) if raw else csv_cell
    names = [guard(name) for name in table.columns]
    assert list(found.columns) == names
    for name in names[:-1]:
        assert found[name].tolist() == [guard(text) for text in whole]
    if raw:
        (parts,) = csv.reader([found["lists"][0]], delimiter=";", skipinitialspace=True)
        assert parts == whole


def test_a_cell_that_ends_early_is_no_formula():
    """Wherever a spreadsheet may see the end of a cell, what follows runs no more."""
    assert csv_cell("x;=1+1") == "x;'=1+1"
    assert csv_cell("x; -1.5; =y; 2") == "x; -1.5; '=y; 2"
    assert csv_cell("a\n@b\t+c") == "a\n'@b\t'+c"
    assert csv_cell('"=1') == "'\"=1"
    assert csv_cell("\uff1d1") == "'\uff1d1"
    for harmless in ("-1.5", "1;-2;+3e5", "a = -1", "a-b", "x; y", ""):
        assert csv_cell(harmless) == harmless
    start = re.compile(r"""(?:^|[;\t\r\n])[\s"]*[=+@\uff1d-](?!\d[\d.e]*\s*(?:[;\t\r\n]|$))""")
    assert start.search("x;=1+1")
    assert not start.search("x;-1.5e3;y")
    for cell in HOSTILE:
        assert not start.search(csv_cell(cell)), cell


def test_columns_that_are_called_as_ours_are():
    """A column of ids called "facts" is no list, and one called "shoe_size" may hold texts."""
    from sklearn_probsr.cli._tabled_reasons import to_csv

    table = pd.DataFrame({"facts": ["abc"], "shoe_size": ["007"], "sure_size": [np.nan]})
    assert to_csv(table, raw=False) == b"facts,shoe_size,sure_size\nabc,007,\n"


# --- the command line ------------------------------------------------------------------------


@pytest.fixture
def hostile(here: Path) -> pd.DataFrame:
    """Write a model of columns, classes and ids with hostile names, and a table of them."""
    X = pd.DataFrame((np.arange(16)[:, None] >> np.arange(4)) & 1, columns=NAMES)
    said = np.where(X.to_numpy() @ [3.0, 2.0, -2.0, -1.0] > 1, "yes;=2\nthen", "\t-x")
    model = LogisticRegression().fit(X, said)
    model.coef_, model.intercept_ = np.array([[3.0, 2.0, -2.0, -1.0]]), np.array([-1.0])
    skops.io.dump(model, "h.skops")
    table = X.assign(**{"i\nd": [*HOSTILE[:15], "nul\0"], "said": said})
    table.to_parquet("h.parquet")
    return table


CASE = ("h.skops", "h.parquet", "--target", "said", "--id", "i\nd")


@pytest.mark.parametrize("command", ["explain", "compare"])
@pytest.mark.parametrize("jobs", [(), ("--jobs", "1")])
def test_tables_are_read_back(run, hostile, monkeypatch, command, jobs):
    """Whole tables, and those put together of batches, have a row for each row, as it was."""
    if jobs and command == "compare":
        return
    for module in (_batched_files, _many_rows):
        monkeypatch.setattr(module, "BATCH", 5)
    whole = [writable(text) for text in hostile["i\nd"]]
    for raw in ((), ("--raw",)):
        name = f"r{len(raw)}.csv"
        assert run(command, *CASE, *jobs, *raw, "-o", name).code == 0
        guard = (lambda text: text) if raw else csv_cell
        found = pd.read_csv(name, dtype=str, keep_default_na=False)
        assert len(found) == 16
        assert found["row"].tolist() == [str(i) for i in range(16)]
        assert found["i\nd"].tolist() == [guard(text) for text in whole]
        assert {*found["prediction"]} == {guard("yes;=2\nthen"), guard("\t-x")}
        if raw:
            cells = csv.reader(found["reason"], delimiter=";", skipinitialspace=True)
            assert {name for names in cells for name in names} <= {*NAMES}


def test_batches_have_one_header(run, hostile, monkeypatch):
    """A line end in a name makes no row of the rest of the name in later batches."""
    for module in (_batched_files, _many_rows):
        monkeypatch.setattr(module, "BATCH", 5)
    assert run("explain", *CASE, "--jobs", "1", "-o", "r.csv").code == 0
    with open("r.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    assert len(rows) == 17
    assert [row[0] for row in rows[1:]] == [str(i) for i in range(16)]


def test_other_formats_are_read_back(run, hostile):
    """Parquet, JSON, Markdown and the page hold the same names."""
    for ending in ("parquet", "json", "md"):
        assert run("explain", *CASE, "-o", f"e.{ending}").code == 0
    for ending in ("md", "html"):
        assert run("compare", *CASE, "-o", f"c.{ending}").code == 0
    found = pd.read_parquet("e.parquet")
    assert found["i\nd"].tolist() == hostile["i\nd"].tolist()
    assert {name for names in found["reason"] for name in names} <= {*NAMES}
    told = json.loads(Path("e.json").read_text(encoding="utf-8"))["rows"]
    assert [row["id"] for row in told] == hostile["i\nd"].tolist()
    for name in ("e.md", "c.md"):
        lines = Path(name).read_text(encoding="utf-8").splitlines()
        assert sum(line.startswith("| ") for line in lines) == 1 + 1 + 16


BIG = 2**53 + 1  # no float is this number


@pytest.mark.parametrize("ending", ["parquet", "feather"])
@pytest.mark.parametrize("jobs", [(), ("--jobs", "1")])
def test_ids_with_gaps_are_read_back(run, here, monkeypatch, ending, jobs):
    """Whole numbers of which some are missing stay those that they are, and what is no id a gap."""
    for module in (_batched_files, _many_rows):
        monkeypatch.setattr(module, "BATCH", 5)
    data = pd.read_csv("data.csv")
    whole = [None if i % 7 == 3 else BIG + i for i in range(16)]
    days = [None if i % 7 == 3 else pd.Timestamp(2020, 1, 1 + i) for i in range(16)]
    texts = [None if i % 7 == 3 else f"NA{i}" for i in range(16)]
    for ids in (pd.array(whole, "Int64"), days, texts):
        getattr(data.assign(key=ids), f"to_{ending}")(f"ids.{ending}")
        told = ["" if i % 7 == 3 else str(ids[i]) for i in range(16)]
        command = ("model.skops", f"ids.{ending}", "--target", "said", "--id", "key")
        for output in ("r.csv", "r.parquet", *(() if jobs else ("r.json",))):
            assert run("explain", *command, *jobs, "-o", output, "--force").code == 0
        found = pd.read_csv("r.csv", dtype=str, keep_default_na=False)
        assert found["key"].tolist() == told
        found = pq.read_table("r.parquet")["key"].to_pylist()
        assert ["" if one is None else str(one) for one in found] == told
        if not jobs:
            rows = json.loads(Path("r.json").read_text(encoding="utf-8"))["rows"]
            assert ["" if row["id"] is None else str(row["id"]) for row in rows] == told
            assert run("compare", *command, "-o", "c.csv", "--force").code == 0
            found = pd.read_csv("c.csv", dtype=str, keep_default_na=False)
            assert found["key"].tolist() == told


def test_true_classes_with_gaps_are_the_numbers_that_they_are(run, here):
    """A class of many digits is not rounded where others are missing."""
    cube = pd.read_csv("data.csv")
    said = np.where(cube["said"] == "yes", 12345678, 12345679)
    X = cube.drop(columns="said")
    model = LogisticRegression().fit(X, said)
    skops.io.dump(model, "long.skops")
    cube.assign(said=[None, *model.predict(X)[1:]]).to_parquet("gap.parquet")
    done = run("explain", "long.skops", "gap.parquet", "--target", "said", "-o", "r.csv")
    assert "on 15 of 15 rows (100.0%)" in done.out
    done = run("explain", "long.skops", "gap.parquet", "--target", "said", "--row", "1")
    assert "12345679" in done.out
    assert "e+07" not in done.out


def test_names_of_files_need_no_whole_characters(run, here):
    """A file whose name is no UTF-8 is read, and told in what is written."""
    name = os.fsdecode(b"d\xff.csv")
    Path("data.csv").rename(name)
    for ending in ("csv", "json", "md"):
        done = run("explain", "model.skops", name, "--target", "said", "-o", f"r.{ending}")
        assert done.code == 0, done.err
    assert "d\ufffd.csv" in Path("r.md").read_text(encoding="utf-8")


def test_odd_names_of_files_and_titles(run, fails, here):
    """A zero in the name of a file is told; half a character in a title is written as none."""
    command = ("model.skops", "data.csv", "--target", "said")
    assert fails("explain", *command, "-o", "r\0.csv") == "r?.csv is no name that a file can have."
    done = run("compare", *command, "--rows", "2", "-o", "r.html", "--title", "a\udcff<i>")
    assert (done.code, done.err) == (0, "")
    assert "<title>a\ufffd&lt;i&gt;</title>" in Path("r.html").read_text(encoding="utf-8")


# --- streams and what is left ----------------------------------------------------------------


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize(("data", "code"), [("data.csv", 0), ("nothing.csv", 1)])
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


def test_what_a_kill_has_left_goes_with_the_next_run(tmp_path):
    """Files that a process was writing when it ended are removed, and no others."""
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


def test_streams_that_are_there_are_kept(capsys):
    """Nothing is opened in their place."""
    before = sys.stdout, sys.stderr, sys.stdin
    with pytest.raises(SystemExit):
        main(["--version"])
    assert (sys.stdout, sys.stderr, sys.stdin) == before
    assert capsys.readouterr().out.startswith("sklearn-probsr ")
