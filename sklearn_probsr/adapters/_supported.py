"""What is supported: the tables of the documentation, written from the registry."""

from __future__ import annotations

from collections.abc import Sequence

from sklearn_probsr.adapters._registry import Entry, entries, names_of

__all__ = ["SKLEARN", "support_table"]

# The first release of scikit-learn that is supported.
SKLEARN = "1.6"


def support_table() -> str:
    """Return the tables of what this package itself supports, in Markdown.

    Returns
    -------
    str
    """
    own = [entry for entry in entries() if not entry.package]
    foreign = [entry for entry in entries() if entry.package]
    lines = [f"Of scikit-learn, from {SKLEARN} on:", ""]
    for role, title in (
        ("classifier", "Classifier"),
        ("wrapper", "Wrapper"),
        ("transformer", "Transformer"),
    ):
        lines += [f"| {title} | how |", "|---|---|"]
        lines += _lines([entry for entry in own if entry.role == role])
        lines.append("")
    lines += ["Of other libraries, from the release on that it is tested with:", ""]
    lines += ["| Library | what | how |", "|---|---|---|"]
    packages = dict.fromkeys((entry.package, entry.release) for entry in foreign)
    for package, release in packages:
        lines += [
            f"| {package} {release} {line}"
            for line in _lines([entry for entry in foreign if entry.package == package])
        ]
    return "\n".join([*lines, ""])


def _lines(some: Sequence[Entry]) -> list[str]:
    """Return one line for all types that are treated alike."""
    notes: dict[str, list[str]] = {}
    for entry in some:
        notes.setdefault(entry.note, []).extend(names_of(entry))
    return [
        f"| {', '.join(f'`{n}`' for n in dict.fromkeys(names))} | {note} |"
        for note, names in notes.items()
    ]
