"""The models and rows that are measured: random, from fixed seeds."""

from __future__ import annotations

from itertools import count

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr import LinearModel

DELTA = 0.95
_COUNT = count(1)
# A program that explains one row of a fresh model.
ONE_ROW = """
import numpy as np
from sklearn_probsr import LinearModel, sufficient_reason
rng = np.random.default_rng(0)
weights = rng.standard_normal({d})
sufficient_reason(LinearModel(weights, weights.sum() / 2), rng.integers(0, 2, {d}), delta={delta})
"""


def draw(d: int, n: int, seed: int, threshold: str) -> tuple[LinearModel, NDArray[np.bool_]]:
    """Return a model with Gaussian weights and n random rows."""
    rng = np.random.default_rng([d, seed])
    weights = rng.standard_normal(d)
    rows = rng.integers(0, 2, size=(n, d)).astype(np.bool_)
    return LinearModel(weights, 0.0 if threshold == "0" else weights.sum() / 2), rows


def another(model: LinearModel) -> LinearModel:
    """Return a model like it, for which no table was built: the threshold is a little higher."""
    higher = model.threshold + next(_COUNT) * np.spacing(model.threshold)
    return LinearModel(model.weights, higher, strict=model.strict, units=model.units)


def scores(model: LinearModel, rows: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the scores of every feature of every row, the matrix that a ranking would sort."""
    helps = (rows == (model.weights > 0)) == model.is_positive(rows)[:, None]
    return np.where(helps, 1.0, -1.0) * np.abs(model.weights)
