"""Generated decisions over background rows, and what is true of all their sets, in whole numbers.

Two, three and six classes; rows of 0 and 1, decimals, numbers far apart, subnormal ones and such
whose products no float holds; ties, duplicates, rows that weigh nothing, units of several columns,
values that no row has. Nothing here but the numbers of a model comes from the package.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from sklearn_probsr import ArgmaxModel, Background, LinearModel, Unit

KINDS = ("bits", "tenths", "dyadic", "normal", "products", "subnormal", "states", "wide")
CLASSES = (2, 2, 3, 6)
# Some cases have more rows than are looked at in a block.
MANY_ROWS = 0.15


@dataclass(frozen=True)
class Decision:
    """A decision over rows, and the weight of the rows that keep the class with any set fixed.

    Sets are bit masks of units, or collections of units.

    Attributes
    ----------
    model : LinearModel or ArgmaxModel
    x : ndarray of shape (d,)
    rows : ndarray of shape (n, d)
    weights : ndarray of shape (n,), or None
        As they are given to `Background`.
    columns : tuple of tuple of int
        Those of each unit.
    decimal : bool
        Whether the numbers of the model mean the decimals that they print as.
    """

    model: Any
    x: np.ndarray
    rows: np.ndarray
    weights: np.ndarray | None
    columns: tuple[tuple[int, ...], ...]
    states: tuple[bool, ...]  # whether a unit is always there
    decimal: bool = False
    law: Any = field(default=None, compare=False)

    @property
    def h(self) -> int:
        """How many units there are."""
        return len(self.columns)

    @cached_property
    def counts(self) -> list[int]:
        """The weights of rows as whole numbers."""
        given = [1] * len(self.rows) if self.weights is None else self.weights.tolist()
        return _whole([Fraction(str(weight)) for weight in given])

    @cached_property
    def total(self) -> int:
        """What all rows weigh."""
        return sum(self.counts)

    @cached_property
    def _scores(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """What units add to the scores: of the instance (h, K), of rows (n, h, K), and constants.

        The scores of two classes are 0 and that of the model less its threshold. Whole numbers.
        """
        model = self.model
        exact = (lambda v: Fraction(str(v))) if self.decimal else (lambda v: Fraction(float(v)))
        if isinstance(model, LinearModel):
            lines = [[Fraction(0)] * len(self.x), [exact(w) for w in model.weights.tolist()]]
            starts = [Fraction(0), -exact(model.threshold)]
        else:
            lines = [[exact(w) for w in line] for line in model.weights.tolist()]
            starts = [exact(b) for b in model.intercepts.tolist()]
        k, d = len(lines), len(self.x)
        flat = np.array(_whole([w for line in lines for w in line] + [Fraction(1)]), dtype=object)
        lines_whole, one = flat[:-1].reshape(k, d), flat[-1]
        values = np.vstack([self.x[None, :], self.rows]).astype(np.float64)
        cells = _whole([Fraction(v) for v in values.ravel().tolist()] + [Fraction(1)])
        table = np.array(cells[:-1], dtype=object).reshape(values.shape)
        # Constants in the same measure, which all numbers are multiplied by once more.
        measure = one * cells[-1]
        constants = [start * measure for start in starts]
        times = int(np.lcm.reduce([c.denominator for c in constants], dtype=object))
        parts = np.zeros((len(values), self.h, k), dtype=object)
        for u, own in enumerate(self.columns):
            for j in own:
                parts[:, u, :] += table[:, j, None] * lines_whole[None, :, j] * times
        whole = np.array([int(c * times) for c in constants], dtype=object)
        return parts[0], parts[1:], whole

    @cached_property
    def winner(self) -> int:
        """The class of the instance, by its place."""
        known, _, start = self._scores
        return self._best((known.sum(axis=0) + start).tolist())

    def _best(self, scores: list[int]) -> int:
        best = [k for k, score in enumerate(scores) if score == max(scores)]
        return best[-1] if self._last else best[0]

    @property
    def _last(self) -> bool:
        """Whether the last of equal scores wins."""
        model = self.model
        return not model.strict if isinstance(model, LinearModel) else bool(model.last)

    @cached_property
    def kept(self) -> list[int]:
        """The weight of the rows that keep the class with each set fixed, by its bits."""
        return self.kept_of(self.winner)

    def kept_of(self, winner: int) -> list[int]:
        """Return the weight of the rows that have a class with each set fixed."""
        known, parts, start = self._scores
        rivals = [k for k in range(len(start)) if k != winner]
        wins = np.array([(k < winner) if self._last else (k > winner) for k in rivals])
        lead = parts[:, :, [winner]] - parts[:, :, rivals]
        own = known[:, [winner]] - known[:, rivals]
        margins = lead.sum(axis=1) + (start[winner] - start[rivals])[None, :]
        gains = own[None, :, :] - lead
        # A tie is won or lost; in whole numbers that is a half.
        table = (2 * margins + wins)[None, :, :]
        doubled = 2 * gains
        room = int(np.abs(table).max()) + int(np.abs(doubled).sum(axis=1).max())
        if room < 2**62:
            table, doubled = table.astype(np.int64), doubled.astype(np.int64)
        for u in range(self.h):
            table = np.concatenate([table, table + doubled[None, :, u, :]])
        same = (table > 0).all(axis=2)
        counts = self.counts
        if self.total < 2**62:
            return (same @ np.array(counts, dtype=np.int64)).tolist()
        return [sum(c for c, s in zip(counts, line, strict=True) if s) for line in same.tolist()]

    def share(self, features: Iterable[int]) -> Fraction:
        """Return the guarantee of a set."""
        return Fraction(self.kept[mask(features)], self.total)

    @cached_property
    def leanings(self) -> list[int] | None:
        """Tell of each unit whether it speaks for the class (1), against it (-1), or neither.

        None where floats do not tell which of several rivals is the runner-up.
        """
        known, parts, start = self._scores
        scores = (known.sum(axis=0) + start).tolist()
        others = [k for k in range(len(scores)) if k != self.winner]
        rival, *more = sorted(others, key=lambda k: -scores[k])
        largest = int((np.abs(known).sum(axis=0) + np.abs(start)).max())
        if more and 2**30 * (scores[rival] - scores[more[0]]) <= largest:
            return None
        if more and rival != self._float_rival:  # products that no float holds
            return None
        lead = parts[:, :, self.winner] - parts[:, :, rival]
        counts = np.array(self.counts, dtype=object)
        above = self.total * (known[:, self.winner] - known[:, rival]) - counts @ lead
        return [(v > 0) - (v < 0) for v in above.tolist()]

    @property
    def _float_rival(self) -> int:
        """The runner-up as floats have it."""
        with np.errstate(over="ignore", invalid="ignore"):
            scores = self.model.weights @ self.x + self.model.intercepts
        scores[self.winner] = -np.inf
        return int(np.argmax(np.nan_to_num(scores, nan=-np.inf)))

    @cached_property
    def present(self) -> list[bool]:
        """Tell of each unit whether it is there: a category always is, a number that is not 0."""
        return [
            always or bool((self.x[list(own)] != 0).any())
            for always, own in zip(self.states, self.columns, strict=True)
        ]


def mask(features: Iterable[int]) -> int:
    """Return a set as bits."""
    return sum(1 << u for u in set(map(int, features)))


def _whole(values: list[Fraction]) -> list[int]:
    """Return numbers as whole multiples of the largest that makes all of them whole."""
    times = 1
    for denominator in {value.denominator for value in values}:
        times *= denominator // np.gcd(times, denominator, dtype=object)
    return [int(value * times) for value in values]


# --- What decisions are drawn from ---------------------------------------------------------------


def decision(
    seed: int, largest: int = 8, kinds: Sequence[str] = KINDS, least_rows: int = 1
) -> Decision:
    """Return the decision of a seed, with at most so many units and at least so many rows."""
    rng = np.random.default_rng(seed)
    kind = kinds[seed % len(kinds)]
    classes = int(rng.choice(CLASSES))
    h = int(rng.integers(1, largest + 1))
    n = int(rng.integers(1, 15) if rng.random() > MANY_ROWS else rng.integers(60, 140))
    n = max(n, least_rows)
    units, columns, values = _units(kind, h, rng)
    d = sum(map(len, columns))
    rows, x = values(n), values(1)[0]
    if rng.random() < 0.4:
        x = rows[rng.integers(0, n)].copy()
    if rng.random() < 0.3:  # values that no row has
        for own in columns:
            if rng.random() < 0.5:
                rows[:, own] = rows[0, own]
    if kind in {"tenths", "dyadic", "normal", "wide"} and rng.random() < 0.15:  # far outside
        x = x * 2.0 ** rng.choice([0, 0, 30, 31, 60, -40, 900], d)
    some = rng.random(n) < 0.3
    rows[some] = rows[rng.integers(0, n, int(some.sum()))]  # duplicates
    scores, offsets = _model(kind, classes, d, x, rows, rng)
    decimal = kind == "bits" and classes == 2 and rng.random() < 0.3
    if decimal:
        scores, offsets = np.round(scores, 1), np.round(offsets, 1)
    model: Any
    if classes == 2:
        strict = bool(rng.integers(2))
        model = LinearModel(
            scores[0], -float(offsets[0]), strict=strict, units=units,
            **({"decimal": True} if decimal else {}),
        )  # fmt: skip
    else:
        model = ArgmaxModel(scores, offsets, last=bool(rng.integers(2)), units=units)
    weights = _weights(n, rng)
    known = units or [Unit.binary(f"x{j}", j) for j in range(d)]
    always = tuple(bool(unit.has_states) and units is not None for unit in known)
    drawn = Decision(model, x, rows, weights, tuple(columns), always, decimal)
    return replace(drawn, law=Background(rows, weights))


def _units(kind: str, h: int, rng: np.random.Generator) -> tuple[Any, list[Any], Any]:
    """Return units, the columns of each, and what draws rows of their values."""
    if kind in {"states", "categories"}:
        return _units_with_states(h, rng, kind == "states")
    columns = [(j,) for j in range(h)]
    if kind == "wide":
        columns, at = [], 0
        for _ in range(h):
            width = int(rng.integers(1, 4))
            columns.append(tuple(range(at, at + width)))
            at += width
    d = sum(map(len, columns))
    far = rng.choice([-1000.0, -900.0, -400.0, 0.0, 400.0, 900.0, 1000.0], 2)

    def values(n: int) -> np.ndarray:
        size = (n, d)
        return {
            "bits": lambda: rng.integers(0, 2, size).astype(float),
            "tenths": lambda: rng.integers(-12, 13, size) / 10,
            "dyadic": lambda: rng.integers(-3, 4, size) * 2.0 ** rng.integers(-40, 40, size),
            "normal": lambda: rng.normal(size=size),
            "products": lambda: rng.integers(-3, 4, size) * 2.0 ** rng.choice([*far, 0.0], size),
            "subnormal": lambda: rng.integers(-6, 7, size) * 5e-324,
            "wide": lambda: rng.integers(-5, 6, size) / rng.choice([1, 10]),
        }[kind]()

    if kind == "bits":
        return None, columns, values
    named = [
        Unit.real(f"x{u}", own[0]) if len(own) == 1 else Unit(f"x{u}", own)
        for u, own in enumerate(columns)
    ]
    return named, columns, values


def _units_with_states(
    h: int, rng: np.random.Generator, numbers: bool
) -> tuple[Any, list[Any], Any]:
    """Return units as pipelines make them: flags, categories, grades, and numbers if wanted."""
    units: list[Unit] = []
    at = 0
    shapes = ["binary", "one-hot", "dropped", "grades", *(["real"] if numbers else [])]
    for u in range(h):
        shape = rng.choice(shapes)
        if shape in {"one-hot", "dropped"}:
            width = int(rng.integers(2, 4))
            units.append(Unit.one_hot(f"u{u}", range(at, at + width), dropped=shape == "dropped"))
        elif shape == "grades":
            units.append(Unit(f"u{u}", (at,), ((0.0,), (1.0,), (2.5,))))
        else:
            units.append((Unit.binary if shape == "binary" else Unit.real)(f"u{u}", at))
        at += len(units[-1].columns)

    def values(n: int) -> np.ndarray:
        rows = np.zeros((n, at))
        for unit in units:
            if unit.states is None:
                rows[:, unit.columns[0]] = rng.choice([-2.5, 0.0, 0.1, 0.3, 1.0, 7.25], n)
            else:
                states = np.array(unit.states, dtype=float)
                rows[:, list(unit.columns)] = states[rng.integers(0, len(states), n)]
        return rows

    return units, [tuple(unit.columns) for unit in units], values


def _model(
    kind: str, classes: int, d: int, x: np.ndarray, rows: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Return the weights of each score and its constant, often such that some row ties."""
    lines = 1 if classes == 2 else classes
    scale = float(rng.choice([1.0, 0.1, 0.3]))
    if kind == "products":
        scale = 2.0 ** float(rng.choice([-1000, -900, 0, 900, 1000]))
    scores = rng.integers(-4, 5, (lines, d)) * scale
    if kind in {"normal", "tenths"} and rng.random() < 0.3:
        scores = rng.normal(size=(lines, d))
    if lines > 1 and rng.random() < 0.3:
        scores[-1] = scores[-2]  # two rivals that are equal
    unit = 5e-324 if kind == "subnormal" else 1.0
    offsets = rng.integers(-3, 4, lines) * float(rng.choice([0.1, 0.5, 1.0])) * unit
    if rng.random() < 0.6:  # a completion on the border, as floats see it
        mixed = np.where(rng.random(d) < 0.5, x, rows[rng.integers(0, len(rows))])
        with np.errstate(all="ignore"):
            at = scores @ mixed
            tied = -at if lines == 1 else offsets + (at + offsets).max() - (at + offsets)
        k = int(rng.integers(0, lines))
        if np.isfinite(tied[k]) and abs(tied[k]) < 1e300:
            offsets[k] = tied[k]
    return scores, offsets


def _weights(n: int, rng: np.random.Generator) -> np.ndarray | None:
    """Return weights of rows, some of them 0, or nothing."""
    kind = int(rng.integers(0, 9))
    if kind < 3:
        return None
    if kind == 3:
        return rng.choice([1, 2, 2**53 + 1], n)
    weights = rng.integers(1, 5, n).astype(float)
    if kind in (4, 5):
        weights = rng.choice([0.1, 0.25, 0.3, 1.1], n)
    elif kind == 6:
        weights = rng.choice([1.0, 2.0, 2.0**40], n)
    weights[rng.random(n) < 0.2] = 0.0
    weights[rng.integers(0, n)] = 1.0
    return weights


# --- What is asked -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Question:
    """What is asked of a decision, and which sets answer it.

    Attributes
    ----------
    case : Decision
    options : dict
        Of `sufficient_reason`, distribution and delta among them.
    """

    case: Decision
    options: dict[str, Any]

    @classmethod
    def of(cls, seed: int, case: Decision) -> Question:
        """Return the question of a seed: any option, levels that some set meets exactly."""
        rng = np.random.default_rng([seed, 1])
        units = rng.permutation(case.h).tolist()
        asked: dict[str, Any] = {"prove": [False, "auto", True][int(rng.integers(0, 3))]}
        if asked["prove"] is True:
            asked["time_limit"] = float(rng.choice([1e-6, 5.0, 60.0], p=[0.1, 0.1, 0.8]))
        if rng.random() < 0.25:
            asked["include"] = units[: int(rng.integers(1, 3))]
        if rng.random() < 0.25:
            asked["exclude"] = units[2 : 2 + int(rng.integers(1, 3))]
        if rng.random() < 0.2:
            asked["max_size"] = int(rng.integers(len(asked.get("include", ())), case.h + 1))
        if rng.random() < 0.25:
            asked["max_evals"] = int(rng.choice([0, 1, 3, 50, 1000]))
        if rng.random() < 0.35:
            prices = [[1, 2, 3], [0.1, 0.2, 0.3], [1e-300, 1.0, 1e300], [0.7], [1, 2.5, 7, 40]]
            asked["cost"] = rng.choice(prices[int(rng.integers(0, 5))], case.h).tolist()
        elif rng.random() < 0.1:
            asked["epsilon"] = 0.05
        if rng.random() < 0.1:
            asked["present_only"] = True
        if rng.random() < 0.1 and case.leanings is not None:
            asked["supporting_only"] = True
        law = case.law
        if rng.random() < 0.08 and 0 not in case.counts:
            size = int(rng.integers(1, len(case.rows) + 1))
            law = Background(case.rows, case.weights, sample=size)
        tie = Fraction(case.kept[int(rng.integers(0, len(case.kept)))], case.total)
        levels = [0.5, 0.75, 0.9, 0.95, 1.0, 1.0, tie, tie, float(tie)]
        delta = levels[int(rng.integers(0, len(levels)))]
        return cls(case, {"delta": delta, "distribution": law, **asked})

    @cached_property
    def level(self) -> Fraction:
        """The level: a float means the decimal that it prints as."""
        delta = self.options["delta"]
        return delta if isinstance(delta, Fraction) else Fraction(str(delta))

    @property
    def most(self) -> int:
        """The most units that a set may have."""
        return int(self.options.get("max_size", self.case.h))

    @cached_property
    def allowed(self) -> list[int]:
        """All sets, as bits, that the options allow, but for their size."""
        case, options = self.case, self.options
        leans = case.leanings or []
        forced = mask(options.get("include", ()))
        open_to = [
            u not in options.get("exclude", ())
            and (not options.get("present_only") or case.present[u])
            and (not options.get("supporting_only") or leans[u] > 0)
            for u in range(case.h)
        ]
        barred = mask(u for u, is_open in enumerate(open_to) if not is_open) & ~forced
        return [s for s in range(2**case.h) if s & forced == forced and not s & barred]

    @cached_property
    def reaching(self) -> list[int]:
        """Those of them that reach the level."""
        level, kept, total = self.level, self.case.kept, self.case.total
        least = level * total
        return [s for s in self.allowed if kept[s] >= least]

    @cached_property
    def prices(self) -> list[Fraction]:
        """What each unit costs: the decimal that its price prints as."""
        return [Fraction(str(cost)) for cost in self.options.get("cost", [1] * self.case.h)]

    def price(self, chosen: int) -> Fraction:
        """Return what a set costs."""
        return sum((p for u, p in enumerate(self.prices) if chosen >> u & 1), Fraction(0))
