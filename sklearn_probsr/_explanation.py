"""ReasonExplanation: sufficient reasons in the form that shap's plots draw."""

from __future__ import annotations

import copy
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import shap
from numpy.typing import NDArray
from slicer import Obj, Slicer

from sklearn_probsr._api import guarantee
from sklearn_probsr._archive import read_reasons, write_reasons
from sklearn_probsr._reason import SufficientReason, SufficientReasons
from sklearn_probsr.exceptions import InvalidInputError

__all__ = ["ReasonExplanation"]


class ReasonExplanation(shap.Explanation):
    """Sufficient reasons as a `shap.Explanation`.

    ``values`` are what each feature of a reason adds to the decision function over what it adds
    on average, ``c_u(x) - E[C_u]``, and exactly 0 outside the reason: SHAP values of the linear
    model, of the few features that settle the decision. ``base_values`` are the expected decision
    function. Made by `SufficientReasonExplainer`; every plot of shap that takes an Explanation
    takes it.

    Parameters
    ----------
    reasons : SufficientReasons
        The reasons themselves, with the model and the distribution that they speak of.
    values : ndarray of shape (n, features)
        Zero outside the reasons.
    base_values : ndarray of shape (n,)
        What the values of a row are added to.
    data : ndarray of shape (n, features)
        The features as numbers, codes for categories.
    display_data : ndarray of shape (n, features) or None
        The features as a person reads them.
    feature_names : sequence of str
    output_names : str
        What the values add up to.

    Attributes
    ----------
    reason_mask : ndarray of bool, shape (n, features)
        Which features are in each reason.
    reason_size : ndarray of int, shape (n,)
    guarantee_lower, guarantee_upper : ndarray of float, shape (n,)
        Bounds of the probability that the class is kept.
    minimality : ndarray of str, shape (n,)
        What was proved; see `SufficientReason`.
    prediction : ndarray of shape (n,)
        The class of each row.
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

    def __init__(
        self,
        reasons: SufficientReasons,
        values: NDArray[np.float64],
        base_values: NDArray[np.float64],
        data: NDArray[np.float64],
        display_data: NDArray[Any] | None,
        feature_names: Sequence[str],
        output_names: str,
    ) -> None:
        super().__init__(
            values,
            base_values=base_values,
            data=data,
            display_data=display_data,
            feature_names=list(feature_names),
            output_names=output_names,
        )
        if not len(values):  # shap makes no room for the base values of no rows
            self._s.base_values = Obj(base_values, [0])
        self._reasons = reasons
        # Sliced along with the values; what a row has beside its values is looked up by instance.
        self._s.reason_mask = Obj(reasons.mask, [0, 1])
        self._s.instance = Obj(np.arange(len(reasons)), [0])

    # --- fields ------------------------------------------------------------------------------

    @property
    def reason_mask(self) -> Any:
        """Which features are in each reason."""
        return self._s.reason_mask

    @property
    def reason_size(self) -> Any:
        """How many features each reason has."""
        return self._reasons.size[self._s.instance]

    @property
    def guarantee_lower(self) -> Any:
        """The probability that is surely reached."""
        return self._reasons.lower[self._s.instance]

    @property
    def guarantee_upper(self) -> Any:
        """The probability that is surely not passed."""
        return self._reasons.upper[self._s.instance]

    @property
    def minimality(self) -> Any:
        """What was proved of each reason."""
        return self._reasons.minimality[self._s.instance]

    @property
    def prediction(self) -> Any:
        """The class of each row."""
        return self._reasons.prediction[self._s.instance]

    @property
    def reasons(self) -> SufficientReasons:
        """The reasons of these rows, with their model and distribution."""
        return self._reasons[np.atleast_1d(self._s.instance)]

    @property
    def delta(self) -> float:
        """The probability that was asked for."""
        return self._reasons.delta

    @property
    def distribution(self) -> Any:
        """What the guarantees speak of."""
        return self._reasons.distribution

    # --- what shap does to an Explanation ----------------------------------------------------

    def __copy__(self) -> ReasonExplanation:
        twin = type(self).__new__(type(self))
        twin.__dict__.update(self.__dict__)
        twin.op_history = copy.copy(self.op_history)
        tracked = dict(self._s._iter_tracked(include_aliases=True))
        fields = {name: Obj(None) if item.o is None else item for name, item in tracked.items()}
        twin._s = Slicer.from_slicer(**fields)
        return twin

    def plain(self) -> shap.Explanation:
        """Return a `shap.Explanation` without what makes it one of reasons."""
        return shap.Explanation.__copy__(self)

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

    # --- words, tables, files ----------------------------------------------------------------

    def _one(self, i: int | None) -> SufficientReason:
        instances = np.atleast_1d(self._s.instance)
        if i is None and len(instances) > 1:
            raise InvalidInputError(
                f"describe needs the number of a row, this explanation has {len(instances)}. "
                "Write describe(0)."
            )
        try:
            return self._reasons[int(instances[i or 0])]
        except IndexError:
            raise InvalidInputError(
                f"describe must name a row of this explanation, 0 to {len(instances) - 1}, got {i}."
            ) from None

    def describe(self, i: int | None = None) -> str:
        """Say in a sentence why a row got its class.

        Parameters
        ----------
        i : int or None, default=None
            The row; None if there is only one.
        """
        return str(self._one(i))

    def to_frame(self) -> Any:
        """Return one line for each row: class, reason, guarantee, and what was proved.

        Returns
        -------
        DataFrame
            With columns ``prediction``, ``reason`` (the names, the most telling first),
            ``reason_size``, ``guarantee_lower``, ``guarantee_upper``, ``minimality`` and
            ``distribution``.
        """
        import pandas as pd

        reasons = self.reasons
        return pd.DataFrame(
            {
                "prediction": reasons.prediction,
                "reason": pd.Series([reason.feature_names for reason in reasons], dtype=object),
                "reason_size": reasons.size,
                "guarantee_lower": reasons.lower,
                "guarantee_upper": reasons.upper,
                "minimality": reasons.minimality.astype(object),
                "distribution": str(self.distribution),
            }
        )

    def as_guarantee(self) -> ReasonExplanation:
        """Return the same reasons in units of probability.

        The features of a reason are fixed one after the other, in its order. ``base_values`` is
        the guarantee of nothing, each value is what a feature adds, and they sum up to the
        guarantee of the reason. (Lower bounds throughout; where guarantees are exact, so are
        these. With features that can cost or gain a value may be negative.)
        """
        reasons = self.reasons
        values = np.zeros(reasons.mask.shape)
        base = np.zeros(len(reasons))
        for i, reason in enumerate(reasons):
            row, law = reasons.rows[i], reasons.distribution
            before = base[i] = guarantee(reasons.model, row, (), distribution=law).lower
            for k, u in enumerate(reason.features, start=1):
                last = k == reason.size
                known = guarantee(reasons.model, row, reason.features[:k], distribution=law).lower
                known = float(reasons.lower[i]) if last else known
                values[i, u], before = known - before, known
        many = self.plain()
        view = ReasonExplanation(
            reasons,
            values,
            base,
            np.atleast_2d(many.data),
            None if many.display_data is None else np.atleast_2d(many.display_data),
            many.feature_names,
            f"probability that class {self._class_text()} is kept",
        )
        return view[0] if np.ndim(self._s.instance) == 0 else view

    def _class_text(self) -> str:
        labels = {str(label) for label in np.atleast_1d(self.prediction).tolist()}
        return labels.pop() if len(labels) == 1 else "as predicted"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the explanation to a file, without pickle.

        Parameters
        ----------
        path : path-like
            A NumPy archive; by custom it ends in ``.npz``. It is replaced at once or not at all.
        """
        many = self.plain()
        display = None if many.display_data is None else np.atleast_2d(many.display_data)
        arrays = {
            "values": np.atleast_2d(many.values),
            "base_values": np.atleast_1d(many.base_values),
            "data": np.atleast_2d(many.data),
        }
        texts = {
            "feature_names": list(many.feature_names),
            "output_names": str(many.output_names),
            "display_data": None if display is None else [[_plain(v) for v in r] for r in display],
        }
        write_reasons(Path(path), self.reasons, arrays, texts)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> ReasonExplanation:
        """Read an explanation that was saved.

        Parameters
        ----------
        path : path-like

        Returns
        -------
        ReasonExplanation
        """
        reasons, arrays, texts = read_reasons(Path(path))
        display = texts["display_data"]
        return cls(
            reasons,
            arrays["values"],
            arrays["base_values"],
            arrays["data"],
            None if display is None else np.array(display, dtype=object),
            texts["feature_names"],
            texts["output_names"],
        )


def _plain(value: Any) -> Any:
    """Return a value that JSON can hold."""
    value = value.item() if isinstance(value, np.generic) else value
    return value if isinstance(value, str | int | float | bool | None) else str(value)
