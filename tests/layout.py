"""The rooms of the package and what they import, read from the sources."""

import ast
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "sklearn_probsr"

# Rooms of the package: data flows down these lists, imports point only up them, those for type
# checkers too.
CORE = (
    "exceptions",
    "_exports",
    "model",
    "distributions",
    "core",
    "independent",
    "rows",
    "rules",
    "results",
    "_functions",
)
# A law that says nothing else is searched as views are; all types of results are told in one place.
LATE = {
    "core.law": ("core.search",),
    "results": ("questions", "explain", "report"),
}
SHELLS = ("adapters", "extend", "questions", "explain", "plots", "report", "cli", "__main__")


def module_names() -> dict[str, Path]:
    """Map every module, dotted and relative to the package, to its file; "" is the root."""
    names = {}
    for path in PACKAGE.rglob("*.py"):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        names[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return names


@cache
def import_statements(path: Path) -> list[ast.Import | ast.ImportFrom]:
    """Return every import of a file, anywhere in it."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]


def imports(name: str, modules: dict[str, Path]) -> tuple[set[str], set[str]]:
    """Return the modules of the package that a module imports, anywhere in it, and the others."""
    own, foreign = set(), set()
    here = ["sklearn_probsr", *filter(None, name.split("."))]
    package = here if modules[name].name == "__init__.py" else here[:-1]
    for node in import_statements(modules[name]):
        if isinstance(node, ast.Import):
            targets = [alias.name for alias in node.names]
        else:
            start = package[: len(package) - node.level + 1] if node.level else []
            base = ".".join([*start, *filter(None, [node.module])])
            targets = [f"{base}.{alias.name}" for alias in node.names]
        for target in targets:
            top, _, inside = target.partition(".")
            if top != "sklearn_probsr":
                foreign.add(top)
            else:  # `a.b.name` is the module a.b.name if there is one, else a name in a.b
                own.add(inside if inside in modules else inside.rpartition(".")[0])
    return own, foreign
