"""Sets of features: they come back in the order in which they were written."""

import pickle

import numpy as np
import pytest

from sklearn_probsr import (
    ArgmaxModel,
    Background,
    LinearModel,
    Marginals,
    Matching,
    Product,
    sufficient_reason,
    sufficient_reasons,
)
from sklearn_probsr.core.answers import FeatureSets, SetsWriter
from sklearn_probsr.extend import law_of
from sklearn_probsr.results import SufficientReasons


def written() -> FeatureSets:
    """The first row is written last, the second not at all, the third twice."""
    writer = SetsWriter(5, 9)
    writer.write_many(np.array([4, 2]), np.array([1, 2]), np.array([8, 1, 0], dtype=np.int32))
    writer.write(2, [5, 3, 4])
    writer.write(3, [])
    writer.write(0, [7, 2])
    return writer.sets()


def test_sets_are_kept_in_the_order_written():
    """Row by row, whatever was written before it."""
    sets = written()
    assert list(sets) == [(7, 2), (), (5, 3, 4), (), (8,)]
    assert [sets.of(i) for i in range(5)] == list(sets)
    assert sets.sizes.tolist() == [2, 0, 3, 0, 1]
    assert [np.flatnonzero(row).tolist() for row in sets.mask()] == [[2, 7], [], [3, 4, 5], [], [8]]
    assert sets.named(tuple("abcdefghi")).tolist() == [
        ("h", "c"), (), ("f", "d", "e"), (), ("i",),
    ]  # fmt: skip
    again = pickle.loads(pickle.dumps(sets))
    assert list(again) == list(sets)
    for one in (sets, again):
        with pytest.raises(ValueError, match="read-only"):
            one.features[0] = 1


def test_sets_are_chosen_joined_and_spread():
    """As the rows that they belong to."""
    sets = written()
    assert list(sets.take(np.array([4, 0, 0]))) == [(8,), (7, 2), (7, 2)]
    assert list(sets.take(np.arange(0))) == []
    assert list(FeatureSets.concatenate([sets, sets.take(np.array([2]))]))[4:] == [(8,), (5, 3, 4)]
    spread = sets.take(np.array([0, 2])).among(np.array([1, 3]), 4)
    assert list(spread) == [(), (7, 2), (), (5, 3, 4)]
    assert list(SetsWriter(0, 3).sets()) == []
    assert SetsWriter(2, 3).sets().mask().shape == (2, 3)


RNG = np.random.default_rng(7)
ROWS = RNG.integers(0, 2, (120, 20))
TWO = LinearModel(RNG.standard_normal(20), 0.2)
THREE = ArgmaxModel(RNG.standard_normal((3, 20)), [0.1, 0.0, -0.1])


@pytest.mark.parametrize("model", [TWO, THREE], ids=["two classes", "three"])
@pytest.mark.parametrize(
    "over",
    [None, Product([0.3] * 20), Marginals(ROWS), Background(ROWS), Matching(ROWS, min_rows=5)],
    ids=["uniform", "product", "marginals", "background", "matching"],
)
def test_a_reason_is_told_in_the_order_of_the_search(model, over):
    """What is forced first, then as the law orders the rest; alone or among others."""
    asked = {"delta": 0.8, "include": [5, 3], "distribution": over, "prove": False}
    found = sufficient_reasons(model, ROWS[:6], max_size=8, **asked)
    law = law_of(model, over)
    for i, reason in enumerate(found):
        assert reason.features[:2] == (5, 3)
        rest = list(reason.features[2:])
        assert rest == law.view(found.rows[i]).orders(sorted(rest), [5, 3])[0]
        assert reason.features == sufficient_reason(model, ROWS[i], max_size=8, **asked).features
        assert reason.feature_names == tuple(model.unit_names[j] for j in reason.features)
    turned = SufficientReasons.concatenate([found[::-1], found[[2]]])
    assert list(turned.sets) == [*list(found.sets)[::-1], found[2].features]
