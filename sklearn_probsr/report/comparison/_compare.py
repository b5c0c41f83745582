"""compare: reasons beside SHAP values, row by row.

First come the facts of rows (values in words, probabilities, true classes), then the columns of a
comparison (reasons, certainty, what SHAP says, what other methods chose), then `compare` itself.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.core.answers import SetsWriter
from sklearn_probsr.core.dispatch import law_of
from sklearn_probsr.core.law import Law
from sklearn_probsr.core.options import Options, Task
from sklearn_probsr.distributions._completions import (
    Background,
    Marginals,
)
from sklearn_probsr.exceptions import InvalidInputError, UnreachableError
from sklearn_probsr.explain._explainer import SufficientReasonExplainer
from sklearn_probsr.explain.jobs import Question
from sklearn_probsr.explain.tables import cost_columns
from sklearn_probsr.model.numbers import MISSING, decimal_fraction, fact, listing
from sklearn_probsr.model.sparse import SparseRows, to_sparse
from sklearn_probsr.report.comparison._allowed_features import certain, gaps, in_words, reached
from sklearn_probsr.report.comparison._comparison import Comparison
from sklearn_probsr.report.comparison._shap_columns import (
    columns_beside,
    jaccard,
    scored,
    shap_values_of,
)
from sklearn_probsr.report.comparison._shared_members import codes_of, columns_of, open_counts
from sklearn_probsr.report.comparison._valid_rows import ValidRows
from sklearn_probsr.report.comparison._wide_tables import Wide, filled, pieces, some_rows
from sklearn_probsr.results._reasons import SufficientReasons
from sklearn_probsr.results._scope import Scope

__all__ = [
    "compare",
    "compare_explained",
    "dependence_columns",
    "facts",
    "other_columns",
    "probabilities",
    "table_columns",
    "threshold",
    "true_classes",
]


def table_columns(
    law: Law,
    told: SufficientReasons,
    sure: SufficientReasons | None,
    values: Any,
    task: Task,
    delta: Fraction,
) -> dict[str, NDArray[Any]]:
    """Return the columns of the table."""
    model, n = law.given, len(told)
    beside = [
        columns_beside(law, told, at, filled(some_rows(values, at)), task, delta)
        for at in pieces(values)
    ] or [columns_beside(law, told, np.arange(0), np.zeros((0, model.n_units)), task, delta)]
    return {
        "prediction": told.prediction,
        "margin": model.margin(told.rows),
        "reason": told.sets.named(model.unit_names),
        "reason_size": told.size,
        "guarantee_lower": told.lower,
        "guarantee_upper": told.upper,
        "minimality": told.minimality.astype(object),
        **cost_columns(told),
        "sure_size": np.full(n, np.nan) if sure is None else reached(sure),
        **{name: np.concatenate([piece[name] for piece in beside]) for name in beside[0]},
    }


def dependence_columns(
    law: Law, told: SufficientReasons, missing: dict[str, str]
) -> dict[str, NDArray[Any]]:
    """Return what the reasons guarantee if features are independent, or if they are not.

    If nothing is known of that, ``missing`` says so.
    """
    over = law.distribution
    if isinstance(over, Background):
        other = law_of(law.model, Marginals(over.source, over.weights))
        return scored(other, told.rows, told.sets, "independent")
    if isinstance(over, Marginals):
        other = law_of(law.model, Background(over.source, over.weights))
        return scored(other, told.rows, told.sets, "joint")
    missing["independent_guarantee"] = f"{over} know of no rows whose features depend."
    return {}


def other_columns(
    law: Law,
    told: SufficientReasons,
    name: str,
    sets: Sequence[Iterable[int | str]],
    valid: ValidRows,
) -> dict[str, NDArray[Any]]:
    """Return the columns of another method's sets, one for each row, of those that are valid."""
    if len(sets) != valid.n:
        raise InvalidInputError(
            f"others[{name!r}] must hold one set of features per row, {valid.n}, got {len(sets)}."
        )
    each, room = list(sets), SetsWriter(len(valid.at), law.model.n_units)
    for i, k in enumerate(valid.at):
        room.write(i, law.model.check_features(each[k], f"others[{name!r}]"))
    chosen = room.sets()
    return {
        f"{name}_size": chosen.sizes,
        **scored(law, told.rows, chosen, name),
        f"{name}_overlap": jaccard(chosen, told.sets),
    }


# Rows by which it is seen whether a probability is that of the score.
_SEEN = 1000


def facts(told: SufficientReasons, numbers: Callable[[], NDArray[np.float64]]) -> Any:
    """Return what each feature is: a number, or, where that says less, the fact in words.

    Parameters
    ----------
    told : SufficientReasons
    numbers : callable
        Returns the features as numbers, shape (n, features), as far as they are any.

    Returns
    -------
    ndarray of shape (n, features), or Wide of sparse rows
        Of the numbers if they say all, else of objects.
    """
    model, shown = told.model, told.shown
    if isinstance(told.rows, SparseRows):
        return _of_sparse(told, told.rows, shown)
    units = model.units
    # What the columns were made of says more than they do, where it is known.
    coded = [shown is None and (unit.coded or len(unit.columns) > 1) for unit in units or ()]
    worded = [u for u, unit in enumerate(units or ()) if unit.labels or coded[u]]
    plain = shown is None or shown.dtype.kind in "biuf"
    if plain and not worded and not told.words:
        return numbers() if shown is None else shown
    found = (numbers() if shown is None else shown).astype(object)
    for j in range(model.n_units):
        if j in worded:
            found[:, j] = _of_columns(told, j)
        elif not plain:
            found[:, j] = _of_values(model.unit_names[j], found[:, j].tolist())
    for i, features in told.words.items():
        for j in features:
            found[i, j] = told.fact(i, j)
    return found


def _of_sparse(told: SufficientReasons, rows: SparseRows, shown: Any) -> Wide:
    """Return what features are at zero, and what those are that are there."""
    cells = rows
    if shown is not None:
        cells = to_sparse(abs(rows).astype(np.float64).matrix + abs(to_sparse(shown)).matrix)
    values = rows.cells(cells.places, cells.indices).astype(np.float64)
    raw = None if shown is None else shown[cells.places, cells.indices]
    units, d = told.model.units or (), rows.width
    worded = np.array([bool(u.labels) or (shown is None and u.coded) for u in units], dtype=bool)
    if not worded.any():
        numbers = values if raw is None else np.asarray(raw)
        plain = Wide.of(cells, 0, np.zeros((1, d), dtype=numbers.dtype), numbers)
        return plain.with_words(told.words, told.fact)
    told_raw = [None] * len(values) if raw is None else raw.tolist()
    line, words = np.zeros((1, d), dtype=object), np.empty(len(values), dtype=object)
    line[0] = [
        unit.describe([0.0]) if has else 0.0 for unit, has in zip(units, worded, strict=True)
    ]
    each = zip(cells.indices.tolist(), values.tolist(), told_raw, strict=True)
    words[:] = [
        units[j].describe([value], own) if worded[j] else (value if own is None else own)
        for j, value, own in each
    ]
    return Wide.of(cells, 0, line, words).with_words(told.words, told.fact)


def _of_columns(told: SufficientReasons, j: int) -> NDArray[Any]:
    """Return a feature in words, once for all rows with the same columns."""
    unit = (told.model.units or ())[j]
    part = told.rows[:, list(unit.columns)]
    different, which = np.unique(part, axis=0, return_inverse=True)
    if told.shown is None or (unit.labels and unit.states is not None):
        # Of a state with a label, a value tells no more than whether there is one.
        shown = np.full(len(part), None) if told.shown is None else told.shown[:, j]
        raws = [None] if told.shown is None else ["", MISSING]
        texts = [unit.describe(values, raw) for raw in raws for values in different.tolist()]
        gaps = np.array([isinstance(raw, str) and raw == MISSING for raw in shown.tolist()])
        at = which.reshape(-1) + len(different) * gaps.astype(np.intp)
        found: NDArray[Any] = np.array([*texts, None], dtype=object)[:-1][at]
        return found
    each = zip(part.tolist(), told.shown[:, j].tolist(), strict=True)
    return np.array([*(unit.describe(row, raw) for row, raw in each), None], dtype=object)[:-1]


def _of_values(name: str, values: list[Any]) -> NDArray[Any]:
    """Return raw values: numbers as they are, others as facts."""
    known: dict[Any, Any] = {}
    for value in set(values):
        is_number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
        known[value] = value if is_number and np.isfinite(value) else fact(name, 0.0, value)
    return np.array([*(known[value] for value in values), None], dtype=object)[:-1]


def probabilities(
    model: Any, X: Any, at: NDArray[np.intp], told: SufficientReasons
) -> NDArray[np.float64] | None:
    """Return the probability that an estimator gives to each row's class.

    Parameters
    ----------
    model : estimator
    X : DataFrame, array-like or sparse
        Rows as the user has them.
    at : ndarray of int
        Those that are valid.
    told : SufficientReasons
        Of these.

    Returns
    -------
    ndarray of shape (valid rows,), or None
        None if it has no probabilities, or none for these classes.
    """
    labels = [str(label) for label in getattr(model, "classes_", ())]
    own = [str(label) for label in told.model.classes]
    if not hasattr(model, "predict_proba") or sorted(labels) != sorted(own):
        return None
    try:
        from sklearn.utils import _safe_indexing

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            rows = X if len(at) == _count(X) else _safe_indexing(X, at)
            found = np.asarray(model.predict_proba(rows), dtype=np.float64)
    except Exception:  # a model of any kind may break in any way, and nobody asked for this
        return None
    columns = np.array([labels.index(label) for label in own])
    winners = columns[told.model.winners(told.rows)]
    if found.shape != (len(at), len(own)):
        return None
    each: NDArray[np.float64] = found[np.arange(len(at)), winners]
    return each


def _count(X: Any) -> int:
    shape = getattr(X, "shape", None)
    return len(X) if shape is None else int(shape[0])


def threshold(
    told: SufficientReasons,
    margins: NDArray[np.float64],
    cut: float,
    known: NDArray[np.float64] | None,
) -> str:
    """Say from which score on the second of two classes is predicted; nothing if it is 0.

    As a probability, if that is the logistic function of the score.
    """
    if told.model.by_class or len(told.model.classes) != 2:
        return ""
    second, rows = told.model.classes[1], told.rows[:_SEEN]
    if known is not None and len(rows):
        own = told.model.winners(rows) == 1
        with np.errstate(over="ignore"):
            chance = 1 / (1 + np.exp(-(margins[:_SEEN] + cut)))
            level = 1 / (1 + np.exp(-cut))
        if np.allclose(np.where(own, chance, 1 - chance), known[:_SEEN], atol=1e-9, rtol=1e-6):
            return f"class {second} from a predicted probability of {level:.4g} on"
    return f"class {second} from a score of {cut:.4g} on" if abs(cut) > 1e-9 else ""


def true_classes(y: Any, classes: tuple[Any, ...], n: int) -> NDArray[Any]:
    """Return the true class of each row, None where it is not known, or say what is wrong."""
    import pandas as pd

    values = np.asarray(y, dtype=object)
    if values.shape != (n,):
        raise InvalidInputError(
            f"y must hold the true class of each of the {n} rows, got shape {values.shape}."
        )
    own = {str(label): label for label in classes}
    unknown = pd.isna(values)
    found = np.array([own.get(str(value), value) for value in [*values, None]], dtype=object)[:-1]
    found[unknown] = None
    if not unknown.all() and not any(str(label) in own for label in found[~unknown]):
        raise InvalidInputError(
            f"y must hold classes of the model, {listing(classes)}, got "
            f"{listing(sorted(set(map(str, found[~unknown]))))}."
        )
    return found


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
