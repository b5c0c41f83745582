"""Small decisions of every kind, each with options, and what is true of all of their sets."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import product
from math import prod
from typing import Any

import numpy as np

from sklearn_probsr import (
    ArgmaxModel,
    Background,
    LinearModel,
    Marginals,
    Matching,
    Product,
    Uniform,
    Unit,
)
from tests.oracle import Listed
from tests.results.told import Sets

LAWS = ("uniform", "product", "marginals", "rows", "matching")
PLAIN = tuple(f"x{j}" for j in range(8))
# What lists in sentences must be read in spite of.
ODD = ("debt, old", "R&D and sales", "a; b", "home (now)", "age", "wage", "no", "1 of 2")
LEVELS = ("0", "0.3", "0.5", "0.75", "0.9", "0.95", "1")


@dataclass(frozen=True)
class Decided:
    """A decision, what is asked of it, and the truth."""

    law: str
    model: Any
    x: np.ndarray
    distribution: Any
    over: str
    names: tuple[str, ...]
    facts: tuple[str, ...]
    truth: Listed
    delta: Any
    options: dict[str, Any] = field(default_factory=dict)
    matched: tuple[Listed, Listed] | None = None  # the rows searched, and those held out

    @cached_property
    def shares(self) -> dict[frozenset[int], Fraction]:
        """What every set guarantees; of rows that are matched, what is true of those searched."""
        if self.matched is None:
            return self.truth.shares()
        found = {}
        for chosen in self.truth.shares():
            kept, n = self.counted(chosen, 0)
            # No claim is made of sets that fewer rows share.
            found[chosen] = Fraction(kept, n) if n >= self.distribution.min_rows else Fraction(-1)
        return found

    def counted(self, chosen: Any, part: int) -> tuple[int, int]:
        """Count the rows of a part that share some facts, and those of them that keep the class."""
        assert self.matched is not None
        one, at = self.matched[part], sorted(chosen)
        same = (one.rows[:, at] == self.x[at]).all(axis=1)
        own = (one.rows == self.x).all(axis=1).any()
        kept = one.classes(one.rows) == self.truth.label
        return int((same & kept).sum() - own), int(same.sum() - own)

    def n_rows(self, part: int) -> int:
        """How many rows a part has, a copy of the instance left out."""
        assert self.matched is not None
        rows = self.matched[part].rows
        return len(rows) - int((rows == self.x).all(axis=1).any())

    @cached_property
    def prices(self) -> list[Fraction]:
        """What the features cost."""
        costs = self.options.get("cost")
        return [Fraction(str(cost)) for cost in costs] if costs else [Fraction(1)] * len(self.x)

    def price(self, chosen: Any) -> Fraction:
        """Return what a set costs."""
        return sum((self.prices[u] for u in chosen), Fraction(0))

    def named(self, names: tuple[str, ...]) -> set[int]:
        """Return the features that are named, or all that were forced if these are not."""
        if names == ("the features in include",):
            return set(self.options["include"])
        return {self.names.index(name) for name in names}

    def inside(self, sets: Sets) -> Iterator[frozenset[int]]:
        """Yield the sets that are meant by what was read: all, if it says no more."""
        include = self.named(sets.include)
        others = set(range(len(self.x))) - include if not sets.none else set()
        if sets.allowed:
            others -= set(self.options.get("exclude", ()))
        if "present" in sets.only:
            others -= {u for u in others if not self.x[u]}
        if "supporting" in sets.only:
            others -= {u for u in others if self.leanings[u] <= 0}
        for chosen in self.shares:
            small = sets.most is None or len(chosen) <= sets.most
            if small and include <= chosen <= include | others:
                yield chosen

    @cached_property
    def leanings(self) -> list[int]:
        """What each feature speaks for."""
        return self.truth.leanings()

    @property
    def label(self) -> str:
        """The class, as a sentence names it."""
        return str(self.model.classes[self.truth.label])


def decided(seed: int) -> Decided:
    """Make up a decision."""
    rng = np.random.default_rng(seed)
    law = LAWS[seed % len(LAWS)]
    d = int(rng.integers(1, 6 if law == "matching" else 7))
    several = rng.random() < 0.25 and law != "matching"
    odd = rng.random() < 0.3
    names = tuple(rng.permutation(ODD)[:d].tolist()) if odd else PLAIN[:d]
    labels = [(f"{n}: rent, old", f"{n}: own") if odd and rng.random() < 0.5 else () for n in names]
    units = [Unit.binary(name, j, labels[j]) for j, name in enumerate(names)]
    x = rng.integers(0, 2, d)
    rows = rng.integers(0, 2, (int(rng.integers(1, 10)), d))
    if law == "matching":
        rows = rng.integers(0, 2, (int(rng.integers(4, 40)), d))
    distribution, over, listed, chances = _completed(law, rows, d, rng)
    scale = int(rng.integers(1, 5))  # small weights make ties
    if several:
        outputs, cuts = rng.integers(-scale, scale + 1, (3, d)), rng.integers(-2, 3, 3)
        model: Any = ArgmaxModel(outputs, -cuts, units=units, classes=("no", "yes", "wait, maybe"))
    else:
        outputs = rng.integers(-scale, scale + 1, (1, d))
        cuts = np.array([outputs[0] @ rng.integers(0, 2, d)])
        model = LinearModel(outputs[0], float(cuts[0]), units=units, classes=("no", "yes"))
    facts = tuple(
        labels[j][x[j]] if labels[j] else f"{name} = {x[j]}" for j, name in enumerate(names)
    )
    truth = Listed(outputs, cuts, x, listed, chances)
    matched = None
    if law == "matching":
        out = distribution.confirming
        matched = tuple(
            Listed(outputs, cuts, x, rows[part], (1,) * int(part.sum())) for part in (~out, out)
        )
    found = Decided(
        law, model, x, distribution, over, names, facts, truth, Fraction(1, 2), {}, matched
    )
    delta = _level(found, rng)
    return Decided(
        law, model, x, distribution, over, names, facts, truth, delta,
        _options(d, law, several, seed, rng), matched,
    )  # fmt: skip


def _completed(
    law: str, rows: np.ndarray, d: int, rng: np.random.Generator
) -> tuple[Any, str, np.ndarray, tuple[int, ...]]:
    """Return a distribution, what it is called, and its completions with their weights."""
    counted = f"{len(rows)} background row{'s' if len(rows) > 1 else ''}"
    if law == "rows":
        return Background(rows), f"replacement by {counted}", rows, (1,) * len(rows)
    if law == "matching":
        held = rng.random(len(rows)) < 0.5
        held[0], held[-1] = True, False
        least = int(rng.integers(1, (~held).sum() + 1))
        return Matching(rows, confirm=held, min_rows=least), "", rows, (1,) * len(rows)
    all_rows = np.array(list(product((0, 1), repeat=d)))
    if law == "uniform":
        return Uniform(), "uniform completions", all_rows, (1,) * len(all_rows)
    if law == "product":
        ones, total = rng.integers(0, 11, d), 10
        over = f"independent completions with {d} given marginal{'s' if d > 1 else ''}"
        distribution: Any = Product(ones / 10)
    else:
        ones, total = rows.sum(axis=0), len(rows)
        over = f"independent completions with the marginals of {counted}"
        distribution = Marginals.fit(rows)
    each = [(total - int(k), int(k)) for k in ones]
    chances = tuple(prod(each[j][v] for j, v in enumerate(row)) for row in all_rows.tolist())
    return distribution, over, all_rows, chances


def _level(found: Decided, rng: np.random.Generator) -> Any:
    """Return a level: a round one, or one that some set reaches exactly."""
    share = list(found.shares.values())[int(rng.integers(len(found.shares)))]
    if rng.random() < 0.3 and share >= 0 and Fraction(repr(float(share))) == share:
        return float(share)
    return float(LEVELS[int(rng.integers(len(LEVELS)))])


def _options(
    d: int, law: str, several: bool, seed: int, rng: np.random.Generator
) -> dict[str, Any]:
    """Return what is asked beside the level."""
    found: dict[str, Any] = {}
    order = rng.permutation(d).tolist()
    inside = order[: int(rng.integers(0, d + 1))] if rng.random() < 0.3 else []
    left = order[len(inside) :]
    barred = left[: int(rng.integers(0, len(left) + 1))] if rng.random() < 0.4 else []
    if inside:
        found["include"] = inside
    if barred:
        found["exclude"] = barred
    if rng.random() < 0.25:
        found["max_size"] = int(rng.integers(len(inside), d + 1))
    for name in ("present_only", "supporting_only"):
        if rng.random() < 0.12:
            found[name] = True
    sampled = law != "matching" and not several and rng.random() < 0.1
    if sampled:
        return found | {"method": "monte-carlo", "epsilon": 0.1, "seed": seed}
    if law != "matching" and rng.random() < 0.25:
        found["cost"] = rng.choice([0.5, 1, 2, 3.25], d).tolist()
    elif rng.random() < 0.1:
        found["epsilon"] = 0.05
    found["prove"] = ("auto", True, False)[int(rng.integers(3))]
    if rng.random() < 0.2:
        found["max_evals"] = 1
    return found
