"""Unit laws: what the units of a model contribute when they are unknown, exactly and as tables.

What comes in is a source: what the values of unknown units are. `Contributions` knows the least and
the most of every unit exactly, and lists all exact values where they are not too many. `Tables` has
the same in floats, one array of all values in turns of a period (Proposition 380), with what is
far out held within a range (Proposition 152): for the tables of `spectrum`, for the stochastic
order (`Atoms`), and to say what the units of rows are worth (`Seen`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.core.law import Row
from sklearn_probsr.core.means import worth
from sklearn_probsr.independent.order import Atoms
from sklearn_probsr.independent.seen import Seen as SeenRows
from sklearn_probsr.independent.seen import distinct
from sklearn_probsr.independent.sources import Source
from sklearn_probsr.independent.spectrum import FAR_CELLS, Table, UnitLaws, build, period_of
from sklearn_probsr.independent.vaaler import UNIT
from sklearn_probsr.model.linear import LinearModel
from sklearn_probsr.model.numbers import row_sums
from sklearn_probsr.model.units import Unit

__all__ = ["Contributions", "FAR", "Seen", "Tables", "are_few", "extremes", "turned"]

# So many states are told apart by comparing them one by one.
_FEW = 64


def extremes(
    weights: NDArray[np.float64], low: NDArray[np.float64], high: NDArray[np.float64]
) -> tuple[Fraction, Fraction]:
    """Return the least that some states are worth, and the most that others are, exactly."""
    return (
        min(worth(weights, state) for state in _distinct(low)),
        max(worth(weights, state) for state in _distinct(high)),
    )


def _distinct(states: NDArray[np.float64]) -> list[NDArray[np.float64]]:
    """Return the different rows; mostly they are few."""
    found: list[NDArray[np.float64]] = []
    while len(states) and len(found) < _FEW:
        found.append(states[0])
        states = states[(states != states[0]).any(axis=1)]
    return [*found, *np.unique(states, axis=0)]


# With more values than this together, contributions are not listed; rows that tell mostly.
_MOST_LISTED, _GLANCE = 2**14, 2**12
# Models with so few units, and so few values, are counted; tables pay beyond.
_FEW_UNITS, _FEW_VALUES = 24, 48
# Numbers this many turns out are beyond what tables tell; sets with them are counted.
FAR = 10**6
# What several columns add up to is computed as fractions where it is known less well than this.
_MOST_DOUBT = 1e-9
# Values beyond are held here, in the common unit.
_FARTHEST = 2.0**500
# Beyond this, sums are exact ones.
_LARGEST = 2.0**900
# Values of one unit that are not listed are told apart by so many parts of their spread.
_PARTS = 64
# Fewer values than this are never put into cells.
_FEW_STATES = 64
# The bulk of a unit is between two quantiles, which are so many deviations of a normal law apart.
# The last pairs are for values far out that are not rare, such as codes for what is missing.
_QUANTILES = np.array([0.025, 0.25, 0.4, 0.5, 0.6, 0.75, 0.975])
_APART = np.array([3.92, 1.349, 0.507])
# Periods of so many deviations of the bulk are left as they are; others must become shorter by
# this factor. Ranges of twice as many deviations each are tried, and so many.
_LONG, _SHORTER, _RANGES = 48.0, 2.0, 24
# Where decisions are made, in deviations, what may be changed there, and what a period of one
# deviation adds to the width of a bound there, over the degree.
_DECIDED, _MOST_CHANGED, _BLURRED = 4.0, 1 / 32, 0.3
# Centres and periods are whole parts of this: exact numbers made of them stay short.
_SHORT = 2.0**24

# The degree that bounds are read from; that which most sets are told from the level with, if that
# one has more nodes than this for sets of so many units; and a sharper one if it has few.
_SHARP, _COARSE, _SHARPEST = 2**14, 2**9, 2**17
_FEW_NODES, _HARDLY_ANY, _TYPICAL = 384, 64, 12
_MOST_NODES = 2**14
# Units of more values than this, on average, take seconds at the highest degree.
_NARROW = 16
# A table knows sets of so many units, one that knows more has a lower degree; and the sharper one
# fewer, or more if that costs next to nothing.
_SIZE, _SHORT_SETS, _LONG_SETS = 32, 16, 96
# Whole numbers below this are floats, and so are their differences.
_WHOLE = 2**52
# Contributions that are remembered.
_MOST_KNOWN = 2**17


def turned(value: Fraction | int, most: float = 2.0 * FAR) -> float:
    """Return a number of turns, cut off beyond some: what is further out must not be summed."""
    try:
        found = float(value)
    except OverflowError:
        found = math.copysign(math.inf, 1 if value > 0 else -1)
    return max(min(found, most), -most)


def are_few(seen: Contributions, values: int = _FEW_VALUES) -> bool:
    """Tell whether units and their values are so few that sets are counted one by one."""
    if seen.values is None:
        return False
    return len(seen.ends) <= _FEW_UNITS and sum(map(len, seen.values)) <= values


class _Floats(NamedTuple):
    """The values of one unit as floats, over a power of two, from its origin on.

    ``away`` has shape (m,), and so have their ``chances`` and ``counts``, whole parts of the chance
    where values are not listed. Each is off by at most ``doubt``, beside three roundings.
    """

    away: NDArray[np.float64]
    chances: NDArray[np.float64]
    counts: NDArray[np.int64] | None
    doubt: float


class Contributions:
    """What the units of a model contribute when they are unknown.

    Parameters
    ----------
    model : LinearModel
    source : Source

    Attributes
    ----------
    scale : Fraction
        What 1 is worth here: contributions are whole numbers where they are listed.
    threshold : Fraction
        The model's threshold on this scale.
    ends : list of pairs
        The least and the most that each unit can contribute, exactly.
    values, chances : list of list of int, or None
        What each unit may contribute, increasing, and how likely that is, over the common
        ``denominator``. None where they are too many to be listed.
    """

    def __init__(self, model: LinearModel, source: Source) -> None:
        self.model, self.denominator = model, source.denominator
        self.values: list[list[int]] | None = None
        self.chances: list[list[int]] | None = None
        self.ends: list[tuple[Fraction | int, Fraction | int]]
        self.scale = Fraction(1)
        if isinstance(source, SeenRows) and _has_many(source):
            weights, rows = source.data.weights, source.rows
            if not weights.all():
                rows, weights = rows[weights > 0], weights[weights > 0]
            self.rows, self.weights = rows, weights
            self.columns = [list(unit.columns) for unit in model.units or ()]
            self.ends = [self._extremes(at) for at in self.columns]
        else:
            laws = source.atoms(model)
            unit = Fraction(1, math.lcm(*(c.denominator for law in laws for c in law)))
            whole = [{int(c / unit): chance for c, chance in sorted(law.items())} for law in laws]
            divisor = math.gcd(*(c for law in whole for c in law)) or 1
            self.scale = unit * divisor
            self.values = [[c // divisor for c in law] for law in whole]
            self.chances = [list(law.values()) for law in whole]
            self.ends = [(v[0], v[-1]) for v in self.values]
        self.threshold = Fraction(model.threshold) / self.scale

    def known(self, row: Row) -> list[Fraction]:
        """Return what the units of an instance contribute, on this scale."""
        return [c / self.scale for c in self.model.contributions(row)]

    @cached_property
    def fineness(self) -> int:
        """The least number by which all ends can be multiplied to be whole."""
        return math.lcm(*(end.denominator for pair in self.ends for end in pair))

    @cached_property
    def by_range(self) -> list[int]:
        """The units that vary, those with the widest range first."""
        widths = [most - least for least, most in self.ends]
        return sorted((u for u, width in enumerate(widths) if width), key=lambda u: -widths[u])

    def cut(self, known: Fraction | int) -> int:
        """Return the least whole number that, with what is known, belongs to ``classes[1]``."""
        left = self.threshold - known
        return math.floor(left) + 1 if self.model.strict else math.ceil(left)

    def count_above(self, unit: int, level: Fraction, strict: bool) -> Fraction | None:
        """Return how likely a unit of one column that is not listed contributes a level, or more.

        If ``strict``, more. None if there are several columns.
        """
        at = self.columns[unit]
        if len(at) > 1:
            return None
        weight = Fraction(self.model.weights[at[0]])
        column, cut = self.rows[:, at[0]], level / weight
        if strict:
            inside = _above(column, cut) if weight > 0 else _above(-column, -cut)
        else:
            inside = ~(_above(-column, -cut) if weight > 0 else _above(column, cut))
        return Fraction(int(self.weights[inside].sum()), int(self.weights.sum()))

    def drawn(
        self, unit: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], Callable[[int], Fraction | int]]:
        """Return what a unit may contribute to the decision function, as floats, and the chances.

        With them what returns one of these contributions exactly, on the scale.
        """
        if self.values is not None and self.chances is not None:
            v = self.values[unit]
            chances = np.array([chance / self.denominator for chance in self.chances[unit]])
            floats = np.array([turned(c * self.scale, _LARGEST) for c in v])
            return floats, chances / chances.sum(), v.__getitem__
        at = self.columns[unit]
        weights, rows = self.model.weights[at], self.rows
        with np.errstate(over="ignore", invalid="ignore"):  # what is no float is summed exactly
            floats = np.einsum("ij,j->i", rows[:, at], weights)
            floats[(np.abs(rows[:, at]) * np.abs(weights)).sum(axis=1) > _LARGEST] = np.nan
        chances = self.weights / int(self.weights.sum())
        return floats, chances / chances.sum(), lambda row: worth(weights, rows[row, at])

    # --- in floats ---------------------------------------------------------------------------

    @cached_property
    def bulks(self) -> list[tuple[Fraction | int, list[Fraction | int]]]:
        """The median of every unit, about, and how far apart the quantiles of its bulk are."""
        return [self._bulk(u) for u in range(len(self.ends))]

    def _bulk(self, unit: int) -> tuple[Fraction | int, list[Fraction | int]]:
        if self.values is not None and self.chances is not None:
            v: Sequence[Fraction | int] = self.values[unit]
            shares = np.cumsum([chance / self.denominator for chance in self.chances[unit]])
            places = np.searchsorted(shares, _QUANTILES - 1e-12).clip(max=len(v) - 1).tolist()
            at = [v[i] for i in places]
        else:
            columns = self.columns[unit]
            rows = self.rows[:: max(len(self.rows) // _GLANCE, 1), columns]
            weights = self.model.weights[columns]
            order = np.argsort(rows[:, 0] if len(columns) == 1 else rows @ weights, kind="stable")
            states = rows[order[(_QUANTILES * len(order)).astype(np.intp)]]
            at = [worth(weights, state) for state in states]
        return at[3], [abs(high - low) for low, high in zip(at[:3], at[:3:-1], strict=True)]

    def floats(self, unit: int, power: int) -> _Floats:
        """Return the values of a unit over two to a power: the listed ones, or rows (Prop. 380)."""
        origin, scale = self.bulks[unit][0], Fraction(2) ** power
        if self.values is not None and self.chances is not None:
            away = np.array([turned((c - origin) / scale, _FARTHEST) for c in self.values[unit]])
            shares = np.array([chance / self.denominator for chance in self.chances[unit]])
            return _Floats(away, shares, None, 0.0)
        at, doubt = self.columns[unit], 0.0
        weights = self.model.weights[at]
        if len(at) == 1:
            column, middle = self.rows[:, at[0]], float(origin / Fraction(weights[0] or 1.0))
            mantissa, own = math.frexp(float(weights[0]))
            # Differences of floats near the largest are not floats.
            shift = 2 if max(abs(column.min()), abs(column.max())) > 2.0**1020 else 0
            apart = column * 2.0**-shift - middle * 2.0**-shift
            with np.errstate(over="ignore"):
                away = np.ldexp(apart, own + shift - power) * mantissa
        else:
            about, off, own = self._about(at)
            with np.errstate(over="ignore"):
                away = np.ldexp(about - turned(origin / Fraction(2) ** own), own - power)
            doubt = math.ldexp(2 * off, min(own - power, 1000))
            least, most = self.ends[unit]
            width = next((spread for spread in self.bulks[unit][1] if spread), most - least)
            if doubt > _MOST_DOUBT * turned(width / scale, _FARTHEST):
                states, which = np.unique(self.rows[:, at], axis=0, return_inverse=True)
                exact = (turned((worth(weights, s) - origin) / scale, _FARTHEST) for s in states)
                away, doubt = np.array(list(exact))[which.ravel()], 0.0
        away, counts = np.clip(away, -_FARTHEST, _FARTHEST), self.weights
        if len(np.unique(away[:_GLANCE])) <= _FEW_STATES:  # equal ones once
            away, which = np.unique(away, return_inverse=True)
            counts = np.zeros(len(away), dtype=np.int64)
            np.add.at(counts, which.ravel(), self.weights)
        shares = self._shares if counts is self.weights else counts / int(self.weights.sum())
        return _Floats(away, shares, counts, doubt)

    @cached_property
    def _shares(self) -> NDArray[np.float64]:
        """Return how likely each row is."""
        found: NDArray[np.float64] = self.weights / int(self.weights.sum())
        return found

    def _extremes(self, at: list[int]) -> tuple[Fraction, Fraction]:
        weights = self.model.weights[at]
        if len(at) == 1:
            column = self.rows[:, at[0]]
            ends = [Fraction(weights[0]) * Fraction(x) for x in (column.min(), column.max())]
            return min(ends), max(ends)
        about, off, _ = self._about(at)
        low, high = about <= about.min() + 2 * off, about >= about.max() - 2 * off
        return extremes(weights, self.rows[low][:, at], self.rows[high][:, at])

    def _about(self, at: list[int]) -> tuple[NDArray[np.float64], float, int]:
        """Return what a unit of several columns contributes, over a power of two, and the error.

        Terms are at most 1: each is rounded twice, and so is every sum of them at most.
        """
        scaled = [_scaled(self.rows[:, j]) for j in at]
        mantissas, exponents = np.frexp(self.model.weights[at])
        powers = exponents + np.array([power for _, power in scaled])
        power = int(powers[mantissas != 0].max(initial=-4000))
        total = np.zeros(len(self.rows))
        for (values, _), mantissa, own in zip(scaled, mantissas, powers, strict=True):
            total += values * math.ldexp(mantissa, max(int(own) - power, -1070))
        return total, 4 * len(at) * len(at) * UNIT, power


def _has_many(source: SeenRows) -> bool:
    """Tell whether rows have so many values that they are not to be listed."""
    if source.rows.dtype == np.bool_:
        return False
    if source.crowded is None:
        groups = [list(unit.columns) for unit in source.model.units or ()]
        source.crowded = len(source.rows) * len(groups) > _MOST_LISTED and any(
            sum(max(len(np.unique(rows[:, j])) for j in at) for at in groups) > _MOST_LISTED
            for rows in (source.rows[:_GLANCE], source.rows)
        )
    return source.crowded


def _above(column: NDArray[np.float64], cut: Fraction) -> NDArray[np.bool_]:
    """Tell which floats are larger than a number, exactly."""
    largest = Fraction(np.finfo(np.float64).max)
    if abs(cut) > largest:
        return np.full(len(column), cut < 0)
    return column >= float(cut) if Fraction(float(cut)) > cut else column > float(cut)


def _bits(number: Fraction | int) -> int:
    return number.numerator.bit_length() - number.denominator.bit_length()


def _scaled(column: NDArray[np.float64]) -> tuple[NDArray[np.float64], int]:
    """Return a column over a power of two above all its sizes, and the exponent of that."""
    _, power = math.frexp(max(abs(float(column.min())), abs(float(column.max()))))
    half = -power // 2
    return column * math.ldexp(1.0, half) * math.ldexp(1.0, -power - half), power


class _Facts:
    """Units that are one of a few columns, or none: rows share what that is worth.

    Attributes
    ----------
    unit : ndarray of int
        That of every column, and of every unit's "none" behind them.
    worth : list of Fraction
        What each of them contributes.
    """

    def __init__(self, model: LinearModel) -> None:
        self.unit = np.zeros(model.n_features + model.n_units, dtype=np.intp)
        for u, each in enumerate(model.units or ()):
            self.unit[[*each.columns, model.n_features + u]] = u
        none = [Fraction(0)] * model.n_units
        self.worth = [*map(Fraction, model.weights.tolist()), *none]

    def codes(self, rows: NDArray[Any]) -> NDArray[np.intp]:
        """Return which fact each unit of checked rows is: (rows, units)."""
        n, columns = rows.shape
        found = np.tile(np.arange(columns, len(self.unit)), (n, 1))
        at, column = np.nonzero(rows)
        found[at, self.unit[column]] = column
        return found


def _is_one_hot(unit: Unit) -> bool:
    if unit.states is None:
        return False
    ones = [sum(state) for state in unit.states]
    return max(ones) <= 1 and all(x in (0, 1) for state in unit.states for x in state)


class Seen(NamedTuple):
    """What the units of rows of one class are worth: arrays of shape (rows, units), or (rows,).

    Attributes
    ----------
    gain : ndarray
        How far fixing a unit moves the cut, in turns.
    costly, gainful : ndarray of bool
        Whether leaving it unknown may cost something, and may gain something.
    known : ndarray
        What it is worth on the scale of `Atoms`.
    same : ndarray of int64
        Which of its values that is, counted from its first, the least cost first; -1 if none.
    cut, blur, slack : ndarray of shape (rows,)
        Where the cut is when nothing is fixed, what it is off by whatever is fixed, and what
        differences of values are off by.
    near : ndarray of bool, shape (rows,)
        Whether nothing is too far out for tables.
    """

    gain: NDArray[np.float64]
    costly: NDArray[np.bool_]
    gainful: NDArray[np.bool_]
    known: NDArray[np.float64]
    same: NDArray[np.int64]
    cut: NDArray[np.float64]
    blur: NDArray[np.float64]
    slack: NDArray[np.float64]
    near: NDArray[np.bool_]

    def take(self, rows: NDArray[np.intp]) -> Seen:
        """Return some of the rows."""
        parts: Any = (part[rows] for part in self)
        return Seen(*parts)


class Tables:
    """What all rows before a model share: its tables, and the values of its units in turns.

    Parameters
    ----------
    contributions : Contributions

    Attributes
    ----------
    turn : Fraction
        What one turn is, on the scale of the contributions.
    middle : list of Fraction
        From where on each unit's values are counted: next to its mean.
    doubt : float
        What all values are off by together, beside what a cut is rounded by; in turns.
    variance, below, above : ndarray of shape (units,)
        Of each contribution, in squared turns; and how far its least and its most are away from
        the middle, in turns, without what is far out.
    far : ndarray
        What values that were moved change, see `spectrum.moved`.
    """

    def __init__(self, contributions: Contributions) -> None:
        self.seen = seen = contributions
        bulk = max((spread for _, each in seen.bulks for spread in each), default=0)
        widest = max((most - least for least, most in seen.ends), default=0)
        self._power = power = _bits(bulk or widest or 1)
        floats = [seen.floats(u, power) for u in range(len(seen.ends))]
        self._start = np.cumsum([0, *(len(one.away) for one in floats)])
        base = Fraction(2) ** power
        spreads = np.array(
            [[turned(spread / base, _FARTHEST) for spread in each] for _, each in seen.bulks]
        )
        largest = np.array([np.abs(one.away).max() for one in floats])
        doubts = np.array([one.doubt for one in floats])
        self._cells = _in_cells(floats, spreads)
        held, period = self._hold(spreads)
        for one in floats:
            np.clip(one.away, -held, held, out=one.away)
        mean = np.array([one.away @ one.chances for one in floats])
        self._held, self._centre = held, np.rint(mean * _SHORT) / _SHORT
        # A period has few bits, too, so that exact numbers made of it stay short.
        mantissa, exponent = math.frexp(period)
        self._period = period = math.ldexp(math.ceil(mantissa * _SHORT) / _SHORT, exponent)
        self.turn = base * Fraction(period)
        self.middle = [
            origin + base * Fraction(c)
            for (origin, _), c in zip(seen.bulks, self._centre.tolist(), strict=True)
        ]
        doubts += 8 * UNIT * np.minimum(largest, held) + 2.0**-1000
        self.doubt = float(doubts.sum()) / period
        found = []
        for one, c in zip(floats, self._centre.tolist(), strict=True):
            about = one.away - c
            found.append(
                (one.chances @ about**2 / period**2, about.max() / period, -about.min() / period)
            )
        self.variance, self.above, self.below = np.array(found).reshape(-1, 3).T.copy()
        cuts = np.append(np.arange(FAR_CELLS) / FAR_CELLS * period, math.inf)
        self.far = self._changes(held, cuts)
        self._listed: UnitLaws | None = None
        self._tables: dict[tuple[int, int], Table] = {}
        self._atoms: dict[bool, Atoms] = {}
        self._known: dict[tuple[int, Fraction], tuple[float, ...]] = {}

    def _laws(self) -> UnitLaws:
        """Return all values, what is far out at the end of its range.

        Where they are not listed they take as much room as the data: made anew for each table.
        """
        if self._listed is not None:
            return self._listed
        value, chance = np.empty(self._start[-1]), np.empty(self._start[-1])
        for u, (a, b) in enumerate(pairwise(self._start.tolist())):
            one = self.seen.floats(u, self._power)
            value[a:b] = np.clip(one.away, -self._held, self._held) / self._period
            chance[a:b] = one.chances
        laws = UnitLaws(self._start, value, chance, self._centre / self._period)
        if self.seen.values is not None:
            self._listed = laws
        return laws

    # --- what is far out ---------------------------------------------------------------------

    def _hold(self, spreads: NDArray[np.float64]) -> tuple[float, float]:
        """Return how far from its median every unit is held, and the period of sums then.

        Of some ranges, that which leads to the narrowest bounds, about; only if some values are so
        far out that the period is many deviations of the bulk.
        """
        cells = self._cells
        sizes = np.maximum(np.abs(cells.low), np.abs(cells.high))
        most = min(float(sizes.max(initial=0.0)), _FARTHEST / 2)
        period = self._period_within(most)
        best = (math.inf, most, period)
        for deviation in (np.sqrt((spreads**2).sum(axis=0)) / _APART).tolist():
            if not 0 < _LONG * deviation < period:
                continue
            for held in (2.0 * deviation * 2.0 ** np.arange(_RANGES)).tolist():
                if held >= most:
                    break
                shorter = self._period_within(held)
                changed = float(self._changes(held, np.array([_DECIDED * deviation]))[0])
                width = _BLURRED / _SHARP * shorter / deviation + changed
                if _SHORTER * shorter <= period and changed <= _MOST_CHANGED and width < best[0]:
                    best = width, held, shorter
        return best[1:]

    def _period_within(self, held: float) -> float:
        """Return a period of units that are held, around the means of their cells (Prop. 52)."""
        cells = self._cells
        low, high = np.clip(cells.low, -held, held), np.clip(cells.high, -held, held)
        mean = np.add.reduceat((low + high) / 2 * cells.chance, cells.start[:-1])
        centre = np.rint(mean * _SHORT) / _SHORT
        # The mean of the values themselves is rounded to another number, perhaps.
        widths = np.add.reduceat((high - low) * cells.chance, cells.start[:-1])
        off = np.repeat(widths + 2 / _SHORT, np.diff(cells.start))
        return period_of(UnitLaws(cells.start, high + off, cells.chance, centre), low - off)

    def _changes(self, held: float, cuts: NDArray[np.float64]) -> NDArray[np.float64]:
        """Bound what is changed by holding units, at some cuts in the unit of cells (Prop. 152).

        What may be moved counts as moved.
        """
        cells, start = self._cells, self._cells.start[:-1]
        low, high = np.clip(cells.low, -held, held), np.clip(cells.high, -held, held)
        mean = np.add.reduceat((low + high) / 2 * cells.chance, start)
        middle = np.repeat(mean, np.diff(cells.start))
        size = np.maximum(high - middle, middle - low)
        each = np.add.reduceat(size**2 * cells.chance, start) * (1 + 1e-6)
        off = np.add.reduceat((high - low) * cells.chance, start) + 2 / _SHORT
        found = np.zeros(len(cuts))
        for beyond, end in ((cells.high > held, -mean), (cells.low < -held, mean)):
            share = np.add.reduceat(np.where(beyond, cells.chance, 0.0), start) * (1 + 1e-6)
            total = np.zeros(len(cuts))
            for u in np.flatnonzero(share).tolist():
                # What makes up for a unit are the others.
                others = max(float(np.delete(each, u).sum()), 1e-300)
                reach = (held + end[u]) * (1 - 1e-6) - 2 * off.sum()
                gap = np.maximum(reach - cuts, 0.0)
                total += share[u] * (others / (others + gap**2))
            found = np.maximum(found, total)
        return found

    # --- tables ------------------------------------------------------------------------------

    def sharp(self, size: int) -> Table:
        """Return the table that bounds of sets of so many units are read from."""
        found = self._table(_SHARP, _MOST_NODES, size)
        many = found.counts[-1] > _HARDLY_ANY
        if (many and size > _SHORT_SETS) or found.counts[min(_TYPICAL, found.most)] > _HARDLY_ANY:
            return found
        if self._start[-1] > _NARROW * len(self._centre):
            return found
        return self._table(_SHARPEST, _MOST_NODES, size, _SHORT_SETS if many else _LONG_SETS)

    def coarse(self, size: int) -> Table:
        """Return the table that most sets are told from a level with."""
        sharp = self.sharp(size)
        if sharp.counts[min(max(_TYPICAL, size), sharp.most)] <= _FEW_NODES:
            return sharp
        return self._table(_COARSE, _COARSE, size)

    def of_degree(self, degree: int, size: int) -> Table:
        """Return the table of a degree, or a lower one, that knows sets of so many units."""
        return self._table(degree, degree, size)

    def _table(self, degree: int, nodes: int, size: int, known: int = _SIZE) -> Table:
        n = len(self._centre)
        while known < size:
            known *= 4
        key = (degree, min(known, n))
        if key not in self._tables:
            self._tables[key] = build(self._laws(), degree, key[1], nodes, 1.0)
        return self._tables[key]

    @property
    def nbytes(self) -> int:
        """How much memory they take."""
        return sum(table.nbytes for table in list(self._tables.values()))

    # --- where cuts are ----------------------------------------------------------------------

    @cached_property
    def cuts(self) -> tuple[float, float]:
        """Where the cut is when nothing is fixed, in turns above the middles of all units.

        Between whole numbers there is no mass, so with ``whole`` contributions, the second, the cut
        is half a number below the first that belongs to ``classes[1]``.
        """
        seen, middle = self.seen, sum(self.middle, start=Fraction(0))
        cut = turned((seen.threshold - middle) / self.turn)
        if seen.values is None:
            return cut, cut
        return cut, turned((seen.cut(0) - Fraction(1, 2) - middle) / self.turn)

    def blur(self, cut: Any, gains: NDArray[np.float64]) -> NDArray[np.float64]:
        """Bound what a row's cut is off by, whatever is fixed: roundings, and doubts of values."""
        size = np.abs(cut) + row_sums(np.abs(gains)) + 1
        blur: NDArray[np.float64] = (gains.shape[-1] + 8) * 2 * UNIT * size + self.doubt
        return blur

    # --- values by cost ----------------------------------------------------------------------

    @cached_property
    def is_binary(self) -> bool:
        """Whether every unit is 0 or 1 in all rows that may come."""
        return self.seen.model.binary_core is not None

    @cached_property
    def _whole(self) -> bool:
        """Whether all values are whole numbers of one scale that floats hold."""
        values = self.seen.values
        return values is not None and all(max(-v[0], v[-1]) < _WHOLE for v in values)

    def atoms(self, positive: bool) -> Atoms:
        """Return the values of units by what they cost a class, the least cost first."""
        if positive not in self._atoms:
            seen, step = self.seen, -1 if positive else 1
            if seen.values is None or seen.chances is None:
                self._atoms[positive] = self._cells_by_cost(step)
                return self._atoms[positive]
            limit, start = math.inf, np.cumsum([0, *map(len, seen.values)])
            if self.is_binary or self._whole:
                scale = seen.scale if self.is_binary else Fraction(1)
                worth = [float(c * scale) for v in seen.values for c in v[::step]]
            else:
                limit = float(FAR)
                worth = [
                    turned((c - middle) / self.turn, 4 * FAR)
                    for v, middle in zip(seen.values, self.middle, strict=True)
                    for c in v[::step]
                ]
            below = [total for each in seen.chances for total in accumulate(each[::step])]
            value = np.array(worth)
            self._atoms[positive] = Atoms(start, value, value, _ranks(below), limit)
        return self._atoms[positive]

    def _cells_by_cost(self, step: int) -> Atoms:
        """Return cells in place of values, with what each holds at least and at most."""
        cells, n = self._cells, len(self._centre)
        away = np.repeat(self._centre, np.diff(cells.start))
        low, high = (
            np.clip((end - away) / self._period, -4 * FAR, 4 * FAR)
            for end in (cells.low, cells.high)
        )
        inside = [slice(cells.start[u], cells.start[u + 1]) for u in range(n)]
        return Atoms(
            cells.start,
            np.concatenate([low[at][::step] for at in inside]),
            np.concatenate([high[at][::step] for at in inside]),
            np.concatenate([np.cumsum(cells.counts[at][::step]) for at in inside]),
            float(FAR),
        )

    # --- rows --------------------------------------------------------------------------------

    def look(self, rows: Row, positive: bool) -> Seen:
        """Return what the units of rows of a class are worth."""
        found = self._worths(rows)
        gain, whole, known = found[..., 0], (found[..., 3] > 0).all(axis=1), found[..., 4]
        above, below, same = found[..., 1] > 0, found[..., 2] > 0, found[..., 5].astype(np.int64)
        costly, gainful = (above, below) if positive else (below, above)
        atoms = self.atoms(positive)
        if positive:
            same = np.where(same >= 0, np.diff(atoms.start) - 1 - same, -1)
        cut = np.where(whole, self.cuts[1], self.cuts[0])
        blur = 2 * self.blur(max(map(abs, self.cuts)), gain)
        near = (np.abs(cut) <= FAR) & (np.abs(gain) <= FAR).all(axis=1)
        if self.is_binary:
            slack = np.zeros(len(gain))
        else:
            largest = np.abs(known).max(axis=1) + float(np.abs(atoms.low).max(initial=0.0))
            if self._whole:
                slack = np.where(whole & (largest < 2 * _WHOLE), 0.0, 32 * UNIT * largest)
            else:
                slack = 32 * UNIT * (largest + 1)
        return Seen(gain, costly, gainful, known, same, cut, blur, slack, near)

    def _worths(self, rows: Row) -> NDArray[np.float64]:
        """Return `worth` of every unit of every row: (rows, units, 6)."""
        model = self.seen.model
        if self.is_binary:
            zeros, ones = self._of_binary
            known = model.ones(rows)
            assert known is not None
            binary: NDArray[np.float64] = np.where(known[:, :, None], ones, zeros)
            return binary
        if self._facts is not None:
            return self._of_facts[self._facts.codes(rows)]
        found = np.empty((len(rows), model.n_units, 6))
        for u, (values, which) in enumerate(distinct(model, rows)):
            found[:, u] = np.array([self.worth(u, value) for value in values])[which]
        return found

    @cached_property
    def _facts(self) -> _Facts | None:
        model = self.seen.model
        if model.units is None or not all(map(_is_one_hot, model.units)):
            return None
        return _Facts(model)

    @cached_property
    def _of_binary(self) -> NDArray[np.float64]:
        both = zip(*self.seen.model.pairs, strict=True)
        return np.array([[self.worth(u, c) for u, c in enumerate(each)] for each in both])

    @cached_property
    def _of_facts(self) -> NDArray[np.float64]:
        assert self._facts is not None
        pairs = zip(self._facts.unit.tolist(), self._facts.worth, strict=True)
        return np.array([self.worth(u, value) for u, value in pairs])

    def worth(self, unit: int, value: Fraction) -> tuple[float, ...]:
        """Return of a contribution what it moves the cut by, and how it compares with others.

        That is its gain, whether it is above the least and below the most, whether it is whole, its
        number on the scale of `atoms`, and its place among the values. The value is that of the
        decision function.
        """
        key = (unit, value)
        if key in self._known:
            return self._known[key]
        seen, known = self.seen, value / self.seen.scale
        gain, place, is_whole = turned((known - self.middle[unit]) / self.turn), -1, False
        if seen.values is not None and known.denominator == 1:
            place, is_whole = self._places[unit].get(known.numerator, -1), True
        on_scale = gain
        if self.is_binary:
            on_scale = float(value)
        elif self._whole:
            on_scale = float(known) if abs(known) < _WHOLE else math.inf
        least, most = seen.ends[unit]
        found = (gain, known > least, known < most, is_whole, on_scale, place)
        if len(self._known) < _MOST_KNOWN:
            self._known[key] = found
        return found

    @cached_property
    def _places(self) -> list[dict[int, int]]:
        return [{c: j for j, c in enumerate(v)} for v in self.seen.values or ()]


class _Cells(NamedTuple):
    """The values of units, those of each from the least up; where they are many, cells of them.

    Attributes
    ----------
    start : ndarray of int64, shape (units + 1,)
    low, high : ndarray of shape (cells,)
        What each cell holds at least and at most, whatever is rounded.
    chance : ndarray of shape (cells,)
    counts : ndarray of int64, shape (cells,)
        The same in whole parts, where values are not listed.
    """

    start: NDArray[np.int64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    chance: NDArray[np.float64]
    counts: NDArray[np.int64]


def _in_cells(floats: Sequence[_Floats], spreads: NDArray[np.float64]) -> _Cells:
    """Put the values of units into cells, finer near the middle than far out."""
    parts: list[tuple[NDArray[Any], ...]] = []
    for one, each in zip(floats, spreads.tolist(), strict=True):
        away, size = one.away, next(filter(None, each), 0.0)
        size = size or float(np.abs(away).max(initial=0.0)) or 1.0
        if one.counts is None or len(away) <= _PARTS:
            off = one.doubt + 8 * UNIT * np.abs(away) + 2.0**-1000
            whole = np.zeros(len(away), np.int64) if one.counts is None else one.counts
            parts.append((away - off, away + off, one.chances, whole))
            continue
        place = np.floor(np.arcsinh(away / size) * _PARTS)
        first = place.min()
        count = np.bincount((place - first).astype(np.intp), one.counts).astype(np.int64)
        at = np.flatnonzero(count)
        ends = [np.sinh((first + at + step) / _PARTS) * size for step in (0.0, 1.0)]
        off = (np.abs(ends[0]) + np.abs(ends[1]) + size) * 1e-9 + one.doubt
        parts.append((ends[0] - off, ends[1] + off, count[at] / count.sum(), count[at]))
    each_part = [np.concatenate(some) for some in zip(*parts, strict=True)]
    start = np.cumsum([0, *(len(part[0]) for part in parts)])
    return _Cells(start, each_part[0], each_part[1], each_part[2], each_part[3])


def _ranks(numbers: Sequence[int]) -> NDArray[np.int64]:
    """Return whole numbers, or their ranks where they are too long."""
    if max(numbers, default=0) < 2**62:
        return np.array(numbers, dtype=np.int64)
    rank = {number: i for i, number in enumerate(sorted(set(numbers)))}
    return np.array([rank[number] for number in numbers], dtype=np.int64)
