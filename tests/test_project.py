"""What the project promises about itself: imports, public names, docstrings, README, files."""

import ast
import contextlib
import dataclasses
import graphlib
import inspect
import io
import math
import re
import runpy
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

import sklearn_probsr
from sklearn_probsr import adapters, compare, exceptions, extend, plots, results
from tests.layout import CORE, LATE, PACKAGE, ROOT, SHELLS, imports, module_names

PUBLIC_MODULES = (sklearn_probsr, adapters, exceptions, extend, plots, results)
FOREIGN_TO_CORE = {"matplotlib", "pandas", "shap", "sklearn"}

TOP_LEVEL = {
    "CHANGELOG.md",
    "CITATION.cff",
    "CONTRIBUTING.md",
    "LICENSE",
    "Makefile",
    "README.md",
    "SECURITY.md",
    "docs",
    "examples",
    "pyproject.toml",
    "sklearn_probsr",
    "tests",
}

needs_sources = pytest.mark.skipif(
    not PACKAGE.is_dir(), reason="the sources are not beside the tests"
)


# --- Imports ---------------------------------------------------------------------------------


@pytest.mark.smoke
def test_import_is_light():
    """Importing the package loads none of the libraries that take seconds."""
    code = "import sys, sklearn_probsr; print(*sorted(sys.modules))"
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    loaded = set(run.stdout.split())
    assert "sklearn_probsr" in loaded
    assert loaded & FOREIGN_TO_CORE == set()


@pytest.mark.smoke
def test_kernels_are_imported_when_a_law_is_asked_for():
    """Neither the functions nor the explainer nor the comparator wait for any kernel."""
    code = """if True:
        import sys
        from sklearn_probsr import LinearModel, sufficient_reason
        print("numba" in sys.modules)
        from sklearn_probsr import SufficientReasonExplainer, compare
        print("sklearn_probsr.core.jit" in sys.modules)
        sufficient_reason(LinearModel([2, 1], threshold=2), [1, 1])
        print("sklearn_probsr.independent.uniform" in sys.modules)
        print(*sorted(m for m in sys.modules if m.startswith("sklearn_probsr.laws.")))
    """
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    numba, kernels, uniform, laws = run.stdout.splitlines()
    assert (numba, kernels, uniform) == ("False", "False", "True")
    assert not [name for name in laws.split() if name.count(".") == 3]


@needs_sources
def test_every_room_is_in_the_layout():
    """Each module or folder of the package's root is listed as core or shell, and exists."""
    found = {name.split(".")[0] for name in module_names()} - {""}
    assert found == {*CORE, *SHELLS}


@needs_sources
def test_imports_point_up():
    """A room imports only rooms listed before it, and within a room there are no circles.

    What a law does by default is imported when it is asked for it.
    """
    modules, rooms = module_names(), [*CORE, *SHELLS]
    graph = {}
    for name in modules:
        if not name:
            continue
        own, foreign = imports(name, modules)
        room = name.split(".")[0]
        if room in CORE:
            assert not foreign & FOREIGN_TO_CORE, f"{name} imports {foreign & FOREIGN_TO_CORE}"
        late = {*LATE.get(name, ()), *LATE.get(room, ())}
        earlier = {"", *rooms[: rooms.index(room)], *late}
        inside = {other for other in own if other.split(".")[0] == room}
        wrong = {other for other in own - inside if other.split(".")[0] not in earlier}
        assert not wrong, f"{name} imports {wrong}, which are not above it"
        graph[name] = inside - {room} - late
    graphlib.TopologicalSorter(graph).prepare()  # raises CycleError


@needs_sources
def test_folders_of_laws_build_on_what_all_laws_share():
    """A kind of law imports what laws share and kinds before it; only the dispatch knows all."""
    modules = module_names()
    kinds = ["", "sums", "rivals"]

    def kind(name: str) -> str:
        inside = name.split(".")[1:]
        return inside[0] if len(inside) == 2 else ""

    for name in (n for n in modules if n.startswith("laws.")):
        others = {kind(o) for o in imports(name, modules)[0] if o.startswith("laws.")}
        known = {*kinds[: kinds.index(kind(name)) + 1]} if "." in name[5:] else {""}
        assert others <= known, f"{name} imports laws of {others - known}"


# What only a law should tell apart, and so many lines elsewhere do.
KINDS = {"Background", "Data", "Marginals", "Matching", "Product", "Uniform"}
KINDS |= {"ArgmaxModel", "LinearModel", "Model"}
MOST_LINES_THAT_ASK = 15


def lines_that_ask(source: str) -> set[int]:
    """Return the lines that ask which kind of distribution or model something is."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        asked: list[ast.AST] = []
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "isinstance":
            asked = [node.args[1]]
        elif isinstance(node, ast.MatchClass):
            asked = [node.cls]
        elif isinstance(node, ast.Compare) and "type(" in ast.unparse(node.left):
            asked = list(node.comparators)
        names = {n.id for part in asked for n in ast.walk(part) if isinstance(n, ast.Name)}
        if names & KINDS:
            found.add(node.lineno)
    return found


@needs_sources
def test_only_the_dispatch_tells_distributions_and_models_apart():
    """A few lines beside it ask, most of them shells that read what a user passes."""
    told = [
        f"{name}:{line}"
        for name, path in sorted(module_names().items())
        if name not in {"core.dispatch", "independent.makers"}
        for line in sorted(lines_that_ask(path.read_text(encoding="utf-8")))
    ]
    assert len(told) <= MOST_LINES_THAT_ASK, told
    asked = (
        "if isinstance(a, int | Data): ...\nmatch b:\n    case Uniform() | Product():\n        0\n"
    )
    assert lines_that_ask(asked + "type(c) is Model\nisinstance(d, str)") == {1, 3, 5}


@needs_sources
def test_modules_say_in_a_sentence_what_they_are():
    """The first line of every module's docstring is a sentence."""
    for name, path in module_names().items():
        doc = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
        assert re.fullmatch(r"[^\n]{10,}\.", doc.split("\n")[0]), f"{name}: {doc.splitlines()[:1]}"


@needs_sources
def test_no_test_reads_a_wall_clock():
    """What takes how long depends on the machine: only benchmarks say so."""
    clock = re.compile(r"\btime\.(?:time|perf_counter|monotonic)(?:_ns)?\(|from time im" + "port")
    files = [p for p in (ROOT / "tests").rglob("*.py") if "benchmarks" not in p.parts]
    assert len(files) > 100
    found = [str(p) for p in files if clock.search(p.read_text(encoding="utf-8"))]
    assert found == []
    assert clock.search("start = time." + "perf_counter()")


@needs_sources
def test_tests_have_the_same_rooms():
    """Every folder of tests, but for those of no room, is a folder of the package."""
    folders = {p.parent.relative_to(ROOT / "tests") for p in (ROOT / "tests").rglob("test_*.py")}
    assert {str(f) for f in folders if not (PACKAGE / f).is_dir()} == {"contracts"}


# --- Public names and docstrings -------------------------------------------------------------


def section(doc: str, title: str) -> list[str]:
    """Return the lines of a numpydoc section, or an empty list."""
    pattern = rf"^{title}\n-+\n(.*?)(?=^\S[^\n]*\n-+$|\Z)"
    match = re.search(pattern, doc, re.DOTALL | re.MULTILINE)
    return match[1].splitlines() if match else []


def documented_parameters(doc: str, *titles: str) -> dict[str, str]:
    """Map each documented parameter to its type line ("float, default=0.95")."""
    parameters = {}
    for line in (line for title in titles for line in section(doc, title)):
        if line and not line[0].isspace():
            names, _, kind = line.partition(" : ")
            parameters |= {name.strip().lstrip("*"): kind for name in names.split(",")}
    return parameters


def parameter_problems(label: str, obj: object, *titles: str) -> list[str]:
    """Compare the documented parameters and defaults with the signature."""
    documented = documented_parameters(inspect.getdoc(obj) or "", *titles)
    signature = {
        name: parameter.default
        for name, parameter in inspect.signature(obj).parameters.items()
        if name != "self" and not name.startswith("_")
    }
    problems = [f"{label}: {name} is not documented" for name in signature.keys() - documented]
    if "Attributes" not in titles:
        problems += [f"{label}: {name} is no parameter" for name in documented.keys() - signature]
    for name in signature.keys() & documented.keys():
        default = signature[name]
        written = re.search(r"\bdefault(?:\s*[=:]\s*|\s+)(.+)$", documented[name])
        if written is None:
            if default is not None and default is not inspect.Parameter.empty:
                problems.append(f"{label}: write {name}'s default as default={default!r}")
        elif repr(default) == "<factory>":  # a dataclass field: the value is not in the signature
            continue
        elif not same_default(written[1], default):
            problems.append(f"{label}: {name} says default {written[1]}, signature {default!r}")
    return problems


def same_default(text: str, default: object) -> bool:
    """Whether a default as written in a docstring is the one in the signature."""
    try:
        value = ast.literal_eval(text)
    except (SyntaxError, ValueError):
        return text == repr(default)
    return type(value) is type(default) and value == default


def returns_nothing(function: object) -> bool:
    return inspect.signature(function).return_annotation in (None, "None")


def docstring_problems(name: str, obj: object) -> list[str]:
    """Check a public object; a class's methods may have a one-line docstring."""
    doc = inspect.getdoc(obj) or ""
    if inspect.isfunction(obj):
        problems = parameter_problems(name, obj, "Parameters")
        if not (returns_nothing(obj) or section(doc, "Returns") or section(doc, "Yields")):
            problems.append(f"{name}: no Returns section")
        return problems
    if not inspect.isclass(obj) or issubclass(obj, BaseException):
        return []
    problems = parameter_problems(name, obj, "Parameters", "Attributes")
    for method_name, method in vars(obj).items():
        function = getattr(method, "__func__", method)  # a class method wraps its function
        if method_name.startswith("_") or not inspect.isfunction(function):
            continue
        if section(inspect.getdoc(function) or "", "Parameters"):
            bound = getattr(obj, method_name) if function is not method else function
            problems += parameter_problems(f"{name}.{method_name}", bound, "Parameters")
    return problems


@pytest.mark.smoke
def test_public_names_resolve():
    """`__all__` is sorted, and each name in it exists and has a docstring of its own."""
    for module in PUBLIC_MODULES:
        public = list(module.__all__)
        assert public == sorted(set(public))
        for name in public:
            doc = getattr(module, name).__doc__
            # A dataclass without a docstring gets its signature for one.
            assert doc, f"{name} has no docstring"
            assert not doc.startswith(f"{name}("), f"{name} has no docstring"


@pytest.mark.smoke
def test_each_public_name_has_one_place():
    """At most 32 names are what people call; every other stands in one public module."""
    assert len(sklearn_probsr.__all__) <= 32
    assert dir(sklearn_probsr) == sorted([*sklearn_probsr.__all__, "__version__"])
    every = [name for module in PUBLIC_MODULES for name in module.__all__]
    assert len(every) == len(set(every))
    for module in PUBLIC_MODULES:
        for name in set(every).difference(module.__all__):
            found = getattr(module, name, None)
            assert found is None or inspect.ismodule(found), f"{module.__name__} has {name}"


def test_docstrings_agree_with_signatures():
    """Public functions document parameters and returns, with the defaults they really have."""
    problems = []
    for module in PUBLIC_MODULES:
        for name in module.__all__:
            problems += docstring_problems(name, getattr(module, name))
    assert not problems, "\n".join(sorted(problems))


def test_docstring_check_finds_problems():
    """The check above sees a wrong default, a missing one, a lost parameter, and no Returns."""

    def wrong(a, b=0.95, c="x", *, d=1, e=None):
        """Do something.

        Parameters
        ----------
        a : int
            First.
        b : float, default=0.9
            Second.
        c : str
            Third.
        d, f : int, default 1
            Fourth.

        Examples
        --------
        None.
        """

    @dataclasses.dataclass
    class Right:
        """A value.

        Parameters
        ----------
        a : float, default=0.5
            First.

        Attributes
        ----------
        b : list, default=[]
            Second.
        """

        a: float = 0.5
        b: list = dataclasses.field(default_factory=list)

    assert sorted(docstring_problems("wrong", wrong)) == [
        "wrong: b says default 0.9, signature 0.95",
        "wrong: e is not documented",
        "wrong: f is no parameter",
        "wrong: no Returns section",
        "wrong: write c's default as default='x'",
    ]
    assert docstring_problems("Right", Right) == []


# --- README and files ------------------------------------------------------------------------


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


@needs_sources
def test_readme_agrees_with_pyproject():
    """Versions in the README, of this package, Python and dependencies, are pyproject's."""
    readme, project = read("README.md"), tomllib.loads(read("pyproject.toml"))["project"]
    pythons = re.findall(r":: (3\.\d+)$", "\n".join(project["classifiers"]), re.MULTILINE)
    assert project["requires-python"] == f">={pythons[0]}"

    own = re.findall(r"(?:sklearn[-_]probsr|\b[Vv]ersion)\s*=*\s*v?(\d+\.\d+[\w.]*\w)", readme)
    assert set(own) <= {sklearn_probsr.__version__}
    mentioned = re.findall(r"\bPython\s*(?:>=\s*)?(3\.\d+)", readme)
    assert mentioned, "the README does not say which Python it needs"
    assert mentioned[0] == pythons[0]
    assert set(mentioned) <= set(pythons)
    span = f"Python {pythons[0]} to {pythons[-1]}"
    assert span in readme
    assert span in read("CONTRIBUTING.md")
    if (ROOT / ".ci").is_dir():  # it is not in the sdist
        assert f'supported="{" ".join(pythons)}"' in read(".ci/run")
    for dependency in project["dependencies"]:
        name, _, bound = dependency.partition(">=")
        stated = re.findall(rf"\b{re.escape(name)}\s*>=\s*(\d[\d.]*\d)", readme)
        assert set(stated) <= {bound}, name


@needs_sources
def test_the_readme_tells_of_both_orders():
    """What its caption says of reasons, and of as many features by either order of SHAP values."""
    page = read("README.md")
    names: dict[str, Any] = {}
    exec(compile(code_blocks(page)[0][1], "README.md", "exec"), names)
    found = compare(names["model"], names["X_test"], names["X_train"]).to_frame()
    sizes = [found[f"{word}_size"] for word in ("reason", "abs_shap", "signed_shap")]
    lower = [found[f"{word}_shap_guarantee_lower"] for word in ("top", "signed")]
    missing = [int((some < 0.95).sum()) for some in lower]
    worst = [math.floor(1000 * some.min()) / 10 for some in lower]
    assert [size.iloc[120] for size in sizes] == [2, 9, 2]
    caption = " ".join(page.split())
    assert (
        f"Of all {len(found)} test tumours a reason has {sizes[0].median():g} features (median, at "
        f"most {sizes[0].max()}); by |SHAP| it takes {sizes[1].median():g} (at most "
        f"{sizes[1].max():g}), by signed SHAP {sizes[2].median():g} (at most {sizes[2].max():g}). "
        f"As many by |SHAP| miss the 95% on {missing[0]} tumours and keep {worst[0]}% at worst, by "
        f"signed SHAP on {missing[1]} and {worst[1]}%."
    ) in caption
    front = " ".join(read("docs/index.md").split())
    assert f"as on {len(found) - missing[1]} of the {len(found)} tumours" in front
    assert (
        f"On the other {missing[1]} as many are too few, and keep the class in {worst[1]}%" in front
    )


def code_blocks(text: str) -> list[tuple[int, str, str | None]]:
    """Return (line, code, expected output or None) of each Python block of a Markdown text."""
    fence = r"^```{}\n(.*?)^```$"
    pattern = fence.format("python") + r"(?:\s*" + fence.format("(?:text|output)") + ")?"
    found = re.finditer(pattern, text, re.DOTALL | re.MULTILINE)
    return [(text.count("\n", 0, match.start(1)), match[1], match[2]) for match in found]


# Their blocks follow on from each other like a notebook's cells; those of other pages stand alone.
NOTEBOOKS = {
    f"docs/{name}.md"
    for name in (
        "coming-from-shap",
        "groups",
        "pipelines",
        "questions",
        "reason-codes",
        "rules",
        "several-classes",
        "ten-minutes",
        "text",
        "tutorial",
    )
}
PAGES = [
    "README.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    *sorted(f"docs/{page.name}" for page in (ROOT / "docs").glob("*.md")),
]


@needs_sources
@pytest.mark.parametrize("page", PAGES)
def test_code_of_a_page_runs(page: str, tmp_path, monkeypatch):
    """Each Python block of a page runs, by itself or in turn, and prints the block after it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    blocks = code_blocks(read(page))
    assert blocks or page != "README.md", "the README has no Python block"
    names: dict[str, object] = {}
    for line, code, expected in blocks:
        if page not in NOTEBOOKS or not names:
            names = {"__name__": "page"}
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile("\n" * line + code, page, "exec"), names)
        if expected is not None:
            assert printed.getvalue() == expected, f"{page}, line {line + 1}"
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@needs_sources
@pytest.mark.parametrize("page", PAGES)
def test_links_of_a_page_lead_somewhere(page: str):
    """Every relative link of a page is a file of the project."""
    for target in re.findall(r"\]\(([^)#:]+)\)", read(page)):
        assert (ROOT / page).parent.joinpath(target).exists(), f"{page} links to {target}"


@needs_sources
@pytest.mark.parametrize("page", PAGES)
def test_files_that_a_page_names_exist(page: str):
    """Every module or folder in the text of a page is one of the project."""
    places = (ROOT, PACKAGE, ROOT / "tests")
    named = re.findall(r"`((?:[\w.-]+/)*(?:[\w-]+\.py|_[a-z_]+|[\w-]+/))`", read(page))
    modules = {name.rpartition(".")[2] for name in module_names()}
    for name in named:
        known = "/" not in name and name in modules and page.startswith("docs/")
        assert known or any((place / name).exists() for place in places), f"{page} names {name}"


@needs_sources
def test_the_citation_agrees_with_pyproject():
    """Name, licence and authors are pyproject's; the version is written in one place only."""
    project = tomllib.loads(read("pyproject.toml"))["project"]
    told = dict(re.findall(r"^([a-z-]+): (\S.*)$", read("CITATION.cff"), re.MULTILINE))
    assert told["cff-version"] == "1.2.0"
    assert told["message"]
    assert told["title"] == project["name"]
    assert "version" not in told
    assert project["dynamic"] == ["version"]
    assert told["license"] == project["license"]
    authors = re.search(r"^authors:\n((?:  .*\n)+)", read("CITATION.cff"), re.MULTILINE)[1]
    assert authors == "".join(f"  - name: {who['name']}\n" for who in project["authors"])


@needs_sources
def test_a_source_release_holds_all_that_is_tracked_beside_dotfiles():
    """The list in pyproject names every file and folder that the README and its pages link to."""
    listed = tomllib.loads(read("pyproject.toml"))["tool"]["hatch"]["build"]["targets"]["sdist"]
    # Hatchling adds these by itself.
    always = {"LICENSE", "README.md", "pyproject.toml"}
    assert {name.strip("/") for name in listed["include"]} | always == TOP_LEVEL


@needs_sources
@pytest.mark.parametrize("script", sorted(p.name for p in (ROOT / "examples").glob("*.py")))
def test_examples_run(script: str, tmp_path, monkeypatch):
    """Each example runs with no names but its own, without a screen and without a warning."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    runpy.run_path(str(ROOT / "examples" / script), run_name="__main__")
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


def test_code_blocks_are_found():
    """A text block counts as output only directly after a Python block."""
    first = "# T\n```python\n1\n```\n\n```text\na\n```\n"
    second = "```python\n2\n```\nb\n```text\nc\n```\n"
    assert code_blocks(first + second) == [(2, "1\n", "a\n"), (9, "2\n", None)]


def tracked_files() -> list[Path]:
    """Return the files that git tracks, or skip the test."""
    try:
        run = subprocess.run(
            ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("not a git checkout")
    names = [name for name in run.stdout.split("\0") if name]
    if not names:
        pytest.skip("git tracks nothing here")
    return [Path(name) for name in names]


@needs_sources
def test_files_are_free_of_leftovers():
    """No tracked text file names somebody's home directory or leaves work for later."""
    leftover = re.compile(rb"(?<![\w.~}-])/(?:root|work|home)\b|\b(?:TO[D]O|FIX[M]E)\b")
    problems = []
    for name in tracked_files():
        path = ROOT / name
        content = path.read_bytes() if path.is_file() else b""
        if b"\0" not in content:  # git's own test for a binary file
            lines = enumerate(content.splitlines(), start=1)
            problems += [f"{name}:{number}" for number, line in lines if leftover.search(line)]
    assert not problems, "\n".join(problems)


@needs_sources
def test_top_level_is_as_agreed():
    """The repository's top level holds the agreed entries and dotfiles, nothing else."""
    top = {name.parts[0] for name in tracked_files()}
    assert {entry for entry in top if not entry.startswith(".")} <= TOP_LEVEL
