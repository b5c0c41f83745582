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

from sklearn_probsr.core.dispatch import law_of
from sklearn_probsr.core.options import Options
from sklearn_probsr.core.prices import Prices
from sklearn_probsr.exceptions import InvalidInputError
from sklearn_probsr.explain._explanation import ReasonExplanation
from sklearn_probsr.explain._linear_attributes import LinearAttributes, refuse_options
from sklearn_probsr.explain._saved_explainer import OPTIONS, SavedExplainer
from sklearn_probsr.explain._shap_values import expected_scores, values_of_rows
from sklearn_probsr.explain.frames._flagged_rows import check_on_error, sift, warn_of
from sklearn_probsr.explain.jobs import Question, check_jobs, check_seed
from sklearn_probsr.explain.questions._row_guarantees import RowGuarantees
from sklearn_probsr.explain.questions._row_questions import RowQuestions
from sklearn_probsr.explain.questions._verification import Verified
from sklearn_probsr.explain.rules._row_reader import RowReader
from sklearn_probsr.explain.subjects._grouped import grouped_subject
from sklearn_probsr.explain.subjects._masker import background_data, distribution_of
from sklearn_probsr.explain.subjects._subject_of import Prepared, subject_again, subject_of
from sklearn_probsr.explain.tables import Partitions

__all__ = ["SufficientReasonExplainer"]


class SufficientReasonExplainer(
    LinearAttributes, RowGuarantees, Partitions, RowQuestions, Verified, SavedExplainer,
    shap.Explainer,
):  # fmt: skip
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
            self._check_proves()
        taken = sift(self._subject, X, self.on_error)
        rows = taken.rows
        found = self._question.answer(taken.valid, self.n_jobs, silent)
        others = self._alternatives(taken, found) if alternatives else None
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


def _kept(features: Any) -> Any:
    """Return features that can be gone through again; what is no collection is refused later."""
    if isinstance(features, str) or not isinstance(features, Iterable):
        return features
    return tuple(features)
