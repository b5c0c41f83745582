"""Rule: a reason whose facts are sets of values, with the guarantee of the worst of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from html import escape
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.exceptions import InvalidInputError
from sklearn_probsr.laws._law import Law
from sklearn_probsr.laws._view import Row
from sklearn_probsr.model._base import Model
from sklearn_probsr.model._enclosure import Enclosure, lower_text
from sklearn_probsr.rules._condition import Condition
from sklearn_probsr.rules._phrases import alone, could, either, range_text, states_text
from sklearn_probsr.rules._sides import NumberSide, Side, StateSide, sides_of
from sklearn_probsr.rules._unit_values import Numbers, States, Values
from sklearn_probsr.rules._widening import Box, widen

__all__ = ["Reader", "Rule", "Taken", "level_of", "rule_of", "taken_by"]

# The worst first.
_STATUSES = ("conservative", "undecided", "refuted", "none")


class Taken(NamedTuple):
    """Rows of a user's: those that can be taken, as the model has them and as they were given.

    ``at`` says which of ``n`` they are.
    """

    rows: Any
    given: NDArray[Any] | None
    at: NDArray[np.intp]
    n: int


class Reader(Protocol):
    """What takes the rows of a user to those of a model, and conditions to the user's terms."""

    def taken(self, X: Any, name: str = "X") -> Taken:
        """Return rows as the model takes them."""

    def told(self, condition: Condition, given: NDArray[Any] | None) -> Condition:
        """Return a condition in the terms of whoever gave an instance."""

    def categories(self, unit: int) -> Sequence[tuple[str, tuple[float, ...]]] | None:
        """Return what a feature's categories are called, and the state of each; None: not known."""


@dataclass(frozen=True)
class Rule:
    """What must be known of a row to get a class with a guaranteed probability.

    Whoever satisfies it gets this class with probability at least ``delta`` when the other features
    are replaced. That does not say that every row which satisfies it has the class. Made by
    `SufficientReason.rule` and `ReasonExplanation.rules`.

    Attributes
    ----------
    conditions : tuple of Condition
        All of which must hold; the most telling first. Features that may be anything are left out.
    prediction : label
        The class that it speaks of.
    guarantee : Enclosure
        Of the probability at the worst corner of the conditions as they are printed.
    delta : float
        The level that holds: the one asked for, or what was proved of the reason if that is less.
    distribution : object
        What the other features are replaced by; its ``str`` reads as "over ...".
    conservative : bool, default=False
        Whether the worst value was taken in each duel of several classes, which may be more than
        any row loses in all of them.
    model : LinearModel or ArgmaxModel or None, default=None
        The model that the rule speaks of.
    reader : Reader or None, default=None
        What takes rows as an explainer does; None if they are those of the model.

    Examples
    --------
    >>> from sklearn_probsr import LinearModel, Unit, Background, sufficient_reason
    >>> units = [Unit.real("age", 0), Unit.real("children", 1)]
    >>> model = LinearModel([1, 8], threshold=60, units=units, classes=("no", "yes"))
    >>> rows = [[20, 0], [31, 2], [44, 1], [47, 4], [52, 3], [58, 0], [63, 2], [70, 1]]
    >>> reason = sufficient_reason(model, [63, 2], distribution=Background(rows), delta=0.75)
    >>> print(reason.rule().text)
    age ≥ 52
    >>> reason.rule().matches(rows).tolist()
    [False, False, False, False, True, True, True, True]
    """

    conditions: tuple[Condition, ...]
    prediction: Any
    guarantee: Enclosure
    delta: float
    distribution: Any
    conservative: bool = False
    model: Model = field(default=None, repr=False, compare=False)  # type: ignore[assignment]
    reader: Reader | None = field(default=None, repr=False, compare=False)

    @property
    def size(self) -> int:
        """How many conditions there are."""
        return len(self.conditions)

    @property
    def text(self) -> str:
        """The conditions in words: "age ≥ 41 and job in {clerk, nurse}"."""
        texts = [str(condition) for condition in self.conditions]
        if len(texts) > 1:
            texts = [f"({text})" if " or " in text else text for text in texts]
        return " and ".join(texts) or "any row"

    @property
    def widest(self) -> bool:
        """Whether it is proved that no single fact can be widened to its next value in the data."""
        return all(c.next_step in ("refuted", "none") for c in self.conditions)

    @property
    def slack(self) -> tuple[str, ...]:
        """How far the instance could go, fact by fact: "age could fall to 41"."""
        return tuple(c.slack for c in self.conditions if c.slack)

    def matches(self, X: Any) -> NDArray[np.bool_]:
        """Tell which rows satisfy the rule.

        Parameters
        ----------
        X : DataFrame, array-like or sparse of shape (n, columns)
            Rows as the explainer takes them, or the model if there was no explainer; the columns
            of a frame are found by name.

        Returns
        -------
        ndarray of bool, shape (n,)
            False of a row that cannot be taken.
        """
        taken = taken_by(self.reader, self.model, X)
        found = np.zeros(taken.n, dtype=np.bool_)
        found[taken.at] = self.satisfied(taken.rows, taken.given)
        return found

    def satisfied(self, rows: Any, given: NDArray[Any] | None) -> NDArray[np.bool_]:
        """Tell which checked rows satisfy all conditions."""
        found = np.ones(len(rows), dtype=np.bool_)
        for condition in self.conditions:
            found &= condition.satisfied(rows, given)
        return found

    def __str__(self) -> str:
        known = self.guarantee
        sure = lower_text(known.lower if known.exact is None else known.exact)
        note = " (by the worst value in each duel: conservative)" if self.conservative else ""
        given = f"If {self.text}: whoever satisfies it" if self.conditions else "Whoever it is"
        return (
            f"{given} gets class {self.prediction!s} with probability at least {sure} when the "
            f"other features are replaced, over {self.distribution}{note}."
        )

    def _repr_html_(self) -> str:
        """Show the conditions in a notebook, and below them what they keep."""
        items = "".join(f"<li>{escape(str(condition))}</li>" for condition in self.conditions)
        return f"<div><ul>{items}</ul><p>{escape(str(self))}</p></div>"


def taken_by(reader: Reader | None, model: Model, X: Any, name: str = "X") -> Taken:
    """Return rows of a user's, or of a model's if nobody reads them otherwise."""
    if reader is not None:
        return reader.taken(X, name)
    rows = model.check_rows(X, name)
    return Taken(rows, None, np.arange(len(rows)), len(rows))


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
