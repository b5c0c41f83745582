"""Printed rules of additive models of raw columns, by exact enumeration over raw values.

Steps, categories and functions of a column, with missing values and categories that nobody knows;
whoever reads the rule has the text, the raw rows and the terms, and nothing of the package.
"""

import itertools
import math
import os
from fractions import Fraction

import hypothesis.strategies as st
import numpy as np
import pandas as pd
from hypothesis import given, settings

from sklearn_probsr import Additive, Background, Marginals, SufficientReasonExplainer
from sklearn_probsr.adapters import Categories, Steps
from sklearn_probsr.model.numbers import decimal_fraction
from tests.rules.printed import satisfies

MANY = 1000 if os.environ.get("HYPOTHESIS_PROFILE", "ci") != "ci" else 60
GAP = None


@st.composite
def terms(draw, scores):
    """Draw a term, the raw values that it takes, and a table of what each of them adds."""
    one = st.integers(-8, 8).map(lambda v: v / 4)
    worth = st.tuples(*[one] * scores)
    kind = draw(st.sampled_from(["steps", "steps", "categories", "function"]))
    flat = (lambda v: v[0]) if scores == 1 else list
    gap = draw(st.one_of(st.none(), worth)) if kind != "function" else None
    if kind == "steps":
        cuts = sorted(draw(st.sets(st.sampled_from([0.0, 1.5, 2.5, 4.0]), min_size=1, max_size=3)))
        values = draw(st.lists(worth, min_size=len(cuts) + 1, max_size=len(cuts) + 1))
        closed = draw(st.sampled_from(["left", "right"]))
        missing = None if gap is None else flat(gap)
        term = Steps(cuts, [flat(v) for v in values], missing, closed)
        ends = [math.nextafter(c, way) for c in cuts for way in (-math.inf, math.inf)]
        after = (lambda v, c: v >= c) if closed == "left" else (lambda v, c: v > c)
        known = [-3.0, *cuts, *ends, 0.75, 2.0, 3.0, 7.0]
        table = {v: values[sum(after(v, c) for c in cuts)] for v in known}
    elif kind == "categories":
        other = draw(st.one_of(st.none(), worth))
        table = {name: draw(worth) for name in "abcd"}
        known = Categories(
            {name: flat(v) for name, v in table.items()},
            None if gap is None else flat(gap),
            None if other is None else flat(other),
        )
        term, table = known, table | ({} if other is None else {"z": other})
    else:
        slopes = np.array(draw(worth))
        table = {float(v): tuple((slopes * v).tolist()) for v in (-2, 0, 1, 3)}

        def term(column):
            found = np.outer(column, slopes)
            return found[:, 0] if scores == 1 else found

    return term, table | ({} if gap is None else {GAP: gap})


@st.composite
def cases(draw):
    """Draw an additive model of two or three classes, raw rows and which columns are forced."""
    scores = draw(st.sampled_from([1, 1, 3]))
    columns = draw(st.lists(terms(scores), min_size=2, max_size=3))
    names = [f"c{i}" for i in range(len(columns))]
    pools = [st.sampled_from(list(table)) for _, table in columns]
    rows = draw(st.lists(st.tuples(*pools), min_size=3, max_size=5))
    intercept = [draw(st.integers(-4, 4)) / 4 for _ in range(scores)]
    model = Additive(
        {name: term for name, (term, _) in zip(names, columns, strict=True)},
        intercept[0] if scores == 1 else intercept,
        strict=draw(st.booleans()) if scores == 1 else True,
    )
    tables = {name: table for name, (_, table) in zip(names, columns, strict=True)}
    forced = draw(st.sets(st.sampled_from(names)))
    return model, tables, pd.DataFrame(rows, columns=names), sorted(forced)


def decides(model, tables, raw):
    """Return the class of raw values, in exact rationals."""
    scores = [Fraction(v) for v in np.atleast_1d(model.intercept).tolist()]
    for name, value in raw.items():
        added = tables[name][GAP if pd.isna(value) else value]
        scores = [a + Fraction(b) for a, b in zip(scores, added, strict=True)]
    if len(scores) > 1:
        return scores.index(max(scores))
    return int(scores[0] > 0 or (scores[0] == 0 and not model.strict))


@settings(max_examples=MANY)
@given(cases(), st.sampled_from([0.4, 0.5, 0.6, 0.75, 0.9, 1.0]), st.booleans())
def test_printed_rules_of_raw_columns_hold_at_every_corner(drawn, delta, independent):
    """Steps, categories, functions, gaps and unknown categories, in the user's own terms."""
    model, tables, X, forced = drawn
    law = (Marginals if independent else Background)(X)
    explainer = SufficientReasonExplainer(model, law, delta=delta, include=forced)
    explained = explainer(X)
    lines = X.to_dict("records")
    others = [(line, Fraction(1, len(X))) for line in lines]
    if independent:
        every = itertools.product(*(X[name].tolist() for name in X))
        parts = [dict(zip(X, part, strict=True)) for part in every]
        others = [(part, Fraction(1, len(parts))) for part in parts]
    for i, (reason, rule) in enumerate(zip(explained.reasons, explained.rules(), strict=True)):
        assert rule.prediction == decides(model, tables, lines[i])
        assert rule.matches(X).tolist() == [satisfies(rule.text, line) for line in lines]
        assert satisfies(rule.text, lines[i])
        said = {c.feature: c.text for c in rule.conditions}
        named = [explained.feature_names[u] for u in reason.features]
        corners = [
            [v for v in tables[name] if name not in said or satisfies(said[name], {name: v})]
            for name in named
        ]
        least = min(
            sum(
                chance
                for other, chance in others
                if decides(model, tables, other | dict(zip(named, corner, strict=True)))
                == rule.prediction
            )
            for corner in itertools.product(*corners)
        )
        assert rule.guarantee.ends()[0] <= least <= rule.guarantee.ends()[1]
        assert least >= decimal_fraction(delta)
