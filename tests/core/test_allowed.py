"""Features that are there, and facts that speak for the class, against all sets that qualify."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from itertools import chain, combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from sklearn_probsr import (
    ArgmaxModel,
    Background,
    LinearModel,
    Marginals,
    Matching,
    Product,
    SufficientReasonExplainer,
    Uniform,
    Unit,
    guarantee,
    sufficient_reason,
    sufficient_reasons,
)
from sklearn_probsr.core.means import column_mean, exact_mean
from sklearn_probsr.exceptions import InvalidInputError, UnreachableError
from sklearn_probsr.extend import law_of
from sklearn_probsr.model.numbers import decimal_fraction
from sklearn_probsr.model.sparse import sparse_rows
from tests.interpreted import examples
from tests.oracle import Case, UnitCase, background_guarantee, matching_count, product_guarantee
from tests.strategies import backgrounds, cases, levels, models, unit_models

OPTIONS = [(True, False), (False, True), (True, True)]


def subsets(units: Iterable[int]) -> Iterable[tuple[int, ...]]:
    units = list(units)
    return chain.from_iterable(combinations(units, k) for k in range(len(units) + 1))


def check(
    model: Any,
    x: Sequence[float],
    distribution: Any,
    delta: Any,
    options: tuple[bool, bool],
    allowed: set[int],
    share: Callable[[tuple[int, ...]], Fraction],
    include: tuple[int, ...] = (),
    exclude: tuple[int, ...] = (),
) -> None:
    """Compare a reason with all allowed sets, of which the guarantee of each is known."""
    level = decimal_fraction(delta)
    others = [u for u in sorted(allowed) if u not in include and u not in exclude]
    reaching = [s for s in subsets(others) if share((*include, *s)) >= level]
    asked: dict[str, Any] = dict(zip(("present_only", "supporting_only"), options, strict=True))
    asked |= {"delta": delta, "distribution": distribution, "include": include, "exclude": exclude}
    try:
        reason = sufficient_reason(model, x, **asked)
    except UnreachableError as error:
        assert not reaching
        told = tuple(name in str(error) for name in ("present_only=True", "supporting_only=True"))
        assert told == options
        most = len(include) + len(others)
        best = sufficient_reason(model, x, max_size=most, **asked)
        assert best.minimality == "best-of-size"
        assert set(best.features) <= {*include, *others}
        truth = share(best.features)
        assert Fraction(best.guarantee.lower) <= truth <= Fraction(best.guarantee.upper)
        if best.guarantee.exact is not None:
            assert truth == max(share((*include, *s)) for s in subsets(others))
        return
    assert set(include) <= set(reason.features) <= {*include, *others}
    assert share(reason.features) >= level
    assert reason.minimality == "minimum"
    assert reason.size == len(include) + len(reaching[0])
    assert reason.size_lower == reason.size


def allowed_of(
    case: Case, means: Sequence[Fraction], options: tuple[bool, bool], sign: int
) -> set[int]:
    """Return the features of a binary case that may be chosen, by exact means."""
    found = set(range(case.d))
    if options[0]:
        found &= {i for i in range(case.d) if case.x[i]}
    if options[1]:
        weights = [sign * Fraction(w) for w in case.weights]
        found &= {i for i in found if weights[i] * (case.x[i] - means[i]) > 0}
    return found


@settings(max_examples=examples(160))
@given(cases(largest=7), levels(), st.sampled_from(OPTIONS), st.data())
def test_uniform_and_product(case: Case, delta: Any, options: Any, data: st.DataObject):
    """Coins, fair or not: the least of the allowed sets, with some forced in and out."""
    index = st.integers(0, case.d - 1)
    include = tuple(sorted(data.draw(st.sets(index, max_size=1))))
    exclude = tuple(sorted(data.draw(st.sets(index, max_size=1)) - set(include)))
    sign = 1 if case.label else -1
    if data.draw(st.booleans()):
        p = data.draw(
            st.lists(st.sampled_from([0.1, 0.5, 0.25, 0.9]), min_size=case.d, max_size=case.d)
        )
        chances, distribution = [decimal_fraction(v) for v in p], Product(p)
    else:
        chances, distribution = [Fraction(1, 2)] * case.d, Uniform()
    allowed = allowed_of(case, chances, options, sign)
    check(
        models(case), case.x, distribution, delta, options, allowed,
        lambda s: product_guarantee(case, s, chances), include, exclude,
    )  # fmt: skip


@settings(max_examples=examples(120))
@given(cases(largest=6), levels(), st.sampled_from(OPTIONS), st.data())
def test_rows_of_zeros_and_ones(case: Case, delta: Any, options: Any, data: st.DataObject):
    """Background rows, that some columns of are constant in, with weights or without."""
    rows, given_weights = data.draw(backgrounds(case.d))
    parts = [decimal_fraction(w) for w in given_weights or [1] * len(rows)]
    means = [sum(w * r[i] for w, r in zip(parts, rows, strict=True)) for i in range(case.d)]
    means = [total / sum(parts) for total in means]
    allowed = allowed_of(case, means, options, 1 if case.label else -1)
    check(
        models(case), case.x, Background(rows, given_weights), delta, options, allowed,
        lambda s: background_guarantee(case, s, rows, parts),
    )  # fmt: skip


@settings(max_examples=examples(160))
@given(unit_models(largest=4), levels(), st.sampled_from(OPTIONS), st.booleans())
def test_units_of_all_kinds(
    drawn: tuple[LinearModel, UnitCase, list[list[float]]], delta: Any, options: Any, joint: bool
):
    """Categories are always there, numbers unless they are 0; ties with the mean do not support."""
    model, case, rows = drawn
    parts = [Fraction(1)] * len(rows)
    laws = case.marginals(rows, parts)
    sign = 1 if case.label else -1
    allowed = set(range(len(case.units)))
    if options[0]:
        allowed = {
            u
            for u, unit in enumerate(model.units or ())
            if unit.has_states or any(case.x[j] for j in unit.columns)
        }
    if options[1]:
        means = [sum((c * chance for c, chance in law.items()), Fraction(0)) for law in laws]
        allowed = {u for u in allowed if sign * (case.worth(u, case.x) - means[u]) > 0}
    share = (
        (lambda s: case.joint(s, rows, parts)) if joint else (lambda s: case.independent(s, laws))
    )
    law = Background(rows) if joint else Marginals.fit(rows)
    check(model, case.x, law, delta, options, allowed, share)


NUMBERS = st.sampled_from([0.0, 1.0, -1.0, 2.0, 0.1, 0.2, 0.3, -0.3, 3.5])


@settings(max_examples=examples(80))
@given(st.integers(2, 5), levels(), st.sampled_from(OPTIONS), st.data())
def test_several_classes(d: int, delta: Any, options: Any, data: st.DataObject):
    """The runner-up decides what supports; over rows the least allowed set is found."""
    weights = [[data.draw(NUMBERS) for _ in range(d)] for _ in range(3)]
    model = ArgmaxModel(weights, [data.draw(NUMBERS) for _ in range(3)])
    row = st.lists(st.integers(0, 1), min_size=d, max_size=d)
    x, rows = data.draw(row), data.draw(st.lists(row, min_size=1, max_size=6))
    checked = model.check_row(x)
    duel = model.closest(checked)
    means = [Fraction(sum(r[i] for r in rows), len(rows)) for i in range(d)]
    allowed = {i for i in range(d) if x[i] or not options[0]}
    if options[1]:
        allowed = {i for i in allowed if Fraction(duel.weights[i]) * (x[i] - means[i]) > 0}
    law = law_of(model, Background(rows)).view(checked)
    check(
        model, x, Background(rows), delta, options, allowed,
        lambda s: law.enclose(s).exact or Fraction(0),
    )  # fmt: skip
    independent = Marginals.fit(rows)
    found = sufficient_reason(
        model, x, delta=delta, distribution=independent, max_size=d,
        present_only=options[0], supporting_only=options[1],
    )  # fmt: skip
    assert set(found.features) <= allowed


@settings(max_examples=examples(60))
@given(cases(largest=6), levels(), st.data())
def test_rows_that_share_facts(case: Case, delta: Any, data: st.DataObject):
    """Matching looks at the allowed facts alone."""
    delta = max(delta, 1 / 64)
    rows, _ = data.draw(backgrounds(case.d))
    rows = [*rows, rows[0]]  # the last is held out
    held = np.arange(len(rows)) == len(rows) - 1
    allowed = {i for i in range(case.d) if case.x[i]}

    def enough(s: Sequence[int]) -> bool:
        good, n = matching_count(case, s, rows[:-1])
        return n >= 1 and good >= decimal_fraction(delta) * n

    matching = Matching(rows, min_rows=1, confirm=held)
    asked: dict[str, Any] = {"delta": delta, "distribution": matching, "present_only": True}
    sizes = [len(s) for s in subsets(allowed) if enough(s)]
    try:
        reason = sufficient_reason(models(case), case.x, **asked)
    except UnreachableError:
        assert not sizes
        return
    assert set(reason.features) <= allowed
    assert reason.size == sizes[0]


def test_many_rows_at_once_are_as_one_by_one():
    """Every batch kernel obeys: tables, lattices, whole numbers, spectra, and sampling too."""
    rng = np.random.default_rng(0)
    for d, whole in [(12, False), (40, False), (40, True)]:
        weights = rng.integers(-5, 6, d).astype(float) if whole else rng.normal(size=d)
        model = LinearModel(weights, float(weights.sum() / 2))
        rows = rng.integers(0, 2, (12, d))
        background = rng.integers(0, 2, (80, d))
        for law in (Uniform(), Product(rng.uniform(0.1, 0.9, d)), Background(background)):
            for options in ({"present_only": True}, {"supporting_only": True}):
                for delta in (0.8, 1.0):
                    asked: dict[str, Any] = {"delta": delta, "distribution": law, **options}
                    found = sufficient_reasons(model, rows, max_size=d, **asked)
                    if "present_only" in options:
                        assert (rows[found.mask] == 1).all()
                    lean = law_of(model, law).leanings(
                        model.check_rows(rows), *found.mask.nonzero()
                    )
                    if "supporting_only" in options:
                        assert (lean > 0).all()
                    for i in (0, 7):
                        alone = sufficient_reason(model, rows[i], max_size=d, **asked)
                        assert alone.size == found.size[i]
                        known = guarantee(model, rows[i], alone.features, distribution=law)
                        assert alone.guarantee.lower <= known.upper
                        assert known.lower <= alone.guarantee.upper


def test_tables_agree_with_exclude():
    """What is barred row by row is what exclude bars, in all that is claimed."""
    rng = np.random.default_rng(1)
    model = LinearModel(rng.normal(size=60), 0.0)
    rows = rng.integers(0, 2, (25, 60))
    for law in (Uniform(), Product(rng.uniform(0.2, 0.8, 60)), Background(rows)):
        found = sufficient_reasons(
            model, rows, delta=0.7, distribution=law, max_size=60, present_only=True
        )
        for i in range(0, 25, 6):
            same = sufficient_reason(
                model, rows[i], delta=0.7, distribution=law, max_size=60,
                exclude=np.flatnonzero(rows[i] == 0).tolist(),
            )  # fmt: skip
            assert found[i].features == same.features
            assert found[i].minimality == same.minimality
            assert found[i].size_lower == same.size_lower


def test_sampling_obeys():
    """Monte Carlo draws along the allowed features; the published algorithm knows no options."""
    rng = np.random.default_rng(2)
    model = LinearModel(rng.normal(size=20), 0.0)
    rows = rng.integers(0, 2, (10, 20))
    found = sufficient_reasons(
        model, rows, delta=0.7, method="monte-carlo", random_state=0, max_size=20, present_only=True
    )
    assert (rows[found.mask] == 1).all()
    message = (
        "method='paper' knows no include, exclude, max_size, present_only or supporting_only. "
        "Use method='certified' or 'monte-carlo' with them."
    )
    with pytest.raises(InvalidInputError, match=f"^{re.escape(message)}$"):
        sufficient_reason(model, rows[0], method="paper", present_only=True)


def test_the_messages_name_the_option():
    """What keeps delta out of reach is said, with or without exclude; a switch is True or False."""
    model = LinearModel([5, 1, -3, 2, -1], threshold=5)
    start = "delta = 0.9 cannot be reached for row 0"
    end = (
        ": the best guarantee that the others give is 0.625 (uniform completions). Allow more "
        "features, lower delta, or set max_size to get the best set all the same."
    )
    with pytest.raises(UnreachableError) as caught:
        sufficient_reason(model, [1, 0, 0, 1, 1], delta=0.9, present_only=True)
    assert str(caught.value) == f"{start} with present_only=True{end}"
    with pytest.raises(UnreachableError) as caught:
        sufficient_reason(
            model, [1, 0, 0, 1, 1], delta=0.9, present_only=True, supporting_only=True, exclude=[2]
        )
    assert str(caught.value) == (
        f"{start} without the features in exclude and with present_only=True and "
        f"supporting_only=True{end}"
    )
    for name in ("present_only", "supporting_only"):
        message = f"{name} must be True or False, got 'yes'."
        with pytest.raises(InvalidInputError, match=f"^{re.escape(message)}$"):
            sufficient_reason(model, [1, 0, 0, 1, 1], **{name: "yes"})


@given(
    st.lists(
        st.sampled_from([0.1, 0.2, 0.3, -0.3, 1e300, -1e300, 5e-324, 1.0, 0.0, 2.0**53 + 2]),
        min_size=1,
        max_size=9,
    ),
    st.data(),
)
def test_means_are_exact(values: list[float], data: st.DataObject):
    """Sums of floats far apart, that cancel and that underflow."""
    n = len(values)
    weight = st.integers(1, 2**34) | st.integers(1, 2**58)
    weights = data.draw(st.lists(weight, min_size=n, max_size=n))
    truth = sum(Fraction(v) * w for v, w in zip(values, weights, strict=True)) / sum(weights)
    assert exact_mean(np.array(values), np.array(weights)) == truth


def test_a_value_in_rows_that_weigh_nothing_is_no_mean():
    """The mean of a sparse column is 0 where all rows that hold a value count for nothing."""
    rows = sparse_rows(sparse.csr_array([[0.0, 2.0], [0.0, 0.0], [1.0, 4.0]]), None, "rows")
    assert column_mean(rows, 1, np.array([0, 3, 0])) == 0
    assert column_mean(rows, 1, np.array([0, 3, 1])) == 1


def test_a_fact_that_is_as_its_average_does_not_support():
    """0.1 ten times is one tenth on average, though floats sum it up to less."""
    rows = [[0.1, 0.0]] * 10
    model = LinearModel([1.0, 1.0], 0.05, units=[Unit.real("a", 0), Unit.real("b", 1)])
    law = law_of(model, Background(rows))
    one = np.array([[0.1, 0.0], [np.nextafter(0.1, 1), 1.0], [np.nextafter(0.1, 0), -1.0]])
    at, units = np.nonzero(np.ones((3, 2)))
    found = (
        law.leanings(one, at, units).reshape(3, 2)
        * np.where(model.is_positive(one), 1, -1)[:, None]
    )
    assert found.tolist() == [[0, 0], [1, 1], [-1, -1]]


@pytest.mark.filterwarnings("ignore:.*could not be explained")
def test_alternatives_are_allowed_too():
    """What is in every minimum reason, and in some, is asked of the allowed sets."""
    rng = np.random.default_rng(3)
    model = LinearModel(rng.normal(size=9), 0.0)
    rows = rng.integers(0, 2, (6, 9))
    for masker in (None, rng.integers(0, 2, (30, 9))):
        explainer = SufficientReasonExplainer(model, masker, delta=0.7, present_only=True)
        told = explainer(rows)
        for i, found in enumerate(explainer.alternatives(rows)):
            if told.status[i] != "ok":
                continue
            alone = [u for u in range(9) if rows[i, u]]
            sets = [
                s
                for s in combinations(alone, int(told.reason_size[i]))
                if guarantee(model, rows[i], s, distribution=explainer.distribution) >= 0.7
            ]
            assert sorted(map(sorted, found.reasons)) == sorted(map(sorted, sets))
            assert set(found.possible) == {u for s in sets for u in s}


def test_sparse_rows_obey_as_dense_ones_do():
    """Words in documents, counted or weighed: the same sets and the same leanings."""
    rng = np.random.default_rng(5)
    dense = np.where(rng.random((1100, 1000)) < 0.01, rng.integers(1, 4, (1100, 1000)) / 4, 0.0)
    weights = rng.normal(size=1000)
    names = [f"w{j}" for j in range(1000)]
    units = [Unit.real(name, j) for j, name in enumerate(names)]
    model = LinearModel(weights, 0.1, units=units)
    kept = sparse.csr_array(dense)
    laws = law_of(model, Background(kept)), law_of(model, Background(dense))
    assert [type(law).__name__ for law in laws] == ["SparseLaw", "BackgroundLaw"]
    rows = model.check_rows(dense[:3])
    at, asked = np.nonzero(np.ones((3, 1000)))
    few = model.check_sparse(kept[:3], "X")
    assert (laws[0].leanings(few, at, asked) == laws[1].leanings(rows, at, asked)).all()
    for options in ({"present_only": True}, {"supporting_only": True}):
        found = [
            sufficient_reasons(model, rows, delta=0.7, distribution=law.distribution, max_size=1000,
                               prove=False, **options)
            for law in laws
        ]  # fmt: skip
        assert (found[0].size <= 1000).all()
        if "present_only" in options:
            assert not (found[0].mask & (dense[:3] == 0)).any()
        assert np.allclose(found[0].lower, found[1].lower, atol=0.1)


def test_the_smallest_floats_speak_for_what_they_are():
    """A fact above a mean between two of the smallest floats supports the class."""
    least = 5e-324
    units = [Unit.real("a", 0), Unit.real("b", 1)]
    model = LinearModel([1.0, 1.0], least, units=units, strict=False)
    law = Background([[0.0, 0.0], [least, least], [least, least]])
    found = sufficient_reason(
        model, [least, least], delta=1, distribution=law, supporting_only=True
    )
    assert (found.features, found.against, found.minimality) == ((0,), (), "minimum")


def test_a_mean_beyond_floats_leaves_what_has_no_weight_neutral():
    """Where sums of wide numbers overflow, a fact that does not count is neither for nor against.

    Nothing is warned of.
    """
    model = LinearModel([0.0, 1.0], 0.5, units=[Unit.real("a", 0), Unit.real("b", 1)])
    rows = [[1.7e308, 0.0], [1.7e308, 0.0], [-1.7e308, 1.0], [-1.7e308, 1.0]]
    law = Background(rows, [1, 2**39, 1, 2**39])
    found = sufficient_reason(model, [1e308, 1.0], delta=1, distribution=law, include=[0])
    assert (found.features, found.against) == ((0, 1), ())
