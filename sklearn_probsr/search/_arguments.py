"""The arguments of the public functions: checked once, where they come in."""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from sklearn_probsr.exceptions import InvalidInputError
from sklearn_probsr.laws._prices import Prices
from sklearn_probsr.laws._task import Effort, Task
from sklearn_probsr.model._base import Model
from sklearn_probsr.model._exact import decimal_fraction

__all__ = ["Options", "check_tol", "generator"]


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


def _open_unit(value: Any, name: str) -> Fraction | None:
    """Return a number strictly between 0 and 1 as a fraction; None stays None."""
    if value is None:
        return None
    number = _number(value)
    if number is None or not 0 < number < 1:
        raise InvalidInputError(f"{name} must lie strictly between 0 and 1, got {value!r}.")
    return number


def _effort(prove: Any, max_evals: Any, time_limit: Any) -> Effort:
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


@dataclass(frozen=True)
class Options:
    """What a search may be asked for, as a user wrote it; see `sufficient_reasons`."""

    delta: Any = 0.95
    epsilon: Any = None
    gamma: Any = None
    include: Any = ()
    exclude: Any = ()
    max_size: Any = None
    prove: Any = "auto"
    max_evals: Any = None
    time_limit: Any = 10.0
    present_only: Any = False
    supporting_only: Any = False
    cost: Any = None

    def task(self, model: Model, slack: Fraction | None = None, flag: bool = False) -> Task:
        """Return what is asked of every row of a model, or say what is wrong with it."""
        level = self.level
        inside = model.check_features(self.include, "include")
        outside = model.check_features(self.exclude, "exclude")
        both = [model.unit_names[i] for i in inside if i in outside]
        if both:
            raise InvalidInputError(
                f"include and exclude must not share features, got {both[0]!r} in both."
            )
        most = _max_size(self.max_size, len(inside))
        return Task(
            level,
            inside,
            outside,
            most,
            slack,
            self._effort,
            flag,
            present_only=_switch(self.present_only, "present_only"),
            supporting_only=_switch(self.supporting_only, "supporting_only"),
            prices=None if self.cost is None else Prices.of(self.cost, model.unit_names),
        )

    # What rows and models do not change is checked once.
    @cached_property
    def level(self) -> Fraction:
        """The probability to guarantee."""
        level = _number(self.delta)
        if level is None or not 0 <= level <= 1:
            hint = ""
            if level is not None and 50 <= level <= 100:
                hint = f" For {self.delta}% write {float(level / 100):g}."
            raise InvalidInputError(f"delta must lie in [0, 1], got {self.delta!r}.{hint}")
        return level

    @cached_property
    def _effort(self) -> Effort:
        return _effort(self.prove, self.max_evals, self.time_limit)

    @cached_property
    def slack(self) -> Fraction | None:
        """How far off delta an answer may be."""
        return _open_unit(self.epsilon, "epsilon")

    @cached_property
    def risk(self) -> Fraction | None:
        """How likely a sampling method may fail on a row."""
        return _open_unit(self.gamma, "gamma")


def _switch(value: Any, name: str) -> bool:
    if not isinstance(value, bool | np.bool_):
        raise InvalidInputError(f"{name} must be True or False, got {value!r}.")
    return bool(value)


def _max_size(max_size: Any, forced: int) -> int | None:
    if max_size is None:
        return None
    try:
        most = -1 if isinstance(max_size, bool) else operator.index(max_size)
    except TypeError:
        most = -1
    if most < 0:
        raise InvalidInputError(f"max_size must be a whole number >= 0, got {max_size!r}.")
    if most < forced:
        raise InvalidInputError(
            f"include forces {forced} features in, more than max_size = {most}. "
            "Raise max_size or include fewer."
        )
    return most
