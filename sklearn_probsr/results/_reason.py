"""SufficientReason and SufficientReasons: the frozen answers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.engines.coins._deficits import Instance
from sklearn_probsr.laws._dispatch import law_of
from sklearn_probsr.laws._matching import Matches, MatchingLaw
from sklearn_probsr.model._base import Model
from sklearn_probsr.model._enclosure import Enclosure, lower_text
from sklearn_probsr.model._exact import decimal_fraction
from sklearn_probsr.model._linear import LinearModel

__all__ = ["CLAIMS", "COLUMNS", "SufficientReason", "SufficientReasons"]

# What is stored for every row.
COLUMNS = (
    "rows", "mask", "lower", "upper", "minimality", "epsilon", "size_lower", "samples",
)  # fmt: skip

CLAIMS = {
    "minimum": "no smaller set reaches {delta}",
    "subset-minimal": "none can be left out",
    "near-subset-minimal": "none is known to be superfluous",
    "locally-minimal": "no single one of them can be left out",
    "near-locally-minimal": "no single one is known to be superfluous",
    "near-prefix-minimal": "no fewer by mean cost reach {delta} + {epsilon}",
    "near-minimum": "no smaller set reaches {delta} + {epsilon}",
    "best-of-size": "the best set found of at most {size}; {delta} is not proved",
}
# Of rows that are counted.
_COUNTED = {**CLAIMS, "best-of-size": "the best set found; none found reaches {delta}"}


@dataclass(frozen=True)
class SufficientReason:
    """A set of features that keeps the predicted class with a guaranteed probability.

    Attributes
    ----------
    features : tuple of int
        Feature indices in the order chosen: the forced ones, then the most telling first.
    size : int
        How many there are.
    guarantee : Enclosure
        Of the probability that a random completion keeps the class.
    delta : float
        The level that was asked for.
    minimality : str
        What was proved: ``"minimum"`` (no smaller set reaches delta), ``"subset-minimal"`` (no
        proper subset of it does; ``"near-subset-minimal"`` where that stays undecided for one
        of them), ``"locally-minimal"`` (leaving out any single feature breaks it; with features
        that can cost or gain, leaving out several might not; ``"near-locally-minimal"`` where that
        stays undecided), ``"near-minimum"`` (no smaller set reaches ``delta + epsilon``),
        ``"near-prefix-minimal"`` (the same of the shorter prefixes of the order by mean cost), or
        ``"best-of-size"`` (``max_size`` kept it from reaching delta; under uniform completions no
        other set of that size has a better guarantee, under other distributions none was found).
    epsilon : float
        0 unless near-minimum or near-prefix-minimal.
    size_lower : int
        No set with fewer features reaches delta, as far as was proved (for the ``include`` and
        ``exclude`` asked for, whatever ``max_size`` was). It is ``size`` if minimum.
    prediction : label
        The class of the instance.
    partial_instance : ndarray of shape (d,)
        The instance with NaN in every column outside the reason.
    feature_names : tuple of str
        The names of ``features``, in the same order.
    facts : tuple of str
        What each of them is, in words.
    n_units : int
        How many features the model has; one-hot columns of one unit count once.
    distribution : object
        What the guarantee speaks of; its ``str`` reads as "over ...".
    method : str
    samples : int
        How many random completions were drawn; 0 for a proof.
    matches : Matches or None, default=None
        Under `Matching`, the rows that share the facts: ``coverage``, ``confirmed`` (the count that
        the guarantee is made of), and the ``searched`` and ``descriptive`` ones. The minimality
        then speaks of the rows searched, and whether delta is confirmed is
        ``guarantee >= delta``.
    """

    features: tuple[int, ...]
    guarantee: Enclosure
    delta: float
    minimality: str
    epsilon: float
    size_lower: int
    prediction: Any
    partial_instance: NDArray[np.float64] = field(repr=False, compare=False)
    feature_names: tuple[str, ...]
    facts: tuple[str, ...] = field(repr=False)
    n_units: int = field(repr=False)
    distribution: Any
    method: str
    samples: int
    matches: Matches | None = field(default=None, repr=False)

    @property
    def size(self) -> int:
        """How many features the reason has."""
        return len(self.features)

    def __str__(self) -> str:
        given = f"given {_and(self.facts)}" if self.facts else "whatever the features are"
        known = self.guarantee
        sure = lower_text(known.lower if known.exact is None else known.exact)
        trust = ""
        if self.guarantee.confidence < 1:
            trust = f", with confidence {lower_text(self.guarantee.confidence, 9)}"
        claims = CLAIMS if self.matches is None else _COUNTED
        claim = claims[self.minimality].format(
            epsilon=_two_digits_up(self.epsilon), delta=self.delta, size=self.size
        )
        if self.matches is not None:
            return self._conditional(self.matches, sure, trust.removeprefix(","), claim)
        if self.size_lower > 1 and self.minimality.endswith(("subset-minimal", "locally-minimal")):
            claim += f"; no set of fewer than {self.size_lower} features reaches {self.delta}"
        return (
            f"Class {self.prediction!s} is kept with probability at least {sure} over "
            f"{self.distribution}{trust}, {given} ({self.size} of {self.n_units} features; "
            f"{claim})."
        )

    def _conditional(self, matches: Matches, sure: str, trust: str, claim: str) -> str:
        """Say it of the rows that share the facts."""
        those = f"the rows that share {_and(self.facts)}" if self.facts else "all rows"
        verdict = {True: "confirmed", False: "refuted", None: "not confirmed"}
        held, all_rows = matches.confirmed, matches.descriptive
        how = "by Wilson's lower bound in" if self.distribution.cautious else "in"
        return (
            f"Of {those}, class {self.prediction!s} is kept in at least {sure}{trust}: in {held} "
            f"such rows among {held.rows} held out; {self.delta} is "
            f"{verdict[(self.guarantee >= self.delta).value]} (descriptive, over all "
            f"{all_rows.rows} rows: {all_rows}; {self.size} of {self.n_units} features; {claim} "
            f"{how} the {matches.searched.rows} rows searched)."
        )


@dataclass(frozen=True, eq=False)
class SufficientReasons:
    """The reasons of many rows, stored as columns; ``reasons[i]`` is one of them.

    Attributes
    ----------
    mask : ndarray of bool, shape (n, units)
        Which features are in each reason; without units, every column is one.
    size, size_lower, lower, upper, minimality, epsilon, prediction, samples : ndarray
        See `SufficientReason`; ``lower`` and ``upper`` enclose the guarantee.
    delta : float
    confidence : float
        Of every enclosure; 1.0 for a proof.
    distribution : object
    method : str
    model : LinearModel or ArgmaxModel
    rows : ndarray of shape (n, d)
        The instances explained: booleans, or floats if the model has units.
    forced : tuple of int
        The features that every reason had to have.
    exact : dict of int to Fraction
        The guarantees that are known as fractions, by row.
    shown : ndarray of shape (n, units) or None
        The features as the user gave them, "missing" where there was no value: what facts are told
        in. None: ``rows`` is all that is known of them.
    """

    model: Model = field(repr=False)
    rows: NDArray[Any] = field(repr=False)
    mask: NDArray[np.bool_]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    minimality: NDArray[np.str_]
    epsilon: NDArray[np.float64]
    size_lower: NDArray[np.int64]
    samples: NDArray[np.int64]
    delta: float
    confidence: float
    distribution: Any
    method: str
    forced: tuple[int, ...] = field(repr=False)
    exact: dict[int, Fraction] = field(repr=False)
    shown: NDArray[Any] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        for name in COLUMNS:
            getattr(self, name).flags.writeable = False

    @cached_property
    def size(self) -> NDArray[np.int64]:
        """How many features each reason has."""
        size: NDArray[np.int64] = np.count_nonzero(self.mask, axis=1)
        return size

    @cached_property
    def prediction(self) -> NDArray[Any]:
        """The class of each row."""
        return self.model.predict(self.rows)

    def __len__(self) -> int:
        return len(self.mask)

    def __iter__(self) -> Iterator[SufficientReason]:
        return (self[i] for i in range(len(self)))

    @overload
    def __getitem__(self, index: int) -> SufficientReason: ...
    @overload
    def __getitem__(self, index: slice | list[int] | NDArray[Any]) -> SufficientReasons: ...
    def __getitem__(self, index: Any) -> SufficientReason | SufficientReasons:
        positions = np.arange(len(self))[index]
        if np.ndim(positions) == 0:
            return self._one(int(positions))
        chosen: dict[str, Any] = {name: getattr(self, name)[positions] for name in COLUMNS}
        exact = {j: self.exact[i] for j, i in enumerate(positions.tolist()) if i in self.exact}
        shown = None if self.shown is None else self.shown[positions]
        return replace(self, **chosen, exact=exact, shown=shown)

    @classmethod
    def concatenate(cls, parts: Sequence[SufficientReasons]) -> SufficientReasons:
        """Put the reasons of several batches of one search behind each other."""
        joined: dict[str, Any] = {
            name: np.concatenate([getattr(part, name) for part in parts]) for name in COLUMNS
        }
        starts = np.cumsum([0, *map(len, parts)])
        exact = {
            int(start) + i: value
            for start, part in zip(starts, parts, strict=False)
            for i, value in part.exact.items()
        }
        told = [part.shown for part in parts if part.shown is not None]
        shown = np.concatenate(told) if len(told) == len(parts) else None
        return replace(parts[0], **joined, exact=exact, shown=shown)

    def _one(self, i: int) -> SufficientReason:
        lower, upper = float(self.lower[i]), float(self.upper[i])
        exact = self.exact.get(i)
        if lower == upper and self.confidence == 1:
            exact = Fraction(lower)
        features = self.features_of(i)
        partial = np.where(self._columns(i), self.rows[i].astype(np.float64), np.nan)
        partial.flags.writeable = False
        winner = int(self.model.winners(self.rows[i : i + 1])[0])
        return SufficientReason(
            features=features,
            guarantee=Enclosure(lower, upper, self.confidence, exact),
            delta=self.delta,
            minimality=str(self.minimality[i]),
            epsilon=float(self.epsilon[i]),
            size_lower=int(self.size_lower[i]),
            prediction=self.model.classes[winner],
            partial_instance=partial,
            feature_names=tuple(self.model.unit_names[j] for j in features),
            facts=tuple(self._fact(i, j) for j in features),
            n_units=self.model.n_units,
            distribution=self.distribution,
            method=self.method,
            samples=int(self.samples[i]),
            matches=self._matches(i, features),
        )

    def _fact(self, i: int, j: int) -> str:
        """Say what a feature is in a row, in the user's own terms where they are known."""
        raw = None if self.shown is None else self.shown[i, j]
        return self.model.describe(j, self.rows[i], raw)

    def _matches(self, i: int, features: tuple[int, ...]) -> Matches | None:
        law = law_of(self.model, self.distribution)
        return law.view(self.rows[i]).matches(features) if isinstance(law, MatchingLaw) else None

    def _columns(self, i: int) -> NDArray[np.bool_]:
        """Tell which columns belong to the units of a reason."""
        if self.model.units is None:
            whole: NDArray[np.bool_] = self.mask[i]
            return whole
        inside = np.zeros(self.model.n_features, dtype=np.bool_)
        for j in np.flatnonzero(self.mask[i]):
            inside[list(self.model.units[j].columns)] = True
        return inside

    def features_of(self, i: int) -> tuple[int, ...]:
        """Return the features of a reason, the most telling first."""
        order = most_telling(self.model, self.rows[i], self.distribution)
        rest = [j for j in order[self.mask[i][order]].tolist() if j not in self.forced]
        return (*self.forced, *rest)


def most_telling(model: Model, row: NDArray[Any], distribution: Any) -> NDArray[np.intp]:
    """Return the units of an instance by decreasing score; by mean cost if they are not binary.

    Of several rivals, the one that comes closest counts.
    """
    duel: LinearModel = model.closest(row)
    core = duel.binary_core
    if core is not None:
        return Instance(core, duel.core_rows(row[None, :])[0]).order
    means = law_of(model, distribution).means
    sign = 1 if duel.is_positive(row[None, :])[0] else -1
    with np.errstate(over="ignore", invalid="ignore"):  # 1e300 times 1e300 comes first all the same
        scale = float(np.abs(duel.weights).max()) or 1.0
        costs = np.nan_to_num(sign * (duel.weights / scale) * (row - means))
    return np.argsort(-model.sum_by_unit(costs[None, :])[0], kind="stable")


def _two_digits_up(value: float) -> str:
    """Print a positive number with two digits, rounded up."""
    if value == 0:
        return "0"
    exact = decimal_fraction(value)
    unit = Fraction(10) ** (math.floor(math.log10(value)) - 1)
    return f"{float(math.ceil(exact / unit) * unit):.2g}"


def _and(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
