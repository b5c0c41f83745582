"""Reason codes: the few coded reasons of an adverse decision, and what they keep.

A code book has the codes by feature and by state, all of them checked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from sklearn_probsr._functions import answer
from sklearn_probsr.core.dispatch import law_of
from sklearn_probsr.core.law import Law
from sklearn_probsr.core.options import Options
from sklearn_probsr.exceptions import InvalidInputError
from sklearn_probsr.explain._explanation import ReasonExplanation
from sklearn_probsr.model.enclosure import lower_text
from sklearn_probsr.model.numbers import exact_text, listing, unnamed
from sklearn_probsr.report._coded_rows import CodedRow, ReasonCodes
from sklearn_probsr.results._listed import listed
from sklearn_probsr.results._reason import SufficientReason
from sklearn_probsr.results._reasons import SufficientReasons

__all__ = ["Book", "code_book", "code_of", "reason_codes"]

Book = dict[tuple[int, str | None], tuple[str, str]]


def code_book(codes: Any, told: SufficientReasons) -> Book:
    """Return codes by feature and state, all of them checked."""
    if not isinstance(codes, Mapping) or not codes:
        raise InvalidInputError(
            "codes must map features, or features and states, to (code, text), got "
            f"{type(codes).__name__ if not isinstance(codes, Mapping) else 'an empty mapping'}."
        )
    names = told.model.unit_names
    book: Book = {}
    for key, value in codes.items():
        feature, state = key if isinstance(key, tuple) and len(key) == 2 else (key, None)
        if feature not in names:
            raise InvalidInputError(
                f"codes name an unknown feature, {feature!r}. The model's features are "
                f"{listing(names)}."
            )
        pair = isinstance(value, tuple | list) and len(value) == 2
        if not pair or not all(isinstance(part, str) and part for part in value):
            raise InvalidInputError(
                f"codes must give a code and a text for {key!r}, two texts, got {value!r}."
            )
        unit = names.index(feature)
        if state is not None:
            known = _states(told, unit)
            if str(state) not in known:
                raise InvalidInputError(
                    f"codes name a state that {feature!r} does not have, {state!r}. It has "
                    f"{listing(sorted(known))}."
                )
        book[unit, None if state is None else str(state)] = (value[0], value[1])
    return book


def _states(told: SufficientReasons, unit: int) -> set[str]:
    """Return what a feature can be, in words: its states, and what it is in the rows."""
    units = told.model.units
    name = told.model.unit_names[unit]
    found = {state_of(told, i, unit) for i in range(len(told))}
    declared = () if units is None else units[unit].states or ()
    if units is None:
        found |= {"0", "1"}
    return found | {unnamed(name, units[unit].describe(s)) for s in declared if units is not None}


def code_of(book: Book, told: SufficientReasons, i: int, unit: int) -> tuple[str, str] | None:
    """Return the code of a feature in a row: of what it is there, of its state, or of itself."""
    own = told.model.describe(unit, told.rows[i])
    for state in (state_of(told, i, unit), unnamed(told.model.unit_names[unit], own), None):
        if (unit, state) in book:
            return book[unit, state]
    return None


def state_of(told: SufficientReasons, i: int, unit: int) -> str:
    """Return what a feature is in a row, in words."""
    raw = None if told.shown is None else told.shown[i, unit]
    return unnamed(told.model.unit_names[unit], told.model.describe(unit, told.rows[i], raw))


_COUNTS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def reason_codes(
    explanation: ReasonExplanation,
    codes: Mapping[Any, tuple[str, str]],
    *,
    adverse: Any,
    max_codes: Any = 4,
    protected: Iterable[int | str] = (),
    template: str | Callable[[CodedRow], str] | None = None,
) -> ReasonCodes:
    """Find the codes that give the reasons of adverse decisions.

    Of each row of the adverse class a set of facts is searched that speak for it, for each of which
    there is a code, of at most so many codes, with the best guarantee. This is a tool for those who
    write such notices, and no legal advice.

    Parameters
    ----------
    explanation : ReasonExplanation
        Rows, with the model, the distribution and the delta that they were explained by.
    codes : mapping
        From a feature, or from a pair of a feature and one of its states in words, to a code and
        its text: ``{"income": ("R01", "Income is too low"), ("home", "rent"): ("R07", ...)}``.
        Several features may share a code, which then counts once. A feature without a code is not
        given as a reason.
    adverse : label
        The class whose rows get codes.
    max_codes : int, default=4
        The most codes of a row.
    protected : iterable of int or str, default=()
        Features that must not be given as reasons. They are kept out of the search; if the model
        uses them, ``statement`` and the result's ``protected`` say so; it also names codes that
        are theirs alone, and so are never given.
    template : str, callable or None, default=None
        The text of a notice, with ``{prediction}`` and ``{reasons}``, or what makes one of a
        ``CodedRow``. None: a plain one, without probabilities.

    Returns
    -------
    ReasonCodes

    Examples
    --------
    >>> from sklearn_probsr import LinearModel, SufficientReasonExplainer, reason_codes
    >>> model = LinearModel(
    ...     [3, 2, 1],
    ...     3,
    ...     feature_names=["income", "home", "savings"],
    ...     classes=["decline", "approve"],
    ... )
    >>> codes = {
    ...     "income": ("R1", "Low income"),
    ...     "home": ("R2", "No home"),
    ...     "savings": ("R3", "..."),
    ... }
    >>> found = reason_codes(
    ...     SufficientReasonExplainer(model, delta=0.9)([[0, 0, 1]]), codes, adverse="decline"
    ... )
    >>> found[0].codes, found[0].statement
    (('R1', 'R2'), 'two codes keep decline in at least 1')
    """
    if not isinstance(explanation, ReasonExplanation):
        raise InvalidInputError(
            "reason_codes takes what an explainer returns, a ReasonExplanation, got "
            f"{type(explanation).__name__}."
        )
    told: SufficientReasons = explanation.reasons
    model = told.model
    book = code_book(codes, told)
    if adverse not in model.classes:
        raise InvalidInputError(
            f"adverse must be one of the classes, {listing(model.classes)}, got {adverse!r}."
        )
    if isinstance(max_codes, bool) or not isinstance(max_codes, int | np.integer) or max_codes < 1:
        raise InvalidInputError(f"max_codes must be a whole number >= 1, got {max_codes!r}.")
    barred = model.check_features(protected, "protected")
    law = law_of(model, told.distribution)
    rows = [
        _coded(law, told, i, label, book, adverse, int(max_codes), barred)
        for i, label in enumerate(_labels(explanation, len(told)))
    ]
    used = [u for u in barred if _uses(model, u)]
    told_of = _protected(model, barred, used, book)
    return ReasonCodes(tuple(rows), adverse, told_of, template)


def _labels(explanation: ReasonExplanation, n: int) -> list[Any]:
    index = getattr(explanation, "index", None)
    return list(range(n)) if index is None else list(index)


def _uses(model: Any, unit: int) -> bool:
    """Tell whether a model's scores depend on a feature."""
    columns = [unit] if model.units is None else list(model.units[unit].columns)
    weights, _ = model.outputs
    return bool((weights[:, columns] != weights[:1, columns] * (len(weights) > 1)).any())


def _coded(
    law: Law,
    told: SufficientReasons,
    i: int,
    label: Any,
    book: Book,
    adverse: Any,
    most: int,
    barred: tuple[int, ...],
) -> CodedRow:
    """Return the codes of a row."""
    prediction = told.prediction[i]
    if told.status[i] == "invalid" or prediction != adverse:
        return CodedRow(label, prediction)
    row, names = told.rows[i], law.model.unit_names
    own = {u: code_of(book, told, i, u) for u in range(law.model.n_units)}
    open_ones = [u for u, code in own.items() if code is not None and u not in barred]
    found = _best(law, row, told.delta, open_ones, own, most)
    wide = found
    if barred:
        wide = _best(
            law, row, told.delta, [u for u, c in own.items() if c or u in barred], own, most
        )
    shortfalls = _shortfalls(law, row, prediction)
    order = sorted(found.features, key=lambda u: -shortfalls[u])
    pairs = list(dict.fromkeys(own[u] for u in order))
    top = max(range(len(names)), key=lambda u: shortfalls[u])
    omitted = names[top] if top not in found.features and shortfalls[top] > 0 else None
    reaches = (found.guarantee >= told.delta).value is True
    needed = 0 if reaches else max(found.size_lower - found.size, 0)
    lost = max(float(wide.guarantee.lower - found.guarantee.upper), 0.0)
    coded = CodedRow(
        label,
        prediction,
        tuple(code for code, _ in pairs),  # type: ignore[misc]
        tuple(text for _, text in pairs),  # type: ignore[misc]
        tuple(names[u] for u in order),
        found.guarantee,
        reaches,
        needed,
        omitted,
        lost,
    )
    used = [names[u] for u in barred if _uses(law.model, u)]
    return replace(coded, statement=_statement(coded, told.delta, used))


def _best(
    law: Law,
    row: Any,
    delta: float,
    allowed: list[int],
    own: Mapping[int, tuple[str, str] | None],
    most: int,
) -> SufficientReason:
    """Return the best supporting set of the features allowed, of at most so many codes."""
    outside = [u for u in range(law.model.n_units) if u not in allowed]

    def ask(**more: Any) -> SufficientReason:
        options = Options(delta, exclude=outside, supporting_only=True, **more)
        return answer(law, row[None, :], options, "certified", None, flag=True)[0]

    found = ask()
    if len({own[u] for u in found.features}) <= most:
        return found
    size = len(found.features)
    while size > most:  # codes may be shared, so that more features than codes are given
        size -= 1
        smaller = ask(max_size=size)
        if len({own[u] for u in smaller.features}) <= most:
            return replace(smaller, size_lower=found.size_lower)
    return replace(smaller, size_lower=found.size_lower)


def _shortfalls(law: Law, row: Any, prediction: Any) -> list[float]:
    """Return how far each feature speaks for the predicted class, over its average."""
    model = law.model
    weights, _ = model.outputs
    above = (np.asarray(row, dtype=np.float64) - law.means)[None, :]
    if len(weights) == 1:
        sign = 1.0 if prediction == model.classes[1] else -1.0
        return [float(v) for v in sign * model.sum_by_unit(above * weights[0])[0]]
    duel = model.closest(row)
    return [float(v) for v in model.sum_by_unit(above * duel.weights)[0]]


def _statement(row: CodedRow, delta: float, used: list[str]) -> str:
    """Say what the codes of a row do."""
    n = len(row.codes)
    count = _COUNTS[n] if n < len(_COUNTS) else str(n)
    assert row.guarantee is not None
    text = (
        f"{count} code{'s' if n != 1 else ''} keep{'' if n != 1 else 's'} {row.prediction} in at "
        f"least {lower_text(row.guarantee.ends()[0], 4)}"
    )
    if row.more_needed:
        more = "feature with a code" if row.more_needed == 1 else "features with codes"
        text += f"; {exact_text(delta)} needs at least {row.more_needed} more {more}"
    if row.omitted_principal is not None:
        text += f"; {row.omitted_principal}, which falls short the most, is not among them"
    if used:
        was = "was" if len(used) == 1 else "were"
        text += f"; the model also uses {listed(used)}, which {was} kept out"
        text += f" (a loss of {row.lost:.3g} or more)" if row.lost > 0 else ""
    return text


def _protected(model: Any, barred: tuple[int, ...], used: list[int], book: Book) -> str:
    """Say what was kept out, whether the model uses it, and which codes are never given then."""
    if not barred:
        return ""
    names = model.unit_names
    kept = f"{listed([names[u] for u in barred])}: kept out of the search"
    if used:
        uses = listed([names[u] for u in used])
        it, they = ("it", "it") if len(used) == 1 else ("them", "they")
        text = (
            f"{kept}. The model uses {uses}: codes without {it} average over {it}, which does not "
            f"mean that {they} had no part in the decision."
        )
    else:
        text = f"{kept}; the model does not use {'it' if len(barred) == 1 else 'them'}."
    # A code that other features share may be given for them.
    open_codes = {code for (u, _), (code, _) in book.items() if u not in barred}
    lost = {code: names[u] for (u, _), (code, _) in book.items() if u in barred}
    never = [f"{code} ({name})" for code, name in lost.items() if code not in open_codes]
    return (
        f"{text} Never given, as codes of what is protected: {', '.join(never)}." if never else text
    )
