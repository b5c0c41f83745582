"""Few units, taken as very many that are mostly zero are."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from sklearn_probsr.independent import makers
from sklearn_probsr.laws.sums import _thin_spectrum
from sklearn_probsr.model import sparse


@contextmanager
def few_are_thin() -> Iterator[None]:
    """Take few units, and small tables, as many and large ones; some are divided out."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sparse, "_FEW_CELLS", -1)
        patch.setattr(makers, "_MANY_UNITS", -1)
        patch.setattr(_thin_spectrum, "_MOSTLY", 0.7)
        patch.setattr(_thin_spectrum, "_DEGREE", 2**9)
        yield


@contextmanager
def division(of_most: bool) -> Iterator[None]:
    """Divide most units out; what that undoes is looked at node by node."""
    with pytest.MonkeyPatch.context() as patch:
        if of_most:
            changed = {"_SHARE": 2.0, "_FEW_SMALL": -1, "_LEAST_DIVISOR": 0.05, "_GONE": 4.0}
            for name, value in (changed | {"_RESERVE": 0.1}).items():
                patch.setattr(_thin_spectrum, name, value)
        yield
