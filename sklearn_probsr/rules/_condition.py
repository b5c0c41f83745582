"""Condition: what one feature must be for a rule to speak of a row."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.model.inputs import are_states
from sklearn_probsr.model.numbers import MISSING
from sklearn_probsr.model.sparse import columns_of

__all__ = ["Condition"]


@dataclass(frozen=True)
class Condition:
    """What one feature must be: in an interval, or one of some values.

    Attributes
    ----------
    feature : str
        The name of the feature.
    text : str
        In words: "age ≥ 41", "job in {clerk, nurse}".
    low : float, default=-inf
        The lower end of the interval.
    high : float, default=inf
        The ends of the interval, which belong to it; infinite where there is none, and where
        ``values`` says what is admitted.
    values : tuple or None, default=None
        The values admitted, where they are not an interval: of a raw column its own, else those of
        the columns of the model, one tuple each.
    slack : str, default=''
        How far the instance could go by this fact alone: "age could fall to 41"; empty if nowhere.
    next_step : {"refuted", "undecided", "conservative", "none"}, default='refuted'
        Whether the fact could be widened to its next value in the data. "refuted": proved that not.
        "undecided": the bounds do not tell. "conservative": the bound by the worst value in each
        duel of several classes says no, and the truth may be yes. "none": there is no other value.
    missing : bool, default=False
        Whether a missing value is admitted.
    unit : int, default=0
        The feature's number.
    columns : tuple of int, default=()
        The columns of the model that it fills.
    coded : Condition or None, default=None
        The same of those columns, where raw values are compared.
    reach : pair of float, default=(-inf, inf)
        The last numbers of the data that are admitted at either end.
    """

    feature: str
    text: str
    low: float = -math.inf
    high: float = math.inf
    values: tuple[Any, ...] | None = None
    slack: str = ""
    next_step: str = "refuted"
    missing: bool = False
    unit: int = field(default=0, repr=False)
    columns: tuple[int, ...] = field(default=(), repr=False)
    coded: Condition | None = field(default=None, repr=False)
    reach: tuple[float, float] = field(default=(-math.inf, math.inf), repr=False)

    def __str__(self) -> str:
        return self.text

    def satisfied(self, rows: Any, given: NDArray[Any] | None) -> NDArray[np.bool_]:
        """Tell which checked rows satisfy it; ``given`` are the features as the user gave them."""
        found: NDArray[np.bool_]
        if self.coded is None or given is None:
            of_columns = self if self.coded is None else self.coded
            return of_columns.inside(columns_of(rows, self.columns))
        column = given[:, self.unit]
        gaps = np.array([isinstance(v, str) and v == MISSING for v in column], dtype=np.bool_)
        if self.values is not None:
            found = np.array([v in self.values for v in column.tolist()], dtype=np.bool_)
        else:
            numbers = np.where(gaps, np.nan, column).astype(np.float64)
            with np.errstate(invalid="ignore"):
                found = (numbers >= self.low) & (numbers <= self.high)
        return np.where(gaps, self.missing, found)

    def inside(self, part: NDArray[Any]) -> NDArray[np.bool_]:
        """Tell which of some values of the columns satisfy it."""
        if self.values is not None:
            return are_states(part.astype(np.float64), np.array(self.values, dtype=np.float64))
        column = part[:, 0]
        found: NDArray[np.bool_] = (column >= self.low) & (column <= self.high)
        return found
