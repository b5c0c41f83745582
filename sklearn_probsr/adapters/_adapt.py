"""Adapt a fitted estimator: follow its steps, fold what is affine, name what is left."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.adapters._adapted import Adapted
from sklearn_probsr.adapters._agreement import compare
from sklearn_probsr.adapters._follow import follow
from sklearn_probsr.adapters._raw_columns import RawColumns, raw_columns
from sklearn_probsr.adapters._registry import name_of
from sklearn_probsr.adapters.classifiers._decision import Choice, Contest, Decision, choose, contest
from sklearn_probsr.adapters.units._columns import Base, Columns, Kind, listed, may_go
from sklearn_probsr.adapters.units._gathering import Gathering, count_rows
from sklearn_probsr.adapters.units._pipeline_units import make_units
from sklearn_probsr.adapters.units._place_rows import Input
from sklearn_probsr.exceptions import InvalidInputError
from sklearn_probsr.model.argmax import ArgmaxModel
from sklearn_probsr.model.linear import LinearModel, Model
from sklearn_probsr.model.numbers import listing
from sklearn_probsr.model.sparse import SparseRows
from sklearn_probsr.model.units import Unit

__all__ = ["Classes", "adapt", "adapt_again", "adapt_on", "to_linear_model"]


class Classes(NamedTuple):
    """Which classes are told apart: two, or all together if none is named."""

    target: Any = None
    versus: Any = None
    together: bool = False


def to_linear_model(
    estimator: Any,
    *,
    feature_names: Sequence[str] | None = None,
    target: Any = None,
    versus: Any = None,
) -> LinearModel:
    """Return the linear model that decides exactly as a fitted classifier does on 0/1 columns.

    Parameters
    ----------
    estimator : fitted classifier or Pipeline, or pair (coef, intercept)
        Raw columns that reach its classifier are taken to be 0/1. Columns that its steps make,
        bins or categories, are what the steps make them; `adapt` also transforms raw rows to them.
    feature_names : sequence of str or None, default=None
        The names of the raw columns, if the estimator was fitted without.
    target : label or None, default=None
        The class to be explained as ``classes[1]``; None: the second of two.
    versus : label or None, default=None
        The class to compare it with, of an estimator that tells several apart.

    Returns
    -------
    LinearModel
        With units where a raw column has several columns or states.

    Raises
    ------
    InvalidInputError
        If the estimator is not linear, not fitted or unknown, or tells several classes apart
        and no two of them are given.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], ["no", "no", "yes", "yes"]
    >>> to_linear_model(LogisticRegression().fit(X, y), feature_names=["job", "home"]).predict(X)
    array(['no', 'no', 'yes', 'yes'], dtype='<U3')
    """
    raw = raw_columns(estimator, feature_names, None)
    decision = _decision(estimator, raw, binary=True)
    _check_proved(decision, "to adapt, as X_sample")
    choice = choose(decision, target, versus)
    bases = _bases(choice)
    return _model(choice, bases, _units(bases, raw))


def adapt(
    estimator: Any,
    X_sample: Any = None,
    *,
    target: Any = None,
    versus: Any = None,
    binary: bool = False,
    feature_names: Sequence[str] | None = None,
    all_classes: bool = False,
) -> Adapted:
    """Return a fitted classifier or Pipeline as a linear model over its raw columns.

    Steps before the classifier that are affine are folded into the weights; steps that make bins,
    categories, flags or words of a raw column define its states. The fitted steps themselves take
    raw rows to the model's columns.

    Parameters
    ----------
    estimator : fitted classifier or Pipeline, or pair (coef, intercept)
        What decides.
    X_sample : DataFrame, array-like or sparse, or None, default=None
        Raw rows. The model's classes are compared with ``predict`` on them. Numbers are real-valued
        features, also if they are only 0 and 1 here: other rows may have other ones. Columns of
        booleans, by their dtype, are binary.
    target : label or None, default=None
        The class to be explained as ``classes[1]``; None: the second of two.
    versus : label or None, default=None
        The class to compare it with, of an estimator that tells several apart.
    binary : bool, default=False
        Whether raw columns that reach the classifier are 0/1, also without a sample.
    feature_names : sequence of str or None, default=None
        The names of the raw columns, if the estimator was fitted without.
    all_classes : bool, default=False
        Whether an estimator that takes the largest of several scores, asked for no target and no
        versus, becomes an `ArgmaxModel` of all of its classes.

    Returns
    -------
    Adapted
        The model, its units, and what takes raw rows to them.

    Raises
    ------
    InvalidInputError
        If the estimator cannot be adapted, or the model disagrees with it on a row of the sample.

    Warns
    -----
    UserWarning
        If a row of the sample is so close to the threshold that rounding decides its class in
        scikit-learn, and decides otherwise than exact arithmetic.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import KBinsDiscretizer
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> bins = KBinsDiscretizer(n_bins=3, strategy="uniform")
    >>> adapted = adapt(make_pipeline(bins, LogisticRegression()).fit(X, y), X)
    >>> adapted.units[0].labels
    ('mean radius < 14.024', 'mean radius in [14.024, 21.067)', 'mean radius ≥ 21.067')
    """
    classes = Classes(target, versus, all_classes)
    return adapt_on(estimator, X_sample, "X_sample", classes, binary, feature_names)


def adapt_on(
    estimator: Any,
    rows: Any,
    name: str,
    classes: Classes,
    binary: bool | str,
    feature_names: Sequence[str] | None,
) -> Adapted:
    """Adapt an estimator, given rows that a user knows by some name.

    ``binary`` as in `adapt`, or "seen": numbers that are both 0 and 1 in the rows, and nothing
    else, are binary, as laws want it that need states.
    """
    raw = raw_columns(estimator, feature_names, rows)
    decision = _decision(estimator, raw, binary is True)
    if rows is None:
        _check_proved(decision, f"as {name}")
    choice = _choice(decision, classes)
    bases = _bases(choice)
    sample = None if rows is None else raw.check(rows, name)
    if sample is not None and not count_rows(sample):
        raise InvalidInputError(f"{name} must have at least one row, got none.")
    made = None if sample is None else Gathering(bases).computed(sample, raw.names, name)
    plain = _raw_inputs(bases) & (binary is True)
    if sample is not None and not binary:
        plain = _raw_inputs(bases) & _booleans(bases, sample)
    elif made is not None and len(made) and binary == "seen":
        plain = _zeros_and_ones(made)
    units = make_units(bases, raw.names, raw.named, plain, bases.others)
    model: Model = (
        _contest(choice, bases, units)
        if isinstance(choice, Contest)
        else _model(choice, bases, units)
    )
    if made is not None:
        compare(estimator, sample, model, made, bases.at, choice, name)
    return Adapted(model, tuple(units), raw.names, raw, tuple(bases), _cut(choice), bases.others)


def adapt_again(
    estimator: Any,
    model: Model,
    feature_names: Sequence[str],
    *,
    target: Any = None,
    versus: Any = None,
    binary: bool = False,
) -> Adapted:
    """Return what `adapt` returned, with ``all_classes``, for an estimator whose model is known.

    No sample is needed: what it told is in the model.

    Raises
    ------
    InvalidInputError
        If the model has not the columns that the estimator's steps give.
    """
    raw = raw_columns(estimator, feature_names, None)
    choice = _choice(_decision(estimator, raw, binary), Classes(target, versus, True))
    bases = _bases(choice)
    names = tuple(_unique([base.name for base in bases]))
    if names != model.feature_names:
        raise InvalidInputError(
            f"The linear model of {name_of(estimator)} must have the columns {listing(names)}, got "
            f"{listing(model.feature_names)}. Make the explainer anew."
        )
    units = model.units or tuple(Unit.binary(name, i) for i, name in enumerate(names))
    return Adapted(model, units, raw.names, raw, tuple(bases), _cut(choice), bases.others)


def _units(bases: Used, raw: RawColumns) -> list[Unit]:
    """Return the units of base columns of which the raw ones are 0/1."""
    return make_units(bases, raw.names, raw.named, _raw_inputs(bases), bases.others)


def _check_proved(decision: Decision, where: str) -> None:
    """Refuse what only rows could tell, where there are none."""
    if decision.unproved:
        raise InvalidInputError(
            f"{decision.name} is no type that is known to decide by its coef_ and intercept_. Pass "
            f"rows {where}: its predict is compared with them. Or pass the pair (coef_, "
            "intercept_), which is taken at its word."
        )


def _cut(choice: Choice | Contest) -> float:
    return 0.0 if isinstance(choice, Contest) else choice.cut


def _choice(decision: Decision, asked: Classes) -> Choice | Contest:
    every = asked.together and asked.target is None and asked.versus is None
    return (contest(decision) if every else None) or choose(decision, asked.target, asked.versus)


def _raw_inputs(bases: Sequence[Base]) -> NDArray[np.bool_]:
    """Tell which base columns are raw columns, as they come."""
    return np.array([b.kind is Kind.RAW and isinstance(b.rows, Input) for b in bases])


def _booleans(bases: Sequence[Base], sample: Any) -> NDArray[np.bool_]:
    """Tell which base columns come from raw columns of booleans, by their dtype."""
    if hasattr(sample, "columns"):
        types = [str(sample[column].dtype).lower() for column in sample.columns]
        kinds = [kind.startswith("bool") for kind in types]  # bool, boolean, bool[pyarrow], Boolean
    else:  # texts have no dtype
        kinds = [getattr(sample, "dtype", None) == np.bool_] * (max(b.raw for b in bases) + 1)
    return np.array([kinds[base.raw] for base in bases])


def _zeros_and_ones(made: Any) -> NDArray[np.bool_]:
    """Tell which columns of some rows are both 0 and 1, and nothing else."""
    if not isinstance(made, SparseRows):
        found: NDArray[np.bool_] = ((made == 0) | (made == 1)).all(axis=0)
        found &= made.min(axis=0) < made.max(axis=0)
        return found
    ones = np.bincount(made.indices[made.values == 1], minlength=made.width)
    others = np.bincount(made.indices[made.values != 1], minlength=made.width)
    found = others == 0
    found &= (ones > 0) & (ones < len(made))
    return found


def _decision(estimator: Any, raw: RawColumns, binary: bool) -> Decision:
    found: Decision = follow(estimator, Columns.start(raw.names, Input(), binary), "classifier")
    return found


class Used(list[Base]):
    """The base columns that a decision uses, and their places among all of them.

    ``others`` are those of raw columns that it does not use.
    """

    def __init__(self, bases: Sequence[Base], at: Sequence[int]) -> None:
        order = sorted(at, key=lambda i: bases[i].raw)
        super().__init__(bases[i] for i in order)
        self.at = np.array(order, dtype=np.intp)
        raws = {base.raw for base in self}
        self.others = tuple(base for base in listed(bases) if base.raw not in raws)


def _bases(choice: Choice | Contest) -> Used:
    """Return the base columns that a decision uses, unit by unit."""
    columns = choice.columns
    matrix = columns.matrix.tocoo()
    used = np.zeros(len(columns.bases), dtype=np.bool_)
    used[matrix.coords[1][matrix.data != 0]] = True
    idle = may_go(columns.bases)
    if idle.any():
        weights = np.asarray(columns.matrix.T @ choice.coef.T).reshape(len(used), -1)
        some = used & (~idle | weights.any(axis=1))
        used = some if some.any() else used & (np.cumsum(used) == 1)
    return Used(columns.bases, np.flatnonzero(used if used.any() else ~used).tolist())


def _folded(choice: Choice | Contest, bases: Used) -> NDArray[np.float64]:
    """Return weights over the base columns, of one score or of each."""
    weights = np.asarray(choice.columns.matrix.T @ choice.coef.T)[bases.at]
    return weights.T + 0.0  # no negative zeros


def _contest(choice: Contest, bases: Used, units: Sequence[Unit]) -> ArgmaxModel:
    """Fold the affine steps into the weights of every score."""
    names, asked = _names(bases, units)
    return ArgmaxModel(
        _folded(choice, bases),
        choice.intercept + choice.coef @ choice.columns.offset,
        last=not choice.strict,
        feature_names=names,
        classes=choice.classes,
        units=asked,
    )


def _model(choice: Choice, bases: Used, units: Sequence[Unit]) -> LinearModel:
    """Fold the affine steps into weights and threshold."""
    weights = _folded(choice, bases)
    threshold = choice.cut - (choice.intercept + float(choice.coef @ choice.columns.offset))
    if np.isinf(choice.cut):  # no score reaches it, or every one does
        weights, threshold = np.zeros(len(bases)), np.sign(choice.cut)
    names, asked = _names(bases, units)
    return LinearModel(
        weights,
        threshold + 0.0,
        strict=choice.strict,
        feature_names=names,
        classes=choice.classes,
        units=asked,
    )


def _names(bases: Sequence[Base], units: Sequence[Unit]) -> tuple[list[str], Sequence[Unit] | None]:
    """Return the names of the columns, and the units if they are not just these columns."""
    names = _unique([base.name for base in bases])
    plain = all(unit.is_binary and not unit.labels and not unit.coded for unit in units)
    alike = plain and [unit.name for unit in units] == names
    return names, None if alike else units


def _unique(names: Sequence[str]) -> list[str]:
    found: dict[str, None] = {}
    for name in names:
        unique, n = name, 2
        while unique in found:
            unique, n = f"{name} ({n})", n + 1
        found[unique] = None
    return list(found)
