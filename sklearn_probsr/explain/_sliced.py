"""SlicedExplanation: the fields of reasons, through all that shap does to an Explanation."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import shap
from numpy.typing import NDArray
from shap import _explanation
from slicer import Obj, Slicer

from sklearn_probsr.explain._pending_values import Pending
from sklearn_probsr.explain.frames._row_index import row_index
from sklearn_probsr.explain.questions._row_answers import alternatives_table
from sklearn_probsr.model._sparse import SparseRows
from sklearn_probsr.questions._alternatives import Alternatives
from sklearn_probsr.results._reasons import SufficientReasons

__all__ = ["SlicedExplanation"]

# An entry of an explanation's history; a mapping before shap 0.47.
_Step: Any = getattr(_explanation, "OpHistoryItem", dict)


class SlicedExplanation(shap.Explanation):
    """A `shap.Explanation` whose rows keep their reasons however it is sliced and copied.

    `shap.Explanation` copies itself by the names of its own fields, so those of a subclass have to
    go along by hand; see `ReasonExplanation` for what they are.
    """

    _pending: Pending | None = None
    _others: tuple[Alternatives | None, ...] | None = None
    _slicer: Any

    def __init__(
        self,
        reasons: SufficientReasons,
        values: NDArray[np.float64],
        base_values: NDArray[np.float64],
        data: Any,
        display_data: Any,
        feature_names: Sequence[str],
        output_names: str | Sequence[str],
        in_probability: bool = False,
        index: Any = None,
        alternatives: Sequence[Alternatives | None] | None = None,
    ) -> None:
        self.in_probability = in_probability
        self._reasons = reasons
        self._others = None if alternatives is None else tuple(alternatives)
        self._index = row_index(index, len(reasons))
        names = (list(feature_names), output_names)
        if isinstance(data, SparseRows):
            at = np.arange(len(reasons))
            arrays = (values, base_values, data, display_data)
            self._pending = Pending(reasons.sets, *arrays, at, names)
            self.op_history: list[Any] = []
            self.compute_time = None
            self.output_dims = (2,) if values.ndim == 2 else ()
            return
        self._fill(values, base_values, data, display_data, names)

    def _fill(
        self,
        values: NDArray[np.float64],
        base_values: NDArray[np.float64],
        data: NDArray[np.float64],
        display_data: NDArray[Any] | None,
        names: tuple[list[str], Any],
    ) -> None:
        """Write down all values, one line a reason."""
        shap.Explanation.__init__(
            self,
            values,
            base_values=base_values,
            data=data,
            display_data=display_data,
            feature_names=names[0],
            output_names=names[1],
        )
        if not len(values):  # shap makes no room for the base values of no rows
            self._s.base_values = Obj(base_values, list(range(base_values.ndim)))
        # Sliced along with the values; what a row has beside its values is looked up by instance.
        self._s.reason_mask = Obj(self._reasons.mask, [0, 1])
        self._s.instance = Obj(np.arange(len(self._reasons)), [0])
        self._s.unit = Obj(np.arange(self._reasons.model.n_units), [1])

    @property
    def _s(self) -> Any:
        """What shap slices; of sparse rows it is filled in now, for the rows that these are."""
        if self._pending is not None:
            self._fill_in(self._pending)
        return self._slicer

    @_s.setter
    def _s(self, slicer: Any) -> None:
        self._slicer = slicer

    def _fill_in(self, pending: Pending) -> None:
        history = self.op_history
        self._keep(np.atleast_1d(pending.at))
        self._pending = None
        self._fill(*pending.arrays(), pending.names)
        if pending.at.ndim == 0:
            self._slicer = self._slicer[0]
        self.op_history = history

    def _keep(self, at: NDArray[np.intp]) -> None:
        """Forget what is known of all rows but some."""
        names, others = self.index, self._others
        self._reasons, self._index = self._reasons[at], names
        self._others = None if others is None else tuple(others[i] for i in at.tolist())

    @property
    def _at(self) -> NDArray[np.intp]:
        """Which of the reasons these are; a single number for a single row."""
        if self._pending is not None:
            return self._pending.at
        return np.asarray(self._s.instance, dtype=np.intp)

    @property
    def _is_whole(self) -> bool:
        """Whether these are all reasons in their order, so that nothing has to be looked up."""
        at, n = np.atleast_1d(self._at), len(self._reasons)
        return len(at) == n and np.array_equal(at, np.arange(n))

    @property
    def _units(self) -> NDArray[np.intp]:
        """Which features these are."""
        if self._pending is not None:
            return np.arange(self._pending.data.width)
        return np.asarray(self._s.unit, dtype=np.intp)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the values."""
        if self._pending is not None:
            return self._pending.shape
        found: tuple[int, ...] = super().shape
        return found

    @property
    def base_values(self) -> Any:
        """What the values of a row are added to."""
        pending = self._pending
        if pending is not None:
            return pending.base_values if pending.at.ndim else pending.base_values[0]
        return super().base_values

    @base_values.setter
    def base_values(self, base_values: Any) -> None:
        self._s.base_values = base_values

    @property
    def feature_names(self) -> Any:
        """What the features are called."""
        return super().feature_names if self._pending is None else self._pending.names[0]

    @feature_names.setter
    def feature_names(self, names: Any) -> None:
        self._s.feature_names = names

    @property
    def output_names(self) -> Any:
        """What the values add up to; of several classes, the name of each."""
        return super().output_names if self._pending is None else self._pending.names[1]

    @output_names.setter
    def output_names(self, names: Any) -> None:
        self._s.output_names = names

    # --- fields ------------------------------------------------------------------------------

    @property
    def reason_mask(self) -> Any:
        """Which features are in each reason."""
        if self._pending is not None:
            mask = self._reasons.sets.take(np.atleast_1d(self._at)).mask()
            return mask if self._at.ndim else mask[0]
        return self._s.reason_mask

    @property
    def reason_size(self) -> Any:
        """How many features each reason has."""
        return self._reasons.size[self._at]

    @property
    def guarantee_lower(self) -> Any:
        """The probability that is surely reached."""
        return self._reasons.lower[self._at]

    @property
    def guarantee_upper(self) -> Any:
        """The probability that is surely not passed."""
        return self._reasons.upper[self._at]

    @property
    def minimality(self) -> Any:
        """What was proved of each reason."""
        return self._reasons.minimality[self._at]

    @property
    def size_lower(self) -> Any:
        """The size below which no set reaches delta, as far as was proved."""
        return self._reasons.size_lower[self._at]

    @property
    def cost(self) -> Any:
        """What the features of each reason cost; their number, if no costs were given."""
        return self._reasons.cost[self._at]

    @property
    def cost_lower(self) -> Any:
        """The cost below which no set reaches delta, as far as was proved."""
        return self._reasons.cost_lower[self._at]

    @property
    def prediction(self) -> Any:
        """The class of each row."""
        return self._reasons.prediction[self._at]

    @property
    def status(self) -> Any:
        """What became of each row: "ok", "unreachable" or "invalid"."""
        return self._reasons.status[self._at]

    @property
    def message(self) -> Any:
        """Why a row is not "ok"."""
        return self._reasons.message[self._at]

    @property
    def index(self) -> Any:
        """What the rows are called: the index of the frame that was explained."""
        return self._index if self._is_whole else self._index[np.atleast_1d(self._at)]

    @property
    def reasons(self) -> SufficientReasons:
        """The reasons of these rows, with their model and distribution."""
        return self._reasons if self._is_whole else self._reasons[np.atleast_1d(self._at)]

    @property
    def alternatives(self) -> Any:
        """What all minimum reasons of each row share, if the explainer was asked for that."""
        if self._others is None:
            return None
        if self._at.ndim == 0:
            return self._others[int(self._at)]
        found = [self._others[i] for i in self._at.tolist()]
        return alternatives_table(found, self._reasons.model.unit_names, self.index)

    @property
    def delta(self) -> float:
        """The probability that was asked for."""
        return self._reasons.delta

    @property
    def distribution(self) -> Any:
        """What the guarantees speak of."""
        return self._reasons.distribution

    # --- what shap does to an Explanation ----------------------------------------------------

    def __getitem__(self, item: Any) -> Any:
        if self._pending is not None and self._pending.at.ndim:
            first, *others = item if isinstance(item, tuple) else (item,)
            if _are_rows(first):
                some = self._some(first)
                if not others:
                    return some
                some._fill_in(some._pending)  # of these rows alone
                return some[(slice(None), *others) if some._at.ndim else tuple(others)]
        found = super().__getitem__(item)
        if isinstance(found, SlicedExplanation) and not found._at.size and found._units.ndim:
            found._restore_width()
        return found

    def _some(self, item: Any) -> Any:
        """Return some rows that are not filled in."""
        assert self._pending is not None
        twin = copy.copy(self)
        twin._pending = self._pending.rows(item)
        twin.op_history.append(_Step(name="__getitem__", args=(item,), prev_shape=self.shape))
        return twin

    def _restore_width(self) -> None:
        """Give no rows the columns that they have; a slice to nothing loses them."""
        shape = (0, len(self._units))
        names = self.output_names
        outputs = () if names is None or isinstance(names, str) else (len(names),)
        self._s.values = Obj(np.zeros(shape + outputs), list(range(2 + len(outputs))))
        self._s.base_values = Obj(np.zeros((0, *outputs)), list(range(1 + len(outputs))))
        self._s.data = Obj(np.zeros(shape), [0, 1])
        self._s.reason_mask = Obj(np.zeros(shape, dtype=np.bool_), [0, 1])
        if self.display_data is not None:
            self._s.display_data = Obj(np.zeros(shape, dtype=object), [0, 1])

    def __copy__(self) -> SlicedExplanation:
        twin = type(self).__new__(type(self))
        twin.__dict__.update(self.__dict__)
        twin.op_history = copy.copy(self.op_history)
        if self._pending is not None:
            return twin
        tracked = dict(self._s._iter_tracked(include_aliases=True))
        fields = {name: Obj(None) if item.o is None else item for name, item in tracked.items()}
        twin._s = Slicer.from_slicer(**fields)
        return twin

    def __getstate__(self) -> dict[str, Any]:
        """Return what is pickled: these rows, and not the others that they were cut from."""
        twin, at = copy.copy(self), np.atleast_1d(self._at)
        twin._keep(at)
        if twin._pending is not None:
            at = np.arange(len(at)) if self._at.ndim else np.array(0)
            twin._pending = replace(twin._pending, at=at)
            return twin.__dict__
        twin._s.instance = Obj(np.arange(len(at)), [0]) if self._at.ndim else Obj(np.intp(0), [])
        return twin.__dict__

    def plain(self) -> shap.Explanation:
        """Return a `shap.Explanation` without what makes it one of reasons.

        The name of a single output is not in it: `shap.Explanation` cannot copy an aggregate along
        an axis that has one.
        """
        if not isinstance(self.output_names, str):
            return shap.Explanation.__copy__(self)
        found = shap.Explanation(
            self.values,
            base_values=self.base_values,
            data=self.data,
            display_data=self.display_data,
            feature_names=self.feature_names,
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


def _are_rows(item: Any) -> bool:
    """Whether something names rows by their numbers, or says which of them."""
    if isinstance(item, slice | int | np.integer):
        return not isinstance(item, bool)
    if isinstance(item, list):
        item = np.asarray(item)
    return isinstance(item, np.ndarray) and item.ndim == 1 and item.dtype.kind in "biu"
