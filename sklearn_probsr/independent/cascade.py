"""The cascade: engines, cheapest first, until a question is decided or narrow enough.

What several engines prove (Table 1) is intersected.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction

from sklearn_probsr.model.enclosure import Enclosure

__all__ = ["Engine", "cascade"]

# Without a level to decide, an answer may as well be exact if that takes less than this.
_CHEAP_SECONDS = 1e-3
# An engine that would take longer than this is not asked: for a number that a user wants to see,
# and for one of the many decisions of a search.
_PATIENCE_SECONDS = 1.0
_SEARCH_PATIENCE_SECONDS = 0.1

# About how many seconds an engine takes, and the engine.
Engine = tuple[float, Callable[[], Enclosure]]


def cascade(
    best: Enclosure, engines: Iterable[Engine], delta: Fraction | None, tol: float
) -> Enclosure:
    """Narrow an enclosure down.

    Parameters
    ----------
    best : Enclosure
        What is known already.
    engines : iterable of (seconds, engine)
    delta : Fraction or None
        The level that the enclosure should leave to one side. None: only ``tol`` counts.
    tol : float
        Where there is no level: the width that is narrow enough.
    """
    patience = _PATIENCE_SECONDS if delta is None else _SEARCH_PATIENCE_SECONDS
    for cost, engine in sorted(engines, key=lambda pair: pair[0]):
        if delta is not None:
            enough = (best >= delta).decided
        else:
            enough = best.width <= tol and cost > _CHEAP_SECONDS
        if best.exact is not None or enough or cost > patience:
            break
        best = best.intersect(engine())
    return best
