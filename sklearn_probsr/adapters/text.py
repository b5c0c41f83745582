"""Texts: each word is a feature, there, counted or weighed, or a column that it hashes to."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, overload

from scipy import sparse
from sklearn.feature_extraction import FeatureHasher

from sklearn_probsr.adapters.columns import Base, Columns, Kind, Output, Rows
from sklearn_probsr.adapters.registry import Words, name_of
from sklearn_probsr.exceptions import InvalidInputError


class Buckets(Sequence[str]):
    """The names of the columns that words are hashed to, made when they are asked for."""

    def __init__(self, n: int) -> None:
        self.n = n

    def __len__(self) -> int:
        return self.n

    @overload
    def __getitem__(self, i: int) -> str: ...
    @overload
    def __getitem__(self, i: slice) -> list[str]: ...
    def __getitem__(self, i: int | slice) -> str | list[str]:
        at = range(self.n)[i]
        return [f"hash {k}" for k in at] if isinstance(at, range) else f"hash {at}"


class Hashed(NamedTuple):
    """A column that words were hashed to: where it is computed, and which it is."""

    rows: Rows
    at: int


class _WordBases(Sequence[Base]):
    """A base column for every word; each is made when it is asked for, and only once."""

    def __init__(self, part: Words, rows: Rows, base: Base, before: str, step: Any) -> None:
        self.part, self.rows, self.raw, self.before = part, rows, base.raw, before
        self.reading = _reading(step)
        self._made: dict[int, Base] = {}

    @property
    def may_go(self) -> bool:
        """Whether columns without a weight are no features."""
        return isinstance(self.part.words, Buckets)

    def __len__(self) -> int:
        return len(self.part.words)

    def __getitem__(self, i: Any) -> Any:
        if isinstance(i, slice):
            return [self[k] for k in range(len(self))[i]]
        at = range(len(self))[i]
        if at not in self._made:
            self._made[at] = self._base(at)
        return self._made[at]

    def _base(self, at: int) -> Base:
        part, word = self.part, str(self.part.words[at])
        kind = Kind.FLAG if part.binary else Kind.WEIGHT if part.weights else Kind.COUNT
        own = f"{self.before}{word}"
        labels = word_labels(self.before, word, not isinstance(part.words, Buckets))
        return Base(
            self.rows, at, len(part.words), self.raw, own, kind, own=own, labels=labels,
            hashes=Hashed(self.rows, at) if self.may_go else None, reading=self.reading,
        )  # fmt: skip


def word_labels(before: str, word: str, quoted: bool = True) -> tuple[str, str]:
    """Return what to call a word that is not there, and one that is."""
    told = f'"{word}"' if quoted else word
    return f"{before}no {told}", f"{before}{told}"


# What decides which words a vectorizer finds in a text, and in which column.
_READING = (
    "analyzer", "lowercase", "strip_accents", "preprocessor", "tokenizer", "token_pattern",
    "stop_words", "n_features",
)  # fmt: skip


def _reading(step: Any) -> Hashable:
    """Return how a vectorizer reads a text; the same words of two that read alike are one."""
    found = (getattr(step, name, None) for name in _READING)
    return tuple(one if isinstance(one, Hashable) else tuple(sorted(one)) for one in found)


def told_apart(step: Any) -> list[str]:
    """Return what tells words apart to a vectorizer: "accents", "case", both or none of them."""
    own = (getattr(step, name, None) for name in ("preprocessor", "tokenizer", "analyzer"))
    if any(callable(part) for part in own):
        return []
    found = {"accents": "strip_accents", "case": "lowercase"}
    return [kind for kind, name in found.items() if not getattr(step, name, True)]


def words_of(part: Words, step: Any, columns: Columns) -> Columns:
    """Return the columns after a transformer of one text."""
    if len(columns) != 1 or columns.sources(0)[0].kind is not Kind.RAW:
        raise InvalidInputError(
            f"{name_of(step)} must get one raw column of texts, got {len(columns)} columns."
        )
    base, rows = columns.sources(0)[0], Output(step, columns.rows)
    before = f"{base.name}: " if len(columns.raw_names) > 1 else ""
    if part.scale is None:
        return columns.new(_WordBases(part, rows, base, before, step), rows)
    counted = Output(part.counter, columns.rows)
    found = columns.new(_WordBases(part, counted, base, before, step), counted)
    return found.affine(sparse.diags_array(part.scale), 0.0, rows)


def weights_of(step: Any, columns: Columns) -> Columns:
    """Return the columns after a transformer of word counts that weighs them, text by text."""
    rows, bases = Output(step, columns.rows), []
    for j in range(len(columns)):
        sources = columns.sources(j)
        if len(sources) != 1:
            raise InvalidInputError(
                f"{name_of(step)} with a norm must get word counts, got a column that mixes "
                f"several. Put it right behind the vectorizer."
            )
        first = sources[0]
        own = first.own or columns.raw_names[first.raw]
        labels = first.labels or word_labels("", own)
        bases.append(
            Base(
                rows,
                j,
                len(columns),
                first.raw,
                own,
                Kind.WEIGHT,
                own=own,
                labels=labels,
                hashes=first.hashes,
                reading=first.reading,
            )
        )
    return columns.new(bases, rows)


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
