"""Memory: laws and what they remember are bounded, however much is asked."""

import gc
import sys
import tracemalloc
from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest

from sklearn_probsr import (
    ArgmaxModel,
    Background,
    LinearModel,
    Product,
    SufficientReasonExplainer,
    Unit,
    sufficient_reason,
    sufficient_reasons,
)
from sklearn_probsr.core import dispatch as _dispatch
from sklearn_probsr.core.law import Memo
from sklearn_probsr.extend import Enclosure, law_of
from sklearn_probsr.independent import uniform
from sklearn_probsr.independent.unit_laws import Tables

MEGABYTE = 2**20


def grown(ask: Callable[[int], object], *counts: int) -> float:
    """Return by how many megabytes memory grew between two numbers of questions.

    Of several stretches the least: what adds up does so in each, and what other threads of the
    process do meanwhile, such as those of a pool that ends, happens once.
    """
    tracemalloc.start()
    try:
        known = []
        for early, late in pairwise((0, *counts)):
            for i in range(early, late):
                ask(i)
            gc.collect()
            known.append(tracemalloc.get_traced_memory()[0])
        return min(late - early for early, late in pairwise(known)) / MEGABYTE
    finally:
        tracemalloc.stop()


# How large backgrounds are, how many, and how many megabytes may be added from the 20th on.
# Kept for good, they would take 320 and 0.5 megabytes.
BACKGROUNDS = {"binary": (2000, 100, 200, 20), "real": (40, 6, 60, 0.1)}


@pytest.mark.parametrize("kind", BACKGROUNDS)
def test_fresh_backgrounds_do_not_add_up(kind: str):
    """One model, asked against many backgrounds in turn, keeps the tables of the last few."""
    n, d, many, most = BACKGROUNDS[kind]
    rng = np.random.default_rng(0)
    units = [Unit.real(f"x{j}", j) for j in range(d)] if kind == "real" else None
    model = LinearModel(rng.standard_normal(d), 0.1, units=units)

    def ask(i: int) -> None:
        rows = rng.standard_normal((n, d)) if kind == "real" else rng.integers(0, 2, (n, d))
        sufficient_reason(model, rows[0], distribution=Background(rows), prove=False)

    assert grown(ask, 20, many) < most


# How many rows are asked about until every small thing that is kept has been kept.
SETTLED = {"uniform": 300, "product": 100, "background": 300}


@pytest.mark.parametrize("law", SETTLED)
def test_many_rows_do_not_add_up(law: str, monkeypatch: pytest.MonkeyPatch):
    """One model, asked about rows one at a time, keeps less than 200 bytes of each.

    So 100,000 of them would add less than 20 megabytes. What is remembered of sets on purpose is
    bounded, by more than are asked about here; see the next test.
    """
    monkeypatch.setattr(uniform, "_MOST_KNOWN", 64)
    rng = np.random.default_rng(1)
    d = 24
    model = LinearModel(rng.standard_normal(d), 0.1)
    over = {
        "uniform": None,
        "product": Product(np.round(rng.uniform(0.2, 0.8, d), 2)),
        "background": Background(rng.integers(0, 2, (50, d))),
    }[law]
    rows = rng.integers(0, 2, (SETTLED[law] + 120, d)).astype(bool)

    def ask(i: int) -> None:
        sufficient_reason(model, rows[i], distribution=over, prove=False)

    sufficient_reasons(model, rows, distribution=over, prove=False)  # builds the finest tables
    counts = [SETTLED[law] + more for more in (0, 40, 80, 120)]
    assert grown(ask, *counts) * MEGABYTE < 40 * 200


def test_a_hundred_thousand_rows_do_not_add_up(monkeypatch: pytest.MonkeyPatch):
    """As many different rows, each enclosed one at a time: the law remembers the last few."""
    known = Enclosure(0.25, 0.5)
    monkeypatch.setattr(uniform.UniformView, "_enclose", lambda *_: known)  # takes no time
    law = law_of(LinearModel(np.arange(1.0, 18.0), 60.0))
    bits = np.arange(100_000)[:, None] >> np.arange(17) & 1 == 1

    held = []
    for i, row in enumerate(bits):
        if i == 5_000:
            held.append(sys.getallocatedblocks())
        law.view(row).enclose((3, i % 17))
    held.append(sys.getallocatedblocks())
    assert held[1] - held[0] < 5_000  # kept for good, every row would take several


def test_two_explainers_in_turn_build_tables_once(monkeypatch: pytest.MonkeyPatch):
    """An explainer keeps its own law, whatever other laws push it out of the shared store."""
    rng = np.random.default_rng(2)
    built = []
    make = Tables.__init__
    monkeypatch.setattr(
        Tables, "__init__", lambda self, *args: built.append(args) or make(self, *args)
    )
    monkeypatch.setattr(_dispatch, "_LAWS", Memo(1, lambda law: 2))  # room for the last one alone
    explainers = [
        SufficientReasonExplainer(
            LinearModel(rng.standard_normal(40), 0.1),
            Product(np.round(rng.uniform(0.2, 0.8, 40), 2)),
        )
        for _ in range(2)
    ]
    rows = rng.integers(0, 2, (3, 40))
    for explainer in explainers * 3:
        explainer(rows)
    assert len(built) == 2


def test_a_law_is_kept_while_there_is_room():
    """The same model and distribution have one law; it goes when others need the room."""
    model, over = LinearModel([1.0, -2.0, 3.0], 0.5), Product([0.1, 0.2, 0.3])
    first = law_of(model, over)
    assert law_of(LinearModel([1.0, -2.0, 3.0], 0.5), over) is first
    for i in range(_dispatch._MOST_LAWS):
        law_of(model, Product([0.1, 0.2, (i + 1) / 100]))
    assert law_of(model, over) is not first


def test_a_memo_keeps_the_last_even_if_it_is_too_large():
    """The least recently used go first; sizes are looked at anew, since tables grow."""
    sizes = {"a": 1, "b": 1, "c": 1}
    memo: Memo[str] = Memo(2, lambda value: sizes[value])
    for name in "ab":
        assert memo.get(name, lambda name=name: name) == name
    assert memo.get("a", lambda: "never") == "a"
    memo.get("c", lambda: "c")
    assert memo.values() == ["a", "c"]
    sizes["c"] = 9
    memo.get("c", lambda: "never")
    memo.get("b", lambda: "b")
    assert memo.values() == ["b"]
    sizes["b"] = sys.maxsize
    assert memo.get("b", lambda: "never") == "b"
    assert len(memo) == 1


def test_a_model_holds_no_tables():
    """What depends on a distribution belongs to its law."""
    rng = np.random.default_rng(3)
    model = LinearModel(rng.standard_normal(60), 0.1)
    rows = rng.integers(0, 2, (50, 60))
    for over in (None, Product([0.3] * 60), Background(rows)):
        sufficient_reasons(model, rows[:5], distribution=over)
    held = [value for value in vars(model).values() if isinstance(value, dict)]
    assert held == []


def test_completions_of_several_classes_are_drawn_in_pieces():
    """At d = 1,000 a draw takes less than 100 MB, however many completions there are."""
    rng = np.random.default_rng(0)
    d = 1_000
    model = ArgmaxModel(rng.standard_normal((3, d)), np.zeros(3))
    law = law_of(model, Product(np.round(rng.uniform(0.2, 0.8, d), 2)))
    row = rng.integers(0, 2, d).astype(bool)
    winner = int(model.winners(row[None])[0])
    tracemalloc.start()
    law.draw(row, winner, [[0, 1]], 5_000, np.random.default_rng(0))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100e6
