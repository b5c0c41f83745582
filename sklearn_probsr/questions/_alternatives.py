"""Alternatives: which features are in every minimum reason of a decision, and which in some.

Also all of these, one after the other, each once.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, fields
from functools import cached_property
from itertools import islice
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from sklearn_probsr.core.dispatch import law_of
from sklearn_probsr.core.law import RankedSwaps
from sklearn_probsr.core.options import Options
from sklearn_probsr.exceptions import InvalidInputError
from sklearn_probsr.model.linear import Model
from sklearn_probsr.questions._asked_decision import Decision
from sklearn_probsr.questions._shared_words import shared_words
from sklearn_probsr.results._reason import SufficientReason

__all__ = [
    "Alternatives",
    "MOST_REASONS",
    "MinimumReasons",
    "alternatives",
    "alternatives_of",
    "check_limit",
]

Bound = Callable[[tuple[int, ...]], tuple[bool | None, float]]


@dataclass
class Enumeration:
    """Sets of features as they are found; ``open`` once one was met that stays undecided."""

    sets: Iterator[tuple[int, ...]]
    open: bool = False


def by_rank(size: int, members: list[int], bound: Bound) -> Enumeration:
    """Enumerate the sets of a size that reach delta, where they are closed under moving up.

    Reverse search (Proposition 65): a set but the first comes from the one in which its first
    member that can move up the ranking has moved up by a place, so a set has at most ``size``
    sets that come from it. Better guarantees come first. ``bound`` tells of places in the ranking
    whether they reach delta, and what their guarantee surely is.
    """
    found = Enumeration(iter(()))

    def walk() -> Iterator[tuple[int, ...]]:
        first = tuple(range(size))
        waiting = [(-bound(first)[1], first)]
        while waiting:
            _, places = heapq.heappop(waiting)
            yield tuple(members[p] for p in places)
            for child in _children(places, len(members)):
                reaches, worth = bound(child)
                if reaches:
                    heapq.heappush(waiting, (-worth, child))
                elif reaches is None:
                    found.open = True

    found.sets = walk()
    return found


def _children(places: tuple[int, ...], n: int) -> Iterator[tuple[int, ...]]:
    """Yield the sets that come from one: those in which its first gap was opened or widened."""
    for i, place in enumerate(places):
        end = places[i + 1] if i + 1 < len(places) else n
        if place + 1 < end:
            yield (*places[:i], place + 1, *places[i + 1 :])
        if place != i:  # behind the first gap nothing moves
            break


def by_asking(decision: Decision, size: int, first: tuple[int, ...], worth: float) -> Enumeration:
    """Enumerate the sets of a size that reach delta by asking with and without features.

    After a set, those left differ from it: they lack its first feature, or have that and lack the
    second, and so on. Each of these parts is asked for a set of its own.
    """
    found = Enumeration(iter(()))
    forced = set(decision.task.include)

    def walk() -> Iterator[tuple[int, ...]]:
        start: tuple[tuple[int, ...], tuple[int, ...]] = ((), ())
        waiting = [(-worth, first, start)]
        while waiting:
            _, chosen, (include, exclude) = heapq.heappop(waiting)
            yield chosen
            kept = list(include)
            for feature in chosen:
                if feature in forced or feature in include:
                    continue
                part = (tuple(kept), (*exclude, feature))
                verdict, reason = decision.fits(size, *part)
                if verdict:
                    sure = reason.guarantee.lower
                    heapq.heappush(waiting, (-sure, tuple(sorted(reason.features)), part))
                elif verdict is None:
                    found.open = True
                kept.append(feature)

    found.sets = walk()
    return found


class MinimumReasons:
    """The minimum reasons of a decision, each found once, when somebody asks for it."""

    def __init__(self, decision: Decision, reason: SufficientReason, limit: int) -> None:
        self._found: list[tuple[int, ...]] = []
        self._lock = Lock()
        self._limit = limit
        self._known = reason.minimality == "minimum"
        self._enumeration = _enumerate(decision, reason)
        self._at_end = False

    def __iter__(self) -> Iterator[tuple[int, ...]]:
        i = 0
        while self._reach(i):
            yield self._found[i]
            i += 1

    def __repr__(self) -> str:
        return f"<{len(self._found)} minimum reasons found so far>"

    def _reach(self, i: int) -> bool:
        """Find reasons until there is one of some number; False if there is none."""
        with self._lock:
            while len(self._found) <= i and not self._at_end:
                if len(self._found) >= self._limit:
                    return False
                more = next(self._enumeration.sets, None)
                if more is None:
                    self._at_end = True
                else:
                    self._found.append(tuple(sorted(more)))
        return i < len(self._found)

    @property
    def count(self) -> int:
        """How many there are, up to the limit."""
        self._reach(self._limit - 1)
        return len(self._found)

    @property
    def complete(self) -> bool:
        """Whether these are all."""
        self._reach(self._limit - 1)
        with self._lock:
            if not self._at_end and len(self._found) == self._limit:
                more = list(islice(self._enumeration.sets, 1))
                self._at_end = not more
                self._enumeration.sets = iter(())
                self._enumeration.open |= bool(more)
        return self._known and self._at_end and not self._enumeration.open


def _enumerate(decision: Decision, reason: SufficientReason) -> Enumeration:
    """Return the minimum reasons, one of which is known."""
    forced = decision.task.include
    first = tuple(sorted(reason.features))
    if reason.minimality != "minimum":
        return Enumeration(iter([first]), open=True)
    ranked = decision.law.ranked_sets(decision.row, decision.task)
    if ranked is None or reason.size == len(forced):
        return by_asking(decision, reason.size, first, reason.guarantee.lower)
    found = by_rank(reason.size - len(forced), *ranked)
    found.sets = ((*forced, *chosen) for chosen in found.sets)
    return found


# So many minimum reasons are enumerated unless asked otherwise.
MOST_REASONS = 1000

# Where every feature has to be asked about, so many outside the reason are; the others stay open.
_MOST_ASKED = 256


def alternatives(
    model: Model,
    x: ArrayLike,
    *,
    delta: float = 0.95,
    distribution: Any = None,
    limit: int = MOST_REASONS,
    include: Iterable[int | str] = (),
    exclude: Iterable[int | str] = (),
    prove: str | bool = "auto",
    max_evals: int | None = None,
    time_limit: float = 10.0,
    present_only: bool = False,
    supporting_only: bool = False,
) -> Alternatives:
    """Tell which features are in every minimum reason of ``x``, and which in some.

    A minimum reason is one of perhaps many. Before one of them is trusted, it is good to know what
    all of them share.

    Parameters
    ----------
    model : LinearModel or ArgmaxModel
        What decides.
    x : array-like of shape (d,)
        An instance of zeros and ones, or of what the model's units can be.
    delta : float, default=0.95
        The probability to guarantee.
    distribution : Uniform, Product, Marginals, Background, Matching or None, default=None
        What completes the other features; None means uniform.
    limit : int, default=1000
        The most reasons to enumerate.
    include, exclude : iterable of int or str, default=()
        Features that every reason must have, and must not have.
    prove : {"auto", True, False}, default="auto"
        How hard to try to prove what is said; see `sufficient_reasons`. Without a proof that the
        reason is minimum, nothing is said of the others.
    max_evals : int or None, default=None
        The most sets of one size that a proof may look at.
    time_limit : float, default=10.0
        The most seconds that proofs may take with ``prove=True``.
    present_only : bool, default=False
        Whether only features that are there may be chosen, such as words that occur; see
        `sufficient_reasons`.
    supporting_only : bool, default=False
        Whether only facts that speak for the class may be chosen; likewise.

    Returns
    -------
    Alternatives

    Raises
    ------
    InvalidInputError
        If an argument is not what it should be.
    UnreachableError
        If delta cannot be reached without the features that must not be chosen.

    Examples
    --------
    >>> from sklearn_probsr import LinearModel, alternatives
    >>> model = LinearModel([5, 2, 2, 2, 1], threshold=7)
    >>> found = alternatives(model, [1, 1, 1, 1, 1], delta=0.9)
    >>> found.necessary, found.possible
    ((0,), (0, 1, 2, 3))
    >>> list(found.reasons)
    [(0, 1), (0, 2), (0, 3)]
    >>> print(found)
    Every reason of this size (2 features) needs x0; 3 more features occur in some.
    """
    law = law_of(model, distribution)
    options = Options(
        delta,
        include=include,
        exclude=exclude,
        prove=prove,
        max_evals=max_evals,
        time_limit=time_limit,
        present_only=present_only,
        supporting_only=supporting_only,
    )
    decision = Decision(law, model.check_row(x), options)
    return alternatives_of([decision], [decision.reason(flag=False)], check_limit(limit))[0]


def check_limit(limit: Any) -> int:
    """Return how many reasons to enumerate, or say that it is no such number."""
    whole = isinstance(limit, int | np.integer) and not isinstance(limit, bool)
    if not whole or limit < 1:
        raise InvalidInputError(f"limit must be a whole number >= 1, got {limit!r}.")
    return int(limit)


def alternatives_of(
    decisions: list[Decision], reasons: list[SufficientReason], limit: int
) -> list[Alternatives]:
    """Return the alternatives of decisions before one law, whose reasons are known."""
    if not decisions:
        return []
    law, rows = decisions[0].law, np.stack([d.row for d in decisions])
    task = law.within(rows, decisions[0].options.task(law.model))
    forced = len(task.include)
    proved = [reason.minimality == "minimum" for reason in reasons]
    sizes = np.array(
        [r.size - forced if sure else -1 for r, sure in zip(reasons, proved, strict=True)]
    )
    swaps = law.swaps(rows, task, sizes)
    found = []
    for i, (decision, reason) in enumerate(zip(decisions, reasons, strict=True)):
        if not proved[i]:
            said = _Said.of((), (), tuple(decision.members))
        elif reason.size == forced:
            said = _Said.of(task.include, task.include, ())
        elif swaps is None:
            said = _by_asking(decision, reason)
        else:
            said = _by_places(swaps, i, task.include)
        found.append(Alternatives(reason, *said, limit, decision))
    return found


class _Said(NamedTuple):
    """What is said of single features."""

    necessary: tuple[int, ...]
    possible: tuple[int, ...]
    undecided: tuple[int, ...]

    @classmethod
    def of(cls, *groups: Iterable[int]) -> _Said:
        """Return three groups of features in order."""
        return cls(*(tuple(sorted(set(group))) for group in groups))


def _by_places(ranked: RankedSwaps, i: int, forced: tuple[int, ...]) -> _Said:
    """Say what places in the ranking of a row mean (Proposition 63)."""
    members = ranked.members(i)
    needed, not_needed = ranked.swaps.needed[i].tolist()
    some, none = ranked.swaps.possible[i].tolist()
    return _Said.of(
        [*forced, *members[:needed]],
        [*forced, *members[:some]],
        [*members[needed:not_needed], *members[some:none]],
    )


def _by_asking(decision: Decision, reason: SufficientReason) -> _Said:
    """Ask for reasons without each feature of one, and with each of the others.

    Every reason of that size that turns up answers for all of its features, and for those it lacks.
    When the time is up, what was not asked stays undecided.
    """
    timed = decision.task.timed()
    size, forced = reason.size, set(decision.task.include)
    shared, seen = set(reason.features), set(reason.features)
    undecided = set()
    necessary = set(forced)
    for feature in reason.features:
        if feature in forced or feature not in shared:
            continue
        if timed.is_late:
            undecided.add(feature)
            continue
        verdict, other = decision.fits(size, exclude=[feature])
        if verdict:
            shared &= set(other.features)
            seen |= set(other.features)
        elif verdict is False:
            necessary.add(feature)
        else:
            undecided.add(feature)
    others = [feature for feature in decision.members if feature not in seen]
    undecided.update(others[_MOST_ASKED:])
    for feature in others[:_MOST_ASKED]:
        if feature in seen:
            continue
        if timed.is_late:
            undecided.add(feature)
            continue
        verdict, other = decision.fits(size, include=[feature])
        if verdict:
            shared &= set(other.features)
            seen |= set(other.features)
        elif verdict is None:
            undecided.add(feature)
    undecided -= {u for u in undecided if u in seen and u not in shared}
    return _Said.of(necessary & shared, seen, undecided)


@dataclass(frozen=True, eq=False)
class Alternatives:
    """What all minimum reasons of one decision share, and what they are.

    Every word is proved; what is not is in ``undecided``. Sets are those that contain ``include``
    and avoid ``exclude``.

    Attributes
    ----------
    reason : SufficientReason
        One of them.
    size : int
        How many features each has.
    necessary : tuple of int
        Features in every minimum reason.
    possible : tuple of int
        Features in some of them.
    undecided : tuple of int
        Features of which one or the other stays open. If it is not proved that ``reason`` is
        minimum, these are all that might matter.
    n_necessary, n_possible : int or None
        How many are in every one, and in some; None where undecided features might add to them.
    indispensable : tuple of int
        Features in every reason of any size: without one of them delta is out of reach.
    reasons : iterable of tuple of int
        The minimum reasons, at most ``limit`` of them, found as they are asked for; better
        guarantees come first where that is cheap. Can be gone through any number of times.
    count : int
        How many there are, up to the limit.
    complete : bool
        Whether these are all.
    limit : int
        How many reasons were asked for at most.
    decision : Decision
        The row before its law, which is asked for all of this.
    """

    reason: SufficientReason
    necessary: tuple[int, ...]
    possible: tuple[int, ...]
    undecided: tuple[int, ...]
    limit: int
    decision: Decision = field(repr=False)

    @property
    def size(self) -> int:
        """How many features a minimum reason has."""
        return self.reason.size

    @cached_property
    def indispensable(self) -> tuple[int, ...]:
        """Features in every reason of any size: without one of them delta is out of reach."""
        candidates = self.reason.features if self.undecided else self.necessary
        forced = set(self.decision.task.include)
        return tuple(sorted(u for u in candidates if u in forced or self.decision.is_hopeless([u])))

    @cached_property
    def reasons(self) -> MinimumReasons:
        """The minimum reasons, found as they are asked for."""
        return MinimumReasons(self.decision, self.reason, self.limit)

    @property
    def count(self) -> int:
        """How many minimum reasons there are, up to the limit."""
        return self.reasons.count

    @property
    def complete(self) -> bool:
        """Whether these are all minimum reasons."""
        return self.reasons.complete

    def __getstate__(self) -> dict[str, Any]:
        # What was enumerated is found again.
        return {f.name: getattr(self, f.name) for f in fields(self)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    @property
    def n_necessary(self) -> int | None:
        """How many features are in every minimum reason; None where that stays open."""
        is_open = self._unproved or any(u in self.possible for u in self.undecided)
        return None if is_open else len(self.necessary)

    @property
    def n_possible(self) -> int | None:
        """How many features are in some minimum reason; None where that stays open."""
        is_open = self._unproved or any(u not in self.possible for u in self.undecided)
        return None if is_open else len(self.possible)

    @property
    def _unproved(self) -> bool:
        return self.reason.minimality != "minimum"

    def words(self, sized: bool = True) -> str:
        """Say what all minimum reasons share, and what some have; what is open is named so.

        Parameters
        ----------
        sized : bool, default=True
            Whether to say how many features they have.

        Returns
        -------
        str
        """
        names = self.decision.law.model.unit_names
        groups = None if self._unproved else (self.necessary, self.possible, self.undecided)
        return shared_words(names, self.size, groups, self.reason.scope, sized=sized)

    def __str__(self) -> str:
        return self.words()
