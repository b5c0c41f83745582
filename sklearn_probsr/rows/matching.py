"""Matching: of the rows that share the facts of a set, how many get the class of the instance.

What comes in is a model, a `Matching` of rows in two parts, and instances; what goes out is, for
each instance, a smallest set of facts that reaches delta in the rows *searched*, with an enclosure
of its probability from the rows *held out* (Theorem 14). Here a fact both fixes a feature and
chooses the rows that are counted, so that more facts may be better or worse, no order of them is
best, and the search is one of its own (`_Search`).

Dense rows and sparse ones are kept in the same way: an inverted index tells for each unit the rows
in which it is not in its usual state (the most frequent one; of sparse rows 0). What takes long is
done by the kernels of `matching_kernels`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.core.answers import Found
from sklearn_probsr.core.law import TOL, Law, Memo, Row, View
from sklearn_probsr.core.means import column_mean, mean_doubts, rows_before, weighted_means
from sklearn_probsr.core.monte_carlo import clopper_pearson
from sklearn_probsr.core.options import Task
from sklearn_probsr.distributions._matching import Matching
from sklearn_probsr.exceptions import InvalidInputError
from sklearn_probsr.model.enclosure import Enclosure
from sklearn_probsr.model.linear import Model
from sklearn_probsr.model.numbers import exact_text, float_below
from sklearn_probsr.model.sparse import SparseRows, one_row
from sklearn_probsr.rows.matching_kernels import (
    Facts,
    Index,
    Path,
    Rules,
    best_of_size,
    grown,
    list_missed,
    worth,
    write_facts,
)

__all__ = ["Count", "Matches", "MatchingLaw", "MatchingView"]

# What a standard deviation of lead counts for in a cautious search, beside the share.
_FIRMNESS = 0.02
# The facts that rows do not share are listed row by row if these are so many times fewer than all.
_FEWER = 16
# Words of 64 rows that the exact search of one instance may look at: some 10 ms; and that of the
# parts of a set that was found otherwise.
_BUDGET, _BUDGET_OF_PARTS = 5_000_000, 5_000_000
# Values that are compared with the states of a unit at once.
_AT_ONCE = 2**22
# Beyond the budget, so many sets of each size are grown further.
_BEAM = 32


class Count(NamedTuple):
    """Of some rows, how many share the facts, and how many of those keep the class."""

    kept: int
    matching: int
    rows: int

    def __str__(self) -> str:
        return f"{self.kept} of {self.matching}"


@dataclass(frozen=True)
class Matches:
    """The rows that share the facts of a reason.

    Attributes
    ----------
    searched : Count
        In the part that the set was searched on: ``kept`` of ``matching`` among ``rows``.
    confirmed : Count
        In the part that was held out, which alone the guarantee is made of.
    """

    searched: Count
    confirmed: Count

    @property
    def descriptive(self) -> Count:
        """In all rows together. It describes them; as an estimate it is optimistic."""
        kept, matching, rows = map(sum, zip(self.searched, self.confirmed, strict=True))
        return Count(kept, matching, rows)

    @property
    def coverage(self) -> float:
        """The share of the rows held out that share the facts."""
        return self.confirmed.matching / max(self.confirmed.rows, 1)


class MatchingLaw(Law):
    """A model before rows of which those count that share the facts of a set."""

    conditional = True

    def __init__(self, model: Model, distribution: Matching) -> None:
        super().__init__(model, distribution)
        real = [unit.name for unit in model.units or () if unit.states is None]
        rows = rows_before(model, distribution)
        if real:
            raise InvalidInputError(
                f"Matching compares facts for equality, and {real[0]!r} is real-valued. Bin it "
                "first, for instance by a KBinsDiscretizer in the pipeline, or declare its values "
                "as states of a Unit."
            )
        if isinstance(rows, SparseRows) and model.first_columns != list(range(model.n_features)):
            rows = rows.toarray()
        self.rows, self.takes_sparse = rows, isinstance(rows, SparseRows)
        self.confidence = distribution.confidence
        winners, held = model.winners(rows), distribution.confirming
        self.searched = _Part(model, rows, ~held, winners)
        self.confirmed = _Part(model, rows, held, winners)
        self._leads: Memo[NDArray[np.float64]] = Memo(16)  # by class
        self._rules: Memo[Rules] = Memo(8)  # by level

    @cached_property
    def means(self) -> NDArray[np.float64]:
        """What the columns of the model are on average."""
        return weighted_means(self.rows, self.distribution.weights)

    @cached_property
    def mean_doubts(self) -> NDArray[np.float64]:
        """How far the mean of each column may be off."""
        return mean_doubts(self.rows)

    def mean_of(self, column: int) -> Fraction:
        """Return the mean of a column, exactly."""
        return column_mean(self.rows, column, self.distribution.weights)

    def view(self, row: Row) -> MatchingView:
        """Return one instance, a checked row, before this law."""
        return next(self.views(one_row(row) if self.takes_sparse else row[None]))

    def views(self, rows: Any) -> Iterator[MatchingView]:
        """Yield several instances, checked rows, before this law."""
        if not len(rows):
            return
        winners = self.model.winners(rows).tolist()
        states = rows if self.takes_sparse else _states(self.model, rows)
        for i, winner in enumerate(winners):
            yield MatchingView(self, states[i].astype(np.int64), winner)

    def leads(self, winner: int) -> NDArray[np.float64]:
        """Return about how far each row searched is on the side of a class, at most 1."""

        def made() -> NDArray[np.float64]:
            finite = np.nan_to_num(self.model.leads(self.rows, winner))
            searched: NDArray[np.float64] = finite[~self.distribution.confirming]
            return searched / (np.abs(finite).max(initial=0.0) or 1.0)

        return self._leads.get(winner, made)

    def rules(self, delta: Fraction) -> Rules:
        """Return in whole numbers when rows that share facts are enough, and good enough."""
        make = _cautious_rules if self.distribution.cautious else _rules
        n, least = len(self.searched.winners), self.distribution.min_rows
        return self._rules.get(delta, lambda: make(n, least, delta))

    def together(self, rows: Row, task: Task, found: Found) -> dict[int, set[int]]:
        """Answer all rows; here a fact also chooses the rows that count, so no order is best."""
        rules = self.rules(task.delta)
        for i, view in enumerate(self.views(rows)):
            search = _Search(view, task.of_row(i), rules)
            features, minimality, least, why = search.run()
            if why:
                found.give_up(i, why, task)
            found.write(i, features, view.enclose(features), minimality, least)
        return {}

    @property
    def nbytes(self) -> int:
        """About how much memory the tables take."""
        return int(self.rows.nbytes) + self.searched.nbytes + self.confirmed.nbytes


def _states(model: Model, rows: NDArray[Any]) -> NDArray[np.int32]:
    """Return which state every unit of checked rows is in."""
    if model.units is None:
        return rows.astype(np.int32)
    found = np.zeros((len(rows), model.n_units), dtype=np.int32)
    for u, unit in enumerate(model.units):
        part = rows[:, list(unit.columns)]
        states = np.array(unit.states)
        step = max(_AT_ONCE // states.size, 1)
        for i in range(0, len(rows), step):
            alike = part[i : i + step, None] == states
            found[i : i + step, u] = alike.all(axis=2).argmax(axis=1)
    return found


def _index(model: Model, rows: Any) -> Index:
    """Return where units of checked rows are not in their usual state."""
    if isinstance(rows, SparseRows):
        order = np.argsort(rows.indices, kind="stable")
        places, states = rows.places[order], np.ones(len(order), dtype=np.int32)
        sizes, usual = np.bincount(rows.indices, minlength=rows.width), np.zeros(rows.width)
    else:
        table = _states(model, rows).T
        usual = np.array([np.bincount(line).argmax() if len(line) else 0 for line in table])
        odd = table != usual[:, None]
        places, states, sizes = np.nonzero(odd)[1], table[odd], odd.sum(axis=1)
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return Index(starts, places.astype(np.int32), states, usual.astype(np.int32))


class _Part:
    """Some of the rows: where their units are not in the usual state, and their classes.

    Parameters
    ----------
    model : Model
    rows : ndarray or SparseRows
        All rows, checked.
    inside : ndarray of bool
        Which of them are in this part.
    winners : ndarray of int64
        The class of each.
    """

    def __init__(
        self, model: Model, rows: Any, inside: NDArray[np.bool_], winners: NDArray[np.int64]
    ) -> None:
        self.winners, self.index = winners[inside], _index(model, rows[inside])
        self._sizes = np.diff(self.index.starts)
        self._odd = np.bincount(self.index.rows, minlength=len(self.winners))
        self.nbytes = sum(array.nbytes for array in (*self.index, self.winners, self._odd))

    def sharing(self, states: NDArray[np.int64], units: Any) -> NDArray[np.bool_]:
        """Tell which rows share the facts of an instance, given by its states."""
        chosen, index = np.array(units, dtype=np.intp), self.index
        sizes = self._sizes[chosen]
        ends = np.cumsum(sizes)
        at = np.arange(ends[-1] if len(ends) else 0)
        at += np.repeat(index.starts[chosen] - ends + sizes, sizes)
        alike = index.states[at] == np.repeat(states[chosen], sizes)
        hits = np.bincount(index.rows[at[alike]], minlength=len(self.winners))
        found: NDArray[np.bool_] = hits == np.count_nonzero(states[chosen] != index.usual[chosen])
        found[index.rows[at[~alike]]] = False
        return found

    def copy_of(self, states: NDArray[np.int64]) -> list[int]:
        """Return the first row that is the instance, if there is one: odd in the same units."""
        odd = np.flatnonzero(states != self.index.usual)
        same = self.sharing(states, odd) & (self._odd == len(odd))
        return np.flatnonzero(same)[:1].tolist()  # type: ignore[no-any-return]

    def first_missed(self, states: NDArray[np.int64], order: Sequence[int]) -> NDArray[np.int64]:
        """Return the place in an order of the first fact that each row does not share.

        It is the first unit that is unlike the instance where it is not as usual, or the first that
        is as usual where that of the instance is not; the length of the order if there is none.
        """
        index, place = self.index, np.full(len(states), len(order), dtype=np.int64)
        place[list(order)] = np.arange(len(order))
        found = np.full(len(self.winners), len(order), dtype=np.int64)
        sizes = self._sizes
        alike = index.states == np.repeat(states, sizes)
        np.minimum.at(found, index.rows[~alike], np.repeat(place, sizes)[~alike])
        for u in np.flatnonzero(states != index.usual).tolist():
            inside = slice(index.starts[u], index.starts[u + 1])
            lacks = np.ones(len(found), dtype=np.bool_)
            lacks[index.rows[inside][alike[inside]]] = False
            found[lacks] = np.minimum(found[lacks], place[u])
        return found


class MatchingView(View):
    """One instance before rows that may share its facts: it is given by its states."""

    def __init__(self, law: MatchingLaw, states: NDArray[np.int64], winner: int) -> None:
        super().__init__(len(states))
        self._law, self._states, self._winner = law, states, winner
        self._parts = law.searched, law.confirmed
        self._copies = {part: part.copy_of(states) for part in self._parts}

    def can_cost(self, unit: int) -> bool:
        """Tell whether fixing a unit can help: with fewer rows, anything can happen."""
        return True

    def can_gain(self, unit: int) -> bool:
        """Tell whether fixing a unit can hurt: with fewer rows, anything can happen."""
        return True

    def members(self) -> list[int]:
        """Return the units that fixing can help: all of them."""
        return list(range(self.n_units))

    def matches(self, features: Collection[int]) -> Matches:
        """Count the rows that share the facts of a set, a copy of the instance left out."""
        searched, confirmed = (self._count(part, features) for part in self._parts)
        return Matches(searched, confirmed)

    def _count(self, part: _Part, features: Collection[int]) -> Count:
        own, shared = len(self._copies[part]), part.winners[part.sharing(self._states, features)]
        kept = int(np.count_nonzero(shared == self._winner))
        return Count(kept - own, len(shared) - own, len(part.winners) - own)

    def enclose(
        self, fixed: Collection[int], delta: Fraction | None = None, tol: float = TOL
    ) -> Enclosure:
        """Enclose the probability that a row which shares the facts of a set keeps the class."""
        kept, matching, _ = self._count(self._law.confirmed, fixed)
        return self._confirmed(kept, matching)

    def along(self, order: Sequence[int], tol: float) -> list[Enclosure]:
        """Enclose the guarantee with the first 0, 1, 2, ... of an order fixed.

        A row counts up to the first fact that it does not share.
        """
        part, own = self._law.confirmed, len(self._copies[self._law.confirmed])
        missed = part.first_missed(self._states, order)
        told = [
            np.cumsum(np.bincount(some, minlength=len(order) + 1)[::-1])[::-1] - own
            for some in (missed[part.winners == self._winner], missed)
        ]
        pairs = list(zip(*(counts.tolist() for counts in told), strict=True))
        known = {pair: self._confirmed(*pair) for pair in set(pairs)}
        return [known[pair] for pair in pairs]

    def _confirmed(self, kept: int, matching: int) -> Enclosure:
        """Enclose the chance of which so many rows held out tell, a copy of the instance apart."""
        confidence = self._law.confidence
        lower, upper = clopper_pearson(kept, matching, 1 - confidence)
        if len(self._copies[self._law.confirmed]):
            # The copy may be another row after all. Then it counts, which raises both bounds: this
            # lower one and that upper one hold either way (Theorem 14).
            _, upper = clopper_pearson(kept + 1, matching + 1, 1 - confidence)
        return Enclosure(lower, upper, float_below(confidence))

    def orders(self, members: list[int], forced: Sequence[int]) -> list[list[int]]:
        """Return the members in the order in which greed adds facts in the rows searched."""
        return [
            [
                members[k]
                for k in _greedy_order(self._facts(forced, np.array(members, dtype=np.int64))[1])
            ]
        ]

    def kept(
        self, forced: Sequence[int], order: list[int], samples: int, rng: np.random.Generator
    ) -> NDArray[np.int64]:
        """Refuse: rows are counted, and none is drawn."""
        raise InvalidInputError("Matching counts rows and draws none: use method='certified'.")

    def telling(
        self, forced: Collection[int], units: NDArray[np.intp], least: int
    ) -> tuple[NDArray[np.intp], Facts]:
        """Return the units whose facts a search need look at (Lemma 150), and these facts."""
        at, facts, misses, keys = self._facts(forced, units, least)
        tells = np.ones(len(keys), dtype=np.bool_)
        # Facts that the same rows share have equal keys; the first of them is kept.
        order = np.argsort(keys, kind="stable")
        later = (keys[order[1:]] == keys[order[:-1]]).nonzero()[0]
        one, other = order[later], order[later + 1]
        tells[other] = (facts.shared[one] != facts.shared[other]).any(axis=1)
        kept = np.argsort(-facts.lost, kind="stable")
        kept = kept[tells[kept]]
        facts = facts._replace(shared=facts.shared[kept], lost=facts.lost[kept])
        n, missing = facts.good + facts.bad, int(misses[kept].sum())
        if _FEWER * missing <= n * len(kept):
            facts = facts._replace(
                starts=np.zeros(64 * len(facts.everyone) + 2, dtype=np.int64),
                missed=np.empty(missing, dtype=np.int32),
                each=-(-missing // max(n, 1)),
            )
            list_missed(facts)
        return units[at[kept]], facts

    def _facts(
        self, forced: Collection[int], units: NDArray[np.intp], least: int = 0
    ) -> tuple[NDArray[np.int64], Facts, NDArray[np.int64], NDArray[np.uint64]]:
        """Return the facts of some units, all of them or those that tell apart from equal ones.

        With their places among the units, and of each how many rows do not share it and a number
        that is the same where the same rows do.
        """
        law, part = self._law, self._law.searched
        there = part.sharing(self._states, forced)
        there[self._copies[part]] = False
        ours = part.winners == self._winner
        good, bad = (there & ours).nonzero()[0], (there & ~ours).nonzero()[0]
        good_words, bad_words = -(-len(good) // 64), -(-len(bad) // 64)
        places = np.full(len(there), -1, dtype=np.int64)
        places[good] = np.arange(len(good))
        places[bad] = 64 * good_words + np.arange(len(bad))
        inside = np.zeros(64 * (good_words + bad_words), dtype=np.bool_)
        inside[places[good]] = inside[places[bad]] = True
        leads, firmness = np.zeros(0), 0.0
        if law.distribution.cautious:
            leads, firmness = np.zeros(len(inside)), _FIRMNESS
            leads[places[there]] = law.leads(self._winner)[there]
        h = len(units)
        facts = Facts(
            np.empty((h, good_words + bad_words), dtype=np.uint64),
            np.packbits(inside, bitorder="little").view(np.uint64),
            good_words,
            len(good),
            len(bad),
            np.empty(h, dtype=np.int64),
            np.zeros(1, dtype=np.int64),
            np.zeros(0, dtype=np.int32),
            0,
            leads,
            firmness,
        )
        at, misses, keys = np.empty(h, np.int64), np.empty(h, np.int64), np.empty(h, np.uint64)
        told = at, misses, keys
        n = write_facts(part.index, units, self._states, places, least, facts, told)
        facts = facts._replace(shared=facts.shared[:n], lost=facts.lost[:n])
        return at[:n], facts, misses[:n], keys[:n]


def _only(facts: Facts, at: Any) -> Facts:
    """Return some facts, without a list of those that each row does not share."""
    return facts._replace(
        shared=facts.shared[at],
        lost=facts.lost[at],
        starts=np.zeros(1, dtype=np.int64),
        missed=np.zeros(0, dtype=np.int32),
    )


def _greedy_order(facts: Facts) -> list[int]:
    """Return facts in an order: always the one next that leaves the rows that are worth most.

    Facts that leave all rows change no count: those before the first one that does are taken at
    once, so that there are no more turns than rows, however many facts there are.
    """
    rows = facts.everyone
    left, order = np.arange(len(facts.shared)), [np.zeros(0, dtype=np.intp)]
    counts = _by_kind(facts.shared, facts.good_words)
    while len(left):
        worths = _worths(*counts[:, left])
        best = np.flatnonzero(worths == worths.max())
        idle = (counts[:, left[best]] == _by_kind(rows, facts.good_words)[:, None]).all(axis=0)
        taken = best[: max(int(np.argmin(np.append(idle, False))), 1)]
        first = left[taken[0]]
        order.append(left[taken])
        left = np.delete(left, taken)
        gone = rows & ~facts.shared[first]
        at = np.flatnonzero(gone)
        good = int(np.searchsorted(at, facts.good_words))
        counts -= _by_kind(facts.shared[:, at] & gone[at], good)
        rows = rows & facts.shared[first]
    found: list[int] = np.concatenate(order).tolist()
    return found


def _by_kind(rows: NDArray[np.uint64], good_words: int) -> NDArray[np.int64]:
    """Count good rows, and bad ones, in words of bits of which the first are of good ones."""
    ones = np.bitwise_count(rows)
    parts = ones[..., :good_words], ones[..., good_words:]
    return np.array([part.sum(axis=-1, dtype=np.int64) for part in parts])


def _worths(good: NDArray[np.int64], bad: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return what good and bad rows are worth, each pair of counts looked at once."""
    # As numbers: NumPy compares pairs in Python, and of Ctrl-C there it makes a TypeError.
    wide = int(bad.max()) + 1
    pairs, places = np.unique(good * wide + bad, return_inverse=True)
    return np.array([worth(*divmod(pair, wide)) for pair in pairs.tolist()])[places]


def _rules(n: int, least: int, delta: Fraction) -> Rules:
    """Return in whole numbers what reaches delta."""
    p, q = delta.as_integer_ratio()
    need = [-(-p * k // q) for k in range(n + 1)]
    # The most bad rows beside g good ones: g >= delta (g + b).
    allow = [min(g * q // p - g, n) if p else n for g in range(n + 1)]
    return Rules(np.array(need), np.array(allow), least)


def _cautious_rules(n: int, least: int, delta: Fraction) -> Rules:
    """Return in whole numbers what reaches delta by the lower bound of its share."""
    level, need, good = float(delta), np.empty(n + 1, dtype=np.int64), 0
    for k in range(n + 1):
        # Of more rows at least as many must be good.
        while good <= k and worth(good, k - good) < level:
            good += 1
        need[k] = good
    goods = np.arange(n + 1)
    most = np.searchsorted(need, goods, side="right") - 1  # of how many rows so many good ones do
    return Rules(need, np.maximum(most - goods, -1), least)


class _Search:
    """The search of one instance for the fewest facts that are good enough.

    What is proved of a set is proved of the rows searched, not of those that they were drawn from;
    of these the enclosure speaks. Facts that can tell (Lemma 150) are numbered from 0.
    """

    def __init__(self, view: MatchingView, task: Task, rules: Rules) -> None:
        self.view, self.task, self.rules = view, task, rules
        members = np.flatnonzero(task.may_choose(1, view.n_units)[0])
        self.n_members = len(members)
        self.most = self.n_members if task.most is None else min(task.most, self.n_members)
        self.units, self.facts = view.telling(task.include, members, rules.least)

    def run(self) -> tuple[list[int], str, int, str]:
        """Search.

        Returns
        -------
        features : list of int
        minimality : str
        size_lower : int
            The size below which no allowed set reaches delta.
        why : str
            Why no set reaches delta, if that is not what was asked for.
        """
        forced, why, word = self.task.include, "", "minimum"
        chosen, least = self._smallest(self.facts, _BUDGET)
        if chosen is None and least <= self.most:
            chosen = self._beam[0]
            if chosen is not None:
                chosen, word = self._shrunk(chosen)
        if chosen is None:
            chosen, word = self._best(), "best-of-size"
            if chosen is None or self.task.max_size is None:
                why = self._unreachable(chosen, least > self.most)
        at = np.array(chosen or [], dtype=np.intp)
        if len(at) > 1:
            at = at[_greedy_order(_only(self.facts, at))]
        order = self.units[at].tolist()
        least = len(order) if word == "minimum" else min(least, self.n_members)
        return [*forced, *order], word, len(forced) + least, why

    def _smallest(self, facts: Facts, budget: int) -> tuple[list[int] | None, int]:
        """Return the best of the smallest sets that are good enough, and their size.

        None without one, with the first size that stayed open; beyond ``most`` none did. No set is
        larger than all facts: there is one then that can be left out (Lemma 150).
        """
        for size in range(min(self.most, len(facts.shared)) + 1):
            chosen, verdict, _, deeper, spent = _best_of_size(facts, self.rules, size, budget)
            budget -= spent
            if verdict:
                return (chosen if verdict > 0 else None), size
            if not deeper:
                break
        return None, self.most + 1

    def _best(self) -> list[int] | None:
        """Return the best set found, whether it reaches delta or not; None if rows are too few."""
        n = len(self.rules.need)
        any_share = Rules(np.zeros(n, np.int64), np.full(n, n, np.int64), self.rules.least)
        best, value, budget = None, -1.0, _BUDGET
        for size in range(min(self.most, len(self.units)) + 1):
            told = _best_of_size(self.facts, any_share, size, budget)
            chosen, verdict, found, _, spent = told
            budget -= spent
            if found > value:
                best, value = chosen, found
            if verdict == 0:
                return best
            if budget < 0:
                grown, worth_of_it = self._beam[1:]
                return grown if worth_of_it > value else best
        return best

    @cached_property
    def _beam(self) -> tuple[list[int] | None, list[int] | None, float]:
        """Grow sets by one fact at a time from the best of each size.

        Every fact removes a bad row that those before it leave, so there is an end. Returns the
        best of the smallest sets found that are good enough; or, if there is none, the set that is
        worth most, and that.
        """
        before: list[tuple[int, ...]] = [()]
        best, value = None, -1.0
        for size in range(min(self.most, len(self.units))):
            path = self._rows_of(before)
            worths = np.empty((len(before), len(self.units)))
            enough = np.empty(worths.shape, dtype=np.bool_)
            grown(self.facts, self.rules, path, worths, enough)
            # A set grows from as many others as it has facts, at most.
            most = _BEAM * min(size + 1, len(before))
            asked = worths >= _largest(worths[worths >= _largest(worths[0], most)], most)
            if enough.any():
                asked |= enough & (worths == worths[enough].max())
            found, reaching = {}, set()
            for s, j in np.argwhere(asked).tolist():
                larger = tuple(sorted((*before[s], j)))
                found[larger] = float(worths[s, j])
                if enough[s, j]:
                    reaching.add(larger)
            order = sorted(found, key=lambda chosen: (-found[chosen], chosen))
            first = next((chosen for chosen in order if chosen in reaching), None)
            if first is not None:
                return list(first), None, -1.0
            if not order:
                break
            if found[order[0]] > value:
                best, value = list(order[0]), found[order[0]]
            before = order[:_BEAM]
        return None, best, value

    def _rows_of(self, sets: list[tuple[int, ...]]) -> Path:
        """Return the rows that are left by each of some sets, as levels of a path."""
        facts = self.facts
        path = _path(facts, 0)
        rows = np.repeat(facts.everyone[None], len(sets), axis=0)
        for s, chosen in enumerate(sets):
            rows[s] &= np.bitwise_and.reduce(facts.shared[list(chosen)], axis=0)
        goods, bads = _by_kind(rows, facts.good_words)
        return path._replace(rows=rows, goods=goods, bads=bads)

    def _shrunk(self, chosen: list[int]) -> tuple[list[int], str]:
        """Leave out facts as long as what is left reaches delta."""
        part, _ = self._smallest(_only(self.facts, np.sort(chosen)), _BUDGET_OF_PARTS)
        if part is not None:
            return np.sort(chosen)[part].tolist(), "subset-minimal"
        for smaller in combinations(chosen, len(chosen) - 1):
            good, bad = self._left(smaller)
            if good + bad >= self.rules.least and good >= self.rules.need[good + bad]:
                return self._shrunk(list(smaller))
        return chosen, "locally-minimal"

    def _left(self, chosen: Collection[int]) -> tuple[int, int]:
        """Count the good and the bad rows that share the facts of a set."""
        path = self._rows_of([tuple(chosen)])
        return int(path.goods[0]), int(path.bads[0])

    def _unreachable(self, best: list[int] | None, proved: bool) -> str:
        task, least = self.task, self.rules.least
        rows = self.view.matches(()).searched.rows
        if best is None:
            left = sum(self._left(()))
            share = "shares" if left == 1 else "share"
            shared = f"{left:,} of the {rows:,} rows searched {share} the facts in include"
            if not task.include:
                shared = f"without a copy of the row itself, {rows:,} rows are searched"
            return (
                f"min_rows = {least} is not reached for this row: {shared}. Lower min_rows"
                f"{', or include fewer features' if task.include else ''}."
            )
        good, bad = self._left(best)
        what = "cannot be reached" if proved else "is not reached by any set found"
        hint = ", or set max_size to get the best set all the same" if not task.flag else ""
        kept = ["with the features in include"] if task.include else []
        kept += [task.barring] if task.restricted or task.exclude else []
        barred = f" {' and '.join(kept)}" if kept else ""
        level = exact_text(float(task.delta))
        return (
            f"delta = {level} {what} for this row{barred}: of the sets that at least "
            f"min_rows = {least} of the {rows:,} rows searched share, the best "
            f"{'' if proved else 'found '}by Wilson's lower bound keeps the class in {good:,} of "
            f"{good + bad:,}. Lower delta or min_rows{hint}."
        )


def _largest(worths: NDArray[np.float64], k: int) -> float:
    """Return the value that so many of some are not below; 0 if fewer are positive."""
    return max(float(np.partition(worths, -k)[-k]), 0.0) if len(worths) >= k else 0.0


def _best_of_size(
    facts: Facts, rules: Rules, size: int, budget: int
) -> tuple[list[int], int, float, bool, int]:
    """Return the best set of so many facts, and what `best_of_size` says of it."""
    if size == 0:
        n = facts.good + facts.bad
        if n < rules.least or facts.good < rules.need[n]:
            return [], 0, -1.0, n >= rules.least, 0
        # As good as a fact that all rows share.
        facts = _only(facts, slice(0, 0))
        facts = facts._replace(shared=facts.everyone[None], lost=np.zeros(1, dtype=np.int64))
    path = _path(facts, max(size, 1))
    told = best_of_size(facts, rules, path, budget)
    return path.best[:size].tolist(), *told


def _path(facts: Facts, size: int) -> Path:
    """Return room for a search of sets of one size; its level 0 has all rows and all facts."""
    h, words = facts.shared.shape
    rows = np.empty((size + 1, words), dtype=np.uint64)
    kids, lost = np.empty((2, size + 1, h), dtype=np.int64)
    goods, bads, many, at = np.zeros((4, size + 1), dtype=np.int64)
    rows[0], kids[0], lost[0], many[0] = facts.everyone, np.arange(h), facts.lost, h
    goods[0], bads[0] = facts.good, facts.bad
    best, tally = np.zeros(size, dtype=np.int64), np.empty(h, dtype=np.int64)
    return Path(rows, goods, bads, kids, lost, many, at, best, tally)
