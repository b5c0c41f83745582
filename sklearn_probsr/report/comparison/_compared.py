"""What a picture and a page ask of a comparison."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.report.comparison._growth import Growth
from sklearn_probsr.results._scope import Scope

__all__ = ["Compared", "known_sizes"]


def known_sizes(sizes: NDArray[Any]) -> NDArray[Any]:
    """Return the sizes of the rows that have one: a column has gaps where it could not be had."""
    known: NDArray[Any] = sizes[~np.isnan(sizes)]
    return known


class Compared(Protocol):
    """Reasons beside SHAP values: the fields and tables of a `Comparison`."""

    def __len__(self) -> int:
        """How many rows there are."""

    @property
    def table(self) -> dict[str, NDArray[Any]]:
        """The columns, by name."""

    @property
    def shap_values(self) -> NDArray[Any]:
        """The SHAP value of every feature of every row."""

    @property
    def values(self) -> NDArray[Any]:
        """What every feature of every row is, as a person reads it."""

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The names of the features."""

    @property
    def classes(self) -> tuple[Any, ...]:
        """The labels of the classes."""

    @property
    def delta(self) -> float:
        """The probability that a reason guarantees."""

    @property
    def distribution(self) -> str:
        """What guarantees speak of."""

    @property
    def others(self) -> tuple[str, ...]:
        """The names of other methods."""

    @property
    def rules(self) -> str:
        """What every reason had to obey, in words; empty if nothing."""

    @property
    def scope(self) -> Scope:
        """Which sets were allowed."""

    @property
    def threshold(self) -> str:
        """From where on the second of two classes is predicted, in words; empty if at 0."""

    @property
    def shared(self) -> NDArray[np.int8] | None:
        """What each feature is among the minimum reasons of a row; None if nobody asked."""

    @property
    def missing(self) -> dict[str, str]:
        """Columns that could not be had, and why."""

    @property
    def index(self) -> Any:
        """What the rows are called."""

    @property
    def left_out(self) -> str:
        """What is said of flagged rows that are not here."""

    @property
    def growth(self) -> Growth:
        """The reasons at several levels."""

    def held(self, name: str) -> Any:
        """Return a table of rows and features as it is kept."""

    def pieces(self) -> Iterator[Compared]:
        """Yield the rows, as many at once as may be filled in."""

    def to_frame(self) -> Any:
        """Return the table as a frame."""

    def features(self) -> Any:
        """Return how often each feature is in a reason, as a frame."""

    def summary(self) -> str:
        """Say it in words."""
