"""Which subject a user means: a model of ours or an estimator, new or prepared before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sklearn_probsr.distributions._data import Data
from sklearn_probsr.exceptions import InvalidInputError
from sklearn_probsr.explain.subjects._adapted_model import AdaptedModel
from sklearn_probsr.explain.subjects._masker import background_data
from sklearn_probsr.explain.subjects._own_model import OwnModel
from sklearn_probsr.explain.subjects._subject import Subject
from sklearn_probsr.model.linear import Model
from sklearn_probsr.model.numbers import listing

__all__ = ["Prepared", "subject_again", "subject_of"]

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
    from sklearn_probsr.adapters._adapt import Classes, adapt_on

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
