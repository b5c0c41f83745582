"""The page: a comparison as one HTML file that needs neither Python nor a network."""

from __future__ import annotations

import base64
import hashlib
import json
import zlib
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_probsr.report.comparison._compared import Compared, known_sizes
from sklearn_probsr.report.comparison._row_names import ids_of
from sklearn_probsr.report.page._headings import (
    decides,
    headings,
    percent,
    status_of,
)
from sklearn_probsr.report.page._page_data import page_data
from sklearn_probsr.results._inert_text import visible
from sklearn_probsr.results._listed import count

__all__ = ["page"]

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
        from sklearn_probsr.report.page._sections import audit_section, rules_section

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
