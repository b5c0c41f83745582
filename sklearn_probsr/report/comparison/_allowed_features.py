"""Allowed features: which ones a set may have, for reasons and SHAP orders alike."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.core.law import Law, Lengths
from sklearn_probsr.core.options import Options, Task
from sklearn_probsr.explain.jobs import Question
from sklearn_probsr.model.numbers import exact_text
from sklearn_probsr.results._listed import count, listed
from sklearn_probsr.results._reasons import SufficientReasons

__all__ = ["certain", "follow", "gaps", "in_order", "in_words", "reached"]


def in_order(worth: NDArray[np.float64], task: Task) -> NDArray[np.intp]:
    """Return every row's units by decreasing worth; forced ones come first, barred ones last."""
    turn = np.where(task.may_choose(*worth.shape), 1, 2)
    turn[:, list(task.include)] = 0
    order = np.argsort(-worth, axis=1, kind="stable")
    turns = np.take_along_axis(turn, order, axis=1)
    return np.take_along_axis(order, np.argsort(turns, axis=1, kind="stable"), axis=1)


def follow(
    law: Law,
    rows: NDArray[Any],
    orders: NDArray[np.intp],
    at: NDArray[np.int64],
    task: Task,
    delta: Fraction,
) -> tuple[NDArray[Any], Lengths]:
    """Follow such orders as far as they may be followed.

    Returns
    -------
    sizes : ndarray
        The shortest prefix of each row that has the forced units, and no barred one, and surely
        reaches delta; NaN where there is none, and whole numbers if there is one in every row.
    lengths : Lengths
        With the bounds of a closer look at ``at`` units.
    """
    found = law.follow(rows, orders, at, delta)
    least = len(task.include)
    most = least + task.may_choose(*orders.shape).sum(axis=1)
    sizes = found.size.copy()
    for i in np.flatnonzero(sizes < least).tolist():
        # Fewer than the forced ones reach delta; more of them may not, and it takes all of them.
        view, order = law.view(rows[i]), orders[i].tolist()
        reached = (k for k in range(least, int(most[i]) + 1) if _reaches(view, order[:k], delta))
        sizes[i] = next(reached, most[i] + 1)
    over = sizes > most
    return (np.where(over, np.nan, sizes) if over.any() else sizes), found


def _reaches(view: Any, fixed: list[int], delta: Fraction) -> bool:
    return bool((view.enclose(fixed, delta) >= delta).value)


def certain(
    law: Law, rows: NDArray[Any], options: Options, task: Task, n_jobs: int | None
) -> SufficientReasons:
    """Return the reasons for certainty, of any size; where some features are barred, or the best.

    Without barred ones there always is one, and an error is about what could not be decided.
    """
    most = law.model.n_units - len(task.exclude) if task.exclude or task.restricted else None
    asked = replace(options, delta=1.0, epsilon=None, max_size=most)
    return Question(law, "certified", asked, None).answer(rows, n_jobs, silent=False)


def reached(sure: SufficientReasons) -> NDArray[Any]:
    """Return how many features make certain; NaN where the best of them do not."""
    short = sure.minimality == "best-of-size"
    return np.where(short, np.nan, sure.size) if short.any() else sure.size


def gaps(
    table: Mapping[str, NDArray[Any]], delta: float, known: Collection[str], task: Task
) -> dict[str, str]:
    """Say in how many rows a size could not be had, because of the features that are barred."""
    told = {}
    for name, what in (
        ("sure_size", "certainty is"),
        ("abs_shap_size", f"{exact_text(delta)} is"),
        ("signed_shap_size", f"{exact_text(delta)} is"),
    ):
        n = int(np.count_nonzero(np.isnan(table[name])))
        if n and name not in known:
            rows = count(len(table[name]), "row")
            told[name] = f"in {n:,} of {rows} {what} not reached {task.barring}."
    return told


def in_words(task: Task, names: Sequence[str]) -> str:
    """Say what every reason had to obey; nothing if it had not."""
    parts = []
    if task.include:
        parts.append(f"every reason has {_list(task.include, names)}")
    if task.exclude:
        parts.append(f"none has {_list(task.exclude, names)}")
    if task.present_only:
        parts.append("none has a feature that is not there")
    if task.supporting_only:
        parts.append("none has a fact that does not speak for its class")
    if task.max_size is not None:
        parts.append(f"none has more than {count(task.max_size, 'feature')}")
    if task.prices is not None:
        parts.append("every reason is the cheapest that was found")
    words = ", and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)
    return re.sub("^none", "No reason", re.sub("^every", "Every", words))


def _list(units: Sequence[int], names: Sequence[str]) -> str:
    return listed([names[u] for u in units])
