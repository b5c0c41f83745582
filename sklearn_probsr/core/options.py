"""What a search is asked: options as a user wrote them, and the checked task that they make.

Time limits are for searching: the clock that they run by stands still while this process compiles.

Prices say what it costs to know each feature. A cost means the decimal that it prints as, so all of
them are whole multiples of one unit of cost, and sums of them are exact.
"""

from __future__ import annotations

import contextlib
import math
import operator
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.exceptions import InvalidInputError
from sklearn_probsr.model.linear import Model
from sklearn_probsr.model.numbers import decimal_fraction

__all__ = [
    "Effort",
    "Limits",
    "MOST_MIXED",
    "Options",
    "Prices",
    "Task",
    "check_tol",
    "generator",
    "monotonic",
    "standing_still",
]

# So many names of features are told in a message.
_MOST_NAMED = 8


@dataclass(frozen=True)
class Prices:
    """What each feature costs: whole multiples of one unit of cost.

    Parameters
    ----------
    whole : tuple of int
        One positive number for each feature.
    unit : Fraction
        What one of them is worth.
    """

    whole: tuple[int, ...]
    unit: Fraction

    @classmethod
    def of(cls, cost: Any, names: Sequence[str]) -> Prices:
        """Return the costs of some features, or say what is wrong with them.

        ``cost`` is a mapping (also a Series) of names or indices, where what it lacks costs 1, or
        has one number for each feature; what was read before is returned as it is.
        """
        if isinstance(cost, cls):
            return cost
        given = _given(cost, names)
        exact = [_positive(value, name) for value, name in zip(given, names, strict=True)]
        try:
            float(sum(exact))
        except OverflowError:
            raise InvalidInputError(
                "cost must add up to a number that a float can hold, got "
                f"{max(given, key=float)!r} among the numbers."
            ) from None
        times = math.lcm(*(value.denominator for value in exact))
        whole = [int(value * times) for value in exact]
        unit = math.gcd(*whole) or 1
        return cls(tuple(value // unit for value in whole), Fraction(unit, times))

    @cached_property
    def equal(self) -> bool:
        """Whether all features cost the same: then the fewest are the cheapest."""
        return len(set(self.whole)) <= 1

    def total(self, units: Collection[int]) -> int:
        """Return what some features cost together, in units of cost."""
        return sum(self.whole[u] for u in units)

    def money(self, whole: int) -> float:
        """Return so many units of cost as a float."""
        return float(whole * self.unit)

    def of_sets(self, sets: Iterable[Collection[int]]) -> NDArray[np.float64]:
        """Return what each of some sets costs."""
        return np.array([self.money(self.total(one)) for one in sets], np.float64)

    def floats(self) -> tuple[float, ...]:
        """Return what each feature costs as a float."""
        return tuple(self.money(value) for value in self.whole)


def _given(cost: Any, names: Sequence[str]) -> list[Any]:
    """Return one value for each feature as it was given."""
    if hasattr(cost, "to_dict") and hasattr(cost, "index"):
        cost = cost.to_dict()
    if isinstance(cost, Mapping):
        values: list[Any] = [1] * len(names)
        places = {name: j for j, name in enumerate(names)}
        named = set()
        for key, value in cost.items():
            j = _place(key, places)
            if j in named:
                raise InvalidInputError(f"cost names {names[j]!r} twice.")
            named.add(j)
            values[j] = value
        return values
    # Made objects, the numbers of an array would print with other digits than their own.
    kind = None if isinstance(cost, np.ndarray) else object
    values = list(np.asarray(cost, dtype=kind).ravel())
    if len(values) != len(names):
        raise InvalidInputError(
            f"cost must have one number per feature, {len(names)}, got {len(values)}."
        )
    return values


def _place(key: Any, places: Mapping[str, int]) -> int:
    """Return the feature that a name or an index means."""
    if isinstance(key, str) and key in places:
        return places[key]
    if isinstance(key, int | np.integer) and not isinstance(key, bool) and 0 <= key < len(places):
        return int(key)
    raise InvalidInputError(
        f"cost names an unknown feature, {key!r}. The model's features are "
        f"{', '.join(map(repr, list(places)[:_MOST_NAMED]))}."
    )


def _positive(value: Any, name: str) -> Fraction:
    """Return a positive number as the decimal that it prints as."""
    number = None
    if not isinstance(value, bool | np.bool_ | str | bytes):
        try:
            number = decimal_fraction(value)
        except (TypeError, ValueError, OverflowError):
            number = None
    if number is None or number <= 0:
        raise InvalidInputError(f"cost must be a positive number, got {value!r} for {name!r}.")
    return number


# What a proof may cost: so many sets, and together so many nodes of spectra at some twenty
# nanoseconds each, or gains of background rows, of which some billions are looked at in a second.
_SETS, _MANY_SETS = 10_000, 200_000
_CELLS, _MUCH_WORK = 16_000_000_000, 2**62
# All choices of so many mixed units are left out, to prove a set subset-minimal.
MOST_MIXED = 10
# The share of a time limit that is kept for what is claimed of the set found.
_FOR_CLAIMS = 0.25


class _Clock:
    """How long it stood so far, and since when it stands; one value, so that threads read both."""

    state: tuple[float, float | None] = (0.0, None)


def monotonic() -> float:
    """Return seconds as ``time.monotonic`` does, but for those in which kernels were compiled.

    Whether a kernel was compiled before, by whoever, thus changes nothing about what is found
    within a time limit.
    """
    stood, since = _Clock.state
    return (time.monotonic() if since is None else since) - stood


@contextlib.contextmanager
def standing_still() -> Iterator[None]:
    """Stop the clock; only one thread at a time may, that which compiles."""
    stood, since = _Clock.state
    if since is not None:  # a kernel that another one calls
        yield
        return
    since = time.monotonic()
    _Clock.state = stood, since
    try:
        yield
    finally:
        _Clock.state = stood + time.monotonic() - since, None


@dataclass(frozen=True)
class Limits:
    """Where one way to refute sets ends and another begins; the answers are right with any.

    Parameters
    ----------
    few_sets : int, default=200
        Sets as few as these are looked at one by one where nothing better is known.
    most_sets : int, default=1000
        So many are refuted one by one where each is counted.
    most_compared : int, default=200
        So many of the size of the set found are compared with it.
    room : int, default=64
        Sets that tables may leave open; they are looked at one by one.
    """

    few_sets: int = 200
    most_sets: int = 1000
    most_compared: int = 200
    room: int = 64


@dataclass(frozen=True)
class Effort:
    """How hard to try to prove that no smaller set reaches delta.

    Parameters
    ----------
    prove : {"auto", True, False}
    max_evals : int or None
        The most sets of one size to be bounded or counted for a row. None: as many as take half a
        second over background rows, and some hundredths over independent units, if
        ``prove="auto"``; if ``prove=True``, as many as there is time for, and 200,000 over
        independent units before several classes.
    time_limit : float
        Seconds that the search of a row may take, if ``prove=True``, once it has a set. Those in
        which kernels are compiled do not count.
    limits : Limits
    """

    prove: str | bool = "auto"
    max_evals: int | None = None
    time_limit: float = 10.0
    limits: Limits = Limits()

    @property
    def wanted(self) -> bool:
        """Whether a proof is to be tried at all."""
        return self.prove is not False

    @property
    def thorough(self) -> bool:
        """Whether a proof may take long."""
        return self.prove is True

    @property
    def sets(self) -> int:
        """How many sets of independent units may be bounded."""
        if self.max_evals is not None:
            return self.max_evals
        return _MANY_SETS if self.thorough else _SETS

    def cells(self, each: int) -> int:
        """Return how many gains of background rows may be looked at, ``each`` for every set."""
        if self.max_evals is not None:
            return self.max_evals * each
        return _MUCH_WORK if self.thorough else _CELLS


@dataclass(frozen=True)
class Task:
    """What is asked of every row.

    Parameters
    ----------
    delta : Fraction
    include, exclude : tuple of int
        Features forced in and out.
    max_size : int or None
        The most features, those in ``include`` counted.
    slack : Fraction or None
        How far below delta a guarantee may be proved, if that keeps a set from being larger
        than the minimum. None: not at all.
    effort : Effort
        For proofs; uniform binary features need none.
    flag : bool
        Whether a row that does not reach delta gets its best set and a message; else an error ends
        the search.
    present_only, supporting_only : bool
        Whether the features that are chosen must be there, and must speak for the class. What is
        forced in need not.
    prices : Prices or None
        What features cost, if the cheapest are asked for, not the fewest.
    allowed : ndarray of bool, shape (rows, units), or None
        Which units of every row may be chosen, by these two; None: all. Of a task of one row it has
        one line.
    until : float
        When the time to look for smaller sets is up, by the clock that stands still while this
        process compiles.
    """

    delta: Fraction
    include: tuple[int, ...] = ()
    exclude: tuple[int, ...] = ()
    max_size: int | None = None
    slack: Fraction | None = None
    effort: Effort = Effort()
    flag: bool = False
    present_only: bool = False
    supporting_only: bool = False
    prices: Prices | None = None
    allowed: NDArray[np.bool_] | None = field(default=None, compare=False)
    until: float = field(default=math.inf, compare=False)

    @property
    def has_prices(self) -> bool:
        """Whether the cheapest sets may be others than the smallest."""
        return self.prices is not None and not self.prices.equal

    @property
    def restricted(self) -> bool:
        """Whether rows differ in the units that may be chosen."""
        return self.present_only or self.supporting_only

    @property
    def only(self) -> tuple[str, ...]:
        """Which features may be chosen, in words."""
        options = {"present": self.present_only, "supporting": self.supporting_only}
        return tuple(word for word, asked in options.items() if asked)

    def of_rows(self, rows: slice | NDArray[np.intp]) -> Task:
        """Return what is asked of some of the rows."""
        return self if self.allowed is None else replace(self, allowed=self.allowed[rows])

    def of_row(self, i: int) -> Task:
        """Return what is asked of one row, whose time begins to run."""
        return self.of_rows(slice(i, i + 1)).timed()

    def timed(self) -> Task:
        """Return the same from now on: a row may take so long, unless it has less time left."""
        if not self.effort.thorough:
            return self
        until = monotonic() + (1 - _FOR_CLAIMS) * self.effort.time_limit
        return replace(self, until=min(until, self.until))

    @property
    def is_late(self) -> bool:
        """Whether the time for smaller sets is up: what is not proved by now is left open."""
        return self.until < math.inf and monotonic() > self.until

    @property
    def is_over(self) -> bool:
        """Whether all of the time is up, also that for what is claimed of a set."""
        later = self.until + _FOR_CLAIMS * self.effort.time_limit
        return later < math.inf and monotonic() > later

    @property
    def seconds(self) -> float:
        """How many seconds are left, of those that a programme may take."""
        limit = self.effort.time_limit
        if self.until == math.inf:
            return limit
        return min(max(self.until - monotonic(), 0.0), limit)

    def may_choose(self, n: int, units: int) -> NDArray[np.bool_]:
        """Tell which units of n rows may be chosen: neither forced nor barred."""
        found = np.ones((n, units), dtype=np.bool_) if self.allowed is None else self.allowed.copy()
        found[:, [*self.include, *self.exclude]] = False
        return found

    @property
    def most(self) -> int | None:
        """How many features may be added to the forced ones."""
        return None if self.max_size is None else self.max_size - len(self.include)

    def open_to(self, units: Collection[int]) -> list[int]:
        """Return the units that may be chosen, in a task of one row."""
        barred = {*self.include, *self.exclude}
        if self.allowed is None:
            return [u for u in units if u not in barred]
        allowed = self.allowed[0]
        return [u for u in units if allowed[u] and u not in barred]

    def has_others(self, units: int) -> bool:
        """Tell whether a set may have any of so many units, in a task of one row."""
        return bool(self.include or self.open_to(range(units)))

    @property
    def barring(self) -> str:
        """What keeps features out, in words: "without the features in exclude"."""
        parts = ["without the features in exclude"] if self.exclude else []
        options = [f"{word}_only=True" for word in self.only]
        parts += [f"with {' and '.join(options)}"] if options else []
        return " and ".join(parts) or "without the features in exclude"


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
