"""Pages whose blocks follow on from each other, as notebooks to download."""

import json
import re
from pathlib import Path

# Tests run their blocks in turn.
PAGES = ("ten-minutes", "tutorial", "pipelines", "several-classes")

_BLOCK = re.compile(r"^```python\n(.*?)^```$(?:\n\n```text\n(.*?)^```$)?", re.DOTALL | re.MULTILINE)
_PICTURE = re.compile(r"^!\[[^\]]*\]\([^)]*\)\n", re.MULTILINE)
_PAGE = re.compile(r"\[([^\]]+)\]\((?!https?:)[^)]*\)")
_LINK = """
<p class="notebook"><a href="{name}.ipynb" download>Download this page as a notebook</a></p>
"""


def cells(text):
    """Yield the cells of a page: texts as Markdown, blocks as code with what they print."""
    end = 0
    for found in _BLOCK.finditer(text):
        yield from _words(text[end : found.start()])
        printed = _lines(found[2] or "")
        outputs = [{"output_type": "stream", "name": "stdout", "text": printed}]
        yield {
            "cell_type": "code",
            "execution_count": None,
            "metadata": {},
            "outputs": outputs if printed else [],
            "source": _lines(found[1].rstrip("\n")),
        }
        end = found.end()
    yield from _words(text[end:])


def _words(text):
    """Yield a Markdown cell; pictures are drawn by the code, and other pages are not beside it."""
    told = _PAGE.sub(r"\1", _PICTURE.sub("", text)).strip()
    if told:
        yield {"cell_type": "markdown", "metadata": {}, "source": _lines(told)}


def _lines(text):
    return text.splitlines(keepends=True)


def notebook(text):
    """Return a page as a notebook, in JSON."""
    numbered = [{"id": f"cell-{k}", **cell} for k, cell in enumerate(cells(text))]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    held = {
        "cells": numbered,
        "metadata": {"kernelspec": kernel},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(held, indent=1, ensure_ascii=False) + "\n"


def link(app, docname, source):
    """Put the link below the title."""
    if docname in PAGES:
        title, rest = source[0].split("\n", 1)
        source[0] = title + "\n" + _LINK.format(name=docname) + rest


def write(app, error):
    """Write the notebooks beside their pages."""
    if error is None and app.builder.format == "html":
        for name in PAGES:
            text = Path(app.srcdir, f"{name}.md").read_text(encoding="utf-8")
            Path(app.outdir, f"{name}.ipynb").write_text(notebook(text), encoding="utf-8")


def setup(app):
    """Link and write them."""
    app.connect("source-read", link)
    app.connect("build-finished", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
