"""The functions of the core: guarantees, curves, and sufficient reasons."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sklearn_probsr.core.answers import Found
from sklearn_probsr.core.dispatch import law_of
from sklearn_probsr.core.law import Law
from sklearn_probsr.core.options import Options, Task, check_tol, generator
from sklearn_probsr.exceptions import InvalidInputError
from sklearn_probsr.model.enclosure import Enclosure
from sklearn_probsr.model.linear import Model
from sklearn_probsr.model.numbers import floats_around
from sklearn_probsr.results._contradictions import refuse_less_than_proved
from sklearn_probsr.results._curve import GuaranteeCurve
from sklearn_probsr.results._reason import SufficientReason
from sklearn_probsr.results._reasons import SufficientReasons

__all__ = ["answer", "guarantee", "guarantee_curve", "sufficient_reason", "sufficient_reasons"]

_METHODS = ("certified", "monte-carlo", "paper")


def guarantee(
    model: Model,
    x: ArrayLike,
    features: Iterable[int | str],
    *,
    distribution: Any = None,
    tol: float = 1e-4,
) -> Enclosure:
    """Enclose the probability that fixing some features of ``x`` keeps its class.

    Parameters
    ----------
    model : LinearModel or ArgmaxModel
        What decides.
    x : array-like of shape (d,)
        An instance of zeros and ones, or of what the model's units can be.
    features : iterable of int or str
        The features to fix, by index or by name. Any set, also one that another method found.
    distribution : Uniform, Product, Marginals, Background, Matching or None, default=None
        What completes the other features; None means uniform.
    tol : float, default=1e-4
        The width to aim for. Where exact counting is cheap the answer is exact; where the
        width cannot be had, the enclosure is as narrow as the engines get.

    Returns
    -------
    Enclosure
        Contains ``Pr[L(z) = L(x)]`` over completions z of x restricted to ``features``.

    Examples
    --------
    >>> from sklearn_probsr import LinearModel
    >>> model = LinearModel([5, 1, -3, 2, -1], threshold=5)
    >>> print(guarantee(model, [1, 0, 0, 1, 1], features=[0, 2]))
    0.875
    """
    law = law_of(model, distribution)
    row = model.check_row(x)
    fixed = model.check_features(features, "features")
    return law.view(row).answer(fixed, check_tol(tol))


def guarantee_curve(
    model: Model, x: ArrayLike, *, distribution: Any = None, tol: float = 1e-4
) -> GuaranteeCurve:
    """Enclose the guarantee of every size along one order of the features.

    Under the uniform distribution the order is by score, and no set of k features beats the
    first k. Over background rows it is the order in which a greedy search fixes features.

    Parameters
    ----------
    model : LinearModel or ArgmaxModel
        What decides.
    x : array-like of shape (d,)
        An instance of zeros and ones, or of what the model's units can be.
    distribution : Uniform, Product, Marginals, Background, Matching or None, default=None
        What completes the other features; None means uniform.
    tol : float, default=1e-4
        The width to aim for at each size.

    Returns
    -------
    GuaranteeCurve
        With ``order``, ``lower`` and ``upper``.

    Examples
    --------
    >>> from sklearn_probsr import LinearModel
    >>> model = LinearModel([5, 1, -3, 2, -1], threshold=5)
    >>> guarantee_curve(model, [1, 0, 0, 1, 1]).lower
    array([0.25 , 0.5  , 0.875, 1.   , 1.   , 1.   ])
    """
    law = law_of(model, distribution)
    view = law.view(model.check_row(x))
    order, width = view.ranking(), check_tol(tol)
    return GuaranteeCurve.of(order, view.along(order, width), view.monotone, law.distribution)


def sufficient_reason(
    model: Model,
    x: ArrayLike,
    *,
    delta: float = 0.95,
    distribution: Any = None,
    method: str = "certified",
    epsilon: float | None = None,
    gamma: float | None = None,
    random_state: Any = None,
    include: Iterable[int | str] = (),
    exclude: Iterable[int | str] = (),
    max_size: int | None = None,
    prove: str | bool = "auto",
    max_evals: int | None = None,
    time_limit: float = 10.0,
    present_only: bool = False,
    supporting_only: bool = False,
    cost: Any = None,
) -> SufficientReason:
    """Find the fewest features of ``x`` that keep its class with probability at least delta.

    This is `sufficient_reasons` of one row; see there for the parameters.

    Parameters
    ----------
    model : LinearModel or ArgmaxModel
        What decides.
    x : array-like of shape (d,)
        An instance of zeros and ones, or of what the model's units can be.
    delta : float, default=0.95
        The probability to guarantee.
    distribution : Uniform, Product, Marginals, Background, Matching or None, default=None
        What completes the other features; None means uniform.
    method : {"certified", "monte-carlo", "paper"}, default="certified"
        How to find it.
    epsilon : float or None, default=None
        The slack in delta.
    gamma : float or None, default=None
        The probability of failure of a sampling method.
    random_state : int, Generator or None, default=None
        The seed of a sampling method.
    include, exclude : iterable of int or str, default=()
        Features that the reason must have, and that it must not have.
    max_size : int or None, default=None
        The most features that the reason may have.
    prove : {"auto", True, False}, default="auto"
        How hard to try to prove that no smaller set will do.
    max_evals : int or None, default=None
        The most sets of one size that a proof may look at.
    time_limit : float, default=10.0
        The most seconds that proofs may take with ``prove=True``, not counting those in which
        kernels are compiled.
    present_only : bool, default=False
        Whether only features that are there may be chosen.
    supporting_only : bool, default=False
        Whether only facts that speak for the class may be chosen.
    cost : mapping, array-like or None, default=None
        What it costs to know each feature; the cheapest reason is then looked for.

    Returns
    -------
    SufficientReason
        With ``features``, ``size``, ``size_lower``, ``cost``, ``cost_lower``, ``guarantee``,
        ``minimality`` and more.

    Raises
    ------
    InvalidInputError
        If an argument is not what it should be.
    UnreachableError
        If delta cannot be reached with the features that are allowed.

    Examples
    --------
    >>> from sklearn_probsr import LinearModel
    >>> model = LinearModel([5, 1, -3, 2, -1], threshold=5)
    >>> reason = sufficient_reason(model, [1, 0, 0, 1, 1], delta=0.875)
    >>> reason.features, reason.minimality
    ((0, 2), 'minimum')
    >>> print(reason)
    Class 1 is kept with probability at least 0.875 over uniform completions, given x0 = 1 and \
x2 = 0 (2 of 5 features; no smaller set reaches 0.875).
    """
    law = law_of(model, distribution)
    options = Options(
        delta, epsilon, gamma, include, exclude, max_size, prove, max_evals, time_limit,
        present_only, supporting_only, cost,
    )  # fmt: skip
    return answer(law, model.check_row(x)[None, :], options, method, random_state)[0]


def sufficient_reasons(
    model: Model,
    X: ArrayLike,
    *,
    delta: float = 0.95,
    distribution: Any = None,
    method: str = "certified",
    epsilon: float | None = None,
    gamma: float | None = None,
    random_state: Any = None,
    include: Iterable[int | str] = (),
    exclude: Iterable[int | str] = (),
    max_size: int | None = None,
    prove: str | bool = "auto",
    max_evals: int | None = None,
    time_limit: float = 10.0,
    present_only: bool = False,
    supporting_only: bool = False,
    cost: Any = None,
) -> SufficientReasons:
    """Find for each row the fewest features that keep its class with probability at least delta.

    Parameters
    ----------
    model : LinearModel or ArgmaxModel
        What decides.
    X : array-like of shape (n, d)
        Instances of zeros and ones, or of what the model's units can be.
    delta : float, default=0.95
        The probability to guarantee, in [0, 1]. It means the decimal that it prints as.
    distribution : Uniform, Product, Marginals, Background, Matching or None, default=None
        What completes the other features; None means uniform.
    method : {"certified", "monte-carlo", "paper"}, default="certified"
        ``"certified"`` proves its answers and is deterministic. ``"monte-carlo"`` draws one
        batch of completions for all sizes together. ``"paper"`` is the published algorithm;
        the samples that it draws grow with ``1 / (epsilon gamma)^2``.
    epsilon : float or None, default=None
        The slack in delta, in (0, 1). Certified: None means that the guarantee is at least
        delta; with a slack, a set whose guarantee is proved to be at least ``delta - epsilon``
        is taken where that keeps it from being larger than the minimum (it matters only where
        an enclosure stays undecided). Monte Carlo: 0.01 if None. Paper: 0.1 if None.
    gamma : float or None, default=None
        The probability, in (0, 1), that a sampling method fails on a row. Monte Carlo: 1e-6 if
        None. Paper: 0.1 if None (what it proves is ``3 gamma``). A proof has no use for it.
    random_state : int, Generator or None, default=None
        The seed of a sampling method.
    include, exclude : iterable of int or str, default=()
        Features, by index or name, that every reason must have, and must not have.
    max_size : int or None, default=None
        The most features, those in ``include`` counted. Where no such set reaches delta, the
        one with the best guarantee is returned, and its minimality is ``"best-of-size"``.
    prove : {"auto", True, False}, default="auto"
        How hard to try to prove that no smaller set reaches delta, which may turn up a smaller
        one. ``"auto"`` takes some milliseconds for most rows, and at most about half a second over
        background rows. True goes on until ``max_evals`` or ``time_limit``. False tries no
        proof. Uniform binary features need none of it.
    max_evals : int or None, default=None
        The most sets of one size that a proof may look at in a row. None: over background rows as
        many as need two billion numbers to be looked at, over independent features as many as make
        100,000,000 terms of Fourier sums, or as there is time for if ``prove`` is True; over
        independent features with several classes 200,000 if it is True, and if it is "auto" 10,000
        and no more than make five million terms.
    time_limit : float, default=10.0
        The most seconds that proofs may take in a row with ``prove=True``, not counting those in
        which kernels are compiled. ``stopped`` says of each row how its proof ended.
    present_only : bool, default=False
        Whether only features that are there may be chosen: words that occur, flags that are 1,
        numbers other than 0. A category, or a bin, is always there. What is in ``include`` is in
        the reason in any case.
    supporting_only : bool, default=False
        Whether only facts may be chosen that speak for the class: that contribute more to it than
        they do on average under the distribution (of several classes, in the duel with the
        runner-up). Either option may leave delta out of reach, as ``exclude`` may, and what is
        proved speaks of the sets that are allowed.
    cost : mapping, array-like or None, default=None
        What it costs to know each feature: positive numbers, which mean the decimals that they
        print as, by name or index (the others cost 1) or one for each feature. Then the cheapest
        set that reaches delta is looked for, of several the smallest; "minimum" means that no
        cheaper one reaches it, and ``max_evals`` is how many branches a proof may follow (None: up
        to 5,000, or a million if ``prove`` is True; 300 or 20,000 where no kernel follows them).
        None: the fewest features. ``epsilon`` has no use with it, and only ``method="certified"``
        takes it.

    Returns
    -------
    SufficientReasons
        Columns ``mask``, ``size``, ``size_lower``, ``cost``, ``cost_lower``, ``lower``, ``upper``,
        ``minimality``, ``stopped``; ``[i]`` is one reason.

    Raises
    ------
    InvalidInputError
        If an argument is not what it should be.
    UnreachableError
        If delta cannot be reached for a row with the features that are allowed.

    Examples
    --------
    >>> from sklearn_probsr import LinearModel
    >>> model = LinearModel([5, 1, -3, 2, -1], threshold=5)
    >>> reasons = sufficient_reasons(model, [[1, 0, 0, 1, 1], [0, 1, 1, 0, 1]], delta=0.9)
    >>> reasons.size
    array([3, 1])
    >>> reasons[1].features
    (0,)
    """
    law = law_of(model, distribution)
    options = Options(
        delta, epsilon, gamma, include, exclude, max_size, prove, max_evals, time_limit,
        present_only, supporting_only, cost,
    )  # fmt: skip
    return answer(law, model.check_rows(X), options, method, random_state)


def answer(
    law: Law,
    rows: NDArray[Any],
    options: Options,
    method: str,
    random_state: Any,
    flag: bool = False,
) -> SufficientReasons:
    """Return the reasons of checked rows; `sufficient_reasons` says what is asked.

    With ``flag`` no row ends the search: one that does not reach delta gets its best set.
    """
    _, slack, risk = options.level, options.slack, options.risk  # the first that is wrong is named
    task = options.task(law.model, slack if method == "certified" else None, flag)
    if method not in _METHODS:
        raise InvalidInputError(f"method must be one of {_METHODS}, got {method!r}.")
    if method != "certified":
        _refuse(law, method)
    _check_prices(law, task, method)
    confidence = floats_around(law.confidence)[0]
    samples = np.zeros(len(rows), dtype=np.int64)
    if method == "certified":
        found = law.answer(rows, task)
    elif method == "monte-carlo":
        from sklearn_probsr.core.monte_carlo import search_by_samples

        slack = Fraction("0.01") if slack is None else slack
        failure = 1e-6 if risk is None else float(risk)
        found, samples[:] = search_by_samples(
            law, rows, task, slack, failure, generator(random_state)
        )
        confidence = _confidence(failure * (1 if task.max_size is None else 2))
    else:
        from sklearn_probsr.independent.published import search_as_published

        slack = Fraction("0.1") if slack is None else slack
        failure = 0.1 if risk is None else float(risk)
        found, samples[:] = search_as_published(
            law, rows, task, slack, failure, generator(random_state)
        )
        confidence = _confidence(3 * failure)
    reasons = SufficientReasons(
        model=law.given,
        rows=rows,
        sets=found.sets,
        lower=found.lower,
        upper=found.upper,
        minimality=found.minimality,
        epsilon=found.epsilon,
        size_lower=np.maximum(found.size_lower, len(task.include)),
        samples=samples,
        stopped=found.stopped,
        delta=float(task.delta),
        confidence=confidence,
        distribution=law.distribution,
        method=method,
        forced=task.include,
        barred=task.exclude,
        max_size=task.max_size,
        exact=found.exact,
        flagged={i: ("unreachable", text) for i, text in found.flagged.items()},
        only=task.only,
        prices=task.prices,
        least_cost=_least_costs(task, found),
    )
    _refuse_contradictions(reasons)
    return reasons


def _least_costs(task: Task, found: Found) -> NDArray[np.float64] | None:
    """Return what a set that reaches delta costs at least in each row, if features have prices."""
    if not task.has_prices:
        return None
    assert task.prices is not None
    return np.array([task.prices.money(value) for value in found.cost_lower], dtype=np.float64)


def _refuse_contradictions(reasons: SufficientReasons) -> None:
    """Raise if a set that reaches delta has or costs less than any that does was proved to."""
    reaches = (reasons.minimality != "best-of-size") & (reasons.status == "ok")
    less = reasons.size_lower > reasons.size
    if reasons.prices is not None:
        less |= reasons.cost_lower > reasons.cost
    for i in np.flatnonzero(reaches & less).tolist():
        which = f"A set that reaches delta = {reasons.delta:g} in row {i}"
        size, cost = float(reasons.size[i]), float(reasons.cost[i])
        refuse_less_than_proved(size, float(reasons.size_lower[i]), "size", which)
        refuse_less_than_proved(cost, float(reasons.cost_lower[i]), "cost", which)


def _check_prices(law: Law, task: Task, method: str) -> None:
    """Refuse costs where the cheapest set is not searched."""
    if task.prices is None:
        return
    if method != "certified":
        raise InvalidInputError(
            f"cost needs method='certified', which finds the cheapest set, got {method!r}."
        )
    if law.conditional:
        raise InvalidInputError(
            "cost is not taken under Matching, which looks for the fewest facts. Use a Background "
            "of the same rows, or leave cost out."
        )


def _refuse(law: Law, method: str) -> None:
    """Refuse what is not sampled."""
    if law.conditional:
        raise InvalidInputError(
            f"Matching counts rows and draws none: use method='certified', got {method!r}."
        )
    if law.model.by_class:
        raise InvalidInputError(
            f"method must be 'certified' for a model of {len(law.model.classes)} classes, got "
            f"{method!r}. Explain one class against another to use it."
        )


def _confidence(failure: float) -> float:
    """Return the confidence of an estimate, which is never that of a proof."""
    return min(max(1 - failure, 0.0), math.nextafter(1.0, 0.0))
