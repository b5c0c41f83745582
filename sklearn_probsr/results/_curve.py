"""GuaranteeCurve: the guarantee of every size along the best order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.model.enclosure import Enclosure

__all__ = ["GuaranteeCurve"]


@dataclass(frozen=True, eq=False)
class GuaranteeCurve:
    """Enclosures of ``v_0, ..., v_d``: the guarantee when the first k features are fixed.

    Attributes
    ----------
    order : ndarray of int, shape (d,)
        Over uniform 0/1 features, by decreasing score, ties by index: no set of k features has
        a better guarantee than the first k, up to the last positive score. Over independent
        units by decreasing mean cost, over background rows as greed fixes them, under `Matching` as
        greed adds facts in the rows searched.
    lower, upper : ndarray of float, shape (d + 1,)
        Bounds of each ``v_k``. They never decrease if no feature can both cost and gain, which
        is so for all 0/1 features (not under `Matching`, where more facts leave fewer rows).
    distribution : object
        What the guarantees speak of.
    """

    order: NDArray[np.intp]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    distribution: Any

    def __post_init__(self) -> None:
        for array in (self.order, self.lower, self.upper):
            array.flags.writeable = False

    def __len__(self) -> int:
        return len(self.lower)

    @classmethod
    def of(
        cls, order: Sequence[int], known: Sequence[Enclosure], monotone: bool, distribution: Any
    ) -> GuaranteeCurve:
        """Put the enclosures of all sizes together; those that are not there are certain."""
        lower, upper = np.ones(len(order) + 1), np.ones(len(order) + 1)
        lower[: len(known)] = [one.lower for one in known]
        upper[: len(known)] = [one.upper for one in known]
        if monotone:  # v_k never decreases, so bounds may be passed on
            lower = np.maximum.accumulate(lower)
            upper = np.minimum.accumulate(upper[::-1])[::-1].copy()
        return cls(np.array(order, dtype=np.intp), lower, upper, distribution)
