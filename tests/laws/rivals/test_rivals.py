"""Several classes over independent units: bounds and proofs against all completions and sets."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np
import pytest

from sklearn_probsr import ArgmaxModel, Marginals, Unit, sufficient_reason
from sklearn_probsr.extend import law_of
from sklearn_probsr.laws.rivals._duels import IndependentDuels
from sklearn_probsr.laws.rivals._pairs import PairedSets
from tests.rival_classes import DELTA, Rivals, check, pairs_alone, told_by_pairs


@pytest.fixture
def by_spectra(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let small cases take the path of large ones."""
    monkeypatch.setattr("sklearn_probsr.laws.sums._independent.are_few", lambda _: False)
    monkeypatch.setattr("sklearn_probsr.laws.rivals._joint_counts._MOST", 0)


@pytest.mark.usefixtures("by_spectra")
@pytest.mark.parametrize("seed", range(12))
def test_no_set_is_smaller_than_that_of_a_duel(seed: int) -> None:
    """The lower bound of the size is at least that of every duel, and holds before all rivals."""
    case = Rivals(seed)
    reason = check(case, DELTA)
    row = case.model.check_row(case.x)
    law = law_of(case.model, case.law)
    for duel in law.against(law.view(row).winner):
        alone = sufficient_reason(duel.linear, case.x, delta=DELTA, distribution=case.law)
        assert min(alone.size_lower, reason.size) <= reason.size_lower


@pytest.mark.usefixtures("by_spectra")
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


def test_pairs_alone_enclose_every_guarantee() -> None:
    """With nothing known but single rivals and pairs: what pairs say is right, and is something."""
    asked = told = 0
    with pairs_alone():
        for seed in range(48):
            case = Rivals(seed, units=4 + seed % 3, values=2 + seed % 2, classes=3 + seed % 4)
            sets, known, false = told_by_pairs(case, DELTA, every=5)
            assert not false
            asked, told = asked + sets, told + known
    assert asked > 300
    assert told > 0.4 * asked


def test_what_pairs_alone_claim_holds() -> None:
    """A search that asks nothing else: guarantees, and that nothing can be left out."""
    words = []
    with pairs_alone():
        for seed in range(24):
            case = Rivals(seed, units=4 + seed % 2, values=2 + seed % 2, classes=3 + seed % 4)
            words.append(check(case, DELTA).minimality)
    assert sum(not word.startswith("near-") for word in words) >= 8


@pytest.mark.usefixtures("by_spectra")
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
        narrow, wide = view.enclose(reason.features), view.glance(reason.features)
        assert narrow.width < 0.7 * wide.width
        proved += reason.minimality == "subset-minimal"
    assert proved >= 2


@pytest.mark.usefixtures("by_spectra")
def test_a_plane_serves_all_sets_of_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    """What all sets leave free is multiplied once, be they made of many or of few of its facts."""
    built: list[tuple[int, ...]] = []
    make = PairedSets._plane

    def counted(self: PairedSets, *key: int) -> Any:
        built.append(key) if key not in self._planes else None
        return make(self, *key)

    monkeypatch.setattr(PairedSets, "_plane", counted)
    monkeypatch.setattr("sklearn_probsr.laws.rivals._rival_costs._SLIGHT", (0.0,) * 3)
    case = Rivals(1, units=8, classes=5)
    view = law_of(case.model, case.law).view(case.model.check_row(case.x))
    view.pairs.settle(range(8))
    for size in (7, 1, 4):
        for first in range(9 - size):
            view.enclose(range(first, first + size))
    assert built
    assert len(built) == len(set(built))


@pytest.mark.usefixtures("by_spectra")
def test_planes_belong_to_one_instance() -> None:
    """What was asked of another instance, before or at the same time, does not move a bound."""
    rng = np.random.default_rng(3)
    rows = rng.integers(0, 3, (200, 20)).astype(float)
    weights = rng.standard_normal((4, 20))
    units = [Unit.real(f"x{i}", i) for i in range(20)]
    model = ArgmaxModel(weights, -weights.sum(axis=1), units=units)
    asked = [model.check_row(row) for row in rows[:8]]

    known = law_of(model, Marginals.fit(rows))
    assert isinstance(known, IndependentDuels)

    def fresh() -> IndependentDuels:
        return IndependentDuels(model, known.distribution, known.source)

    def bounds(law: IndependentDuels, row: Any) -> list[tuple[float, float]]:
        view = law.view(row)
        found = [view.enclose(range(first, first + 6)) for first in (0, 3, 9)]
        return [(one.lower, one.upper) for one in found]

    alone = [bounds(fresh(), row) for row in asked]
    together = fresh()
    assert [bounds(together, row) for row in asked] == alone
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(partial(bounds, fresh()), asked * 4)) == alone * 4
