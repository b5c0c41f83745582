"""Guarantees of rows as they come: of sets that somebody names, and of every size."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.core.law import Law
from sklearn_probsr.core.options import check_tol
from sklearn_probsr.exceptions import InvalidInputError
from sklearn_probsr.explain.frames._flagged_rows import Sifted
from sklearn_probsr.explain.questions._row_answers import RowSequence
from sklearn_probsr.results._curve import GuaranteeCurve

__all__ = ["GuaranteeCurves", "bounds_of_rows", "curves_of_rows"]


class GuaranteeCurves(RowSequence[GuaranteeCurve]):
    """The curves of some rows; made by `SufficientReasonExplainer.guarantee_curve`.

    ``curves[i]`` is that of a row, a slice is some of them.

    Parameters
    ----------
    curves : sequence of GuaranteeCurve
    feature_names : sequence of str
        What the features are called that a curve's ``order`` counts.
    index : pandas Index
        What the rows are called.
    """

    def __init__(
        self, curves: Sequence[GuaranteeCurve], feature_names: Sequence[str], index: Any
    ) -> None:
        super().__init__(curves, index)
        self.feature_names = tuple(feature_names)

    def __repr__(self) -> str:
        return f"GuaranteeCurves(<{len(self)} rows, {len(self.feature_names)} features>)"

    def to_frame(self) -> Any:
        """Return one line for each row and size.

        Returns
        -------
        DataFrame
            With columns ``feature`` (the one that is fixed last; None of size 0), ``lower`` and
            ``upper``. The index is that of the rows, with one more level, ``size``.
        """
        import pandas as pd

        sizes = len(self.feature_names) + 1
        rows, size = np.repeat(np.arange(len(self)), sizes), np.tile(np.arange(sizes), len(self))
        names = np.array([*self.feature_names, None], dtype=object)
        order = [[-1, *curve.order.tolist()] for curve in self]
        levels = [self.index.get_level_values(k)[rows] for k in range(self.index.nlevels)]
        index = pd.MultiIndex.from_arrays([*levels, size], names=[*self.index.names, "size"])
        fixed = names[np.array(order, dtype=np.intp).ravel()]
        lower, upper = (
            np.concatenate([np.zeros(0), *(getattr(curve, end) for curve in self)])
            for end in ("lower", "upper")
        )
        feature = pd.Series(fixed, index=index, dtype=object)  # so that None stays None
        return pd.DataFrame({"feature": feature, "lower": lower, "upper": upper})


def curves_of_rows(law: Law, taken: Sifted, tol: float) -> GuaranteeCurves:
    """Return the curve of every row; nothing is known of an invalid one."""
    width, units = check_tol(tol), law.model.n_units
    found = []
    for i, row in enumerate(taken.rows):
        if i in taken.invalid:
            nothing = (np.arange(units), np.zeros(units + 1), np.ones(units + 1))
            found.append(GuaranteeCurve(*nothing, law.distribution))
            continue
        view = law.view(row)
        order = view.ranking()
        known = view.along(order, width)
        found.append(GuaranteeCurve.of(order, known, view.monotone, law.distribution))
    taken.warn(3)
    return GuaranteeCurves(found, law.model.unit_names, taken.index)


def bounds_of_rows(law: Law, taken: Sifted, features: Any, tol: float) -> Any:
    """Return a frame with the bounds of one set for each row; 0 and 1 of an invalid one."""
    import pandas as pd

    width, sets = check_tol(tol), _sets(law, features, len(taken))
    bounds = np.tile([0.0, 1.0], (len(taken), 1))
    for i in taken.at.tolist():
        known = law.view(taken.rows[i]).answer(sets[i], width)
        bounds[i] = known.lower, known.upper
    taken.warn(3)
    return pd.DataFrame(bounds, columns=["lower", "upper"], index=taken.index)


def _sets(law: Law, features: Any, n: int) -> list[tuple[int, ...]]:
    """Return a set of features for each of n rows, of one for all or one for each."""
    model = law.model
    if isinstance(features, np.ndarray) and features.dtype == np.bool_:
        return _masked(features, n, model.n_units)
    if isinstance(features, str) or not isinstance(features, Iterable):
        return [model.check_features(features, "features")] * n  # says what is wrong
    given = list(features)
    each = [isinstance(s, Iterable) and not isinstance(s, str) for s in given]
    if not any(each):
        return [model.check_features(given, "features")] * n
    if not all(each) or len(given) != n:
        raise InvalidInputError(
            f"features must be one set for all rows, or one for each of the {n}, got {len(given)} "
            f"entries, {sum(each)} of them sets."
        )
    return [model.check_features(s, f"features[{i}]") for i, s in enumerate(given)]


def _masked(mask: NDArray[np.bool_], n: int, units: int) -> list[tuple[int, ...]]:
    if mask.shape not in {(units,), (n, units)}:
        raise InvalidInputError(
            f"features must be a mask of shape {(units,)} or {(n, units)}, got {mask.shape}."
        )
    return [tuple(np.flatnonzero(row).tolist()) for row in np.broadcast_to(mask, (n, units))]
