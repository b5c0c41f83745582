"""Which words of a text were hashed to a column: its own, that the column's name does not tell."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from sklearn.feature_extraction import FeatureHasher

from sklearn_probsr.adapters.units._columns import Base

__all__ = ["words_in"]


def words_in(
    raw: Any, units: Mapping[int, Base], sets: Iterable[tuple[int, ...]]
) -> dict[int, dict[int, tuple[str, ...]]]:
    """Return by row and unit the words that were hashed to it, for the units of each row's set."""
    found: dict[int, dict[int, tuple[str, ...]]] = {}
    places: dict[Any, dict[int, list[int]]] = {}
    for j, base in units.items():
        places.setdefault(base.hashes.rows, {}).setdefault(base.hashes.at, []).append(j)
    for output, columns in places.items():
        split = output.step.build_analyzer()
        memo: dict[int, Any] = {}
        for i, (text, chosen) in enumerate(zip(output.parent.of(raw, memo), sets, strict=True)):
            asked = {at: [j for j in own if j in chosen] for at, own in columns.items()}
            wanted = {at: own for at, own in asked.items() if own}
            if not wanted:
                continue
            told = _by_column(output.step, dict.fromkeys(split(text)))
            for at, own in wanted.items():
                for j in own if at in told else ():
                    found.setdefault(i, {})[j] = tuple(told[at])
    return found


def _by_column(step: Any, tokens: Iterable[str]) -> dict[int, list[str]]:
    """Return different tokens by the column that each is hashed to."""
    words = list(tokens)
    if not words:
        return {}
    hasher = FeatureHasher(step.n_features, input_type="string", alternate_sign=False)
    found: dict[int, list[str]] = {}
    for word, at in zip(
        words, hasher.transform([[w] for w in words]).indices.tolist(), strict=True
    ):
        found.setdefault(at, []).append(word)
    return found
