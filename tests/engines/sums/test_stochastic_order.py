"""The stochastic order against its definition."""

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sklearn_probsr.engines.sums._stochastic_order import undominated, within
from sklearn_probsr.laws.sums._refuter import ranked

LAWS = st.lists(
    st.lists(
        st.tuples(st.sampled_from([-2, 0, 1, 3]), st.integers(1, 4)),
        min_size=1,
        max_size=4,
        unique_by=lambda atom: atom[0],
    ).map(sorted),
    min_size=2,
    max_size=7,
)


def normalised(laws: list) -> list[list[tuple[Fraction, int]]]:
    """Give all laws the same denominator, 840."""
    return [
        [(Fraction(value), chance * (840 // total)) for value, chance in law]
        for law in laws
        for total in [sum(chance for _, chance in law)]
        if 840 % total == 0
    ]


def exceeds(first: list, second: list) -> bool:
    """The definition of the stochastic order."""
    return all(
        sum(p for v, p in first if v > level) >= sum(p for v, p in second if v > level)
        for level in (-3, -2, 0, 1, 3)
    )


@given(LAWS, st.integers(1, 4))
def test_the_stochastic_order(drawn: list, size: int):
    """What is above what is the definition, along the order given; few above: a candidate."""
    laws = normalised(drawn)
    members = np.arange(len(laws))
    above = within(ranked(laws), members) if laws else np.zeros((0, 0), dtype=bool)
    expected = [[a < b and exceeds(laws[a], laws[b]) for b in members] for a in members]
    assert above.tolist() == expected
    if laws:
        kept = undominated(ranked(laws), members, size)
        assert kept.tolist() == np.flatnonzero(above.sum(axis=0) < size).tolist()
