"""Texts: whether something is a sequence of them, and what among them is none."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from sklearn_probsr.exceptions import InvalidInputError

__all__ = ["is_flat", "no_text", "texts_of"]


def is_flat(X: Any) -> bool:
    """Tell whether something holds one value per row, whatever these are; not whether it has any.

    So do a list, a tuple, a Series and an array of one dimension; a single text does not, nor does
    what can be gone through only once, nor a list of lists. Texts are not copied: in an array each
    would take as much room as the longest.
    """
    if hasattr(X, "shape"):
        return len(X.shape) == 1
    if isinstance(X, str | bytes | bytearray | Mapping):
        return False
    if not (hasattr(X, "__len__") and hasattr(X, "__getitem__")):
        return False
    return all(isinstance(one, str | bytes) or np.ndim(one) == 0 for one in X)


def texts_of(X: Any, name: str) -> list[str | bytes] | None:
    """Return a sequence of texts as a list; None if it is no sequence, or there is no text in it.

    A text is a str, or bytes, which a vectorizer decodes.

    Raises
    ------
    InvalidInputError
        If it is a single text, can be gone through only once, or holds something beside texts.
    """
    single = isinstance(X, str | bytes)
    if single or isinstance(X, Iterator):
        got = repr(X)[:60] if single else type(X).__name__
        remedy = "Write [text] for a single one" if single else "Pass a list of what it gives"
        raise InvalidInputError(
            f"{name} must have rows and columns, or be a sequence of texts, got {got}. {remedy}."
        )
    if not is_flat(X):
        return None
    found = list(X)
    odd = [row for row, one in enumerate(found) if not isinstance(one, str | bytes)]
    if len(odd) == len(found):
        return None
    if odd:
        raise no_text(found[odd[0]], odd[0], name)
    return found


def no_text(value: Any, row: int, name: str, where: str = "") -> InvalidInputError:
    """Return the error about a value that is no text; ``where`` names its column."""
    plain = value.item() if isinstance(value, np.generic) else value
    gap = plain is None or type(plain).__name__ in {"NAType", "NaTType"}
    gap = gap or (isinstance(plain, float) and math.isnan(plain))
    shown = repr(plain) if len(repr(plain)) <= 60 else f"a {type(plain).__name__}"
    remedy = "'' for a text without words" if gap else "it as a text"
    return InvalidInputError(
        f"{name} must hold texts{where}, got {shown} in row {row}. Leave that row out, or write "
        f"{remedy}."
    )
