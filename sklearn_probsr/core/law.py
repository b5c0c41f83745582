"""A law is one model under one distribution, and owns every table that is built for it.

A law gives views, and every question asks a view. A law of a user's own says what its views
enclose, order and draw; everything else has a default.

A view is one instance before a law. A rest is what the unknown units leave to be lost, when some
facts of an instance are worth less. Where unknown units do not depend on the instance, the
guarantee of a set depends on its facts only through the sum of what they add towards the class, and
grows with it (Proposition 58). A rest is that function of the sum, at one level, delta: it says
whether delta still holds when the facts are worth less by so much. With several classes there is
one sum, and one loss, for each duel.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Collection, Hashable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.core.answers import Found
from sklearn_probsr.core.means import leanings
from sklearn_probsr.core.options import Task
from sklearn_probsr.model.enclosure import Enclosure
from sklearn_probsr.model.linear import LinearModel, Model
from sklearn_probsr.model.sparse import SparseRows

if TYPE_CHECKING:
    from sklearn_probsr.core.search import Prover, Scout

__all__ = [
    "Duel",
    "Law",
    "Lengths",
    "Ranked",
    "RankedSwaps",
    "Rest",
    "Row",
    "Swaps",
    "TOL",
    "View",
    "is_open",
]

# Width to which the guarantee of an answer is computed.
TOL = 1e-4

Row = NDArray[np.float64] | NDArray[np.bool_]

T = TypeVar("T")


class Memo(Generic[T]):
    """The values used last, by key; the least recently used are dropped beyond a limit.

    It may be asked from several threads. A value is made outside the lock, so two threads that
    ask for the same at once may both make it; one of the two is kept.

    Parameters
    ----------
    limit : int
        How much the values may take together. The last one is kept even if it takes more.
    size : callable or None, default=None
        How much a value takes, asked anew whenever something is added, since tables grow with
        use. None: every value takes 1.
    """

    def __init__(self, limit: int, size: Callable[[T], int] | None = None) -> None:
        self._limit, self._size = limit, size
        self._values: OrderedDict[Hashable, T] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return what is known for a key, or make it now and keep it."""
        with self._lock:
            try:
                self._values.move_to_end(key)
            except KeyError:
                pass
            else:
                return self._values[key]
        value = make()
        with self._lock:
            value = self._values.setdefault(key, value)
            self._values.move_to_end(key)
            self._trim()
        return value

    def _trim(self) -> None:
        if self._size is None:
            taken = len(self._values)
        else:
            taken = sum(map(self._size, self._values.values()))
        while taken > self._limit and len(self._values) > 1:
            _, dropped = self._values.popitem(last=False)
            taken -= 1 if self._size is None else self._size(dropped)

    def values(self) -> list[T]:
        """Return what is kept."""
        with self._lock:
            return list(self._values.values())

    def __len__(self) -> int:
        return len(self._values)

    def __reduce__(self) -> tuple[type[Memo[T]], tuple[int, Callable[[T], int] | None]]:
        return Memo, (self._limit, self._size)  # what was kept is not pickled


class View(ABC):
    """One instance before a law.

    Parameters
    ----------
    n_units : int
        How many features the instance has.

    Attributes
    ----------
    chain : bool
        Whether of every size the first features of an order are the best set (Corollary 6).
    """

    chain = False

    @property
    def whole_parts(self) -> int | None:
        """Of how many parts guarantees are whole numbers; None if they may be anything."""
        return None

    def __init__(self, n_units: int) -> None:
        self.n_units = n_units

    @abstractmethod
    def can_cost(self, unit: int) -> bool:
        """Tell whether leaving a unit unknown can cost anything: whether fixing it can help."""

    @abstractmethod
    def can_gain(self, unit: int) -> bool:
        """Tell whether leaving a unit unknown can gain anything: whether fixing it can hurt."""

    @abstractmethod
    def enclose(
        self, fixed: Collection[int], delta: Fraction | None = None, tol: float = TOL
    ) -> Enclosure:
        """Enclose the guarantee of a set, until delta is on one side or it is narrow enough."""

    @abstractmethod
    def orders(self, members: list[int], forced: Sequence[int]) -> list[list[int]]:
        """Return orders of some units that promise short reasons; the first is by mean cost."""

    @abstractmethod
    def kept(
        self, forced: Sequence[int], order: list[int], samples: int, rng: np.random.Generator
    ) -> NDArray[np.int64]:
        """Count, of so many random completions, those that keep the class.

        One number for each size: with the first 0, 1, 2, ... of an order fixed beside what is
        forced. The completions are the same for all sizes.
        """

    def answer(self, fixed: Collection[int], tol: float) -> Enclosure:
        """Enclose the guarantee of a set for a reader, by an estimate if nothing better is had."""
        return self.enclose(fixed, None, tol)

    def certain_along(self, order: Sequence[int]) -> list[bool] | None:
        """Tell for each size along an order whether the class is kept for certain.

        None if only enclosures can tell.
        """
        return None

    def matches(self, features: Collection[int]) -> Any:
        """Return how many rows share the facts of a set, where that is what is counted."""
        return None

    def members(self) -> list[int]:
        """Return the units that fixing can help."""
        return [u for u in range(self.n_units) if self.can_cost(u)]

    def ranking(self) -> list[int]:
        """Return all units in the order of a curve: those first that fixing can help."""
        members = self.members()
        inside = set(members)
        others = [u for u in range(self.n_units) if u not in inside]
        return [*self.orders(members, ())[0], *self.orders(others, ())[0]]

    def along(self, order: Sequence[int], tol: float) -> list[Enclosure]:
        """Enclose the guarantee with the first 0, 1, 2, ... of an order fixed.

        If fixing never hurts, a list that ends with certainty may be shorter.
        """
        found = []
        for k in range(len(order) + 1):
            found.append(self.enclose(order[:k], None, tol))
            if found[-1].exact == 1 and self.monotone:
                break
        return found

    @cached_property
    def monotone(self) -> bool:
        """Whether fixing a unit that can help never hurts."""
        return not any(self.can_gain(u) for u in self.members())


def is_open(model: LinearModel, positive: bool) -> bool:
    """Tell whether a class needs more than the threshold, so that a tie is not its own."""
    return model.strict == positive


class Duel(NamedTuple):
    """A decision between two classes, and which of them is to be kept."""

    model: LinearModel
    positive: bool

    @property
    def sign(self) -> int:
        """1 if a larger sum is good for the class, else -1."""
        return 1 if self.positive else -1


class Rest(ABC):
    """What may be lost of some facts of an instance; see `Law.rest`.

    Parameters
    ----------
    duels : list of Duel
        One for each rival of the class.
    delta : Fraction
        The level that is to hold.
    """

    # Whether a guarantee is a count, so that each question has an answer.
    exact = False

    def __init__(self, duels: list[Duel], delta: Fraction) -> None:
        self.duels, self.delta = duels, delta

    @abstractmethod
    def enclose(self, losses: Sequence[Fraction]) -> Enclosure:
        """Enclose the guarantee of the facts if they were worth less, in each duel by so much."""

    def holds(self, losses: Sequence[Fraction]) -> bool | None:
        """Tell whether delta is proved to hold with such losses; None where that is open."""
        return (self.enclose(losses) >= self.delta).value

    def verdict(self, losses: Sequence[Fraction]) -> bool | None:
        """Tell the same as sharply as can be, where `holds` may only say that it is open."""
        return self.holds(losses)

    @abstractmethod
    def room(self, used: Sequence[Fraction], direction: Sequence[Fraction]) -> float:
        """Return about how many times a direction can be lost on top of what is used.

        A guide, at least 0; whether it holds is asked afterwards.
        """


# Units of rows that are looked at together.
_AT_ONCE = 2**18


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
        from sklearn_probsr.core.search import search, search_cheapest

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
