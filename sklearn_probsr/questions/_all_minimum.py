"""All minimum reasons of a decision, one after the other, each once."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from sklearn_probsr.questions._asking import Decision

__all__ = ["Enumeration", "by_asking", "by_rank"]

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
