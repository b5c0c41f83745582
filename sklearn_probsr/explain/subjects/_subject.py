"""Subject: what is explained, be it a LinearModel or an adapted estimator."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.distributions._data import Data
from sklearn_probsr.exceptions import InvalidInputError
from sklearn_probsr.explain.subjects._masker import background_data
from sklearn_probsr.laws._feature_sets import FeatureSets
from sklearn_probsr.laws.sums._spectra import row_sums
from sklearn_probsr.model._base import Model
from sklearn_probsr.model._checks import in_memory, listing
from sklearn_probsr.model._sparse import SparseRows
from sklearn_probsr.model._units import Unit, unnamed

__all__ = ["Prepared", "Subject", "subject_again", "subject_of"]

# What to do about a row that has no state, where a law needs one.
STATES = (
    "This distribution needs features with states, and knows no other there. Pass data as masker, "
    "where numbers may be any, or bin the column in the Pipeline."
)


@dataclass(frozen=True, eq=False)
class Prepared:
    """What an explainer made of its model and masker: enough to make it again, without raw rows.

    In place of a masker. ``columns`` are the names of the raw columns; None if the model is linear
    as it is.
    """

    model: Model
    distribution: Any
    columns: tuple[str, ...] | None


class Subject(ABC):
    """A linear model, and the way from the rows that a user has to its own."""

    model: Model
    # The names of the raw columns; None if they are those of the model.
    columns: tuple[str, ...] | None = None
    # From which score the model measures, on the scale of an estimator's decision function.
    cut: float = 0.0
    # Whether rows are texts; and the names that a frame's columns must have, in their order, and no
    # others. None: they go by their place, or others may be beside them.
    takes_text: bool = False
    by_name: tuple[str, ...] | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """What the features are called."""
        return self.model.unit_names

    @property
    def nothing(self) -> NDArray[Any]:
        """No rows at all, in the columns of the model."""
        return np.zeros((0, self.model.n_features))

    @property
    def whole(self) -> Subject:
        """The subject without groups of features."""
        return self

    @property
    def sources(self) -> list[tuple[str, ...]]:
        """The raw columns that each feature is made of."""
        units, names = self.model.units, self.model.feature_names
        if self.columns is not None or units is None:  # features are called as their columns
            return [(name,) for name in self.names]
        return [tuple(names[j] for j in unit.columns) for unit in units]

    @abstractmethod
    def frame(self, X: Any, name: str = "X") -> Any:
        """Return rows as the other methods take them, or say what is wrong with them.

        A single one becomes a batch of one.
        """

    @abstractmethod
    def transform(self, raw: Any, name: str = "X") -> Any:
        """Return rows in the columns of the model."""

    def background(self, data: Any) -> Any:
        """Return the rows of a masker in the columns of the model."""
        return self.transform(self.frame(data, "masker"), "masker")

    def tried(self, unit: int, values: Sequence[Any]) -> NDArray[np.float64] | None:
        """Return what raw values of a feature become in its columns; None if that is not known."""
        return None

    def categories(self, unit: int) -> list[tuple[str, tuple[float, ...]]] | None:
        """Return the categories of a feature, and what each becomes in its columns.

        None if it has none, or if that is not known.
        """
        return None

    def is_monotone(self, unit: int) -> bool:
        """Whether a feature's column is declared never to fall where the raw one grows."""
        return False

    @abstractmethod
    def read(self, raw: Any, rows: Any) -> tuple[Any, Any]:
        """Return each feature as a number, and as a person reads it; None if that is the number.

        Both stay sparse where the rows are, and words or numbers are all that there is.
        """

    def given(self, display: Any) -> Any:
        """Return the values that the columns were made of, if these are not all that there is."""
        return None

    def words(self, raw: Any, sets: FeatureSets) -> dict[int, dict[int, tuple[str, ...]]]:
        """Return the words of the texts in raw rows that features of a set do not name."""
        return {}

    def codes(self, rows: Any) -> Any:
        """Return one number for each feature: its column, or which state its columns are in.

        Of several columns of any numbers, what they add to the decision function; of a model of
        several classes, to the lead of the last over the first.
        """
        units, weights = self.model.units, self.model.weights
        if isinstance(rows, SparseRows):
            return rows.astype(np.float64).columns_at(self.model.columns_first)
        if units is None:
            return rows.astype(np.float64)
        towards = weights if weights.ndim == 1 else weights[-1] - weights[0]
        found = rows[:, self.model.first_columns].astype(np.float64)
        for u, unit in enumerate(units):
            if len(unit.columns) == 1:
                continue
            part = rows[:, list(unit.columns)]
            if unit.states is None:
                found[:, u] = row_sums(part * towards[list(unit.columns)])
            else:
                for code, state in enumerate(unit.states):
                    found[(part == state).all(axis=1), u] = code
        return found


class _Direct(Subject):
    """A LinearModel: its rows are its columns."""

    def __init__(self, model: Model) -> None:
        self.model = model

    def frame(self, X: Any, name: str = "X") -> Any:
        return one_row(in_memory(X, name), self.model.n_features)

    def transform(self, raw: Any, name: str = "X") -> Any:
        return self.model.check_rows(raw, name)

    def read(self, raw: Any, rows: Any) -> tuple[Any, Any]:
        numbers, units = self.codes(rows), self.model.units
        if units is None or all(_is_its_column(unit) for unit in units):
            return numbers, None
        rows, numbers = np.asarray(rows), np.asarray(numbers)
        shown = numbers.astype(object)
        for u, unit in enumerate(units):
            if _is_its_column(unit):
                continue
            part = rows[:, list(unit.columns)]
            different, which = np.unique(part, axis=0, return_inverse=True)
            texts = [unnamed(unit.name, unit.describe(values)) for values in different.tolist()]
            shown[:, u] = np.array(texts, dtype=object)[which.reshape(-1)]
        return numbers, shown


def _is_its_column(unit: Unit) -> bool:
    """Whether the number in its column is what a person calls it."""
    return len(unit.columns) == 1 and not unit.labels and not unit.coded


class _Estimator(Subject):
    """An adapted estimator: rows are what it takes."""

    def __init__(self, adapted: Any, remedy: str | None) -> None:
        self.adapted, self._remedy = adapted, remedy
        self.model = adapted.model
        self.columns = adapted.feature_names
        self.cut = adapted.cut
        self.takes_text = adapted.takes_text
        self.by_name = adapted.by_name

    def frame(self, X: Any, name: str = "X") -> Any:
        if not self.takes_text:
            X = one_row(in_memory(X, name), len(self.adapted.feature_names))
        return self.adapted.check(X, name)

    def transform(self, raw: Any, name: str = "X") -> Any:
        return self.model.check_rows(self.adapted.computed(raw, name), name, self._remedy)

    def read(self, raw: Any, rows: Any) -> tuple[Any, Any]:
        if isinstance(rows, SparseRows):
            words = self.adapted.read_sparse(raw, rows)
            if words is not None:
                return words.astype(np.float64), words.astype(np.float64)
            rows = rows.toarray()
        if self.adapted.is_plain and ((rows == 0) | (rows == 1)).all():
            return self.codes(rows), None
        numbers, shown = self.adapted.read(raw, self.codes(rows))
        return numbers, shown

    def given(self, display: Any) -> Any:
        return display

    def words(self, raw: Any, sets: FeatureSets) -> dict[int, dict[int, tuple[str, ...]]]:
        found: dict[int, dict[int, tuple[str, ...]]] = self.adapted.words(raw, sets)
        return found

    def tried(self, unit: int, values: Sequence[Any]) -> NDArray[np.float64] | None:
        found: NDArray[np.float64] | None = self.adapted.tried(unit, values)
        return found

    def categories(self, unit: int) -> list[tuple[str, tuple[float, ...]]] | None:
        found: list[tuple[str, tuple[float, ...]]] | None = self.adapted.categories(unit)
        return found

    def is_monotone(self, unit: int) -> bool:
        return bool(self.adapted.is_monotone(unit))


def one_row(X: Any, width: int) -> Any:
    """Return a single row, be it a series or a vector, as a batch of one."""
    if getattr(X, "ndim", 0) == 1 and hasattr(X, "to_frame") and hasattr(X, "iloc"):
        # A pandas Series.
        if width == 1 and len(X) != 1:  # the only column
            return X.to_frame()
        return X.to_frame().T.infer_objects()
    if hasattr(X, "shape"):
        return X[None, :] if isinstance(X, np.ndarray) and X.shape == (width,) else X
    if isinstance(X, list | tuple) and len(X) == width and not any(map(np.ndim, X)):
        texts = any(isinstance(value, str) for value in X)
        return np.array(X, dtype=object if texts else None)[None, :]
    return X


def subject_of(
    model: Any,
    masker: Any,
    target: Any,
    versus: Any,
    feature_names: Sequence[str] | None,
) -> Subject:
    """Return what is to be explained; an estimator is compared with itself on a masker's rows.

    Numbers are real-valued where rows replace them; coins, fair or not, are for 0/1 columns, and
    what is to be matched must have states.
    """
    if isinstance(model, Model):
        return _Direct(_asked(model, target, versus, feature_names))
    from sklearn_probsr.adapters._adapt import Classes, adapt_on

    data = background_data(masker)
    binary: bool | str = "seen" if getattr(masker, "needs_states", False) else False
    classes = Classes(target, versus, together=True)
    adapted = adapt_on(
        model, data, "masker", classes, True if data is None else binary, feature_names
    )
    return _Estimator(adapted, STATES if data is None or binary else None)


def subject_again(model: Any, prepared: Prepared, target: Any, versus: Any) -> Subject:
    """Return what was explained before; ``model`` is the same, or a copy."""
    if prepared.columns is None:
        return _Direct(prepared.model)
    from sklearn_probsr.adapters._adapt import adapt_again

    adapted = adapt_again(
        model,
        prepared.model,
        prepared.columns,
        target=target,
        versus=versus,
        binary=not isinstance(prepared.distribution, Data),
    )
    # What can be 0 or 1 only was so before a law that needs states.
    needs = getattr(prepared.distribution, "needs_states", True)
    return _Estimator(adapted, STATES if needs else None)


def _asked(model: Model, target: Any, versus: Any, feature_names: Sequence[str] | None) -> Model:
    """Return a model with names, or say that it cannot be asked so."""
    if len(model.classes) > 2:
        model = _duel(model, target, versus)
    first, second = model.classes[0], model.classes[1]
    if len(model.classes) == 2 and (
        not (target is None or target == second) or not (versus is None or versus == first)
    ):
        raise InvalidInputError(
            "target and versus choose among the classes of an estimator; a LinearModel explains "
            f"{second!r} against {first!r}, got target={target!r}, versus={versus!r}."
        )
    if feature_names is None or tuple(feature_names) == model.unit_names:
        return model
    if model.units is not None:
        raise InvalidInputError(
            "feature_names are for models without units; this one's units have names of their own: "
            f"{listing(model.unit_names)}."
        )
    return model.renamed(feature_names)


def _duel(model: Any, target: Any, versus: Any) -> Model:
    """Return a model of several classes, or one of its duels if two classes are named."""
    if target is None and versus is None:
        whole: Model = model
        return whole
    places = []
    for name, label in (("target", target), ("versus", versus)):
        if label not in model.classes:
            raise InvalidInputError(
                f"{name} must be one of the classes, {listing(model.classes)}, got {label!r}. Name "
                "both target and versus, or neither."
            )
        places.append(model.classes.index(label))
    if places[0] == places[1]:
        raise InvalidInputError(f"versus must be another class than target, got {versus!r} twice.")
    duel: Model = model.duel(*places)
    return duel
