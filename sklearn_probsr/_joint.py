"""The search over background rows: exact counts, minimal sets, proofs of minimum.

Contributions are counted in whole numbers of one scale, signed towards the class. Where exact ones
are longer than 62 bits they are rounded down; a margin made of c rounded numbers is then short by
less than c, so margins in ``(-c, 0)`` are looked at again with all their digits.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr._contributions import distinct, is_open
from sklearn_probsr._distributions import Background, rows_for
from sklearn_probsr._enclosure import Enclosure
from sklearn_probsr._exact import float_above, float_below
from sklearn_probsr._local import LocalSearch
from sklearn_probsr._model import LinearModel
from sklearn_probsr._search import Found, Task
from sklearn_probsr.engines._joint import (
    Rows,
    branch_and_bound,
    greedy,
    kept_along,
    kept_weight,
    least_size,
    open_rows,
    prune,
)
from sklearn_probsr.engines._programme import solve

__all__ = ["JointSearch", "Replacement", "Seen", "joint_curve", "joint_guarantee", "search_joint"]

# Contributions of the background are cut to so many bits together, which leaves room for
# instances a thousand times as far out.
_BITS = 50
_MOST_BITS = 61

Row = NDArray[np.float64] | NDArray[np.bool_]


@dataclass(frozen=True)
class Ledger:
    """What the units of every background row contribute towards a class, in whole numbers.

    Attributes
    ----------
    scale : Fraction
        What one whole number is worth.
    entries : ndarray of int64, shape (units, rows)
        Contributions, rounded down.
    level : int
        What a row of the class must reach; a row that keeps it has ``sum >= level``.
    exact : bool
        Whether nothing was rounded.
    least, most : list of Fraction
        The extremes of each unit's contribution, unscaled.
    """

    model: LinearModel
    background: Background
    sign: int
    scale: Fraction
    entries: NDArray[np.int64]
    level: int
    exact: bool
    least: list[Fraction]
    most: list[Fraction]

    @classmethod
    def of(
        cls,
        model: LinearModel,
        background: Background,
        positive: bool,
        bits: int,
        coarsest: Fraction | None = None,
    ) -> Ledger:
        """Write it for a class, cut to so many bits, or on a given coarser scale."""
        sign = 1 if positive else -1
        table = [
            ([sign * c for c in values], which)
            for values, which in distinct(model, rows_for(model, background))
        ]
        level = sign * Fraction(model.threshold)
        unit = Fraction(1, math.lcm(level.denominator, *(
            c.denominator for values, _ in table for c in values
        )))  # fmt: skip
        reach = abs(level) + sum(max(map(abs, values)) for values, _ in table)
        shift = max(math.ceil(reach / unit).bit_length() - bits, 0)
        scale = unit * 2**shift if coarsest is None else coarsest
        columns = [
            np.array([math.floor(c / scale) for c in values], dtype=np.int64)[which]
            for values, which in table
        ]
        seen = [[values[k] for k in np.unique(which)] for values, which in table]
        reached = level / scale
        top = math.floor(reached) + 1 if is_open(model, positive) else math.ceil(reached)
        entries = np.stack(columns)
        least, most = [min(values) for values in seen], [max(values) for values in seen]
        exact = (unit / scale).denominator == 1
        return cls(model, background, sign, scale, entries, top, exact, least, most)

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """What each row has to spare when nothing is fixed."""
        starts: NDArray[np.int64] = self.entries.sum(axis=0) - self.level
        return starts

    @cached_property
    def means(self) -> NDArray[np.float64]:
        """What each unit contributes on average, in whole numbers, about."""
        weights = self.background.weights.astype(np.float64)
        means: NDArray[np.float64] = self.entries @ weights / weights.sum()
        return means

    def keeps(self, r: int, known: dict[int, Fraction]) -> bool:
        """Tell with all digits whether a row keeps the class when some units are known."""
        if r not in self._exact_rows:
            row = rows_for(self.model, self.background)[r]
            self._exact_rows[r] = [self.sign * c for c in self.model.contributions(row)]
        total = sum(
            (known.get(u, c) for u, c in enumerate(self._exact_rows[r])),
            start=-self.sign * Fraction(self.model.threshold),
        )
        return total > 0 if is_open(self.model, self.sign > 0) else total >= 0

    def faces(self, row: Row) -> NDArray[np.object_]:
        """Return each unit's contribution in a row: whole, and if it costs, gains, is exact."""
        if self.model.binary_core is None:
            known = [self.sign * c for c in self.model.contributions(row)]
            return np.array([self._face(u, c) for u, c in enumerate(known)], dtype=object)
        zeros, ones = self._binary_faces
        known_ones = self.model.core_rows(row[None, :])[0]
        faces: NDArray[np.object_] = np.where(known_ones[:, None], ones, zeros)
        return faces

    def _face(self, unit: int, known: Fraction) -> tuple[int, bool, bool, bool]:
        whole = math.floor(known / self.scale)
        exact = whole * self.scale == known
        return whole, known > self.least[unit], known < self.most[unit], exact

    @cached_property
    def _binary_faces(self) -> NDArray[np.object_]:
        columns = self.model.first_columns
        weights = [self.sign * Fraction(w) for w in self.model.weights[columns].tolist()]
        zeros = [self._face(u, Fraction(0)) for u in range(len(weights))]
        return np.array([zeros, [self._face(u, w) for u, w in enumerate(weights)]], dtype=object)

    @cached_property
    def _exact_rows(self) -> dict[int, list[Fraction]]:
        return {}


class Seen(Protocol):
    """An instance before a background: what a search asks of it."""

    background: Background
    rows: Rows
    exact: bool

    @property
    def doubt(self) -> int:
        """How much a margin may be short by, plus one."""

    def can_cost(self, unit: int) -> bool:
        """Tell whether leaving a unit unknown costs some row anything."""

    def can_gain(self, unit: int) -> bool:
        """Tell whether leaving a unit unknown gains some row anything."""

    def weight(self, features: Collection[int]) -> int:
        """Return the weight of the background rows that keep the class, exactly."""

    def by_mean_gain(self, units: list[int]) -> list[int]:
        """Return units by decreasing mean gain of fixing them."""


class Replacement:
    """An instance before a background."""

    def __init__(
        self, model: LinearModel, row: Row, background: Background, scale: Fraction | None = None
    ) -> None:
        positive = bool(model.is_positive(row[None, :])[0])
        self.background = background
        self.row = row
        self.ledger = model.cached(
            ("ledger", background, positive, scale),
            lambda: Ledger.of(model, background, positive, _BITS, scale),
        )
        faces = self.ledger.faces(row)
        beyond = int(np.abs(faces[:, 0]).sum()).bit_length() - (_MOST_BITS - 1)
        if beyond > 0:
            # Further out than there was room for: fewer digits of the background are kept.
            self.ledger = Ledger.of(model, background, positive, _BITS - beyond)
            faces = self.ledger.faces(row)
        self._costs, self._gains, exact = faces[:, 1:].T.astype(np.bool_)
        self.exact = self.ledger.exact and bool(exact.all())
        self._whole = faces[:, 0].astype(np.int64)
        self.rows = Rows(
            self.ledger.starts, background.weights, self._whole[:, None] - self.ledger.entries
        )

    @cached_property
    def known(self) -> list[Fraction]:
        """What the units of the instance contribute towards its class, exactly."""
        return [self.ledger.sign * c for c in self.ledger.model.contributions(self.row)]

    def can_cost(self, unit: int) -> bool:
        """Tell whether leaving a unit unknown costs some row anything."""
        return bool(self._costs[unit])

    def can_gain(self, unit: int) -> bool:
        """Tell whether leaving a unit unknown gains some row anything."""
        return bool(self._gains[unit])

    @property
    def doubt(self) -> int:
        """How much a margin may be short by, plus one."""
        return 0 if self.exact else len(self._costs) + 2

    def weight(self, features: Collection[int]) -> int:
        """Return the weight of the background rows that keep the class, exactly."""
        kept, margins, unsure = self._count(features)
        return int(self.rows.weights @ self._settled(features, margins)) if unsure else int(kept)

    def keeps(self, features: Collection[int]) -> NDArray[np.bool_]:
        """Tell which background rows keep the class, exactly."""
        return self._settled(features, self._count(features)[1])

    def _count(self, features: Collection[int]) -> tuple[int, NDArray[np.int64], int]:
        return kept_weight(self.rows, _places(features), self.doubt)

    def _settled(self, features: Collection[int], margins: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Tell which rows keep the class; those in doubt are counted with all their digits."""
        keeps: NDArray[np.bool_] = margins >= 0
        doubtful = np.flatnonzero(~keeps & (margins > -self.doubt))
        if len(doubtful):
            known = {u: self.known[u] for u in features}
            for r in doubtful:
                keeps[r] = self.ledger.keeps(int(r), known)
        return keeps

    def by_mean_gain(self, units: list[int]) -> list[int]:
        """Return units by decreasing mean gain of fixing them, the signed SHAP value."""
        gains = (self._whole - self.ledger.means)[units]
        return [units[j] for j in np.argsort(-gains, kind="stable")]


def joint_guarantee(seen: Seen, features: Collection[int]) -> Enclosure:
    """Return the exact share of background rows that keep the class."""
    return Enclosure.of(Fraction(seen.weight(features), seen.background.total))


def joint_curve(
    seen: Seen,
) -> tuple[NDArray[np.intp], NDArray[np.float64], NDArray[np.float64]]:
    """Return the order in which greed fixes units, and the exact share at every size."""
    background = seen.background
    units = list(range(len(seen.rows.gains)))
    members = [u for u in units if seen.can_cost(u)]
    rows, _ = open_rows(seen.rows, _places(members), _places(()), seen.doubt)
    first = greedy(rows, background.total + 1, False)
    order = [members[j] for j in first]
    chosen = set(order)
    order += [u for u in seen.by_mean_gain(units) if u not in chosen]
    lower, upper = np.ones(len(order) + 1), np.ones(len(order) + 1)
    for k in range(len(members) + 1):
        share = Fraction(seen.weight(order[:k]), background.total)
        lower[k], upper[k] = float_below(share), float_above(share)
    return np.array(order, dtype=np.intp), lower, upper


def _places(units: Collection[int]) -> NDArray[np.intp]:
    return np.array([*units], dtype=np.intp)


def search_joint(model: LinearModel, rows: Row, task: Task, background: Background) -> Found:
    """Return a small set of each row that reaches delta, and what was proved of it."""
    found = Found.empty(len(rows), model.n_units)
    for i, row in enumerate(rows):
        search = JointSearch(Replacement(model, row, background), task)
        features, minimality, least = search.run(i, str(background))
        share = Fraction(search.seen.weight(features), background.total)
        found.write(i, features, Enclosure.of(share), minimality, least)
    return found


class JointSearch(LocalSearch):
    """The search of one row."""

    def __init__(self, seen: Seen, task: Task) -> None:
        barred = {*task.include, *task.exclude}
        units = [u for u in range(len(seen.rows.gains)) if u not in barred and seen.can_cost(u)]
        members = seen.by_mean_gain(units)
        super().__init__(task, members, {u for u in members if not seen.can_gain(u)})
        self.seen = seen
        self.total = seen.background.total
        self.needed = math.ceil(task.delta * self.total)  # the least weight that reaches delta
        self.budget = task.effort.visits(len(seen.rows.margins))
        self.rows, self.safe = open_rows(
            seen.rows, _places(members), _places(task.include), seen.doubt
        )
        self.most = self.safe + int(self.rows.weights.sum())  # no set keeps more
        self.places = {u: j for j, u in enumerate(members)}
        self.weights: dict[frozenset[int], int] = {}
        self.tried = len(members) + 1  # the least size that a programme was asked for

    def weight(self, chosen: Collection[int]) -> int:
        key = frozenset(chosen)
        if key not in self.weights:
            kept, _, unsure = kept_weight(self.rows, self._at(key), self.seen.doubt)
            self.weights[key] = (
                self.seen.weight([*self.forced, *key]) if unsure else self.safe + int(kept)
            )
        return self.weights[key]

    def _at(self, chosen: Collection[int]) -> NDArray[np.intp]:
        return _places([self.places[u] for u in chosen])

    def verdict(self, chosen: Collection[int]) -> bool:
        return self.weight(chosen) >= self.needed

    def worth(self, chosen: Collection[int]) -> Fraction:
        return Fraction(self.weight(chosen))

    def text(self, chosen: Collection[int]) -> str:
        return str(Enclosure.of(Fraction(self.weight(chosen), self.total)))

    def proposals(self) -> list[list[int]]:
        orders = [greedy(self.rows, self.needed - self.safe, hinge) for hinge in (False, True)]
        return [self.members, *([self.members[j] for j in order] for order in orders)]

    def prefix(self, order: list[int]) -> list[int] | None:
        needed, doubt = self.needed - self.safe, self.seen.doubt
        kept, unsure = kept_along(self.rows, self._at(order), doubt, needed, 0)
        if unsure.any():
            return super().prefix(order)
        return order[: len(kept) - 1] if kept[-1] >= needed else None

    def pruned(self, order: list[int]) -> set[int]:
        needed, doubt = self.needed - self.safe, self.seen.doubt
        stays, sure = prune(self.rows, self._at(order), needed, doubt)
        if not sure:
            return super().pruned(order)
        return {u for u, stay in zip(order, stays, strict=True) if stay}

    def claim(self, chosen: set[int]) -> tuple[set[int], str]:
        if self.monotone and self.pruned(self.in_order(chosen)) == chosen:
            return chosen, "subset-minimal"
        return super().claim(chosen)

    def best_of(self, size: int) -> set[int]:
        order = [self.members[j] for j in greedy(self.rows, self.total + 1, False)]
        sizes = [size] if self.monotone else range(size + 1)
        best = max((set(order[:k]) for k in sizes), key=self.worth)
        while not self.monotone:
            better = next(
                (s for k in range(size + 1) for s in [self._better(k, self.weight(best))] if s),
                None,
            )
            if better is None:
                return best
            best = better
        return self.improve(best)

    def shrink(self, chosen: set[int]) -> tuple[set[int], bool]:
        if chosen and self.task.effort.wanted:
            floor = -self.seen.doubt
            self.least = least_size(self.rows, self.needed - self.safe, floor, len(chosen))
        return super().shrink(chosen)

    def look(self, size: int) -> tuple[bool | None, set[int]]:
        sizes = [size] if self.monotone else range(size, self.least - 1, -1)
        verdicts = []
        for k in sizes:
            verdict, found = self._look(k, self.needed)
            if verdict:
                return True, found
            verdicts.append(verdict)
        if None in verdicts:
            return self._programmed(size) if self.task.effort.thorough else (None, set())
        return False, set()

    def _programmed(self, size: int) -> tuple[bool | None, set[int]]:
        """Look for a set of at most a size by an integer programme, once for each such size."""
        if size >= self.tried:
            return None, set()
        self.tried = size
        left, floor = self.needed - self.safe, -self.seen.doubt
        mask, bound = solve(self.rows, left, floor, size + 1, self.task.effort.time_limit)
        self.least = max(self.least, bound)
        if mask is not None:
            found = {self.members[j] for j in np.flatnonzero(mask)}
            if len(found) <= size and self.verdict(found):
                return True, found
        return (False if bound > size else None), set()

    def improve(self, chosen: set[int]) -> set[int]:
        while better := self._better(len(chosen), self.weight(chosen)):
            chosen = better
        return chosen

    def _better(self, size: int, weight: int) -> set[int] | None:
        """Return a set of a size that keeps more than a weight, if one is found."""
        verdict, found = self._look(size, weight + 1) if self.budget > 0 else (None, set())
        return found if verdict else None

    def _look(self, size: int, needed: int) -> tuple[bool | None, set[int]]:
        """Look for a set of exactly a size with some weight."""
        if needed > self.most:
            return False, set()
        floor = -self.seen.doubt
        verdict, mask, spent = branch_and_bound(
            self.rows, size, needed - self.safe, floor, self.budget
        )
        self.budget -= spent
        found = {self.members[j] for j in np.flatnonzero(mask)}
        if verdict == 1 and not self.seen.exact and self.weight(found) < needed:
            return self._look_exactly(size, needed)
        return (None if verdict < 0 else verdict == 1), found

    def _look_exactly(self, size: int, needed: int) -> tuple[bool | None, set[int]]:
        """Try every set, if they are few, with all the digits of long integers."""
        if math.comb(len(self.members), size) > self.task.effort.limits.most_sets:
            return None, set()
        for chosen in combinations(self.members, size):
            if self.weight(chosen) >= needed:
                return True, set(chosen)
        return False, set()
