"""pyGAM, which needs an older SciPy than the others: an environment of its own."""

import re
from typing import Any

import numpy as np
import pytest

from sklearn_probsr import adapt
from sklearn_probsr.adapters import Threshold
from sklearn_probsr.exceptions import InvalidInputError
from tests.adapters.contrib.cases import agree

pytest.importorskip("pygam", reason="pygam is not installed: it needs an older SciPy")
from pygam import LogisticGAM, f, l, s, te

RNG = np.random.default_rng(0)
X = np.column_stack([RNG.normal(size=(400, 2)), RNG.integers(0, 3, 400)])
Y = (np.sin(2 * X[:, 0]) + X[:, 1] + (X[:, 2] == 1) + RNG.normal(size=400) > 0).astype(int)
ROWS = np.column_stack([RNG.normal(size=(1_000, 2)) * 2, RNG.integers(0, 3, 1_000)])


@pytest.mark.parametrize("terms", [s(0) + l(1) + f(2), s(1) + l(1) + s(0), "auto"])
def test_a_model_is_its_terms(terms: Any):
    """Smooth, linear and factor terms, several of one column, columns without one."""
    with np.errstate(all="ignore"):
        gam = LogisticGAM(terms).fit(X, Y)
    adapted = agree(gam, ROWS)
    assert adapted.feature_names == ("x0", "x1", "x2")
    careful = adapt(Threshold(gam, 0.3), ROWS)
    assert (careful.predict(ROWS) == (gam.predict_proba(ROWS) >= 0.3)).all()


def test_what_is_not_additive_is_refused():
    """Tensor terms, terms by another column, and what is not fitted."""
    for gam, term in ((LogisticGAM(te(0, 1)), "te(0, 1)"), (LogisticGAM(s(0, by=1)), "s(0)")):
        message = (
            f"LogisticGAM has the term {term}, which is made of several columns: it does not add "
            "up column by column. Fit it with terms s, l and f alone."
        )
        with pytest.raises(InvalidInputError, match=f"^{re.escape(message)}$"):
            adapt(gam.fit(X, Y))
    message = "estimator must be fitted, got LogisticGAM that is not. Call fit first."
    with pytest.raises(InvalidInputError, match=f"^{re.escape(message)}$"):
        adapt(LogisticGAM(), X)
