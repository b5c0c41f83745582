"""SufficientReason: the frozen answer of one row."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.core.dispatch import law_of
from sklearn_probsr.exceptions import InvalidInputError
from sklearn_probsr.model.enclosure import Enclosure
from sklearn_probsr.model.linear import Model
from sklearn_probsr.results._scope import ALL, Scope
from sklearn_probsr.results._sentence import sentence
from sklearn_probsr.results.views import reason_card

if TYPE_CHECKING:
    from sklearn_probsr.rows.matching import Matches
    from sklearn_probsr.rules._robustness import Slack
    from sklearn_probsr.rules._rule import Reader, Rule
    from sklearn_probsr.rules._unit_values import Values

__all__ = ["STATUSES", "Source", "SufficientReason"]

# What becomes of a row; all but the first are flags.
STATUSES = ("ok", "unreachable", "invalid")


@dataclass(frozen=True)
class Source:
    """Where a reason comes from: the model and the row that it speaks of.

    ``reader`` takes rows as an explainer does; None if they are those of the model. ``given`` is
    the row as a user gave it.
    """

    model: Model
    row: NDArray[Any]
    reader: Reader | None = None
    given: NDArray[Any] | None = None

    def rule(self, reason: SufficientReason, values: Values | None = None) -> Rule:
        """Return the rule of a reason; ``values`` are those of its law, if they are at hand."""
        from sklearn_probsr.rules._rule_of_reason import level_of, rule_of
        from sklearn_probsr.rules._unit_values import Values

        values = Values(law_of(self.model, reason.distribution)) if values is None else values
        level = level_of(values.law, self.row, reason.features, reason.guarantee, reason.delta)
        return rule_of(values, self.row, reason.features, level, self.reader, self.given)

    def slack(self, reason: SufficientReason) -> Slack:
        """Return how far the facts of a reason may worsen."""
        from sklearn_probsr.rules._robustness import slack_of
        from sklearn_probsr.rules._rule_of_reason import level_of

        law = law_of(self.model, reason.distribution)
        level = level_of(law, self.row, reason.features, reason.guarantee, reason.delta)
        # Levels are told of sizes: of the cheapest nothing is known of one feature fewer.
        minimum = reason.minimality == "minimum" and not reason.priced
        lower = reason.guarantee.lower
        return slack_of(law, self.row, reason.features, level, minimum, lower)

    def against(self, reason: SufficientReason) -> tuple[int, ...]:
        """Return the features of a reason that speak against its class."""
        law, units = law_of(self.model, reason.distribution), np.array(reason.features, np.intp)
        lean = law.leanings(self.row[None, :], np.zeros(len(units), dtype=np.intp), units)
        return tuple(units[lean < 0].tolist())


@dataclass(frozen=True)
class SufficientReason:
    """A set of features that keeps the predicted class with a guaranteed probability.

    Attributes
    ----------
    features : tuple of int
        Feature indices in the order chosen: the forced ones, then the most telling first.
    size : int
        How many there are.
    guarantee : Enclosure
        Of the probability that a random completion keeps the class.
    delta : float
        The level that was asked for.
    minimality : str
        What was proved: ``"minimum"`` (no smaller set reaches delta), ``"subset-minimal"`` (no
        proper subset of it does; ``"near-subset-minimal"`` where that stays undecided for one
        of them), ``"locally-minimal"`` (leaving out any single feature breaks it; with features
        that can cost or gain, leaving out several might not; ``"near-locally-minimal"`` where that
        stays undecided), ``"near-minimum"`` (no smaller set reaches ``delta + epsilon``),
        ``"near-prefix-minimal"`` (the same of the shorter prefixes of the order by mean cost), or
        ``"best-of-size"`` (``max_size`` kept it from reaching delta; under uniform completions no
        other set of that size has a better guarantee, under other distributions none was found).
        The sets are those that were allowed, as ``scope`` has it.
    epsilon : float
        0 unless near-minimum or near-prefix-minimal.
    size_lower : int
        No set with fewer features reaches delta, as far as was proved (for the ``include`` and
        ``exclude`` asked for, whatever ``max_size`` was). It is ``size`` if minimum.
    prediction : label
        The class of the instance.
    partial_instance : ndarray of shape (d,)
        The instance with NaN in every column outside the reason.
    feature_names : tuple of str
        The names of ``features``, in the same order.
    facts : tuple of str
        What each of them is, in words.
    n_units : int
        How many features the model has; one-hot columns of one unit count once.
    distribution : object
        What the guarantee speaks of; its ``str`` reads as "over ...".
    method : str
        How it was found: "certified", "monte-carlo" or "paper".
    samples : int
        How many random completions were drawn; 0 for a proof.
    stopped : str, default=""
        How the proof that nothing smaller (with costs, cheaper) reaches delta ended: ``"proved"``,
        ``"time"`` (``time_limit`` was up) or ``"exhausted"`` (all that is tried, or that
        ``prove="auto"`` and ``max_evals`` allow, was). Nothing if no proof was tried.
    status : {"ok", "unreachable", "invalid"}, default="ok"
        Whether delta is reached by what was allowed, and whether the row could be explained at all.
    message : str, default=""
        Why not.
    matches : Matches or None, default=None
        Under `Matching`, the rows that share the facts: ``coverage``, ``confirmed`` (the count that
        the guarantee is made of), and the ``searched`` and ``descriptive`` ones. The minimality
        then speaks of the rows searched, and whether delta is confirmed is
        ``guarantee >= delta``.
    scope : Scope, default=Scope()
        Which sets were allowed: what "smaller", "cheaper" and "best" speak of.
    against : tuple of int
        The features that speak against the class: what they contribute is below their average
        under the distribution (of several classes, in the duel with the runner-up). To know such a
        fact may be better than not to know it.
    cost : float, default=nan
        What the features cost together; their number, if no costs were given.
    cost_lower : float, default=nan
        No set that costs less reaches delta, as far as was proved (for the ``include``,
        ``exclude`` and ``max_size`` asked for). It is ``cost`` if minimum.
    priced : bool, default=False
        Whether costs were given. Then minimum means that no cheaper set reaches delta.
    source : Source or None, default=None
        The model and the row, which `rule` asks.
    """

    features: tuple[int, ...]
    guarantee: Enclosure
    delta: float
    minimality: str
    epsilon: float
    size_lower: int
    prediction: Any
    partial_instance: NDArray[np.float64] = field(repr=False, compare=False)
    feature_names: tuple[str, ...]
    facts: tuple[str, ...] = field(repr=False)
    n_units: int = field(repr=False)
    distribution: Any
    method: str
    samples: int
    stopped: str = field(default="", repr=False, compare=False)
    status: str = field(default="ok", repr=False)
    message: str = field(default="", repr=False)
    matches: Matches | None = field(default=None, repr=False)
    scope: Scope = ALL
    cost: float = field(default=math.nan, repr=False, compare=False)
    cost_lower: float = field(default=math.nan, repr=False, compare=False)
    priced: bool = field(default=False, repr=False)
    source: Source | None = field(default=None, repr=False, compare=False)

    @property
    def size(self) -> int:
        """How many features the reason has."""
        return len(self.features)

    @cached_property
    def against(self) -> tuple[int, ...]:
        """The features that speak against the class, in their order."""
        if self.source is None or self.status == "invalid":
            return ()
        return self.source.against(self)

    def rule(self) -> Rule:
        """Widen each fact as far as the guarantee allows: "age = 63" becomes "age ≥ 52".

        Whoever satisfies the rule gets this class with probability at least delta when the other
        features are replaced. No single fact of it can be widened to its next value in the data;
        see `Rule` for what of that is proved.

        Returns
        -------
        Rule
            At the level delta, or at the guarantee that is proved of the reason if that is less.

        Raises
        ------
        InvalidInputError
            If the facts cannot be widened: under `Matching`, where they are equalities, under a law
            that does not say what may be lost, of an invalid row, and where nothing is proved.
        """
        if self.source is None or self.status == "invalid":
            raise InvalidInputError(
                f"There is no rule of a row without a reason: {self.message or 'it has no model'}"
            )
        return self.source.rule(self)

    @property
    def slack(self) -> Slack:
        """How far the facts may worsen before delta is lost, and for which levels this is minimum.

        Returns
        -------
        Slack
        """
        if self.source is None or self.status == "invalid":
            raise InvalidInputError(
                f"There is no slack of a row without a reason: {self.message or 'it has no model'}"
            )
        return self.source.slack(self)

    def __str__(self) -> str:
        return sentence(self)

    def _repr_html_(self) -> str:
        return reason_card(self)
