"""The demo: what it says, what it writes, and that it leaves the session alone."""

from pathlib import Path

import matplotlib.pyplot as plt
from PIL import Image

from sklearn_probsr.report._demo import demo


def test_the_demo_explains_and_draws(tmp_path: Path):
    """Four tumours and a summary in lines that fit; pictures in a new folder; no figure is left."""
    before, said = plt.get_backend(), []
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
    assert blocks[5][0] == "All 100 tumours"
    assert blocks[5][2] == "  100 rows, delta = 0.95, over replacement by 426 background rows."
    assert blocks[6][0].startswith(f"Pictures in {tmp_path / 'new' / 'folder'}: comparison.png, ")
    assert blocks[7] == [f"A page on every tumour, to open in a browser: {written[-1]}"]
    assert max(len(line) for block in blocks[:6] for line in block) <= 100
    assert plt.get_backend() == before
    assert not plt.get_fignums()
