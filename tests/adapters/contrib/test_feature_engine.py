"""The adapter of feature-engine that docs/adapters.md shows."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from sklearn_probsr import adapt
from sklearn_probsr.adapters import PerColumn
from sklearn_probsr.adapters.registry import _entries
from sklearn_probsr.extend import register_adapter
from tests.adapters.contrib.cases import TABLE, TWO

encoding = pytest.importorskip("feature_engine.encoding", reason="feature-engine is not installed")

PAGE = Path(__file__).resolve().parents[3] / "docs" / "adapters.md"


@pytest.mark.filterwarnings("ignore")
def test_the_adapter_of_the_page():
    """It is a step whose categories are states, beside columns that it leaves alone."""
    code = re.search(r"^```py\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.M)[1]
    X = TABLE.assign(job=TABLE["job"].astype(object)).fillna({"age": 45.0})[["age", "job"]]
    names: dict[str, Any] = {"PerColumn": PerColumn, "register_adapter": register_adapter}
    before = dict(_entries)
    try:
        exec(code, names)
        step = encoding.MeanEncoder(variables=["job"])
        model = make_pipeline(step, LogisticRegression()).fit(X, TWO)
        adapted = adapt(model, X)
    finally:
        _entries.clear()
        _entries.update(before)
    assert [unit.has_states for unit in adapted.units] == [False, True]
    assert (np.asarray(model.predict(X)) == adapted.predict(X)).all()
