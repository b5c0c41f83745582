"""Anchors of some instances: run in a Python that has anchor-exp, which may be another one.

``python anchors.py exported.npz`` prints, as JSON, the seconds and the features of each instance.
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
    rows, weights, threshold = given["rows"], given["weights"], float(given["threshold"])
    d = rows.shape[1]
    values = {i: ["0", "1"] for i in range(d)}
    explainer = AnchorTabularExplainer(["0", "1"], [f"x{i}" for i in range(d)], rows, values)

    def predict(batch):
        return (batch @ weights >= threshold).astype(int)

    np.random.seed(0)  # noqa: NPY002 - anchor draws from the global generator
    found = []
    for x in given["instances"]:
        start = time.process_time()
        told = explainer.explain_instance(x, predict, threshold=DELTA)
        found.append([time.process_time() - start, sorted({int(i) for i in told.features()})])
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1])
