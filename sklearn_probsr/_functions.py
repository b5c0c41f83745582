"""The functions of the core: guarantees, curves, and sufficient reasons."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sklearn_probsr.distributions._completions import (
    Background,
    Distribution,
    Matching,
    Uniform,
    check_distribution,
)
from sklearn_probsr.engines.coins._deficits import Instance
from sklearn_probsr.engines.coins._enclose import enclose
from sklearn_probsr.exceptions import InvalidInputError
from sklearn_probsr.laws._duels import before, rival_curve, rival_guarantee, search_rivals
from sklearn_probsr.laws._matching import conditional_curve, conditional_guarantee
from sklearn_probsr.laws._replacement import joint_curve, joint_guarantee, search_joint
from sklearn_probsr.model._argmax import AnyModel, ArgmaxModel
from sklearn_probsr.model._enclosure import Enclosure
from sklearn_probsr.model._exact import float_below
from sklearn_probsr.model._linear import LinearModel
from sklearn_probsr.results._curve import GuaranteeCurve, curve
from sklearn_probsr.results._reason import SufficientReason, SufficientReasons
from sklearn_probsr.search._arguments import (
    check_effort,
    check_model,
    check_task,
    check_tol,
    generator,
    open_unit,
)
from sklearn_probsr.search._coins import Task, search
from sklearn_probsr.search._draws import search_by_draws
from sklearn_probsr.search._facts import search_conditional
from sklearn_probsr.search._independent import (
    independent_curve,
    independent_guarantee,
    search_independent,
)
from sklearn_probsr.search._sampling import search_as_published, search_by_samples

__all__ = ["guarantee", "guarantee_curve", "sufficient_reason", "sufficient_reasons"]

_METHODS = ("certified", "monte-carlo", "paper")


def guarantee(
    model: AnyModel,
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
    >>> model = LinearModel([5, 1, -3, 2, -1], threshold=5)
    >>> print(guarantee(model, [1, 0, 0, 1, 1], features=[0, 2]))
    0.875
    """
    check_model(model)
    chosen = check_distribution(distribution, model)
    row = model.check_row(x)
    fixed = model.check_features(features, "features")
    width = check_tol(tol)
    if isinstance(chosen, Background):
        return joint_guarantee(before(model, row, chosen), fixed)
    if isinstance(chosen, Matching):
        return conditional_guarantee(model, row, fixed, chosen)
    if isinstance(model, ArgmaxModel):
        return rival_guarantee(model, row, fixed, chosen)
    coins = _coins(model, chosen)
    if coins is None:
        return independent_guarantee(model, row, fixed, chosen, width)
    instance = Instance(coins, model.core_rows(row[None, :])[0])
    return enclose(instance.subset_sum(fixed), None, width)


def guarantee_curve(
    model: AnyModel, x: ArrayLike, *, distribution: Any = None, tol: float = 1e-4
) -> GuaranteeCurve:
    """Enclose the guarantee of every size along one order of the features.

    Under the uniform distribution the order is by score, and no set of k features beats the
    first k. Over background rows it is the order in which a greedy search fixes features.

    Parameters
    ----------
    model : LinearModel or ArgmaxModel
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
    >>> model = LinearModel([5, 1, -3, 2, -1], threshold=5)
    >>> guarantee_curve(model, [1, 0, 0, 1, 1]).lower
    array([0.25 , 0.5  , 0.875, 1.   , 1.   , 1.   ])
    """
    check_model(model)
    chosen = check_distribution(distribution, model)
    row = model.check_row(x)
    width = check_tol(tol)
    if isinstance(chosen, Background):
        return GuaranteeCurve(*joint_curve(before(model, row, chosen)), chosen)
    if isinstance(chosen, Matching):
        return GuaranteeCurve(*conditional_curve(model, row, chosen), chosen)
    if isinstance(model, ArgmaxModel):
        return GuaranteeCurve(*rival_curve(model, row, chosen), chosen)
    coins = _coins(model, chosen)
    if coins is None:
        return GuaranteeCurve(*independent_curve(model, row, chosen, width), chosen)
    instance = Instance(coins, model.core_rows(row[None, :])[0])
    lower, upper = curve(instance, width)
    return GuaranteeCurve(instance.order, lower, upper, chosen)


def _coins(model: AnyModel, distribution: Distribution) -> LinearModel | None:
    """Return the model of two classes on 0/1 columns if every unknown one is a fair coin."""
    if isinstance(model, ArgmaxModel) or not isinstance(distribution, Uniform):
        return None
    return model.binary_core


def sufficient_reason(
    model: AnyModel,
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
) -> SufficientReason:
    """Find the fewest features of ``x`` that keep its class with probability at least delta.

    This is `sufficient_reasons` of one row; see there for the parameters.

    Parameters
    ----------
    model : LinearModel or ArgmaxModel
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
        The most seconds of an integer programme.

    Returns
    -------
    SufficientReason
        With ``features``, ``size``, ``size_lower``, ``guarantee``, ``minimality`` and more.

    Raises
    ------
    InvalidInputError
        If an argument is not what it should be.
    UnreachableError
        If delta cannot be reached without the features in ``exclude``.

    Examples
    --------
    >>> model = LinearModel([5, 1, -3, 2, -1], threshold=5)
    >>> reason = sufficient_reason(model, [1, 0, 0, 1, 1], delta=0.875)
    >>> reason.features, reason.minimality
    ((0, 2), 'minimum')
    >>> print(reason)
    Class 1 is kept with probability at least 0.875 over uniform completions, given x0 = 1 and \
x2 = 0 (2 of 5 features; no smaller set reaches 0.875).
    """
    check_model(model)
    return sufficient_reasons(
        model,
        model.check_row(x)[None, :],
        delta=delta,
        distribution=distribution,
        method=method,
        epsilon=epsilon,
        gamma=gamma,
        random_state=random_state,
        include=include,
        exclude=exclude,
        max_size=max_size,
        prove=prove,
        max_evals=max_evals,
        time_limit=time_limit,
    )[0]


def sufficient_reasons(
    model: AnyModel,
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
) -> SufficientReasons:
    """Find for each row the fewest features that keep its class with probability at least delta.

    Parameters
    ----------
    model : LinearModel or ArgmaxModel
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
        one. ``"auto"`` stays within milliseconds a row. True goes on until ``max_evals``, and over
        background rows to an integer programme on SciPy's HiGHS. False tries no proof. Uniform
        binary features need none of it.
    max_evals : int or None, default=None
        The most sets of one size that a proof may look at in a row. None: 200,000 if ``prove`` is
        True; if it is "auto" 10,000, and no more than make a million row visits (over background
        rows) or a million terms of a Fourier sum (over independent features).
    time_limit : float, default=10.0
        The most seconds that an integer programme may take in a row.

    Returns
    -------
    SufficientReasons
        Columns ``mask``, ``size``, ``size_lower``, ``lower``, ``upper``, ``minimality``; ``[i]`` is
        one reason.

    Raises
    ------
    InvalidInputError
        If an argument is not what it should be.
    UnreachableError
        If delta cannot be reached for a row without the features in ``exclude``.

    Examples
    --------
    >>> model = LinearModel([5, 1, -3, 2, -1], threshold=5)
    >>> reasons = sufficient_reasons(model, [[1, 0, 0, 1, 1], [0, 1, 1, 0, 1]], delta=0.9)
    >>> reasons.size
    array([3, 1])
    >>> reasons[1].features
    (0,)
    """
    check_model(model)
    rows = model.check_rows(X)
    chosen = check_distribution(distribution, model)
    task = check_task(model, delta, include, exclude, max_size)
    task = replace(task, effort=check_effort(prove, max_evals, time_limit))
    slack = open_unit(epsilon, "epsilon")
    risk = open_unit(gamma, "gamma")
    confidence = 1.0
    samples: Any = 0
    coins = _coins(model, chosen)
    if isinstance(chosen, Matching) and method != "certified":
        raise InvalidInputError(
            f"Matching counts rows and draws none: use method='certified', got {method!r}."
        )
    if isinstance(chosen, Matching):
        found = search_conditional(model, rows, task, chosen)
        confidence = float_below(chosen.confidence)
    elif isinstance(model, ArgmaxModel):
        _refuse_beyond_two_classes(model, method)
        found = search_rivals(model, rows, task, chosen)
    elif method == "certified":
        if isinstance(chosen, Background):
            found = search_joint(model, rows, task, chosen)
        elif coins is None:
            found = search_independent(model, rows, task, chosen)
        else:
            found = search(coins, model.core_rows(rows), replace(task, slack=slack))
    elif method == "monte-carlo":
        slack = Fraction("0.01") if slack is None else slack
        failure = 1e-6 if risk is None else float(risk)
        rng = generator(random_state)
        if coins is None:
            found, samples = search_by_draws(model, rows, task, slack, failure, rng, chosen)
        else:
            found, samples = search_by_samples(
                coins, model.core_rows(rows), task, slack, failure, rng
            )
        confidence = _confidence(failure * (1 if task.max_size is None else 2))
    elif method == "paper":
        _refuse_beyond_the_paper(coins, task, chosen)
        slack = Fraction("0.1") if slack is None else slack
        failure = 0.1 if risk is None else float(risk)
        found, samples = search_as_published(
            coins or model, model.core_rows(rows), task, slack, failure, generator(random_state)
        )
        confidence = _confidence(3 * failure)
    else:
        raise InvalidInputError(f"method must be one of {_METHODS}, got {method!r}.")
    return SufficientReasons(
        model=model,
        rows=rows,
        mask=found.mask,
        lower=found.lower,
        upper=found.upper,
        minimality=found.minimality,
        epsilon=found.epsilon,
        size_lower=np.maximum(found.size_lower, len(task.include)),
        samples=np.broadcast_to(np.asarray(samples, dtype=np.int64), len(rows)),
        delta=float(delta),
        confidence=confidence,
        distribution=chosen,
        method=method,
        forced=task.include,
        exact=found.exact,
    )


def _refuse_beyond_two_classes(model: ArgmaxModel, method: str) -> None:
    if method != "certified":
        raise InvalidInputError(
            f"method must be 'certified' for a model of {len(model.classes)} classes, got "
            f"{method!r}. Explain one class against another to use it."
        )


def _refuse_beyond_the_paper(
    coins: LinearModel | None, task: Task, distribution: Distribution
) -> None:
    if coins is None:
        raise InvalidInputError(
            f"method='paper' is for uniform binary features, got {distribution!r}. "
            "Use method='certified' or 'monte-carlo'."
        )
    if task.include or task.exclude or task.max_size is not None:
        raise InvalidInputError(
            "method='paper' knows no include, exclude or max_size. "
            "Use method='certified' or 'monte-carlo' with them."
        )


def _confidence(failure: float) -> float:
    """Return the confidence of an estimate, which is never that of a proof."""
    return min(max(1 - failure, 0.0), math.nextafter(1.0, 0.0))
