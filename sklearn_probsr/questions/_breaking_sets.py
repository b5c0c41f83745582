"""Breaking sets: the fewest features without which no set of the others settles a decision.

They are found among the smallest sets that hit every one of some reasons.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array

from sklearn_probsr.core.dispatch import law_of
from sklearn_probsr.core.options import Options, monotonic
from sklearn_probsr.core.search import Prover, last_place
from sklearn_probsr.exceptions import UnreachableError
from sklearn_probsr.model.enclosure import Enclosure
from sklearn_probsr.model.linear import Model
from sklearn_probsr.model.numbers import exact_text
from sklearn_probsr.questions._asked_decision import Decision, reaches
from sklearn_probsr.results._contradictions import refuse_less_than_proved
from sklearn_probsr.results._listed import listed
from sklearn_probsr.results._reason import SufficientReason
from sklearn_probsr.results._scope import ALL, Scope

__all__ = ["BreakingSet", "breaking_set", "breaking_set_of", "smallest_hitting_set"]


def smallest_hitting_set(sets: Sequence[frozenset[int]], seconds: float) -> tuple[set[int], int]:
    """Return a small set that shares an element with each set, and a lower bound of its size.

    An integer programme of zeros and ones; Proposition 33 says what is trusted of its solver. Where
    time is up the set may be larger than the bound. No set may be empty.
    """
    elements = sorted(frozenset.union(*sets))
    place = {u: j for j, u in enumerate(elements)}
    cells = [(i, place[u]) for i, s in enumerate(sets) for u in s]
    rows, columns = zip(*cells, strict=True)
    table = csr_array((np.ones(len(cells)), (rows, columns)), shape=(len(sets), len(elements)))
    done = milp(
        np.ones(len(elements)),
        constraints=LinearConstraint(table, lb=1),
        bounds=Bounds(0, 1),
        integrality=np.ones(len(elements)),
        options={"time_limit": seconds},
    )
    bound = done.mip_dual_bound if done.mip_dual_bound is not None else 1.0
    least = max(int(np.ceil(bound - 1e-5)), 1)
    chosen = (
        set() if done.x is None else {u for u, v in zip(elements, done.x, strict=True) if v > 0.5}
    )
    for s in sets:  # whatever the solver says, it is one
        if not chosen & s:
            chosen.add(min(s))
    return chosen, least


# So many reasons are collected before a smaller claim is made; more with prove=True.
_ROUNDS, _MANY_ROUNDS = 60, 2000
# Beyond the time to collect them, so many times as much is there to spare features.
_FOR_SPARING = 1.0


@dataclass(frozen=True)
class BreakingSet:
    """Features without which no set of the others keeps the class with probability delta.

    Attributes
    ----------
    features : tuple of int
        In increasing order.
    minimality : str
        What is proved: ``"minimum"`` (no smaller set breaks the decision), ``"subset-minimal"`` (no
        proper subset of it does), or ``"near-minimum"`` and ``"near-subset-minimal"`` where that
        stays undecided for one of them. ``"undecided"``: nothing is proved to break it; these are
        all features that might, and whether nothing at all need be known stays open.
    size_lower : int
        No set with fewer features breaks it, as far as was proved.
    guarantee : Enclosure
        Of the best set that was found of the other features: less than delta, unless undecided.
    best : tuple of int
        That set.
    delta : float
        The probability that was asked for.
    prediction : label
        The class that the model predicts.
    feature_names : tuple of str
        The names of ``features``.
    distribution : object
        What the guarantee speaks of.
    scope : Scope, default=Scope()
        Which sets of the others were allowed.
    n_others : int, default=1
        How many of the others they may have.
    """

    features: tuple[int, ...]
    minimality: str
    size_lower: int
    guarantee: Enclosure
    best: tuple[int, ...]
    delta: float
    prediction: Any
    feature_names: tuple[str, ...]
    distribution: Any
    scope: Scope = ALL
    n_others: int = 1

    @property
    def size(self) -> int:
        """How many features it has."""
        return len(self.features)

    def __str__(self) -> str:
        kept = f"class {self.prediction} is kept with probability {self.guarantee}"
        over, known = f"over {self.distribution}", _known_alone(self.scope)
        level = exact_text(self.delta)
        if self.minimality == "undecided":
            return (
                f"It stays undecided whether anything breaks this decision: with {known}, {kept} "
                f"{over}, which may or may not reach {level}."
            )
        claims = {
            "minimum": "no fewer features break it",
            "subset-minimal": "none of them can be spared",
        }
        names, claim = listed(self.feature_names), claims.get(self.minimality, "fewer may do")
        if not names:
            claim = "nothing need be left out to break it"
        if not self.n_others:
            left = f"no others{f' of {self.scope.kind}' if self.scope.kind else ''} are left"
            left = f"Without {names} {left}" if names else "No features are allowed"
            return f"{left}, and with {known}, {kept} {over}, less than {level} ({claim})."
        kind = self.scope.kind.removeprefix("the ") or "features"
        others = f"the other {kind}" if names else f"the {kind}"
        others += f" with {self.scope.forced}" if self.scope.include else ""
        return (
            f"{f'Without {names} no' if names else 'No'} set of {others} keeps class "
            f"{self.prediction} with probability {level} {over}: the best found keeps it "
            f"with {self.guarantee} ({claim})."
        )


def breaking_set(
    model: Model,
    x: ArrayLike,
    *,
    delta: float = 0.95,
    distribution: Any = None,
    prove: str | bool = "auto",
    max_evals: int | None = None,
    time_limit: float = 10.0,
) -> BreakingSet:
    """Find the fewest features of ``x`` without which no set of the others reaches delta.

    Every reason has one of them, so whoever disputes the decision disputes one of these facts:
    reasons and breaking sets are dual, as abductive and contrastive explanations are [1]_.

    Parameters
    ----------
    model : LinearModel or ArgmaxModel
        What decides.
    x : array-like of shape (d,)
        An instance of zeros and ones, or of what the model's units can be.
    delta : float, default=0.95
        The probability that no set of the other features guarantees.
    distribution : Uniform, Product, Marginals, Background, Matching or None, default=None
        What completes unknown features; None means uniform.
    prove : {"auto", True, False}, default="auto"
        How hard to try to prove that no smaller set breaks the decision.
    max_evals : int or None, default=None
        The most sets of one size that a proof may look at; see `sufficient_reasons`.
    time_limit : float, default=10.0
        The most seconds to collect reasons that a breaking set must hit; what it does not need is
        then left out for no longer than that.

    Returns
    -------
    BreakingSet

    Raises
    ------
    UnreachableError
        If nothing breaks the decision: it is kept with probability delta with nothing known.

    References
    ----------
    .. [1] A. Ignatiev, N. Narodytska, N. Asher, J. Marques-Silva, "From contrastive to abductive
       explanations and back again", 2020.

    Examples
    --------
    >>> from sklearn_probsr import LinearModel, breaking_set
    >>> model = LinearModel([5, 2, 2, 2, 1], threshold=7)
    >>> broken = breaking_set(model, [1, 1, 1, 1, 1], delta=0.9)
    >>> broken.features, broken.minimality
    ((0, 1), 'minimum')
    """
    options = Options(delta, prove=prove, max_evals=max_evals, time_limit=time_limit)
    return breaking_set_of(Decision(law_of(model, distribution), model.check_row(x), options))


def breaking_set_of(decision: Decision) -> BreakingSet:
    """Find the breaking set of a decision."""
    first, forced = decision.reason(), decision.task.include
    scope = replace(first.scope, max_size=None)
    if first.size == len(forced) and reaches(first):
        raise UnreachableError(
            f"nothing breaks this decision: class {first.prediction} is kept with probability "
            f"{first.guarantee} over {first.distribution} with {_known_alone(scope)}, which "
            f"reaches delta = {exact_text(first.delta)}. Raise delta to ask for more."
        )
    prover = decision.law.prover(decision.law.view(decision.row), decision.task)
    if not reaches(first):  # no reason was found, so that none can be hit
        found, minimality, least = set[int](), "minimum", 0
        if not decision.is_hopeless(()):
            found, minimality, least = _Duality(decision, first).pruned(0)
    elif prover.view.chain:
        found, minimality, least = _by_rank(prover)
    else:
        found, minimality, least = _Duality(decision, first).run()
    if minimality != "undecided":
        which = f"A set that breaks the decision at delta = {exact_text(first.delta)}"
        refuse_less_than_proved(len(found), least, "size", which)
    best = decision.reason(exclude=found)
    names = decision.law.model.unit_names
    allowed = decision.task.may_choose(1, len(names))[0]
    return BreakingSet(
        tuple(sorted(found)),
        minimality,
        least,
        best.guarantee,
        tuple(sorted(best.features)),
        first.delta,
        first.prediction,
        tuple(names[u] for u in sorted(found)),
        first.distribution,
        scope,
        len(forced) + len(set(np.flatnonzero(allowed).tolist()) - found),
    )


def _known_alone(scope: Scope) -> str:
    """Say what is known where no feature was chosen."""
    return f"{scope.forced} alone known" if scope.include else "nothing known"


def _by_rank(prover: Prover) -> tuple[set[int], str, int]:
    """Leave out the largest scores first: no others break a decision sooner (Proposition 66)."""
    members = prover.members

    def holds(place: int) -> bool | None:
        """Tell whether the others still reach delta when so many are left out."""
        return prover.settled(members[place:])

    if holds(len(members)) is not False:
        return set(members), "undecided", 1
    kept, broken = last_place(holds, 0, len(members))
    return set(members[:broken]), "minimum" if kept == broken else "near-minimum", kept


class _Duality:
    """The search of the smallest set that hits every reason: reasons are met one by one.

    A set that hits all reasons met so far, and as small as can be, is no larger than the smallest
    breaking set. If it is one, it is the smallest; else there is a reason that it does not hit,
    which is met next (Proposition 66).
    """

    def __init__(self, decision: Decision, first: SufficientReason) -> None:
        self.decision = decision
        self.forced = frozenset(decision.task.include)  # they are in every set, and break none
        self.met = [frozenset(first.features) - self.forced]
        effort = decision.task.effort
        self.until = monotonic() + effort.time_limit
        self.over = self.until + _FOR_SPARING * effort.time_limit
        self.rounds = _MANY_ROUNDS if effort.thorough else _ROUNDS if effort.wanted else 1
        self.seconds = effort.time_limit

    def run(self) -> tuple[set[int], str, int]:
        """Return a breaking set, what is proved of it, and a lower bound of the smallest size."""
        least = 1
        for _ in range(self.rounds):
            chosen, bound = smallest_hitting_set(self.met, self.seconds)
            least = max(least, bound)
            if not self._meet(chosen):
                if self.decision.is_hopeless(chosen):
                    return chosen, "minimum" if len(chosen) == least else "near-minimum", least
                break
            if monotonic() > self.until:
                break
        return self.pruned(least)

    def _meet(self, barred: set[int]) -> bool:
        """Meet reasons that a set does not hit, each disjoint from those met before it."""
        barred, met = set(barred), False
        while not met or monotonic() <= self.until:
            reason = self.decision.reason(exclude=sorted(barred))
            if not reaches(reason):
                return met
            self.met.append(frozenset(reason.features) - self.forced)
            barred |= self.met[-1]
            met = True
        return met

    @property
    def _is_over(self) -> bool:
        """Whether all of the time is up, also that for sparing features."""
        return monotonic() > self.over

    def pruned(self, least: int) -> tuple[set[int], str, int]:
        """Leave features out, the most telling first, until it breaks; spare what can be spared."""
        decision = self.decision
        members = decision.law.prover(decision.law.view(decision.row), decision.task).members
        order = [int(u) for u in members]
        if not decision.is_hopeless(order):
            return set(order), "undecided", least
        # What breaks a decision does so with more left out, too: bisection finds how many it takes.
        kept, size = 0, len(order)
        while size - kept > 1 and not self._is_over:
            middle = (kept + size) // 2
            kept, size = (kept, middle) if decision.is_hopeless(order[:middle]) else (middle, size)
        chosen, open_ones = set(order[:size]), False
        for u in reversed(order[: len(chosen)]):
            if self._is_over:
                open_ones = True
            elif decision.is_hopeless(chosen - {u}):
                chosen.discard(u)
            else:
                open_ones |= not reaches(decision.reason(exclude=sorted(chosen - {u})))
        if len(chosen) == least and not open_ones:
            return chosen, "minimum", least
        return chosen, "near-subset-minimal" if open_ones else "subset-minimal", least
