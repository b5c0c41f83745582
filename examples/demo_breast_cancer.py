"""Which few facts settle each diagnosis of a linear classifier, and how sure is that?

Thirty measurements of a breast tumour become thirty yes/no facts ("is it above the median?"), a
logistic regression learns from them, and a few of its answers are explained.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

from sklearn_probsr import LinearModel, SufficientReason, sufficient_reasons

DELTA = 0.95
FEW = 7


def percent(lower: float) -> str:
    """Print a guarantee in percent, rounded down: it must not promise more than was proved."""
    return f"{math.floor(Fraction(repr(lower)) * 1000) / 10:.1f}%"


def chosen_rows(model: LinearModel, rows: np.ndarray) -> list[tuple[str, int]]:
    """Pick for each class the row with the median margin and the one nearest the threshold."""
    margins, predicted = np.abs(model.margin(rows)), model.predict(rows)
    picked = []
    for label in model.classes:
        inside = np.flatnonzero(predicted == label)
        inside = inside[np.argsort(margins[inside])]
        picked += [("a typical case", inside[len(inside) // 2]), ("a close call", inside[0])]
    return picked


def show(title: str, reason: SufficientReason, certain: SufficientReason) -> None:
    """Print one explanation."""
    d, width = len(reason.partial_instance), max(map(len, reason.feature_names), default=0)
    print(f"\n{title}")
    for name, i in zip(reason.feature_names, reason.features, strict=True):
        print(f"    {name + ':':<{width + 1}}  {'yes' if reason.partial_instance[i] else 'no'}")
    given = {0: "No fact at all", 1: f"This 1 fact of {d}"}.get(
        reason.size, f"These {reason.size} facts of {d}"
    )
    fewest = "no smaller set reaches" if reason.minimality == "minimum" else "near the fewest for"
    print(
        f"  {given} keep{'s' if reason.size < 2 else ''} the prediction in at least "
        f"{percent(reason.guarantee.lower)} of {reason.distribution};\n"
        f"  {fewest} {reason.delta:.0%}. To keep it in all of them takes {certain.size} facts."
    )


def main() -> None:
    data = load_breast_cancer()
    train, test, y_train, y_test = train_test_split(
        data.data, data.target, test_size=0.25, random_state=0, stratify=data.target
    )
    medians = np.median(train, axis=0)
    classifier = LogisticRegression(max_iter=1_000).fit(train > medians, y_train)
    rows = test > medians

    # scikit-learn says class 1 iff coef · x + intercept > 0, hence the sign and `strict`.
    model = LinearModel(
        classifier.coef_.ravel(),
        -classifier.intercept_[0],
        strict=True,
        feature_names=[
            f"{name} > {median:.3g}"
            for name, median in zip(data.feature_names, medians, strict=True)
        ],
        classes=[str(name) for name in data.target_names],
    )
    reasons = sufficient_reasons(model, rows, delta=DELTA)
    certain = sufficient_reasons(model, rows, delta=1)

    truth = data.target_names[y_test]
    agree = np.count_nonzero(data.target_names[classifier.predict(rows)] == reasons.prediction)
    print(
        f"{len(train)} tumours to learn from, {len(test)} to explain, {model.n_features} yes/no "
        f"facts about each.\nThe classifier is right on {np.mean(reasons.prediction == truth):.0%} "
        f"of the {len(test)}; the model explained agrees with it on {agree} of {len(test)}."
    )
    for kind, i in chosen_rows(model, rows):
        title = f"Tumour {i}: predicted {reasons[i].prediction}, {kind} (in truth {truth[i]})"
        show(title, reasons[i], certain[i])

    summary = {
        f"Facts that keep the prediction in {DELTA:.0%} of {reasons.distribution}, median": (
            f"{np.median(reasons.size):g}"
        ),
        "Facts that keep it in all of them, median": f"{np.median(certain.size):g}",
        f"Tumours explained at {DELTA:.0%} by at most {FEW} facts": (
            f"{np.mean(reasons.size <= FEW):.0%}"
        ),
        f"Proved: no smaller set reaches {DELTA:.0%}": (
            f"{np.mean(reasons.minimality == 'minimum'):.0%}"
        ),
    }
    print(f"\nAll {len(test)} test tumours")
    for label, value in summary.items():
        print(f"  {label + ':':<{max(map(len, summary)) + 1}} {value:>5}")
    print(
        "\nMind the distribution: in a uniform completion each fact that is not listed is a coin\n"
        "flip of its own. Real tumours are not like that: their measurements go together. The\n"
        "percentages speak of the classifier's arithmetic, not of patients."
    )


if __name__ == "__main__":
    main()
