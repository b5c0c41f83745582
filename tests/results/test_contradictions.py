"""What cannot be true is raised as an error of the package, and never returned."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from sklearn_probsr import LinearModel, Product, breaking_set, sufficient_reason
from sklearn_probsr.core.cheapest import _Cheapest
from sklearn_probsr.extend import Enclosure, Law, View, register_law
from sklearn_probsr.questions import _breaking_sets

WHOSE = (
    "Both cannot be true, so nothing is returned: this is an error in sklearn-probsr, and not in "
    "what was asked. Please report it with the model, the instance and the arguments."
)
MODEL = LinearModel([5, 2, 2, 2, 1], threshold=7)
X = [1, 1, 1, 1, 1]


@dataclass(frozen=True)
class Untrue:
    """A distribution under which every fact hurts, though its law says that none does."""

    def __str__(self) -> str:
        return "an untrue law"


class UntrueView(View):
    """Fewer facts are better, and this is not what it says."""

    def can_cost(self, unit: int) -> bool:
        return True

    def can_gain(self, unit: int) -> bool:
        return False

    def enclose(
        self, fixed: Collection[int], delta: Fraction | None = None, tol: float = 1e-4
    ) -> Enclosure:
        return Enclosure.of(Fraction(0 if fixed else 1))

    def orders(self, members: list[int], forced: Sequence[int]) -> list[list[int]]:
        return [members]

    def kept(self, *_: Any) -> NDArray[np.int64]:
        raise NotImplementedError


class UntrueLaw(Law):
    """A law that gives such views."""

    means = np.zeros(5)

    def view(self, row: Any) -> UntrueView:
        return UntrueView(len(row))


def test_a_set_smaller_than_any_was_proved_to_be() -> None:
    """A law of one's own that is wrong is found out: its bound of the size is not believed."""
    register_law(Untrue, UntrueLaw)
    message = (
        "A set that reaches delta = 0.9 in row 0 was found with a size of 0, though it was proved "
        f"that all have a size of 6 at least. {WHOSE}"
    )
    with pytest.raises(RuntimeError, match=f"^{re.escape(message)}$"):
        sufficient_reason(MODEL, X, delta=0.9, distribution=Untrue(), max_size=0)


def test_a_set_cheaper_than_any_was_proved_to_be(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same of a bound of the cost."""
    monkeypatch.setattr(_Cheapest, "least", 100)
    message = (
        "A set that reaches delta = 0.9 in row 0 was found with a cost of 5, though it was proved "
        f"that all have a cost of 100 at least. {WHOSE}"
    )
    with pytest.raises(RuntimeError, match=f"^{re.escape(message)}$"):
        sufficient_reason(
            MODEL, X, delta=0.9, distribution=Product([0.5] * 5), cost=[2, 3, 4, 4, 4]
        )


def test_a_breaking_set_smaller_than_any_was_proved_to_be(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same of the sets that break a decision."""
    monkeypatch.setattr(_breaking_sets, "smallest_hitting_set", lambda *_: ({0, 1}, 3))
    message = (
        "A set that breaks the decision at delta = 0.9 was found with a size of 2, though it was "
        f"proved that all have a size of 3 at least. {WHOSE}"
    )
    with pytest.raises(RuntimeError, match=f"^{re.escape(message)}$"):
        breaking_set(MODEL, X, delta=0.9, distribution=Product([0.5] * 5))
