"""Questions beside the reason, asked of rows as they come: alternatives, and what breaks them."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from sklearn_probsr.core.law import Law
from sklearn_probsr.exceptions import InvalidInputError, UnreachableError
from sklearn_probsr.explain.frames._flagged_rows import Sifted, sift, warn_of
from sklearn_probsr.explain.jobs import Question
from sklearn_probsr.explain.questions._row_answers import RowAnswers, alternatives_table
from sklearn_probsr.explain.questions._row_outlooks import outlooks_of
from sklearn_probsr.explain.subjects._subject import Subject
from sklearn_probsr.questions._alternatives import (
    MOST_REASONS,
    Alternatives,
    alternatives_of,
    check_limit,
)
from sklearn_probsr.questions._asked_decision import Decision
from sklearn_probsr.questions._breaking_sets import BreakingSet, breaking_set_of
from sklearn_probsr.questions._outlook import Outlook
from sklearn_probsr.results._reasons import SufficientReasons
from sklearn_probsr.results._scope import Scope

__all__ = ["RowQuestions"]


class RowQuestions:
    """What an explainer says of a decision beside its reason."""

    law: Law
    on_error: str
    method: str
    _given_masker: Any
    _subject: Subject
    _question: Question
    scope: Scope

    def alternatives(self, X: Any, *, limit: int = MOST_REASONS) -> RowAnswers[Alternatives]:
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
            ``possible`` and ``undecided``, lists of names; if not all sets are allowed also
            ``scope``, those that all of it speaks of.

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
        self._check_proves()
        taken = sift(self._subject, X, self.on_error)
        reasons = self._question.answer(taken.valid, None, silent=True)
        found = self._alternatives(taken, reasons, most)
        if reasons.flagged or taken.invalid:
            everything = reasons.among(taken.at, taken.rows, taken.invalid)
            warn_of(everything.status if taken.invalid else reasons.status, 2)
        return alternatives_table(found, self.law.model.unit_names, self.scope, taken.index)

    def _alternatives(
        self, taken: Sifted, reasons: SufficientReasons, limit: int = MOST_REASONS
    ) -> list[Alternatives | None]:
        """Return the alternatives of rows whose reasons are known; None of those flagged."""
        self._check_proves()
        fine = [i for i, status in enumerate(reasons.status.tolist()) if status == "ok"]
        decisions = self._decisions(taken)
        said = alternatives_of([decisions[i] for i in fine], [reasons[i] for i in fine], limit)
        found: list[Alternatives | None] = [None] * len(taken)
        for i, one in zip(fine, said, strict=True):
            found[int(taken.at[i])] = one
        return found

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
            ``guarantee_upper``; if not all sets are allowed also ``scope``, those that the others
            were sought among.

        Examples
        --------
        >>> from sklearn.linear_model import LogisticRegression
        >>> from sklearn_probsr import SufficientReasonExplainer
        >>> X, y = [[0, 0, 1], [0, 1, 0], [1, 0, 0], [1, 1, 1]], [0, 0, 1, 1]
        >>> explainer = SufficientReasonExplainer(LogisticRegression(C=9).fit(X, y), X)
        >>> explainer.breaking_sets(X)[0].feature_names
        ('x0',)
        """
        self._check_proves()
        taken = sift(self._subject, X, self.on_error)
        found: list[BreakingSet | None] = [None] * len(taken)
        for at, decision in zip(taken.at.tolist(), self._decisions(taken), strict=True):
            try:
                found[at] = breaking_set_of(decision)
            except UnreachableError:  # nothing need be known of this row
                continue
        taken.warn(2)
        scope = replace(self.scope, max_size=None)
        return RowAnswers(found, partial(_breaking_line, scope), taken.index)

    def outlook(self, X: Any, *, unknown: Any, cost: Any = None) -> RowAnswers[Outlook]:
        """Tell what is settled of rows of which some features are not known yet.

        Parameters
        ----------
        X : DataFrame, array-like of shape (n, columns), a single row, or a mapping or list of them
            As the estimator takes them; anything may stand in cells that are unknown. Columns that
            are named in ``unknown`` may be left out.
        unknown : iterable of int or str, or a marker
            The columns that are not known, in all rows; or what marks such cells, such as NaN,
            None, -1 or "?". NaN is the Pipeline's missing value unless it, or None, is the marker.
            A feature of several columns, or a group, is unknown if one of them is.
        cost : mapping, array-like or None, default=None
            What it costs to learn a feature, positive numbers; 1 for those that a mapping lacks.

        Returns
        -------
        RowAnswers
            A sequence with the `Outlook` of each row, None where it is invalid (see ``on_error``);
            its ``tell`` takes raw values, of a group one for each of its columns. ``to_frame()``
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
        # The reason of an outlook is the smallest part of what is known, whatever was paid for it.
        asked = (replace(self._question.options, cost=None), X, unknown, cost, self.on_error)
        found, taken = outlooks_of(self._subject, self.law, self._given_masker, *asked)
        taken.warn(2)
        return RowAnswers(found, _outlook_line, taken.index)

    def _check_proves(self) -> None:
        """Say that samples cannot answer."""
        if self.method != "certified":
            raise InvalidInputError(
                f"only method='certified' proves what such an answer says, got {self.method!r}."
            )
        if self._question.options.cost is not None:
            raise InvalidInputError(
                "alternatives and breaking sets are about the number of features, and this "
                "explainer looks for the cheapest. Ask one that was made without cost."
            )

    def _decisions(self, taken: Sifted) -> list[Decision]:
        """Return the decisions of rows that are valid.

        A set reaches delta or does not: that it is small enough to be told, or as good as reaches
        it, is of no account.
        """
        options = replace(self._question.options, max_size=None, epsilon=None)
        return [Decision(self.law, row, options) for row in taken.valid]


def _outlook_line(one: Outlook | None) -> dict[str, Any]:
    """Return a line of the table."""
    if one is None:
        names = ("prediction", "settled", "probability_lower", "probability_upper", "ask")
        return dict.fromkeys(names)
    known = one.probability(one.prediction)
    return {
        "prediction": one.prediction,
        "settled": one.settled,
        "probability_lower": known.lower,
        "probability_upper": known.upper,
        "ask": None if one.settled or not one.unknown else one.next["feature"].iloc[0],
    }


def _breaking_line(scope: Scope, one: BreakingSet | None) -> dict[str, Any]:
    """Return a line of the table."""
    return {
        "features": [] if one is None else list(one.feature_names),
        "size": None if one is None else one.size,
        "minimality": None if one is None else one.minimality,
        **scope.column,
        "guarantee_lower": None if one is None else one.guarantee.lower,
        "guarantee_upper": None if one is None else one.guarantee.upper,
    }
