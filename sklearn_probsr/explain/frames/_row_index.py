"""The index of rows: what they are called, from the frame that came in to every table."""

from __future__ import annotations

from typing import Any

import numpy as np

from sklearn_probsr.exceptions import InvalidInputError

__all__ = ["ByLabel", "built_index", "called_by_place", "index_of", "joined_index", "row_index"]


class ByLabel:
    """Rows by what they are called, as ``loc`` of pandas has them.

    One for a label; several for a list of labels, a slice from one to another, a mask, or a label
    that more than one row has.

    Parameters
    ----------
    rows : object
        What takes places, one or several, in brackets.
    index : pandas Index
        What its rows are called.
    """

    def __init__(self, rows: Any, index: Any) -> None:
        self._rows, self._index = rows, index

    def __getitem__(self, label: Any) -> Any:
        import pandas as pd

        places = pd.Series(np.arange(len(self._index)), index=self._index)
        try:
            found = places.loc[label]
        except (KeyError, TypeError, IndexError):
            if not len(places):
                raise InvalidInputError(
                    f"loc takes what a row is called, and there are no rows, got {label!r}."
                ) from None
            raise InvalidInputError(
                f"loc takes what a row is called, such as {self._index[:1].tolist()[0]!r}, got "
                f"{label!r}. A row is found by its place, 0 to {len(places) - 1}, without loc: [0]."
            ) from None
        return self._rows[int(found) if np.ndim(found) == 0 else found.to_numpy()]


def called_by_place(index: Any) -> bool:
    """Whether rows are called by their places, 0, 1 and so on."""
    return np.array_equal(index, np.arange(len(index)))


def index_of(X: Any, raw: Any, n: int) -> Any:
    """Return what the n rows of X are called; by their numbers, if X has no names for them.

    ``raw`` are the rows that X was read as.
    """
    import pandas as pd

    for frame in (X, raw):
        if isinstance(frame, pd.DataFrame) and len(frame) == n:
            return frame.index
    if isinstance(X, pd.Series):
        if isinstance(raw, pd.Series) and len(raw) == n:  # of texts
            return raw.index
        if len(X) == n != 1:  # the only column
            return X.index
        if n == 1:
            return pd.Index([X.name])
    return pd.RangeIndex(n)


def row_index(index: Any, n: int) -> Any:
    """Return an index of n rows; their numbers if there is none."""
    import pandas as pd

    if index is None:
        return pd.RangeIndex(n)
    return index if isinstance(index, pd.Index) else pd.Index(index)


def joined_index(parts: list[Any]) -> Any:
    """Put indices behind each other; those that only number rows become one that does."""
    import pandas as pd

    numbered = all(isinstance(p, pd.RangeIndex) and p.name is None for p in parts)
    if numbered and all(p.start == 0 and p.step == 1 for p in parts):
        return pd.RangeIndex(sum(map(len, parts)))
    return parts[0].append(parts[1:])


def built_index(told: dict[str, Any]) -> Any:
    """Return the index that a file tells of: names, and the kind and values of each level."""
    import pandas as pd

    levels = [_level(level["kind"], level["values"]) for level in told["levels"]]
    if len(levels) > 1:
        return pd.MultiIndex.from_arrays(levels, names=told["names"])
    return levels[0].rename(told["names"][0])


def _level(kind: str, values: Any) -> Any:
    import pandas as pd

    if kind == "range":
        return pd.RangeIndex(*values)
    if kind == "any":
        return pd.Index(values)
    if kind.startswith(("datetime64", "timedelta64")):
        plain, _, zone = kind.removesuffix("]").partition(", ")
        found = pd.Index(np.array(values, dtype=np.int64).view(f"{plain}]"))
        return found.tz_localize("UTC").tz_convert(zone) if zone else found
    return pd.Index(values, dtype=kind)
