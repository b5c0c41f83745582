"""Terms: the columns of an additive classifier, one for each function of a raw column.

The value of a column is what its raw column adds to a score, so that the weights are 1. Where it is
constant between cuts, or a table of categories, its states are found as those of any other step.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from sklearn_probsr.adapters._declarations import Linear, PerColumn
from sklearn_probsr.adapters._registry import Part, name_of, registered
from sklearn_probsr.adapters.classifiers._additive import Additive, n_scores
from sklearn_probsr.adapters.classifiers._decision import Decision
from sklearn_probsr.adapters.classifiers._shapes import Categories, Steps, Term, evaluated
from sklearn_probsr.adapters.units._columns import Columns, Kind

__all__ = ["added_up"]


class _Terms(Part):
    """What some columns add to each score, as a transformer that speaks for its classifier."""

    def __init__(
        self, name: str, terms: dict[int, Term], scores: int | None, names: Sequence[str]
    ) -> None:
        super().__init__(name)
        self.terms, self.scores, self.names = terms, scores, tuple(names)

    def transform(self, rows: Any) -> NDArray[np.float64]:
        """Return one column for each term and score."""
        if hasattr(rows, "tocsc"):
            rows = rows.tocsc()
        parts = [
            evaluated(term, _column(rows, j), self.names[j], self.scores)
            for j, term in self.terms.items()
        ]
        return np.hstack(parts)


def _column(rows: Any, j: int) -> NDArray[Any]:
    if hasattr(rows, "toarray"):  # by a list: SciPy 1.13 has no sparse vectors
        dense: NDArray[Any] = rows[:, [j]].toarray().ravel()
        return dense
    return np.asarray(_safe_indexing(rows, j, axis=1))


@registered("internal", _Terms, note="", prefit=True)
def _per_column(step: _Terms) -> PerColumn:
    each = step.scores or 1
    kinds = [_kind(term) for term in step.terms.values()]
    return PerColumn(
        np.repeat(list(step.terms), each).tolist(),
        np.repeat(kinds, each).tolist(),
        cuts=lambda column: _cuts(step.terms[column]),
        values=lambda column: _categories(step.terms[column]),
        missing=np.nan,
        markers=lambda column: getattr(step.terms[column], "markers", ()),
        names=[f": score {k}" if each > 1 else "" for _ in kinds for k in range(each)],
        ranked=False,
    )


def _kind(term: Term) -> str:
    if term is None or isinstance(term, Categories):
        return "finite"
    return "piecewise" if isinstance(term, Steps) else "real"


def _cuts(term: Term) -> Iterable[float]:
    return term.shown_cuts() if isinstance(term, Steps) else ()


def _categories(term: Term) -> Iterable[Any]:
    return list(term.table) if isinstance(term, Categories) else ()


def added_up(part: Additive, estimator: Any, columns: Columns, follow: Any) -> Decision:
    """Return the decision of an additive classifier over the columns that reach it."""
    name = name_of(estimator)
    names = [_name(columns, j) for j in range(len(columns))]
    terms = part.in_order(names, name)
    scores = n_scores(part, terms, name)
    if part.classes is not None:
        classes = part.classes
    else:
        classes = getattr(estimator, "classes_", range(max(2, scores or 1)))
    counted = {j: term for j, term in enumerate(terms) if _counts(term) or _keeps(columns, j)}
    step = _Terms(name, counted or dict(enumerate(terms)), scores, names)
    if columns.binary:  # functions of raw columns that are 0/1, as was promised
        columns = _with_flags(columns, terms)
    after: Columns = follow(step, columns, "transformer")
    coef, intercept = _weights(len(step.terms), scores, len(classes), part.intercept)
    linear = Linear(
        coef, intercept, classes, strict=part.strict, cut=part.cut,
        probability=part.probability, precision=part.precision, slack=part.slack,
    )  # fmt: skip
    return Decision(after, linear.checked(name, len(after)), name)


def _weights(
    n: int, scores: int | None, classes: int, intercept: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return weights of the terms' columns: ones, or of two scores the second less the first."""
    if scores is None:
        return np.ones((1, n)), intercept
    each = np.eye(scores)
    levels = np.broadcast_to(intercept, scores)
    if scores == 2 and classes == 2:
        return np.tile(each[1] - each[0], n)[None, :], levels[[1]] - levels[[0]]
    return np.tile(each, (1, n)), levels


def _name(columns: Columns, j: int) -> str:
    raw = columns.raw_of(j)
    return raw[0] if len(raw) == 1 else f"column {j}"


def _counts(term: Term) -> bool:
    return not (term is None or (isinstance(term, Steps) and term.is_constant))


def _keeps(columns: Columns, j: int) -> bool:
    """Whether a column that does not count is still a feature: not one of many words, say."""
    sources = columns.sources(j)
    kinds = {base.kind for base in sources if base.own is None}
    return len(sources) == 1 and kinds <= {Kind.RAW, Kind.FINITE} and bool(kinds)


def _with_flags(columns: Columns, terms: Sequence[Term]) -> Columns:
    """Take raw columns for 0/1 ones where nothing else says what they can be."""
    curved = {
        id(base)
        for j, term in enumerate(terms)
        if callable(term)
        for base in columns.sources(j)
        if base.kind is Kind.RAW
    }
    bases = [replace(b, kind=Kind.FLAG) if id(b) in curved else b for b in columns.bases]
    return replace(columns, bases=tuple(bases))
