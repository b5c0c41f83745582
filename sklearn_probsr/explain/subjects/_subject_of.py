"""Which subject a user means: a model of ours or an estimator, new or prepared before.

An `AdaptedModel` is an estimator as a linear model, asked with rows as the estimator takes them; an
`OwnModel` a LinearModel or ArgmaxModel as it is, whose rows are its columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.core.answers import FeatureSets
from sklearn_probsr.distributions._data import Data
from sklearn_probsr.exceptions import InvalidInputError
from sklearn_probsr.explain.subjects._masker import background_data
from sklearn_probsr.explain.subjects._subject import Subject, one_row
from sklearn_probsr.model.inputs import in_memory
from sklearn_probsr.model.linear import Model
from sklearn_probsr.model.numbers import listing, unnamed
from sklearn_probsr.model.sparse import SparseRows
from sklearn_probsr.model.units import Unit

__all__ = ["AdaptedModel", "OwnModel", "Prepared", "subject_again", "subject_of"]


class OwnModel(Subject):
    """A LinearModel: its rows are its columns."""

    def __init__(self, model: Model) -> None:
        self.model = model

    def frame(self, X: Any, name: str = "X") -> Any:
        return one_row(in_memory(X, name), self.model.n_features)

    def transform(self, raw: Any, name: str = "X") -> Any:
        return self.model.check_rows(raw, name)

    def are_strange(self, raw: Any) -> NDArray[np.bool_]:
        return self.model.are_strange(self.model.arranged(raw))

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


class AdaptedModel(Subject):
    """An adapted estimator: rows are what it takes."""

    def __init__(self, adapted: Any, remedy: str | None, assumed: bool = False) -> None:
        self.adapted, self._remedy, self.assumed = adapted, remedy, assumed
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

    def background(self, data: Any) -> Any:
        rows = self.adapted.computed(self.frame(data, "masker"), "masker")
        if isinstance(rows, SparseRows):
            return self.model.check_sparse(rows, "masker", self._remedy)
        return self.model.check_rows(rows, "masker", self._remedy)

    def are_strange(self, raw: Any) -> NDArray[np.bool_]:
        return self.model.are_strange(self.adapted.computed(raw))

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

    def spelling(self, sets: FeatureSets) -> dict[str, tuple[int, ...]]:
        found: dict[str, tuple[int, ...]] = self.adapted.spelling(np.unique(sets.features).tolist())
        return found

    def tried(self, unit: int, values: Sequence[Any]) -> NDArray[np.float64] | None:
        found: NDArray[np.float64] | None = self.adapted.tried(unit, values)
        return found

    def categories(self, unit: int) -> list[tuple[str, tuple[float, ...]]] | None:
        found: list[tuple[str, tuple[float, ...]]] | None = self.adapted.categories(unit)
        return found

    def is_monotone(self, unit: int) -> bool:
        return bool(self.adapted.is_monotone(unit))


# What to do about a row that has no state, where a law needs one.
STATES = (
    "This distribution needs features with states, and knows no other there. Pass data as masker, "
    "where numbers may be any, or bin the column in the Pipeline."
)
# The same, where nobody chose it.
NO_MASKER = (
    "Without a masker numbers are taken to be 0 or 1. Pass the rows the model was trained on: "
    "SufficientReasonExplainer(model, X_train)."
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
        return OwnModel(_asked(model, target, versus, feature_names))
    from sklearn_probsr.adapters.adapt import Classes, adapt_on

    data = background_data(masker)
    binary: bool | str = "seen" if getattr(masker, "needs_states", False) else False
    classes = Classes(target, versus, together=True)
    adapted = adapt_on(
        model, data, "masker", classes, True if data is None else binary, feature_names
    )
    if masker is None:
        return AdaptedModel(adapted, NO_MASKER, assumed=True)
    return AdaptedModel(adapted, STATES if data is None or binary else None)


def subject_again(model: Any, prepared: Prepared, target: Any, versus: Any) -> Subject:
    """Return what was explained before; ``model`` is the same, or a copy."""
    if prepared.columns is None:
        return OwnModel(prepared.model)
    from sklearn_probsr.adapters.adapt import adapt_again

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
    return AdaptedModel(adapted, STATES if needs else None)


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
