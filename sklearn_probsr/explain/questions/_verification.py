"""Check it yourself: guarantees counted again by the estimator's own predictions alone."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.distributions._completions import Background, Marginals
from sklearn_probsr.exceptions import InvalidInputError
from sklearn_probsr.explain.frames._raw_frames import raw_frame, raw_names
from sklearn_probsr.explain.subjects._masker import background_data
from sklearn_probsr.explain.subjects._subject_of import Prepared
from sklearn_probsr.model.linear import Model

__all__ = ["verify"]

# How likely any row of a call looks wrong by chance where completions are drawn.
_RISK = 1e-6
# A score so close to the threshold, beside the largest of the scores, may be on either side of it.
_ROUNDING = 1e-9


def verify(explainer: Any, X: Any, samples: Any, random_state: Any) -> Any:
    """Return a table of the guarantees of rows as an explainer says them, and as counted again."""
    import pandas as pd

    names, asked = raw_names(explainer._subject), _asked(explainer.model)
    completions = _completions(explainer, names, samples, np.random.default_rng(random_state))
    raw = raw_frame(X, names)
    explained = explainer._explain(X, True, 3)
    reasons = explained.reasons
    valid = reasons.status != "invalid"
    own = np.full(len(raw), None, dtype=object)
    if valid.any():
        own[valid] = np.asarray(asked.predict(raw[list(names)][valid]))
    found = np.full((len(raw), 2), np.nan)
    agrees = np.zeros(len(raw), dtype=np.bool_)
    radius = completions.radius(len(raw))
    for i in np.flatnonzero(valid).tolist():
        features = _columns_of(explainer, reasons[i].feature_names)
        rows = completions.rows.copy()
        for name in features:
            rows[name] = [raw[name].iloc[i]] * len(rows)
        same = np.asarray(asked.predict(rows)) == own[i]
        near = _near(asked, rows)
        share, doubt = (completions.share(part) for part in (same, near))
        found[i] = share, doubt
        low, high = float(reasons.lower[i]) - 1e-12, float(reasons.upper[i]) + 1e-12
        inside = low - doubt - radius <= share <= high + doubt + radius
        agrees[i] = inside and bool(own[i] == reasons.prediction[i])
    return pd.DataFrame(
        {
            "claimed_lower": np.where(np.isnan(found[:, 0]), np.nan, reasons.lower),
            "claimed_upper": np.where(np.isnan(found[:, 0]), np.nan, reasons.upper),
            "counted": found[:, 0],
            "near": found[:, 1],
            "agrees": agrees,
        },
        index=raw.index,
    )


@dataclass(frozen=True)
class _Completions:
    """Raw rows with their weights; ``drawn`` if they are a sample."""

    rows: Any
    weights: NDArray[np.float64]
    drawn: bool

    def share(self, part: NDArray[np.bool_]) -> float:
        return float(self.weights @ part / self.weights.sum())

    def radius(self, n: int) -> float:
        """Return how far off chance may be in any of n rows (Hoeffding, and Bonferroni)."""
        if not self.drawn:
            return 0.0
        return math.sqrt(math.log(2 * max(n, 1) / _RISK) / (2 * len(self.rows)))


def _completions(
    explainer: Any, names: tuple[str, ...], samples: Any, rng: np.random.Generator
) -> _Completions:
    """Return raw rows that unknown features are replaced by, or say why there are none."""
    law = explainer.law.distribution
    if not isinstance(samples, int | np.integer) or isinstance(samples, bool) or samples < 1:
        raise InvalidInputError(f"samples must be a whole number >= 1, got {samples!r}.")
    if explainer._subject.takes_text:
        raise InvalidInputError(
            "verify puts raw facts into raw rows, and the words of a text are not columns of one. "
            "Explain the steps after the vectorizer on its matrix to count there."
        )
    if isinstance(explainer._given_masker, Prepared):
        raise InvalidInputError(
            "verify needs the raw background, which an explainer that was pickled or loaded no "
            "longer has. Make the explainer anew from its data."
        )
    data = background_data(explainer._given_masker)
    if data is None or not isinstance(law, Background | Marginals):
        raise InvalidInputError(
            f"verify counts raw rows, and {law} has none. Pass data as masker: Background(X) or "
            "Marginals.fit(X)."
        )
    rows = raw_frame(data, names, "masker")[list(names)].reset_index(drop=True)
    weights = np.ones(len(rows)) if len(law.weights) != len(rows) else law.weights.astype(float)
    if isinstance(law, Background):
        return _Completions(rows, weights, False)
    share = weights / weights.sum()
    drawn = {name: rows[name].to_numpy()[rng.choice(len(rows), samples, p=share)] for name in names}
    import pandas as pd

    frame = pd.DataFrame(drawn).astype(rows.dtypes.to_dict())
    return _Completions(frame, np.ones(samples), True)


def _columns_of(explainer: Any, features: tuple[str, ...]) -> list[str]:
    """Return the raw columns of some features."""
    groups = explainer.groups or {}
    return [name for feature in features for name in groups.get(feature, (feature,))]


class _Asked(NamedTuple):
    """What a model says of raw rows, and their scores from the threshold; None if it has none."""

    predict: Callable[[Any], Any]
    score: Callable[[Any], Any] | None


def _asked(model: Any) -> _Asked:
    """Return how a model is asked about raw rows."""
    if isinstance(model, Model):
        return _Asked(model.predict, None if model.by_class else model.margin)
    if isinstance(model, tuple | list):
        coef, intercept = np.ravel(model[0]), float(np.ravel(model[1])[0])

        def score(rows: Any) -> Any:
            return rows.to_numpy(dtype=float) @ coef + intercept

        return _Asked(lambda rows: (score(rows) > 0).astype(int), score)
    named = hasattr(model, "feature_names_in_")

    def ask(method: str) -> Callable[[Any], Any]:
        return lambda rows: getattr(model, method)(rows if named else rows.to_numpy())

    has_scores = hasattr(model, "decision_function")
    return _Asked(ask("predict"), ask("decision_function") if has_scores else None)


def _near(asked: _Asked, rows: Any) -> NDArray[np.bool_]:
    """Tell which rows are within rounding of the threshold."""
    if asked.score is None:
        return np.zeros(len(rows), dtype=np.bool_)
    scores = np.asarray(asked.score(rows), dtype=np.float64)
    if scores.ndim == 2:
        top = np.sort(scores, axis=1)[:, -2:]
        gap = top[:, 1] - top[:, 0]
    else:
        gap = np.abs(scores)
    near: NDArray[np.bool_] = gap <= _ROUNDING * np.abs(scores).max(initial=0.0)
    return near
