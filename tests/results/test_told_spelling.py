"""Spelling in a file: features that there are, whatever it says."""

import re

import pytest

from sklearn_probsr.results._checked_json import UnsoundError
from sklearn_probsr.results._told_spelling import read_spelling


def test_nothing_is_told_of_features_that_are_no_words():
    """A file without says nothing."""
    assert read_spelling(None, 3) == {}
    assert read_spelling({"accents": [], "case": [2]}, 3) == {"case": (2,)}


@pytest.mark.parametrize(
    ("told", "problem"),
    [
        ([1], " must be an object, got [1]"),
        ({"case": [0]}, " lacks 'accents'"),
        ({"case": [3], "accents": []}, ".case must be a whole number from 0 to 2, got 3"),
        ({"case": [], "accents": ["1"]}, ".accents must be a whole number from 0 to 2, got '1'"),
    ],
)
def test_the_spelling_of_a_file_is_checked(told, problem):
    """It names features by their places."""
    with pytest.raises(UnsoundError, match=re.escape(f"meta.reasons.spelling{problem}")):
        read_spelling(told, 3)
