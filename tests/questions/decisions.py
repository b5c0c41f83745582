"""Small decisions under every law, and what all of their sets guarantee."""

from fractions import Fraction
from itertools import combinations, product
from math import prod

import numpy as np
from hypothesis import strategies as st

from sklearn_probsr import (
    ArgmaxModel,
    Background,
    LinearModel,
    Marginals,
    Product,
    Uniform,
    Unit,
)
from sklearn_probsr.extend import law_of

LEVELS = (0.5, 0.75, 0.9, 0.95, 1.0)


def guarantees(model, x, distribution) -> dict[frozenset, Fraction]:
    """Return what every set of features guarantees, as far as that is known exactly."""
    view = law_of(model, distribution).view(model.check_row(x))
    units = range(model.n_units)
    sets = (frozenset(s) for k in range(len(units) + 1) for s in combinations(units, k))
    return {s: view.enclose(s, None, 0.0).exact for s in sets}


@st.composite
def decisions(draw, kinds=("uniform", "product", "rows", "marginals", "states")):
    """Draw a model, an instance, a distribution, and a level; at most seven features."""
    kind = draw(st.sampled_from(kinds))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    d = draw(st.integers(1, 7 if kind != "states" else 4))
    scale = draw(st.sampled_from([1, 2, 5, 9]))  # few weights make ties
    delta = draw(st.sampled_from(LEVELS))
    weights = rng.integers(-scale, scale + 1, d) / draw(st.sampled_from([1, 10]))
    x = rng.integers(0, 2, d).astype(float)
    if kind == "states":
        units = [Unit.real(f"u{j}", j) for j in range(d)]
        model = LinearModel(weights, threshold=float(weights.sum()), units=units)
        data = rng.integers(-2, 4, (6, d)).astype(float)
        which = draw(st.sampled_from([Background, Marginals.fit]))
        return model, data[0], which(data), delta
    model = LinearModel(weights, threshold=float(weights.sum() / 2))
    data = rng.integers(0, 2, (8, d))
    distribution = {
        "uniform": Uniform(),
        "product": Product(rng.integers(1, 10, d) / 10),
        "rows": Background(data),
        "marginals": Marginals.fit(data),
    }[kind]
    return model, x, distribution, delta


@st.composite
def several_classes(draw):
    """Draw a model of three classes before background rows."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    d = draw(st.integers(1, 5))
    model = ArgmaxModel(rng.integers(-3, 4, (3, d)), rng.integers(-2, 3, 3))
    data = rng.integers(0, 2, (7, d))
    return model, data[0].astype(float), Background(data), draw(st.sampled_from(LEVELS))


@st.composite
def independent_classes(draw):
    """Draw a model of three classes before independent features, and what all sets guarantee."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    d = draw(st.integers(1, 4))
    model = ArgmaxModel(rng.integers(-3, 4, (3, d)), rng.integers(-2, 3, 3))
    x = rng.integers(0, 2, d).astype(float)
    tenths = rng.integers(1, 10, d) if draw(st.booleans()) else np.full(d, 5)
    law = Uniform() if (tenths == 5).all() else Product(tenths / 10)
    chances = [Fraction(int(t), 10) for t in tenths]
    known = enumerated(model, x, chances)
    return model, x, law, draw(st.sampled_from(LEVELS)), known


def enumerated(model, x, chances) -> dict[frozenset, Fraction]:
    """Return what every set of 0/1 features guarantees, by all completions."""
    d = len(chances)
    rows = np.array(list(product((0.0, 1.0), repeat=d)))
    weights = [
        prod((p if z else 1 - p for p, z in zip(chances, row, strict=True)), start=Fraction(1))
        for row in rows
    ]
    own, found = model.winners(np.array([x]))[0], {}
    for k in range(d + 1):
        for s in combinations(range(d), k):
            filled = rows.copy()
            filled[:, list(s)] = x[list(s)]
            kept = model.winners(filled) == own
            found[frozenset(s)] = sum(w for w, keeps in zip(weights, kept, strict=True) if keeps)
    return found
