"""Distributions are values: equal ones are equal, whatever object holds them."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from sklearn_probsr import (
    Background,
    LinearModel,
    Marginals,
    Matching,
    Product,
    ReasonExplanation,
    SufficientReasonExplainer,
    Uniform,
)
from sklearn_probsr.core.dispatch import law_of

ROWS = np.random.default_rng(0).integers(0, 2, (60, 5))
WIDE = sparse.random(60, 9000, 0.01, format="csr", random_state=0)
KINDS = {
    "bits": ROWS.copy,
    "numbers": lambda: ROWS * 0.25,
    "a frame": lambda: pd.DataFrame(ROWS, columns=list("abcde")),
    "texts": lambda: ["good pie", "bad pie"] * 30,
    "sparse rows": WIDE.copy,
    "small sparse rows": lambda: sparse.csr_array(ROWS),
}
LAWS = {
    "Background": Background,
    "a sample": lambda X: Background(X, sample=9, random_state=3),
    "Marginals": Marginals.fit,
    "Matching": lambda X: Matching(X, min_rows=3, confidence=0.9),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("law", LAWS)
def test_equal_data_are_equal_distributions(law: str, kind: str):
    """With the same hash, and as a pickle too."""
    one, other = (LAWS[law](KINDS[kind]()) for _ in range(2))
    again = pickle.loads(pickle.dumps(one))
    assert one == other == again
    assert hash(one) == hash(other) == hash(again)
    assert len({one, other, again}) == 1


DIFFERENT: dict[str, tuple[Any, Any]] = {
    "kinds": (Background(ROWS), Marginals.fit(ROWS)),
    "rows": (Background(ROWS), Background(1 - ROWS)),
    "order": (Background(ROWS), Background(ROWS[::-1])),
    "weights": (Background(ROWS), Background(ROWS, np.arange(60))),
    "samples": (Background(ROWS), Background(ROWS, sample=9)),
    "seeds": (Background(ROWS, sample=9), Background(ROWS, sample=9, random_state=1)),
    "names": (
        Background(pd.DataFrame(ROWS, columns=list("abcde"))),
        Background(pd.DataFrame(ROWS, columns=list("abcdf"))),
    ),
    "texts": (Background(["good", "bad"]), Background(["good", "Bad"])),
    "sparse rows": (Background(WIDE), Background(WIDE * 2)),
    "places": (Background(WIDE), Background(WIDE[:, ::-1])),
    "splits": (Matching(ROWS, min_rows=3), Matching(ROWS, min_rows=3, random_state=1)),
    "settings": (Matching(ROWS, min_rows=3), Matching(ROWS, min_rows=4)),
    "frames": (Background(ROWS), Background(pd.DataFrame(ROWS))),
    "products": (Product([0.5] * 5), Uniform()),
}


@pytest.mark.parametrize("case", DIFFERENT)
def test_what_differs_is_not_equal(case: str):
    """In anything that a guarantee depends on, or in the way in which rows are kept."""
    one, other = DIFFERENT[case]
    assert one != other
    assert one != "uniform"


def test_numbers_are_compared_and_not_their_signs_at_zero():
    """Minus zero is zero; a draw that takes all rows is none."""
    assert Background([[0.0, 2.5]]) == Background([[-0.0, 2.5]])
    assert Background(ROWS, sample=60, random_state=4) == Background(ROWS)
    assert Background(ROWS, np.full(60, 0.5)) == Background(ROWS)


def test_laws_are_looked_up_without_a_look_at_the_rows(monkeypatch: pytest.MonkeyPatch):
    """A question that is asked again compares nothing, however many rows there are."""
    model, law = LinearModel([2, 1, 1, -1, 3], 2), Background(ROWS)
    first = law_of(model, law)

    def compared(*_: Any) -> Any:
        raise AssertionError("rows were compared")

    monkeypatch.setattr(Background, "__eq__", compared)
    monkeypatch.setattr(Background, "__hash__", compared)
    assert law_of(model, law) is first
    assert law_of(model, Background(ROWS)) is not first


def test_explanations_of_equal_distributions_are_put_behind_each_other(tmp_path: Any):
    """Of a file, and of an explainer that was made anew."""
    model = LinearModel([2, 1, 1, -1, 3], 2)
    parts = []
    for i in range(2):
        found = SufficientReasonExplainer(model, Background(ROWS))(ROWS[i : i + 2])
        found.save(tmp_path / f"{i}.npz")
        parts += [found, ReasonExplanation.load(tmp_path / f"{i}.npz")]
    assert len(ReasonExplanation.concatenate(parts)) == 8
