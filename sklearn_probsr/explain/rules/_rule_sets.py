"""Rules: those of many rows, how many rows they speak of, and how often they are right."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.core.dispatch import law_of
from sklearn_probsr.core.monte_carlo import clopper_pearson
from sklearn_probsr.exceptions import InvalidInputError
from sklearn_probsr.explain.frames._row_index import ByLabel
from sklearn_probsr.explain.rules._rule_cover import RuleCover, cover_by
from sklearn_probsr.model.enclosure import lower_text
from sklearn_probsr.results._inert_text import markdown
from sklearn_probsr.results._places import places
from sklearn_probsr.results._reason import SufficientReason
from sklearn_probsr.results._reasons import SufficientReasons
from sklearn_probsr.results.views import SHOWN_ROWS, bound, card, line, strong, table
from sklearn_probsr.rules._rule import Rule, Taken, taken_by
from sklearn_probsr.rules._unit_values import Values

__all__ = ["Rules", "rules_of"]

# The confidence of Clopper and Pearson's bounds, of each rule.
CONFIDENCE = Fraction(95, 100)


@dataclass(frozen=True, eq=False)
class Counts:
    """How many rows satisfy each rule, and how many of them have its class.

    ``rows`` is the weight of all of them; NaN where there is nothing to count over.
    """

    matching: NDArray[np.float64]
    right: NDArray[np.float64]
    rows: float

    @property
    def coverage(self) -> NDArray[np.float64]:
        """The share of the rows that satisfy each rule."""
        return _ratio(self.matching, np.full(len(self.matching), self.rows))

    @property
    def precision(self) -> NDArray[np.float64]:
        """The share of those that have its class; NaN where there are none."""
        return _ratio(self.right, self.matching)


@dataclass(frozen=True, eq=False)
class Rules(Sequence[Rule]):
    """The rules of the rows of an explanation; made by `ReasonExplanation.rules`.

    A sequence: ``rules[i]`` is a `Rule`, and a slice has rules again. ``rules.loc[label]`` is that
    of the row that is called so.

    Attributes
    ----------
    rules : tuple of Rule
        One for each row that has a reason.
    labels : pandas Index
        What these rows are called.
    skipped : dict of label to str
        Why other rows have no rule.
    coverage : ndarray of float, shape (n,)
        The share of the rows of the data that satisfy each rule; NaN without data.
    precision : ndarray of float, shape (n,)
        The share of those to which the model gives the rule's class.
    counted : Counts
        The counts that both are made of.
    held_out : Counts or None
        The same over rows held out.
    taken : Taken
        The rows that a cover speaks of.
    """

    rules: tuple[Rule, ...]
    labels: Any
    skipped: dict[Any, str] = field(repr=False)
    counted: Counts = field(repr=False)
    held_out: Counts | None = field(repr=False)
    taken: Taken = field(repr=False)

    def __len__(self) -> int:
        return len(self.rules)

    def __iter__(self) -> Iterator[Rule]:
        return iter(self.rules)

    @overload
    def __getitem__(self, index: int) -> Rule: ...
    @overload
    def __getitem__(self, index: slice) -> Rules: ...
    def __getitem__(self, index: Any) -> Rule | Rules:
        at = places(len(self), index)
        if np.ndim(at) == 0:
            return self.rules[int(at)]
        held = None if self.held_out is None else _some(self.held_out, at)
        rules, counted = tuple(self.rules[i] for i in at.tolist()), _some(self.counted, at)
        return Rules(rules, self.labels[at], self.skipped, counted, held, self.taken)

    @property
    def loc(self) -> ByLabel:
        """The same by what the rows are called that rules are of: ``rules.loc["p3"]``."""
        return ByLabel(self, self.labels)

    @property
    def coverage(self) -> NDArray[np.float64]:
        """The share of the rows of the data that satisfy each rule."""
        return self.counted.coverage

    @property
    def precision(self) -> NDArray[np.float64]:
        """The share of those to which the model gives the rule's class."""
        return self.counted.precision

    def to_frame(self) -> Any:
        """Return one line for each rule.

        Returns
        -------
        DataFrame
            With ``rule`` (in words), ``prediction``, ``size`` (conditions), ``guarantee_lower``,
            ``guarantee_upper``, ``coverage``, ``precision``, ``widest`` (whether it is proved that
            no single fact can be widened to its next value in the data), and the index of the rows
            that were explained. With rows held out also ``held_out_matching``,
            ``held_out_precision``, and Clopper and Pearson's bounds of it at a confidence of 0.95
            for each rule, ``precision_lower`` and ``precision_upper``.
        """
        import pandas as pd

        columns: dict[str, Any] = {
            "rule": [rule.text for rule in self.rules],
            "prediction": [rule.prediction for rule in self.rules],
            "size": [rule.size for rule in self.rules],
            "guarantee_lower": [rule.guarantee.lower for rule in self.rules],
            "guarantee_upper": [rule.guarantee.upper for rule in self.rules],
            "coverage": self.coverage,
            "precision": self.precision,
            "widest": [rule.widest for rule in self.rules],
        }
        if self.held_out is not None:
            bounds = [
                clopper_pearson(int(kept), int(n), 1 - CONFIDENCE) if n else (0.0, 1.0)
                for kept, n in zip(self.held_out.right, self.held_out.matching, strict=True)
            ]
            columns |= {
                "held_out_matching": self.held_out.matching.astype(np.int64),
                "held_out_precision": self.held_out.precision,
                "precision_lower": [low for low, _ in bounds],
                "precision_upper": [high for _, high in bounds],
            }
        return pd.DataFrame(columns, index=self.labels)

    def to_markdown(self) -> str:
        """Return a table in Markdown, one line for each rule.

        Returns
        -------
        str
        """
        lines = ["| row | if | then | guarantee | coverage | precision |", "|---" * 6 + "|"]
        lines += [
            f"| {' | '.join(markdown(str(cell)) for cell in (label, *cells))} |"
            for label, cells in zip(self.labels, self._cells(), strict=True)
        ]
        return "\n".join(lines) + "\n"

    def _cells(self) -> Iterator[tuple[str, Any, str, str, str]]:
        told = zip(self.rules, self.coverage.tolist(), self.precision.tolist(), strict=True)
        for rule, coverage, precision in told:
            known = rule.guarantee
            sure = lower_text(known.lower if known.exact is None else known.exact, 4)
            yield rule.text, rule.prediction, bound(sure), _share(coverage), _share(precision)

    def __str__(self) -> str:
        return "\n".join(map(str, self.rules))

    def _repr_html_(self) -> str:
        first = self[:SHOWN_ROWS]
        cells = [(name, *more) for name, more in zip(first.labels, first._cells(), strict=True)]
        more = f"{len(self) - len(first):,} more rules." if len(self) > len(first) else ""
        count = f"{len(self):,} row{'' if len(self) == 1 else 's'}"
        headings = ["row", "if", "then class", "guarantee", "coverage", "precision"]
        over = f"Over {self.rules[0].distribution}." if self.rules else ""
        return card(
            line("Rules of ", strong(count), head=True),
            line(_PROMISE),
            line(over),
            table(headings, cells, more),
        )

    def cover(self, max_rules: int = 10, min_coverage: float | None = None) -> RuleCover:
        """Choose a few rules that together speak of many rows, greedily.

        The rows are those given as ``X`` to `ReasonExplanation.rules`, else those explained. Each
        turn takes the rule that speaks of most rows of its class that no chosen rule speaks of yet.

        Parameters
        ----------
        max_rules : int, default=10
            The most rules to choose.
        min_coverage : float or None, default=None
            Stop as soon as this share of the rows is covered. None: when no rule adds a row.

        Returns
        -------
        RuleCover
        """
        return cover_by(self.rules, self.taken, max_rules, min_coverage)


_PROMISE = (
    "Whoever satisfies a rule gets its class with at least this probability when the other "
    "features are replaced."
)


def rules_of(reasons: SufficientReasons, index: Any, X: Any, held_out: Any) -> Rules:
    """Return the rules of some reasons, counted over data."""
    model, reader = reasons.model, reasons.reader
    law = law_of(model, reasons.distribution)
    values, known = Values(law), {}
    rules: list[Rule] = []
    at: list[int] = []
    skipped: dict[Any, str] = {}
    told = reasons.shown
    for i, reason in enumerate(reasons):
        if reason.status == "invalid":
            skipped[index[i]] = reason.message
            continue
        key = _facts(reasons, i, reason)
        if key not in known:
            assert reason.source is not None
            known[key] = reason.source.rule(reason, values)
        rules.append(known[key])
        at.append(i)
    own = Taken(reasons.rows[at], None if told is None else told[at], np.arange(len(at)), len(at))
    data = None if X is None else taken_by(reader, model, X)
    counted = _counted(rules, data, model, law.data)
    held = None
    if held_out is not None:
        used = [own.rows, *([] if law.data is None else [law.data[0]])]
        used += [] if data is None else [data.rows]
        held = _held_out(rules, taken_by(reader, model, held_out, "held_out"), model, used)
    return Rules(tuple(rules), index[at], skipped, counted, held, own if data is None else data)


def _facts(reasons: SufficientReasons, i: int, reason: SufficientReason) -> tuple[Any, ...]:
    """Return what the rule of a row depends on; equal facts are widened once."""
    features, given = list(reason.features), None
    if reasons.shown is not None:
        given = tuple(map(str, reasons.shown[i][features]))
    own = reason.guarantee if reason.minimality == "best-of-size" else None
    values = reasons.rows[i][reasons.columns_of(features)].tobytes()
    return reason.features, str(reason.prediction), values, own, given


def _counted(rules: Sequence[Rule], data: Taken | None, model: Any, seen: Any) -> Counts:
    """Count over data, or over the background if there is none."""
    if data is not None:
        return _counts(rules, data, model, np.ones(len(data.rows)))
    if seen is None:
        nothing = np.full(len(rules), np.nan)
        return Counts(nothing, nothing, np.nan)
    rows, weights = seen
    taken = Taken(rows, None, np.arange(len(rows)), len(rows))
    return _counts(rules, taken, model, weights.astype(np.float64))


def _counts(
    rules: Sequence[Rule], taken: Taken, model: Any, weights: NDArray[np.float64]
) -> Counts:
    winners = model.winners(taken.rows)
    places = {label: k for k, label in enumerate(model.classes)}
    matching, right = np.zeros((2, len(rules)))
    done: dict[int, tuple[float, float]] = {}
    for i, rule in enumerate(rules):
        if id(rule) not in done:
            inside = rule.satisfied(taken.rows, taken.given)
            same = inside & (winners == places[rule.prediction])
            done[id(rule)] = float(weights[inside].sum()), float(weights[same].sum())
        matching[i], right[i] = done[id(rule)]
    return Counts(matching, right, float(weights.sum()))


def _held_out(rules: Sequence[Rule], taken: Taken, model: Any, used: Sequence[Any]) -> Counts:
    """Count over rows that were not used, where numbers tell which those are."""
    fresh = np.ones(len(taken.rows), dtype=np.bool_)
    if any(unit.states is None for unit in model.units or ()):
        known = {_bytes(row) for rows in used for row in rows}
        fresh[:] = [_bytes(row) not in known for row in taken.rows]
    if not fresh.any():
        raise InvalidInputError(
            "held_out must have rows that are neither in the background nor explained, got "
            f"{len(fresh)} rows, none of which is new. Split them off before you explain."
        )
    given = None if taken.given is None else taken.given[fresh]
    some = Taken(taken.rows[fresh], given, np.flatnonzero(fresh), int(fresh.sum()))
    return _counts(rules, some, model, np.ones(len(some.rows)))


def _bytes(row: NDArray[Any]) -> bytes:
    """Return what equal rows have in common; minus zero is zero."""
    return (row.astype(np.float64) + 0.0).tobytes()


def _ratio(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a / b, NaN where b is 0 or not known."""
    found: NDArray[np.float64] = np.full(len(a), np.nan)
    np.divide(a, b, out=found, where=b > 0)
    return found


def _some(counts: Counts, at: NDArray[np.intp]) -> Counts:
    return Counts(counts.matching[at], counts.right[at], counts.rows)


def _share(value: float) -> str:
    return "" if np.isnan(value) else f"{value:.3f}"
