"""A law is one model under one distribution, and owns every table that is built for it.

A law gives views, and every question asks a view. A law of a user's own says what its views
enclose, order and draw; everything else has a default.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.core.answers import Found
from sklearn_probsr.core.means import leanings
from sklearn_probsr.core.options import Task
from sklearn_probsr.core.view import Rest, Row, View
from sklearn_probsr.model.enclosure import Enclosure
from sklearn_probsr.model.linear import Model
from sklearn_probsr.model.sparse import SparseRows

if TYPE_CHECKING:
    from sklearn_probsr.core.scout import Scout
    from sklearn_probsr.core.search import Prover

# Units of rows that are looked at together.
_AT_ONCE = 2**18

__all__ = ["Law", "Lengths", "Ranked", "RankedSwaps", "Swaps"]


class Lengths(NamedTuple):
    """The shortest prefix of each row that surely reaches delta, and bounds of a closer look."""

    size: NDArray[np.int64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]

    @classmethod
    def empty(cls, n: int) -> Lengths:
        """Return room for the answers of some rows."""
        return cls(np.full(n, -1, dtype=np.int64), np.zeros(n), np.ones(n))

    def write(self, i: int, size: int, known: Enclosure) -> None:
        """Write down what was found for a row."""
        self.size[i], self.lower[i], self.upper[i] = size, known.lower, known.upper


class Swaps(NamedTuple):
    """Places in the members of each row, best first.

    Members before ``needed[r, 0]`` are surely in every reason of that size, and those from
    ``needed[r, 1]`` on surely not. Members before ``possible[r, 0]`` are surely in some, and those
    from ``possible[r, 1]`` on surely in none. Between the two it is open.
    """

    needed: NDArray[np.int64]  # (n, 2)
    possible: NDArray[np.int64]  # (n, 2)


class RankedSwaps(NamedTuple):
    """How far down a row's ranking members are needed, and possible, and which they are."""

    swaps: Swaps
    features: NDArray[np.intp]  # by rank
    helps: NDArray[np.bool_]  # by row and rank: whether it is a member

    def members(self, i: int) -> list[int]:
        """Return the members of a row, best first, as far as something is said of them."""
        last = max(self.swaps.needed[i, 1], self.swaps.possible[i, 1])
        found: list[int] = self.features[np.flatnonzero(self.helps[i])[:last]].tolist()
        return found


# Members, best first, and what tells of places among them whether they reach delta, and what their
# guarantee surely is.
Ranked = tuple[list[int], Callable[[tuple[int, ...]], tuple[bool | None, float]]]


class Law(ABC):
    """One model under one distribution, with every table that is built for it.

    Parameters
    ----------
    model : LinearModel or ArgmaxModel
        What decides.
    distribution : object
        Its ``str`` reads as "over ...".

    Attributes
    ----------
    given : LinearModel or ArgmaxModel
        The model as the user gave it, with the numbers that people read: it decides as ``model``
        does, whose numbers may be whole multiples of those.
    conditional : bool
        Whether completions depend on what is fixed, as under `Matching`.
    takes_sparse : bool
        Whether `together` takes sparse rows as they are; they are filled in for others.
    confidence : Fraction
        That of every enclosure; 1 for a proof.
    rows_at_once : int
        How many rows make a piece of work that takes about a second at most.
    """

    conditional = False
    takes_sparse = False
    rows_at_once = 64
    confidence = Fraction(1)

    def __init__(self, model: Model, distribution: Any) -> None:
        self.model, self.distribution = model, distribution
        self.given = model

    @abstractmethod
    def view(self, row: Row) -> View:
        """Return one instance, a checked row, before this law."""

    def views(self, rows: Row) -> Iterator[View]:
        """Yield several instances before this law; what they have in common is looked at once."""
        return (self.view(rows[i]) for i in range(len(rows)))

    def answer(self, rows: Row, task: Task) -> Found:
        """Return a small set of each row that reaches delta, and what was proved of it.

        By default rows are searched one by one with what their views say. If features have prices,
        it is the cheapest that is looked for.
        """
        from sklearn_probsr.core.cheapest import search_cheapest
        from sklearn_probsr.core.search import search

        found = (search_cheapest if task.has_prices else search)(self, rows, task)
        found.end_proofs(task)
        return found

    def is_hopeless(self, row: Row, task: Task) -> bool:
        """Tell whether it is proved of one row that no set reaches delta, whatever its size."""
        prover = self.prover(self.view(row), task)
        if prover.monotone:
            return prover.settled(prover.members) is False
        return prover.look(len(prover.members))[0] is False

    def prover(self, view: View, task: Task) -> Prover:
        """Return what is known of the sets of an instance at one level."""
        from sklearn_probsr.core.search import Prover

        return Prover(view, task)

    def scout(self, prover: Prover, prices: dict[int, int], row: Row) -> Scout:
        """Return what looks ahead for the cheapest set of an instance, if members have prices."""
        return prover.scout(prices)

    @property
    @abstractmethod
    def means(self) -> NDArray[np.float64]:
        """What the columns of the model are on average when they are unknown."""

    @property
    def mean_doubts(self) -> NDArray[np.float64]:
        """How far the mean of each column may be off.

        0, unless `mean_of` says what it is exactly: then the float is what counts.
        """
        return np.zeros(len(self.means))

    def mean_of(self, column: int) -> Fraction:
        """Return the mean of a column, exactly if that can be had."""
        return Fraction(float(self.means[column]))

    def leanings(
        self, rows: Row, at: NDArray[np.intp], units: NDArray[np.intp]
    ) -> NDArray[np.int8]:
        """Tell of some units, each of a row, how they lean: 1 for its class, -1 against it, or 0.

        For it is what contributes more than on average; before several rivals, the closest counts.
        """
        return leanings(self, rows, at, units)

    def within(self, rows: Row, task: Task) -> Task:
        """Return a task that says which units of every row may be chosen, by its options."""
        if not task.restricted:
            return task
        if isinstance(rows, SparseRows):  # row by row: a table of all would not be sparse
            return replace(task, allowed=_LineByLine(self, rows, task))
        return replace(task, allowed=self._allowed(rows, task))

    def _allowed(self, rows: Row, task: Task) -> NDArray[np.bool_]:
        """Tell which units of some rows may be chosen, by the options of a task."""
        n, units = len(rows), self.model.n_units
        allowed = self.model.present(rows) if task.present_only else np.ones((n, units), np.bool_)
        step = max(_AT_ONCE // max(units, 1), 1)
        for first in range(0, n if task.supporting_only else 0, step):
            some = allowed[first : first + step]
            at, asked = np.nonzero(some)
            some[at, asked] = self.leanings(rows[first : first + step], at, asked) > 0
        return allowed

    @property
    def data(self) -> tuple[Any, NDArray[np.int64]] | None:
        """The rows that unknown units are taken from, and how much each counts; None if none."""
        return None

    def rest(self, row: Row, features: Sequence[int], delta: Fraction) -> Rest | None:
        """Return what may be lost of some facts of an instance, one at least, while delta holds.

        None where completions depend on the facts, or where nothing is known of them.
        """
        return None

    def together(self, rows: Row, task: Task, found: Found) -> dict[int, set[int]]:
        """Answer the rows that a batch kernel decides; return starts for some of the others.

        A start is a set that reaches delta, and from which nothing can be left out. Only units may
        be chosen that ``task.may_choose`` allows.
        """
        return {}

    def states(self, unit: int) -> tuple[NDArray[Any], NDArray[np.float64]] | None:
        """Return what the columns of an unknown unit may be, one line a state, and their chances.

        A state may stand there more than once. None: that is not known of this law.
        """
        return None

    def once_known(
        self, row: Row, known: Collection[int], unit: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
        """Count for every state of a unit what is of ``classes[1]`` once it is known too.

        With the units in ``known`` as in the row. Returns the counts, and the weights of the states
        that they are parts of; None where states have to be asked one by one.
        """
        return None

    def swaps(self, rows: Row, task: Task, sizes: NDArray[np.int64]) -> RankedSwaps | None:
        """Tell how far down its ranking members are in every minimum reason, and in some.

        ``sizes`` is how many members the reason of each row has. None: reasons are no prefixes of
        a ranking here, and the sets themselves have to be asked.
        """
        return None

    def ranked_sets(self, row: Row, task: Task) -> Ranked | None:
        """Return the members of a row by rank, and what bounds a set of places among them.

        Only where moving up the ranking never loses anything; None elsewhere.
        """
        return None

    def follow(
        self, rows: Row, orders: NDArray[np.intp], at: NDArray[np.int64], delta: Fraction
    ) -> Lengths:
        """Follow one order of the units of every row, any order: see ``Lengths``.

        ``at`` is how many units to look at closely.
        """
        found = Lengths.empty(len(rows))
        left = np.flatnonzero(self.follow_together(rows, orders, at, delta, found))
        for i, view in zip(left.tolist(), self.views(rows[left]), strict=True):
            self.follow_one(i, view, orders[i].tolist(), int(at[i]), delta, found)
        return found

    def follow_together(
        self,
        rows: Row,
        orders: NDArray[np.intp],
        at: NDArray[np.int64],
        delta: Fraction,
        found: Lengths,
    ) -> NDArray[np.bool_]:
        """Follow the orders of the rows that a batch kernel decides, and say which are left."""
        return np.ones(len(rows), dtype=np.bool_)

    def follow_one(
        self, i: int, view: View, order: list[int], at: int, delta: Fraction, found: Lengths
    ) -> None:
        """Follow an order of one row; no guarantee is taken to grow along it."""
        sure = view.certain_along(order) if delta == 1 else None
        size = self._first_along(view, order, delta) if sure is None else sure.index(True)
        # The size and the bounds that are shown beside it agree on which side delta is.
        first = order[:at]
        known = view.enclose(first)
        if delta < 1:
            known = known.intersect(view.enclose(first, delta))
        found.write(i, min(size, at) if (known >= delta).value else size, known)

    def _first_along(self, view: View, order: list[int], delta: Fraction) -> int:
        """Return the first size along an order that surely reaches a level."""
        sizes = range(len(order) + 1)
        return next(k for k in sizes if (view.enclose(order[:k], delta) >= delta).value)

    def score(
        self, rows: Row, mask: NDArray[np.bool_]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Bound the guarantee of one set of units for every row."""
        lower, upper, left = self.score_together(rows, mask)
        places = np.flatnonzero(left)
        for i, view in zip(places.tolist(), self.views(rows[places]), strict=True):
            known = view.enclose(np.flatnonzero(mask[i]).tolist())
            lower[i], upper[i] = known.lower, known.upper
        return lower, upper

    def score_together(
        self, rows: Row, mask: NDArray[np.bool_]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_]]:
        """Bound the sets of the rows that a batch kernel knows, and say which rows are left."""
        n = len(rows)
        return np.zeros(n), np.ones(n), np.ones(n, dtype=np.bool_)

    @property
    def nbytes(self) -> int:
        """About how much memory the tables take."""
        return 0


class _LineByLine:
    """Which units of sparse rows may be chosen, found for the rows that are asked about."""

    def __init__(self, law: Law, rows: SparseRows, task: Task) -> None:
        self._law, self._rows, self._task = law, rows, task

    def __getitem__(self, at: slice | NDArray[np.intp]) -> NDArray[np.bool_]:
        return self._law._allowed(self._rows[at], self._task)

    def copy(self) -> NDArray[np.bool_]:
        """Return those of all rows."""
        return self[:]
