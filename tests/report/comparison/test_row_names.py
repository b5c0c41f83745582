"""What rows are called: the index of the data, in tables, words, files and the page."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from sklearn_probsr import Comparison
from tests.report.page.test_page import HOSTILE, data_of, some, written

STATUS = ["ok", "invalid", "unreachable", "ok"]
MESSAGE = ["", "Row 1 has no value in 'x0'.", "0.95 cannot be reached <b>.", ""]


def called(index: Any) -> Comparison:
    """Return a comparison of four rows under some index."""
    found = some(4)
    growth = found.growth
    found = replace(found, index=index)
    found.__dict__["growth"] = growth
    return found


def flagged(index: Any = None) -> Comparison:
    """Return a comparison of which two rows have no reason, one of them no class either."""
    found = some(4)
    growth = found.growth
    prediction = found.table["prediction"].astype(object)
    prediction[1] = None
    told = {"prediction": prediction}
    told |= {"status": np.array(STATUS, dtype=object), "message": np.array(MESSAGE, dtype=object)}
    found = replace(found, table={**found.table, **told}, index=index)
    found.__dict__["growth"] = growth
    return found


LABELS = {
    "numbers": (pd.Index([40, 7, 8, 9], name="customer"), "customer", [40, 7, 8, 9]),
    "texts": (pd.Index(["a", "b", "007", "d"]), "id", ["a", "b", "007", "d"]),
    "hostile": (pd.Index(HOSTILE[:4], name=HOSTILE[0]), HOSTILE[0], list(HOSTILE[:4])),
    "parts": (
        pd.MultiIndex.from_product([["x", "y"], [1, 2]], names=["town", "day"]),
        "town, day",
        ["x, 1", "x, 2", "y, 1", "y, 2"],
    ),
    "days": (
        pd.date_range("2024-01-01", periods=4, name="day"),
        "day",
        [f"2024-01-0{i} 00:00:00" for i in range(1, 5)],
    ),
    "gaps": (pd.Index([1.5, None, 2, 3]), "id", ["1.5", "missing", "2.0", "3.0"]),
    "twice": (pd.Index([5, 5, 5, 5]), "id", [5, 5, 5, 5]),
    "large": (pd.Index([2**60, 1, 2, 3]), "id", [str(2**60), "1", "2", "3"]),
    "an array": (np.array([4, 3, 2, 1]), "id", [4, 3, 2, 1]),
}


@pytest.mark.parametrize("kind", LABELS)
def test_an_index_is_shown(kind: str, tmp_path: Path):
    """Page and Markdown have it under its own name."""
    index, name, labels = LABELS[kind]
    found = called(index)
    page = written(found, tmp_path)
    data = data_of(page)
    assert (data["idName"], data["ids"]) == (name, labels)
    assert [column["key"] for column in data["table"]][:2] == ["id", "row"]
    assert data["table"][0]["label"] == name
    assert 'placeholder="feature, class, id or #row"' in page
    if kind != "hostile":
        table = found.to_markdown().split("\n\n")[1].split("\n")
        assert table[0].startswith(f"| {name} | prediction |")
        assert [line.split(" | ")[0] for line in table[2:]] == [f"| {label}" for label in labels]


@pytest.mark.parametrize("index", [None, pd.RangeIndex(4), pd.Index([0, 1, 2, 3], name="n")])
def test_a_count_is_no_id(index: Any, tmp_path: Path):
    """Rows that are counted from 0 are called by their numbers."""
    found = called(index)
    data = data_of(written(found, tmp_path))
    assert "ids" not in data
    assert data["table"][0]["key"] == "row"
    assert "\n| row | prediction |" in found.to_markdown()


def test_rows_without_a_reason_are_told(tmp_path: Path):
    """They are in the table of the page, with what went wrong, and in none of its numbers."""
    page = written(flagged(), tmp_path)
    data = data_of(page)
    assert data["status"] == STATUS
    assert data["message"] == MESSAGE
    assert [row["class"] < 0 for row in data["rows"]] == [False, True, False, False]
    assert "status" in [column["key"] for column in data["table"]]
    assert "status" not in data_of(written(some(4), tmp_path))
