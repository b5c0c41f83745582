"""The features that are in most reasons, and a word where no reason holds any."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    pass

__all__ = ["NOTHING", "most_often"]
NOTHING = "no reason holds a feature"


def most_often(shares: Any, most: int) -> tuple[list[int], str]:
    """Return the features that occur, the most frequent first, and a word on those left out."""
    order = [int(u) for u in np.argsort(-shares, kind="stable") if shares[u] > 0]
    left = len(order) - most
    ones = "one is" if left == 1 else "ones are"
    return order[:most], f"\n({left} rarer {ones} not shown)" if left > 0 else ""
