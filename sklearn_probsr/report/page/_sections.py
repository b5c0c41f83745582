"""Sections: rules and audits on the page, as texts that a template puts in place."""

from __future__ import annotations

import math
from typing import Any

from sklearn_probsr.exceptions import InvalidInputError
from sklearn_probsr.explain.rules._rule_cover import RuleCover
from sklearn_probsr.explain.rules._rule_sets import Rules
from sklearn_probsr.model.enclosure import lower_text
from sklearn_probsr.report._audit import CAUTION, Audit
from sklearn_probsr.report.page._headings import percent
from sklearn_probsr.results._inert_text import visible
from sklearn_probsr.results._listed import count, listed

__all__ = ["audit_section", "rules_section"]

# Stands where there is nothing to count.
_NOTHING = "\N{EN DASH}"


def rules_section(rules: Any) -> dict[str, Any] | None:
    """Return what the page tells of a few rules; of `Rules` those that cover the most rows."""
    if rules is None:
        return None
    if not isinstance(rules, Rules | RuleCover):
        raise InvalidInputError(
            "rules must be what explanation.rules() returns, or its cover(), got "
            f"{type(rules).__name__}."
        )
    cover = rules.cover() if isinstance(rules, Rules) else rules
    n = cover.n_rows
    tiles = [
        _tile("Covered", cover.covered, n, "rows satisfy at least one rule."),
        _tile("As the rule says", cover.agreeing, cover.covered, "of these have the class of the "
              "first rule that they satisfy."),
        _tile("In conflict", cover.conflicts, n, "rows satisfy rules of different classes."),
        _tile("Not covered", cover.uncovered, n, "satisfy none: the rules do not speak of them."),
    ]  # fmt: skip
    counts = zip(cover.matching.tolist(), cover.right.tolist(), cover.added.tolist(), strict=True)
    lines = [
        {
            "if": [visible(str(condition)) for condition in rule.conditions] or ["any row"],
            "class": visible(str(rule.prediction)),
            "sure": _least(rule),
            "matching": matching,
            "right": right,
            "coverage": _share(matching, n),
            "precision": _share(right, matching),
            "added": added,
            "bars": _bars(("right", right), ("other", matching - right), of=n),
        }
        for rule, (matching, right, added) in zip(cover.rules, counts, strict=True)
    ]
    return {
        "count": count(len(cover), "rule"),
        "rows": count(n, "row"),
        "tiles": tiles,
        "lines": lines,
        "over": [visible(over) for over in dict.fromkeys(str(r.distribution) for r in cover)],
        "conservative": any(rule.conservative for rule in cover),
    }


def audit_section(audit: Any) -> dict[str, Any] | None:
    """Return what the page tells of an audit."""
    if audit is None:
        return None
    if not isinstance(audit, Audit):
        raise InvalidInputError(
            f"audit must be what audit(...) returns, got {type(audit).__name__}."
        )
    told, n = audit.summary, audit.summary["rows"]
    names = visible(listed(audit.protected))
    delta, over = percent(audit.delta), visible(audit.distribution)
    is_or_are = "is" if len(audit.protected) == 1 else "are"
    kept = f"keeps the class with probability at least {delta}, over {over}"
    tiles = [
        ("A reason without", "free", f"have a reason without {names}, which {kept}."),
        ("Only through", "only_through", f"have none: proved that no set without {names} {kept}."),
        ("Undecided", "undecided", "have none that was found, and it is not proved."),
        ("Class may change", "flips", f"may get another class when {names} alone {is_or_are} "
         f"replaced, over {over}."),
    ]  # fmt: skip
    return {
        "names": names,
        "rows": count(n, "decision"),
        "left_out": count(len(audit.lines) - n, "row") if n < len(audit.lines) else "",
        "tiles": [_tile(label, round(told[key] * n), n, words) for label, key, words in tiles],
        "groups": [_group(audit, name) for name in audit.protected] if n else [],
        "delta": delta,
        "over": over,
        "caution": CAUTION,
    }


def _group(audit: Audit, name: str) -> dict[str, Any]:
    """Return the lines of one protected feature, each class and value one."""
    lines = []
    for (label, value), line in audit.by_group(name).iterrows():
        n = int(line["rows"])
        free, only, flips = (round(line[key] * n) for key in ("free", "only_through", "flips"))
        lines.append(
            {
                "class": visible(str(label)),
                "value": visible(str(value)).replace(" ", "\N{NO-BREAK SPACE}", 1),
                "rows": n,
                "free": _share(free, n),
                "only": _share(only, n),
                "flips": _share(flips, n),
                "size": f"{line['reason_size']:.1f}",
                "sure": _down(float(line["guarantee_without_lower"])),
                "bars": _bars(("free", free), ("undecided", n - free - only), ("only", only), of=n),
            }
        )
    return {"name": visible(name), "lines": lines}


def _least(rule: Any) -> str:
    """Return what a rule guarantees, in percent, rounded down."""
    known = rule.guarantee
    return _down(known.lower if known.exact is None else known.exact)


def _down(value: Any) -> str:
    """Return a probability in percent, to two places, rounded down.

    Examples
    --------
    >>> _down(0.99999), _down(1.0), _down(0.57)
    ('99.99%', '100%', '57.00%')
    """
    if math.isnan(value):
        return _NOTHING
    told = lower_text(value, 4)
    return "100%" if told == "1" else f"{100 * float(told):.2f}%"


def _share(k: int, n: int) -> str:
    """Return a share in whole percents; what is not all, or not nothing, is not told as such.

    Examples
    --------
    >>> _share(199, 200), _share(1, 400), _share(1, 2), _share(0, 0)
    ('> 99%', '< 1%', '50%', '–')
    """
    if not n:
        return _NOTHING
    if 0 < k < n and not 0.01 <= k / n <= 0.99:
        return "< 1%" if 2 * k < n else "> 99%"
    return f"{100 * k / n:.0f}%"


def _tile(label: str, k: int, n: int, words: str) -> dict[str, str]:
    return {"label": label, "value": _share(k, n), "help": f"{k:,} of {n:,} {words}"}


def _bars(*parts: tuple[str, int], of: int) -> list[dict[str, Any]]:
    """Return the parts of a bar: where each begins, and how wide it is, in percent."""
    found: list[dict[str, Any]] = []
    start = 0.0
    for kind, k in parts:
        width = 100 * k / max(of, 1)
        if k:
            found.append({"kind": kind, "x": f"{start:.3f}", "width": f"{width:.3f}"})
        start += width
    return found
