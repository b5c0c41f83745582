"""Draw the pictures of the documentation again: ``make pictures``.

``examples/plot_NAME.py`` draws ``docs/images/NAME.png``. On a page whose Python blocks follow on
from each other, a block draws the picture that comes before the next block.
"""

import os
import re
import runpy
import tempfile
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt

DOCS = Path(__file__).resolve().parent
PAGES = ("tutorial.md", "pipelines.md", "questions.md", "rules.md", "text.md")
DPI = 150


def save(path: Path) -> None:
    """Write the newest figure to a file, and close all."""
    plt.gcf().savefig(path, dpi=DPI, bbox_inches="tight", pad_inches=0.1, metadata={"Software": ""})
    plt.close("all")


def draw_examples() -> None:
    """Run the scripts of the gallery."""
    for script in sorted((DOCS.parent / "examples").glob("plot_*.py")):
        runpy.run_path(str(script))
        save(DOCS / "images" / f"{script.stem.removeprefix('plot_')}.png")


def draw_page(page: Path) -> None:
    """Run the Python blocks of a page."""
    names = {"__name__": "page"}
    for part in page.read_text(encoding="utf-8").split("```python\n")[1:]:
        code, _, text = part.partition("\n```")
        exec(compile(code, page.name, "exec"), names)
        picture = re.search(r"\]\((images/[\w-]+\.png)\)", text)
        if picture and plt.get_fignums():
            save(DOCS / picture[1])


if __name__ == "__main__":
    mpl.use("agg")
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # pages may write files
        draw_examples()
        for name in PAGES:
            draw_page(DOCS / name)
