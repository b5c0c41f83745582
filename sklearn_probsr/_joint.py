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
    kept_weight,
    least_size,
)
from sklearn_probsr.engines._programme import solve

__all__ = ["joint_curve", "joint_guarantee", "search_joint"]

# Contributions of the background are cut to so many bits together, which leaves room for
# instances a thousand times as far out.
_BITS = 50
_MOST_BITS = 61
# Integers beyond 62 bits: so many sets are tried one by one, with all their digits.
_MOST_SETS = 1000

Row = NDArray[np.float64] | NDArray[np.bool_]


@dataclass(frozen=True)
class Ledger:
    """What the units of every background row contribute towards a class, in whole numbers.

    Attributes
    ----------
    scale : Fraction
        What one whole number is worth.
    entries : ndarray of int64, shape (rows, units)
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
    def of(cls, model: LinearModel, background: Background, positive: bool, bits: int) -> Ledger:
        """Write it for a class, cut to so many bits."""
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
        scale = unit * 2**shift
        columns = [
            np.array([math.floor(c / scale) for c in values], dtype=np.int64)[which]
            for values, which in table
        ]
        seen = [[values[k] for k in np.unique(which)] for values, which in table]
        top = math.ceil(level / scale) + is_open(model, positive)
        entries = np.ascontiguousarray(np.stack(columns, axis=1))
        least, most = [min(values) for values in seen], [max(values) for values in seen]
        return cls(model, background, sign, scale, entries, top, shift == 0, least, most)

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """What each row has to spare when nothing is fixed."""
        starts: NDArray[np.int64] = self.entries.sum(axis=1) - self.level
        return starts

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
        if row.dtype != np.bool_:
            known = [self.sign * c for c in self.model.contributions(row)]
            return np.array([self._face(u, c) for u, c in enumerate(known)], dtype=object)
        zeros, ones = self._binary_faces
        faces: NDArray[np.object_] = np.where(row[:, None], ones, zeros)
        return faces

    def _face(self, unit: int, known: Fraction) -> tuple[int, bool, bool, bool]:
        whole = math.floor(known / self.scale)
        exact = whole * self.scale == known
        return whole, known > self.least[unit], known < self.most[unit], exact

    @cached_property
    def _binary_faces(self) -> NDArray[np.object_]:
        weights = [self.sign * Fraction(w) for w in self.model.weights.tolist()]
        zeros = [self._face(u, Fraction(0)) for u in range(len(weights))]
        return np.array([zeros, [self._face(u, w) for u, w in enumerate(weights)]], dtype=object)

    @cached_property
    def _exact_rows(self) -> dict[int, list[Fraction]]:
        return {}


class Replacement:
    """An instance before a background."""

    def __init__(self, model: LinearModel, row: Row, background: Background) -> None:
        positive = bool(model.is_positive(row[None, :])[0])
        self.background = background
        self.row = row
        self.ledger = _ledger(model, background, positive, _BITS)
        faces = self.ledger.faces(row)
        beyond = int(np.abs(faces[:, 0]).sum()).bit_length() - (_MOST_BITS - 1)
        if beyond > 0:
            # Further out than there was room for: fewer digits of the background are kept.
            self.ledger = Ledger.of(model, background, positive, _BITS - beyond)
            faces = self.ledger.faces(row)
        self._costs, self._gains, exact = faces[:, 1:].T.astype(np.bool_)
        self.exact = self.ledger.exact and bool(exact.all())
        self.rows = Rows(
            self.ledger.starts,
            background.weights,
            np.ascontiguousarray((faces[:, 0].astype(np.int64) - self.ledger.entries).T),
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
        return kept_weight(self.rows, np.array([*features], dtype=np.intp), self.doubt)

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
        weights = self.background.weights.astype(np.float64)
        means = self.rows.gains[units].astype(np.float64) @ weights
        return [units[j] for j in np.argsort(-means, kind="stable")]


def _ledger(model: LinearModel, background: Background, positive: bool, bits: int) -> Ledger:
    return model.cached(
        ("ledger", background, positive), lambda: Ledger.of(model, background, positive, bits)
    )


def joint_guarantee(
    model: LinearModel, row: Row, features: Collection[int], background: Background
) -> Enclosure:
    """Return the exact share of background rows that keep the class."""
    kept = Replacement(model, row, background).weight(features)
    return Enclosure.of(Fraction(kept, background.total))


def joint_curve(
    model: LinearModel, row: Row, background: Background
) -> tuple[NDArray[np.intp], NDArray[np.float64], NDArray[np.float64]]:
    """Return the order in which greed fixes units, and the exact share at every size."""
    seen = Replacement(model, row, background)
    units = list(range(model.n_units))
    members = [u for u in units if seen.can_cost(u)]
    first = greedy(_restricted(seen, members), background.total + 1, False)
    order = [members[j] for j in first]
    chosen = set(order)
    order += [u for u in seen.by_mean_gain(units) if u not in chosen]
    lower, upper = np.ones(len(order) + 1), np.ones(len(order) + 1)
    for k in range(len(members) + 1):
        share = Fraction(seen.weight(order[:k]), background.total)
        lower[k], upper[k] = float_below(share), float_above(share)
    return np.array(order, dtype=np.intp), lower, upper


def _restricted(seen: Replacement, members: list[int], forced: Collection[int] = ()) -> Rows:
    """Return what the compiled search reads: members only, the forced units fixed."""
    _, margins, _ = kept_weight(seen.rows, np.array([*forced], dtype=np.intp), 0)
    return Rows(margins, seen.rows.weights, np.ascontiguousarray(seen.rows.gains[members]))


def search_joint(model: LinearModel, rows: Row, task: Task, background: Background) -> Found:
    """Return a small set of each row that reaches delta, and what was proved of it."""
    found = Found.empty(len(rows), model.n_units)
    for i, row in enumerate(rows):
        search = _Search(Replacement(model, row, background), task)
        features, minimality, least = search.run(i, str(background))
        share = Fraction(search.seen.weight(features), background.total)
        found.write(i, features, Enclosure.of(share), minimality, least)
    return found


class _Search(LocalSearch):
    """The search of one row."""

    def __init__(self, seen: Replacement, task: Task) -> None:
        barred = {*task.include, *task.exclude}
        units = [u for u in range(len(seen.rows.gains)) if u not in barred and seen.can_cost(u)]
        members = seen.by_mean_gain(units)
        super().__init__(task, members, {u for u in members if not seen.can_gain(u)})
        self.seen = seen
        self.total = seen.background.total
        self.needed = math.ceil(task.delta * self.total)  # the least weight that reaches delta
        self.budget = task.effort.visits(len(seen.rows.margins))
        self.rows = _restricted(seen, members, task.include)
        self.weights: dict[frozenset[int], int] = {}
        self.tried = len(members) + 1  # the least size that a programme was asked for

    def weight(self, chosen: Collection[int]) -> int:
        key = frozenset(chosen)
        if key not in self.weights:
            self.weights[key] = self.seen.weight([*self.forced, *key])
        return self.weights[key]

    def verdict(self, chosen: Collection[int]) -> bool:
        return self.weight(chosen) >= self.needed

    def worth(self, chosen: Collection[int]) -> Fraction:
        return Fraction(self.weight(chosen))

    def text(self, chosen: Collection[int]) -> str:
        return str(Enclosure.of(Fraction(self.weight(chosen), self.total)))

    def proposals(self) -> list[list[int]]:
        orders = [greedy(self.rows, self.needed, hinge) for hinge in (False, True)]
        return [self.members, *([self.members[j] for j in order] for order in orders)]

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
            self.least = least_size(self.rows, self.needed, floor, len(chosen))
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
        mask, bound = solve(
            self.rows, self.needed, -self.seen.doubt, size + 1, self.task.effort.time_limit
        )
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
        floor = -self.seen.doubt
        verdict, mask, spent = branch_and_bound(self.rows, size, needed, floor, self.budget)
        self.budget -= spent
        found = {self.members[j] for j in np.flatnonzero(mask)}
        if verdict == 1 and not self.seen.exact and self.weight(found) < needed:
            return self._look_exactly(size, needed)
        return (None if verdict < 0 else verdict == 1), found

    def _look_exactly(self, size: int, needed: int) -> tuple[bool | None, set[int]]:
        """Try every set, if they are few, with all the digits of long integers."""
        if math.comb(len(self.members), size) > _MOST_SETS:
            return None, set()
        for chosen in combinations(self.members, size):
            if self.weight(chosen) >= needed:
                return True, set(chosen)
        return False, set()
