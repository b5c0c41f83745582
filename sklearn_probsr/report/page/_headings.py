"""Headings: the columns of the page's table, where they are found, and what they mean."""

from __future__ import annotations

from typing import Any

from sklearn_probsr.report.comparison._compared import Compared, known_sizes
from sklearn_probsr.report.comparison._row_names import ids_of
from sklearn_probsr.results._inert_text import visible

__all__ = ["SIZES", "decides", "has_size", "headings", "messages_of", "percent", "status_of"]

_HELP = {
    "row": ("Row", "The position of the row in the data, from 0."),
    "id": ("Id", "What the row is called in the data."),
    "status": (
        "Status",
        "ok, or why the row is no part of the summary: unreachable (no set found of the features "
        "allowed is proved to reach {delta}; the best one is shown), invalid (the model does not "
        "take the row).",
    ),
    "class": ("Class", "What the model predicts for the row."),
    "probability": (
        "Predicted",
        "The probability that the model itself gives to the class that it predicts. {threshold}",
    ),
    "true": ("True class", "What the row is, as far as that is known. Brown: not as predicted."),
    "reason": (
        "Reason",
        "The {fewest} features found that settle the class: known these, it is kept with at least "
        "the probability asked for, whatever replaces the others, over {distribution}.",
    ),
    "size": ("Features", "How many features the reason has, of {features}."),
    "lower": (
        "Guarantee",
        "At least so probable is it that the class stays, when the features of the reason are "
        "known and the others are replaced, over {distribution}. A proved bound, rounded down.",
    ),
    "proved": (
        "Proved",
        "What is proved. minimum: no {better} set{sets} reaches the probability asked for; "
        "subset-minimal: none of its features{others} can be left out; locally-minimal: no single "
        "one can; near-: the same, up to cases that stayed undecided; best-of-size: the best set "
        "found of as many features as it may have, which is not proved to reach that probability "
        "(brown).",
    ),
    "margin": (
        "Margin",
        "How far the row is from where the class changes, its score less the threshold; negative "
        "for the first of two classes.",
    ),
    "abs": (
        "By |SHAP|",
        "How many features one must take, those with the largest absolute SHAP values first, to "
        "reach {delta}.",
    ),
    "signed": (
        "By signed SHAP",
        "How many features one must take, those whose SHAP values speak most for the class first, "
        "to reach {delta}.",
    ),
    "top": (
        "As many by |SHAP|",
        "What as many features as the reason has at {delta} guarantee, if they are those with the "
        "largest absolute SHAP values. Brown: short of {delta}.",
    ),
    "overlap": (
        "Overlap",
        "How much those features and the reason at {delta} have in common: shared ones, of all in "
        "either (Jaccard).",
    ),
    "share": ("SHAP inside", "The share of all absolute SHAP values that is inside the reason."),
    "hurting": (
        "Speak against",
        "How many of the features with the largest absolute SHAP values speak against the class.",
    ),
    "sure": ("For certain", "How many features keep the class with probability 1."),
    "every": (
        "In every one",
        "How many features every smallest set{sets} that reaches {delta} has: none replaces them. "
        "Not told where it stays undecided.",
    ),
    "some": (
        "In some",
        "How many features occur in some smallest set{sets} that reaches {delta}. Not told where "
        "it stays undecided.",
    ),
    "independent": (
        "If independent",
        "What the reason at {delta} would guarantee if the features were independent of each "
        "other, with the same distributions one by one.",
    ),
    "joint": (
        "In the rows",
        "What the reason at {delta} guarantees when all unknown features are replaced together, by "
        "those of one row.",
    ),
}
# The columns of the table that may have gaps.
SIZES = {"abs": "abs_shap_size", "signed": "signed_shap_size", "sure": "sure_size"}
_LIVE, _BESIDE = "Reason for {level}", "SHAP, for {delta}"
_MORE = "The reason for {delta}"


def percent(level: float) -> str:
    return f"{100 * level:.12g}%"


def status_of(comparison: Compared) -> list[str]:
    """Return how each row ended; "ok" of all, where nothing is known of it."""
    frame = comparison.to_frame()
    if "status" not in frame:
        return ["ok"] * len(comparison)
    return [str(word) for word in frame["status"]]


def messages_of(comparison: Compared) -> list[str]:
    """Return what there is to say of rows that are not ok."""
    frame = comparison.to_frame()
    told = frame["message"] if "message" in frame else [""] * len(comparison)
    return [visible(text) if isinstance(text, str) else "" for text in told]


def decides(comparison: Compared) -> str:
    """Say where the class changes, if that is known."""
    told = visible(comparison.threshold)
    return f"The model says {told}." if told else ""


def has_size(comparison: Compared, key: str) -> bool:
    """Whether there is a row in which a size could be had."""
    return not len(comparison) or len(known_sizes(comparison.table[SIZES[key]])) > 0


def headings(comparison: Compared) -> list[dict[str, Any]]:
    """Return the columns of the table: where the page finds them, and what they mean."""
    table = comparison.table
    over = visible(comparison.distribution)
    words = {
        "distribution": over,
        "delta": percent(comparison.delta),
        "features": f"{len(comparison.feature_names):,}",
        "threshold": decides(comparison),
        "fewest": "cheapest" if "cost" in table else "fewest",
        "better": "cheaper" if "cost" in table else "smaller",
        "sets": visible(comparison.scope.words(sized="cost" in table)),
        "others": visible(f" beside {comparison.scope.forced}" if comparison.scope.include else ""),
    }

    def column(
        key: str, kind: str, group: str = "", wide: bool = True, more: bool = False
    ) -> dict[str, Any]:
        label, words_ = _HELP[key]
        return {
            "key": key, "label": label, "term": label, "help": words_.format(**words).strip(),
            "kind": kind, "group": group.replace("{delta}", words["delta"]), "wide": wide,
            "more": more,
        }  # fmt: skip

    ids = ids_of(comparison)
    if ids is None:
        found = [column("row", "text", wide=False)]
    else:
        named = {"label": visible(ids.name), "term": visible(ids.name)}
        found = [column("id", "text", wide=False) | named, column("row", "text", more=True)]
    if any(word != "ok" for word in status_of(comparison)):
        found.append(column("status", "text"))
    found += [
        column("class", "text", wide=False),
        *([column("true", "text")] if "true_class" in table else []),
        *([column("probability", "probability")] if "probability" in table else []),
        column("reason", "text", _LIVE, wide=False),
        column("size", "number", _LIVE),
        column("lower", "guarantee", _LIVE, wide=False),
        column("proved", "text", _LIVE),
        *(
            column(key, "number", _BESIDE, wide=key != "abs", more=key == "signed")
            for key in ("abs", "signed")
            if has_size(comparison, key)
        ),
        column("top", "guarantee", _BESIDE, wide=False),
        column("overlap", "share", _BESIDE, more=True),
        column("hurting", "number", _BESIDE, more=True),
        column("share", "share", _MORE, more=True),
    ]
    found += [
        column(word, "guarantee", _MORE, more=True)
        for word in ("independent", "joint")
        if f"{word}_guarantee_lower" in table
    ]
    if comparison.shared is not None:
        found += [column(key, "number", _MORE, more=True) for key in ("every", "some")]
    if has_size(comparison, "sure"):
        found.append(column("sure", "number", more=True))
    found.append(column("margin", "number", more=True))
    for k, name in enumerate(map(visible, comparison.others)):
        more = (
            ("size", "number", "Features", f"How many features {name} names."),
            ("lower", "guarantee", "Guarantee", f"What they guarantee, over {over}."),
        )
        found += [
            {"key": f"other-{k}-{key}", "label": label, "term": f"{name}: {label}", "help": text,
             "kind": kind, "group": name, "wide": True, "more": True}
            for key, kind, label, text in more
        ]  # fmt: skip
    return found
