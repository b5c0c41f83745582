"""Texts: one answer to whether something is a sequence of them, for every shell."""

import re
from collections import UserList

import numpy as np
import pandas as pd
import pytest

from sklearn_probsr.exceptions import InvalidInputError
from sklearn_probsr.model.inputs import is_flat, texts_of

TEXTS = ["good pie", "bad pie", ""]

SEQUENCES = {
    "a list": lambda: TEXTS,
    "a tuple": lambda: tuple(TEXTS),
    "a Series of objects": lambda: pd.Series(TEXTS, index=[7, 7, 9], dtype=object),
    "a Series of strings": lambda: pd.Series(TEXTS, index=[7, 7, 9], dtype="string"),
    "a Series of categories": lambda: pd.Series(TEXTS, dtype="category"),
    "an Index": lambda: pd.Index(TEXTS),
    "an array of objects": lambda: np.array(TEXTS, dtype=object),
    "an array of texts": lambda: np.array(TEXTS),
    "NumPy's texts": lambda: [np.str_(text) for text in TEXTS],
    "a sequence of one's own": lambda: UserList(TEXTS),
}


@pytest.mark.parametrize("case", SEQUENCES)
def test_a_sequence_of_texts_is_one(case: str):
    """Whatever holds them, in its order, with its own index or none."""
    found = texts_of(SEQUENCES[case](), "X")
    assert found == TEXTS
    assert type(found) is list


@pytest.mark.parametrize("make", [list, np.array])
def test_bytes_are_texts(make):
    """A vectorizer decodes them."""
    told = [text.encode() for text in TEXTS]
    assert texts_of(make(told), "X") == told


NO_TEXTS = {
    "nothing": [],
    "an empty array": np.array([], dtype=object),
    "numbers": [1, 2, 3],
    "an array of numbers": np.arange(3),
    "only gaps": [None, None],
    "a list of lists": [["good", "pie"], ["bad"]],
    "a table": np.array(TEXTS)[:, None],
    "a frame": pd.DataFrame({"text": TEXTS}),
    "a mapping": {"good": "pie"},
    "a set": {"good pie"},
    "None": None,
    "a number": 3.5,
}


@pytest.mark.parametrize("case", NO_TEXTS)
def test_what_holds_no_text_is_no_sequence_of_texts(case: str):
    """It may still be rows and columns, which is asked elsewhere."""
    assert texts_of(NO_TEXTS[case], "X") is None


REFUSED = {
    "a single text": (
        "good pie",
        "X must have rows and columns, or be a sequence of texts, got 'good pie'. Write [text] "
        "for a single one.",
    ),
    "single bytes": (
        b"good",
        "X must have rows and columns, or be a sequence of texts, got b'good'. Write [text] for a "
        "single one.",
    ),
    "a generator": (
        (text for text in TEXTS),
        "X must have rows and columns, or be a sequence of texts, got generator. Pass a list of "
        "what it gives.",
    ),
    "None among texts": (
        ["good", None],
        "X must hold texts, got None in row 1. Leave that row out, or write '' for a text without "
        "words.",
    ),
    "NaN among texts": (
        pd.Series([np.nan, "good"], dtype=object),
        "X must hold texts, got nan in row 0. Leave that row out, or write '' for a text without "
        "words.",
    ),
    "pandas' gap among texts": (
        pd.Series(["good", None], dtype="string"),
        "X must hold texts, got <NA> in row 1. Leave that row out, or write '' for a text without "
        "words.",
    ),
    "a whole number among texts": (
        ["good", np.int64(7)],
        "X must hold texts, got 7 in row 1. Leave that row out, or write it as a text.",
    ),
    "something long among texts": (
        ["good", frozenset(range(99))],
        "X must hold texts, got a frozenset in row 1. Leave that row out, or write it as a text.",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_nearly_a_sequence_of_texts_says_what_is_wrong(case: str):
    """With the place and the value, and what to do."""
    given, message = REFUSED[case]
    with pytest.raises(InvalidInputError, match=f"^{re.escape(message)}$"):
        texts_of(given, "X")


def test_texts_are_looked_at_without_a_copy():
    """An array of texts has room for the longest at every place: 4 GB of these."""
    import tracemalloc

    given = ["pie"] * 10_000 + ["x" * 100_000]
    tracemalloc.start()
    try:
        assert is_flat(given)
        assert texts_of(given, "X") == given
        assert tracemalloc.get_traced_memory()[1] < 10**6
    finally:
        tracemalloc.stop()
