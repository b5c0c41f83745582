"""RuleCover: a few rules that together speak of many rows."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.exceptions import InvalidInputError
from sklearn_probsr.model.enclosure import lower_text
from sklearn_probsr.results._inert_text import markdown
from sklearn_probsr.results._listed import count
from sklearn_probsr.results.views import bound, card, line, strong, table
from sklearn_probsr.rules._rule import Rule, Taken

__all__ = ["RuleCover", "cover_by"]


@dataclass(frozen=True, eq=False)
class RuleCover:
    """A few rules that together speak of many rows; made by `Rules.cover`.

    It can be gone through, rule by rule.

    Attributes
    ----------
    rules : tuple of Rule
        In the order in which they were chosen.
    n_rows : int
        How many rows there are.
    covered : int
        How many of them satisfy at least one rule.
    uncovered : int
        How many satisfy none.
    conflicts : int
        How many satisfy rules of different classes.
    agreeing : int
        How many of those covered have the class of the first rule that they satisfy.
    matching, added : ndarray of int, shape (rules,)
        How many rows satisfy each rule, and how many of these no rule before it.
    right : ndarray of int, shape (rules,)
        How many rows that satisfy it have its class.
    """

    rules: tuple[Rule, ...]
    n_rows: int
    covered: int
    conflicts: int
    agreeing: int
    matching: NDArray[np.int64] = field(repr=False)
    added: NDArray[np.int64] = field(repr=False)
    right: NDArray[np.int64] = field(repr=False)

    @property
    def uncovered(self) -> int:
        """How many rows satisfy no rule."""
        return self.n_rows - self.covered

    def __len__(self) -> int:
        return len(self.rules)

    def __iter__(self) -> Iterator[Rule]:
        return iter(self.rules)

    def __getitem__(self, index: int) -> Rule:
        return self.rules[index]

    def to_frame(self) -> Any:
        """Return one line for each rule.

        Returns
        -------
        DataFrame
            With ``rule``, ``prediction``, ``size``, ``guarantee_lower``, ``guarantee_upper``,
            ``coverage`` and ``precision`` (over the rows that were covered), ``rows_added`` and
            ``covered_so_far`` (a share).
        """
        import pandas as pd

        n = max(self.n_rows, 1)
        return pd.DataFrame(
            {
                "rule": [rule.text for rule in self.rules],
                "prediction": [rule.prediction for rule in self.rules],
                "size": [rule.size for rule in self.rules],
                "guarantee_lower": [rule.guarantee.lower for rule in self.rules],
                "guarantee_upper": [rule.guarantee.upper for rule in self.rules],
                "coverage": self.matching / n,
                "precision": self.right / np.maximum(self.matching, 1),
                "rows_added": self.added,
                "covered_so_far": np.cumsum(self.added) / n,
            }
        )

    def to_markdown(self) -> str:
        """Return a table in Markdown, one line for each rule, and a line of totals.

        Returns
        -------
        str
        """
        lines = ["| if | then | guarantee | rows | of its class | new |", "|---" * 6 + "|"]
        lines += [f"| {' | '.join(markdown(str(c)) for c in cells)} |" for cells in self._cells()]
        return "\n".join(lines) + f"\n\n{self.summary()}\n"

    def _cells(self) -> list[tuple[Any, ...]]:
        counts = zip(self.matching.tolist(), self.right.tolist(), self.added.tolist(), strict=True)
        return [
            (rule.text, rule.prediction, bound(_sure(rule)), *each)
            for rule, each in zip(self.rules, counts, strict=True)
        ]

    def summary(self) -> str:
        """Say in words what the rules cover.

        Returns
        -------
        str
        """
        cover = "covers" if len(self) == 1 else "cover"
        return (
            f"{count(len(self), 'rule')} {cover} {self.covered:,} of {count(self.n_rows, 'row')}: "
            f"{self.agreeing:,} with the class of the first rule satisfied; {self.conflicts:,} "
            f"under rules of different classes; {self.uncovered:,} under none."
        )

    def __str__(self) -> str:
        lines = [
            f"{k}. If {rule.text}: {rule.prediction!s} (guarantee {_sure(rule)}, {count(n, 'row')})"
            for k, (rule, n) in enumerate(zip(self.rules, self.matching.tolist(), strict=True), 1)
        ]
        return "\n".join([*lines, self.summary()])

    def _repr_html_(self) -> str:
        headings = ["if", "then class", "guarantee", "rows", "of its class", "new"]
        rows = f" for {count(self.n_rows, 'row')}"
        head = line(strong(count(len(self), "rule")), rows, head=True)
        return card(head, line(self.summary()), table(headings, self._cells()))


def _sure(rule: Rule) -> str:
    known = rule.guarantee
    return lower_text(known.lower if known.exact is None else known.exact, 4)


def cover_by(rules: Sequence[Rule], taken: Taken, max_rules: Any, min_coverage: Any) -> RuleCover:
    """Choose rules greedily, each for the rows of its class that it adds."""
    most, enough = _checked(max_rules, min_coverage)
    different = list({(rule.text, str(rule.prediction)): rule for rule in rules}.values())
    n = len(taken.rows)
    inside = np.zeros((len(different), n), dtype=np.bool_)
    own = inside.copy()
    if different:
        model = different[0].model
        winners = model.winners(taken.rows)
        for i, rule in enumerate(different):
            inside[i] = rule.satisfied(taken.rows, taken.given)
            own[i] = inside[i] & (winners == model.classes.index(rule.prediction))
    sizes = np.array([rule.size for rule in different])
    open_rows = np.ones(n, dtype=np.bool_)
    chosen: list[int] = []
    added: list[int] = []
    while len(chosen) < most and different:
        if n and enough is not None and np.count_nonzero(~open_rows) >= enough * n:
            break
        gains = np.count_nonzero(own & open_rows, axis=1)
        # Of equals the one that is wrong least often, then the shortest, then the first.
        wrong = np.count_nonzero(inside & ~own, axis=1)
        best = int(np.lexsort((np.arange(len(gains)), sizes, wrong, -gains))[0])
        if not gains[best]:
            break
        chosen.append(best)
        added.append(int(np.count_nonzero(inside[best] & open_rows)))
        open_rows &= ~inside[best]
    return _told(different, inside[chosen], own[chosen], chosen, added)


def _told(
    different: Sequence[Rule],
    inside: NDArray[np.bool_],
    own: NDArray[np.bool_],
    chosen: Sequence[int],
    added: Sequence[int],
) -> RuleCover:
    rules = tuple(different[i] for i in chosen)
    n = inside.shape[1]
    covered = inside.any(axis=0)
    labels = [str(rule.prediction) for rule in rules]
    classes = [inside[[k == label for k in labels]].any(axis=0) for label in dict.fromkeys(labels)]
    several = np.count_nonzero(np.array(classes).reshape(len(classes), n), axis=0) > 1
    first = np.argmax(inside, axis=0) if rules else np.zeros(n, dtype=np.intp)
    agreeing = covered & own[first, np.arange(n)] if rules else covered
    return RuleCover(
        rules,
        n,
        int(np.count_nonzero(covered)),
        int(np.count_nonzero(several)),
        int(np.count_nonzero(agreeing)),
        np.count_nonzero(inside, axis=1).astype(np.int64),
        np.array(added, dtype=np.int64),
        np.count_nonzero(own, axis=1).astype(np.int64),
    )


def _checked(max_rules: Any, min_coverage: Any) -> tuple[int, float | None]:
    try:
        most = 0 if isinstance(max_rules, bool) else operator.index(max_rules)
    except TypeError:
        most = 0
    if most < 1:
        raise InvalidInputError(f"max_rules must be a whole number >= 1, got {max_rules!r}.")
    if min_coverage is None:
        return most, None
    try:
        enough = float(min_coverage)
    except (TypeError, ValueError):
        enough = np.nan
    if not 0 <= enough <= 1:
        raise InvalidInputError(f"min_coverage must lie in [0, 1], got {min_coverage!r}.")
    return most, enough
