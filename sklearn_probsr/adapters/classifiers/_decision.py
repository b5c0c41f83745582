"""Decisions: a classifier's linear scores, and the one that is asked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.adapters._declarations import Linear
from sklearn_probsr.adapters.units._columns import Columns
from sklearn_probsr.exceptions import InvalidInputError
from sklearn_probsr.model.numbers import listing

__all__ = ["Choice", "Contest", "Decision", "choose", "contest"]


@dataclass(frozen=True)
class Decision:
    """A classifier over some columns.

    ``rest(i)`` is the decision for class ``i`` against the others, for a classifier that decides
    each class on its own; ``several`` says that it may also say several classes, or none. Where
    `predict` does not say which class a score speaks for, ``judge(X, i)`` tells for which raw rows
    score ``i`` is above the cut. ``unproved`` says that nothing but `predict` on rows can tell
    whether it is so; ``scored`` whether `decision_function` is the score that `predict` goes by.
    """

    columns: Columns
    linear: Linear
    name: str
    rest: Callable[[int], Decision] | None = None
    several: bool = False
    judge: Callable[[Any, int], NDArray[np.bool_]] | None = None
    unproved: bool = False
    scored: bool = True


@dataclass(frozen=True)
class Choice:
    """One score: the second of two classes iff ``coef · columns + intercept`` is above the cut.

    ``judge`` tells which raw rows belong to the second class, where `predict` does not say so.
    """

    columns: Columns
    coef: NDArray[np.float64]
    intercept: float
    cut: float
    strict: bool
    classes: tuple[Any, Any]
    precision: float
    slack: float
    judge: Callable[[Any], NDArray[np.bool_]] | None = None


@dataclass(frozen=True)
class Contest:
    """Several scores, the largest of which wins: ``coef · columns + intercept`` of each class."""

    columns: Columns
    coef: NDArray[np.float64]
    intercept: NDArray[np.float64]
    strict: bool  # of equal scores the first wins, else the last
    classes: tuple[Any, ...]
    precision: float
    slack: float


def contest(decision: Decision) -> Contest | None:
    """Return the scores of a classifier of more than two classes that takes the largest."""
    linear = decision.linear
    if len(linear.classes) <= 2 or linear.duels or decision.several:
        return None
    return Contest(
        decision.columns,
        linear.coef,
        np.asarray(linear.intercept),
        linear.strict,
        tuple(linear.classes),
        linear.precision,
        2 * linear.slack,
    )


def choose(decision: Decision, target: Any, versus: Any) -> Choice:
    """Return the score of a target class, against another one or against all others."""
    i, j = _place(decision, target, "target"), _place(decision, versus, "versus")
    if i is not None and i == j:
        raise InvalidInputError(f"versus must be another class than target, got {versus!r} twice.")
    if decision.several or (i is not None and j is None and decision.rest is not None):
        return _against_rest(decision, i, j)
    if len(decision.linear.classes) > 2:
        return _pair(decision, i, j)
    choice = _score(decision, 0, (0, 1))
    return _swapped(choice) if i == 0 or (i is None and j == 1) else choice


def _score(decision: Decision, row: int, classes: tuple[int, int]) -> Choice:
    """Return one of the scores, as the decision between two classes."""
    linear, judge = decision.linear, decision.judge
    return Choice(
        decision.columns,
        linear.coef[row],
        float(linear.intercept[row]),
        linear.cut,
        linear.strict,
        (linear.classes[classes[0]], linear.classes[classes[1]]),
        linear.precision,
        linear.slack,
        None if judge is None else lambda X: judge(X, row),
    )


def _swapped(choice: Choice) -> Choice:
    """Return the same decision with the first class as the positive one."""
    judge = choice.judge
    return replace(
        choice,
        coef=-choice.coef,
        intercept=-choice.intercept,
        cut=-choice.cut,
        strict=not choice.strict,
        classes=choice.classes[::-1],
        judge=None if judge is None else lambda X: ~judge(X),
    )


def _pair(decision: Decision, i: int | None, j: int | None) -> Choice:
    linear = decision.linear
    if i is None or j is None:
        raise InvalidInputError(_not_one_pair(decision, i, j))
    if not linear.duels:
        wins_tie = i < j if linear.strict else i > j
        return replace(
            _score(decision, i, (j, i)),
            coef=linear.coef[i] - linear.coef[j],
            intercept=float(linear.intercept[i] - linear.intercept[j]),
            strict=not wins_tie,
            slack=2 * linear.slack,
        )
    low, high, n = min(i, j), max(i, j), len(linear.classes)
    row = low * n - low * (low + 1) // 2 + high - low - 1
    choice = _score(decision, row, (high, low))
    return choice if i == low else _swapped(choice)


def _not_one_pair(decision: Decision, i: int | None, j: int | None) -> str:
    classes, n = decision.linear.classes, len(decision.linear.classes)
    how = "counts votes" if decision.linear.duels else f"takes the largest of {n} scores"
    if i is None:
        i = 1 if j == 0 else 0
    if j is None:
        j = 1 if i == 0 else 0
    text = (
        f"{decision.name} tells {n} classes apart, {listing(classes)}: it {how}, which is not one "
        f"(weights, threshold) pair. Ask for one class against another: target={classes[i]!r}, "
        f"versus={classes[j]!r}."
    )
    if decision.rest is not None:
        text += f" Or for its own decision on one class against the rest: target={classes[i]!r}."
    return text


def _against_rest(decision: Decision, i: int | None, j: int | None) -> Choice:
    classes = decision.linear.classes
    if i is None or j is not None or decision.rest is None:
        raise InvalidInputError(
            f"{decision.name} decides on each of {listing(classes)} by itself. "
            f"Pick one: target={classes[0]!r}, without versus."
        )
    choice = choose(decision.rest(i), None, None)
    return replace(choice, classes=(f"not {classes[i]}", classes[i]))


def _place(decision: Decision, label: Any, name: str) -> int | None:
    if label is None:
        return None
    classes = decision.linear.classes
    label = label.item() if isinstance(label, np.generic) else label
    for i, known in enumerate(classes):
        if np.ndim(label) == 0 and bool(label == known):
            return i
    raise InvalidInputError(
        f"{name} must be one of the classes, {listing(classes)}, got {label!r}."
    )
