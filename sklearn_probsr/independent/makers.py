"""Which law a model has where unknown features are independent."""

from __future__ import annotations

from typing import Any

import numpy as np

from sklearn_probsr.core.law import Law
from sklearn_probsr.core.means import rows_before
from sklearn_probsr.distributions._completions import Marginals, Product, Uniform
from sklearn_probsr.independent.seen import Seen
from sklearn_probsr.independent.sources import Given, Source, States
from sklearn_probsr.model.argmax import ArgmaxModel
from sklearn_probsr.model.linear import LinearModel

__all__ = ["independent", "marginals", "product", "uniform"]

# With more binary units than this, those that are mostly zero are not listed one by one.
_MANY_UNITS = 2**12
# Contributions beyond this have no squares.
_LARGEST = 1e100


# Every kind of law is imported when it is first asked for: nobody waits for the kernels of others.
def independent(model: Any, distribution: Any, source: Source) -> Law:
    """Return the law of independent units, of two classes or of several."""
    if isinstance(model, ArgmaxModel):
        from sklearn_probsr.laws.rivals._duels import IndependentDuels

        return IndependentDuels(model, distribution, source)
    from sklearn_probsr.independent.law import TabledLaw

    return TabledLaw(model, distribution, source)


def uniform(model: Any, distribution: Uniform) -> Law:
    """Return the law of units of which every state is as likely."""
    source = States(model, distribution)
    if isinstance(model, LinearModel) and model.binary_core is not None:
        from sklearn_probsr.independent.uniform import UniformLaw

        return UniformLaw(model, model.binary_core, distribution, source)
    return independent(model, distribution, source)


def marginals(model: Any, data: Marginals) -> Law:
    """Return the law of units that are, one by one, as in a data set."""
    if data.is_sparse and model.takes_sparse:
        from sklearn_probsr.laws.sums._thin_laws import ThinLaws

        thin = _thin(model, data, ThinLaws.seen(rows_before(model, data), data.weights))
        if thin is not None:
            return thin
    return independent(model, data, Seen(model, data))


def product(model: Any, product: Product) -> Law:
    """Return the law of 0/1 columns with chances of their own."""
    source = Given(model, product)
    if model.n_units > _MANY_UNITS:
        from sklearn_probsr.laws.sums._thin_laws import ThinLaws

        thin = _thin(model, product, ThinLaws.given(product.p))
        if thin is not None:
            return thin
    return independent(model, product, source)


def _thin(model: Any, distribution: Any, laws: Any) -> Law | None:
    """Return the law of units that are mostly zero.

    None unless each is a column, in their order, and squares of contributions are floats.
    """
    weights, _ = model.outputs
    largest = float(np.abs(weights).max()) * float(np.abs(laws.values).max(initial=0.0))
    if largest >= _LARGEST or model.first_columns != list(range(model.n_features)):
        return None
    if isinstance(model, ArgmaxModel):
        from sklearn_probsr.laws.rivals._thin_duels import ThinDuels

        return ThinDuels(model, distribution, laws)
    from sklearn_probsr.laws.sums._thin_independent import ThinLaw

    return ThinLaw(model, distribution, laws)
