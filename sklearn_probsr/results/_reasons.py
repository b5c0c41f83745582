"""SufficientReasons: the frozen answers of many rows, as columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self, overload

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.core.answers import FeatureSets
from sklearn_probsr.core.dispatch import law_of
from sklearn_probsr.core.options import Prices
from sklearn_probsr.model.enclosure import Enclosure
from sklearn_probsr.model.linear import Model
from sklearn_probsr.model.sparse import SparseRows, joined_rows
from sklearn_probsr.results._places import places
from sklearn_probsr.results._reason import STATUSES, Source, SufficientReason
from sklearn_probsr.results._scope import Scope
from sklearn_probsr.results.views import SHOWN_ROWS, TOLD_ROWS, reasons_table, reasons_text

if TYPE_CHECKING:
    from sklearn_probsr.rows.matching import Matches
    from sklearn_probsr.rules._rule import Reader

__all__ = ["COLUMNS", "SufficientReasons"]

# What is stored for every row, beside its set of features.
COLUMNS = ("rows", "lower", "upper", "minimality", "epsilon", "size_lower", "samples", "stopped")

# What is told of some rows only.
BY_ROW = ("exact", "flagged", "words")

# So many words of a feature are told.
_MOST_WORDS = 5


@dataclass(frozen=True, eq=False)
class SufficientReasons:
    """The reasons of many rows, stored as columns; ``reasons[i]`` is one of them.

    Attributes
    ----------
    sets : FeatureSets
        The features of each reason in the order of `SufficientReason.features`; without units,
        every column is one.
    mask : ndarray of bool, shape (n, units)
        Which features are in each reason.
    size, size_lower, lower, upper, minimality, epsilon, prediction, samples, stopped : ndarray
        See `SufficientReason`; ``lower`` and ``upper`` enclose the guarantee.
    delta : float
        The probability that was asked for.
    confidence : float
        Of every enclosure; 1.0 for a proof.
    status, message : ndarray
        Of each row "ok", "unreachable" (it has its best set) or "invalid" (an empty set, bounds 0
        and 1, and the class None), and why. `sufficient_reasons` raises instead.
    distribution : object
        What unknown features are filled in with.
    method : str
        How it was found: "certified", "monte-carlo" or "paper".
    model : LinearModel or ArgmaxModel
        What decides.
    rows : ndarray of shape (n, d)
        The instances explained: booleans, or floats if the model has units. In place of an invalid
        one, any that the model takes.
    forced : tuple of int
        The features that every reason had to have.
    barred : tuple of int, default=()
        The features that none was to have.
    max_size : int or None, default=None
        How many features a reason may have at most.
    exact : dict of int to Fraction
        The guarantees that are known as fractions, by row.
    shown : ndarray of shape (n, units) or None
        The features as the user gave them, "missing" where there was no value: what facts are told
        in. None: ``rows`` is all that is known of them.
    flagged : dict of int to pair of str, default={}
        The status and the message of the rows that are not "ok".
    only : tuple of str, default=()
        Which features were allowed: "present" ones, "supporting" ones, or those that are both; all,
        if there is nothing. What is proved speaks of sets of these.
    words : dict of int to dict of int to tuple of str, default={}
        By row and feature, the words of a text that a feature stands for in it, where its name does
        not say so: those that share a column of a ``HashingVectorizer``.
    spelling : dict of str to tuple of int, default={}
        Under "case" and "accents", the features that are words which these tell from others: "May"
        is not "may" to a vectorizer with ``lowercase=False``.
    of_texts : bool, default=False
        Whether rows were given as texts, so that features are words in them.
    reader : Reader or None, default=None
        What takes rows as an explainer does; None if they are those of the model.
    cost, cost_lower : ndarray of float
        See `SufficientReason`.
    prices : Prices or None, default=None
        What features cost; None: the fewest were asked for, and each costs 1.
    least_cost : ndarray of float or None, default=None
        What was proved of costs; None where sizes tell.
    """

    model: Model = field(repr=False)
    rows: NDArray[Any] = field(repr=False)
    sets: FeatureSets = field(repr=False)
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    minimality: NDArray[np.str_]
    epsilon: NDArray[np.float64]
    size_lower: NDArray[np.int64]
    samples: NDArray[np.int64]
    stopped: NDArray[np.str_]
    delta: float
    confidence: float
    distribution: Any
    method: str
    forced: tuple[int, ...] = field(repr=False)
    exact: dict[int, Fraction] = field(repr=False)
    shown: NDArray[Any] | None = field(default=None, repr=False)
    flagged: dict[int, tuple[str, str]] = field(default_factory=dict, repr=False)
    barred: tuple[int, ...] = field(default=(), repr=False)
    max_size: int | None = field(default=None, repr=False)
    only: tuple[str, ...] = field(default=(), repr=False)
    words: dict[int, dict[int, tuple[str, ...]]] = field(default_factory=dict, repr=False)
    spelling: dict[str, tuple[int, ...]] = field(default_factory=dict, repr=False)
    of_texts: bool = field(default=False, repr=False)
    reader: Reader | None = field(default=None, repr=False)
    prices: Prices | None = field(default=None, repr=False)
    least_cost: NDArray[np.float64] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if self.least_cost is not None:
            self.least_cost.flags.writeable = False
        for name in COLUMNS:
            column = getattr(self, name)
            if not isinstance(column, SparseRows):  # those never change
                column.flags.writeable = False

    def __getstate__(self) -> dict[str, Any]:
        """Return what a pickle holds: not what is made from it on demand."""
        return {part.name: getattr(self, part.name) for part in fields(self)}

    @cached_property
    def scope(self) -> Scope:
        """Which sets were allowed: what "smaller", "cheaper" and "best" speak of."""
        names = self.model.unit_names
        forced = tuple(names[u] for u in self.forced)
        least = getattr(self.distribution, "min_rows", 0)
        return Scope(forced, bool(self.barred), self.only, self.max_size, least)

    @cached_property
    def size(self) -> NDArray[np.int64]:
        """How many features each reason has."""
        return self.sets.sizes

    @cached_property
    def cost(self) -> NDArray[np.float64]:
        """What the features of each reason cost together."""
        return (
            self.size.astype(np.float64) if self.prices is None else self.prices.of_sets(self.sets)
        )

    @cached_property
    def cost_lower(self) -> NDArray[np.float64]:
        """What any set that reaches delta costs at least, as far as was proved."""
        if self.least_cost is not None:
            return self.least_cost
        if self.prices is None:
            return self.size_lower.astype(np.float64)
        # All features cost the same.
        each, money = next(iter(self.prices.whole), 0), self.prices.money
        return np.array([money(size * each) for size in self.size_lower.tolist()], np.float64)

    @cached_property
    def mask(self) -> NDArray[np.bool_]:
        """Which features are in each reason."""
        mask = self.sets.mask()
        mask.flags.writeable = False
        return mask

    @cached_property
    def prediction(self) -> NDArray[Any]:
        """The class of each row; None of an invalid one."""
        labels = self.model.predict(self.rows)
        invalid = self.status == "invalid"
        if invalid.any():
            labels = labels.astype(object)
            labels[invalid] = None
        return labels

    @cached_property
    def status(self) -> NDArray[np.str_]:
        """What became of each row."""
        found = np.full(len(self), STATUSES[0], dtype="<U11")
        for i, (status, _) in self.flagged.items():
            found[i] = status
        return found

    @cached_property
    def message(self) -> NDArray[Any]:
        """Why a row is not "ok"; an empty text if it is."""
        found = np.full(len(self), "", dtype=object)
        for i, (_, message) in self.flagged.items():
            found[i] = message
        return found

    def __len__(self) -> int:
        return len(self.sets)

    def _repr_html_(self) -> str:
        first = self[:SHOWN_ROWS]
        return reasons_table(first, range(len(first)), len(self), self)

    def __repr__(self) -> str:
        return reasons_text(self[:TOLD_ROWS], range(len(self)), self, by_label=False)

    def __iter__(self) -> Iterator[SufficientReason]:
        return (self[i] for i in range(len(self)))

    @overload
    def __getitem__(self, index: int) -> SufficientReason: ...
    @overload
    def __getitem__(self, index: slice | list[int] | NDArray[Any]) -> SufficientReasons: ...
    def __getitem__(self, index: Any) -> SufficientReason | SufficientReasons:
        positions = places(len(self), index, "loc[label] of an explanation")
        if np.ndim(positions) == 0:
            return self._one(int(positions))
        chosen: dict[str, Any] = {name: getattr(self, name)[positions] for name in COLUMNS}
        for name in BY_ROW:
            told = getattr(self, name)
            of_row = enumerate(positions.tolist()) if told else ()
            chosen[name] = {j: told[i] for j, i in of_row if i in told}
        for name in ("shown", "least_cost"):
            told = getattr(self, name)
            chosen[name] = None if told is None else told[positions]
        return replace(self, **chosen, sets=self.sets.take(positions))

    @classmethod
    def concatenate(cls, parts: Sequence[SufficientReasons]) -> SufficientReasons:
        """Put the reasons of several batches of one search behind each other."""
        joined: dict[str, Any] = {
            name: joined_rows([getattr(part, name) for part in parts]) for name in COLUMNS
        }
        starts = np.cumsum([0, *map(len, parts)])
        for name in BY_ROW:
            joined[name] = {
                int(start) + i: value
                for start, part in zip(starts, parts, strict=False)
                for i, value in getattr(part, name).items()
            }
        for name in ("shown", "least_cost"):
            told = [getattr(part, name) for part in parts if getattr(part, name) is not None]
            joined[name] = joined_rows(told) if len(told) == len(parts) else None
        joined["spelling"] = {
            kind: tuple(sorted({u for part in parts for u in part.spelling.get(kind, ())}))
            for kind in sorted({kind for part in parts for kind in part.spelling})
        }
        sets = FeatureSets.concatenate([part.sets for part in parts])
        return replace(parts[0], **joined, sets=sets)

    def among(self, at: NDArray[np.intp], rows: NDArray[Any], invalid: dict[int, str]) -> Self:
        """Return these reasons at some places among rows of which the others are invalid.

        ``rows`` are all of them, with any that the model takes in place of the invalid ones.
        """
        n = len(rows)
        blank: dict[str, Any] = {"upper": np.ones(n)}
        for word in ("minimality", "stopped"):
            blank[word] = np.full(n, "", dtype=getattr(self, word).dtype)
        spread: dict[str, Any] = {"rows": rows.copy()}
        for name in (name for name in COLUMNS if name != "rows"):
            own = getattr(self, name)
            column = blank.get(name, np.zeros((n, *own.shape[1:]), dtype=own.dtype))
            column[at] = own
            spread[name] = column
        for name in BY_ROW:
            spread[name] = {int(at[i]): value for i, value in getattr(self, name).items()}
        if self.least_cost is not None:
            spread["least_cost"] = np.zeros(n)
            spread["least_cost"][at] = self.least_cost
        spread["flagged"] |= {i: ("invalid", text) for i, text in invalid.items()}
        return replace(self, **spread, sets=self.sets.among(at, n))

    def _one(self, i: int) -> SufficientReason:
        lower, upper = float(self.lower[i]), float(self.upper[i])
        exact = self.exact.get(i)
        if lower == upper and self.confidence == 1:
            exact = Fraction(lower)
        features = self.sets.of(i)
        partial = np.where(self.columns_of(features), self.rows[i].astype(np.float64), np.nan)
        partial.flags.writeable = False
        winner = int(self.model.winners(self.rows[i : i + 1])[0])
        status, message = self.flagged.get(i, (STATUSES[0], ""))
        return SufficientReason(
            features=features,
            guarantee=Enclosure(lower, upper, self.confidence, exact),
            delta=self.delta,
            minimality=str(self.minimality[i]),
            epsilon=float(self.epsilon[i]),
            size_lower=int(self.size_lower[i]),
            prediction=None if status == "invalid" else self.model.classes[winner],
            partial_instance=partial,
            feature_names=tuple(self.model.unit_names[j] for j in features),
            facts=tuple(self.fact(i, j) for j in features),
            n_units=self.model.n_units,
            distribution=self.distribution,
            method=self.method,
            samples=int(self.samples[i]),
            stopped=str(self.stopped[i]),
            status=status,
            message=message,
            matches=None if status == "invalid" else self.matches(i, features),
            scope=self.scope,
            cost=float(self.cost[i]),
            cost_lower=float(self.cost_lower[i]),
            priced=self.prices is not None,
            source=Source(
                self.model,
                self.rows[i],
                self.reader,
                None if self.shown is None else self.shown[i],
            ),
        )

    @cached_property
    def against(self) -> FeatureSets:
        """The features of each reason that speak against its class, in their order."""
        at = np.repeat(np.arange(len(self)), self.sets.sizes)
        law = law_of(self.model, self.distribution)
        return self.sets.only(law.leanings(self.rows, at, self.sets.features.astype(np.intp)) < 0)

    def fact(self, i: int, j: int) -> str:
        """Say what a feature is in a row, in the user's own terms where they are known."""
        words = self.words[i].get(j) if i in self.words else None
        if words:
            more = f" and {len(words) - _MOST_WORDS} more" if len(words) > _MOST_WORDS else ""
            told = f"{', '.join(words[:_MOST_WORDS])}{more}"
            return f"{self.model.unit_names[j]} ({told})"
        raw = None if self.shown is None else self.shown[i, j]
        return self.model.describe(j, self.rows[i], raw)

    def matches(self, i: int, features: Sequence[int]) -> Matches | None:
        """Return the rows that share some facts of a row, under `Matching`."""
        if not getattr(self.distribution, "needs_states", False):  # nothing else is matched
            return None
        found: Matches = law_of(self.model, self.distribution).view(self.rows[i]).matches(features)
        return found

    def columns_of(self, features: Sequence[int]) -> NDArray[np.bool_]:
        """Tell which columns belong to the units of a reason."""
        inside = np.zeros(self.model.n_features, dtype=np.bool_)
        for j in features:
            inside[j if self.model.units is None else list(self.model.units[j].columns)] = True
        return inside
