"""Rule: a reason whose facts are sets of values, with the guarantee of the worst of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.model.enclosure import Enclosure, lower_text
from sklearn_probsr.model.linear import Model
from sklearn_probsr.rules._condition import Condition

__all__ = ["Reader", "Rule", "Taken", "taken_by"]


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
            mixed = (" or ", " and ")
            texts = [f"({text})" if any(word in text for word in mixed) else text for text in texts]
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
