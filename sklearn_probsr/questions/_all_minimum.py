"""All minimum reasons of a decision, one after the other, each once."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from threading import Lock

from sklearn_probsr.questions._asked_decision import Decision
from sklearn_probsr.results._reason import SufficientReason

__all__ = ["MinimumReasons"]

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
