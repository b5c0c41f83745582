"""Rules as they are printed, read by somebody who has only the text; and what they guarantee."""

from __future__ import annotations

import itertools
import math
import operator
import re
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from sklearn_probsr import ArgmaxModel, Background, LinearModel, Product, Uniform, Unit
from sklearn_probsr.results import Rule

NUMBER = r"(-?[\d.]+(?:e[-+]?\d+)?)"
# Labels of a unit with a bin for gaps, and numbers in each bin, its ends among them.
BINS = ("u < 0", "u in [0, 1.5)", "u in [1.5, 3)", "u ≥ 3", "u is missing")
NUMBERS_OF_BINS = ((-9.0, -1e-9), (0.0, 1.499999), (1.5, 2.999999), (3.0, 9.0), (math.nan,))
Values = tuple[float, ...]
Test = Callable[[Values], bool]


def read(text: str, units: Sequence[Unit]) -> dict[int, tuple[Test, list[float]]]:
    """Return for each unit that a rule names what it must be, and the ends of an interval."""
    found = {}
    for part in text.split(" and ") if text != "any row" else ():
        u = next(i for i, unit in enumerate(units) if part.strip("(").startswith(f"{unit.name} "))
        if units[u].labels:
            found[u] = partial(_bin, part, units[u].name), []
            continue
        found[u] = _condition(part.removeprefix(f"{units[u].name} "), part, units[u])
    return found


def _bin(part: str, name: str, state: Values) -> bool:
    """Tell whether a bin is admitted: all numbers that belong to it, or gaps, or none of them."""
    told = {_any_of(part, {name: value}) for value in NUMBERS_OF_BINS[state.index(1.0)]}
    assert len(told) == 1
    return told.pop()


def _condition(said: str, whole: str, unit: Unit) -> tuple[Test, list[float]]:
    one = re.fullmatch(rf"([≥≤]) {NUMBER}", said)
    if one:
        cut = float(one[2])
        return (lambda v: v[0] >= cut if one[1] == "≥" else v[0] <= cut), [cut]
    two = re.fullmatch(rf"in \[{NUMBER}, {NUMBER}\]", said)
    if two:
        low, high = float(two[1]), float(two[2])
        return (lambda v: low <= v[0] <= high), [low, high]
    point = re.fullmatch(rf"= {NUMBER}", said)
    if point:
        only = float(point[1])
        return (lambda v: v[0] == only), [only]
    several = re.fullmatch(r"(not in|in) \{(.*)\}", said)
    if several:
        names = re.split(r", (?![^(]*\))", several[2])
        inside = several[1] == "in"

        def among(v: Values) -> bool:
            name = re.sub(rf"^{unit.name}( is in|:| =)? ", "", unit.describe(v))
            return (name in names) == inside

        return among, []
    return (lambda v: unit.describe(v) == whole), []


def _kept(model: LinearModel | ArgmaxModel, scores: Sequence[Fraction], winner: int) -> bool:
    """Tell whether scores, without intercepts, have a class, in exact rationals."""
    if isinstance(model, LinearModel):
        threshold = Fraction(model.threshold)
        return (scores[0] > threshold if model.strict else scores[0] >= threshold) == bool(winner)
    scores = [s + Fraction(b) for s, b in zip(scores, model.intercepts.tolist(), strict=True)]
    return scores.index(max(scores)) == winner


def completions(
    units: Sequence[Unit], distribution: Any
) -> list[tuple[tuple[Values, ...], Fraction]]:
    """Return what may stand in place of all units, and how likely each is."""
    if isinstance(distribution, Uniform):
        each = [[(state, Fraction(1, len(u.states))) for state in u.states] for u in units]
    elif isinstance(distribution, Product):
        each = [[((0.0,), 1 - p), ((1.0,), p)] for p in distribution.p]
    else:
        chances = [Fraction(w, distribution.total) for w in distribution.weights.tolist()]
        parts = [
            tuple(tuple(map(float, row[list(unit.columns)])) for unit in units)
            for row in np.asarray(distribution.rows)
        ]
        if isinstance(distribution, Background):
            return list(zip(parts, chances, strict=True))
        each = [list(zip(column, chances, strict=True)) for column in zip(*parts, strict=True)]
    return [
        (tuple(v for v, _ in all_of), math.prod((p for _, p in all_of), start=Fraction(1)))
        for all_of in itertools.product(*each)
    ]


def _added(
    model: LinearModel | ArgmaxModel, units: Sequence[Unit], known: Iterable[tuple[int, Values]]
) -> tuple[Fraction, ...]:
    """Return what some units add to each score."""
    known = list(known)
    return tuple(
        sum(
            (
                Fraction(weights[j]) * Fraction(v)
                for u, values in known
                for j, v in zip(units[u].columns, values, strict=True)
            ),
            Fraction(0),
        )
        for weights in np.atleast_2d(model.weights)
    )


def worst(
    rule: Rule,
    units: Sequence[Unit],
    features: Sequence[int],
    seen: Sequence[Sequence[float]],
    others: Sequence[tuple[tuple[Values, ...], Fraction]],
    also: dict[int, Values] | None = None,
) -> Fraction:
    """Return the least guarantee at any corner of the printed box, by brute force.

    Corners are made of the values in some rows, of the states of units and of printed cuts;
    ``also`` are values that some units may have beyond what is printed.
    """
    model = rule.model
    said = read(rule.text, units)
    choices = []
    for u in features:
        unit = units[u]
        known = {tuple(row[j] for j in unit.columns) for row in seen} | set(unit.states or ())
        test, ends = said.get(u, (lambda v: True, []))
        inside = {v for v in known if test(v)} | {(end,) for end in ends}
        if u in (also or {}):
            inside = {also[u]}
        choices.append([(u, v) for v in sorted(inside)])
    winner = model.classes.index(rule.prediction)
    assert math.prod(map(len, choices)) <= 20_000
    free = [u for u in range(len(units)) if u not in features]
    rests: dict[tuple[Fraction, ...], Fraction] = {}
    for part, chance in others:
        rest = _added(model, units, ((u, part[u]) for u in free))
        rests[rest] = rests.get(rest, Fraction(0)) + chance
    least = Fraction(1)
    for known in {_added(model, units, corner) for corner in itertools.product(*choices)}:
        scores = [[a + b for a, b in zip(known, rest, strict=True)] for rest in rests]
        kept = [_kept(model, each, winner) for each in scores]
        least = min(least, sum(itertools.compress(rests.values(), kept), Fraction(0)))
    return least


def satisfies(text: str, row: Any) -> bool:
    """Tell whether a raw row satisfies a printed rule, reading nothing but the text."""
    parts = text.split(" and ") if text != "any row" else ()
    return all(_any_of(part, row) for part in parts)


def _any_of(part: str, row: Any) -> bool:
    clause = part[1:-1] if part.startswith("(") else part
    clause = re.sub(",? or missing$", f" or {clause.split()[0]} missing", clause)
    return any(_one(each, row) for each in clause.split(" or "))


def _one(clause: str, row: Any) -> bool:
    name, _, said = clause.partition(" ")
    value = row[name.rstrip(":")]
    if pd.isna(value) or said in ("missing", "is missing", "is known"):
        return bool(pd.isna(value)) == said.endswith("missing")
    if name.endswith(":"):
        return _is(value, said)
    some = re.fullmatch(r"(not in|in) \{(.*)\}", said)
    if some:
        return any(_is(value, each) for each in some[2].split(", ")) == (some[1] == "in")
    between = re.fullmatch(r"in ([\[(])(.*), (.*)([\])])", said)
    if between:
        low, high = float(between[2]), float(between[3])
        above = value >= low if between[1] == "[" else value > low
        return above and (value <= high if between[4] == "]" else value < high)
    sign, number = said.split(" ")
    compared = {"≥": operator.ge, "≤": operator.le, "<": operator.lt, ">": operator.gt}
    return bool(compared.get(sign, operator.eq)(value, float(number)))


def _is(value: Any, said: str) -> bool:
    """Tell whether a number or a category is what is said; nobody knows the category "z"."""
    if not isinstance(value, str):
        return float(said) == value
    return value == ("z" if said == "another category" else said)
