"""The demo: what it says, what it writes, and that it leaves the session alone."""

import re
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import pytest
from PIL import Image

from sklearn_probsr import plots
from sklearn_probsr.report._demo import demo


def test_the_demo_explains_and_draws(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Four tumours and a summary in lines that fit; pictures in a new folder; no figure is left.

    A tumour has one name: in words, in pictures and on the page.
    """
    before, said, legends = plt.get_backend(), [], []
    draw = plots.curve

    def curve(*args: Any) -> Any:
        ax = draw(*args)
        legends.extend(text.get_text() for text in ax.get_legend().get_texts())
        return ax

    monkeypatch.setattr(plots, "curve", curve)
    heatmap, cells = plots.reasons_heatmap, []

    def reasons_heatmap(reasons: Any) -> Any:
        cells.append(reasons.reason_mask.shape)
        return heatmap(reasons)

    monkeypatch.setattr(plots, "reasons_heatmap", reasons_heatmap)
    written = demo(tmp_path / "new" / "folder", said.append)
    assert [path.name for path in written] == [
        "comparison.png",
        "waterfall.png",
        "curve.png",
        "frequency.png",
        "heatmap.png",
        "report.html",
    ]
    for path in written[:-1]:
        with Image.open(path) as picture:
            assert min(picture.size) > 300, path.name
    blocks = [block.lstrip("\n").split("\n") for block in said]
    heads = [block[0] for block in blocks[1:5]]
    assert all(head.startswith("Tumour ") for head in heads)
    assert [head.rsplit(" — ")[1] for head in heads] == [
        "a typical one",
        "a typical one",
        "the classifier's firmest mistake",
        "the closest call",
    ]
    told = [head.removeprefix("Tumour ").split(":")[0] for head in heads]
    drawn = [name for text in legends for name in re.findall(r"\d+", text.split(":")[0])]
    assert sorted(drawn, key=int) == sorted(told, key=int)
    assert cells == [(100, 30)]  # SHAP's own heatmap would not say what is in a reason
    # On the page rows have no ids beside their places.
    assert "feature, class or row" in written[-1].read_text(encoding="utf-8")
    assert blocks[5][0] == "All 100 tumours"
    assert blocks[5][2] == "  100 rows, delta = 0.95, over replacement by 426 background rows."
    assert blocks[6][0].startswith(f"Pictures in {tmp_path / 'new' / 'folder'}: comparison.png, ")
    assert blocks[7] == [f"A page on every tumour, to open in a browser: {written[-1]}"]
    assert max(len(line) for block in blocks[:6] for line in block) <= 100
    assert plt.get_backend() == before
    assert not plt.get_fignums()
