"""Dummies: the columns that `pandas.get_dummies` made of one, found by name and by the data."""

from __future__ import annotations

from typing import Any

import numpy as np

from sklearn_probsr.exceptions import InvalidInputError

__all__ = ["group_dummies"]


def group_dummies(X: Any, sep: Any = "_") -> dict[str, list[str]]:
    """Return which columns of a frame are dummies of one feature.

    Columns whose names begin alike, up to the last separator where the data allow it, are dummies
    of one feature if they hold nothing but 0 and 1 and no row has two of them: "home_owner" is
    no dummy of "home" beside "home_rent" if some row has both.

    Parameters
    ----------
    X : DataFrame
        The rows that the dummies are checked on.
    sep : str, default="_"
        What stands between the name of a feature and a category, as in `pandas.get_dummies`.

    Returns
    -------
    dict of str to list of str
        The columns of each feature that has two or more; pass it on as ``groups``.

    Examples
    --------
    >>> import pandas as pd
    >>> from sklearn_probsr import group_dummies
    >>> X = pd.get_dummies(pd.DataFrame({"job": ["nurse", "cook"], "home_owner": [1, 1]}))
    >>> group_dummies(X)
    {'job': ['job_cook', 'job_nurse']}
    """
    if not hasattr(X, "columns"):
        raise InvalidInputError(
            f"group_dummies goes by the names of columns, so X must be a frame, got "
            f"{type(X).__name__}."
        )
    if not isinstance(sep, str) or not sep:
        raise InvalidInputError(f"sep must be a text, got {sep!r}.")
    families: dict[str, list[str]] = {}
    for name in X.columns:
        if isinstance(name, str) and sep in name and _is_binary(X[name]):
            families.setdefault(name.rpartition(sep)[0], []).append(name)
    # Categories may hold the separator, too: a family without rivals joins a shorter name.
    groups: dict[str, list[str]] = {}
    for stem in sorted(families, key=len):
        home = stem
        for shorter in _stems(stem, sep):
            if shorter in groups and _exclude(X, [*groups[shorter], *families[stem]]):
                home = shorter
                break
        groups.setdefault(home, []).extend(families[stem])
    order = {name: j for j, name in enumerate(X.columns)}
    return {
        stem: sorted(columns, key=order.__getitem__)
        for stem, columns in groups.items()
        if len(columns) > 1 and _exclude(X, columns)
    }


def _stems(stem: str, sep: str) -> list[str]:
    """Return the shorter names that a name may belong to, the longest first."""
    found = []
    while sep in stem:
        stem = stem.rpartition(sep)[0]
        found.append(stem)
    return found


def _is_binary(column: Any) -> bool:
    """Tell whether a column holds nothing but 0 and 1."""
    try:
        values = np.asarray(column, dtype=np.float64)
    except (TypeError, ValueError):
        return False
    return bool(((values == 0) | (values == 1)).all())


def _exclude(X: Any, columns: list[str]) -> bool:
    """Tell whether no row has two of some columns."""
    counts = np.zeros(len(X))
    for name in columns:
        counts += np.asarray(X[name], dtype=np.float64)
    return bool((counts <= 1).all())
