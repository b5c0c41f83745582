"""What was found for each of some rows, as a sequence and as a table."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Generic, Self, TypeVar, overload

from numpy.typing import NDArray

from sklearn_probsr.explain.frames._row_index import ByLabel
from sklearn_probsr.questions._alternatives import Alternatives
from sklearn_probsr.results._places import places
from sklearn_probsr.results._scope import Scope

__all__ = ["RowAnswers", "RowSequence", "alternatives_table"]

T = TypeVar("T")


class RowSequence(Generic[T]):
    """One object for each of some rows, by its place; a slice, a list or a mask is some of them.

    ``loc`` finds them by what the rows are called.

    Parameters
    ----------
    found : sequence
        One object for each row.
    index : pandas Index
        What the rows are called.
    """

    def __init__(self, found: Sequence[T], index: Any) -> None:
        self._found, self.index = tuple(found), index

    def __len__(self) -> int:
        return len(self._found)

    @overload
    def __getitem__(self, i: int) -> T: ...
    @overload
    def __getitem__(self, i: slice | list[int] | NDArray[Any]) -> Self: ...
    def __getitem__(self, i: Any) -> T | Self:
        at = places(len(self), i)
        if at.ndim == 0:
            return self._found[int(at)]
        some = copy.copy(self)
        some._found, some.index = tuple(self._found[j] for j in at.tolist()), self.index[at]
        return some

    @property
    def loc(self) -> ByLabel:
        """The same by what the rows are called: ``answers.loc["p3"]``."""
        return ByLabel(self, self.index)

    def __iter__(self) -> Iterator[T]:
        return iter(self._found)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(<{len(self)} rows>)"


class RowAnswers(RowSequence[T | None]):
    """What was found for each of some rows; None of a row that could not be asked.

    Parameters
    ----------
    found : sequence
        One answer for each row.
    line : callable
        What makes a line of a table of an answer.
    index : pandas Index
        What the rows are called.
    """

    def __init__(
        self,
        found: Sequence[T | None],
        line: Callable[[T | None], dict[str, Any]],
        index: Any,
    ) -> None:
        super().__init__(found, index)
        self._line = line

    def to_frame(self) -> Any:
        """Return one line for each row, with the index of the rows and features by name.

        Returns
        -------
        DataFrame
        """
        import pandas as pd

        lines = [self._line(one) for one in self._found]
        return pd.DataFrame(lines, index=self.index, columns=list(self._line(None)))


def alternatives_table(
    found: Sequence[Alternatives | None], names: Sequence[str], scope: Scope, index: Any
) -> RowAnswers[Alternatives]:
    """Return the alternatives of rows, which a table tells by name.

    ``scope`` are the sets that were allowed; how many features at most is of no account.
    """
    line = partial(_alternatives_line, names, replace(scope, max_size=None))
    return RowAnswers(found, line, index)


def _alternatives_line(
    names: Sequence[str], scope: Scope, one: Alternatives | None
) -> dict[str, Any]:
    """Return a line of the table; lists of names are empty where a row is flagged."""
    groups = ("necessary", "possible", "undecided")
    return {
        "size": None if one is None else one.size,
        "minimality": None if one is None else one.reason.minimality,
        **scope.column,
        **{g: [] if one is None else [names[u] for u in getattr(one, g)] for g in groups},
    }
