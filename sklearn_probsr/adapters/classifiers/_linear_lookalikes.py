"""Linear lookalikes: classifiers of any library that have what scikit-learn's linear ones have."""

from __future__ import annotations

from typing import Any

from sklearn_probsr.adapters._declarations import Linear
from sklearn_probsr.adapters._registry import name_of, registered_alike
from sklearn_probsr.adapters.classifiers._decision import Decision
from sklearn_probsr.adapters.units._columns import Columns
from sklearn_probsr.exceptions import InvalidInputError

__all__: list[str] = []

_NEEDED = ("coef_", "intercept_", "classes_", "decision_function", "predict")


def _has_all(estimator: Any) -> bool:
    return not isinstance(estimator, type) and all(hasattr(estimator, name) for name in _NEEDED)


@registered_alike(
    _has_all,
    note="any other object that has these, such as skglm's: taken at its word where rows are given "
    "on which its `predict` agrees, refused elsewhere",
    listed="coef_`, `intercept_`, `classes_`, `decision_function`, `predict",
)
def _duck(estimator: Any, columns: Columns, role: str, follow: Any) -> Decision:
    name = name_of(estimator)
    try:
        linear = Linear(estimator.coef_, estimator.intercept_, estimator.classes_)
        return Decision(columns, linear.checked(name, len(columns)), name, unproved=True)
    except (TypeError, ValueError) as error:
        if isinstance(error, InvalidInputError):
            raise
        raise InvalidInputError(
            f"{name} has coefficients that are not numbers, got {estimator.coef_!r}."
        ) from None
