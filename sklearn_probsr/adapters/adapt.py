"""Adapt a fitted estimator: follow its steps, fold what is affine, name what is left.

An estimator and perhaps rows come in; `follow` says what its steps and its classifier compute. Its
scores, folded into weights over the base columns, make a `LinearModel` or an `ArgmaxModel`, whose
classes are compared with ``predict`` on the rows. What leaves is an `Adapted`: the model, its
units, and the way from raw rows to both.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

# Importing the adapters fills the registry.
from sklearn_probsr.adapters import trees  # noqa: F401
from sklearn_probsr.adapters.additive import Additive
from sklearn_probsr.adapters.columns import (
    Base,
    Columns,
    Gathering,
    Input,
    Kind,
    as_floats,
    count_rows,
    is_missing,
    listed,
    may_go,
    names_may_lack,
    raw_numbers,
    vectorized,
)
from sklearn_probsr.adapters.contrib import credit, ebm, frames  # noqa: F401
from sklearn_probsr.adapters.linear import Choice, Contest, Decision, choose, contest
from sklearn_probsr.adapters.raw import RawColumns, raw_columns
from sklearn_probsr.adapters.registry import name_of
from sklearn_probsr.adapters.steps import follow
from sklearn_probsr.adapters.text import told_apart, words_in
from sklearn_probsr.adapters.units import Trials, is_number, make_units
from sklearn_probsr.exceptions import InvalidInputError
from sklearn_probsr.model.argmax import ArgmaxModel
from sklearn_probsr.model.linear import LinearModel, Model
from sklearn_probsr.model.numbers import MISSING, listing, value_text
from sklearn_probsr.model.sparse import SparseRows, sparse_rows
from sklearn_probsr.model.units import Unit
from sklearn_probsr.results.views import card, line, strong, table


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
    trials = Trials(bases, raw.names, raw.named, bases.others)
    units = make_units(bases, raw.names, plain, trials)
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
    trials = Trials(bases, raw.names, raw.named, bases.others)
    return make_units(bases, raw.names, _raw_inputs(bases), trials)


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


@dataclass(frozen=True, eq=False)
class Adapted:
    """A fitted estimator as a linear model over units that its user recognises.

    Made by `adapt`.

    Attributes
    ----------
    model : LinearModel or ArgmaxModel
        Decides as the estimator does, on its own columns; see `transform`.
    units : tuple of Unit
        What can be known or unknown: mostly the raw columns, or the words of a text.
    feature_names : tuple of str
        The raw columns.
    cut : float, default=0.0
        The score from which the model measures: where the class changes on the scale of the
        estimator's own decision function, which is 0 unless a threshold was moved.
    """

    model: Model
    units: tuple[Unit, ...]
    feature_names: tuple[str, ...]
    _raw: RawColumns
    _bases: tuple[Base, ...]
    cut: float = 0.0
    _others: tuple[Base, ...] = ()

    def _repr_html_(self) -> str:
        return adapted_card(self.model, self.units, self.feature_names)

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Return raw rows in the columns of the model.

        Parameters
        ----------
        X : DataFrame, array-like or sparse of shape (n, raw columns), or sequence of texts
            Rows as the estimator takes them.

        Returns
        -------
        ndarray of shape (n, columns of the model)
        """
        return np.asarray(self.computed(self.check(X)))

    @cached_property
    def is_plain(self) -> bool:
        """Whether the columns of the model are raw ones, as they come: numbers tell all."""
        own = all(len(u.columns) == 1 and not u.labels and not u.coded for u in self.units)
        return own and all(isinstance(base.rows, Input) for base in self._bases)

    @property
    def takes_text(self) -> bool:
        """Whether raw rows are texts."""
        return self._raw.text

    @property
    def by_name(self) -> tuple[str, ...] | None:
        """The names that a frame must have, and no others; None if it may, or needs none."""
        raw = self._raw
        return raw.names if raw.text or (raw.named and raw.needed is None) else None

    def check(self, X: Any, name: str = "X") -> Any:
        """Return raw rows as the steps take them, or say what is wrong with them."""
        return self._raw.check(X, name)

    def computed(self, raw: Any, name: str = "X") -> Any:
        """Return checked raw rows in the columns of the model; large sparse ones stay sparse."""
        return self._gathering.computed(raw, self.feature_names, name)

    def contributions(self, X: Any) -> NDArray[np.float64]:
        """Return what each unit adds to the decision function.

        Parameters
        ----------
        X : DataFrame, array-like or sparse of shape (n, raw columns), or sequence of texts
            Rows as the estimator takes them.

        Returns
        -------
        ndarray of shape (n, units)
            Together with ``-model.threshold`` they sum up to the decision function, up to
            rounding; it is positive for ``model.classes[1]``. Of a model of several classes, shape
            (n, units, classes): with ``model.intercepts``, the score of each.
        """
        rows = self.transform(X)
        parts = [self.model.sum_by_unit(rows * weights) for weights in self.model.outputs[0]]
        return np.stack(parts, axis=2) if self.model.by_class else parts[0]

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of each raw row, as the model decides."""
        return self.model.predict(self.transform(X))

    def describe(self, X: Any) -> Any:
        """Say in words what each unit is in each raw row.

        Parameters
        ----------
        X : DataFrame, array-like or sparse of shape (n, raw columns), or sequence of texts
            Rows as the estimator takes them.

        Returns
        -------
        DataFrame of shape (n, units)
            Texts such as "job: admin" or "age in [30, 45)".
        """
        import pandas as pd

        shown, rows = self.display(X), self.transform(X)
        texts = [
            [
                _describe(unit, shown.iat[i, j], row[list(unit.columns)])
                for j, unit in enumerate(self.units)
            ]
            for i, row in enumerate(rows)
        ]
        return pd.DataFrame(texts, index=shown.index, columns=shown.columns)

    def display(self, X: Any) -> Any:
        """Return the raw value of each unit; of a word, whether or how often it occurs.

        Parameters
        ----------
        X : DataFrame, array-like or sparse of shape (n, raw columns), or sequence of texts
            Rows as the estimator takes them.

        Returns
        -------
        DataFrame of shape (n, units)
        """
        import pandas as pd

        checked = self.check(X)
        raw, counts = self._raw.frame(checked, X), self._counts(checked)
        found = {}
        for j, (unit, base) in enumerate(zip(self.units, self._firsts, strict=True)):
            values = counts[j] if base.own else raw.iloc[:, base.raw].to_numpy()
            found[unit.name] = pd.Series(values, index=raw.index)
        return pd.DataFrame(found)

    def words(self, raw: Any, sets: Any) -> dict[int, dict[int, tuple[str, ...]]]:
        """Return by row and unit the words in checked raw rows that units do not name.

        Of each row those of a set of units that words were hashed to, as far as it has any.
        """
        if not self._hashed:
            return {}
        asked = {j: self._hashed[j] for j in np.unique(sets.features).tolist() if j in self._hashed}
        return words_in(raw, asked, sets) if asked else {}

    def spelling(self, units: Sequence[int]) -> dict[str, tuple[int, ...]]:
        """Return which of some units are words that case or accents tell from others.

        What a function of one's own makes of them is not known: then they are taken not to.
        """
        found: dict[str, list[int]] = {}
        for j in units:
            output = vectorized(self._firsts[j].rows)
            for kind in () if output is None else told_apart(output.step):
                found.setdefault(kind, []).append(j)
        return {kind: tuple(some) for kind, some in found.items()}

    @cached_property
    def _hashed(self) -> dict[int, Base]:
        """The units that words were hashed to."""
        return {j: base for j, base in enumerate(self._firsts) if base.hashes}

    def tried(self, unit: int, values: Sequence[Any]) -> NDArray[np.float64] | None:
        """Return what raw values of a unit become in its columns; None if they are refused."""
        at = self.units[unit].columns
        if self._bases[at[0]].own is not None:  # a word of a text
            return None
        if self.is_plain:  # no step makes anything of them, and there may be many columns
            found = as_floats(np.array([*values, None], dtype=object)[:-1])
            return found if np.isfinite(found).all() else None
        return self._trials.tried(at, values)

    def categories(self, unit: int) -> list[tuple[str, tuple[float, ...]]] | None:
        """Return the categories of a unit, and what each becomes; None if it has numbers."""
        at = self.units[unit].columns
        if self._bases[at[0]].own is not None:
            return None
        return self._trials.categories(at)

    def is_monotone(self, unit: int) -> bool:
        """Whether the only column of a unit is declared never to fall where its raw one grows."""
        columns = self.units[unit].columns
        return len(columns) == 1 and self._bases[columns[0]].monotone

    def __getstate__(self) -> dict[str, Any]:
        """Return what a pickle holds: not what is made from it on demand."""
        return {part.name: getattr(self, part.name) for part in fields(self)}

    @cached_property
    def _trials(self) -> Trials:
        """Where raw values are tried."""
        return Trials(self._bases, self.feature_names, self._raw.named, self._others)

    @cached_property
    def _gathering(self) -> Gathering:
        """Where the columns of the model come from."""
        return Gathering(self._bases)

    @cached_property
    def _words(self) -> tuple[Gathering | None, list[int]]:
        """Where it is counted how often words occur, if there are any, and the other units."""
        words = [base.source or base for base in self._firsts if base.own]
        others = [j for j, base in enumerate(self._firsts) if not base.own]
        return Gathering(words) if words else None, others

    @cached_property
    def _firsts(self) -> list[Base]:
        """The first column of every unit."""
        return [self._bases[unit.columns[0]] for unit in self.units]

    def _counts(self, raw: Any) -> dict[int, NDArray[np.float64]]:
        """Return how often the word of a unit occurs in checked raw rows, by the unit's index."""
        words = {j: base.source or base for j, base in enumerate(self._firsts) if base.own}
        found = (
            Gathering(list(words.values())).of(raw)
            if words and count_rows(raw)
            else np.zeros((0, len(words)))
        )
        return dict(zip(words, np.asarray(found).T, strict=True))

    def read_sparse(self, raw: Any, rows: SparseRows) -> SparseRows | None:
        """Return the value of each unit in sparse rows, or how often its word occurs.

        None if some units are something else, or a number among them is missing.
        """
        if self.is_plain:
            return rows.columns_at(self.model.columns_first)
        words, others = self._words
        numbers = raw_numbers(raw, [self._firsts[j].raw for j in others])
        counts = None if numbers is None or words is None else words.of(raw)
        if not isinstance(counts, SparseRows) or numbers is None or not len(others):
            return counts if isinstance(counts, SparseRows) else None
        own = [j for j, base in enumerate(self._firsts) if base.own]
        both = sparse.hstack([counts.matrix, numbers], format="csr")
        return sparse_rows(both[:, np.argsort([*own, *others])], None, "X")

    def read(
        self, raw: Any, codes: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[Any]]:
        """Return checked raw rows as numbers, and as a person reads them in `display`.

        A value that is missing is NaN, and "missing". ``codes`` are the numbers of units whose raw
        values are none.
        """
        import pandas as pd

        given = self._given(raw)
        if given.dtype.kind in "biu":
            return given.astype(np.float64), given
        gaps = pd.isna(given)
        shown = np.where(gaps, MISSING, given.astype(object)) if gaps.any() else given
        if given.dtype.kind == "f":
            return given.astype(np.float64), shown
        numbers = codes.copy()
        for j, unit in enumerate(self.units):
            known = [v for i in unit.columns for v in self._bases[i].domain.values]
            if all(is_number(v) or is_missing(v) for v in known):
                # What a step takes as a number may be a date or a text all the same.
                with suppress(TypeError, ValueError):
                    numbers[:, j] = np.where(gaps[:, j], np.nan, given[:, j]).astype(np.float64)
        return numbers, shown

    def _given(self, raw: Any) -> NDArray[Any]:
        """Return the raw value of each unit in checked raw rows."""
        counts = self._counts(raw)
        if len(counts) == len(self.units):
            return np.column_stack(list(counts.values()))
        if hasattr(raw, "to_numpy"):
            values = raw.to_numpy()
            if values.dtype.kind in "mM" and hasattr(raw, "iloc"):  # else numbers come of dates
                values = raw.astype(object).to_numpy()
        else:
            values = raw.toarray() if hasattr(raw, "toarray") else np.asarray(raw)
        given: NDArray[Any] = values[:, [base.raw for base in self._firsts]]
        if counts or given.dtype.kind not in "biuf":
            given = given.astype(object)
        for j, count in counts.items():
            given[:, j] = count
        return given


def _describe(unit: Unit, value: Any, columns: NDArray[np.float64]) -> str:
    if unit.labels:
        return unit.describe(columns.tolist())
    if is_missing(value):
        return f"{unit.name} is missing"
    return f"{unit.name}: {value_text(value)}"


_FEATURES, _STATES = 30, 6


def adapted_card(model: Model, units: Sequence[Unit], columns: Sequence[str]) -> str:
    """Return what can be known or unknown, and what it decides, as a card."""
    names = ", ".join(map(str, model.classes))
    kind = "several scores, the largest wins" if model.by_class else "one score and a threshold"
    made = (
        f"{_count(len(columns), 'raw column')}, {_count(model.n_features, 'column')} of the model"
    )
    more = f"{len(units) - _FEATURES:,} more features." if len(units) > _FEATURES else ""
    rows = [(unit.name, _kind(unit), _states(unit)) for unit in units[:_FEATURES]]
    return card(
        line("A model of ", strong(_count(len(units), "feature")), head=True),
        line(f"Classes {names}: {kind}. {made}."),
        table(["feature", "kind", "what it can be"], rows, more),
    )


def _count(n: int, word: str) -> str:
    return f"{n:,} {word}{'' if n == 1 else 's'}"


def _kind(unit: Unit) -> str:
    if unit.states is None:
        return "number, coded" if unit.coded else "number"
    return "yes or no" if unit.is_binary else f"{len(unit.states)} states"


def _states(unit: Unit) -> str:
    """Return what a person calls the states, the first ones if there are many."""
    if unit.states is None:
        wide = len(unit.columns)
        return "any number" if wide == 1 else f"any numbers, in {wide} columns"
    states = [unit.describe(state) for state in unit.states[:_STATES]]
    left = len(unit.states) - len(states)
    return "; ".join([*states, *([f"{left} more"] if left else [])])


def compare(
    estimator: Any,
    X: Any,
    model: Model,
    rows: NDArray[np.float64] | SparseRows,
    at: NDArray[np.intp],
    choice: Choice | Contest,
    name: str,
) -> None:
    """Refuse a model that disagrees with its estimator beyond rounding, and warn within it."""
    checked = model.check_sparse if isinstance(rows, SparseRows) else model.check_rows
    ours = model.winners(checked(rows, name))
    judged = isinstance(choice, Choice) and choice.judge is not None
    if not judged and isinstance(estimator, tuple | Additive):
        return
    with names_may_lack(X):
        try:
            theirs = _theirs(estimator, X, choice)
        except TypeError:
            floats = _without_decimals(X)
            if floats is None:
                raise
            theirs = _theirs(estimator, floats, choice)
    for i in np.flatnonzero((theirs >= 0) & (ours != theirs)):
        labels = [choice.classes[int(won[i])] for won in (theirs, ours)]
        row = f"row {i} of {name}"
        if _is_close(rows[i], at, choice, int(theirs[i]), int(ours[i])):
            warnings.warn(
                f"{row} lies on the threshold, up to rounding: the estimator says {labels[0]!r}, "
                f"the model says {labels[1]!r} by the exact sum of its weights.",
                stacklevel=4,
            )
            continue
        values = X.iloc[i] if hasattr(X, "iloc") else X[i]
        values = values.tolist() if hasattr(values, "tolist") else values
        raise InvalidInputError(
            f"the model disagrees with the estimator in {row}: the estimator says "
            f"{labels[0]!r}, the model {labels[1]!r}. The row is {values!r}. The adapter is "
            "wrong, or the estimator does not decide by its coefficients."
        )


def _theirs(estimator: Any, X: Any, choice: Choice | Contest) -> NDArray[np.intp]:
    """Return the places of the classes that an estimator gives; -1 where another one has won."""
    if isinstance(choice, Choice) and choice.judge is not None:
        return choice.judge(X).astype(np.intp)
    said = np.asarray(estimator.predict(X))
    found = np.full(len(said), -1)
    for k, label in enumerate(choice.classes):
        found[said == label] = k
    return found


def _without_decimals(X: Any) -> Any:
    """Return a polars frame with its Decimals as floats; None if there are none.

    scikit-learn makes floats of those in a pandas frame, and multiplies those of polars as they
    are, which Python refuses.
    """
    if type(X).__module__.partition(".")[0] != "polars":
        return None
    import polars as pl

    names = [name for name, kind in X.schema.items() if isinstance(kind, pl.Decimal)]
    return X.with_columns(pl.col(names).cast(pl.Float64)) if names else None


def _is_close(
    row: NDArray[np.float64],
    at: NDArray[np.intp],
    choice: Choice | Contest,
    theirs: int,
    ours: int,
) -> bool:
    """Whether a score, or the lead of one, is within what rounding can do to it."""
    if isinstance(choice, Contest):
        coef = choice.coef[ours] - choice.coef[theirs]
        intercept, cut = float(choice.intercept[ours] - choice.intercept[theirs]), 0.0
        sizes = np.abs(choice.coef[ours]) + np.abs(choice.coef[theirs])
    else:
        coef, intercept, cut, sizes = choice.coef, choice.intercept, choice.cut, np.abs(choice.coef)
    columns = choice.columns
    full = np.zeros(len(columns.bases))
    full[at] = row
    inner = columns.matrix @ full + columns.offset
    score = float(coef @ inner) + intercept - cut
    inner_size = abs(columns.matrix) @ np.abs(full) + np.abs(columns.offset)
    size = float(sizes @ inner_size) + float(np.abs(choice.intercept).sum()) + abs(cut)
    rounding = 8 * (len(columns) + len(at) + 2) * choice.precision * size
    return abs(score) <= rounding + choice.slack
