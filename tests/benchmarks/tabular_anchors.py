"""Anchors of numbers in quartiles: run in a Python that has anchor-exp, which may be another one.

``python tabular_anchors.py exported.npz`` prints, as JSON, the seconds and the words of each.
"""

from __future__ import annotations

import json
import sys
import time

import numpy as np

DELTA = 0.95


def main(path: str) -> None:
    from anchor.anchor_tabular import AnchorTabularExplainer

    given = np.load(path)
    rows, weights, level = given["rows"], given["weights"], float(given["level"])
    names = [f"f{i}" for i in range(rows.shape[1])]
    explainer = AnchorTabularExplainer(["0", "1"], names, rows, {})

    def predict(batch):
        return (batch @ weights > level).astype(int)

    np.random.seed(0)  # noqa: NPY002 - anchor draws from the global generator
    found = []
    for x in rows[: int(given["count"])]:
        start = time.process_time()
        told = explainer.explain_instance(x, predict, threshold=DELTA)
        found.append([time.process_time() - start, told.names()])
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1])
