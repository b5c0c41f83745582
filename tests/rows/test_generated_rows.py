"""Generated decisions over background rows: every answer is held against all sets, exactly.

Reasons with all options of a search, guarantees, curves, alternatives, breaking sets, outlooks,
samples of completions, sparse rows and very many rows, by public functions alone. `make thorough`
takes 20,000 decisions, other runs some hundred.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from sklearn_probsr import (
    ArgmaxModel,
    Background,
    LinearModel,
    Unit,
    alternatives,
    breaking_set,
    guarantee,
    guarantee_curve,
    outlook,
    sufficient_reason,
)
from sklearn_probsr.exceptions import UnreachableError
from sklearn_probsr.model import sparse as _sparse
from sklearn_probsr.results import SufficientReason
from sklearn_probsr.rows import background
from sklearn_probsr.rows import sparse as rows_sparse
from tests.generated_rows import Question, decision, mask
from tests.interpreted import cases

# Numbers of one class that are far below those of another are rounded, as a warning says.
pytestmark = pytest.mark.filterwarnings("ignore:The (weight|intercept) .* is taken as")

WHOLE = os.environ.get("SKLEARN_PROBSR_CASES") == "whole"
PARTS = 8
# Seeds of other tests begin here, so that no two ask the same.
SPARSE, MANY, SAMPLED = 10**6, 2 * 10**6, 3 * 10**6


def seeds(part: int, whole: int, some: int, start: int = 0) -> Iterator[int]:
    """Yield the seeds of a part of the cases."""
    for seed in cases(whole if WHOLE else some, PARTS)[part::PARTS]:
        yield start + seed


def draws(seed: int, stream: int) -> np.random.Generator:
    """Return what is drawn for a case beside the decision."""
    return np.random.default_rng([seed, stream])


def judge(asked: Question, found: SufficientReason) -> None:
    """Hold all that is said of a reason against all sets."""
    case, options = asked.case, asked.options
    chosen, sizes = mask(found.features), [s.bit_count() for s in asked.reaching]
    share = Fraction(case.kept[chosen], case.total)
    assert found.guarantee.exact == share
    assert Fraction(found.guarantee.lower) <= share <= Fraction(found.guarantee.upper)
    assert chosen in asked.allowed
    assert len(found.features) == found.size <= asked.most
    assert found.size_lower <= min(sizes, default=case.h + 1)
    assert found.cost == float(asked.price(chosen))
    if (leans := case.leanings) is not None:
        assert found.against == tuple(u for u in found.features if leans[u] < 0)
    assert found.epsilon == 0
    if found.minimality == "best-of-size":
        assert "max_size" in options
        assert share < asked.level
        assert "max_evals" in options or not any(size <= asked.most for size in sizes)
        return
    assert chosen in asked.reaching
    assert found.size_lower <= found.size
    affordable = [s for s in asked.reaching if s.bit_count() <= asked.most]
    cheapest = min((asked.price(s), s.bit_count()) for s in affordable)
    assert Fraction(str(found.cost_lower)) <= cheapest[0]  # the decimal that it prints as
    if found.minimality == "minimum":
        assert (asked.price(chosen), found.size) == cheapest
        assert found.cost_lower == found.cost
        assert "cost" in options or found.size_lower == found.size
    elif found.minimality == "subset-minimal":
        assert not any(s & chosen == s != chosen for s in asked.reaching)
    elif found.minimality == "locally-minimal":
        spared = [chosen & ~(1 << u) for u in found.features]
        assert not any(s in asked.reaching for s in spared)
    else:  # there was no time to look whether some feature can be spared
        assert found.minimality in {"near-subset-minimal", "near-locally-minimal"}
        assert options["time_limit"] < 1e-3
    judge_end(asked, found)


def judge_end(asked: Question, found: SufficientReason) -> None:
    """A proof ends proved if and only if the set is a minimum; without one nothing is said."""
    proved = found.minimality == "minimum"
    assert (found.stopped == "proved") == proved
    if not proved:
        tried = asked.options["prove"] is not False
        ends = {"time", "exhausted"} if asked.options["prove"] is True else {"exhausted"}
        assert found.stopped in (ends if tried else {""})


def check(asked: Question) -> str:
    """Ask a question, hold the answer against all sets, and return its word."""
    try:
        found = sufficient_reason(asked.case.model, asked.case.x, **asked.options)
    except UnreachableError as error:
        # With hardly any effort a set may be missed, which the error says.
        said = str(error)
    else:
        judge(asked, found)
        return found.minimality
    # With hardly any effort a set may be missed, which the error says.
    missed = "is not reached by any set found" in said
    assert missed or " cannot be reached " in said
    assert not asked.reaching or (missed and "max_evals" in asked.options)
    return "unreachable"


@pytest.mark.parametrize("part", range(PARTS))
def test_reasons(part: int) -> None:
    """Sizes, costs, words and how a proof ended are true, and what can be reached is."""
    words = [check(Question.of(seed, decision(seed))) for seed in seeds(part, 20_000, 480)]
    assert words.count("minimum") >= len(words) // 3


@pytest.mark.parametrize("part", range(PARTS))
def test_default_effort_proves_small_decisions(part: int) -> None:
    """Of few features every reason is a minimum by default, at any price, with any features."""
    for seed in seeds(part, 4_000, 160):
        asked = Question.of(seed, decision(seed))
        for name in ("prove", "max_evals", "time_limit"):
            asked.options.pop(name, None)
        asked.options["distribution"] = asked.case.law
        asked.options["prove"] = "auto"
        assert check(asked) in {"minimum", "best-of-size", "unreachable"}


@pytest.mark.parametrize("part", range(PARTS))
def test_guarantees_and_curves(part: int) -> None:
    """The guarantee of any set is the exact fraction, and so is every size of a curve."""
    for seed in seeds(part, 20_000, 240):
        case, rng = decision(seed), draws(seed, 2)
        for s in rng.integers(0, 2**case.h, 3).tolist():
            features = [u for u in range(case.h) if s >> u & 1]
            found = guarantee(case.model, case.x, features, distribution=case.law)
            assert found.exact == Fraction(case.kept[s], case.total)
        curve = guarantee_curve(case.model, case.x, distribution=case.law)
        order = curve.order.tolist()
        assert sorted(order) == list(range(case.h))
        for k in range(case.h + 1):
            share = case.share(order[:k])
            assert Fraction(curve.lower[k]) <= share <= Fraction(curve.upper[k])
            assert curve.upper[k] - curve.lower[k] <= 1e-15


@pytest.mark.parametrize("part", range(PARTS))
def test_alternatives(part: int) -> None:
    """What is said of all minimum reasons is true of all sets of that size which reach delta."""
    for seed in seeds(part, 5_000, 80):
        asked = Question.of(seed, decision(seed, 6))
        names = ("delta", "include", "exclude", "present_only", "supporting_only")
        options = {name: asked.options[name] for name in names if name in asked.options}
        case = asked.case
        told = {"distribution": case.law, "prove": True, **options}
        if not asked.reaching:
            with pytest.raises(UnreachableError):
                alternatives(case.model, case.x, **told)
            continue
        found = alternatives(case.model, case.x, **told)
        least = min(s.bit_count() for s in asked.reaching)
        minimum = [s for s in asked.reaching if s.bit_count() == least]
        assert found.reason.minimality == "minimum"
        assert found.undecided == ()
        every = [u for u in range(case.h) if all(s >> u & 1 for s in minimum)]
        some = [u for u in range(case.h) if any(s >> u & 1 for s in minimum)]
        assert (list(found.necessary), list(found.possible)) == (every, some)
        assert sorted(map(mask, found.reasons)) == sorted(minimum)
        everywhere = [u for u in range(case.h) if all(s >> u & 1 for s in asked.reaching)]
        assert list(found.indispensable) == everywhere


@pytest.mark.parametrize("part", range(PARTS))
def test_breaking_sets(part: int) -> None:
    """Without a breaking set no set of the others reaches delta, and no smaller one breaks it."""
    for seed in seeds(part, 5_000, 80):
        case = decision(seed, 6)
        delta = Question.of(seed, case).options["delta"]
        asked = Question(case, {"delta": delta})
        told = {"delta": delta, "distribution": case.law}
        if 0 in asked.reaching:
            with pytest.raises(UnreachableError, match=r"^nothing breaks this decision"):
                breaking_set(case.model, case.x, **told)
            continue
        found = breaking_set(case.model, case.x, **told)
        breaking = [s for s in range(2**case.h) if all(s & other for other in asked.reaching)]
        least = min(s.bit_count() for s in breaking)
        assert mask(found.features) in breaking
        assert found.size_lower <= least <= found.size
        assert found.guarantee.exact == case.share(found.best) < asked.level
        assert not set(found.best) & set(found.features)
        if found.minimality == "minimum":
            assert found.size == least == found.size_lower
        else:
            assert found.minimality == "subset-minimal"
            chosen = mask(found.features)
            assert not any(s & chosen == s != chosen for s in breaking)


@pytest.mark.parametrize("part", range(PARTS))
def test_outlooks(part: int) -> None:
    """The probability of every class is exact, whatever stands for what is not known."""
    for seed in seeds(part, 5_000, 80):
        case, rng = decision(seed, 6), draws(seed, 3)
        unknown = rng.permutation(case.h)[: int(rng.integers(0, case.h + 1))].tolist()
        level = Question.of(seed, case).options["delta"]
        seen = outlook(case.model, case.x, unknown=unknown, delta=level, distribution=case.law)
        known = mask(u for u in range(case.h) if u not in unknown)
        shares = [
            Fraction(case.kept_of(k)[known], case.total) for k in range(len(case.model.classes))
        ]
        for label, share in zip(case.model.classes, shares, strict=True):
            below, above = seen.probability(label).ends()
            assert below <= share <= above
        assert seen.settled in {max(shares) >= Question(case, {"delta": level}).level, None}
        if seen.reason is not None:
            assert not set(seen.reason.features) & set(unknown)
            assert (seen.reason.guarantee >= seen.delta).value


@pytest.mark.parametrize("part", range(PARTS))
def test_samples_of_completions(part: int) -> None:
    """What is drawn encloses the guarantee; at one in a million a case, no case fails."""
    for seed in seeds(part, 800, 24, SAMPLED):
        case = decision(seed)
        if case.model.by_class:
            continue
        found = sufficient_reason(
            case.model, case.x, delta=0.75, distribution=case.law,
            method="monte-carlo", epsilon=0.1, random_state=seed,
        )  # fmt: skip
        share = case.share(found.features)
        assert found.guarantee.lower <= share <= found.guarantee.upper


@pytest.fixture
def small_ones_stay_sparse(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sparse rows are not filled in for being small."""
    monkeypatch.setattr(_sparse, "_FEW_CELLS", -1)
    monkeypatch.setattr(background, "FEW_GAINS", -1)


@pytest.mark.usefixtures("small_ones_stay_sparse")
@pytest.mark.parametrize("part", range(PARTS))
def test_sparse_rows(part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same questions about rows that are told as a sparse matrix."""
    if part % 2:  # no table of gains is made
        monkeypatch.setattr(rows_sparse, "FEW_GAINS", -1)
    for seed in seeds(part, 10_000, 160, SPARSE):
        case = decision(seed)
        rng = draws(seed, 4)
        rows, x = case.rows.copy(), case.x
        if not any(case.states):  # mostly zeros
            rows[rng.random(rows.shape) < 0.5] = 0.0
        law = Background(sparse.csr_array(rows), case.weights)
        case = replace(case, rows=rows, law=law)
        asked = Question.of(seed, case)
        check(Question(case, asked.options | {"distribution": law}))
        for s in rng.integers(0, 2**case.h, 2).tolist():
            features = [u for u in range(case.h) if s >> u & 1]
            found = guarantee(case.model, x, features, distribution=law)
            assert found.exact == Fraction(case.kept[s], case.total)


@pytest.mark.parametrize("part", range(PARTS))
def test_very_many_rows(part: int) -> None:
    """Rows and columns that are too many for one table: the answers of the few that they repeat."""
    for seed in seeds(part, 240, 8, MANY):
        few, rng = decision(seed, kinds=("tenths", "normal", "dyadic", "wide")), draws(seed, 5)
        idle = int(rng.choice([0, 56]))  # columns of no weight
        copies = rng.integers(1, 5_000_000 // (few.h + idle) // len(few.rows), len(few.rows))
        at = np.repeat(np.arange(len(few.rows)), copies)[rng.permutation(int(copies.sum()))]
        rows = np.hstack([few.rows[at], rng.random((len(at), idle))])
        model, x, d = few.model, np.append(few.x, rng.random(idle)), len(few.x)
        units = [*model.units, *(Unit.real(f"idle{j}", d + j) for j in range(idle))]
        lines = np.pad(np.atleast_2d(model.weights), ((0, 0), (0, idle)))
        if isinstance(model, LinearModel):
            many: Any = LinearModel(lines[0], model.threshold, strict=model.strict, units=units)
        else:
            many = ArgmaxModel(lines, model.intercepts, last=model.last, units=units)
        case = replace(few, weights=copies)
        asked = {"delta": float(rng.choice([0.6, 0.9, 1.0])), "prove": "auto"}
        if rng.random() < 0.3:
            asked["cost"] = rng.choice([1.0, 2.0, 2.5], few.h).tolist() + [1.0] * idle
        found = sufficient_reason(many, x, distribution=Background(rows), **asked)
        judge(Question(case, asked), found)
