"""Files of any size: read in batches, explained by jobs, written whole or not at all."""

import json
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
import skops.io
from sklearn.linear_model import LogisticRegression

from sklearn_probsr import SufficientReasonExplainer
from sklearn_probsr.cli import _batched_files, _many_rows
from sklearn_probsr.explain.frames import _partitions
from tests.explained import mixed, people

NAMES = ["a", "b", "c"]


@pytest.fixture
def many(here: Path, monkeypatch: pytest.MonkeyPatch) -> pd.DataFrame:
    """Work in batches of ten, on 57 rows in three files of a folder, one of which is bad."""
    for module in (_batched_files, _many_rows):
        monkeypatch.setattr(module, "BATCH", 10)
    monkeypatch.setattr(_batched_files, "_LARGE", 100)
    rng = np.random.default_rng(4)
    X = pd.DataFrame(rng.normal(size=(57, 3)).round(3), columns=NAMES)
    model = LogisticRegression().fit(X, np.where(X.sum(axis=1) > 0, "yes", "no"))
    skops.io.dump(model, "three.skops")
    X[:20].to_parquet("some.parquet")
    X.insert(1, "who", [f"{i:03}" for i in range(57)])
    X["said"] = model.predict(X[NAMES])
    X.loc[33, "b"] = np.nan
    Path("data").mkdir()
    for name, part in (("1", X[:24]), ("2", X[24:25]), ("3", X[25:])):
        part.to_parquet(f"data/{name}.parquet", row_group_size=7)
    X.to_parquet("all.parquet")
    X.to_csv("all.csv", index=False)
    return X


def expected(X: pd.DataFrame) -> pd.DataFrame:
    one = SufficientReasonExplainer(skops.io.load("three.skops"), X[:20][NAMES])
    return one.explain_frame(X[NAMES])


CASE = ("--background", "some.parquet", "--target", "said", "--id", "who")


@pytest.mark.parametrize("data", ["data", "all.parquet", "all.csv"])
def test_a_folder_a_file_and_a_csv(run, many: pd.DataFrame, data: str):
    """All rows, in their order, as `explain_frame` tells them; a bad one stops nothing."""
    done = run("explain", "three.skops", data, *CASE, "-o", "r.parquet")
    assert (done.code, done.err) == (3, "")
    assert done.out == (
        "Unknown features are replaced, all together, by those of the 20 rows of some.parquet.\n"
        "The model is right on 56 of 57 rows (98.2%), by the column 'said'.\n"
        f"57 rows of {data}, delta = 0.95, over replacement by 20 background rows.\n"
        "A reason has 2 (median, 1 to 3) features; 100% are proved to be as small as possible.\n"
        "1 of the rows have none; their status says why.\n"
        "Written to r.parquet.\n"
    )
    found = pd.read_parquet("r.parquet")
    told = expected(many)
    assert found["row"].tolist() == list(range(57))
    assert found["who"].tolist() == many["who"].tolist()
    assert found["truth"].tolist() == many["said"].tolist()
    for name in told.columns:
        values = (
            found[name].map(list)
            if name.startswith("reason") and name != "reason_size"
            else (found[name])
        )
        assert values.astype(object).where(values.notna(), None).tolist() == (
            told[name].astype(object).where(told[name].notna(), None).tolist()
        ), name
    assert found["status"][33] == "invalid"
    assert ".r.parquet.parts" not in os.listdir()
    assert run("explain", "three.skops", data, *CASE, "-o", "r.csv", "--rows", "25").code == 0
    table = pd.read_csv("r.csv", dtype={"who": str})
    assert table["who"].tolist() == many["who"][:25].tolist()
    assert table["reason"].tolist() == ["; ".join(names) for names in told["reason"][:25]]


def test_jobs_change_nothing(run, many: pd.DataFrame):
    """Two processes write, byte by byte, what one does."""
    for jobs, name in ((1, "one"), (2, "two")):
        command = ("explain", "three.skops", "data", *CASE, "--jobs", str(jobs))
        assert run(*command, "-o", f"{name}.csv").code == 3
    assert Path("one.csv").read_bytes() == Path("two.csv").read_bytes()


def test_an_interrupted_run_goes_on(run, fails, many: pd.DataFrame, monkeypatch):
    """What is finished is kept and not done again; the output appears when it is whole."""
    command = ("explain", "three.skops", "data", *CASE, "-o", "r.csv")
    plain, asked = _partitions.Partitions._told, []

    def told(self, X, *more):
        asked.append(len(X))
        if len(asked) == 4:
            raise KeyboardInterrupt
        return plain(self, X, *more)

    monkeypatch.setattr(_partitions.Partitions, "_told", told)
    done = run(*command)
    assert (done.code, done.out) == (130, "")
    assert done.err == "Interrupted. 3 of 6 parts of r.csv are kept: --resume goes on with them.\n"
    assert not Path("r.csv").exists()
    assert fails(*command) == (
        "r.csv was begun and not finished (3 parts are there). Pass --resume to go on, or --force "
        "to begin anew."
    )
    assert fails(*command, "--delta", "0.8", "--resume") == (
        "The parts of r.csv are of a run with another delta, so it cannot go on. Pass --force "
        "without --resume to begin anew."
    )
    assert run(*command, "--resume").code == 3
    assert asked[4:] == [10, 10, 7]
    assert not Path(".r.csv.parts").exists()
    whole = Path("r.csv").read_bytes()
    assert run(*command, "--force").code == 3
    assert len(asked) == 4 + 3 + 6
    assert Path("r.csv").read_bytes() == whole


def test_parts_of_somebody_else(fails, many: pd.DataFrame):
    """A file that is no description of a run is that of another one."""
    Path(".r.csv.parts").mkdir()
    for text in ("[]", "no JSON", json.dumps({"version": 3})):
        Path(".r.csv.parts/job.json").write_text(text)
        told = fails("explain", "three.skops", "data", *CASE, "-o", "r.csv", "--resume")
        assert told.startswith("The parts of r.csv are of a run with another version, so ")


def test_rows_of_the_data_replace_what_is_unknown(run, many: pd.DataFrame, monkeypatch):
    """All of them if they are few, else some that are drawn; not those that the model refuses."""
    command = ("explain", "three.skops", "data", "--target", "said", "--id", "who", "-o", "r.csv")
    done = run(*command)
    assert done.code == 3
    assert done.out.startswith(
        "Unknown features are replaced, all together, by those of 56 rows of data, drawn at random."
    )
    assert done.err == (
        "Note: 1 of 57 rows of data have gaps that the model does not take, and replace no unknown "
        "features.\n"
    )
    monkeypatch.setattr(_many_rows, "_BACKGROUND", 12)
    done = run(*command, "--force")
    assert "by those of 12 rows of data, drawn at random.\n" in done.out
    assert ", over replacement by 12 background rows.\n" in done.out


def test_columns_of_a_csv_have_one_type(run, here: Path, monkeypatch):
    """A column with a text in any row holds texts in all batches, as if it were read whole."""
    monkeypatch.setattr(_batched_files, "_LARGE", 10)
    monkeypatch.setattr(_batched_files, "BATCH", 4)
    frame = pd.DataFrame({"n": [1, 2, 3, 4, 5, 6], "w": ["1", "2", "3", "4", "x", None]})
    frame.to_csv("w.csv", index=False)
    parts = list(_batched_files.open_source(Path("w.csv"), None).batches())
    assert [len(part) for part in parts] == [4, 2]
    assert [value for part in parts for value in part["w"][:4]][:5] == ["1", "2", "3", "4", "x"]
    assert parts[1]["w"].isna().tolist() == [False, True]


def test_what_a_folder_must_be(fails, many: pd.DataFrame):
    """Each mistake is told in a line, and nothing is written."""
    assert fails("explain", "three.skops", "data") == (
        "data is a folder: name one to write to, with -o reasons.parquet or -o reasons.csv."
    )
    assert fails("explain", "three.skops", "all.csv", "--jobs", "2", "--json") == (
        "--jobs and --resume are for files: name one to write to, with -o reasons.parquet or -o "
        "reasons.csv."
    )
    Path("empty").mkdir()
    assert fails("explain", "three.skops", "empty", "-o", "r.csv") == (
        "empty is a folder without Parquet files."
    )
    Path("empty/x.parquet").write_text("PAR1 and no more")
    assert fails("explain", "three.skops", "empty", "-o", "r.csv").startswith(
        "empty cannot be read as Parquet: "
    )
    pd.DataFrame({"a": []}).to_parquet("empty/x.parquet")
    assert fails("explain", "three.skops", "empty", "-o", "r.csv") == "empty has no rows."
    assert fails("explain", "three.skops", "data", "--id", "nobody", "-o", "r.csv") == (
        "--id nobody: data has no such column. It has 'a', 'who', 'b', 'c', 'said'."
    )


def test_a_pipeline_with_gaps_and_ids_of_numbers(run, here: Path, monkeypatch):
    """Categories and gaps go through a Pipeline; an id keeps its type."""
    for module in (_batched_files, _many_rows):
        monkeypatch.setattr(module, "BATCH", 50)
    X = people()[0].assign(number=np.arange(120))
    X.to_parquet("people.parquet")
    done = run("explain", "mixed.skops", "people.parquet", "--id", "number", "-o", "r.parquet")
    assert (done.code, done.err) == (0, "")
    found = pq.read_table("r.parquet")
    assert found.column("number").to_pylist() == list(range(120))
    told = SufficientReasonExplainer(mixed(), people()[0]).explain_frame(people()[0])
    assert found.column("reason_values").to_pylist() == told["reason_values"].tolist()
    assert found.column("prediction").to_pylist() == told["prediction"].tolist()
