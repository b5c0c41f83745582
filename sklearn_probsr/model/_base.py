"""What all models share: scores and classes, over their inputs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sklearn_probsr.model.inputs import Inputs
from sklearn_probsr.model.units import Unit, encoded

__all__ = ["Model"]


class Model(Inputs, ABC):
    """A classifier by its columns, the units that they belong to, and its classes."""

    weights: NDArray[np.float64]
    classes: tuple[Any, ...]

    @property
    @abstractmethod
    def decision(self) -> dict[str, Any]:
        """What decides: the arguments of the model, but for names, classes and units."""

    def _with(self, feature_names: Sequence[str]) -> dict[str, Any]:
        """Return all arguments that make the same model, with some names of its columns."""
        return {
            **self.decision,
            "feature_names": feature_names,
            "classes": self.classes,
            "units": self.units,
        }

    def renamed(self, feature_names: Sequence[str]) -> Self:
        """Return the same model with other names of its columns."""
        return type(self)(**self._with(feature_names))

    # By the arguments alone, which are checked again: pickles and skops files hold no tables.
    def __getstate__(self) -> dict[str, Any]:
        return self._with(self.feature_names)

    def __setstate__(self, state: dict[str, Any]) -> None:
        type(self).__init__(self, **state)

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self._key() == other._key()

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash(self._key()[0])

    def _key(self) -> tuple[Any, ...]:
        values = self.decision.values()
        decides = tuple(v.tobytes() if isinstance(v, np.ndarray) else v for v in values)
        return decides, self.feature_names, self.classes, self.units

    @property
    def whole(self) -> Self:
        """The same classifier on numbers that mean what floats are: what laws are made of."""
        return self

    @property
    @abstractmethod
    def outputs(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The weights (outputs, d) and constants of the scores that plots and SHAP values show.

        Of two classes there is one, positive where ``classes[1]`` wins; of several, one each.
        """

    @property
    @abstractmethod
    def by_class(self) -> bool:
        """Whether there is one score for each class, the largest of which wins."""

    @abstractmethod
    def closest(self, row: NDArray[Any]) -> Any:
        """Return the decision between a checked row's class and the one that comes closest."""

    @abstractmethod
    def winners(self, rows: Any) -> NDArray[np.intp]:
        """Return which of the classes each checked row belongs to, exactly."""

    @abstractmethod
    def margin(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return for each row how far its class is ahead of the next one."""

    @abstractmethod
    def leads(self, rows: Any, winner: int) -> NDArray[np.float64]:
        """Return about how far each checked row is on the side of a class."""

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the class label of each row, by exact arithmetic.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows of zeros and ones, or of what the units can be.

        Returns
        -------
        ndarray of shape (n,)
            Labels out of ``classes``.
        """
        return self._labels[self.winners(self.check_rows(X))]

    def encode(self, X: Any) -> NDArray[np.float64]:
        """Return rows of this model, made of what a person calls the states of its features.

        Parameters
        ----------
        X : DataFrame, mapping of columns, or list of mappings
            One column for each feature, with the labels of its states ("nurse" or "job: nurse"), or
            numbers where it has no labels.

        Returns
        -------
        ndarray of shape (n, d)
        """
        units = self.units
        if units is None:
            units = tuple(Unit.binary(name, j) for j, name in enumerate(self.feature_names))
        return encoded(units, self.n_features, X)

    @cached_property
    def _labels(self) -> NDArray[Any]:
        if len({type(label) for label in self.classes}) == 1 and np.ndim(self.classes[0]) == 0:
            return np.array(self.classes)
        labels = np.empty(len(self.classes), dtype=object)
        labels[:] = self.classes
        return labels
