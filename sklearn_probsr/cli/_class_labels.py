"""Class labels as one types them, and those that a command line names."""

from __future__ import annotations

from typing import Any

from sklearn_probsr.cli._request import Request
from sklearn_probsr.exceptions import InvalidInputError
from sklearn_probsr.model.numbers import listing

__all__ = ["label_text", "named_classes"]

# Floats tell all whole numbers below this one apart.
_EXACT = 2.0**53


def label_text(label: Any) -> str:
    """Return a class as one types it; a whole number is one also where others are missing."""
    whole = isinstance(label, float) and label.is_integer() and abs(label) < _EXACT
    return str(int(label)) if whole else str(label)


def named_classes(model: Any, request: Request) -> tuple[Any, Any]:
    """Return the classes to be told apart, as the model has them; None where it has only two."""
    found = getattr(model, "classes_", [])
    known = list(found) if hasattr(found, "__iter__") else []
    if request.label is None and request.versus is not None:
        raise InvalidInputError(f"--versus {request.versus} needs a --class to compare with it.")
    if len(known) > 2 and (request.label is None) != (request.versus is None):
        pair = f"--class {label_text(known[1])} --versus {label_text(known[0])}"
        raise InvalidInputError(
            f"{request.model} tells {len(known)} classes apart: {_listing(known)}. Ask for all of "
            f"them, without --class, or for one against another: {pair}."
        )
    if request.label is not None and request.label == request.versus:
        raise InvalidInputError(
            f"--class and --versus must be two classes, got {request.label} twice."
        )
    return _class(known, request.label, "--class"), _class(known, request.versus, "--versus")


def _class(known: list[Any], text: str | None, option: str) -> Any:
    if text is None or not known:
        return text
    for label in known:
        if label_text(label) == text:
            return label
    raise InvalidInputError(f"{option} {text}: the model's classes are {_listing(known)}.")


def _listing(labels: list[Any]) -> str:
    return listing([label_text(label) for label in labels]).replace("'", "")
