"""The site: what checks its links, and whether the reference has every public name."""

import ast
import inspect
import itertools
import json
import re
from pathlib import Path

import pytest

import sklearn_probsr
from tests.layout import PACKAGE, ROOT
from tests.test_project import section

DOCS = ROOT / "docs"

pytestmark = pytest.mark.skipif(not DOCS.is_dir(), reason="the pages are not beside the tests")


def test_broken_links_are_found(tmp_path: Path):
    """A page that is not there, a place that is not there, and whatever comes from elsewhere."""
    from docs.check_site import problems

    (tmp_path / "a.html").write_text(
        '<h1 id="here"></h1><a href="b.html#there"></a><a href="#here"></a><a href="c.html"></a>'
        '<a href="https://example.org"></a><img src="https://example.org/x.png"><img src="x.png">'
    )
    (tmp_path / "b.html").write_text("<p id='elsewhere'></p>")
    assert problems(tmp_path) == [
        "a.html loads https://example.org/x.png",
        "a.html loads x.png, which is not there",
        "a.html links to b.html#there, which has no such place",
        "a.html links to c.html, which is not there",
    ]


def test_the_reference_has_every_public_name():
    """All that can be imported: from the package, and from each of its public modules."""
    from sklearn_probsr import adapters, exceptions, extend, plots, results

    told = set(re.findall(r"^   ([\w.]+)$", (DOCS / "api.md").read_text(), re.MULTILINE))
    public = set(sklearn_probsr.__all__) - {"plots"}
    modules = (adapters, exceptions, extend, plots, results)
    inside = {f"{m.__name__.partition('.')[2]}.{name}" for m in modules for name in m.__all__}
    assert told == public | inside


# What users read, other than proofs: pages, examples, the page of a comparison, words, pictures.
def told() -> dict[str, str]:
    files = [ROOT / "README.md", *DOCS.glob("*.md"), *(ROOT / "examples").glob("*.py")]
    files += [path for kind in ("py", "html", "js") for path in PACKAGE.rglob(f"*.{kind}")]
    return {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in files}


# Other words for what is called feature, fact, reason or guarantee.
OTHER_WORDS = re.compile(r"\bmeasurements?\b|\bfeatures (fixed|known)\b", re.IGNORECASE)


@pytest.mark.skipif(not PACKAGE.is_dir(), reason="the sources are not beside the tests")
def test_one_vocabulary():
    """A feature is called a feature, a feature with its value a fact, everywhere."""
    strange = [
        f"{name}: {found[0]}"
        for name, text in told().items()
        if name != "docs/guarantees.md"  # there sets are fixed, as in the paper
        for found in OTHER_WORDS.finditer(text)
    ]
    assert strange == []


@pytest.mark.skipif(not PACKAGE.is_dir(), reason="the sources are not beside the tests")
def test_nothing_is_to_be_installed_that_is_not_there():
    """The package itself comes from a checkout; only the README says what a release will change."""
    naming = [name for name, text in told().items() if re.search(r"pip install .?sklearn", text)]
    assert naming == ["README.md"]


def bare(doc: str, title: str) -> list[str]:
    """Return the entries of a numpydoc section that say a type and no meaning."""
    lines = [*section(doc, title), ""]
    return [
        line
        for line, after in itertools.pairwise(lines)
        if line and not line[0].isspace() and not after.startswith("    ")
    ]


def test_every_parameter_says_what_it_means():
    """Those of public functions, classes and methods, and attributes too."""
    from sklearn_probsr import adapters, exceptions, extend, results

    public: dict[str, object] = {}
    everywhere = (sklearn_probsr, adapters, exceptions, extend, results)
    for name, kind in ((name, getattr(m, name)) for m in everywhere for name in m.__all__):
        public |= (
            {f"{name}.{k}": getattr(kind, k) for k in kind.__all__}
            if inspect.ismodule(kind)
            else {name: kind}
        )
        if inspect.isclass(kind):
            public |= {
                f"{name}.{k}": method
                for k, method in vars(kind).items()
                if not k.startswith("_") and callable(getattr(method, "__func__", method))
            }
    wanting = [
        f"{name}: {entry}"
        for name, value in public.items()
        for title in ("Parameters", "Attributes")
        for entry in bare(inspect.getdoc(value) or "", title)
    ]
    assert wanting == []


def test_notebooks_are_their_pages():
    """Every code cell is a block of the page, which another test runs, with what it prints."""
    from docs._ext.notebooks import PAGES, notebook
    from tests.test_project import NOTEBOOKS, code_blocks

    assert {f"docs/{name}.md" for name in PAGES} <= NOTEBOOKS
    for name in PAGES:
        text = (DOCS / f"{name}.md").read_text(encoding="utf-8")
        held = json.loads(notebook(text))
        assert (held["nbformat"], held["nbformat_minor"]) == (4, 5)
        code = [cell for cell in held["cells"] if cell["cell_type"] == "code"]
        told = [
            ("".join(c["source"]) + "\n", "".join("".join(o["text"]) for o in c["outputs"]) or None)
            for c in code
        ]
        assert told == [(source, printed) for _, source, printed in code_blocks(text)]
        words = "".join("".join(c["source"]) for c in held["cells"] if c not in code)
        assert "```python" not in words
        assert ".md)" not in words


# Words of messages that somebody may have to look up.
CONCEPTS = re.compile(
    r"\b(adapter|affine|background|binary|confidence|decision function|delta|distribution|"
    r"enclosure|epsilon|exclude|gamma|growth|guarantee|include|index|instance|law|margin|marginals|masker|"
    r"matching|max_size|minimality|monte-carlo|on_error|product|real-valued|score|skops|state|"
    r"status|target|threshold|uniform|unit|versus|weights)s?\b",
    re.IGNORECASE,
)


def messages() -> list[str]:
    """Return the texts of all errors that the package raises."""
    return [
        " ".join(
            n.value for n in ast.walk(call) if isinstance(n, ast.Constant) and type(n.value) is str
        )
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Raise) and isinstance(call := node.exc, ast.Call)
    ]


@pytest.mark.skipif(not PACKAGE.is_dir(), reason="the sources are not beside the tests")
def test_what_messages_name_is_explained():
    """Each concept that an error names is a term of the glossary, where it stands once."""
    glossary = (DOCS / "glossary.md").read_text(encoding="utf-8")
    terms = re.findall(r"^(?!`|:|#|Every)(\S.*)$", glossary, re.MULTILINE)
    assert len(set(terms)) == len(terms) > 50
    named = {word.lower() for text in messages() for word in CONCEPTS.findall(text)}
    assert len(named) > 25
    assert named - set(terms) == set()


def test_every_page_has_its_place():
    """Each page of the documentation stands in one list of contents."""
    listed = []
    for page in DOCS.glob("*.md"):
        for block in re.findall(r"```{toctree}\n(.*?)```", page.read_text(), re.DOTALL):
            listed += [line for line in block.splitlines() if line and not line.startswith(":")]
    pages = {page.stem for page in DOCS.glob("*.md")} - {"index"}
    assert sorted(listed) == sorted({*pages, "gallery/index"})
