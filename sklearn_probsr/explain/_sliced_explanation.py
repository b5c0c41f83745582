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

from sklearn_probsr.exceptions import InvalidInputError
from sklearn_probsr.explain._marked_names import marked
from sklearn_probsr.explain._pending_values import Pending
from sklearn_probsr.explain._reason_fields import ReasonFields
from sklearn_probsr.explain._shap_values import values_of_reasons
from sklearn_probsr.explain.frames._row_index import row_index
from sklearn_probsr.model.sparse import SparseRows
from sklearn_probsr.questions._alternatives import Alternatives
from sklearn_probsr.results._reasons import SufficientReasons

__all__ = ["SlicedExplanation"]

# An entry of an explanation's history; a mapping before shap 0.47.
_Step: Any = getattr(_explanation, "OpHistoryItem", dict)


class SlicedExplanation(ReasonFields, shap.Explanation):
    """A `shap.Explanation` whose rows keep their reasons however it is sliced and copied.

    `shap.Explanation` copies itself by the names of its own fields, so those of a subclass have to
    go along by hand; see `ReasonExplanation` for what they are.
    """

    _pending: Pending | None = None
    _slicer: Any
    compute_time: float | None

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
        self.view = view
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
            self.output_dims = (2,) if base_values.ndim == 2 else ()
            return
        if values is None:
            values = values_of_reasons(reasons, base_values.ndim == 2)
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
        history, seconds = self.op_history, self.compute_time
        self._keep(np.atleast_1d(pending.at))
        self._pending = None
        self._fill(*pending.arrays(self._reasons), pending.names)
        if pending.at.ndim == 0:
            self._slicer = self._slicer[0]
        self.op_history, self.compute_time = history, seconds

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
    def _units(self) -> NDArray[np.intp]:
        """Which features these are."""
        if self._pending is not None:
            return np.arange(self._pending.data.width)
        return np.asarray(self._s.unit, dtype=np.intp)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the values; of no rows (0,), by which shap's plots tell that."""
        if not self._at.size and self._units.ndim:
            return (0,)
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

    @property
    def display_data(self) -> Any:
        """The features as a person reads them."""
        display = self._s.display_data
        return self._s.data if display is None and self._is_one_text else display

    @display_data.setter
    def display_data(self, display: Any) -> None:
        shap.Explanation.display_data.fset(self, display)

    @property
    def _is_one_text(self) -> bool:
        """Whether this is a single row that was a text, with several of its features."""
        return self._reasons.of_texts and self._at.ndim == 0 and self._units.ndim == 1

    @property
    def feature_names(self) -> Any:
        """What the features are called; of one row, those in the reason are written with a mark."""
        names = self._names
        if self._at.ndim or isinstance(names, str) or names is None:
            return names
        return marked(names, np.asarray(self.reason_mask).tolist())

    @feature_names.setter
    def feature_names(self, names: Any) -> None:
        self._s.feature_names = names

    @property
    def _names(self) -> Any:
        """What the features are called, in a reason or not."""
        return super().feature_names if self._pending is None else self._pending.names[0]

    @property
    def output_names(self) -> Any:
        """What the values add up to; of several classes, the name of each."""
        return super().output_names if self._pending is None else self._pending.names[1]

    @output_names.setter
    def output_names(self, names: Any) -> None:
        self._s.output_names = names

    @property
    def reason_mask(self) -> Any:
        """Which features are in each reason."""
        if self._pending is not None:
            mask = self._reasons.sets.take(np.atleast_1d(self._at)).mask()
            return mask if self._at.ndim else mask[0]
        return self._s.reason_mask

    def __getitem__(self, item: Any) -> Any:
        if self._pending is not None and self._pending.at.ndim:
            first, *others = item if isinstance(item, tuple) else (item,)
            if _are_rows(first):
                some = self._some(first)
                if not others:
                    return some
                some._fill_in(some._pending)  # of these rows alone
                return some[(slice(None), *others) if some._at.ndim else tuple(others)]
        try:
            found = super().__getitem__(item)
        except IndexError:
            if not _has_text(item):
                raise
            raise InvalidInputError(
                "brackets take the place of a row, then a feature, then a class, by place or by "
                f"name, got {item!r}. A row by its label is loc[label], a feature of all rows "
                "[:, name], a class [:, :, name]."
            ) from None
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
            feature_names=self._names,
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


def _has_text(item: Any) -> bool:
    """Whether something in brackets is a text, by itself or in a list."""
    return isinstance(item, str) or (isinstance(item, tuple | list) and any(map(_has_text, item)))


def _are_rows(item: Any) -> bool:
    """Whether something names rows by their numbers, or says which of them."""
    if isinstance(item, slice | int | np.integer):
        return not isinstance(item, bool)
    if isinstance(item, list):
        item = np.asarray(item)
    return isinstance(item, np.ndarray) and item.ndim == 1 and item.dtype.kind in "biu"
