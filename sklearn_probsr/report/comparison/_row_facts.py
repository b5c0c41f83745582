"""Facts of rows beside their reasons: values in words, probabilities, true classes."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.exceptions import InvalidInputError
from sklearn_probsr.model.numbers import MISSING, fact, listing
from sklearn_probsr.model.sparse import SparseRows, to_sparse
from sklearn_probsr.report.comparison._wide_tables import Wide
from sklearn_probsr.results._reasons import SufficientReasons

__all__ = ["facts", "probabilities", "threshold", "true_classes"]

# Rows by which it is seen whether a probability is that of the score.
_SEEN = 1000


def facts(told: SufficientReasons, numbers: Callable[[], NDArray[np.float64]]) -> Any:
    """Return what each feature is: a number, or, where that says less, the fact in words.

    Parameters
    ----------
    told : SufficientReasons
    numbers : callable
        Returns the features as numbers, shape (n, features), as far as they are any.

    Returns
    -------
    ndarray of shape (n, features), or Wide of sparse rows
        Of the numbers if they say all, else of objects.
    """
    model, shown = told.model, told.shown
    if isinstance(told.rows, SparseRows):
        return _of_sparse(told, told.rows, shown)
    units = model.units
    # What the columns were made of says more than they do, where it is known.
    coded = [shown is None and (unit.coded or len(unit.columns) > 1) for unit in units or ()]
    worded = [u for u, unit in enumerate(units or ()) if unit.labels or coded[u]]
    plain = shown is None or shown.dtype.kind in "biuf"
    if plain and not worded and not told.words:
        return numbers() if shown is None else shown
    found = (numbers() if shown is None else shown).astype(object)
    for j in range(model.n_units):
        if j in worded:
            found[:, j] = _of_columns(told, j)
        elif not plain:
            found[:, j] = _of_values(model.unit_names[j], found[:, j].tolist())
    for i, features in told.words.items():
        for j in features:
            found[i, j] = told.fact(i, j)
    return found


def _of_sparse(told: SufficientReasons, rows: SparseRows, shown: Any) -> Wide:
    """Return what features are at zero, and what those are that are there."""
    cells = rows
    if shown is not None:
        cells = to_sparse(abs(rows).astype(np.float64).matrix + abs(to_sparse(shown)).matrix)
    values = rows.cells(cells.places, cells.indices).astype(np.float64)
    raw = None if shown is None else shown[cells.places, cells.indices]
    units, d = told.model.units or (), rows.width
    worded = np.array([bool(u.labels) or (shown is None and u.coded) for u in units], dtype=bool)
    if not worded.any():
        numbers = values if raw is None else np.asarray(raw)
        plain = Wide.of(cells, 0, np.zeros((1, d), dtype=numbers.dtype), numbers)
        return plain.with_words(told.words, told.fact)
    told_raw = [None] * len(values) if raw is None else raw.tolist()
    line, words = np.zeros((1, d), dtype=object), np.empty(len(values), dtype=object)
    line[0] = [
        unit.describe([0.0]) if has else 0.0 for unit, has in zip(units, worded, strict=True)
    ]
    each = zip(cells.indices.tolist(), values.tolist(), told_raw, strict=True)
    words[:] = [
        units[j].describe([value], own) if worded[j] else (value if own is None else own)
        for j, value, own in each
    ]
    return Wide.of(cells, 0, line, words).with_words(told.words, told.fact)


def _of_columns(told: SufficientReasons, j: int) -> NDArray[Any]:
    """Return a feature in words, once for all rows with the same columns."""
    unit = (told.model.units or ())[j]
    part = told.rows[:, list(unit.columns)]
    different, which = np.unique(part, axis=0, return_inverse=True)
    if told.shown is None or (unit.labels and unit.states is not None):
        # Of a state with a label, a value tells no more than whether there is one.
        shown = np.full(len(part), None) if told.shown is None else told.shown[:, j]
        raws = [None] if told.shown is None else ["", MISSING]
        texts = [unit.describe(values, raw) for raw in raws for values in different.tolist()]
        gaps = np.array([isinstance(raw, str) and raw == MISSING for raw in shown.tolist()])
        at = which.reshape(-1) + len(different) * gaps.astype(np.intp)
        found: NDArray[Any] = np.array([*texts, None], dtype=object)[:-1][at]
        return found
    each = zip(part.tolist(), told.shown[:, j].tolist(), strict=True)
    return np.array([*(unit.describe(row, raw) for row, raw in each), None], dtype=object)[:-1]


def _of_values(name: str, values: list[Any]) -> NDArray[Any]:
    """Return raw values: numbers as they are, others as facts."""
    known: dict[Any, Any] = {}
    for value in set(values):
        is_number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
        known[value] = value if is_number and np.isfinite(value) else fact(name, 0.0, value)
    return np.array([*(known[value] for value in values), None], dtype=object)[:-1]


def probabilities(
    model: Any, X: Any, at: NDArray[np.intp], told: SufficientReasons
) -> NDArray[np.float64] | None:
    """Return the probability that an estimator gives to each row's class.

    Parameters
    ----------
    model : estimator
    X : DataFrame, array-like or sparse
        Rows as the user has them.
    at : ndarray of int
        Those that are valid.
    told : SufficientReasons
        Of these.

    Returns
    -------
    ndarray of shape (valid rows,), or None
        None if it has no probabilities, or none for these classes.
    """
    labels = [str(label) for label in getattr(model, "classes_", ())]
    own = [str(label) for label in told.model.classes]
    if not hasattr(model, "predict_proba") or sorted(labels) != sorted(own):
        return None
    try:
        from sklearn.utils import _safe_indexing

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            rows = X if len(at) == _count(X) else _safe_indexing(X, at)
            found = np.asarray(model.predict_proba(rows), dtype=np.float64)
    except Exception:  # a model of any kind may break in any way, and nobody asked for this
        return None
    columns = np.array([labels.index(label) for label in own])
    winners = columns[told.model.winners(told.rows)]
    if found.shape != (len(at), len(own)):
        return None
    each: NDArray[np.float64] = found[np.arange(len(at)), winners]
    return each


def _count(X: Any) -> int:
    shape = getattr(X, "shape", None)
    return len(X) if shape is None else int(shape[0])


def threshold(
    told: SufficientReasons,
    margins: NDArray[np.float64],
    cut: float,
    known: NDArray[np.float64] | None,
) -> str:
    """Say from which score on the second of two classes is predicted; nothing if it is 0.

    As a probability, if that is the logistic function of the score.
    """
    if told.model.by_class or len(told.model.classes) != 2:
        return ""
    second, rows = told.model.classes[1], told.rows[:_SEEN]
    if known is not None and len(rows):
        own = told.model.winners(rows) == 1
        with np.errstate(over="ignore"):
            chance = 1 / (1 + np.exp(-(margins[:_SEEN] + cut)))
            level = 1 / (1 + np.exp(-cut))
        if np.allclose(np.where(own, chance, 1 - chance), known[:_SEEN], atol=1e-9, rtol=1e-6):
            return f"class {second} from a predicted probability of {level:.4g} on"
    return f"class {second} from a score of {cut:.4g} on" if abs(cut) > 1e-9 else ""


def true_classes(y: Any, classes: tuple[Any, ...], n: int) -> NDArray[Any]:
    """Return the true class of each row, None where it is not known, or say what is wrong."""
    import pandas as pd

    values = np.asarray(y, dtype=object)
    if values.shape != (n,):
        raise InvalidInputError(
            f"y must hold the true class of each of the {n} rows, got shape {values.shape}."
        )
    own = {str(label): label for label in classes}
    unknown = pd.isna(values)
    found = np.array([own.get(str(value), value) for value in [*values, None]], dtype=object)[:-1]
    found[unknown] = None
    if not unknown.all() and not any(str(label) in own for label in found[~unknown]):
        raise InvalidInputError(
            f"y must hold classes of the model, {listing(classes)}, got "
            f"{listing(sorted(set(map(str, found[~unknown]))))}."
        )
    return found
