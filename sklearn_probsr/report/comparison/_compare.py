"""compare: reasons beside SHAP values, row by row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from sklearn_probsr.core.options import Options
from sklearn_probsr.exceptions import InvalidInputError, UnreachableError
from sklearn_probsr.explain._explainer import SufficientReasonExplainer
from sklearn_probsr.explain.jobs import Question
from sklearn_probsr.model.numbers import decimal_fraction
from sklearn_probsr.report.comparison._allowed_features import certain, gaps, in_words
from sklearn_probsr.report.comparison._comparison import Comparison
from sklearn_probsr.report.comparison._row_facts import (
    facts,
    probabilities,
    threshold,
    true_classes,
)
from sklearn_probsr.report.comparison._shap_columns import (
    shap_values_of,
)
from sklearn_probsr.report.comparison._shared_members import codes_of, columns_of, open_counts
from sklearn_probsr.report.comparison._table_columns import (
    dependence_columns,
    other_columns,
    table_columns,
)
from sklearn_probsr.report.comparison._valid_rows import ValidRows
from sklearn_probsr.report.comparison._wide_tables import Wide
from sklearn_probsr.results._scope import Scope

__all__ = ["compare", "compare_explained"]

# What is asked at every level, as it was asked of the explainer.
_SAME = (
    "epsilon", "include", "exclude", "max_size", "prove", "max_evals", "time_limit", "present_only",
    "supporting_only", "cost",
)  # fmt: skip

Others = Mapping[str, Sequence[Iterable[int | str]]]


def compare(
    model: Any,
    X: Any,
    masker: Any = None,
    *,
    delta: float = 0.95,
    target: Any = None,
    versus: Any = None,
    epsilon: float | None = None,
    include: Iterable[int | str] = (),
    exclude: Iterable[int | str] = (),
    max_size: int | None = None,
    prove: str | bool = "auto",
    shap_values: Any = None,
    others: Others | None = None,
    dependence: bool = False,
    n_jobs: int | None = None,
    on_error: str = "flag",
    y: Any = None,
    present_only: bool = False,
    supporting_only: bool = False,
    groups: Any = None,
    alternatives: bool = False,
    cost: Any = None,
) -> Comparison:
    """Put the sufficient reason of every row beside its SHAP values.

    Parameters
    ----------
    model : fitted classifier or Pipeline, pair (coef, intercept), or LinearModel
        What decides.
    X : DataFrame, array-like or sparse of shape (n, columns)
        Rows as the model takes them.
    masker : None, "uniform", data, shap masker or distribution, default=None
        What may replace an unknown feature, as in `SufficientReasonExplainer`; the SHAP values are
        computed on the same background, all rows of it.
    delta : float, default=0.95
        The probability that a reason guarantees.
    target : label or None, default=None
        The class to be explained as the positive one; see `adapt`.
    versus : label or None, default=None
        The class to compare it with, of an estimator that tells several apart.
    epsilon : float or None, default=None
        The slack in delta; see `sufficient_reasons`. Certainty has none.
    include, exclude : iterable of int or str, default=()
        Features, by index or name, that every reason must have, and must not have. SHAP's orders
        and certainty keep to the same rule: they begin with those in ``include``, and leave out
        those in ``exclude``. Where delta, or certainty, is out of reach then, the size is NaN in
        that row, and ``missing`` says in how many.
    max_size : int or None, default=None
        The most features that a reason may have, at any level of ``Comparison.growth``; where they
        do not reach it, the best of them stand there (``"best-of-size"``). How many features
        SHAP's orders and certainty would take is told beyond it.
    prove : {"auto", True, False}, default="auto"
        How hard to try to prove that no smaller set will do; see `sufficient_reasons`.
    shap_values : Explanation, array-like of shape (n, features) or None, default=None
        SHAP values that you have already; None: those of `shap.LinearExplainer`. With an axis of
        outputs, those of the predicted class are taken.
    others : mapping of name to one set of features per row, or None, default=None
        Other methods' sets, by feature index or name, to be scored by the same guarantee.
    dependence : bool, default=False
        Whether to say what it matters that features depend on each other: over background rows,
        what the reasons would guarantee if features were independent; over marginals, what they
        guarantee in the rows themselves. This may take longer than all the rest.
    n_jobs : int or None, default=None
        How many jobs share the search for reasons.
    on_error : {"flag", "raise"}, default="flag"
        What to do with a row that cannot be explained as asked, as in `SufficientReasonExplainer`:
        flagged ones say so in the columns ``status`` and ``message``, and the summary, the page and
        the pictures leave them out.
    y : array-like of shape (n,) or None, default=None
        The true class of each row, None or NaN where it is not known: it stands beside the
        predicted one in the table and on the page.
    present_only : bool, default=False
        Whether only features that are there may be chosen, such as words that occur; see
        `sufficient_reasons`. SHAP's orders and certainty keep to the same rule.
    supporting_only : bool, default=False
        Whether only facts that speak for the class may be chosen; likewise.
    groups : mapping of str to list of str, or None, default=None
        Features that are known or unknown together, and count as one, in reasons and in SHAP
        values; see `SufficientReasonExplainer`.
    alternatives : bool, default=False
        Whether to find out which features are in every minimum reason of a row, and which in some:
        the table then has ``n_necessary``, ``n_possible`` and ``undecided``, and the page marks
        them. See `sklearn_probsr.alternatives`.
    cost : mapping, array-like or None, default=None
        What it costs to know each feature: the cheapest reasons are looked for, and the table has
        ``cost`` and ``cost_lower``; see `sufficient_reasons`. SHAP's orders and certainty are about
        the number of features.

    Returns
    -------
    Comparison
        Tables, words and pictures.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = [[0, 0, 1], [0, 1, 0], [1, 0, 0], [1, 1, 1]], [0, 0, 1, 1]
    >>> found = compare(LogisticRegression(C=9).fit(X, y), X, X, delta=0.9)
    >>> found.to_frame()[["reason", "reason_size", "abs_shap_size"]]
      reason  reason_size  abs_shap_size
    0  (x0,)            1              1
    1  (x0,)            1              1
    2  (x0,)            1              1
    3  (x0,)            1              1
    """
    explainer = SufficientReasonExplainer(
        model,
        masker,
        delta=delta,
        target=target,
        versus=versus,
        epsilon=epsilon,
        include=include,
        exclude=exclude,
        max_size=max_size,
        prove=prove,
        n_jobs=n_jobs,
        on_error=on_error,
        present_only=present_only,
        supporting_only=supporting_only,
        groups=groups,
        cost=cost,
    )
    return compare_explained(
        explainer,
        X,
        shap_values=shap_values,
        others=others,
        dependence=dependence,
        y=y,
        alternatives=alternatives,
    )


def compare_explained(
    explainer: SufficientReasonExplainer,
    X: Any,
    *,
    shap_values: Any = None,
    others: Others | None = None,
    dependence: bool = False,
    y: Any = None,
    alternatives: bool = False,
) -> Comparison:
    """Compare the reasons of an explainer, whatever it was asked for."""
    if explainer.law.conditional:
        raise InvalidInputError(
            "compare scores sets by what replaces the other features, and Matching replaces "
            "nothing. Pass data, or Background(X)."
        )
    explained = explainer(X, alternatives=alternatives)
    law, linear, whole = explainer.law, explainer.linear_model, explained.reasons
    valid = ValidRows(np.flatnonzero(whole.status != "invalid"), len(whole))
    told = whole if valid.are_all else whole[valid.at]
    options = Options(**{name: getattr(explainer, name) for name in _SAME})
    task, level = options.task(linear), decimal_fraction(explainer.delta)
    known, missing = {float(level): told}, dict[str, str]()
    try:
        sure = certain(law, told.rows, replace(options, cost=None), task, explainer.n_jobs)
    except UnreachableError as error:  # nobody asked for certainty: the rest can be told
        sure, missing["sure_size"] = None, str(error)
    values = shap_values_of(law, told, valid.of(shap_values))
    table = table_columns(law, told, sure, values, task, level)
    chance = probabilities(explainer.model, X, valid.at, told)
    cut = threshold(told, table["margin"], explainer.cut, chance)
    if chance is not None:
        table["probability"] = chance
    alike = task.max_size is None and task.prices is None
    if sure is not None and alike and not np.isnan(table["sure_size"]).any():
        known[1.0] = sure
    missing |= gaps(table, explainer.delta, missing, task)
    table |= {"status": told.status.astype(object), "message": told.message}
    if dependence:
        table |= dependence_columns(law, told, missing)
    for name, sets in (others or {}).items():
        table |= other_columns(law, told, name, sets, valid)
    table = valid.table_among_all(table)
    values = valid.values_among_all(values)
    table |= {"status": whole.status.astype(object), "message": whole.message}
    if y is not None:
        truth = {"true_class": true_classes(y, linear.classes, len(whole))}
        table = {"prediction": table["prediction"], **truth, **table}
    shared: Any = None
    if explained.alternatives is not None:
        codes = codes_of(explained.alternatives, linear.n_units)
        shared = codes if isinstance(values, Wide) else codes.toarray()
        table |= columns_of(list(explained.alternatives), linear.unit_names)
        missing |= open_counts(table, whole.status)
    question = Question(law, "certified", options, None, flag=True)
    mask: Any = whole.sets if isinstance(values, Wide) else whole.mask
    return Comparison(
        table=table,
        shap_values=values,
        values=facts(whole, lambda: explained.data),
        mask=mask,
        feature_names=linear.unit_names,
        classes=linear.classes,
        delta=float(level),
        distribution=str(law.distribution),
        others=tuple(others or ()),
        missing=missing,
        search=partial(valid.grown, question, told, known, explainer.n_jobs),
        index=explained.index,
        rules=in_words(task, linear.unit_names),
        scope=Scope.of(task, linear.unit_names),
        threshold=cut,
        shared=shared,
    )
