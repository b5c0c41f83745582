"""ReasonExplanation: sufficient reasons in the form that shap's plots draw."""

from __future__ import annotations

import operator
import os
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import shap
from numpy.typing import NDArray

from sklearn_probsr.core.dispatch import law_of
from sklearn_probsr.exceptions import InvalidInputError
from sklearn_probsr.explain._joined_explanations import explanations, joined, refolded
from sklearn_probsr.explain._pending_values import filled_values
from sklearn_probsr.explain._shap_values import expected_scores, values_inside
from sklearn_probsr.explain._sliced_explanation import SlicedExplanation
from sklearn_probsr.explain.frames._reason_frames import gains, table
from sklearn_probsr.explain.frames._row_index import ByLabel, built_index, called_by_place
from sklearn_probsr.explain.rules._rule_sets import Rules, rules_of
from sklearn_probsr.model.sparse import SparseRows
from sklearn_probsr.questions._alternatives import Alternatives
from sklearn_probsr.results._notebook_html import SHOWN_ROWS
from sklearn_probsr.results._reason import SufficientReason
from sklearn_probsr.results._reason_html import reason_card, reasons_table
from sklearn_probsr.results._reason_text import TOLD_ROWS, by_place, reasons_text
from sklearn_probsr.results.codec import check_max_bytes, refusing
from sklearn_probsr.results.files import read_explanation, write_explanation

__all__ = ["ClassValues", "ReasonExplanation"]


class ClassValues(NamedTuple):
    """Values of the score of each class; see `ReasonExplanation.per_class`."""

    base_values: list[float]
    values: list[NDArray[np.float64]]


def _named(output: str, view: str) -> str:
    """Return the name of an output, which says so where values are of reasons alone."""
    return f"{output} (reason only)" if view == "reason" else output


class ReasonExplanation(SlicedExplanation):
    """Sufficient reasons as a `shap.Explanation`.

    ``values`` are SHAP values: what each feature adds to the decision function over what it adds
    on average, ``c_u(x) - E[C_u]``, in a reason or not. ``base_values`` are the expected decision
    function, measured from the threshold: below 0 is the first class, above it the second. Together
    they are the decision function of the row, so that every plot of shap is true. Beside them is
    the reason: ``reason_mask`` says which features are in it, and names of one row are written with
    a mark there (``str(name)``; they are equal to the names without). ``reason_only`` has zeros
    for all others. Made by `SufficientReasonExplainer`.

    Parameters
    ----------
    reasons : SufficientReasons
        The reasons themselves, with the model and the distribution that they speak of.
    values : ndarray of shape (n, features) or (n, features, classes), or None
        With a third axis for a model of more than two classes. None: SHAP values of the rows. Of
        sparse rows, those of the features in reasons, behind each other, with zeros for others.
    base_values : ndarray of shape (n,) or (n, classes)
        What the values of a row are added to.
    data : ndarray of shape (n, features)
        The features as numbers: as they were given, NaN where they are missing, and codes for
        categories. Of a single row that was a text, its words, as `shap.plots.text` wants them.
    display_data : ndarray of shape (n, features) or None
        The features as a person reads them.
    feature_names : sequence of str
        What the features are called.
    output_names : str or sequence of str
        What the values add up to; of several classes, the name of each.
    view : {"all", "reason", "guarantee"}, default="all"
        What values are: SHAP values of all features, or of those in the reason alone (see
        `reason_only`), or gains in probability (see `as_guarantee`).
    index : sequence or None, default=None
        What the rows are called; None: by their numbers.
    alternatives : sequence of Alternatives or None, default=None
        What all minimum reasons of each row share; None: nobody asked.

    Attributes
    ----------
    reason_mask : ndarray of bool, shape (n, features)
        Which features are in each reason.
    reason_size : ndarray of int, shape (n,)
        How many features each reason has.
    guarantee_lower, guarantee_upper : ndarray of float, shape (n,)
        Bounds of the probability that the class is kept.
    minimality : ndarray of str, shape (n,)
        What was proved; see `SufficientReason`.
    size_lower : ndarray of int, shape (n,)
        The size below which no set reaches delta, as far as was proved.
    stopped : ndarray of str, shape (n,)
        How the proof of that ended: "proved", "time", "exhausted", or nothing if none was tried.
    cost : ndarray of float, shape (n,)
        What the features of each reason cost; their number, if no costs were given.
    cost_lower : ndarray of float, shape (n,)
        The cost below which no set reaches delta, as far as was proved.
    prediction : ndarray of shape (n,)
        The class of each row; None of an invalid one.
    status : ndarray of str, shape (n,)
        "ok"; "unreachable" where delta cannot be reached with what is allowed, and the best set is
        given; "invalid" where the model cannot take the row: its reason is empty, its values are
        zero, its guarantee is 0 to 1. ``reasons[reasons.status == "ok"]`` leaves those out.
    message : ndarray of str, shape (n,)
        Why a row is not "ok".
    index : pandas Index
        What the rows are called: the index of the frame that was explained.
    loc : ByLabel
        The rows by what they are called: ``reasons.loc["p3"]``, or several by a list. Brackets,
        here and of all that has one thing for each row, and `describe` take places.
    alternatives : RowAnswers, Alternatives or None
        The `Alternatives` of each row, or of the only one, None where it is flagged; None if the
        explainer was not asked for them (``explainer(X, alternatives=True)``). With them, sentences
        and pictures tell which features every minimum reason has. They are not saved.
    delta : float
        The probability that was asked for.
    distribution : object
        What the guarantees speak of.

    Notes
    -----
    The fields go along with every kind of indexing, copying and pickling. An aggregate
    (``mean(0)``, ``abs``, arithmetic) is no longer made of reasons: it is a plain
    `shap.Explanation`.
    """

    def _told(self, i: int | None = None) -> SufficientReason:
        """Return the reason of a row."""
        instances = np.atleast_1d(self._at)
        if i is None and len(instances) > 1:
            raise InvalidInputError(
                f"describe needs the number of a row, this explanation has {len(instances)}. "
                "Write describe(0)."
            )
        if not len(instances):
            raise InvalidInputError("describe needs a row, this explanation has none.")
        try:
            at = operator.index(0 if i is None else i)
            return self._reasons[int(instances[at])]
        except (IndexError, TypeError):
            named: Any = i
            labelled = np.ndim(named) == 0 and named in self.index
            hint = "" if called_by_place(self.index) else " A row by its label is loc[label]."
            hint = f" That is a label: write loc[{i!r}].describe()." if labelled else hint
            raise InvalidInputError(
                f"describe takes the place of a row, 0 to {len(instances) - 1}, got {i!r}.{hint}"
            ) from None

    def describe(self, i: int | None = None) -> str:
        """Say in a sentence why a row got its class.

        Parameters
        ----------
        i : int or None, default=None
            The place of the row, as in ``reasons[i]``; None if there is only one. By what it is
            called: ``reasons.loc[label].describe()``.

        Returns
        -------
        str
            With a second sentence on the other reasons of that size, if ``alternatives`` are there.
        """
        told, others = str(self._told(i)), self.alternatives
        one = others if self._at.ndim == 0 or others is None else others[0 if i is None else i]
        return told if one is None else f"{told} {one.words(sized=False)}"

    @property
    def loc(self) -> ByLabel:
        """The rows by what they are called: ``reasons.loc["p3"]``; ``reasons[3]`` is the fourth."""
        return ByLabel(self if self._at.ndim else self._batch("loc"), self.index)

    def __repr__(self) -> str:
        """Return the first rows as a table; one row is its sentence, and a part of one shap's."""
        if not np.array_equal(self._units, np.arange(self._reasons.model.n_units)):
            return str(shap.Explanation.__repr__(self))
        if self._at.ndim == 0:
            return self.describe()
        told = (self._reasons[self._at[:TOLD_ROWS]], self.index)
        return reasons_text(*told, self._reasons, by_label=not called_by_place(self.index))

    def _repr_html_(self) -> str:
        at, names = np.atleast_1d(self._at), self.index
        if self._at.ndim == 0:
            others = self.alternatives
            more = "" if others is None else others.words(sized=False)
            return reason_card(self._reasons[int(at[0])], names[0], more)
        first = self._reasons[at[:SHOWN_ROWS]]
        places = "" if called_by_place(names) or not len(at) else by_place(names[0])
        return reasons_table(first, names, len(at), self._reasons, places)

    def to_frame(self) -> Any:
        """Return one line for each row: class, reason, guarantee, and what was proved.

        Returns
        -------
        DataFrame
            With columns ``prediction``, ``reason`` (the names, the most telling first),
            ``reason_size``, ``against`` (the names of those in it that speak against the class),
            ``guarantee_lower``, ``guarantee_upper``, ``minimality``, ``distribution``, ``status``
            and ``message``, and the index of the frame that was explained. If not all sets were
            allowed also ``scope``, the sets that the minimality speaks of ("of the features
            allowed"), and if costs were given ``cost`` and ``cost_lower``, behind ``minimality``.
            Under `Matching` also
            ``coverage``, the share of the rows held out that share the facts, how many those are,
            and how many of them keep the class (``matching_rows``, ``kept_rows``).
        """
        return table(self.reasons, self.index)

    def rules(self, X: Any = None, held_out: Any = None) -> Rules:
        """Widen the facts of every reason to a rule, and count the rows that satisfy it.

        Whoever satisfies a rule gets its class with probability at least delta when the other
        features are replaced; see `Rule`. Not every row that satisfies it has the class: how many
        do is its precision.

        Parameters
        ----------
        X : DataFrame, array-like or sparse of shape (n, columns), or None, default=None
            Rows as the explainer takes them, to count over: ``coverage`` is the share of them that
            satisfy a rule, ``precision`` the share of those to which the model gives its class.
            None: the rows of the background, if there is one.
        held_out : DataFrame, array-like or sparse, or None, default=None
            More rows, that neither the background nor the rows explained nor ``X`` have, drawn as
            the rows of interest are: the precision over them has a Clopper-Pearson bound, for each
            rule. Of a model with real-valued features, rows that are there as well are left out;
            elsewhere equal rows may be different ones, and your word is taken.

        Returns
        -------
        Rules
            One for each row but the invalid ones.

        Raises
        ------
        InvalidInputError
            Under `Matching`, where facts are equalities, and where there is nothing to widen.
        """
        batch = self._batch("rules")
        return rules_of(batch.reasons, batch.index, X, held_out)

    @property
    def reason_only(self) -> ReasonExplanation:
        """The same explanation with zeros outside the reasons.

        SHAP values of the few features that settle the decision. They no longer sum up to the
        decision function, which the name of the output says; a waterfall of one row ends where its
        reason alone carries the average.

        Examples
        --------
        >>> from sklearn.linear_model import LogisticRegression
        >>> from sklearn_probsr import SufficientReasonExplainer
        >>> X, y = [[0, 0, 1], [0, 1, 0], [1, 0, 0], [1, 1, 1]], [0, 0, 1, 1]
        >>> reasons = SufficientReasonExplainer(LogisticRegression(C=9).fit(X, y), X)(X)
        >>> (reasons.reason_only.values != 0).sum(axis=1)
        array([1, 1, 1, 1])
        >>> reasons.reason_only.output_names
        'decision function of 1 against 0 (reason only)'
        """
        if self.view != "all":
            return self
        batch = self._batch("reason_only")
        told, by_class = batch.reasons, batch.base_values.ndim == 2
        if batch._pending is None:
            inside = told.mask[:, :, None] if by_class else told.mask
            values = np.where(inside, batch.values, 0.0)
        else:
            values = values_inside(told, by_class)
        names = batch.output_names
        view = ReasonExplanation(
            told,
            values,
            batch.base_values,
            *batch._facts,
            batch.feature_names,
            _named(names, "reason")
            if isinstance(names, str)
            else [_named(name, "reason") for name in names],
            "reason",
            batch.index,
            batch._others,
        )
        return view[0] if self._at.ndim == 0 else view

    def as_guarantee(self) -> ReasonExplanation:
        """Return the same reasons in units of probability.

        The features of a reason are fixed one after the other, in its order. ``base_values`` is
        the guarantee of nothing, each value is what a feature adds, and they sum up to the
        guarantee of the reason. (Lower bounds throughout; where guarantees are exact, so are
        these. With features that can cost or gain a value may be negative.) Every set on the way
        is bounded once, however many rows share it; that is most of the cost, about as much as
        `guarantee` takes for each.

        Returns
        -------
        ReasonExplanation
        """
        batch = self._batch("as_guarantee")
        known = batch.reasons.status != "invalid"
        labels = {str(label) for label in batch.reasons.prediction[known].tolist()}
        name = f"class {labels.pop()}" if len(labels) == 1 else "the class"
        values, base = gains(batch.reasons)
        view = ReasonExplanation(
            batch.reasons,
            values if batch._pending is not None else filled_values(batch.reasons.sets, values),
            base,
            *batch._facts,
            batch.feature_names,
            f"probability that {name} is kept",
            "guarantee",
            index=batch.index,
            alternatives=batch._others,
        )
        return view[0] if self._at.ndim == 0 else view

    @property
    def _facts(self) -> tuple[Any, Any]:
        """The features as numbers, and as a person reads them."""
        if self._pending is None:
            return self._s.data, self._s.display_data
        return self._pending.data, self._pending.display

    def _batch(self, what: str) -> ReasonExplanation:
        """Return it with one line for each row, also if there is only one; ``what`` needs that."""
        units, n = np.atleast_1d(self._units), self._reasons.model.n_units
        if not np.array_equal(units, np.arange(n)):
            raise InvalidInputError(
                f"{what} needs all {n} features in their order, this explanation has "
                f"{len(units)} of them. Slice rows only, as in reasons[:10]."
            )
        single = self._at.ndim == 0

        def lines(array: Any) -> Any:
            return np.asarray(array)[None] if single else np.asarray(array)

        outputs, pending = self.output_names, self._pending
        if pending is None:
            display = self._s.display_data
            shown = None if display is None else lines(display)
            arrays = (lines(self.values), lines(self.base_values), lines(self._s.data), shown)
        else:
            arrays = pending.parts
        return ReasonExplanation(
            self.reasons,
            *arrays,
            list(self._names),
            str(outputs) if isinstance(outputs, str) else [str(name) for name in outputs],
            self.view,
            self.index,
            self._told_others,
        )

    @property
    def _told_others(self) -> list[Alternatives | None] | None:
        """The alternatives of these rows, one each."""
        others = self._others
        return None if others is None else [others[i] for i in np.atleast_1d(self._at).tolist()]

    @classmethod
    def concatenate(cls, parts: Iterable[ReasonExplanation]) -> ReasonExplanation:
        """Put explanations of one explainer behind each other, as one with all their rows.

        (``+`` adds values, as in shap.)

        Parameters
        ----------
        parts : iterable of ReasonExplanation
            Of the same model, distribution, delta and method.

        Returns
        -------
        ReasonExplanation
            With their indices behind each other; where all of them number rows from 0 on, the
            numbers go on. It has alternatives if all of them have.
        """
        batches = [part._batch("concatenate") for part in explanations(parts)]
        return cls(*joined(batches))

    def of_prediction(self) -> ReasonExplanation:
        """Return the values of each row's own class, of a model of several classes.

        Returns
        -------
        ReasonExplanation
            With values of shape (n, features), as plots of one output expect them; itself, if it
            has but one output.
        """
        if np.ndim(self.base_values) == self._at.ndim:
            return self
        batch = self._batch("of_prediction")
        told = batch.reasons
        own, each = told.model.winners(told.rows), np.arange(len(told))
        values: Any = None
        if batch._pending is None:
            values = batch.values[each, :, own]
        elif batch.view != "all":
            values = values_inside(told, by_class=False)
        view = ReasonExplanation(
            told,
            values,
            batch.base_values[each, own],
            *batch._facts,
            batch.feature_names,
            _named("score of the predicted class", batch.view),
            batch.view,
            batch.index,
            batch._others,
        )
        return view[0] if self._at.ndim == 0 else view

    def per_class(self) -> ClassValues:
        """Return one array of values for each class, as some libraries want those of two as well.

        Of two classes the values of the first are those of the second with the other sign.

        Returns
        -------
        ClassValues
            ``base_values``, a float for each class, and ``values``, an array of shape (n, features)
            for each.

        Examples
        --------
        >>> from sklearn.linear_model import LogisticRegression
        >>> from sklearn_probsr import SufficientReasonExplainer
        >>> X, y = [[0, 0, 1], [0, 1, 0], [1, 0, 0], [1, 1, 1]], [0, 0, 1, 1]
        >>> reasons = SufficientReasonExplainer(LogisticRegression(C=9).fit(X, y), X)(X)
        >>> base_values, values = reasons.per_class()
        >>> len(base_values), [part.shape for part in values]
        (2, [(4, 3), (4, 3)])
        """
        batch = self._batch("per_class")
        model, values = batch.reasons.model, batch.values
        if batch.in_probability or values.ndim != 2 + model.by_class:
            raise InvalidInputError(
                "per_class needs values of the score of each class, this explanation has those of "
                f"{batch.output_names!r}. Call it on what the explainer returned."
            )
        base = expected_scores(law_of(model, batch.distribution))
        if model.by_class:
            outputs = range(values.shape[2])
            return ClassValues(base.tolist(), [values[:, :, k] for k in outputs])
        return ClassValues([-base, base], [0.0 - values, values])

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the explanation to a file, without pickle.

        Parameters
        ----------
        path : path-like
            A NumPy archive; by custom it ends in ``.npz``. It is replaced at once or not at all.
        """
        batch = self._batch("save")
        own, pending, reasons = batch.reasons.shown, batch._pending, batch.reasons
        if pending is None and isinstance(own, SparseRows):  # it was filled in since
            pending = refolded(batch)
            if pending is None:
                reasons = replace(reasons, shown=own.toarray())
        display: Any = None
        if pending is not None:  # what a person reads is what the reasons know, or the data
            values, data = pending.values, pending.data
        else:
            display, values, data = batch.display_data, batch.values, batch.data
        given = display is not None and (own is None or not np.array_equal(display, own))
        told = {
            "data": data,
            "base_values": batch.base_values,
            "values": values,  # None: they follow from the rows
            "feature_names": batch.feature_names,
            "output_names": batch.output_names,
            "display_data": display if given else None,
            "single": self._at.ndim == 0,
            "view": batch.view,
            "index": batch.index,
        }
        write_explanation(Path(path), reasons, told)

    @classmethod
    def load(
        cls, path: str | os.PathLike[str], *, max_bytes: int | None = None
    ) -> ReasonExplanation:
        """Read an explanation that was saved.

        The file is not trusted: it can run no code, every value in it is checked, and nothing is
        unpacked before the sizes that it declares are known to be bearable.

        Parameters
        ----------
        path : path-like
            Where the file is.
        max_bytes : int or None, default=None
            The most bytes that its arrays and texts may take, unpacked. None: 64 MiB, or 50 times
            the size of the file if that is more.

        Returns
        -------
        ReasonExplanation

        Raises
        ------
        InvalidInputError
            If it is not what `save` writes; the message names the member that is wrong.
        """
        check_max_bytes(max_bytes)
        with (
            Path(path).open("rb") as file,
            refusing(f"{path} is not a file that ReasonExplanation.save wrote with this version"),
        ):
            reasons, told = read_explanation(file, max_bytes)
            single = told.pop("single")
            loaded = cls(reasons, **{**told, "index": built_index(told["index"])})
        return loaded[0] if single else loaded
