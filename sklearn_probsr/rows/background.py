"""Which law a background gives: of rows that are filled in, or of those that are mostly zeros."""

from __future__ import annotations

from sklearn_probsr.core.law import Law
from sklearn_probsr.core.means import rows_before
from sklearn_probsr.distributions._completions import Background
from sklearn_probsr.model.linear import Model
from sklearn_probsr.model.sparse import SparseRows

__all__ = ["background"]

# Rows that would have so few gains before all rivals are filled in: then more can be proved.
FEW_GAINS = 2**20


def background(model: Model, distribution: Background) -> Law:
    """Return the law of a model over background rows; kernels of the other kind are not loaded."""
    if distribution.is_sparse and model.takes_sparse:
        rows = rows_before(model, distribution)
        rivals = max(len(model.outputs[1]) - 1, 1)
        if isinstance(rows, SparseRows) and rivals * rows.width * len(rows) > FEW_GAINS:
            from sklearn_probsr.rows.sparse import SparseLaw

            return SparseLaw(model, distribution, rows)
    from sklearn_probsr.rows.law import BackgroundLaw

    return BackgroundLaw(model, distribution)
