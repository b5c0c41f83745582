"""Leads in floats: how far they may be off, and what they say of rows."""

import numpy as np
import pytest

from sklearn_probsr.engines.rows._leads import (
    Forms,
    lead_before_each,
    leads,
    least_without,
    mean_gains,
)


def forms(rng: np.random.Generator, rivals: int, widths: list[int]) -> Forms:
    d = sum(widths)
    return Forms(
        rng.permutation(d),
        np.cumsum([0, *widths]),
        np.full(d, 0.5),
        np.full(d, 0.25),
        rng.integers(-(2**20), 2**20, (rivals, d)).astype(float),
        rng.integers(-(2**20), 2**20, (rivals, len(widths))),
    )


@pytest.mark.parametrize("rivals", [1, 2, 5])
def test_leads_of_whole_numbers_are_margins(rivals: int):
    """The least margin of each row, and what is left without the unit that gains most."""
    rng = np.random.default_rng(rivals)
    form = forms(rng, rivals, [1, 2, 1, 3])
    rows = 8.0 * rng.integers(-9, 9, (130, 7))  # more than two blocks
    rows.flags.writeable = False
    margins = rng.integers(-(2**22), 2**22, 130 * rivals)
    units, places = np.array([3, 0, 1]), rng.permutation(130)[:70]
    contributions = (rows / 8)[:, None, :] * form.whole  # row, rival, column
    gains = np.stack(
        [
            form.known[:, u] - contributions[:, :, form.columns[a:b]].sum(axis=2)
            for u in units
            for a, b in [form.starts[u : u + 2]]
        ]
    )
    total = margins.reshape(130, rivals) + gains.sum(axis=0)
    exposed = (total - np.maximum(gains.max(axis=0), 0)).min(axis=1)
    for at in (places, np.empty(0, dtype=np.intp)):
        least, left = leads(rows, margins, form, units, at)
        some = at if len(at) else np.arange(130)
        assert (least == total.min(axis=1)[some]).all()
        assert (left == exposed[some]).all()
    each = lead_before_each(rows, margins, form, units, places)
    assert (each == total[places].T).all()
    for freed in ([], [1], [0, 3]):
        left_out = np.array(freed, dtype=np.intp)
        without = total - sum(gains[list(units).index(u)] for u in freed)
        least = least_without(rows, each, form, left_out, places)
        assert (least == without.min(axis=1)[places]).all()
    none = np.empty(0, dtype=np.intp)
    least, left = leads(rows, margins, form, none, none)
    assert (least == margins.reshape(130, rivals).min(axis=1)).all()
    assert (left == least).all()


def test_mean_gains_go_by_the_worst_rival():
    """Sums over rows of what a unit adds before the rival that is closest with nothing fixed."""
    rng = np.random.default_rng(0)
    form = forms(rng, 3, [1, 2])
    rows, weights = 8.0 * rng.integers(-9, 9, (20, 3)), rng.integers(1, 4, 20)
    rows.flags.writeable = False
    margins = rng.integers(-(2**22), 2**22, 60)
    worst = margins.reshape(20, 3).argmin(axis=1)
    each = np.zeros(2)
    for row, weight, k in zip(rows / 8, weights, worst, strict=True):
        for u in range(2):
            at = form.columns[form.starts[u] : form.starts[u + 1]]
            each[u] += weight * (form.known[k, u] - (form.whole[k, at] * row[at]).sum())
    assert mean_gains(rows, margins, weights, form) == pytest.approx(each, rel=1e-12)
