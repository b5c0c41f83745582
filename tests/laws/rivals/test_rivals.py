"""Several classes over independent units: bounds and proofs against all completions and sets."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pytest

from sklearn_probsr import ArgmaxModel, Enclosure, Marginals, Unit, law_of, sufficient_reason
from sklearn_probsr.laws.rivals._duels import IndependentDuels
from sklearn_probsr.laws.rivals._pairs import PairedSets

DELTA = Fraction("0.8")


class Rivals:
    """A small model of several classes, independent units in a few states, and a row."""

    def __init__(self, seed: int, units: int = 6, values: int = 2, classes: int = 4) -> None:
        rng = np.random.default_rng(seed)
        self.rows = rng.integers(0, values, (10, units)).astype(float)
        self.rows[:, rng.integers(0, units)] = 1.0  # one that never varies
        scale = rng.choice([1.0, 0.1, 2.0**40])
        weights = rng.integers(-4, 5, (classes, units)) * scale
        if seed % 3 == 0:
            weights[-1] = weights[-2]  # two rivals that are equal
        self.model = ArgmaxModel(
            weights, rng.integers(-2, 3, classes) * scale, last=bool(seed % 2),
            units=[Unit.real(f"x{i}", i) for i in range(units)],
        )  # fmt: skip
        self.scores = self.model.weights.tolist()
        self.x = rng.integers(0, values, units).astype(float)
        self.law = Marginals.fit(self.rows)
        self.states = [
            [(v, Fraction(int((column == v).sum()), 10)) for v in np.unique(column).tolist()]
            for column in self.rows.T
        ]

    def _wins(self, row: tuple[float, ...]) -> int:
        scores = [
            sum((Fraction(w) * Fraction(v) for w, v in zip(each, row, strict=True)), Fraction(b))
            for each, b in zip(
                self.model.weights.tolist(), self.model.intercepts.tolist(), strict=True
            )
        ]
        best = [k for k, score in enumerate(scores) if score == max(scores)]
        return best[-1] if self.model.last else best[0]

    def truth(self) -> dict[frozenset[int], Fraction]:
        """Return the guarantee of every set, by all completions."""
        d, own = len(self.x), self._wins(tuple(self.x.tolist()))
        # A state more, first: the unit is known. Then unknown ones are summed up, unit by unit.
        each = [
            [(v, None), *states] for v, states in zip(self.x.tolist(), self.states, strict=True)
        ]
        table: dict[Any, Fraction] = {}
        for at in product(*(range(len(states)) for states in each)):
            row = tuple(each[i][s][0] for i, s in enumerate(at))
            table[at] = Fraction(self._wins(row) == own)
        for i in range(d):
            summed: dict[Any, Fraction] = {}
            for at, value in table.items():
                chance = each[i][at[i]][1]
                key = (*at[:i], chance is None, *at[i + 1 :])
                summed[key] = summed.get(key, Fraction(0)) + value * (
                    1 if chance is None else chance
                )
            table = summed
        return {frozenset(i for i in range(d) if at[i]): share for at, share in table.items()}


def check(case: Rivals, delta: Fraction = DELTA, **options: Any) -> Any:
    """Search a case, and hold every claim and bound against the truth."""
    truth = case.truth()
    reason = sufficient_reason(case.model, case.x, delta=delta, distribution=case.law, **options)
    chosen = frozenset(reason.features)
    below, above = reason.guarantee.ends()
    assert below <= truth[chosen] <= above
    assert truth[chosen] >= delta
    least = min(len(s) for s, share in truth.items() if share >= delta)
    assert reason.size_lower <= least
    if reason.minimality == "minimum":
        assert reason.size == least
    if reason.minimality in {"minimum", "subset-minimal"}:
        assert not any(share >= delta for s, share in truth.items() if s < chosen)
    if reason.minimality == "locally-minimal":
        assert not any(truth[chosen - {u}] >= delta for u in chosen)
    return reason


@pytest.fixture
def by_spectra(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let small cases take the path of large ones."""
    monkeypatch.setattr("sklearn_probsr.laws.sums._independent.are_few", lambda _: False)


@pytest.mark.usefixtures("by_spectra")
@pytest.mark.parametrize("seed", range(12))
def test_no_set_is_smaller_than_that_of_a_duel(seed: int) -> None:
    """The lower bound of the size is at least that of every duel, and holds before all rivals."""
    case = Rivals(seed)
    reason = check(case)
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


@pytest.mark.usefixtures("by_spectra")
def test_pairs_alone_enclose_every_guarantee(monkeypatch: pytest.MonkeyPatch) -> None:
    """With nothing known but single rivals and pairs: what pairs say is right, and is something."""
    monkeypatch.setattr(
        "sklearn_probsr.laws.rivals._rival_costs._together", lambda _: Enclosure(0.0, 1.0)
    )
    monkeypatch.setattr("sklearn_probsr.laws.rivals._rival_costs._SLIGHT", (0.0,) * 3)
    narrow = 0
    for seed in range(6):
        case = Rivals(seed, units=5, values=2 + seed % 2)
        truth = case.truth()
        view = law_of(case.model, case.law).view(case.model.check_row(case.x))
        view.pairs.settle(range(5))
        for chosen in list(truth)[:: 4 if seed % 2 else 5]:
            for delta in (None, DELTA):
                below, above = view.enclose(chosen, delta).ends()
                assert below <= truth[chosen] <= above
            narrow += above - below < Fraction(1, 2)
    assert narrow >= 10


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
