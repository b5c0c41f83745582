"""ReasonExplanation: sufficient reasons in the form that shap's plots draw.

It is a `shap.Explanation` whose rows keep their reasons: what brackets choose is worked out here,
in places of rows, features and classes, and cut out of everything alike. What shap does to values,
such as taking means, has no reasons any more and is left to a plain `shap.Explanation`.

Of large sparse rows there is no table of values. Their data are kept by what is in them, SHAP
values follow from the rows, and a table is made where somebody asks for one, best of a few rows.
Where one row is drawn, the names of the features in its reason are marked.
"""

from __future__ import annotations

import copy
import operator
import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import shap
from numpy.typing import NDArray
from shap.utils import OpChain

from sklearn_probsr.core.answers import FeatureSets
from sklearn_probsr.core.dispatch import law_of
from sklearn_probsr.exceptions import InvalidInputError
from sklearn_probsr.explain._shap_values import (
    expected_scores,
    filled_values,
    values_inside,
    values_of_reasons,
)
from sklearn_probsr.explain.frames._row_index import (
    ByLabel,
    built_index,
    called_by_place,
    joined_index,
    row_index,
)
from sklearn_probsr.explain.questions._row_answers import alternatives_table
from sklearn_probsr.explain.rules._rule_sets import Rules, rules_of
from sklearn_probsr.explain.tables import gains, reason_table
from sklearn_probsr.model.sparse import SparseRows, joined_rows, to_sparse
from sklearn_probsr.questions._alternatives import Alternatives
from sklearn_probsr.results._reason import SufficientReason
from sklearn_probsr.results._reasons import SufficientReasons
from sklearn_probsr.results.codec import check_max_bytes, refusing
from sklearn_probsr.results.files import read_explanation, write_explanation
from sklearn_probsr.results.views import (
    SHOWN_ROWS,
    TOLD_ROWS,
    by_place,
    reason_card,
    reasons_table,
    reasons_text,
)

__all__ = ["ClassValues", "MARK", "ReasonExplanation", "marked"]

MARK = "●"


class MarkedName(str):
    """The name of a feature, which is written with a mark.

    It is equal to the name, and finds what the name finds: columns of a frame, keys, features of an
    explanation. Only where it becomes part of a text, as in labels of a plot, the mark is there.
    """

    __slots__ = ()

    def __str__(self) -> str:
        return f"{MARK} {str.__str__(self)}"

    def __format__(self, spec: str) -> str:
        return format(str(self), spec)

    def __radd__(self, before: str) -> str:
        return f"{before}{self}"


def marked(names: Sequence[str], inside: Iterable[Any]) -> list[str]:
    """Return names of features, marked where these are inside a reason."""
    return [MarkedName(name) if here else name for name, here in zip(names, inside, strict=True)]


# A table of more bytes is not made of sparse rows.
_LARGEST = 2**30


class ClassValues(NamedTuple):
    """Values of the score of each class; see `ReasonExplanation.per_class`."""

    base_values: list[float]
    values: list[NDArray[np.float64]]


class _Sparse(NamedTuple):
    """What is kept of large sparse rows, for which there is no table of values.

    ``values`` are those of the features in reasons, behind each other, with zeros for all others;
    None: SHAP values of all features, which follow from the rows.
    """

    values: NDArray[np.float64] | None
    base_values: NDArray[np.float64]
    data: SparseRows
    display_data: SparseRows | None

    def of_rows(self, rows: Any, sets: FeatureSets) -> _Sparse:
        """Return what is kept of some rows, of which ``sets`` are the reasons."""
        if rows is None:
            return self
        at, values, display = np.atleast_1d(rows), self.values, self.display_data
        if values is not None:
            ends = np.cumsum(sets.sizes[at])
            inside = np.arange(ends[-1] if len(at) else 0)
            starts = sets.indptr[:-1][at] - (ends - sets.sizes[at])
            values = values[inside + np.repeat(starts, sets.sizes[at])]
        display = None if display is None else display[at]
        return _Sparse(values, self.base_values[at], self.data[at], display)

    def matrix(self, sets: FeatureSets) -> Any:
        """Return the values of the features in reasons as a sparse matrix."""
        from scipy import sparse

        shape = (len(sets), sets.width)
        found = sparse.csr_array((self.values, sets.features, sets.indptr), shape, copy=True)
        found.sort_indices()
        return found


class ReasonExplanation(shap.Explanation):
    """Sufficient reasons as a `shap.Explanation`.

    ``values`` are SHAP values: what each feature adds to the decision function over what it adds
    on average, ``c_u(x) - E[C_u]``, in a reason or not. ``base_values`` are the expected decision
    function, measured from the threshold: below 0 is the first class, above it the second. Together
    they are the decision function of the row, so that every plot of shap is true. Beside them is
    the reason: ``reason_mask`` says which features are in it, and names of one row are written with
    a mark there (``str(name)``; they are equal to the names without). ``reason_only`` has zeros
    for all others. Made by `SufficientReasonExplainer`.

    Parameters
    ----------
    reasons : SufficientReasons
        The reasons themselves, with the model and the distribution that they speak of.
    values : ndarray of shape (n, features) or (n, features, classes), or None
        With a third axis for a model of more than two classes. None: SHAP values of the rows. Of
        sparse rows, those of the features in reasons, behind each other, with zeros for others.
    base_values : ndarray of shape (n,) or (n, classes)
        What the values of a row are added to.
    data : ndarray of shape (n, features)
        The features as numbers: as they were given, NaN where they are missing, and codes for
        categories. Of a single row that was a text, its words, as `shap.plots.text` wants them.
    display_data : ndarray of shape (n, features) or None
        The features as a person reads them.
    feature_names : sequence of str
        What the features are called.
    output_names : str or sequence of str
        What the values add up to; of several classes, the name of each.
    view : {"all", "reason", "guarantee"}, default="all"
        What values are: SHAP values of all features, or of those in the reason alone (see
        `reason_only`), or gains in probability (see `as_guarantee`).
    index : sequence or None, default=None
        What the rows are called; None: by their numbers.
    alternatives : sequence of Alternatives or None, default=None
        What all minimum reasons of each row share; None: nobody asked.

    Attributes
    ----------
    reason_mask : ndarray of bool, shape (n, features)
        Which features are in each reason.
    reason_size : ndarray of int, shape (n,)
        How many features each reason has.
    guarantee_lower, guarantee_upper : ndarray of float, shape (n,)
        Bounds of the probability that the class is kept.
    minimality : ndarray of str, shape (n,)
        What was proved; see `SufficientReason`.
    size_lower : ndarray of int, shape (n,)
        The size below which no set reaches delta, as far as was proved.
    stopped : ndarray of str, shape (n,)
        How the proof of that ended: "proved", "time", "exhausted", or nothing if none was tried.
    cost : ndarray of float, shape (n,)
        What the features of each reason cost; their number, if no costs were given.
    cost_lower : ndarray of float, shape (n,)
        The cost below which no set reaches delta, as far as was proved.
    prediction : ndarray of shape (n,)
        The class of each row; None of an invalid one.
    status : ndarray of str, shape (n,)
        "ok"; "unreachable" where delta cannot be reached with what is allowed, and the best set is
        given; "invalid" where the model cannot take the row: its reason is empty, its values are
        zero, its guarantee is 0 to 1. ``reasons[reasons.status == "ok"]`` leaves those out.
    message : ndarray of str, shape (n,)
        Why a row is not "ok".
    index : pandas Index
        What the rows are called: the index of the frame that was explained.
    loc : ByLabel
        The rows by what they are called: ``reasons.loc["p3"]``, or several by a list. Brackets,
        here and of all that has one thing for each row, and `describe` take places.
    alternatives : RowAnswers, Alternatives or None
        The `Alternatives` of each row, or of the only one, None where it is flagged; None if the
        explainer was not asked for them (``explainer(X, alternatives=True)``). With them, sentences
        and pictures tell which features every minimum reason has. They are not saved.
    delta : float
        The probability that was asked for.
    distribution : object
        What the guarantees speak of.

    Notes
    -----
    The fields go along with every kind of indexing, copying and pickling. An aggregate
    (``mean(0)``, ``abs``, arithmetic) is no longer made of reasons: it is a plain
    `shap.Explanation`.
    """

    view: str
    _sparse: _Sparse | None = None
    # Where shap keeps its fields; None as long as sparse rows need none of them.
    _slicer: Any = None

    def __init__(
        self,
        reasons: SufficientReasons,
        values: NDArray[np.float64] | None,
        base_values: NDArray[np.float64],
        data: Any,
        display_data: Any,
        feature_names: Sequence[str],
        output_names: str | Sequence[str],
        view: str = "all",
        index: Any = None,
        alternatives: Sequence[Alternatives | None] | None = None,
    ) -> None:
        self.view, self._reasons = view, reasons
        self._index = row_index(index, len(reasons))
        self._others = None if alternatives is None else tuple(alternatives)
        # Whether it is a single row, and of which features: None of all of them.
        self._single: bool = False
        self._units: Any = None
        if isinstance(data, SparseRows):
            self._sparse = _Sparse(values, base_values, data, display_data)
            self._called: tuple[Any, Any] = (list(feature_names), output_names)
            self.op_history: list[Any] = []
            self.compute_time: float | None = None
            self.output_dims = (2,) if base_values.ndim == 2 else ()
            return
        if values is None:
            values = values_of_reasons(reasons, base_values.ndim == 2)
        arrays = (values, base_values, data, display_data)
        self._fill(arrays, list(feature_names), output_names)

    def _fill(self, arrays: Any, names: Any, outputs: Any) -> None:
        """Write down the fields that shap knows: values, base values, data, display data, names."""
        values, base, data, display = arrays
        history, seconds = getattr(self, "op_history", []), getattr(self, "compute_time", None)
        several = None if isinstance(outputs, str) else outputs
        super().__init__(values, base_values=base, feature_names=names, output_names=several)
        # shap itself takes none of these for all parts that there may be of rows.
        self._slicer.data, self._slicer.display_data = data, display
        if isinstance(outputs, str):
            self._slicer.output_names = outputs
        self.op_history, self.compute_time = history, seconds

    @property
    def _s(self) -> Any:
        """Where shap keeps its fields; a table of sparse rows is made now."""
        sparse = self._sparse
        if self._slicer is None and sparse is not None:
            size = 8 * int(np.prod(self.shape))
            if size > _LARGEST:
                raise InvalidInputError(
                    f"values of {len(self._reasons):,} rows and {sparse.data.width:,} features "
                    f"would take {size / 2**30:.1f} GB. Slice rows first, as in reasons[:100]."
                )
            values = (
                values_of_reasons(self._reasons, sparse.base_values.ndim == 2)
                if sparse.values is None
                else filled_values(self._reasons.sets, sparse.values)
            )
            display = None if sparse.display_data is None else sparse.display_data.toarray()
            data = sparse.data.toarray().astype(np.float64)
            arrays: Any = (values, sparse.base_values, data, display)
            if self._single:
                arrays = tuple(None if array is None else array[0] for array in arrays)
            self._fill(arrays, *self._called)
        return self._slicer

    @_s.setter
    def _s(self, slicer: Any) -> None:
        self._slicer = slicer

    # --- what there is of each row ------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the values; of no rows (0,), by which shap's plots tell that."""
        if not len(self._reasons) and np.ndim(self._unit_places):
            return (0,)
        if self._sparse is None:
            found: tuple[int, ...] = super().shape
            return found
        shape = (len(self._reasons), self._sparse.data.width, *self._sparse.base_values.shape[1:])
        return shape[self._single :]

    @property
    def values(self) -> Any:
        """What each feature adds."""
        return self._s.values

    @values.setter
    def values(self, values: Any) -> None:
        self._s.values = values
        self._sparse = None  # these do not follow from the rows

    @property
    def base_values(self) -> Any:
        """What the values of a row are added to."""
        if self._sparse is None:
            return self._s.base_values
        return self._sparse.base_values[0] if self._single else self._sparse.base_values

    @base_values.setter
    def base_values(self, base_values: Any) -> None:
        self._s.base_values = base_values
        self._sparse = None

    @property
    def data(self) -> Any:
        """The features as numbers; of one text, its words, and nothing where others are."""
        data = self._s.data
        if not self._is_one_text:
            return data
        words = [f"{name} " for name in self._names]
        return np.where(np.asarray(data) != 0, np.array(words, dtype=object), "")

    @data.setter
    def data(self, data: Any) -> None:
        self._s.data = data
        self._sparse = None

    @property
    def display_data(self) -> Any:
        """The features as a person reads them."""
        display = self._s.display_data
        return self._s.data if display is None and self._is_one_text else display

    @display_data.setter
    def display_data(self, display: Any) -> None:
        shap.Explanation.display_data.fset(self, display)
        self._sparse = None

    @property
    def _is_one_text(self) -> bool:
        """Whether this is a single row that was a text, with several of its features."""
        return self._reasons.of_texts and self._single and np.ndim(self._unit_places) == 1

    @property
    def feature_names(self) -> Any:
        """What the features are called; of one row, those in the reason are written with a mark."""
        names = self._names
        if not self._single or isinstance(names, str) or names is None:
            return names
        return marked(names, np.asarray(self.reason_mask).tolist())

    @feature_names.setter
    def feature_names(self, names: Any) -> None:
        self._s.feature_names = names
        self._sparse = None

    @property
    def _names(self) -> Any:
        """What the features are called, in a reason or not."""
        return self._s.feature_names if self._sparse is None else self._called[0]

    @property
    def output_names(self) -> Any:
        """What the values add up to; of several classes, the name of each."""
        return self._s.output_names if self._sparse is None else self._called[1]

    @output_names.setter
    def output_names(self, names: Any) -> None:
        self._s.output_names = names
        self._sparse = None

    @property
    def _unit_places(self) -> Any:
        """Which features these are."""
        return np.arange(self._reasons.model.n_units) if self._units is None else self._units

    def _of_rows(self, column: Any) -> Any:
        """Return a column with one entry for each row; of a single row, its entry."""
        return column[0] if self._single else column

    @property
    def reason_mask(self) -> Any:
        """Which features are in each reason."""
        mask = self._of_rows(self._reasons.mask)
        return mask if self._units is None else mask[..., self._units]

    @property
    def reason_size(self) -> Any:
        """How many features each reason has."""
        return self._of_rows(self._reasons.size)

    @property
    def guarantee_lower(self) -> Any:
        """The probability that is surely reached."""
        return self._of_rows(self._reasons.lower)

    @property
    def guarantee_upper(self) -> Any:
        """The probability that is surely not passed."""
        return self._of_rows(self._reasons.upper)

    @property
    def minimality(self) -> Any:
        """What was proved of each reason."""
        return self._of_rows(self._reasons.minimality)

    @property
    def size_lower(self) -> Any:
        """The size below which no set reaches delta, as far as was proved."""
        return self._of_rows(self._reasons.size_lower)

    @property
    def stopped(self) -> Any:
        """How the proof of each reason ended."""
        return self._of_rows(self._reasons.stopped)

    @property
    def cost(self) -> Any:
        """What the features of each reason cost; their number, if no costs were given."""
        return self._of_rows(self._reasons.cost)

    @property
    def cost_lower(self) -> Any:
        """The cost below which no set reaches delta, as far as was proved."""
        return self._of_rows(self._reasons.cost_lower)

    @property
    def prediction(self) -> Any:
        """The class of each row."""
        return self._of_rows(self._reasons.prediction)

    @property
    def status(self) -> Any:
        """What became of each row: "ok", "unreachable" or "invalid"."""
        return self._of_rows(self._reasons.status)

    @property
    def message(self) -> Any:
        """Why a row is not "ok"."""
        return self._of_rows(self._reasons.message)

    @property
    def index(self) -> Any:
        """What the rows are called: the index of the frame that was explained."""
        return self._index

    @property
    def reasons(self) -> SufficientReasons:
        """The reasons of these rows, with their model and distribution."""
        return self._reasons

    @property
    def alternatives(self) -> Any:
        """What all minimum reasons of each row share, if the explainer was asked for that."""
        if self._others is None or self._single:
            return None if self._others is None else self._others[0]
        told = self._reasons
        return alternatives_table(self._others, told.model.unit_names, told.scope, self._index)

    @property
    def delta(self) -> float:
        """The probability that was asked for."""
        return self._reasons.delta

    @property
    def distribution(self) -> Any:
        """What the guarantees speak of."""
        return self._reasons.distribution

    @property
    def in_probability(self) -> bool:
        """Whether values are gains in probability."""
        return self.view == "guarantee"

    @property
    def loc(self) -> ByLabel:
        """The rows by what they are called: ``reasons.loc["p3"]``; ``reasons[3]`` is the fourth."""
        return ByLabel(self._batch("loc") if self._single else self, self._index)

    # --- brackets and copies --------------------------------------------------------------------

    def __getitem__(self, item: Any) -> Any:
        rows, units, outputs = self._places(item)
        if self._sparse is None:
            return self._cut(rows, units, outputs)
        some = self._twin(rows)
        some._sparse, some._called = self._sparse.of_rows(rows, self._reasons.sets), self._called
        return some if units is None and outputs is None else some._cut(None, units, outputs)

    def _places(self, asked: Any) -> list[Any]:
        """Return the places of rows, features and classes that brackets ask for.

        Each is a number, an array of numbers, or None: all of them.
        """
        items = asked if isinstance(asked, tuple) else (asked,)
        n, k = len(self._reasons), np.shape(self.base_values)[-1:]
        axes: dict[int, tuple[int, Any]] = {} if self._single else {0: (n, None)}
        if np.ndim(self._unit_places):
            axes[1] = (len(self._unit_places), self._names)
        if self._by_class:
            axes[2] = (k[0], self.output_names)
        if Ellipsis in [item for item in items if item is ...]:
            at = next(i for i, item in enumerate(items) if item is ...)
            more = len(axes) - len(items) + 1
            items = (*items[:at], *(slice(None) for _ in range(more)), *items[at + 1 :])
        if len(items) > len(axes):
            raise IndexError(f"too many indices: there are {len(axes)} axes, got {len(items)}")
        found: list[Any] = [None, None, None]
        for (axis, (length, names)), item in zip(axes.items(), items, strict=False):
            found[axis] = self._place(item, length, names, asked)
        return found

    def _place(self, item: Any, length: int, names: Any, whole: Any) -> Any:
        """Return the places along one axis; ``names`` are what is there is called, if anything."""
        if isinstance(item, OpChain):
            item = item.apply(self)
        if isinstance(item, shap.Explanation):
            item = item.values
        if isinstance(item, slice) and item == slice(None):
            return None
        asked = [item] if isinstance(item, str) else item
        if isinstance(asked, list | tuple) and any(isinstance(name, str) for name in asked):
            known = {} if names is None else {name: i for i, name in enumerate(names)}
            if not {name for name in asked if isinstance(name, str)} <= known.keys():
                raise InvalidInputError(
                    "brackets take the place of a row, then a feature, then a class, by place or "
                    f"by name, got {whole!r}. A row by its label is loc[label], a feature of all "
                    "rows [:, name], a class [:, :, name]."
                )
            asked = [known[name] if isinstance(name, str) else name for name in asked]
            item = asked[0] if isinstance(item, str) else asked
        if isinstance(item, list) and not item:
            item = slice(0)
        found = np.arange(length)[item]
        if found.ndim > 1:
            raise IndexError(f"brackets take places along one axis, got shape {found.shape}")
        return found if found.ndim else int(found)

    @property
    def _by_class(self) -> bool:
        """Whether there is one value for each of several classes."""
        return np.ndim(self.base_values) == 2 - self._single

    def _twin(self, rows: Any) -> ReasonExplanation:
        """Return what some rows have beside their values."""
        twin = type(self).__new__(type(self))
        twin.__dict__ |= {**self.__dict__, "_slicer": None, "op_history": [*self.op_history]}
        if rows is not None:
            at = np.atleast_1d(rows)
            twin._reasons, twin._index = self._reasons[at], self._index[at]
            if self._others is not None:
                twin._others = tuple(self._others[i] for i in at.tolist())
            twin._single = np.ndim(rows) == 0
        return twin

    def _cut(self, rows: Any, units: Any, outputs: Any) -> ReasonExplanation:
        """Return some rows, features and classes of a table."""
        by_row = () if self._single else (rows,)
        by_unit = (units,) if np.ndim(self._unit_places) else ()
        by_class = (outputs,) if self._by_class else ()
        names, called = self._names, self.output_names
        twin = self._twin(rows)
        twin._sparse = None
        if units is not None:
            twin._units = self._unit_places[units]
            names = np.array(names, dtype=object)[units]
        if outputs is not None:
            called = np.array(called, dtype=object)[outputs]
        arrays = (
            _chosen(self.values, by_row + by_unit + by_class),
            _chosen(self.base_values, by_row + by_class),
            _chosen(self._s.data, by_row + by_unit),
            _chosen(self._s.display_data, by_row + by_unit),
        )
        names = names if isinstance(names, str) else list(names)
        called = called if called is None or isinstance(called, str) else list(called)
        twin._fill(arrays, names, called)
        return twin

    def __copy__(self) -> ReasonExplanation:
        twin: ReasonExplanation = self[()]
        return twin

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ if self._sparse is None else {**self.__dict__, "_slicer": None}

    # --- values that are of no reasons any more -------------------------------------------------

    def plain(self) -> shap.Explanation:
        """Return a `shap.Explanation` without what makes it one of reasons.

        The name of a single output is not in it: `shap.Explanation` cannot copy an aggregate along
        an axis that has one.
        """
        names = self.output_names
        found = shap.Explanation(
            self.values,
            base_values=self.base_values,
            data=self.data,
            display_data=self.display_data,
            feature_names=self._names,
            output_names=None if isinstance(names, str) else names,
        )
        found.op_history = copy.copy(self.op_history)
        return found

    def _numpy_func(self, fname: str, **kwargs: Any) -> shap.Explanation:
        return self.plain()._numpy_func(fname, **kwargs)

    def percentile(self, q: float, axis: int | None = None) -> shap.Explanation:
        """Return a percentile of the values, as a plain Explanation."""
        return self.plain().percentile(q, axis)

    def _apply_binary_operator(self, other: Any, binary_op: Any, op_name: str) -> shap.Explanation:
        return self.plain()._apply_binary_operator(other, binary_op, op_name)

    def sum(self, axis: int | None = None, grouping: Any = None) -> shap.Explanation:
        """Return sums of the values, as a plain Explanation."""
        return self.plain().sum(axis=axis, grouping=grouping)

    # --- words and tables -----------------------------------------------------------------------

    def _told(self, i: int | None = None) -> SufficientReason:
        """Return the reason of a row."""
        n = len(self._reasons)
        if i is None and n > 1:
            raise InvalidInputError(
                f"describe needs the number of a row, this explanation has {n}. Write describe(0)."
            )
        if not n:
            raise InvalidInputError("describe needs a row, this explanation has none.")
        try:
            return self._reasons[operator.index(0 if i is None else i)]
        except (IndexError, TypeError):
            named: Any = i
            labelled = np.ndim(named) == 0 and named in self.index
            hint = "" if called_by_place(self.index) else " A row by its label is loc[label]."
            hint = f" That is a label: write loc[{i!r}].describe()." if labelled else hint
            raise InvalidInputError(
                f"describe takes the place of a row, 0 to {n - 1}, got {i!r}.{hint}"
            ) from None

    def describe(self, i: int | None = None) -> str:
        """Say in a sentence why a row got its class.

        Parameters
        ----------
        i : int or None, default=None
            The place of the row, as in ``reasons[i]``; None if there is only one. By what it is
            called: ``reasons.loc[label].describe()``.

        Returns
        -------
        str
            With a second sentence on the other reasons of that size, if ``alternatives`` are there.
        """
        told, others = str(self._told(i)), self._others
        one = None if others is None else others[0 if i is None else i]
        return told if one is None else f"{told} {one.words(sized=False)}"

    def __repr__(self) -> str:
        """Return the first rows as a table; one row is its sentence, and a part of one shap's."""
        if not self._has_all:
            return str(shap.Explanation.__repr__(self))
        if self._single:
            return self.describe()
        told = (self._reasons[:TOLD_ROWS], self.index)
        return reasons_text(*told, self._reasons, by_label=not called_by_place(self.index))

    def _repr_html_(self) -> str:
        names = self.index
        if self._single:
            others = self.alternatives
            more = "" if others is None else others.words(sized=False)
            return reason_card(self._reasons[0], names[0], more)
        first, n = self._reasons[:SHOWN_ROWS], len(self._reasons)
        places = "" if called_by_place(names) or not n else by_place(names[0])
        return reasons_table(first, names, n, self._reasons, places)

    def to_frame(self) -> Any:
        """Return one line for each row: class, reason, guarantee, and what was proved.

        Returns
        -------
        DataFrame
            With columns ``prediction``, ``reason`` (the names, the most telling first),
            ``reason_size``, ``against`` (the names of those in it that speak against the class),
            ``guarantee_lower``, ``guarantee_upper``, ``minimality``, ``distribution``, ``status``
            and ``message``, and the index of the frame that was explained. If not all sets were
            allowed also ``scope``, the sets that the minimality speaks of ("of the features
            allowed"), and if costs were given ``cost`` and ``cost_lower``, behind ``minimality``.
            Under `Matching` also
            ``coverage``, the share of the rows held out that share the facts, how many those are,
            and how many of them keep the class (``matching_rows``, ``kept_rows``).
        """
        return reason_table(self.reasons, self.index)

    def rules(self, X: Any = None, held_out: Any = None) -> Rules:
        """Widen the facts of every reason to a rule, and count the rows that satisfy it.

        Whoever satisfies a rule gets its class with probability at least delta when the other
        features are replaced; see `Rule`. Not every row that satisfies it has the class: how many
        do is its precision.

        Parameters
        ----------
        X : DataFrame, array-like or sparse of shape (n, columns), or None, default=None
            Rows as the explainer takes them, to count over: ``coverage`` is the share of them that
            satisfy a rule, ``precision`` the share of those to which the model gives its class.
            None: the rows of the background, if there is one.
        held_out : DataFrame, array-like or sparse, or None, default=None
            More rows, that neither the background nor the rows explained nor ``X`` have, drawn as
            the rows of interest are: the precision over them has a Clopper-Pearson bound, for each
            rule. Of a model with real-valued features, rows that are there as well are left out;
            elsewhere equal rows may be different ones, and your word is taken.

        Returns
        -------
        Rules
            One for each row but the invalid ones.

        Raises
        ------
        InvalidInputError
            Under `Matching`, where facts are equalities, and where there is nothing to widen.
        """
        batch = self._batch("rules")
        return rules_of(batch.reasons, batch.index, X, held_out)

    @property
    def reason_only(self) -> ReasonExplanation:
        """The same explanation with zeros outside the reasons.

        SHAP values of the few features that settle the decision. They no longer sum up to the
        decision function, which the name of the output says; a waterfall of one row ends where its
        reason alone carries the average.

        Examples
        --------
        >>> from sklearn.linear_model import LogisticRegression
        >>> from sklearn_probsr import SufficientReasonExplainer
        >>> X, y = [[0, 0, 1], [0, 1, 0], [1, 0, 0], [1, 1, 1]], [0, 0, 1, 1]
        >>> reasons = SufficientReasonExplainer(LogisticRegression(C=9).fit(X, y), X)(X)
        >>> (reasons.reason_only.values != 0).sum(axis=1)
        array([1, 1, 1, 1])
        >>> reasons.reason_only.output_names
        'decision function of 1 against 0 (reason only)'
        """
        if self.view != "all":
            return self
        batch = self._batch("reason_only")
        told, by_class, names = batch.reasons, batch._by_class, batch.output_names
        if batch._sparse is None:
            inside = told.mask[:, :, None] if by_class else told.mask
            values = np.where(inside, batch.values, 0.0)
        else:
            values = values_inside(told, by_class)
        named = [_named(name, "reason") for name in ([names] if isinstance(names, str) else names)]
        outputs: Any = named[0] if isinstance(names, str) else named
        return self._view(batch, values, batch.base_values, outputs, "reason")

    def as_guarantee(self) -> ReasonExplanation:
        """Return the same reasons in units of probability.

        The features of a reason are fixed one after the other, in its order. ``base_values`` is
        the guarantee of nothing, each value is what a feature adds, and they sum up to the
        guarantee of the reason. (Lower bounds throughout; where guarantees are exact, so are
        these. With features that can cost or gain a value may be negative.) Every set on the way
        is bounded once, however many rows share it; that is most of the cost, about as much as
        `guarantee` takes for each.

        Returns
        -------
        ReasonExplanation
        """
        batch = self._batch("as_guarantee")
        told = batch.reasons
        labels = {str(label) for label in told.prediction[told.status != "invalid"].tolist()}
        name = f"class {labels.pop()}" if len(labels) == 1 else "the class"
        values, base = gains(told)
        values = values if batch._sparse is not None else filled_values(told.sets, values)
        return self._view(batch, values, base, f"probability that {name} is kept", "guarantee")

    def of_prediction(self) -> ReasonExplanation:
        """Return the values of each row's own class, of a model of several classes.

        Returns
        -------
        ReasonExplanation
            With values of shape (n, features), as plots of one output expect them; itself, if it
            has but one output.
        """
        if not self._by_class:
            return self
        batch = self._batch("of_prediction")
        told = batch.reasons
        own, each = told.model.winners(told.rows), np.arange(len(told))
        values: Any = None
        if batch._sparse is None:
            values = batch.values[each, :, own]
        elif batch.view != "all":
            values = values_inside(told, by_class=False)
        name = _named("score of the predicted class", batch.view)
        return self._view(batch, values, batch.base_values[each, own], name, batch.view)

    def _view(
        self, batch: ReasonExplanation, values: Any, base: Any, outputs: Any, view: str
    ) -> ReasonExplanation:
        """Return the same reasons with other values; a single row if this is one."""
        facts = batch._facts
        made = ReasonExplanation(
            batch._reasons, values, base, *facts, batch._names, outputs, view, batch._index,
            batch._others,
        )  # fmt: skip
        return made[0] if self._single else made

    @property
    def _facts(self) -> tuple[Any, Any]:
        """The features as numbers, and as a person reads them."""
        if self._sparse is None:
            return self._s.data, self._s.display_data
        return self._sparse.data, self._sparse.display_data

    @property
    def _has_all(self) -> bool:
        """Whether all features are there, in their order."""
        return np.array_equal(self._unit_places, np.arange(self._reasons.model.n_units))

    def _batch(self, what: str) -> ReasonExplanation:
        """Return it with one line for each row, also if there is only one; ``what`` needs that."""
        units, n = np.atleast_1d(self._unit_places), self._reasons.model.n_units
        if not np.array_equal(units, np.arange(n)):
            raise InvalidInputError(
                f"{what} needs all {n} features in their order, this explanation has "
                f"{len(units)} of them. Slice rows only, as in reasons[:10]."
            )
        if not self._single:
            return self
        if self._sparse is not None:
            twin = self._twin(None)
            twin._single = False
            return twin
        arrays = (self.values, self.base_values, *self._facts)
        lines: list[Any] = [None if a is None else np.asarray(a)[None] for a in arrays]
        told: tuple[Any, ...] = (
            self._names,
            self.output_names,
            self.view,
            self._index,
            self._others,
        )
        return ReasonExplanation(self._reasons, *lines, *told)

    @classmethod
    def concatenate(cls, parts: Iterable[ReasonExplanation]) -> ReasonExplanation:
        """Put explanations of one explainer behind each other, as one with all their rows.

        (``+`` adds values, as in shap.)

        Parameters
        ----------
        parts : iterable of ReasonExplanation
            Of the same model, distribution, delta and method.

        Returns
        -------
        ReasonExplanation
            With their indices behind each other; where all of them number rows from 0 on, the
            numbers go on. It has alternatives if all of them have.
        """
        batches = [part._batch("concatenate") for part in _explanations(parts)]
        first, others = batches[0], [batch._others for batch in batches]
        for batch in batches[1:]:
            _check_alike(first, batch)
        return cls(
            SufficientReasons.concatenate([batch.reasons for batch in batches]),
            *_joined(batches),
            first._names,
            first.output_names,
            first.view,
            joined_index([batch.index for batch in batches]),
            None if any(o is None for o in others) else [one for o in others for one in o or ()],
        )

    def per_class(self) -> ClassValues:
        """Return one array of values for each class, as some libraries want those of two as well.

        Of two classes the values of the first are those of the second with the other sign.

        Returns
        -------
        ClassValues
            ``base_values``, a float for each class, and ``values``, an array of shape (n, features)
            for each.

        Examples
        --------
        >>> from sklearn.linear_model import LogisticRegression
        >>> from sklearn_probsr import SufficientReasonExplainer
        >>> X, y = [[0, 0, 1], [0, 1, 0], [1, 0, 0], [1, 1, 1]], [0, 0, 1, 1]
        >>> reasons = SufficientReasonExplainer(LogisticRegression(C=9).fit(X, y), X)(X)
        >>> base_values, values = reasons.per_class()
        >>> len(base_values), [part.shape for part in values]
        (2, [(4, 3), (4, 3)])
        """
        batch = self._batch("per_class")
        model, values = batch.reasons.model, batch.values
        if batch.in_probability or values.ndim != 2 + model.by_class:
            raise InvalidInputError(
                "per_class needs values of the score of each class, this explanation has those of "
                f"{batch.output_names!r}. Call it on what the explainer returned."
            )
        base = expected_scores(law_of(model, batch.distribution))
        if model.by_class:
            outputs = range(values.shape[2])
            return ClassValues(base.tolist(), [values[:, :, k] for k in outputs])
        return ClassValues([-base, base], [0.0 - values, values])

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the explanation to a file, without pickle.

        Parameters
        ----------
        path : path-like
            A NumPy archive; by custom it ends in ``.npz``. It is replaced at once or not at all.
        """
        batch = self._batch("save")
        own, sparse, reasons, display = batch.reasons.shown, batch._sparse, batch.reasons, None
        if sparse is not None:  # what a person reads is what the reasons know, or the data
            values, data = sparse.values, sparse.data
        else:
            if isinstance(own, SparseRows):  # values are others by now
                own = own.toarray()
                reasons = replace(reasons, shown=own)
            values, data = batch.values, batch._s.data
            display = batch._s.display_data
        given = display is not None and (own is None or not np.array_equal(display, own))
        told = {
            "data": data,
            "base_values": batch.base_values,
            "values": values,  # None: they follow from the rows
            "feature_names": batch._names,
            "output_names": batch.output_names,
            "display_data": display if given else None,
            "single": self._single,
            "view": batch.view,
            "index": batch.index,
        }
        write_explanation(Path(path), reasons, told)

    @classmethod
    def load(
        cls, path: str | os.PathLike[str], *, max_bytes: int | None = None
    ) -> ReasonExplanation:
        """Read an explanation that was saved.

        The file is not trusted: it can run no code, every value in it is checked, and nothing is
        unpacked before the sizes that it declares are known to be bearable.

        Parameters
        ----------
        path : path-like
            Where the file is.
        max_bytes : int or None, default=None
            The most bytes that its arrays and texts may take, unpacked. None: 64 MiB, or 50 times
            the size of the file if that is more.

        Returns
        -------
        ReasonExplanation

        Raises
        ------
        InvalidInputError
            If it is not what `save` writes; the message names the member that is wrong.
        """
        check_max_bytes(max_bytes)
        with (
            Path(path).open("rb") as file,
            refusing(f"{path} is not a file that ReasonExplanation.save wrote with this version"),
        ):
            reasons, told = read_explanation(file, max_bytes)
            single = told.pop("single")
            loaded = cls(reasons, **{**told, "index": built_index(told["index"])})
        return loaded[0] if single else loaded


def _named(output: str, view: str) -> str:
    """Return the name of an output, which says so where values are of reasons alone."""
    return f"{output} (reason only)" if view == "reason" else output


def _chosen(array: Any, places: tuple[Any, ...]) -> Any:
    """Return what is at some places along each axis; None of all of them."""
    if array is None:
        return None
    found: Any = np.asarray(array)
    for axis in reversed(range(len(places))):
        if places[axis] is not None:
            found = found[(slice(None),) * axis + (places[axis],)]
    return found[()] if isinstance(found, np.ndarray) else found


# --- several explanations as one -------------------------------------------------------------


def _explanations(parts: Any) -> list[ReasonExplanation]:
    """Return explanations that can be put behind each other, or say that they are none."""
    found = list(parts) if isinstance(parts, Iterable) and not hasattr(parts, "values") else []
    if not found or not all(isinstance(part, ReasonExplanation) for part in found):
        kinds = ", ".join(type(part).__name__ for part in found) or repr(type(parts).__name__)
        raise InvalidInputError(
            f"concatenate takes a list of at least one ReasonExplanation, got {kinds}."
        )
    return found


def _joined(batches: Sequence[ReasonExplanation]) -> tuple[Any, Any, Any, Any]:
    """Return values, base values, data and display data of all rows; sparse if some of them are."""
    if all(batch._sparse is None for batch in batches):
        parts = [(batch.values, batch.base_values, *batch._facts) for batch in batches]
        join: Any = np.concatenate
    else:
        parts, join = [_as_sparse(batch) for batch in batches], joined_rows
    values, base, data, display = map(list, zip(*parts, strict=True))
    if any(part is not None for part in display):
        display = [d if one is None else one for one, d in zip(display, data, strict=True)]
    return (
        None if values[0] is None else np.concatenate(values),
        np.concatenate(base),
        join(data),
        None if display[0] is None else join(display),
    )


def _as_sparse(batch: ReasonExplanation) -> _Sparse:
    """Return a batch by what is in it."""
    if batch._sparse is not None:
        return batch._sparse
    sets, (data, display) = batch._reasons.sets, batch._facts
    at = np.repeat(np.arange(len(sets)), sets.sizes)
    numbers: list[Any] = [
        None if table is None else to_sparse(np.asarray(table, dtype=float)).astype(np.float64)
        for table in (data, display)
    ]
    values = None if batch.view == "all" else batch.values[at, sets.features]
    return _Sparse(values, batch.base_values, *numbers)


def _check_alike(first: ReasonExplanation, other: ReasonExplanation) -> None:
    """Refuse to put explanations behind each other that speak of different things."""
    ours, theirs = first.reasons, other.reasons
    for what, alike in (
        ("model", ours.model == theirs.model),
        ("distribution", ours.distribution == theirs.distribution),
        ("delta", ours.delta == theirs.delta),
        ("method", (ours.method, ours.confidence) == (theirs.method, theirs.confidence)),
        ("features in include", ours.forced == theirs.forced),
        ("features in exclude", set(ours.barred) == set(theirs.barred)),
        ("max_size", ours.max_size == theirs.max_size),
        ("features that may be chosen", ours.only == theirs.only),
        ("unit of the values", str(first.output_names) == str(other.output_names)),
    ):
        if not alike:
            raise InvalidInputError(
                f"concatenate takes explanations of one explainer, these differ in the {what}."
            )
