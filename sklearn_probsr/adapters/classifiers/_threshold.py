"""Threshold: a model of probabilities, with the probability from which class 1 is said."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.adapters._float_order import boundary
from sklearn_probsr.adapters._registry import name_of, registered
from sklearn_probsr.adapters.classifiers._decision import Decision
from sklearn_probsr.adapters.units._columns import Columns
from sklearn_probsr.adapters.units._place_rows import Rows
from sklearn_probsr.exceptions import InvalidInputError

__all__ = ["Threshold"]


@dataclass(frozen=True)
class Threshold:
    """A fitted model that gives probabilities of two classes, with a threshold on them.

    For models of other libraries, such as statsmodels' results and pyGAM's; scikit-learn has its
    own ``FixedThresholdClassifier``.

    Parameters
    ----------
    estimator : fitted model
        One that gives probabilities, by ``predict_proba`` or ``predict``.
    threshold : float, default=0.5
        The second class is said iff its probability is at least so large.
    classes : pair of labels, default=(0, 1)
        What to say below the threshold and from it on.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn_probsr import adapt
    >>> from sklearn_probsr.adapters import Threshold
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]
    >>> careful = Threshold(LogisticRegression().fit(X, y), 0.2, classes=("no", "yes"))
    >>> adapt(careful, X).predict(X)
    array(['no', 'yes', 'yes', 'yes'], dtype='<U3')
    """

    estimator: Any
    threshold: float = 0.5
    classes: tuple[Any, Any] = (0, 1)

    def __post_init__(self) -> None:
        if not 0 <= self.threshold <= 1:
            raise InvalidInputError(
                f"threshold must be a probability, from 0 to 1, got {self.threshold!r}."
            )

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of each row."""
        found = self.estimator
        if hasattr(found, "predict_proba"):
            chances = np.asarray(found.predict_proba(X))
            chances = chances if chances.ndim == 1 else chances[:, 1]
        else:
            chances = np.asarray(found.predict(X))
        said: NDArray[Any] = np.asarray(self.classes)[(chances >= self.threshold).astype(int)]
        return said


@registered(
    "wrapper",
    Threshold,
    note="a model of probabilities by another library, with a threshold on them; a tie belongs to "
    "the second class",
    composite=True,
    prefit=True,
)
def _threshold(estimator: Threshold, columns: Columns, role: str, follow: Any) -> Decision:
    decision: Decision = follow(estimator.estimator, columns, "classifier")
    chance = decision.linear.probability
    if chance is None or len(decision.linear.classes) != 2:
        raise InvalidInputError(
            f"Threshold must hold a model of two classes whose probabilities are known as a "
            f"function of its score, got {name_of(estimator.estimator)}."
        )
    cut, strict = boundary(lambda score: chance(score) >= estimator.threshold)
    linear = replace(decision.linear, cut=float(cut), strict=strict, classes=estimator.classes)
    judge = _Judge(estimator, columns.rows)
    return replace(decision, linear=linear, name="Threshold", judge=judge)


@dataclass(frozen=True)
class _Judge:
    estimator: Threshold
    rows: Rows

    def __call__(self, X: Any, score: int) -> NDArray[np.bool_]:
        said = self.estimator.predict(self.rows.of(X, {}))
        return np.asarray(said == self.estimator.classes[1], dtype=np.bool_)
