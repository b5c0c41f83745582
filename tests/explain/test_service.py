"""What a model server needs: threads, forks, copies, a quick start."""

import multiprocessing
import pickle
import subprocess
import sys
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import cloudpickle  # shap needs it
import joblib
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from sklearn_probsr import Marginals, Matching, SufficientReasonExplainer
from tests.explained import classifier, mixed, people, tumours

MAKERS = {
    "rows": lambda: SufficientReasonExplainer(classifier(), tumours()[0][:100], delta=0.9),
    "numbers": lambda: SufficientReasonExplainer(
        LogisticRegression(solver="newton-cholesky").fit(*tumours()[1:]), tumours()[1][:60]
    ),
    "marginals": lambda: SufficientReasonExplainer(
        classifier(), Marginals.fit(tumours()[0][:60]), delta=0.9
    ),
    "uniform": lambda: SufficientReasonExplainer(classifier(), delta=0.9),
    "matching": lambda: SufficientReasonExplainer(
        classifier(), Matching(tumours()[0][:60]), delta=0.8
    ),
    "pipeline": lambda: SufficientReasonExplainer(mixed(), people()[0], delta=0.9),
}


def rows_of(kind: str) -> pd.DataFrame:
    if kind == "pipeline":
        return people()[0][:24]
    return (tumours()[1] if kind == "numbers" else tumours()[0])[400:424]


def test_eight_threads_at_once():
    """Fresh explainers of every kind, whose tables are built while all threads ask."""
    expected = {kind: make().explain_frame(rows_of(kind)) for kind, make in MAKERS.items()}
    fresh = {kind: make() for kind, make in MAKERS.items()}
    start, kinds = threading.Barrier(8), list(MAKERS)

    def work(k: int) -> None:
        rng = np.random.default_rng(k)
        start.wait()
        for turn in range(12):
            kind = kinds[(k + turn) % len(kinds)]
            at = rng.permutation(24)[: 1 + turn % 4]
            found = fresh[kind].explain_frame(rows_of(kind).iloc[at])
            pd.testing.assert_frame_equal(found, expected[kind].iloc[at], check_exact=True)

    with ThreadPoolExecutor(8) as pool:
        for done in [pool.submit(work, k) for k in range(8)]:
            done.result()


def test_threads_leave_the_filters_of_warnings_alone():
    """Sparse rows have no names, which scikit-learn warns of; hushing that is for one at a time."""
    X = tumours()[0]
    one = SufficientReasonExplainer(classifier(), X[:60])
    rows = sparse.csr_array(X[400:404].to_numpy())
    one.explain_frame(rows)  # Numba has filters of its own while it compiles
    before = list(warnings.filters)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: one.explain_frame(rows), range(64)))
    assert list(warnings.filters) == before


def asked(explainer: Any) -> pd.DataFrame:
    return explainer.explain_frame(rows_of("rows"))


def test_forked_after_use():
    """A child of a process that has explained goes on with what its parent has built."""
    one = MAKERS["rows"]()
    expected = asked(one)
    if sys.platform == "win32":
        pytest.skip("there is no fork")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forks beside threads
        with multiprocessing.get_context("fork").Pool(2) as pool:
            for found in pool.map(asked, [one, one]):
                pd.testing.assert_frame_equal(found, expected, check_exact=True)


def test_spawned_from_a_pickle(tmp_path):
    """A new process that has but the file says the same, also of a pickle by value."""
    one = MAKERS["rows"]()
    expected = asked(one)
    copy = cloudpickle.loads(cloudpickle.dumps(one))
    pd.testing.assert_frame_equal(asked(copy), expected, check_exact=True)
    joblib.dump(one, tmp_path / "explainer.joblib")
    rows_of("rows").to_pickle(tmp_path / "rows.pkl")
    code = (
        "import joblib, pandas as pd, sys\n"
        "rows = pd.read_pickle('rows.pkl')\n"
        "joblib.load('explainer.joblib').explain_frame(rows).to_pickle('told.pkl')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    found = pd.read_pickle(tmp_path / "told.pkl")
    pd.testing.assert_frame_equal(found, expected, check_exact=True)


def test_loading_is_quick():
    """To load one with 1,000 background rows takes no more than a tenth of a second of CPU."""
    import time

    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(1000, 30)))
    X.columns = [f"x{i}" for i in range(30)]
    model = LogisticRegression().fit(X, X.sum(axis=1) > 0)
    held = pickle.dumps(SufficientReasonExplainer(model, X))
    pickle.loads(held)
    took = []
    for _ in range(3):
        start = time.process_time()
        pickle.loads(held)
        took.append(time.process_time() - start)
    assert min(took) < 0.1
