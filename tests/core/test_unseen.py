"""Reasons, breaking sets and alternatives where fixing a fact may hurt, against all sets."""

from __future__ import annotations

import pytest

from sklearn_probsr import alternatives, breaking_set, guarantee, sufficient_reason
from sklearn_probsr.exceptions import UnreachableError
from sklearn_probsr.results import SufficientReason
from tests.rival_classes import nothing_counted
from tests.thin_units import few_are_thin
from tests.unseen import Asked, Unseen, seeds

WHOLE = 20_000
# Seeds of other kinds begin here: laws of equal models are kept.
BOUNDED, THIN = 10**6, 2 * 10**6


def pieces(some: int, whole: int = WHOLE) -> list[int]:
    """Return where pieces of a hundred cases begin."""
    return list(range(0, len(seeds(whole, some)), 100))


def piece(first: int, some: int, whole: int = WHOLE) -> range:
    """Return the seeds of a piece."""
    return seeds(whole, some)[first : first + 100]


def check(asked: Asked, counted: bool = True) -> None:
    """Compare an answer with all sets that are allowed; with bounds alone some stay open."""
    case, reaching = asked.case, asked.reaching
    try:
        found = sufficient_reason(
            case.model, case.x, delta=asked.delta, distribution=case.distribution, **asked.options
        )
    except UnreachableError as error:
        is_open = not counted and " is not proved for " in str(error)
    else:
        judge(asked, found, counted)
        return
    assert is_open or not reaching


def judge(asked: Asked, found: SufficientReason, counted: bool) -> None:
    """Compare a reason with all sets that are allowed."""
    case, reaching = asked.case, asked.reaching
    chosen, truth = frozenset(found.features), case.truth[frozenset(found.features)]
    assert chosen in asked.allowed
    below, above = found.guarantee.ends()
    assert below <= truth <= above
    assert found.guarantee.exact == truth or not counted
    sizes, most = [len(s) for s in reaching], asked.options.get("max_size", case.d)
    assert found.size <= most
    assert found.size_lower <= min(sizes, default=case.d + 1)
    if found.minimality == "best-of-size":
        assert "max_size" in asked.options
        assert not counted or not any(size <= most for size in sizes)
        return
    assert chosen in reaching
    assert found.size_lower <= found.size
    cheapest = min(asked.price(s) for s in reaching if len(s) <= most)
    assert found.cost_lower <= cheapest <= asked.price(chosen)
    if found.minimality == "minimum" and "cost" in asked.options:
        assert asked.price(chosen) == cheapest == found.cost_lower
    elif found.minimality == "minimum":
        assert found.size == min(sizes) == found.size_lower
    elif found.minimality == "subset-minimal":
        assert not any(s < chosen for s in reaching)
    elif found.minimality == "locally-minimal":
        assert not any(s < chosen and len(s) == len(chosen) - 1 for s in reaching)
    else:
        assert not counted
        assert found.minimality in {"near-subset-minimal", "near-locally-minimal"}


@pytest.mark.parametrize("first", pieces(600))
def test_reasons_with_facts_that_hurt(first: int) -> None:
    """Sizes, costs and words are true, ties are decided, and what can be reached is."""
    for seed in piece(first, 600):
        check(Asked.of(seed, Unseen.of(seed)))


@pytest.mark.parametrize("first", pieces(200, 5000))
def test_bounds_with_facts_that_hurt(first: int) -> None:
    """The same where completions are too many to be counted before several rivals."""
    with nothing_counted():
        for seed in piece(first, 200, 5000):
            check(Asked.of(seed, Unseen.of(BOUNDED + seed)), counted=False)


@pytest.mark.parametrize("first", pieces(200, 5000))
def test_sparse_units_with_facts_that_hurt(first: int) -> None:
    """The same of units that are taken as very many which are mostly zero."""
    with few_are_thin():
        for seed in piece(first, 200, 5000):
            check(Asked.of(seed, Unseen.of(THIN + seed, thin=True)), counted=False)


@pytest.mark.parametrize("first", pieces(600))
def test_guarantees_of_few_completions_are_counted(first: int) -> None:
    """The guarantee of every set is the exact fraction."""
    for seed in piece(first, 600):
        case = Unseen.of(seed)
        chosen = list(case.truth)[seed % len(case.truth)]
        found = guarantee(case.model, case.x, chosen, distribution=case.distribution)
        assert found.exact == case.truth[chosen]


@pytest.mark.parametrize("first", pieces(100, 5000))
def test_what_breaks_with_facts_that_hurt(first: int) -> None:
    """Without a breaking set no set of the others reaches delta, and no smaller one breaks it."""
    for seed in piece(first, 100, 5000):
        asked = Asked.of(seed, Unseen.of(seed))
        case, level = asked.case, asked.level
        reaching = [s for s, share in case.truth.items() if share >= level]
        breaking = [s for s in case.truth if all(s & other for other in reaching)]
        told = {"delta": asked.delta, "distribution": case.distribution}
        if frozenset() in reaching:
            with pytest.raises(UnreachableError):
                breaking_set(case.model, case.x, **told)
            continue
        if not reaching:  # the whole instance keeps its class
            raise AssertionError
        found = breaking_set(case.model, case.x, **told)
        chosen, least = frozenset(found.features), min(map(len, breaking))
        assert chosen in breaking
        assert found.size_lower <= least <= found.size
        assert found.minimality != "minimum" or found.size == least
        if found.minimality == "subset-minimal":
            assert not any(s < chosen for s in breaking)


@pytest.mark.parametrize("first", pieces(100, 5000))
def test_alternatives_with_facts_that_hurt(first: int) -> None:
    """What is said of all minimum reasons is true of all sets of that size which reach delta."""
    for seed in piece(first, 100, 5000):
        asked = Asked.of(seed, Unseen.of(seed))
        case, options = asked.case, asked.options
        told = {"delta": asked.delta, "distribution": case.distribution, "prove": True}
        told |= {name: options[name] for name in ("include", "exclude")}
        if not asked.reaching:
            with pytest.raises(UnreachableError):
                alternatives(case.model, case.x, **told)
            continue
        found = alternatives(case.model, case.x, **told)
        least = min(map(len, asked.reaching))
        minimum = [s for s in asked.reaching if len(s) == least]
        assert found.reason.minimality == "minimum"
        assert found.undecided == ()
        assert set(found.necessary) == frozenset.intersection(*minimum)
        assert set(found.possible) == frozenset.union(*minimum)
        assert sorted(map(sorted, found.reasons)) == sorted(map(sorted, minimum))
        everywhere = frozenset.intersection(*asked.reaching)
        assert set(found.indispensable) == everywhere
