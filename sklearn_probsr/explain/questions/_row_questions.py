"""Questions beside the reason, asked of rows as they come: alternatives, and what breaks them."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from sklearn_probsr.exceptions import InvalidInputError, UnreachableError
from sklearn_probsr.explain.frames._flagged_rows import Sifted
from sklearn_probsr.explain.jobs import Question
from sklearn_probsr.explain.questions._row_answers import RowAnswers
from sklearn_probsr.questions._alternatives import (
    MOST_REASONS,
    Alternatives,
    alternatives_of,
)
from sklearn_probsr.questions._asked_decision import Decision
from sklearn_probsr.questions._breaking_sets import BreakingSet, breaking_set_of
from sklearn_probsr.questions._outlook import Outlook
from sklearn_probsr.results._reasons import SufficientReasons
from sklearn_probsr.results._scope import Scope

__all__ = ["alternatives_of_rows", "breaking_sets_of_rows", "check_proves", "outlook_line"]


def check_proves(question: Question) -> None:
    """Say that samples cannot answer."""
    if question.method != "certified":
        raise InvalidInputError(
            f"only method='certified' proves what such an answer says, got {question.method!r}."
        )
    if question.options.cost is not None:
        raise InvalidInputError(
            "alternatives and breaking sets are about the number of features, and this "
            "explainer looks for the cheapest. Ask one that was made without cost."
        )


def _decisions(question: Question, taken: Sifted) -> list[Decision]:
    """Return the decisions of rows that are valid.

    A set reaches delta or does not: that it is small enough to be told, or as good as reaches
    it, is of no account.
    """
    options = replace(question.options, max_size=None, epsilon=None)
    return [Decision(question.law, row, options) for row in taken.valid]


def alternatives_of_rows(
    question: Question, taken: Sifted, reasons: SufficientReasons, limit: int = MOST_REASONS
) -> list[Alternatives | None]:
    """Return the alternatives of rows whose reasons are known; None of those flagged."""
    fine = [i for i, status in enumerate(reasons.status.tolist()) if status == "ok"]
    decisions = _decisions(question, taken)
    said = alternatives_of([decisions[i] for i in fine], [reasons[i] for i in fine], limit)
    found: list[Alternatives | None] = [None] * len(taken)
    for i, one in zip(fine, said, strict=True):
        found[int(taken.at[i])] = one
    return found


def breaking_sets_of_rows(
    question: Question, taken: Sifted, scope: Scope
) -> RowAnswers[BreakingSet]:
    """Return the breaking set of every row; None where there is none, or none is known."""
    found: list[BreakingSet | None] = [None] * len(taken)
    for at, decision in zip(taken.at.tolist(), _decisions(question, taken), strict=True):
        try:
            found[at] = breaking_set_of(decision)
        except UnreachableError:  # nothing need be known of this row
            continue
    return RowAnswers(found, partial(_breaking_line, replace(scope, max_size=None)), taken.index)


def outlook_line(one: Outlook | None) -> dict[str, Any]:
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
