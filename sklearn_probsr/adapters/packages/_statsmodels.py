"""statsmodels: results of logit, probit and binomial models, with their constant and formula."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.adapters._declarations import Linear, PerColumn, sigmoid
from sklearn_probsr.adapters._float_order import boundary
from sklearn_probsr.adapters._registry import Part, name_of, registered, registered_from
from sklearn_probsr.adapters.classifiers._decision import Decision
from sklearn_probsr.adapters.units._columns import Columns
from sklearn_probsr.adapters.units._place_rows import Rows
from sklearn_probsr.exceptions import InvalidInputError
from sklearn_probsr.model.numbers import listing

__all__: list[str] = []


def _variables(results: Any) -> tuple[str, ...]:
    """Return the raw columns: those of the formula, or of the matrix of regressors."""
    if _formula(results) is None:
        return tuple(map(str, results.model.exog_names))
    used = {name for term in _formula(results).terms for name in _names(term, results)}
    return tuple(str(name) for name in results.model.data.frame.columns if name in used)


def _formula(results: Any) -> Any:
    """Return how a formula makes regressors of columns; None if there is none."""
    data = results.model.data
    found = getattr(data, "model_spec", None) or getattr(data, "design_info", None)
    if found is not None and not hasattr(found, "term_slices"):
        raise InvalidInputError(
            f"{name_of(results)} has a formula that {type(found).__module__} reads, which is not "
            "supported. Fit it with patsy, or pass the matrix of regressors."
        )
    return found


def _names(term: Any, results: Any) -> list[str]:
    """Return the columns of which a term of a formula is made."""
    known = set(results.model.data.frame.columns)
    nodes = [node for factor in term.factors for node in ast.walk(ast.parse(factor.code))]
    names = [node.id for node in nodes if isinstance(node, ast.Name)]
    quoted = [node.value for node in nodes if isinstance(node, ast.Constant)]  # as in Q("my age")
    return [str(name) for name in dict.fromkeys([*names, *quoted]) if name in known]


@registered_from(
    "statsmodels",
    "0.15",
    "BinaryResultsWrapper",
    "L1BinaryResultsWrapper",
    "GLMResultsWrapper",
    "BinaryResults",
    "GLMResults",
    note="results of `Logit`, `Probit` and binomial `GLM`, of columns with their constant or of a "
    "formula whose terms have one column each; class 1 iff the probability is above one half, or "
    "from `adapters.Threshold` on",
    composite=True,
    inputs=_variables,
)
def _results(results: Any, columns: Columns, role: str, follow: Any) -> Decision:
    chance = _chance(results)
    weights = np.asarray(results.params, dtype=np.float64)
    rows = columns.rows
    if _formula(results) is None:
        constant = results.model.data.const_idx
        level = 0.0
        if constant is not None:
            level = weights[constant] * float(np.asarray(results.model.exog)[0, constant])
        kept = [j for j in range(len(weights)) if j != constant]
        columns, weights = columns.take(kept, rows), weights[kept]
    else:
        design = _Design(results)
        level = float(weights[design.constants].sum())
        weights = weights[design.kept]
        columns = follow(design, columns, "transformer")
    cut, strict = boundary(lambda score: chance(score) > 0.5)
    linear = Linear(weights, level, (0, 1), strict=strict, cut=cut, probability=chance)
    name = name_of(results)
    return Decision(columns, linear.checked(name, len(columns)), name, judge=_Judge(results, rows))


def _chance(results: Any) -> Callable[[float], float]:
    """Return the probability of class 1 as a function of the score."""
    model = results.model
    family = getattr(model, "family", None)
    if family is not None:
        if type(family).__name__ != "Binomial":
            raise InvalidInputError(
                f"estimator must be a classifier, got a GLM of the family "
                f"{type(family).__name__}. Fit it with family=sm.families.Binomial()."
            )
        return _Inverse(family.link)
    if type(model).__name__ == "Logit":
        return sigmoid
    if type(model).__name__ == "Probit":
        return _Inverse(model)
    raise InvalidInputError(
        f"estimator must be a classifier, got results of {type(model).__name__}. Supported: Logit, "
        "Probit and GLM with family=sm.families.Binomial()."
    )


@dataclass(frozen=True, eq=False)
class _Inverse:
    """The inverse of a link, or the distribution function of a model."""

    link: Any

    def __call__(self, score: float) -> float:
        inverse = self.link.inverse if hasattr(self.link, "inverse") else self.link.cdf
        with np.errstate(all="ignore"):
            return float(inverse(np.float64(score)))


@dataclass(frozen=True)
class _Judge:
    results: Any
    rows: Rows

    def __call__(self, X: Any, score: int) -> NDArray[np.bool_]:
        above: NDArray[np.bool_] = np.asarray(self.results.predict(self.rows.of(X, {}))) > 0.5
        return above


class _Design(Part):
    """What a formula makes of columns, without its constant."""

    def __init__(self, results: Any) -> None:
        super().__init__(name_of(results))
        self.info = _formula(results)
        self.raw = _variables(results)
        self.first = results.model.data.frame.dropna().iloc[0]
        self.terms: list[tuple[Any, str]] = []
        self.constants: list[int] = []
        self.kept: list[int] = []
        for term, part in self.info.term_slices.items():
            places = list(range(part.start, part.stop))
            used = _names(term, results)
            if len(used) > 1:
                raise InvalidInputError(
                    f"{self.name} has the term {term.name()!r}, which is made of {listing(used)}: "
                    "it does not add up column by column. Leave the term out of the formula."
                )
            if used:
                self.kept += places
                self.terms += [(term, used[0])] * len(places)
            else:
                self.constants += places

    def transform(self, rows: Any) -> NDArray[np.float64]:
        """Return the regressors."""
        patsy = import_module("patsy")
        try:
            made = patsy.build_design_matrices([self.info], rows, NA_action="raise")[0]
        except patsy.PatsyError as error:
            raise ValueError(str(error)) from None
        return np.asarray(made, dtype=np.float64)[:, self.kept]


@registered("internal", _Design, note="", prefit=True)
def _design(step: _Design) -> PerColumn:
    categories: dict[int, list[Any]] = {}
    kinds = []
    for term, name in step.terms:
        infos = [step.info.factor_infos[factor] for factor in term.factors]
        known = [c for info in infos if info.type == "categorical" for c in info.categories]
        plain = len(infos) == 1 and term.factors[0].code == name
        kinds.append("finite" if known else "keep" if plain else "real")
        categories.setdefault(step.raw.index(name), []).extend(known)
    return PerColumn(
        [step.raw.index(name) for _, name in step.terms],
        kinds,
        values=lambda column: dict.fromkeys(categories.get(column, ())),
        typical=lambda column: step.first[step.raw[column]],
    )
