"""The level that a guarantee has to reach, between two floats."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["ANY", "Level"]


class Level(NamedTuple):
    """Two floats with ``low <= delta <= high``.

    A lower bound of at least ``high`` surely reaches delta, and an upper bound below ``low`` surely
    misses it.
    """

    low: float
    high: float


# No enclosure leaves this one to a side: for a number that is wanted for itself.
ANY = Level(0.0, 2.0)
