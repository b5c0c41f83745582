"""The arguments of the public functions: checked once, where they come in."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np

from sklearn_probsr.exceptions import InvalidInputError
from sklearn_probsr.model._argmax import AnyModel
from sklearn_probsr.model._exact import decimal_fraction
from sklearn_probsr.search._coins import Effort, Task

__all__ = ["check_effort", "check_model", "check_task", "check_tol", "generator", "open_unit"]


def check_model(model: Any) -> None:
    """Refuse what is neither a LinearModel nor an ArgmaxModel."""
    if not isinstance(model, AnyModel):
        raise InvalidInputError(
            f"model must be a LinearModel, got {type(model).__name__}. "
            "Write LinearModel(weights, threshold)."
        )


def check_tol(tol: float) -> float:
    """Return a width, or say that it is none."""
    try:
        value = float(tol)
    except (TypeError, ValueError, OverflowError):
        value = math.nan
    if not value >= 0:
        raise InvalidInputError(f"tol must be a number >= 0, got {tol!r}.")
    return value


def _number(value: Any) -> Fraction | None:
    """Return the decimal that a number prints as; None for what is no finite number."""
    if isinstance(value, bool | str | bytes):
        return None
    try:
        return decimal_fraction(value)
    except (TypeError, ValueError, OverflowError):
        return None


def open_unit(value: Any, name: str) -> Fraction | None:
    """Return a number strictly between 0 and 1 as a fraction; None stays None."""
    if value is None:
        return None
    number = _number(value)
    if number is None or not 0 < number < 1:
        raise InvalidInputError(f"{name} must lie strictly between 0 and 1, got {value!r}.")
    return number


def check_task(
    model: AnyModel,
    delta: float,
    include: Iterable[int | str],
    exclude: Iterable[int | str],
    max_size: int | None,
) -> Task:
    """Return what is asked of every row, or say what is wrong with it."""
    level = _number(delta)
    if level is None or not 0 <= level <= 1:
        raise InvalidInputError(f"delta must lie in [0, 1], got {delta!r}.")
    inside = model.check_features(include, "include")
    outside = model.check_features(exclude, "exclude")
    both = [model.unit_names[i] for i in inside if i in outside]
    if both:
        raise InvalidInputError(
            f"include and exclude must not share features, got {both[0]!r} in both."
        )
    if max_size is not None:
        try:
            most = -1 if isinstance(max_size, bool) else operator.index(max_size)
        except TypeError:
            most = -1
        if most < 0:
            raise InvalidInputError(f"max_size must be a whole number >= 0, got {max_size!r}.")
        max_size = most
        if max_size < len(inside):
            raise InvalidInputError(
                f"include forces {len(inside)} features in, more than max_size = {max_size}. "
                "Raise max_size or include fewer."
            )
    return Task(level, inside, outside, max_size)


def check_effort(prove: Any, max_evals: Any, time_limit: Any) -> Effort:
    """Return how hard to try a proof, or say what is wrong with it."""
    if not (isinstance(prove, bool | np.bool_) or (isinstance(prove, str) and prove == "auto")):
        raise InvalidInputError(f"prove must be 'auto', True or False, got {prove!r}.")
    if max_evals is not None:
        try:
            most = -1 if isinstance(max_evals, bool) else operator.index(max_evals)
        except TypeError:
            most = -1
        if most < 0:
            raise InvalidInputError(
                f"max_evals must be None or a whole number >= 0, got {max_evals!r}."
            )
        max_evals = min(most, 2**40)
    seconds = _number(time_limit)
    if seconds is None or seconds <= 0:
        raise InvalidInputError(f"time_limit must be a number of seconds > 0, got {time_limit!r}.")
    return Effort(prove if isinstance(prove, str) else bool(prove), max_evals, float(seconds))


def generator(random_state: Any) -> np.random.Generator:
    """Return the generator that a random state means."""
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31, size=4))
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError):
        raise InvalidInputError(
            f"random_state must be None, an integer or a numpy Generator, got {random_state!r}."
        ) from None
