"""SufficientReasonExplainer: beside `shap.Explainer`, with the same two calls."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import shap
from numpy.typing import NDArray
from scipy import sparse
from shap._serializable import Deserializer, Serializable, Serializer

from sklearn_probsr.core.dispatch import law_of
from sklearn_probsr.core.options import Options, Prices
from sklearn_probsr.exceptions import InvalidInputError
from sklearn_probsr.explain._explanation import ReasonExplanation
from sklearn_probsr.explain._shap_values import expected_scores, values_of_rows
from sklearn_probsr.explain.frames._flagged_rows import check_on_error, sift, warn_of
from sklearn_probsr.explain.jobs import Question, check_jobs, check_seed
from sklearn_probsr.explain.questions._row_answers import RowAnswers, alternatives_table
from sklearn_probsr.explain.questions._row_guarantees import (
    GuaranteeCurves,
    bounds_of_rows,
    curves_of_rows,
)
from sklearn_probsr.explain.questions._row_outlooks import outlooks_of
from sklearn_probsr.explain.questions._row_questions import (
    alternatives_of_rows,
    breaking_sets_of_rows,
    check_proves,
    outlook_line,
)
from sklearn_probsr.explain.questions._verification import verify
from sklearn_probsr.explain.rules._row_reader import RowReader
from sklearn_probsr.explain.subjects._grouped import grouped_subject
from sklearn_probsr.explain.subjects._masker import background_data, distribution_of
from sklearn_probsr.explain.subjects._subject_of import Prepared, subject_again, subject_of
from sklearn_probsr.explain.tables import Partitions
from sklearn_probsr.questions._alternatives import MOST_REASONS, Alternatives, check_limit
from sklearn_probsr.questions._breaking_sets import BreakingSet
from sklearn_probsr.questions._outlook import Outlook

__all__ = ["OPTIONS", "SufficientReasonExplainer", "refuse_options"]


OPTIONS = (
    "delta", "epsilon", "gamma", "include", "exclude", "max_size", "prove", "max_evals",
    "time_limit", "present_only", "supporting_only", "cost",
)  # fmt: skip
_SETTINGS = (
    *OPTIONS, "target", "versus", "method", "n_jobs", "seed", "feature_names", "output_names",
    "linearize_link", "on_error", "groups",
)  # fmt: skip
_BLOCK = "sklearn_probsr.SufficientReasonExplainer"
# What to write in place of options that shap's explainers have.
_OPTIONS = {
    "algorithm": "Leave it out: SHAP values of a linear model are exact.",
    "data": "Pass the data as masker.",
    "feature_dependence": "What replaces unknown features is what masker says.",
    "feature_perturbation": "What replaces unknown features is what masker says: data are put in "
    "their place whole rows at a time, which is 'interventional'; Matching(data) asks rows that "
    "share the facts instead.",
    "interactions": "Leave it out: a linear model has none.",
    "model_output": "Leave it out: values are in units of the decision function; "
    "explanation.as_guarantee() has those in probability.",
    "nsamples": "Leave it out: nothing is sampled; method='monte-carlo' does, with epsilon.",
}


class SufficientReasonExplainer(Partitions, shap.Explainer):
    """Explain a linear classifier by the few features that settle each decision.

    Parameters
    ----------
    model : fitted classifier or Pipeline, pair (coef, intercept), or LinearModel
        See `adapt` for what is supported.
    masker : None, "uniform", data, shap masker or distribution, default=None
        What may replace an unknown feature. Data (of the columns that the model takes; all rows of
        it are used) means `Background`: the unknown features are replaced together by those of a
        row, as SHAP does. None is uniform, for columns of 0 and 1; the command line takes the rows
        of its DATA instead. ``Marginals.fit(data)`` and ``Product.fit(data)`` are
        the explicit alternatives; ``Matching(data)`` replaces nothing and counts the rows that
        share the facts.
    link : callable or None, default=None
        None or `shap.links.identity`: values are in units of the decision function.
    delta : float, default=0.95
        The probability to guarantee.
    target : label or None, default=None
        The class to be explained as the positive one; see `adapt`.
    versus : label or None, default=None
        The class to compare it with, of an estimator that tells several apart.
    method : {"certified", "monte-carlo", "paper"}, default="certified"
        See `sufficient_reasons`.
    epsilon, gamma : float or None, default=None
        The slack in delta, and the probability that a sampling method fails.
    include, exclude : iterable of int or str, default=()
        Features that every reason must have, and must not have.
    max_size : int or None, default=None
        The most features that a reason may have.
    prove : {"auto", True, False}, default="auto"
        How hard to try to prove that no smaller set will do; see `sufficient_reasons`.
    max_evals : int or None, default=None
        The most sets of one size that a proof may look at in a row.
    time_limit : float, default=10.0
        The most seconds that proofs may take in a row with ``prove=True``, not counting those in
        which kernels are compiled.
    n_jobs : int or None, default=None
        How many jobs of joblib share the rows, on whichever backend is active; the result is the
        same for any number. None: one, or what `joblib.parallel_config` says.
    seed : int or None, default=None
        Of a sampling method.
    feature_names : sequence of str or None, default=None
        The names of the model's columns, if it was fitted without.
    output_names : str or None, default=None
        What the decision function is called in plots; made up from the classes when None, and from
        the threshold if that was moved.
    linearize_link : bool, default=True
        Accepted as in shap, of no effect: the link is the identity.
    on_error : {"flag", "raise"}, default="flag"
        What to do with a row that cannot be explained as asked. "flag": the others are explained,
        and its ``status`` and ``message`` say what is the matter: "unreachable", if delta cannot
        be reached with what is allowed (it has the best set, and the guarantee of that), or
        "invalid", if the model cannot take it (an empty reason, zeros for values, a guarantee of
        0 to 1, the prediction None). One warning counts them. "raise": the first is an error. What
        is wrong with all rows alike, such as a column too few, or numbers in all of them where the
        model knows 0 and 1 only, is one in any case.
    present_only : bool, default=False
        Whether only features that are there may be chosen, such as words that occur; see
        `sufficient_reasons`.
    supporting_only : bool, default=False
        Whether only facts that speak for the class may be chosen; see `sufficient_reasons`.
    groups : mapping of str to list of str, or None, default=None
        Features that are known or unknown together, and count as one: ``{"address": ["street",
        "city"]}``. Over data a group's columns come from one row; under `Uniform` and `Product`
        they are independent. `group_dummies` finds the columns that `pandas.get_dummies` made.
    cost : mapping, array-like or None, default=None
        What it costs to know each feature, by name (a group by its own) or one number for each: the
        cheapest reasons are looked for; see `sufficient_reasons`.
    **others : dict
        There are none: of options that shap's explainers have, such as ``algorithm``, the error
        says what to write instead.

    Attributes
    ----------
    linear_model : LinearModel
        The model that is explained.
    distribution : object
        What the guarantees speak of.
    scope : Scope
        Which sets are allowed, by ``include``, ``exclude`` and the like: what the minimality of
        reasons speaks of.
    expected_value : float or ndarray of shape (classes,)
        The expected decision function, the base value of every row, measured from the threshold:
        0 is where the class changes, also if a threshold was moved. Of several classes, the
        expected score of each.
    coef, intercept, mean : ndarray, float or ndarray, ndarray
        As `shap.LinearExplainer` has them, of the columns of ``linear_model``.
    data, data_feature_names, masker : ndarray or None, list of str, shap masker or None
        The background rows, the names of the features, and what replaces unknown ones by these
        rows; None without rows.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = [[0, 0, 1], [0, 1, 0], [1, 0, 0], [1, 1, 1]], [0, 0, 1, 1]
    >>> explainer = SufficientReasonExplainer(LogisticRegression(C=9).fit(X, y), X, delta=0.9)
    >>> reasons = explainer(X)
    >>> reasons.reason_size
    array([1, 1, 1, 1])
    >>> print(reasons.describe(3))
    Class 1 is kept with probability at least 1 over replacement by 4 background rows, \
given x0 = 1 (1 of 3 features; no smaller set reaches 0.9).
    """

    def __init__(
        self,
        model: Any,
        masker: Any = None,
        link: Any = None,
        delta: float = 0.95,
        target: Any = None,
        versus: Any = None,
        method: str = "certified",
        epsilon: float | None = None,
        gamma: float | None = None,
        include: Iterable[int | str] = (),
        exclude: Iterable[int | str] = (),
        max_size: int | None = None,
        prove: str | bool = "auto",
        max_evals: int | None = None,
        time_limit: float = 10.0,
        n_jobs: int | None = None,
        seed: int | None = None,
        feature_names: Sequence[str] | None = None,
        output_names: str | None = None,
        linearize_link: bool = True,
        on_error: str = "flag",
        present_only: bool = False,
        supporting_only: bool = False,
        groups: Any = None,
        cost: Any = None,
        **others: Any,
    ) -> None:
        refuse_options(others)
        if not (link is None or link is shap.links.identity):
            number = isinstance(link, int | float) and not isinstance(link, bool)
            hint = f" To ask for a level write delta={link!r}." if number else ""
            raise InvalidInputError(
                "link must be shap.links.identity: the values are in units of the decision "
                f"function, got {link!r}.{hint}"
            )
        self.model = model
        self._given_masker = masker
        self.link = shap.links.identity
        self.linearize_link = linearize_link
        self.delta = delta
        self.target = target
        self.versus = versus
        self.method = method
        self.epsilon = epsilon
        self.gamma = gamma
        self.include = _kept(include)
        self.exclude = _kept(exclude)
        self.max_size = max_size
        self.prove = prove
        self.max_evals = max_evals
        self.time_limit = time_limit
        self.n_jobs = check_jobs(n_jobs)
        self.seed = check_seed(seed)
        self.feature_names = None if feature_names is None else list(feature_names)
        self.output_names = output_names
        self.on_error = check_on_error(on_error)
        self.present_only = present_only
        self.supporting_only = supporting_only
        self.cost = cost
        if isinstance(masker, Prepared):
            subject = subject_again(model, masker, target, versus)
            law = masker.distribution
        else:
            subject = subject_of(model, masker, target, versus, feature_names)
            law = distribution_of(masker, subject.background)
        self.groups = groups
        subject = grouped_subject(subject, groups)
        self._subject, self.linear_model = subject, subject.model
        self.law = law_of(self.linear_model, law)
        self.distribution = self.law.distribution
        self.expected_value = expected_scores(self.law)
        options = Options(**{name: getattr(self, name) for name in OPTIONS})
        if cost is not None:  # read once, not for every piece of work
            options = replace(options, cost=Prices.of(cost, self.linear_model.unit_names))
        flag = on_error == "flag"
        self._question = Question(self.law, method, options, self.seed, flag=flag)
        # Checks the options.
        self.scope = self._question.search(subject.nothing).scope
        prepared = isinstance(masker, Prepared)
        self._reader = RowReader(subject, None if prepared else background_data(masker))

    @staticmethod
    def supports_model_with_masker(model: Any, masker: Any) -> bool:
        """Tell whether a model and a masker can be explained."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                SufficientReasonExplainer(model, masker)
        except Exception:  # a model or masker of any kind may break in any way
            return False
        return True

    def __call__(
        self,
        X: Any,
        *,
        max_evals: Any = "auto",
        main_effects: bool = False,
        error_bounds: bool = False,
        batch_size: Any = "auto",
        outputs: Any = None,
        silent: bool = False,
        alternatives: bool = False,
    ) -> ReasonExplanation:
        """Find the sufficient reason of every row.

        Parameters
        ----------
        X : DataFrame, array-like or sparse of shape (n, columns), or a single row
            The rows to explain, as the model takes them.
        max_evals, main_effects, error_bounds, batch_size, outputs : optional
            Accepted as in shap, of no effect: nothing is sampled by evaluations. (What a proof
            may cost is said when the explainer is made.)
        silent : bool, default=False
            Whether to hide the progress bar, which shows after some seconds of work.
        alternatives : bool, default=False
            Whether to find out, too, which features are in every minimum reason of a row and which
            in some; then `ReasonExplanation.describe` says it, and our plots mark it. This takes a
            fraction of the time of the reasons under `Uniform`, elsewhere several times as long.

        Returns
        -------
        ReasonExplanation
        """
        start = time.perf_counter()
        found = self._explain(X, silent, 2, alternatives)
        found.compute_time = time.perf_counter() - start
        return found

    def _explain(
        self, X: Any, silent: bool, stacklevel: int, alternatives: bool = False
    ) -> ReasonExplanation:
        """Find the reasons; a warning names the line so many calls above."""
        if alternatives:
            check_proves(self._question)
        taken = sift(self._subject, X, self.on_error)
        rows = taken.rows
        found = self._question.answer(taken.valid, self.n_jobs, silent)
        others = alternatives_of_rows(self._question, taken, found) if alternatives else None
        words = self._subject.words(taken.raw, found.sets)
        spelling = self._subject.spelling(found.sets)
        if words or spelling:
            found = replace(found, words=words, spelling=spelling)
        if taken.invalid:
            found = found.among(taken.at, rows, taken.invalid)
        reasons = replace(
            found,
            shown=self._subject.given(taken.display),
            of_texts=self._subject.takes_text,
            reader=self._reader,
        )
        if reasons.flagged:
            warn_of(reasons.status, stacklevel + 1, str(reasons.message[0]))
        return ReasonExplanation(
            reasons,
            None,
            np.repeat(np.asarray(self.expected_value)[None], len(rows), axis=0),
            taken.numbers,
            taken.display,
            self._subject.names,
            self._output_name,
            index=taken.index,
            alternatives=others,
        )

    @property
    def _output_name(self) -> str | list[str]:
        classes = self.linear_model.classes
        if len(classes) > 2:
            given = classes if self.output_names is None else self.output_names
            return [str(name) for name in given]
        if self.output_names is not None:
            return str(self.output_names)
        name = f"decision function of {classes[1]} against {classes[0]}"
        cut = self._subject.cut
        # A probability of one half is a score of 0, up to rounding.
        return f"{name}, from its threshold of {cut:.4g}" if abs(cut) > 1e-9 else name

    @property
    def cut(self) -> float:
        """The score from which the linear model measures; see `Adapted`."""
        return self._subject.cut

    def shap_values(
        self, X: Any, y: Any = None, *, silent: bool = True, check_additivity: bool = True
    ) -> NDArray[np.float64]:
        """Return the SHAP values alone, without looking for reasons.

        Parameters
        ----------
        X : DataFrame, array-like or sparse of shape (n, columns), or a single row
            The rows to explain, as the model takes them.
        y : optional
            Accepted as in shap, of no effect: it is the model that is explained.
        silent, check_additivity : bool, default=True
            Accepted as in shap, of no effect: nothing takes long, and with ``expected_value`` the
            values sum up to the decision function.

        Returns
        -------
        ndarray of shape (n, features), or (n, features, classes) for more than two
            Those of `ReasonExplanation`: zeros in an invalid row.
        """
        taken = sift(self._subject, X, self.on_error)
        taken.warn(2)
        values = values_of_rows(self.law, taken.rows)
        values[list(taken.invalid)] = 0.0
        return values

    def guarantee(self, X: Any, features: Any, *, tol: float = 1e-4) -> Any:
        """Enclose the probability that fixing some features of each row keeps its class.

        Parameters
        ----------
        X : DataFrame, array-like or sparse of shape (n, columns), or a single row
            As the estimator takes them.
        features : iterable of int or str, or one such for each row
            The features to fix, by name or position: any set, also one that another method found.
            ``reasons.reason_mask`` and ``reasons.to_frame()["reason"]`` are one for each row.
        tol : float, default=1e-4
            The width to aim for; see the function `guarantee`.

        Returns
        -------
        DataFrame
            With columns ``lower`` and ``upper``, one line for each row, and the index of X. An
            invalid row has 0 and 1; see ``on_error``.

        Examples
        --------
        >>> from sklearn.linear_model import LogisticRegression
        >>> from sklearn_probsr import SufficientReasonExplainer
        >>> X, y = [[0, 0, 1], [0, 1, 0], [1, 0, 0], [1, 1, 1]], [0, 0, 1, 1]
        >>> explainer = SufficientReasonExplainer(LogisticRegression(C=9).fit(X, y), X)
        >>> explainer.guarantee(X[:2], ["x1"])
           lower  upper
        0    0.5    0.5
        1    0.5    0.5
        """
        taken = sift(self._subject, X, self.on_error)
        return bounds_of_rows(self.law, taken, features, tol)

    def guarantee_curve(self, X: Any, *, tol: float = 1e-4) -> GuaranteeCurves:
        """Enclose the guarantee of every size along one order of the features of each row.

        Parameters
        ----------
        X : DataFrame, array-like or sparse of shape (n, columns), or a single row
            As the estimator takes them.
        tol : float, default=1e-4
            The width to aim for at each size.

        Returns
        -------
        GuaranteeCurves
            A sequence with the `GuaranteeCurve` of each row, and all of them as one frame:
            ``to_frame()``.

        Examples
        --------
        >>> from sklearn.linear_model import LogisticRegression
        >>> from sklearn_probsr import SufficientReasonExplainer
        >>> X, y = [[0, 0, 1], [0, 1, 0], [1, 0, 0], [1, 1, 1]], [0, 0, 1, 1]
        >>> explainer = SufficientReasonExplainer(LogisticRegression(C=9).fit(X, y), X)
        >>> explainer.guarantee_curve(X[:1]).to_frame().reset_index("size")
           size feature  lower  upper
        0     0    None    0.5    0.5
        0     1      x0    1.0    1.0
        0     2      x2    1.0    1.0
        0     3      x1    1.0    1.0
        """
        return curves_of_rows(self.law, sift(self._subject, X, self.on_error), tol)

    def alternatives(self, X: Any, *, limit: int = MOST_REASONS) -> RowAnswers[Alternatives]:
        """Tell which features are in every minimum reason of each row, and which in some.

        Parameters
        ----------
        X : DataFrame, array-like or sparse of shape (n, columns), or a single row
            As the estimator takes them.
        limit : int, default=1000
            The most reasons to enumerate of a row, when they are asked for.

        Returns
        -------
        RowAnswers
            A sequence with the `Alternatives` of each row, None where it is flagged (see
            ``on_error``). ``to_frame()`` has the columns ``size``, ``minimality``, ``necessary``,
            ``possible`` and ``undecided``, lists of names; if not all sets are allowed also
            ``scope``, those that all of it speaks of.

        Examples
        --------
        >>> from sklearn.linear_model import LogisticRegression
        >>> from sklearn_probsr import SufficientReasonExplainer
        >>> X, y = [[0, 0, 1], [0, 1, 0], [1, 0, 0], [1, 1, 1]], [0, 0, 1, 1]
        >>> explainer = SufficientReasonExplainer(LogisticRegression(C=9).fit(X, y), X)
        >>> print(explainer.alternatives(X)[0])
        Every reason of this size (1 feature) needs x0; no more features occur in some.
        """
        most = check_limit(limit)
        check_proves(self._question)
        taken = sift(self._subject, X, self.on_error)
        reasons = self._question.answer(taken.valid, None, silent=True)
        found = alternatives_of_rows(self._question, taken, reasons, most)
        if reasons.flagged or taken.invalid:
            everything = reasons.among(taken.at, taken.rows, taken.invalid)
            warn_of(everything.status if taken.invalid else reasons.status, 2)
        return alternatives_table(found, self.law.model.unit_names, self.scope, taken.index)

    def breaking_sets(self, X: Any) -> RowAnswers[BreakingSet]:
        """Find for each row the fewest features without which no others settle the decision.

        Parameters
        ----------
        X : DataFrame, array-like or sparse of shape (n, columns), or a single row
            As the estimator takes them.

        Returns
        -------
        RowAnswers
            A sequence with the `BreakingSet` of each row; None where nothing breaks the decision,
            and where the row is invalid (see ``on_error``). ``to_frame()`` has the columns
            ``features`` (lists of names), ``size``, ``minimality``, ``guarantee_lower`` and
            ``guarantee_upper``; if not all sets are allowed also ``scope``, those that the others
            were sought among.

        Examples
        --------
        >>> from sklearn.linear_model import LogisticRegression
        >>> from sklearn_probsr import SufficientReasonExplainer
        >>> X, y = [[0, 0, 1], [0, 1, 0], [1, 0, 0], [1, 1, 1]], [0, 0, 1, 1]
        >>> explainer = SufficientReasonExplainer(LogisticRegression(C=9).fit(X, y), X)
        >>> explainer.breaking_sets(X)[0].feature_names
        ('x0',)
        """
        check_proves(self._question)
        taken = sift(self._subject, X, self.on_error)
        found = breaking_sets_of_rows(self._question, taken, self.scope)
        taken.warn(2)
        return found

    def outlook(self, X: Any, *, unknown: Any, cost: Any = None) -> RowAnswers[Outlook]:
        """Tell what is settled of rows of which some features are not known yet.

        Parameters
        ----------
        X : DataFrame, array-like of shape (n, columns), a single row, or a mapping or list of them
            As the estimator takes them; anything may stand in cells that are unknown. Columns that
            are named in ``unknown`` may be left out.
        unknown : iterable of int or str, or a marker
            The columns that are not known, in all rows; or what marks such cells, such as NaN,
            None, -1 or "?". NaN is the Pipeline's missing value unless it, or None, is the marker.
            A feature of several columns, or a group, is unknown if one of them is.
        cost : mapping, array-like or None, default=None
            What it costs to learn a feature, positive numbers; 1 for those that a mapping lacks.

        Returns
        -------
        RowAnswers
            A sequence with the `Outlook` of each row, None where it is invalid (see ``on_error``);
            its ``tell`` takes raw values, of a group one for each of its columns. ``to_frame()``
            has the columns ``prediction``, ``settled``, ``probability_lower``,
            ``probability_upper`` and ``ask``, the feature to ask for next.

        Examples
        --------
        >>> from sklearn.linear_model import LogisticRegression
        >>> from sklearn_probsr import SufficientReasonExplainer
        >>> X, y = [[0, 0, 1], [0, 1, 0], [1, 0, 0], [1, 1, 1]], [0, 0, 1, 1]
        >>> explainer = SufficientReasonExplainer(LogisticRegression(C=9).fit(X, y), X)
        >>> seen = explainer.outlook([[None, 1, 0]], unknown=None)[0]
        >>> seen.settled, seen.next["feature"].tolist(), seen.tell("x0", 1).prediction
        (False, ['x0'], 1)
        """
        # The reason of an outlook is the smallest part of what is known, whatever was paid for it.
        asked = (replace(self._question.options, cost=None), X, unknown, cost, self.on_error)
        found, taken = outlooks_of(self._subject, self.law, self._given_masker, *asked)
        taken.warn(2)
        return RowAnswers(found, outlook_line, taken.index)

    def verify(self, X: Any, *, samples: int = 2000, random_state: Any = 0) -> Any:
        """Explain rows, and count their guarantees again by the estimator's own predictions.

        The raw facts of each reason are put into the raw background rows, the estimator predicts
        them, and its predictions are counted: none of the engines takes part. Over independent
        features completions are drawn instead.

        Parameters
        ----------
        X : DataFrame, array-like or sparse of shape (n, columns), or a single row
            As the estimator takes them.
        samples : int, default=2000
            How many completions to draw of each row, over independent features.
        random_state : int, Generator or None, default=0
            What to draw them by.

        Returns
        -------
        DataFrame
            One line for each row, with its index: ``claimed_lower`` and ``claimed_upper``, the
            guarantee as explained; ``counted``, the share of completions to which the estimator
            gives the row's class; ``near``, the share that is within rounding of the threshold,
            and may be on either side; and ``agrees``. Where completions are drawn, they agree if
            they are no further apart than chance lets any of all rows be, but for one call in a
            million. A row that could not be explained has NaN, and agrees with nothing.

        Raises
        ------
        InvalidInputError
            If there are no raw rows to count in.
        """
        return verify(self, X, samples, random_state)

    # --- under the names that shap has ---------------------------------------------------------

    @property
    def coef(self) -> NDArray[np.float64]:
        """The weights of the linear model's columns, (columns,) or (classes, columns)."""
        weights = self.linear_model.outputs[0]
        return weights if self.linear_model.by_class else weights[0]

    @property
    def intercept(self) -> Any:
        """What is added to them, measured from the threshold; of several classes one for each."""
        constants = self.linear_model.outputs[1]
        return constants if self.linear_model.by_class else float(constants[0])

    @property
    def mean(self) -> NDArray[np.float64]:
        """What the linear model's columns are on average: values are 0 there."""
        return self.law.means

    @property
    def data(self) -> Any:
        """The background rows as an array, or sparse; None if the distribution needs none."""
        rows = self._background
        return rows if rows is None or sparse.issparse(rows) else np.asarray(rows)

    @property
    def _background(self) -> Any:
        given = self._given_masker
        return background_data(given.distribution if isinstance(given, Prepared) else given)

    @property
    def data_feature_names(self) -> list[str]:
        """What the features are called that values are of."""
        return list(self._subject.names)

    @property
    def masker(self) -> Any:
        """What puts background rows in place of unknown columns, as a masker of shap does.

        What was given, if it is one, or if there are no rows with columns.
        """
        given, rows = self._given_masker, self._background
        if isinstance(given, shap.maskers.Masker) or rows is None:
            return given
        rows = rows if hasattr(rows, "shape") else np.asarray(rows)
        if len(rows.shape) != 2:
            return given
        return shap.maskers.Independent(rows, max_samples=rows.shape[0])

    def explain_row(self, *row_args: Any, **options: Any) -> dict[str, Any]:
        """Return what `shap.LinearExplainer.explain_row` does of a single row.

        Parameters
        ----------
        *row_args : tuple
            The row, as the model takes it.
        **options : dict
            Accepted as in shap, of no effect.

        Returns
        -------
        dict
            ``values`` and ``main_effects``, of shape (features, 1) or (features, classes), which
            are the same; ``expected_values``; ``mask_shapes``; ``clustering``, which is None.
        """
        if len(row_args) != 1:
            raise InvalidInputError(f"explain_row takes one row, got {len(row_args)} arguments.")
        values = self.shap_values(row_args[0])[0]
        values = values.reshape(len(values), -1)
        return {
            "values": values,
            "expected_values": self.expected_value,
            "mask_shapes": (values.shape[:1],),
            "main_effects": values,
            "clustering": None,
        }

    # --- files and pickles ----------------------------------------------------------------------

    # Without what follows from the rest, and with one copy of the background: the one that counts,
    # in the columns of the linear model. What raw rows had to tell is in it and in that model.
    def __getstate__(self) -> dict[str, Any]:
        whole = self._subject.whole
        prepared = Prepared(whole.model, self.distribution, whole.columns)
        settings = {name: getattr(self, name) for name in _SETTINGS}
        return {"model": self.model, "masker": prepared, **settings}

    def __setstate__(self, state: dict[str, Any]) -> None:
        type(self).__init__(self, **state)

    def save(self, out_file: Any, model_saver: Any = "auto", masker_saver: Any = "auto") -> None:
        """Write the explainer to an open binary file, as shap's explainers do.

        Parameters
        ----------
        out_file : file
            Open for writing, in binary.
        model_saver, masker_saver : "auto" or callable, default="auto"
            How to write the model and the masker; "auto" pickles them.
        """
        Serializable.save(self, out_file)
        with Serializer(out_file, _BLOCK, version=0) as s:
            s.save("model", self.model, model_saver)
            s.save("masker", self._given_masker, masker_saver)
            s.save("settings", {name: getattr(self, name) for name in _SETTINGS})

    @classmethod
    def load(
        cls,
        in_file: Any,
        model_loader: Any = None,
        masker_loader: Any = None,
        instantiate: bool = True,
    ) -> Any:
        """Read an explainer from an open binary file.

        Parameters
        ----------
        in_file : file
            One that you trust: it may hold pickles.
        model_loader, masker_loader : callable or None, default=None
            How to read what a custom saver wrote.
        instantiate : bool, default=True
            Whether to return an explainer, or the arguments to make one.
        """
        if instantiate:
            return cls._instantiated_load(
                in_file, model_loader=model_loader, masker_loader=masker_loader
            )
        with Deserializer(in_file, _BLOCK, min_version=0, max_version=0) as s:
            return {
                "model": s.load("model", _asked(model_loader)),
                "masker": s.load("masker", _asked(masker_loader)),
                **s.load("settings"),
            }


def refuse_options(options: dict[str, Any]) -> None:
    """Say of options of shap's explainers what to write here, and of others that there are none."""
    for name, value in options.items():
        if name not in _OPTIONS:
            raise TypeError(
                f"SufficientReasonExplainer() got an unexpected keyword argument {name!r}"
            )
        raise InvalidInputError(
            f"SufficientReasonExplainer takes no {name}, got {_told(value)}. {_OPTIONS[name]}"
        )


def _told(value: Any) -> str:
    """Return a value in a few words: of tables, which take many lines, their kind and shape."""
    if isinstance(value, str | bool | int | float | None):
        return f"{value!r:.60}"
    shape = f" of shape {value.shape}" if hasattr(value, "shape") else ""
    return f"a {type(value).__name__}{shape}"


def _asked(loader: Any) -> Any:
    """Return a loader that a caller chose; `shap.Explainer.load` brings some that it may not have.

    They read shap's own models and maskers, which are recognised without them.
    """
    owner = getattr(loader, "__self__", None)
    return None if isinstance(owner, type) and issubclass(owner, Serializable) else loader


def _kept(features: Any) -> Any:
    """Return features that can be gone through again; what is no collection is refused later."""
    if isinstance(features, str) or not isinstance(features, Iterable):
        return features
    return tuple(features)
