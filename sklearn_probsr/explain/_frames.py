"""Views of reasons: as a table, and as gains in probability."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr._functions import guarantee
from sklearn_probsr.laws._dispatch import law_of
from sklearn_probsr.results._reason import SufficientReasons

__all__ = ["gains", "table"]


def gains(reasons: SufficientReasons) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return what each feature of a reason adds to the guarantee, and the guarantee of nothing.

    The features are fixed in the order of the reason; the last one reaches its guarantee.
    """
    values, base = np.zeros(reasons.mask.shape), np.zeros(len(reasons))
    for i, reason in enumerate(reasons):
        row, law = reasons.rows[i], reasons.distribution
        levels = [
            guarantee(reasons.model, row, reason.features[:k], distribution=law).lower
            for k in range(reason.size)
        ]
        levels.append(float(reasons.lower[i]))
        base[i] = levels[0]
        values[i, list(reason.features)] = np.diff(levels)
    return values, base


def table(reasons: SufficientReasons) -> Any:
    """Return a DataFrame with one line for each reason."""
    import pandas as pd

    told = list(reasons)
    held = [reason.matches for reason in told if reason.matches is not None]
    shared = {
        "coverage": [matches.coverage for matches in held],
        "matching_rows": [matches.confirmed.matching for matches in held],
        "kept_rows": [matches.confirmed.kept for matches in held],
    }
    return pd.DataFrame(
        {
            "prediction": reasons.prediction,
            "reason": pd.Series([reason.feature_names for reason in told], dtype=object),
            "reason_size": reasons.size,
            "guarantee_lower": reasons.lower,
            "guarantee_upper": reasons.upper,
            "minimality": reasons.minimality.astype(object),
            "distribution": str(reasons.distribution),
            **(shared if law_of(reasons.model, reasons.distribution).conditional else {}),
        }
    )
