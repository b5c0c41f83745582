"""Generated decisions under Matching: every answer is held against all sets of facts, exactly.

`make thorough` takes 10,000 decisions, other runs some hundred; by public functions alone.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from scipy.stats import beta

from sklearn_probsr import (
    Matching,
    alternatives,
    guarantee,
    guarantee_curve,
    sufficient_reason,
)
from sklearn_probsr.exceptions import UnreachableError
from sklearn_probsr.model import sparse as _sparse
from tests.generated_rows import Decision, decision, mask
from tests.interpreted import cases

WHOLE = os.environ.get("SKLEARN_PROBSR_CASES") == "whole"
PARTS = 4
# Shares as near as this to a level are not told apart by floats.
NEAR = 1e-9


def seeds(part: int, whole: int, some: int) -> Iterator[int]:
    """Yield the seeds of a part of the cases."""
    yield from cases(whole if WHOLE else some, PARTS)[part::PARTS]


@dataclass(frozen=True)
class Matched:
    """A decision among rows of which some are held out, and what is asked of it."""

    case: Decision
    law: Matching
    held: np.ndarray
    options: dict[str, Any]

    @classmethod
    def of(cls, seed: int, thin: bool = False) -> Matched:
        """Return the question of a seed; ``thin`` tells rows as a sparse matrix."""
        kinds = ("bits",) if thin else ("bits", "categories")
        case = replace(decision(seed, 6, kinds, 4), weights=None)
        rng = np.random.default_rng([seed, 6])
        held = rng.random(len(case.rows)) < 0.4
        held[0], held[-1] = True, False
        few = max(int((~held).sum()) // 2, 1)
        rows = sparse.csr_array(case.rows) if thin else case.rows
        law = Matching(
            rows, confirm=held, min_rows=int(rng.integers(1, few + 1)),
            cautious=bool(rng.random() < 0.25), confidence=float(rng.choice([0.9, 0.95, 0.99])),
        )  # fmt: skip
        units = rng.permutation(case.h).tolist()
        options: dict[str, Any] = {"delta": float(rng.choice([0.0, 0.3, 0.5, 0.75, 0.9, 1.0]))}
        options["prove"] = [False, "auto", True][int(rng.integers(0, 3))]
        if rng.random() < 0.25:
            options["include"] = units[: int(rng.integers(1, 3))]
        if rng.random() < 0.25:
            options["exclude"] = units[2:4]
        if rng.random() < 0.3:
            options["max_size"] = int(rng.integers(len(options.get("include", ())), case.h + 1))
        if rng.random() < 0.1:
            options["present_only"] = True
        if rng.random() < 0.1 and case.leanings is not None:
            options["supporting_only"] = True
        return cls(case, law, held, options)

    def _counts(self, of: np.ndarray) -> list[tuple[int, int]]:
        """Count the rows that share each set of facts, and those that keep the class."""
        case = self.case
        same = np.array([
            (case.rows[:, list(own)] == case.x[list(own)]).all(axis=1) for own in case.columns
        ]).T  # fmt: skip
        rows = np.flatnonzero(of).tolist()
        copies = [i for i in rows if same[i].all()]
        rows = [i for i in rows if i not in copies[:1]]
        shared = np.array([mask(np.flatnonzero(same[i])) for i in rows], dtype=np.int64)
        own = np.array([self._keeps[i] for i in rows], dtype=bool)
        sets = range(2**case.h)
        found = [shared & s == s for s in sets]
        return [(int((own & at).sum()), int(at.sum())) for at in found]

    @cached_property
    def _keeps(self) -> list[bool]:
        """Whether each row has the class of the instance."""
        winners = self.case.model.winners(self.case.rows)
        own = self.case.model.winners(self.case.x[None, :])[0]
        return [bool(v == own) for v in winners]

    @cached_property
    def searched(self) -> list[tuple[int, int]]:
        """The rows searched that share each set of facts, by its bits: those kept, and all."""
        return self._counts(~self.held)

    @cached_property
    def confirmed(self) -> list[tuple[int, int]]:
        """The same of the rows held out."""
        return self._counts(self.held)

    @cached_property
    def allowed(self) -> list[int]:
        """All sets that the options allow, but for their size."""
        case, options = self.case, self.options
        forced, leans = mask(options.get("include", ())), case.leanings or []
        barred = mask(
            u for u in range(case.h)
            if u in options.get("exclude", ())
            or (options.get("present_only") and not case.present[u])
            or (options.get("supporting_only") and leans[u] <= 0)
        ) & ~forced  # fmt: skip
        return [s for s in range(2**case.h) if s & forced == forced and not s & barred]

    def reaching(self, near: float = 0.0) -> list[int]:
        """Return the sets that reach the level in the rows searched; up to so much less."""
        level, found = Fraction(str(self.options["delta"])), []
        for s in self.allowed:
            kept, n = self.searched[s]
            if n < self.law.min_rows:
                continue
            if self.law.cautious:
                is_enough = wilson(kept, n) >= float(level) - near
            else:
                is_enough = kept >= level * n
            if is_enough:
                found.append(s)
        return found


def wilson(kept: int, n: int) -> float:
    """Return Wilson's lower bound of a share at 95%."""
    if n == 0:
        return 0.0
    z, share = 1.96, kept / n
    spread = z * math.sqrt((share * (1 - share) + z * z / (4 * n)) / n)
    return max((share + z * z / (2 * n) - spread) / (1 + z * z / n), 0.0)


def interval(kept: int, n: int, risk: float) -> tuple[float, float]:
    """Return the Clopper-Pearson interval of a share."""
    low = float(beta.ppf(risk / 2, kept, n - kept + 1)) if kept else 0.0
    high = float(beta.ppf(1 - risk / 2, kept + 1, n - kept)) if kept < n else 1.0
    return low, high


def check_guarantee(asked: Matched, chosen: int, known: Any) -> None:
    """Hold an enclosure against the rows held out; a copy of the instance may count or not."""
    kept, n = asked.confirmed[chosen]
    risk = 1 - float(asked.law.confidence)
    low, high = interval(kept, n, risk)
    same = [(asked.case.rows[i] == asked.case.x).all() for i in np.flatnonzero(asked.held)]
    if any(same):
        _, high = interval(kept + 1, n + 1, risk)
    assert known.confidence == pytest.approx(float(asked.law.confidence), abs=1e-12)
    assert known.lower == pytest.approx(low, abs=1e-9)
    assert known.upper == pytest.approx(high, abs=1e-9)


def check(asked: Matched) -> str:
    """Ask a question, hold the answer against all sets, and return its word."""
    case, options, law = asked.case, asked.options, asked.law
    sure, maybe = asked.reaching(-NEAR), asked.reaching(NEAR)
    most = options.get("max_size", case.h)
    try:
        found = sufficient_reason(case.model, case.x, distribution=law, **options)
    except UnreachableError as error:
        said = str(error)
        assert not sure or "is not reached by any set found" in said
        return "unreachable"
    chosen = mask(found.features)
    assert chosen in asked.allowed
    assert found.size <= most
    assert found.size_lower <= min((s.bit_count() for s in sure), default=case.h + 1)
    assert found.matches is not None
    assert found.matches.searched[:2] == asked.searched[chosen]
    assert found.matches.confirmed[:2] == asked.confirmed[chosen]
    assert found.matches.descriptive.matching == sum(
        part[chosen][1] for part in (asked.searched, asked.confirmed)
    )
    check_guarantee(asked, chosen, found.guarantee)
    if case.leanings is not None:
        assert found.against == tuple(u for u in found.features if case.leanings[u] < 0)
    if found.minimality == "best-of-size":
        assert "max_size" in options
        assert not any(s.bit_count() <= most for s in sure)
        return "best-of-size"
    assert chosen in maybe
    least = min(s.bit_count() for s in maybe)
    if found.minimality == "minimum":
        assert found.size == found.size_lower
        assert least <= found.size <= min((s.bit_count() for s in sure), default=case.h + 1)
    elif found.minimality == "subset-minimal":
        assert not any(s & chosen == s != chosen for s in sure)
    else:
        assert found.minimality == "locally-minimal"
        assert not any(chosen & ~(1 << u) in sure for u in found.features)
    return found.minimality


@pytest.mark.parametrize("part", range(PARTS))
def test_reasons(part: int) -> None:
    """Sets, counts and words are true of the rows searched; small decisions are proved."""
    words = [check(Matched.of(seed)) for seed in seeds(part, 10_000, 240)]
    assert set(words) <= {"minimum", "best-of-size", "unreachable"}
    assert words.count("minimum") >= len(words) // 4


@pytest.mark.parametrize("part", range(PARTS))
def test_sparse_rows(part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same of rows that are told as a sparse matrix, and stay one."""
    monkeypatch.setattr(_sparse, "_FEW_CELLS", -1)
    words = [check(Matched.of(seed, thin=True)) for seed in seeds(part, 5_000, 120)]
    assert set(words) <= {"minimum", "best-of-size", "unreachable"}


@pytest.mark.parametrize("part", range(PARTS))
def test_guarantees_and_curves(part: int) -> None:
    """Any set of facts is confirmed by the rows held out, and so is every size of a curve."""
    for seed in seeds(part, 5_000, 80):
        asked, rng = Matched.of(seed), np.random.default_rng([seed, 7])
        case = asked.case
        for s in rng.integers(0, 2**case.h, 3).tolist():
            features = [u for u in range(case.h) if s >> u & 1]
            check_guarantee(
                asked, s, guarantee(case.model, case.x, features, distribution=asked.law)
            )
        curve = guarantee_curve(case.model, case.x, distribution=asked.law)
        order, risk = curve.order.tolist(), 1 - float(asked.law.confidence)
        assert sorted(order) == list(range(case.h))
        for k in range(case.h + 1):
            low, _ = interval(*asked.confirmed[mask(order[:k])], risk)
            assert curve.lower[k] == pytest.approx(low, abs=1e-9)


@pytest.mark.parametrize("part", range(PARTS))
def test_alternatives(part: int) -> None:
    """What is said of all minimum reasons is true of all sets of that size."""
    for seed in seeds(part, 2_000, 60):
        asked = Matched.of(seed)
        if asked.law.cautious:
            continue
        case, names = asked.case, ("delta", "include", "exclude", "present_only")
        asked.options.pop("supporting_only", None)
        told = {name: asked.options[name] for name in names if name in asked.options}
        fresh = Matched(case, asked.law, asked.held, told)
        if not fresh.reaching():
            with pytest.raises(UnreachableError):
                alternatives(case.model, case.x, distribution=asked.law, **told)
            continue
        found = alternatives(case.model, case.x, distribution=asked.law, **told)
        least = min(s.bit_count() for s in fresh.reaching())
        minimum = [s for s in fresh.reaching() if s.bit_count() == least]
        assert found.reason.size == least
        every = {u for u in range(case.h) if all(s >> u & 1 for s in minimum)}
        some = {u for u in range(case.h) if any(s >> u & 1 for s in minimum)}
        assert set(found.necessary) <= every
        assert set(found.possible) <= some
        open_ones = set(found.undecided)
        assert every <= set(found.necessary) | open_ones
        assert some <= set(found.possible) | open_ones
        assert {mask(reason) for reason in found.reasons} <= set(minimum)
