"""The page: a comparison as one HTML file that needs neither Python nor a network.

First comes what its script reads of every row, in few digits; then the sections for rules and
audits, as texts that a template puts in place; then the page.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
import zlib
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.exceptions import InvalidInputError
from sklearn_probsr.explain.rules._rule_cover import RuleCover
from sklearn_probsr.explain.rules._rule_sets import Rules
from sklearn_probsr.model.enclosure import lower_text
from sklearn_probsr.model.numbers import value_text, without_rounding
from sklearn_probsr.report._audit import CAUTION, Audit
from sklearn_probsr.report.comparison._compared import Compared, known_sizes
from sklearn_probsr.report.comparison._row_names import ids_of
from sklearn_probsr.report.comparison._shared_members import COUNTS, roles
from sklearn_probsr.report.comparison._wide_tables import sum_by_column
from sklearn_probsr.report.page._headings import (
    SIZES,
    decides,
    has_size,
    headings,
    messages_of,
    percent,
    status_of,
)
from sklearn_probsr.results._inert_text import visible
from sklearn_probsr.results._listed import count, listed
from sklearn_probsr.results._sentence import template

__all__ = ["audit_section", "page", "page_data", "rules_section"]

# Bars of a row: the largest SHAP values, and whatever is in one of its reasons.
_BARS = 12
# Of more features than these the page holds those that some row shows, and the largest.
_MANY, _LARGEST = 4096, 100
# Guarantees are written as whole parts of this, rounded down.
_PARTS = 10_000


def page_data(comparison: Compared, columns: list[dict[str, Any]]) -> dict[str, Any]:
    """Return what the script of the page reads."""
    table, growth = comparison.table, comparison.growth
    classes = [visible(str(label)) for label in comparison.classes]
    held: dict[str, list[Any]] = {
        key: _wholes(table[name]) for key, name in SIZES.items() if has_size(comparison, key)
    }
    held |= {
        "hurting": _wholes(table["hurting"]),
        "top": _parts(table["top_shap_guarantee_lower"]),
        "overlap": _short(table["overlap"]),
        "share": _short(table["shap_share"]),
        "margin": _short(table["margin"]),
    }
    if "probability" in table:
        held["probability"] = [
            # What is not certain is not told as certain.
            None if np.isnan(v) else _rounded(v if v == 1 else min(v, 0.999999), 6)
            for v in table["probability"].tolist()
        ]
    if "true_class" in table:
        held["true"] = [None if v is None else visible(str(v)) for v in table["true_class"]]
    for word in ("independent", "joint"):
        if f"{word}_guarantee_lower" in table:
            held[word] = _parts(table[f"{word}_guarantee_lower"])
    for k, name in enumerate(comparison.others):
        held[f"other-{k}-size"] = _wholes(table[f"{name}_size"])
        held[f"other-{k}-lower"] = _parts(table[f"{name}_guarantee_lower"])
    if comparison.shared is not None:
        held |= {key: _wholes(table[n]) for key, n in zip(("every", "some"), COUNTS, strict=True)}
    each = zip(growth.minimality.ravel().tolist(), growth.refuted.ravel().tolist(), strict=True)
    words = sorted(set(each))
    rows = [row for piece in comparison.pieces() for row in _rows(piece, words)]
    mean = sum_by_column(comparison.held("shap_values"), np.ones(len(comparison), np.bool_))
    kept = _kept(rows, mean)
    return {
        "features": [visible(comparison.feature_names[u]) for u in kept],
        "count": len(comparison.feature_names),
        "classes": classes,
        "distribution": visible(comparison.distribution),
        "delta": comparison.delta,
        "deltaText": percent(comparison.delta),
        "levels": growth.levels,
        "words": [word for word, _ in words],
        "claims": [_claim(comparison, *word) for word in words],
        "meanShap": _short(mean[kept] / len(comparison)),
        "table": columns,
        "columns": held,
        **_called(comparison),
        "short": (table["top_shap_guarantee_lower"] < comparison.delta).astype(int).tolist(),
        "rows": rows,
    }


def _kept(rows: list[dict[str, Any]], mean: NDArray[np.float64]) -> list[int]:
    """Return which features the page holds: all, or of many those that it may show.

    Those are what is listed in some row, and the largest SHAP values. Rows then number them so.
    """
    if len(mean) <= _MANY:
        return list(range(len(mean)))
    largest = np.argsort(-mean, kind="stable")[:_LARGEST].tolist()
    kept = sorted({unit for row in rows for unit in row["units"][::3]} | {*largest})
    places = {unit: place for place, unit in enumerate(kept)}
    for row in rows:
        row["units"][::3] = [places[unit] for unit in row["units"][::3]]
    return kept


def _called(comparison: Compared) -> dict[str, Any]:
    """Return what rows are called, and how they ended, where that is not said by their place."""
    held: dict[str, Any] = {}
    ids, status = ids_of(comparison), status_of(comparison)
    if ids is not None:
        # Beyond this, whole numbers of a script are not exact.
        numbers = all(type(label) is int and abs(label) < 2**53 for label in ids.labels)
        held["ids"] = ids.labels if numbers else [visible(str(label)) for label in ids.labels]
        held["idName"] = visible(ids.name)
    if any(word != "ok" for word in status):
        held["status"], held["message"] = status, messages_of(comparison)
    return held


def _claim(comparison: Compared, word: str, refuted: bool) -> str:
    """Return what a word claims, without the numbers that differ from row to row."""
    reached = f"{{delta}} is not {'reached' if refuted else 'proved'}"
    told = template(word, comparison.scope, "cost" in comparison.table, reached=reached)
    for verb in ("reaches", "reach"):
        told = told.replace(f"{verb} {{delta}} + {{epsilon}}", "is known to reach {delta}")
    return visible(told)


def _rows(comparison: Compared, words: list[tuple[str, bool]]) -> list[dict[str, Any]]:
    """Return each row's features, those with the largest SHAP values first, and its reasons."""
    growth, shap_values = comparison.growth, without_rounding(comparison.shap_values)
    n, width = shap_values.shape
    order = np.argsort(-np.abs(shap_values), axis=1, kind="stable")
    # From here on features are in that order.
    sets = np.take_along_axis(growth.mask, order[None], axis=2)
    listed = sets.any(axis=0) | (np.arange(width) < _BARS)
    units = order[listed]
    of_row = np.repeat(np.arange(n), listed.sum(axis=1))
    effects = _short(shap_values[of_row, units])
    cells = [_plain(value) for value in comparison.values[of_row, units].tolist()]
    flat = [part for three in zip(units.tolist(), effects, cells, strict=True) for part in three]
    ends = [0, *(3 * listed.sum(axis=1).cumsum()).tolist()]
    rest = _short(np.where(listed, 0.0, np.take_along_axis(shap_values, order, axis=1)).sum(axis=1))
    places = listed.cumsum(axis=1) - 1
    changes = _changes(sets, places)
    against = np.take_along_axis(growth.against, order, axis=1)
    lower = np.array([_parts(level) for level in growth.lower]).T.tolist()
    claimed: NDArray[np.intp] = np.zeros(growth.minimality.shape, dtype=np.intp)
    for k, (word, refuted) in enumerate(words):
        claimed[(growth.minimality == word) & (growth.refuted == refuted)] = k
    proved = claimed.T.tolist()
    known = {label: k for k, label in enumerate(comparison.classes)}
    won = [known.get(label, -1) for label in comparison.table["prediction"].tolist()]
    others = (~listed).sum(axis=1).tolist()
    shared = roles(comparison, order, listed, status_of(comparison))
    return [
        {
            "class": won[i],
            "units": flat[ends[i] : ends[i + 1]],
            "others": others[i],
            "rest": rest[i],
            "sets": changes[i],
            "lower": lower[i],
            "proved": proved[i],
            "against": places[i, against[i]].tolist(),
            **shared[i],
        }
        for i in range(n)
    ]


def _changes(sets: NDArray[np.bool_], places: NDArray[np.intp]) -> list[list[list[int]]]:
    """Return, row by row, the places that join or leave its set from level to level."""
    changed = np.diff(sets, axis=0, prepend=False).transpose(1, 0, 2)
    of_row, _, column = changed.nonzero()
    flat = places[of_row, column].tolist()
    ends = changed.sum(axis=2).cumsum().tolist()
    parts = [flat[a:b] for a, b in zip([0, *ends], ends, strict=False)]
    levels = len(sets)
    return [parts[levels * i : levels * (i + 1)] for i in range(len(places))]


def _wholes(sizes: NDArray[Any]) -> list[int | None]:
    """Return sizes, None where there are none."""
    return [None if np.isnan(size) else int(size) for size in sizes.tolist()]


def _parts(lower: NDArray[np.float64]) -> list[int]:
    """Return lower bounds in whole parts, rounded down; 0 where nothing is known."""
    lower = np.nan_to_num(lower)
    parts = np.floor(lower * _PARTS + 1e-6)  # 0.57 is 5700 parts, though its product is less
    whole: list[int] = (parts - (parts / _PARTS > lower)).astype(np.int64).tolist()
    return whole


def _short(values: NDArray[np.float64]) -> list[float]:
    """Return numbers to four digits, whole ones as such; infinities become large."""
    finite: list[float] = np.nan_to_num(values).tolist()
    return [_rounded(value, 4) for value in finite]


def _rounded(value: float, digits: int) -> float:
    if value.is_integer() and abs(value) < 10**15:
        return int(value)
    return float(f"{value:.{digits}g}")


def _plain(value: Any) -> Any:
    """Return a value as the page shows it: a number with the digits that words have, or text."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and math.isfinite(value):
        return _rounded(float(value_text(value)), 17)
    if isinstance(value, int) and abs(value) < 2**53:
        return int(value)
    return visible(str(value))


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


_TITLE = "Which few features settle each decision?"
_LEAD = (
    "A reason is a short list of facts about a row that settles its class: while they hold, the "
    "model keeps that class with at least the probability asked for, although everything else "
    "about the row is unknown."
)
# A page with more data than this holds it compressed.
_PLAIN = 4_000_000


def page(comparison: Compared, title: str | None, rules: Any = None, audit: Any = None) -> str:
    """Return the text of the page; ``rules`` and ``audit`` have sections of their own."""
    sections: dict[str, Any] = {"rules": None, "audit": None}
    if rules is not None or audit is not None:
        sections = {"rules": rules_section(rules), "audit": audit_section(audit)}
    try:
        import jinja2
        from markupsafe import Markup
    except ImportError:
        raise ImportError(
            "Comparison.to_html needs Jinja2. Run: pip install jinja2",
            name="jinja2",
        ) from None
    from sklearn_probsr import __version__

    parts = files("sklearn_probsr.report.page")
    texts = {name: (parts / name).read_text(encoding="utf-8") for name in ("page.css", "page.js")}
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    template = environment.from_string((parts / "page.html").read_text(encoding="utf-8"))
    columns = headings(comparison)
    n = len(comparison)
    return template.render(
        title=_TITLE if title is None else visible(title),
        version=__version__,
        count=f"{count(n, 'row')}, guarantees of {percent(comparison.delta)}",
        lead=_LEAD,
        decides=decides(comparison),
        distribution=visible(comparison.distribution),
        words=visible(comparison.summary()).split("\n")[1:],
        tiles=_tiles(comparison) if n else [],
        glossary=[{"label": c["term"], "help": c["help"]} for c in columns],
        find="feature, class, id or #row" if ids_of(comparison) else "feature, class or row",
        data=_packed(page_data(comparison, columns)) if n else None,
        **sections,
        style=Markup(texts["page.css"]),
        script=Markup(texts["page.js"]),
        style_hash=_hash(texts["page.css"]),
        script_hash=_hash(texts["page.js"]),
    )


def _hash(text: str) -> str:
    """Return by what a policy knows an element with this text, and lets no other pass."""
    digest = hashlib.sha256(text.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"


def _tiles(comparison: Compared) -> list[dict[str, str]]:
    """Return the numbers at the top."""
    status, delta = status_of(comparison), percent(comparison.delta)
    fine = np.array([word == "ok" for word in status], dtype=np.bool_)
    if not fine.any():
        return []
    table = {name: column[fine] for name, column in comparison.table.items()}
    short = " or ".join(
        f"{100 * np.mean(table[f'{order}_guarantee_lower'] < comparison.delta):.0f}%"
        for order in ("top_shap", "signed_shap")
    )
    proved, priced = np.mean(table["minimality"] == "minimum"), "cost" in table
    features = count(len(comparison.feature_names), "feature")
    found = [
        ("Features in a reason", _median(table["reason_size"]),
         f"The median, for a guarantee of {delta}, of {features}"
         f"{_most(table['reason_size'])}."),
        ("By |SHAP| instead", _median(table["abs_shap_size"]),
         f"The median of how many features with the largest absolute SHAP values reach {delta}"
         f"{_most(table['abs_shap_size'])}."),
        ("By signed SHAP", _median(table["signed_shap_size"]),
         "The median of how many features whose SHAP values speak most for the class reach "
         f"{delta}{_most(table['signed_shap_size'])}."),
        ("SHAP falls short", short,
         f"The share of rows in which as many features as the reason has do not guarantee {delta}: "
         "by |SHAP|, or by signed SHAP."),
        (f"Proved {'cheapest' if priced else 'smallest'}", f"{100 * proved:.0f}%",
         "The share of reasons of which it is proved that no "
         f"{'cheaper' if priced else 'smaller'} set{comparison.scope.words(sized=priced)} reaches "
         f"{delta}."),
    ]  # fmt: skip
    return [{"label": label, "value": value, "help": words} for label, value, words in found]


def _median(sizes: NDArray[Any]) -> str:
    known = known_sizes(sizes)
    return f"{np.median(known):g}" if len(known) else "none"


def _most(sizes: NDArray[Any]) -> str:
    known = known_sizes(sizes)
    return f"; {known.max():g} at worst" if len(known) else ""


def _packed(data: dict[str, Any]) -> dict[str, Any]:
    """Return the data, or, if there is a lot of it, the data compressed."""
    text = json.dumps(data, separators=(",", ":"))
    if len(text) <= _PLAIN:
        return data
    return {"deflated": base64.b64encode(zlib.compress(text.encode(), 6)).decode()}
