"""Count the code of the package: ``python -m docs.size``, or ``make size``.

Code is what is left without docstrings, comments and blank lines. Each part of the package is a
line; under it stand the tests, and libraries of the same kind, counted in the same way from wheels
that are named on the command line. The table stands in ``docs/architecture.md``.
"""

import ast
import io
import sys
import tokenize
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BETWEEN_TOKENS = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)


def code_lines(source: str) -> int:
    """Return how many lines of a module hold code."""
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in (*BETWEEN_TOKENS, tokenize.ENDMARKER):
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            if isinstance(first, ast.Expr) and ast.get_docstring(node, clean=False) is not None:
                lines.difference_update(range(first.lineno, first.end_lineno + 1))
    return len(lines)


def counted(sources: Iterable[str]) -> tuple[int, int]:
    """Return how many modules have code, and how many lines of it they have together."""
    found = [n for source in sources if (n := code_lines(source))]
    return len(found), sum(found)


def modules(folder: Path) -> dict[str, list[str]]:
    """Return the sources of each part of a package: a folder, or the modules beside folders."""
    parts: dict[str, list[str]] = {}
    for path in sorted(folder.rglob("*.py")):
        inside = path.relative_to(folder).parts
        part = f"{inside[0]}/" if len(inside) > 1 else "beside them"
        parts.setdefault(part, []).append(path.read_text(encoding="utf-8"))
    return dict(sorted(parts.items(), key=lambda part: (part[0] == "beside them", part[0])))


def in_wheel(path: Path) -> Iterator[str]:
    """Yield the sources of a wheel's package, without tests that it brings."""
    with zipfile.ZipFile(path) as wheel:
        for name in wheel.namelist():
            if name.endswith(".py") and "tests" not in name.split("/"):
                yield wheel.read(name).decode("utf-8")


def table(wheels: Iterable[Path]) -> str:
    """Return the table in Markdown."""
    parts = modules(ROOT / "sklearn_probsr")
    rows = [(f"`{name}`" if "/" in name else name, *counted(parts[name])) for name in parts]
    rows.append(("**the package**", *counted(s for part in parts.values() for s in part)))
    tests = modules(ROOT / "tests")
    rows.append(("tests and benchmarks", *counted(s for part in tests.values() for s in part)))
    for wheel in wheels:
        name, version = wheel.name.split("-")[:2]
        rows.append((f"{name} {version}", *counted(in_wheel(wheel))))
    lines = [f"| {name} | {files} | {lines:,} |" for name, files, lines in rows]
    return "\n".join(["| | modules | lines of code |", "|---|--:|--:|", *lines])


if __name__ == "__main__":
    sys.stdout.write(table(map(Path, sys.argv[1:])) + "\n")
