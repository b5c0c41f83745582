"""Places: how brackets find rows, which labels do not."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.exceptions import InvalidInputError

__all__ = ["places"]


def places(n: int, item: Any, by_label: str = "loc[label]") -> NDArray[np.intp]:
    """Return the places that are asked for in brackets, as NumPy takes them.

    Parameters
    ----------
    n : int
        How many rows there are.
    item : int, slice, list or ndarray
        What stands in brackets.
    by_label : str, default="loc[label]"
        What finds a row by what it is called.

    Returns
    -------
    ndarray of int, of no dimension for one row

    Raises
    ------
    InvalidInputError
        If labels are asked for.
    IndexError
        If there is no such place.

    Examples
    --------
    >>> places(5, [-1]), places(5, slice(1, 3))
    (array([4]), array([1, 2]))
    """
    try:
        found: NDArray[np.intp] = np.arange(n)[item]
        return found
    except (IndexError, TypeError):
        if np.asarray(item).dtype.kind in "biu":
            raise
        among = f", 0 to {n - 1}" if n else ", of which there is none"
        raise InvalidInputError(
            f"brackets take the place of a row{among}, got {item!r}. A row by its label is "
            f"{by_label}."
        ) from None
