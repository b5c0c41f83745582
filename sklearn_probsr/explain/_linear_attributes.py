"""LinearAttributes: what shap.LinearExplainer has, for code that was written for it."""

from __future__ import annotations

from typing import Any

import numpy as np
import shap
from numpy.typing import NDArray
from scipy import sparse

from sklearn_probsr.core.law import Law
from sklearn_probsr.exceptions import InvalidInputError
from sklearn_probsr.explain.subjects._masker import background_data
from sklearn_probsr.explain.subjects._subject import Subject
from sklearn_probsr.explain.subjects._subject_of import Prepared
from sklearn_probsr.model.linear import Model

__all__ = ["LinearAttributes", "refuse_options"]

# What to write in place of options that shap's explainers have.
_OPTIONS = {
    "algorithm": "Leave it out: SHAP values of a linear model are exact.",
    "data": "Pass the data as masker.",
    "feature_dependence": "What replaces unknown features is what masker says.",
    "feature_perturbation": "What replaces unknown features is what masker says: data are put in "
    "their place whole rows at a time, which is 'interventional'; Matching(data) asks rows that "
    "share the facts instead.",
    "interactions": "Leave it out: a linear model has none.",
    "model_output": "Leave it out: values are in units of the decision function; "
    "explanation.as_guarantee() has those in probability.",
    "nsamples": "Leave it out: nothing is sampled; method='monte-carlo' does, with epsilon.",
}


def refuse_options(options: dict[str, Any]) -> None:
    """Say of options of shap's explainers what to write here, and of others that there are none."""
    for name, value in options.items():
        if name not in _OPTIONS:
            raise TypeError(
                f"SufficientReasonExplainer() got an unexpected keyword argument {name!r}"
            )
        raise InvalidInputError(
            f"SufficientReasonExplainer takes no {name}, got {_told(value)}. {_OPTIONS[name]}"
        )


def _told(value: Any) -> str:
    """Return a value in a few words: of tables, which take many lines, their kind and shape."""
    if isinstance(value, str | bool | int | float | None):
        return f"{value!r:.60}"
    shape = f" of shape {value.shape}" if hasattr(value, "shape") else ""
    return f"a {type(value).__name__}{shape}"


class LinearAttributes:
    """What an explainer is made of, under the names that shap has for it."""

    law: Law
    linear_model: Model
    expected_value: Any
    _given_masker: Any
    _subject: Subject

    @property
    def coef(self) -> NDArray[np.float64]:
        """The weights of the linear model's columns, (columns,) or (classes, columns)."""
        weights = self.linear_model.outputs[0]
        return weights if self.linear_model.by_class else weights[0]

    @property
    def intercept(self) -> Any:
        """What is added to them, measured from the threshold; of several classes one for each."""
        constants = self.linear_model.outputs[1]
        return constants if self.linear_model.by_class else float(constants[0])

    @property
    def mean(self) -> NDArray[np.float64]:
        """What the linear model's columns are on average: values are 0 there."""
        return self.law.means

    @property
    def data(self) -> Any:
        """The background rows as an array, or sparse; None if the distribution needs none."""
        rows = self._background
        return rows if rows is None or sparse.issparse(rows) else np.asarray(rows)

    @property
    def _background(self) -> Any:
        given = self._given_masker
        return background_data(given.distribution if isinstance(given, Prepared) else given)

    @property
    def data_feature_names(self) -> list[str]:
        """What the features are called that values are of."""
        return list(self._subject.names)

    @property
    def masker(self) -> Any:
        """What puts background rows in place of unknown columns, as a masker of shap does.

        What was given, if it is one, or if there are no rows with columns.
        """
        given, rows = self._given_masker, self._background
        if isinstance(given, shap.maskers.Masker) or rows is None:
            return given
        rows = rows if hasattr(rows, "shape") else np.asarray(rows)
        if len(rows.shape) != 2:
            return given
        return shap.maskers.Independent(rows, max_samples=rows.shape[0])

    def shap_values(self, X: Any) -> NDArray[np.float64]:
        """Return the SHAP values alone."""
        raise NotImplementedError

    def explain_row(self, *row_args: Any, **options: Any) -> dict[str, Any]:
        """Return what `shap.LinearExplainer.explain_row` does of a single row.

        Parameters
        ----------
        *row_args : tuple
            The row, as the model takes it.
        **options : dict
            Accepted as in shap, of no effect.

        Returns
        -------
        dict
            ``values`` and ``main_effects``, of shape (features, 1) or (features, classes), which
            are the same; ``expected_values``; ``mask_shapes``; ``clustering``, which is None.
        """
        if len(row_args) != 1:
            raise InvalidInputError(f"explain_row takes one row, got {len(row_args)} arguments.")
        values = self.shap_values(row_args[0])[0]
        values = values.reshape(len(values), -1)
        return {
            "values": values,
            "expected_values": self.expected_value,
            "mask_shapes": (values.shape[:1],),
            "main_effects": values,
            "clustering": None,
        }
