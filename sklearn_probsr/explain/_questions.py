"""Questions beside the reason, asked of rows as they come: alternatives, and what breaks them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Generic, TypeVar

from sklearn_probsr.exceptions import InvalidInputError, UnreachableError
from sklearn_probsr.explain._batches import Question
from sklearn_probsr.explain._outlooks import outlooks_of
from sklearn_probsr.explain._sifted import Sifted, sift, warn_of
from sklearn_probsr.explain._subject import Subject
from sklearn_probsr.laws._law import Law
from sklearn_probsr.questions._alternatives import Alternatives, alternatives_of, check_limit
from sklearn_probsr.questions._asking import Decision
from sklearn_probsr.questions._breaking import BreakingSet, breaking_set_of
from sklearn_probsr.questions._outlook import Outlook

__all__ = ["RowAnswers", "RowQuestions"]

T = TypeVar("T")


class RowAnswers(Generic[T]):
    """What was found for each of some rows; None of a row that could not be asked.

    Parameters
    ----------
    found : sequence
        One answer for each row.
    line : callable
        What makes a line of a table of an answer.
    index : pandas Index
        What the rows are called.
    """

    def __init__(
        self,
        found: Sequence[T | None],
        line: Callable[[T | None], dict[str, Any]],
        index: Any,
    ) -> None:
        self._found, self._line, self.index = tuple(found), line, index

    def __len__(self) -> int:
        return len(self._found)

    def __getitem__(self, i: Any) -> Any:
        if isinstance(i, slice):
            return RowAnswers(self._found[i], self._line, self.index[i])
        return self._found[i]

    def __iter__(self) -> Iterator[T | None]:
        return iter(self._found)

    def __repr__(self) -> str:
        return f"RowAnswers(<{len(self)} rows>)"

    def to_frame(self) -> Any:
        """Return one line for each row, with the index of the rows and features by name.

        Returns
        -------
        DataFrame
        """
        import pandas as pd

        return pd.DataFrame([self._line(one) for one in self._found], index=self.index)


class RowQuestions:
    """What an explainer says of a decision beside its reason."""

    law: Law
    on_error: str
    method: str
    masker: Any
    _subject: Subject
    _question: Question

    def alternatives(self, X: Any, *, limit: int = 1000) -> RowAnswers[Alternatives]:
        """Tell which features are in every minimum reason of each row, and which in some.

        Parameters
        ----------
        X : DataFrame, array-like or sparse of shape (n, columns), or a single row
            As the estimator takes them.
        limit : int, default=1000
            The most reasons to enumerate of a row, when they are asked for.

        Returns
        -------
        RowAnswers
            A sequence with the `Alternatives` of each row, None where it is flagged (see
            ``on_error``). ``to_frame()`` has the columns ``size``, ``minimality``, ``necessary``,
            ``possible`` and ``undecided``, lists of names.

        Examples
        --------
        >>> from sklearn.linear_model import LogisticRegression
        >>> from sklearn_probsr import SufficientReasonExplainer
        >>> X, y = [[0, 0, 1], [0, 1, 0], [1, 0, 0], [1, 1, 1]], [0, 0, 1, 1]
        >>> explainer = SufficientReasonExplainer(LogisticRegression(C=9).fit(X, y), X)
        >>> print(explainer.alternatives(X)[0])
        Every reason of this size (1 feature) needs x0; no more features occur in some.
        """
        most = check_limit(limit)
        taken, decisions = self._decisions(X)
        reasons = self._question.answer(taken.valid, None, silent=True)
        fine = [i for i, status in enumerate(reasons.status.tolist()) if status == "ok"]
        said = alternatives_of([decisions[i] for i in fine], [reasons[i] for i in fine], most)
        found: list[Alternatives | None] = [None] * len(taken)
        for i, one in zip(fine, said, strict=True):
            found[int(taken.at[i])] = one
        if reasons.flagged or taken.invalid:
            everything = reasons.among(taken.at, taken.rows, taken.invalid)
            warn_of(everything.status if taken.invalid else reasons.status, 2)
        names = self.law.model.unit_names
        return RowAnswers(found, partial(_alternatives_line, names), taken.index)

    def breaking_sets(self, X: Any) -> RowAnswers[BreakingSet]:
        """Find for each row the fewest features without which no others settle the decision.

        Parameters
        ----------
        X : DataFrame, array-like or sparse of shape (n, columns), or a single row
            As the estimator takes them.

        Returns
        -------
        RowAnswers
            A sequence with the `BreakingSet` of each row; None where nothing breaks the decision,
            and where the row is invalid (see ``on_error``). ``to_frame()`` has the columns
            ``features`` (lists of names), ``size``, ``minimality``, ``guarantee_lower`` and
            ``guarantee_upper``.

        Examples
        --------
        >>> from sklearn.linear_model import LogisticRegression
        >>> from sklearn_probsr import SufficientReasonExplainer
        >>> X, y = [[0, 0, 1], [0, 1, 0], [1, 0, 0], [1, 1, 1]], [0, 0, 1, 1]
        >>> explainer = SufficientReasonExplainer(LogisticRegression(C=9).fit(X, y), X)
        >>> explainer.breaking_sets(X)[0].feature_names
        ('x0',)
        """
        taken, decisions = self._decisions(X)
        found: list[BreakingSet | None] = [None] * len(taken)
        for at, decision in zip(taken.at.tolist(), decisions, strict=True):
            try:
                found[at] = breaking_set_of(decision)
            except UnreachableError:  # nothing need be known of this row
                continue
        taken.warn(2)
        return RowAnswers(found, _breaking_line, taken.index)

    def outlook(self, X: Any, *, unknown: Any, cost: Any = None) -> RowAnswers[Outlook]:
        """Tell what is settled of rows of which some features are not known yet.

        Parameters
        ----------
        X : DataFrame, array-like of shape (n, columns), or a single row
            As the estimator takes them; anything may stand in cells that are unknown.
        unknown : iterable of int or str, or a marker
            The columns that are not known, in all rows; or what marks such cells, such as NaN,
            None, -1 or "?". NaN is the Pipeline's missing value unless it is the marker.
        cost : mapping, array-like or None, default=None
            What it costs to learn a feature, positive numbers; 1 for those that a mapping lacks.

        Returns
        -------
        RowAnswers
            A sequence with the `Outlook` of each row; its ``tell`` takes raw values. ``to_frame()``
            has the columns ``prediction``, ``settled``, ``probability_lower``,
            ``probability_upper`` and ``ask``, the feature to ask for next.

        Examples
        --------
        >>> from sklearn.linear_model import LogisticRegression
        >>> from sklearn_probsr import SufficientReasonExplainer
        >>> X, y = [[0, 0, 1], [0, 1, 0], [1, 0, 0], [1, 1, 1]], [0, 0, 1, 1]
        >>> explainer = SufficientReasonExplainer(LogisticRegression(C=9).fit(X, y), X)
        >>> seen = explainer.outlook([[None, 1, 0]], unknown=None)[0]
        >>> seen.settled, seen.next["feature"].tolist(), seen.tell("x0", 1).prediction
        (False, ['x0'], 1)
        """
        asked = (self._question.options, X, unknown, cost)
        found, index = outlooks_of(self._subject, self.law, self.masker, *asked)
        return RowAnswers(found, _outlook_line, index)

    def _decisions(self, X: Any) -> tuple[Sifted, list[Decision]]:
        """Return rows as they come, and the decisions of those that are valid."""
        if self.method != "certified":
            raise InvalidInputError(
                f"only method='certified' proves what such an answer says, got {self.method!r}."
            )
        taken = sift(self._subject, X, self.on_error)
        options = self._question.options
        return taken, [Decision(self.law, row, options) for row in taken.valid]


def _alternatives_line(names: Sequence[str], one: Alternatives | None) -> dict[str, Any]:
    """Return a line of the table; lists of names are empty where a row is flagged."""
    groups = ("necessary", "possible", "undecided")
    return {
        "size": None if one is None else one.size,
        "minimality": None if one is None else one.reason.minimality,
        **{g: [] if one is None else [names[u] for u in getattr(one, g)] for g in groups},
    }


def _outlook_line(one: Outlook | None) -> dict[str, Any]:
    """Return a line of the table."""
    assert one is not None
    known = one.probability(one.prediction)
    return {
        "prediction": one.prediction,
        "settled": one.settled,
        "probability_lower": known.lower,
        "probability_upper": known.upper,
        "ask": None if one.settled or not one.unknown else one.next["feature"].iloc[0],
    }


def _breaking_line(one: BreakingSet | None) -> dict[str, Any]:
    """Return a line of the table."""
    return {
        "features": [] if one is None else list(one.feature_names),
        "size": None if one is None else one.size,
        "minimality": None if one is None else one.minimality,
        "guarantee_lower": None if one is None else one.guarantee.lower,
        "guarantee_upper": None if one is None else one.guarantee.upper,
    }
