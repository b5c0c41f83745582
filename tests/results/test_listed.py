"""Lists in sentences and cells, which are read back as the parts that they were made of."""

from __future__ import annotations

import pickle
from itertools import product

import pandas as pd
import pytest

from sklearn_probsr.results._listed import Names, count, joined, listed
from tests.results import told

PARTS = ("age = 41", "job: cook", "debt, old = 1", "R&D and sales = 0", "a; b: own", "x in [1, 2)")


@pytest.mark.parametrize("size", [1, 2, 3])
def test_lists_are_read_back(size: int):
    """Whatever is in the parts, a reader finds the same ones, and which stand behind "although"."""
    for parts in product(PARTS, repeat=size):
        assert told.listed(listed(parts)) == parts
        assert told.cell(joined(parts)) == parts
        for k in range(size + 1):
            assert told.facts(listed(parts[:k], although=parts[k:])) == (parts[:k], parts[k:])


def test_nothing_is_an_empty_text():
    """A list of nothing says nothing."""
    assert (listed([]), joined([]), str(Names([]))) == ("", "", "")


def test_numbers_agree_with_their_noun():
    """One is one, and thousands have a comma."""
    assert [count(n, "row") for n in (0, 1, 2, 1000)] == ["0 rows", "1 row", "2 rows", "1,000 rows"]


def test_names_are_a_tuple_in_a_frame_and_a_text_in_a_file():
    """They compare and pickle as names, and a CSV has what was told of them."""
    (cell,) = Names.cells([["age", "job"]], lambda i: ["age = 41; job: cook"][i])
    again = pickle.loads(pickle.dumps(cell))
    assert cell == again == ("age", "job")
    for one in (cell, again):
        assert (
            pd.DataFrame({"reason": [one]}).to_csv(index=False) == "reason\nage = 41; job: cook\n"
        )
