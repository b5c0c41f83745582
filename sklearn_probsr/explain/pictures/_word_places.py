"""Word places: where in a text the words of a reason are."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable

__all__ = ["places", "readable"]


def places(
    text: str, words: Collection[str], matter: Collection[str] = ()
) -> list[tuple[int, int]]:
    """Return where some words are in a text, as spans that do not overlap, in order.

    A word is found whatever its "case" and its "accents", unless these ``matter``, one of several
    words also across other signs; what is no whole word anywhere, such as a few letters, is found
    inside words, and with a space before or behind it, where one begins or ends.
    """
    plain, at = _folded(text, matter)
    inside = [False] * len(plain)
    for word in words:
        for start, end in _spans(plain, _folded(word, matter)[0]):
            inside[start:end] = [True] * (end - start)
    found: list[tuple[int, int]] = []
    for i, marked in enumerate(inside):
        if not marked:
            continue
        if i and inside[i - 1] and found:
            found[-1] = (found[-1][0], at[i] + 1)
        else:
            found.append((at[i], at[i] + 1))
    return found


def _spans(plain: str, word: str) -> list[tuple[int, int]]:
    parts = word.split()
    if not parts:
        return []
    whole = r"(?<!\w)" + r"\W+".join(map(re.escape, parts)) + r"(?!\w)"
    found = [match.span() for match in re.finditer(whole, plain)]
    if found:
        return found
    first, last = r"(?<!\w)" * word[0].isspace(), r"(?!\w)" * word[-1].isspace()
    letters = first + r"\s+".join(map(re.escape, parts)) + last
    return [match.span() for match in re.finditer(letters, plain)]


def _folded(text: str, matter: Collection[str]) -> tuple[str, list[int]]:
    """Return a text in lower case without accents, and where each of its letters came from."""
    given: Iterable[str] = text
    if "case" not in matter:
        low = text.lower()  # the letter at the end of a Greek word is another one than inside
        given = low if len(low) == len(text) else map(str.lower, text)
    letters, at = [], []
    for i, letter in enumerate(given):
        bare = letter if "accents" in matter else unicodedata.normalize("NFKD", letter)
        for part in bare:
            if "accents" in matter or not unicodedata.combining(part):
                letters.append(part)
                at.append(i)
    return "".join(letters), at


def readable(text: str, has: Collection[int] | None = None) -> str:
    """Return a text that can be drawn: one sign for each, spaces for what none can see.

    ``has`` are the signs that the font has; others become a box, one for each, so that places stay.
    """
    drawn = []
    for letter in text:
        if letter.isspace() or not letter.isprintable():
            drawn.append(" " if letter != "\n" else "\n")
        else:
            drawn.append(letter if has is None or ord(letter) in has else "\N{WHITE SQUARE}")
    return "".join(drawn)
