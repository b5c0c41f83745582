"""A mathematician can check it: kernels and error constants cite statements that are there."""

import ast
import io
import re
import tokenize
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "sklearn_probsr"
ENGINES = PACKAGE / "engines"
PAGE = ROOT / "docs" / "guarantees.md"

pytestmark = pytest.mark.skipif(not PACKAGE.is_dir(), reason="the sources are not beside the tests")

KINDS = "Lemma|Proposition|Theorem|Corollary"
NUMBERS = r"\d+[a-z]?\b(?:(?:, | and | to )\d+[a-z]?\b)*"
# "Lemma 10", "Lemmas 10 and 11", "Corollary 4b"; other people's statements are not meant.
STATEMENT = re.compile(rf"(?<!paper's )(?<!\d{{4}}, )\b({KINDS})s? ({NUMBERS})")
# "Table 2 line 3", "Table 2, lines 3 to 6"
LINE = re.compile(rf"\bTable (\d+)(?:,? lines? ({NUMBERS}))?")
# Functions of the engines fit a screen, and small values carry what belongs together.
MOST_LINES, MOST_PARAMETERS = 60, 8


def numbers(text: str) -> list[str]:
    """Return "3 to 5" as 3, 4, 5 and "10 and 11" as 10, 11."""
    found: list[str] = []
    for part in re.split(", | and ", text):
        first, _, last = part.partition(" to ")
        found += [str(n) for n in range(int(first), int(last) + 1)] if last else [first]
    return found


def cited(text: str) -> set[str]:
    """Return the statements and lines of tables that a text cites."""
    text = re.sub(r"\s+", " ", text)
    found = {f"{kind} {n}" for kind, some in STATEMENT.findall(text) for n in numbers(some)}
    for table, some in LINE.findall(text):
        found |= {f"Table {table} line {n}" for n in numbers(some)} if some else {f"Table {table}"}
    return found


def stated(page: str) -> list[str]:
    """Return what a page states: its numbered statements, their parts, and the lines of tables."""
    found = []
    heads = rf"^(?:- )?\*\*({KINDS}) (\d+)\b(.*?)(?=\n\n|\Z)"
    for kind, number, block in re.findall(heads, page, re.MULTILINE | re.DOTALL):
        found.append(f"{kind} {number}")
        parts = re.findall(r"\(([a-h])\) ", block.partition("*Proof")[0])
        found += [f"{kind} {number}{part}" for part in parts]
    for table, body in re.findall(r"^\*\*Table (\d+)\b.*?\*\*\n\n(\|.*?)\n\n", page, re.M | re.S):
        found.append(f"Table {table}")
        found += [f"Table {table} line {n}" for n in re.findall(r"^\| (\d+) \|", body, re.M)]
    return found


def comments(source: str) -> dict[int, str]:
    """Map each line that ends a comment to the comment, of several lines joined."""
    found: dict[int, str] = {}
    going_on = 0  # the line after a comment that stands alone
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            line = token.start[0]
            alone = not token.line[: token.start[1]].strip()
            before = found.pop(line - 1) if alone and line == going_on else ""
            found[line] = f"{before} {token.string.lstrip('# ')}".strip()
            going_on = line + 1 if alone else 0
    return found


def prose(tree: ast.Module, source: str) -> str:
    """Return the docstrings and comments of a module."""
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
    docs = [ast.get_docstring(n) or "" for n in ast.walk(tree) if isinstance(n, documented)]
    return "\n\n".join([*docs, *comments(source).values()])


@cache
def modules(folder: Path) -> list[tuple[str, ast.Module, str]]:
    """Return the name, the tree and the source of every module of a folder."""
    found = []
    for path in sorted(folder.rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        found.append((path.relative_to(PACKAGE).as_posix(), ast.parse(source), source))
    return found


@cache
def cited_by_module() -> dict[str, set[str]]:
    """Return what each module of the package cites."""
    return {name: cited(prose(tree, source)) for name, tree, source in modules(PACKAGE)}


def functions(tree: ast.Module) -> list[ast.FunctionDef]:
    return [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]


def test_every_number_is_given_once():
    """Numbers are names: no statement of the page has that of another, whatever its kind."""
    seen = defaultdict(list)
    for name in stated(PAGE.read_text(encoding="utf-8")):
        if re.fullmatch(rf"(?:{KINDS}) \d+", name):
            seen[name.split()[1]].append(name)
    assert {number: names for number, names in seen.items() if len(names) > 1} == {}


def test_what_is_cited_is_stated():
    """Every lemma, proposition, theorem, corollary and line that the package names is there."""
    page = PAGE.read_text(encoding="utf-8")
    known = set(stated(page))
    everything = {"docs/guarantees.md": cited(page)} | cited_by_module()
    problems = {name: some - known for name, some in everything.items()}
    assert {name: sorted(missing) for name, missing in problems.items() if missing} == {}


def test_what_is_stated_of_the_engines_is_cited():
    """No statement from section 3 on, and no line of the budget, has lost its code."""
    names = set().union(*cited_by_module().values())
    page = PAGE.read_text(encoding="utf-8")
    later = {n for n in stated(page) if re.fullmatch(rf"(?:{KINDS}) (?:9|[1-9]\d+)|Table .*", n)}
    assert later - names == set()


def test_every_kernel_cites_what_it_rests_on():
    """In its own docstring or in that of its module."""
    problems, count = [], 0
    for name, tree, _ in modules(PACKAGE):
        about = cited(ast.get_docstring(tree) or "")
        for function in functions(tree):
            if any(ast.unparse(d) == "kernel" for d in function.decorator_list):
                count += 1
                if not about and not cited(ast.get_docstring(function) or ""):
                    problems.append(f"{name}: {function.name}")
    assert problems == []
    assert count > 30


def is_error_constant(node: ast.AST) -> bool:
    """Tell whether a number is as small as a bound of errors; guards next to 0 are not meant."""
    if isinstance(node, ast.Constant) and isinstance(node.value, float):
        return 1e-200 < node.value < 1e-4
    return (
        isinstance(node, ast.BinOp)
        and isinstance(node.op, ast.Pow)
        and isinstance(node.left, ast.Constant)
        and isinstance(node.left.value, float)
        and isinstance(node.right, ast.UnaryOp)
    )


def test_every_error_constant_cites_its_statement():
    """One of a module in the comment above it, one in a function in a comment or its docstring."""
    problems, count = [], 0
    rooms = ("engines/", "core/monte_carlo", "independent/vaaler")
    held = [one for one in modules(PACKAGE) if one[0].startswith(rooms)]
    for name, tree, source in held:
        notes = comments(source)
        for node in tree.body:
            if not any(map(is_error_constant, ast.walk(node))):
                continue
            if isinstance(node, ast.Assign):
                label = ast.unparse(node.targets[0])
                text = notes.get(node.lineno - 1, "") + " " + notes.get(node.lineno, "")
            elif isinstance(node, ast.FunctionDef):
                label, text = node.name, ast.get_docstring(node) or ""
                inside = (line for line in notes if node.lineno <= line <= (node.end_lineno or 0))
                text = "\n\n".join([text, *(notes[line] for line in inside)])
            else:
                continue
            if label.endswith("_cost") or "seconds" in (label + text).lower():
                continue
            count += 1
            if not cited(text):
                problems.append(f"{name}: {label}")
    assert problems == []
    assert count > 12


def test_functions_of_the_engines_fit_a_screen():
    """At most so many lines, the docstring included, and so many parameters."""
    problems = []
    for name, tree, _ in modules(ENGINES):
        for function in functions(tree):
            lines = (function.end_lineno or 0) - function.lineno + 1
            given = function.args
            parameters = len([*given.posonlyargs, *given.args, *given.kwonlyargs])
            if lines > MOST_LINES or parameters > MOST_PARAMETERS:
                problems.append(f"{name}: {function.name}, {lines} lines, {parameters} parameters")
    assert problems == []


def test_a_threshold_is_the_models():
    """What sums are compared with in the engines is a capacity, a cut or a margin."""
    for name, _, source in modules(ENGINES):
        assert "threshold" not in source.replace("form.threshold", "").lower(), name


def test_citations_are_read():
    """Several numbers, line breaks and parts; what others have proved is not meant."""
    text = "Lemmas 10 and 11, Proposition\n    12 and Corollary 4b"
    others = "the paper's Lemma 1; (Hoeffding 1963, Theorem 2)"
    assert cited(f"{text}; {others}") == {"Lemma 10", "Lemma 11", "Proposition 12", "Corollary 4b"}
    assert cited("Table 2, lines 3 to 5") == {f"Table 2 line {n}" for n in (3, 4, 5)}
    page = (
        "**Lemma 1 (x).** (a) One. (b) Two.\n*Proof of (c).*\n\n**Table 7 (y).**\n\n| 1 | a |\n\n"
    )
    assert stated(page) == ["Lemma 1", "Lemma 1a", "Lemma 1b", "Table 7", "Table 7 line 1"]
    assert comments("a = 1  # one\n# two\n# three\nb = 2\n") == {1: "one", 3: "two three"}
