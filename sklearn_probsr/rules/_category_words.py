"""Conditions on categories: each by its own name, also where a model has one state for several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.model.linear import Model
from sklearn_probsr.rules._condition import Condition
from sklearn_probsr.rules._phrases import categories_text, either
from sklearn_probsr.rules._rule import Taken, taken_by

__all__ = ["Categories", "CategoryReader", "by_category"]

# What the categories of a feature are called, and the state that each is in.
Categories = Sequence[tuple[str, tuple[float, ...]]]


def by_category(condition: Condition, known: Categories, own: str) -> Condition:
    """Return a condition on states as one on all the categories that are in one of them."""
    inside = [text for text, state in known if state in (condition.values or ())]
    outside = [text for text, _ in known if text not in inside]
    others = [text for text in dict.fromkeys(inside) if text != own]
    return replace(
        condition,
        text=categories_text(condition.feature, inside, outside),
        slack=f"{condition.feature} could be {either(others)}" if others else "",
    )


@dataclass(frozen=True, eq=False)
class CategoryReader:
    """What tells categories of reasons that come without their explainer; rows are the model's."""

    model: Model
    known: Mapping[int, Categories]

    def taken(self, X: Any, name: str = "X") -> Taken:
        """Return rows of the model."""
        return taken_by(None, self.model, X, name)

    def categories(self, unit: int) -> Categories | None:
        """Return the categories of a feature; None if they are not known."""
        return self.known.get(unit)

    def told(self, condition: Condition, given: NDArray[np.object_] | None) -> Condition:
        """Return a condition in the terms of whoever gave an instance."""
        known = self.categories(condition.unit)
        if known is None or given is None or condition.values is None:
            return condition
        return by_category(condition, known, str(given[condition.unit]))
