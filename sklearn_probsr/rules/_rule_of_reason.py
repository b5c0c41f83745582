"""The rule of a reason: its facts widened as far as a level allows, and told in words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from numpy.typing import NDArray

from sklearn_probsr.core.law import Law, Row
from sklearn_probsr.exceptions import InvalidInputError
from sklearn_probsr.model.enclosure import Enclosure
from sklearn_probsr.rules._condition import Condition
from sklearn_probsr.rules._phrases import alone, could, either, range_text, states_text
from sklearn_probsr.rules._rule import Reader, Rule
from sklearn_probsr.rules._sides import NumberSide, Side, StateSide, sides_of
from sklearn_probsr.rules._unit_values import Numbers, States, Values
from sklearn_probsr.rules._widening import Box, widen

__all__ = ["level_of", "rule_of"]

# The worst first.
_STATUSES = ("conservative", "undecided", "refuted", "none")


def level_of(law: Law, row: Row, features: Sequence[int], known: Enclosure, delta: Any) -> Fraction:
    """Return the level at which a reason has a rule: delta, or less if less is proved of it."""
    asked = Fraction(str(delta)) if isinstance(delta, float) else Fraction(delta)
    if known.confidence < 1:  # from samples: what the set guarantees is proved now
        view = law.view(row)
        known = view.enclose(features).intersect(view.enclose(features, asked))
    lower = known.ends()[0]
    if lower <= 0 < asked:
        raise InvalidInputError(
            "A rule needs a guarantee that is proved, and nothing is proved of this reason: its "
            f"lower bound is 0 (it has {len(features)} features). Allow more features."
        )
    return min(asked, lower)


def rule_of(
    values: Values,
    row: Row,
    features: Sequence[int],
    delta: Fraction,
    reader: Reader | None = None,
    given: NDArray[Any] | None = None,
) -> Rule:
    """Return the rule of a reason: its facts widened as far as a level allows."""
    law, model = values.law, values.model
    label = model.classes[int(model.winners(row[None, :])[0])]
    if law.conditional:
        raise InvalidInputError(_EQUALITIES.format(over=law.distribution))
    common = {"model": model, "reader": reader, "distribution": law.distribution}
    if not features:
        known = law.view(row).enclose(())
        return Rule((), label, known, float(delta), **common)
    rest = law.rest(row, features, delta)
    if rest is None:
        raise InvalidInputError(_NO_REST.format(over=law.distribution))
    box = widen(sides_of(features, row, rest.duels, values), rest, values)
    nexts = box.nexts()
    told = (_condition(u, box, nexts, row, values) for u in features)
    conditions = tuple(c for c in told if c is not None)
    for condition in conditions:
        if condition.low == condition.high:  # a flag, which is told as it is
            box.recut(condition.unit, condition.low, condition.high)
    if reader is not None:
        conditions = tuple(reader.told(c, given) for c in conditions)
        for condition in conditions:
            coded = condition.coded
            if coded is not None:
                # Of values that are listed, the numbers between them are not admitted.
                ends = [v[0] for v in coded.values or () if len(v) == 1]
                low, high = (min(ends), max(ends)) if ends else (coded.low, coded.high)
                box.recut(coded.unit, low, high)
    several = len(rest.duels) > 1
    return Rule(conditions, label, box.guarantee(), float(delta), conservative=several, **common)


_EQUALITIES = (
    "A rule needs facts that can be widened, and those of a reason over {over} are equalities: "
    "other values are other rows. Explain with a background, Background(X), for rules."
)
_NO_REST = (
    "A rule needs to know what unknown features add to the class, and the law over {over} does not "
    "say so. Define its method `rest`, or explain with a background, Background(X)."
)


def _condition(u: int, box: Box, nexts: list[str], row: Row, values: Values) -> Condition | None:
    """Return what a unit must be; None if it may be anything."""
    places = [j for j, side in enumerate(box.sides) if side.unit == u]
    kind, unit = values.of(u, row), values.unit(u)
    status = min((nexts[j] for j in places), key=_STATUSES.index, default="none")
    if isinstance(kind, States):
        side = box.sides[places[0]]
        assert isinstance(side, StateSide)
        admitted = side.admitted(box.steps[places[0]])
        if kind.bounded and len(admitted) == len(kind.known):
            return None
        own = kind.known.index(tuple(float(row[j]) for j in kind.columns))
        others = [alone(unit, kind.known[s]) for s in admitted if s != own]
        return Condition(
            unit.name,
            states_text(unit, kind.known, admitted, kind.bounded),
            values=tuple(kind.known[s] for s in admitted),
            slack=f"{unit.name} could be {either(others)}" if others else "",
            next_step=status,
            unit=u,
            columns=unit.columns,
        )
    return _range(
        u, [(box.sides[j], box.cuts[j], box.steps[j]) for j in places], kind, values, row, status
    )


def _range(
    u: int,
    sides: Sequence[tuple[Side, float, int]],
    kind: Numbers,
    values: Values,
    row: Row,
    status: str,
) -> Condition | None:
    low, high, reach = -math.inf, math.inf, [-math.inf, math.inf]
    unit, own = values.unit(u), float(row[kind.column])
    for side, cut, step in sides:
        assert isinstance(side, NumberSide)
        if kind.bounded and step == side.steps:
            continue
        reach[side.up] = side.at(step)
        if side.up:
            high = cut
        else:
            low = cut
    if low == -math.inf and high == math.inf:
        return None
    others = [v for v in kind.known.tolist() if v != own]
    if kind.is_flag and own in (0.0, 1.0) and not any(low <= v <= high for v in others):
        low = high = own  # "married = 1", though 2 would do as well
    name = f"{unit.name} coded as" if unit.coded else unit.name
    return Condition(
        unit.name,
        range_text(name, low, high),
        low,
        high,
        slack=could(unit.name, own, low, high),
        next_step=status,
        unit=u,
        columns=unit.columns,
        reach=(reach[0], reach[1]),
    )
