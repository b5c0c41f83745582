"""Text that a terminal can show, whatever somebody has put into it."""

from __future__ import annotations

__all__ = ["one_line", "printable"]


def one_line(text: str) -> str:
    """Return text as one line that a terminal can show, whatever somebody has put into it."""
    words = " ".join(text.split())
    return "".join(c if c.isprintable() else "?" for c in words)


def printable(text: str) -> str:
    """Return text of several lines that a terminal can show."""
    return "".join(c if c.isprintable() or c == "\n" else "?" for c in text)
