"""Several classes over independent units: bounds and proofs against all completions and sets."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest

from sklearn_probsr import ArgmaxModel, Marginals, Unit, sufficient_reason
from sklearn_probsr.extend import law_of
from sklearn_probsr.independent.level import ANY
from sklearn_probsr.independent.rival_kernels import bound_each
from sklearn_probsr.independent.several_classes import SeveralClasses
from tests.interpreted import WHOLE_RUN, cases
from tests.rival_classes import DELTA, Rivals, check, nothing_counted, tables_alone, told


@pytest.mark.parametrize("seed", range(12))
def test_no_set_is_smaller_than_that_of_a_duel(seed: int) -> None:
    """The lower bound of the size is at least that of every duel, and holds before all rivals."""
    case = Rivals(seed)
    with nothing_counted():
        reason = check(case, DELTA)
    view = law_of(case.model, case.law).view(case.model.check_row(case.x))
    for duel in view.shared.duels:
        alone = sufficient_reason(duel.linear, case.x, delta=DELTA, distribution=case.law)
        assert min(alone.size_lower, reason.size) <= reason.size_lower


def test_a_duel_bounds_the_size_where_no_set_was_refuted_before() -> None:
    """Sixty features: far more sets than could be gone through, and one duel needs several."""
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 2, (200, 60))
    weights = rng.standard_normal((6, 60))
    model = ArgmaxModel(weights, -weights.sum(axis=1) / 2)  # all classes are as likely
    sizes = [
        (reason.size_lower, reason.size)
        for reason in (
            sufficient_reason(model, row, distribution=Marginals.fit(rows)) for row in rows[:3]
        )
    ]
    assert all(4 <= least <= size for least, size in sizes)


@pytest.mark.parametrize("pairs_alone", [False, True])
def test_tables_enclose_every_guarantee(pairs_alone: bool) -> None:
    """With nothing known but tables, or pairs of rivals: what they say is right, and something."""
    asked = known = 0
    with tables_alone(pairs_alone):
        for seed in cases(3000 if WHOLE_RUN else 48):
            case = Rivals(seed, units=4 + seed % 3, values=2 + seed % 2, classes=3 + seed % 4)
            sets, decided, false = told(case, DELTA, every=5)
            assert not false
            asked, known = asked + sets, known + decided
    assert known > 0.8 * asked


def test_what_tables_claim_holds() -> None:
    """A search that asks nothing else: guarantees, minima, and that nothing can be left out."""
    words = []
    for seed in cases(3000 if WHOLE_RUN else 48):
        case = Rivals(seed, units=4 + seed % 3, values=2 + seed % 2, classes=3 + seed % 4)
        with nothing_counted():
            delta = (DELTA, Fraction(1, 2), Fraction(9, 10))[seed % 3]
            words.append(check(case, delta).minimality)
    assert words.count("minimum") >= 0.8 * len(words)


def test_pairs_prove_what_single_duels_leave_open() -> None:
    """Forty features and five classes: nothing can be left out, and the bounds say so."""
    rng = np.random.default_rng(3)
    rows = rng.integers(0, 3, (200, 40)).astype(float)
    weights = rng.standard_normal((5, 40))
    model = ArgmaxModel(
        weights, -weights.sum(axis=1), units=[Unit.real(f"x{i}", i) for i in range(40)]
    )
    law = law_of(model, Marginals.fit(rows))
    proved = 0
    for row in rows[:3]:
        reason = sufficient_reason(model, row, distribution=law.distribution)
        view = law.view(model.check_row(row))
        units, sizes = np.array([sorted(reason.features)]), np.array([reason.size])
        each = np.empty((1, 4, 2))
        bound_each(view.shared.stack(reason.size), view.rivals, units, sizes, each)
        wide = each[0, :, 1].min() - (1 - (1 - each[0, :, 0]).sum())
        lower, upper = view.bounds(units, sizes, ANY)
        assert upper[0] - lower[0] < 0.7 * wide
        proved += reason.minimality == "subset-minimal"
    assert proved >= 2


def test_tables_are_the_same_for_all_rows() -> None:
    """What was asked of another instance, before or at the same time, does not move a bound."""
    rng = np.random.default_rng(3)
    rows = rng.integers(0, 3, (200, 20)).astype(float)
    weights = rng.standard_normal((4, 20))
    units = [Unit.real(f"x{i}", i) for i in range(20)]
    model = ArgmaxModel(weights, -weights.sum(axis=1), units=units)
    asked = [model.check_row(row) for row in rows[:8]]

    known = law_of(model, Marginals.fit(rows))
    assert isinstance(known, SeveralClasses)

    def fresh() -> SeveralClasses:
        return SeveralClasses(model, known.distribution, known.source)

    def bounds(law: SeveralClasses, row: Any) -> list[tuple[float, float]]:
        view = law.view(row)
        found = [view.enclose(range(first, first + 6)) for first in (0, 3, 9)]
        return [(one.lower, one.upper) for one in found]

    alone = [bounds(fresh(), row) for row in asked]
    together = fresh()
    assert [bounds(together, row) for row in asked] == alone
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(partial(bounds, fresh()), asked * 4)) == alone * 4
