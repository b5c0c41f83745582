"""The page as text: what it holds, what it must not, and how it is written."""

import base64
import hashlib
import json
import math
import re
import sys
import zlib
from html import escape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_iris
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from sklearn_probsr import (
    Comparison,
    LinearModel,
    Marginals,
    SufficientReasonExplainer,
    Unit,
    compare,
)
from sklearn_probsr.model.numbers import decimal_fraction
from sklearn_probsr.report.comparison._growth import LEVELS, Growth
from sklearn_probsr.report.page import _page as _page_data
from sklearn_probsr.results import codec

HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</script>",
    "{{ 7*7 }}",
    "&amp;",
)


class Parsed(HTMLParser):
    """The tags of a page with their attributes, and the text of each element by its tag."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, list[str]] = {}
        self.inside = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self.inside = tag
        self.texts.setdefault(tag, []).append("")

    def handle_data(self, data: str) -> None:
        if self.inside:
            self.texts[self.inside][-1] += data

    def handle_endtag(self, tag: str) -> None:
        self.inside = ""


def written(found: Comparison, folder: Path, title: str | None = None) -> str:
    """Write the page of a comparison, and return its text."""
    found.to_html(folder / "page.html", title=title)
    return (folder / "page.html").read_text(encoding="utf-8")


def data_of(page: str) -> Any:
    """Return what the script of a page reads, or None if there is nothing."""
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    if found is None:
        return None
    held = json.loads(found[1], parse_constant=pytest.fail)
    if "deflated" in held:
        text = zlib.decompress(base64.b64decode(held["deflated"]))
        held = json.loads(text, parse_constant=pytest.fail)
    return held


def sets_of(row: dict[str, Any]) -> list[set[int]]:
    """Return a row's sets of features at each level, as the page puts them together."""
    places: set[int] = set()
    found = []
    for changed in row["sets"]:
        places = places ^ set(changed)
        found.append({row["units"][3 * place] for place in places})
    return found


def parts(lower: float) -> int:
    """Return a bound in ten-thousandths, rounded down, by exact arithmetic."""
    return math.floor(decimal_fraction(lower) * 10_000)


def scorecard(**named: Any) -> LinearModel:
    return LinearModel([31, 22, 17, -28, -45], threshold=10, **named)


def some(n: int = 12, **more: Any) -> Comparison:
    rows = np.random.default_rng(0).integers(0, 2, (n, 5))
    return compare(scorecard(), rows, **more)


def units() -> tuple[LinearModel, np.ndarray]:
    """Return a model with a labelled unit and a real one, and data."""
    rng = np.random.default_rng(3)
    kinds = [
        Unit.one_hot("job", [0, 1, 2], labels=["job: nurse", "job: smith", "job is missing"]),
        Unit.real("age", 3),
        Unit.binary("home", 4),
    ]
    data = np.hstack(
        [np.eye(3)[rng.integers(0, 3, 30)], rng.normal(40, 9, (30, 1)), rng.integers(0, 2, (30, 1))]
    )
    return LinearModel([2, -1, 0.5, 0.125, 3], 6.5, units=kinds), data


def gaps() -> Comparison:
    """Compare on a table with categories and missing values."""
    rng = np.random.default_rng(5)
    table = pd.DataFrame(
        {
            "age": rng.normal(40, 9, 40).round(1),
            "town": rng.choice(["Rome", "Oslo", "Lima"], 40),
        }
    )
    y = (table["age"] > 40) ^ (table["town"] == "Oslo")
    table.loc[::5, "age"] = np.nan
    steps = make_column_transformer(
        (SimpleImputer(), ["age"]), (OneHotEncoder(handle_unknown="ignore"), ["town"])
    )
    model = make_pipeline(steps, LogisticRegression()).fit(table, y)
    return compare(model, table, table, delta=0.8)


def irises() -> Comparison:
    """Compare on three classes."""
    X, y = load_iris(return_X_y=True, as_frame=True)
    named = y.map({0: "setosa", 1: "versicolor", 2: "virginica"})
    model = LogisticRegression(max_iter=1000).fit(X, named)
    return compare(model, X[::10], X, delta=0.9)


def large(n: int, d: int) -> Comparison:
    """Make up a comparison of reals, which compress worst, with reasons of up to half of them."""
    rng = np.random.default_rng(d)
    size = np.sort(rng.integers(0, d // 2 + 1, (len(LEVELS), n)), axis=0)
    rank = rng.permuted(np.tile(np.arange(d), (n, 1)), axis=1)
    mask = rank < size[..., None]
    lower = np.minimum(1.0, np.array(LEVELS)[:, None] + rng.uniform(0, 0.05, (len(LEVELS), n)))
    proved = rng.choice(["minimum", "near-minimum", "subset-minimal"], (len(LEVELS), n))
    at, names = LEVELS.index(0.95), tuple(f"feature {j}" for j in range(d))
    reason = np.empty(n, dtype=object)
    reason[:] = [tuple(names[j] for j in np.flatnonzero(row)) for row in mask[at]]
    share, count = (lambda: rng.uniform(size=n)), (lambda: rng.integers(0, d + 1, n))
    table = {
        "prediction": np.array(["no", "yes"])[rng.integers(0, 2, n)], "margin": rng.normal(size=n),
        "reason": reason, "reason_size": size[at], "guarantee_lower": lower[at],
        "guarantee_upper": lower[at], "minimality": proved[at].astype(object),
        "sure_size": size[-1], "abs_shap_size": count(), "signed_shap_size": count(),
        "top_shap_guarantee_lower": share(), "top_shap_guarantee_upper": np.ones(n),
        "signed_shap_guarantee_lower": share(), "signed_shap_guarantee_upper": np.ones(n),
        "overlap": share(), "shap_share": share(), "hurting": rng.integers(0, 3, n),
    }  # fmt: skip
    growth = Growth(
        LEVELS,
        mask,
        lower,
        proved,
        np.zeros(proved.shape, bool),
        mask.any(axis=0) & (rng.uniform(size=(n, d)) < 0.1),
    )  # fmt: skip
    return Comparison(
        table, rng.normal(size=(n, d)), rng.normal(size=(n, d)), mask[at], names, ("no", "yes"),
        0.95, "replacement by 10000 background rows", search=lambda: growth,
    )  # fmt: skip


# --- what the page holds ---------------------------------------------------------------------


def kinds() -> dict[str, Any]:
    model, data = units()
    rows = np.random.default_rng(1).integers(0, 2, (30, 5))
    return {
        "uniform": some,
        "background": lambda: compare(scorecard(), rows[:8], rows, delta=0.9),
        "independent": lambda: compare(scorecard(), rows[:8], rows, delta=0.9, dependence=True),
        "marginals": lambda: compare(
            scorecard(), rows[:8], Marginals.fit(rows), delta=0.93, dependence=True
        ),
        "units": lambda: compare(model, data, data, delta=0.8),
        "missing values": gaps,
        "three classes": irises,
        "one row": lambda: some(1),
        "one class": lambda: compare(scorecard(), [[1, 1, 1, 0, 0], [1, 1, 0, 0, 0]]),
        "others": lambda: some(2, others={"Anchors": [["x0"], ["x1", "x3"]], "LIME": [[], [4]]}),
        "made up": lambda: large(40, 25),
    }


@pytest.mark.parametrize("kind", kinds())
def test_numbers_are_those_of_the_table(kind: str, tmp_path: Path):
    """Sets are those of the search, guarantees rounded down, columns as in `to_frame`."""
    found = kinds()[kind]()
    page = written(found, tmp_path)
    data, growth, table = data_of(page), found.growth, found.table
    assert escape(found.distribution) in page
    assert data["features"] == list(found.feature_names)
    assert data["levels"] == list(growth.levels)
    assert data["levels"] == sorted(data["levels"])
    at = data["levels"].index(found.delta)
    assert len(data["rows"]) == len(found)
    for i, row in enumerate(data["rows"]):
        sets = sets_of(row)
        assert sets == [set(np.flatnonzero(mask).tolist()) for mask in growth.mask[:, i]]
        assert sets[at] == set(np.flatnonzero(found.mask[i]).tolist())
        assert {found.feature_names[u] for u in sets[at]} == set(table["reason"][i])
        against = {row["units"][3 * place] for place in row["against"]}
        assert against == set(np.flatnonzero(growth.against[i]).tolist())
        for part, lower in zip(row["lower"], growth.lower[:, i].tolist(), strict=True):
            assert part == parts(lower)
        words = [data["words"][k] for k in row["proved"]]
        assert words == growth.minimality[:, i].tolist()
        assert words[at] == table["minimality"][i]
        assert data["classes"][row["class"]] == str(table["prediction"][i])
        listed = row["units"][::3]
        effects = found.shap_values[i]
        np.testing.assert_allclose(row["units"][1::3], effects[listed], rtol=1e-3, atol=1e-300)
        assert list(np.abs(effects[listed])) == sorted(np.abs(effects[listed]), reverse=True)
        assert row["others"] == len(effects) - len(listed)
        hidden = np.delete(effects, listed).sum()
        assert row["rest"] == pytest.approx(hidden, rel=1e-3, abs=1e-12)
    names = {
        "abs": "abs_shap_size", "signed": "signed_shap_size", "sure": "sure_size",
        "hurting": "hurting", "margin": "margin", "overlap": "overlap", "share": "shap_share",
    }  # fmt: skip
    for key, name in names.items():
        np.testing.assert_allclose(data["columns"][key], table[name], rtol=1e-3)
    lower = {"top": "top_shap", "independent": "independent", "joint": "joint"}
    lower |= {f"other-{k}-lower": name for k, name in enumerate(found.others)}
    for key, name in lower.items():
        assert (key in data["columns"]) == (f"{name}_guarantee_lower" in table)
        if key in data["columns"]:
            column = table[f"{name}_guarantee_lower"].tolist()
            for part, bound in zip(data["columns"][key], column, strict=True):
                assert part == parts(bound)
    assert data["short"] == (table["top_shap_guarantee_lower"] < found.delta).tolist()
    live = {"row", "class", "reason", "size", "lower", "proved"}
    live |= {"id"} if "ids" in data else set()
    assert {column["key"] for column in data["table"]} == live | data["columns"].keys()


def test_although_goes_by_the_law(tmp_path: Path):
    """Of several classes the duel with the runner-up counts, and not whatever SHAP values say."""
    X, y = load_iris(return_X_y=True, as_frame=True)
    model = LogisticRegression(max_iter=1000).fit(X, y)
    found = compare(model, X[::5], X, delta=0.9, shap_values=np.ones((30, 4)))
    explained = SufficientReasonExplainer(model, X, delta=0.9)(X[::5])
    data = data_of(written(found, tmp_path))
    marked = 0
    for row, reason in zip(data["rows"], explained.reasons, strict=True):
        against = {row["units"][3 * place] for place in row["against"]}
        assert against & {*reason.features} == {*reason.against}
        marked += len(reason.against)
    assert marked > 0


def test_rows_tell_what_their_minimum_reasons_share(tmp_path: Path):
    """In words, and by a code for every feature that is listed; nothing of flagged rows."""
    rows = np.random.default_rng(0).integers(0, 2, (12, 5)).astype(float)
    rows[3, 0] = np.nan
    explainer = SufficientReasonExplainer(scorecard(), delta=0.9)
    with pytest.warns(UserWarning, match="1 of 12 rows"):
        found = compare(scorecard(), rows, delta=0.9, alternatives=True)
    with pytest.warns(UserWarning, match="1 of 12 rows"):
        others = explainer.alternatives(rows)
    data = data_of(written(found, tmp_path))
    for i, (row, one) in enumerate(zip(data["rows"], others, strict=True)):
        if one is None:
            assert i == 3
            assert "shared" not in row
            continue
        assert row["shared"] == one.words(sized=False)
        codes = dict(zip(row["units"][::3], row["roles"], strict=True))
        assert {u for u, code in codes.items() if code == 3} == {*one.necessary}
        assert {u for u, code in codes.items() if code & 1} == {*one.possible}
    assert data["columns"]["every"][3] is None
    assert data["columns"]["some"][0] == others[0].n_possible
    plain = data_of(written(some(), tmp_path))
    assert "every" not in plain["columns"]
    assert not any("roles" in row for row in plain["rows"])


def test_values_are_what_a_person_reads(tmp_path: Path):
    """Facts as in words, numbers with the digits that words have, and what is missing."""
    model, rows = units()
    found = compare(model, rows, rows, delta=0.8)
    for row, numbers in zip(data_of(written(found, tmp_path))["rows"], rows, strict=True):
        shown = dict(zip(row["units"][::3], row["units"][2::3], strict=True))
        state = int(numbers[:3].argmax())
        assert shown[0] == ("job: nurse", "job: smith", "job is missing")[state]
        assert shown[1] == float(f"{numbers[3]:.6g}")
        assert shown[2] == numbers[4]
    cells = [row["units"][2::3] for row in data_of(written(gaps(), tmp_path))["rows"]]
    assert {text for row in cells for text in row if isinstance(text, str)} == {
        "town: Rome", "town: Oslo", "town: Lima", "age is missing",
    }  # fmt: skip


def test_guarantees_are_rounded_down():
    """Never up, and not by a part too many where the decimal is whole."""
    rng = np.random.default_rng(7)
    bounds = [k / 10_000 for k in range(10_001)]
    bounds += [np.nextafter(bound, 0.0) for bound in bounds[1:]] + rng.uniform(size=1000).tolist()
    assert _page_data._parts(np.array(bounds)) == [parts(float(bound)) for bound in bounds]


def test_words_are_those_of_the_summary(tmp_path: Path):
    """The summary comes first, in full, and every column of the table is explained."""
    found = some()
    parsed = Parsed(page := written(found, tmp_path))
    lines = found.summary().split("\n")[1:]
    assert parsed.texts["p"][0].startswith("A reason is a short list of facts about a row")
    assert parsed.texts["p"][2 : 2 + len(lines)] == lines
    assert page.index("Summary") < page.index("How sure?") < page.index('id="table"')
    assert set(parsed.texts["dt"]) >= {column["term"] for column in data_of(page)["table"]}
    for column in data_of(page)["table"]:
        assert escape(column["help"]) in page
    assert parsed.texts["title"] == ["Which few features settle each decision?"]
    assert "12 rows, guarantees of 95%" in page


@pytest.mark.parametrize(
    ("word", "claim"),
    [("minimum", "no smaller set reaches {delta}"),
     ("near-minimum", "no smaller set is known to reach {delta}"),
     ("subset-minimal", "none can be left out")],
)  # fmt: skip
def test_claims_promise_no_number_that_the_page_lacks(word: str, claim: str, tmp_path: Path):
    """What is proved is said in words; the slack of a near-minimum differs from row to row."""
    data = data_of(written(large(40, 25), tmp_path))
    assert dict(zip(data["words"], data["claims"], strict=True))[word] == claim


def test_a_comparison_without_rows(tmp_path: Path):
    """There is a page, without a table, a script or a tile."""
    page = written(compare(scorecard(), np.zeros((0, 5))), tmp_path)
    assert "0 rows, guarantees of 95%" in page
    assert data_of(page) is None
    assert {"script", "table", "noscript"}.isdisjoint(tag for tag, _ in Parsed(page).tags)


# --- what it must not ------------------------------------------------------------------------


def test_text_stays_text(tmp_path: Path):
    """Names of features, classes and methods, title and distribution: none becomes a tag."""
    model = scorecard(feature_names=HOSTILE, classes=HOSTILE[1:3])
    found = compare(
        model, [[1, 1, 0, 0, 0], [0, 0, 0, 1, 1]], others={name: [[0], []] for name in HOSTILE}
    )
    object.__setattr__(found, "distribution", "".join(HOSTILE))
    for title in HOSTILE:
        parsed = Parsed(page := written(found, tmp_path, title))
        assert [tag for tag, _ in parsed.tags].count("script") == 2
        assert "img" not in dict(parsed.tags)
        assert "49" not in re.sub("sha256-[^']*", "", page.split("<style>")[0])
        assert parsed.texts["title"] == [title]
        assert parsed.texts["h1"] == [title]
        assert parsed.texts["strong"] == ["".join(HOSTILE)]
        assert data_of(page)["features"] == list(HOSTILE)
        assert data_of(page)["classes"] == list(HOSTILE[1:3])
        assert page.count("</script") == 2


TURNED = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"


def test_directions_are_shown(tmp_path: Path):
    """Characters that turn the direction of text are shown by their numbers, wherever text is."""
    rows = [[1, 1, 0, 0, 0], [0, 0, 0, 1, 1]]
    names = [f"a{character}" for character in TURNED[:5]]
    classes = [f"no{TURNED[5:]}", "yes\u202e"]
    model = scorecard(feature_names=names, classes=classes)
    found = compare(model, rows, others={"L\u202eIME": [[0], []]})
    object.__setattr__(found, "distribution", "rows\u2067")
    object.__setattr__(found, "values", np.full((2, 5), "x\u202ey", dtype=object))
    page = written(found, tmp_path, "A\u202eB")
    shown = "".join(f"⟨U+{ord(character):04X}⟩" for character in TURNED[5:])
    for text in (page, found._repr_html_(), found.to_markdown(), json.dumps(data_of(page))):
        assert not re.search(f"[{TURNED}]|\\\\u20[026]", text.replace("\\u27e8", ""))
    assert "<title>A⟨U+202E⟩B</title>" in page
    assert "L⟨U+202E⟩IME: Features" in page
    assert "<strong>rows⟨U+2067⟩</strong>" in page
    data = data_of(page)
    assert data["features"][0] == "a⟨U+061C⟩"
    assert data["classes"] == [f"no{shown}", "yes⟨U+202E⟩"]
    assert data["rows"][0]["units"][2] == "x⟨U+202E⟩y"
    assert "a⟨U+061C⟩" in found.to_markdown()
    assert "a⟨U+061C⟩" in found._repr_html_()


def digest(page: str, tag: str) -> str:
    """Return by what a policy knows the only element of a kind that has no attributes."""
    (text,) = re.findall(f"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def test_nothing_is_loaded(tmp_path: Path):
    """No address to load from, no handler in a tag, and a policy that forbids both."""
    page = written(some(), tmp_path)
    parsed = Parsed(page)
    links = [(tag, at[k]) for tag, at in parsed.tags for k in ("src", "href", "action") if k in at]
    assert links == [("link", "data:,"), ("a", "#rows")]
    assert not [name for _, at in parsed.tags for name in at if name.startswith("on")]
    policy = [at["content"] for _, at in parsed.tags if at.get("http-equiv")]
    assert policy == [
        f"default-src 'none'; style-src '{digest(page, 'style')}'; "
        f"script-src '{digest(page, 'script')}'; img-src data:; base-uri 'none'; "
        "form-action 'none'"
    ]
    without = page.replace('http-equiv="Content-Security-Policy"', "")
    assert not re.search(r"https?:|url\(|@import|\bfetch\(|innerHTML|\beval\(", without)


def test_nothing_moves(tmp_path: Path):
    """Nobody has to ask for less motion."""
    assert not re.search(r"transition|animation|smooth", written(some(), tmp_path))


# --- how it is written -----------------------------------------------------------------------


def test_a_failing_write_leaves_the_old_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The file that was there stays whole, and nothing is left beside it."""
    found, path = some(), tmp_path / "page.html"
    path.write_text("old")

    def fail(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(codec.Path, "replace", fail)
        with pytest.raises(KeyboardInterrupt):
            found.to_html(path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
    found.to_html(str(path))
    assert path.read_text(encoding="utf-8").endswith("</html>")
    assert list(tmp_path.iterdir()) == [path]


def test_without_jinja(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """What to install is said, and nothing is written."""
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(ImportError) as caught:
        some().to_html(tmp_path / "page.html")
    assert str(caught.value) == ("Comparison.to_html needs Jinja2. Run: pip install jinja2")
    assert caught.value.name == "jinja2"
    assert not list(tmp_path.iterdir())


def test_ten_thousand_rows_fit(tmp_path: Path):
    """The page is compressed, below 15 MB, and its data are the same."""
    found = large(10_000, 100)
    page = written(found, tmp_path)
    assert (tmp_path / "page.html").stat().st_size < 15e6
    assert '{"deflated":' in page
    data = data_of(page)
    assert len(data["rows"]) == 10_000
    for i in range(0, 10_000, 999):
        sets = sets_of(data["rows"][i])
        assert sets == [set(np.flatnonzero(mask).tolist()) for mask in found.growth.mask[:, i]]
