"""Rules as they are printed, read by somebody who has only the text; and what they guarantee."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction

from sklearn_probsr import ArgmaxModel, LinearModel, Rule, Unit

NUMBER = r"(-?[\d.]+(?:e[-+]?\d+)?)"
Values = tuple[float, ...]
Test = Callable[[Values], bool]


def read(text: str, units: Sequence[Unit]) -> dict[int, tuple[Test, list[float]]]:
    """Return for each unit that a rule names what it must be, and the ends of an interval."""
    found = {}
    for part in text.split(" and ") if text != "any row" else ():
        u = next(i for i, unit in enumerate(units) if part.startswith(f"{unit.name} "))
        found[u] = _condition(part.removeprefix(f"{units[u].name} "), part, units[u])
    return found


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


def _kept(model: LinearModel | ArgmaxModel, row: Sequence[float], winner: int) -> bool:
    """Tell whether a row has a class, in exact rationals."""
    rows = [model.weights] if isinstance(model, LinearModel) else model.weights
    scores = [
        sum((Fraction(w) * Fraction(x) for w, x in zip(weights.tolist(), row, strict=True)), 0)
        for weights in rows
    ]
    if isinstance(model, LinearModel):
        threshold = Fraction(model.threshold)
        return (scores[0] > threshold if model.strict else scores[0] >= threshold) == bool(winner)
    scores = [s + Fraction(b) for s, b in zip(scores, model.intercepts.tolist(), strict=True)]
    return scores.index(max(scores)) == winner


def completions(
    units: Sequence[Unit], rows: Sequence[Sequence[float]], independent: bool
) -> list[tuple[list[Values], Fraction]]:
    """Return what may stand in place of all units, and how likely each is."""
    parts = [[tuple(row[j] for j in unit.columns) for unit in units] for row in rows]
    if not independent:
        return [(part, Fraction(1, len(rows))) for part in parts]
    each = list(itertools.product(*zip(*parts, strict=True)))
    return [(list(part), Fraction(1, len(each))) for part in each]


def guarantee(
    model: LinearModel | ArgmaxModel,
    units: Sequence[Unit],
    fixed: dict[int, Values],
    others: Iterable[tuple[list[Values], Fraction]],
    winner: int,
) -> Fraction:
    """Return the probability that a class is kept when some units are known."""
    total = Fraction(0)
    for part, chance in others:
        row = [0.0] * model.n_features
        for u, unit in enumerate(units):
            for j, value in zip(unit.columns, fixed.get(u, part[u]), strict=True):
                row[j] = value
        total += chance * _kept(model, row, winner)
    return total


def worst(
    rule: Rule,
    units: Sequence[Unit],
    features: Sequence[int],
    rows: Sequence[Sequence[float]],
    x: Sequence[float],
    independent: bool,
    also: dict[int, Values] | None = None,
) -> Fraction:
    """Return the least guarantee at any corner of the printed box, by brute force.

    ``also`` are values that some units may have beyond what is printed.
    """
    model = rule.model
    said, others = read(rule.text, units), completions(units, rows, independent)
    choices = []
    for u in features:
        unit = units[u]
        seen = {tuple(row[j] for j in unit.columns) for row in [*rows, x]} | set(unit.states or ())
        test, ends = said.get(u, (lambda v: True, []))
        inside = {v for v in seen if test(v)} | {(end,) for end in ends}
        if u in (also or {}):
            inside = {also[u]}
        choices.append([(u, v) for v in sorted(inside)])
    winner = model.classes.index(rule.prediction)
    assert math.prod(map(len, choices)) <= 20_000
    return min(
        guarantee(model, units, dict(corner), others, winner)
        for corner in itertools.product(*choices)
    )
