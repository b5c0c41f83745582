"""
The words that settle it
========================

Is this docstring of the standard library about the network? A linear classifier over a bag of words
has hundreds of features, a SHAP value for each; a few words settle the answer.
"""

# %%
# Every docstring of two families of modules is a document. Nothing is downloaded: the sources that
# come with Python are read. Which documents there are differs a little from release to release.

import ast
import importlib.util
import re
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline

from sklearn_probsr import SufficientReasonExplainer, compare

FAMILIES = {
    "network": """asyncio.base_events asyncio.events asyncio.protocols asyncio.streams
        asyncio.transports ftplib http.client http.cookiejar http.server imaplib ipaddress poplib
        smtplib socket socketserver ssl urllib.parse urllib.request urllib.robotparser
        xmlrpc.client xmlrpc.server""",
    "data": """bisect calendar collections configparser copy csv dataclasses difflib enum
        fractions functools heapq json.decoder json.encoder numbers operator pathlib pprint random
        re shlex shutil statistics string tarfile textwrap tokenize types typing zipfile""",
}
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def docstrings(module):
    """Return the docstrings in the source of a module, without the shortest."""
    source = Path(importlib.util.find_spec(module).origin).read_text(encoding="utf-8")
    nodes = (node for node in ast.walk(ast.parse(source)) if isinstance(node, DOCUMENTED))
    found = (ast.get_docstring(node) or "" for node in nodes)
    return [text for text in found if len(text.split()) >= 12]


documents, labels = zip(
    *(
        (text, label)
        for label, modules in FAMILIES.items()
        for module in modules.split()
        for text in docstrings(module)
    ),
    strict=True,
)
train, test, y_train, y_test = train_test_split(
    np.array(documents, dtype=object), np.array(labels), stratify=labels, random_state=0
)

# %%
# A feature is whether a word occurs. The words of a document that are not known, occurring or not,
# are taken all together from one of the training documents.

words = CountVectorizer(binary=True, min_df=8, stop_words="english")
model = make_pipeline(words, LogisticRegression(C=0.3)).fit(train, y_train)
print(f"{len(train)} documents to learn from, {len(words.vocabulary_)} words")
print(f"right on {model.score(test, y_test):.0%} of {len(test)} others")

reasons = SufficientReasonExplainer(model, train, delta=0.9)(test[:70])
for label in FAMILIES:
    told = [reason for reason in reasons.reasons if reason.prediction == label]
    there = np.mean([fact.startswith("with ") for reason in told for fact in reason.facts])
    print(f"called {label}: {np.median([r.size for r in told]):g} words in a reason (median), "
          f"{there:.0%} of them occur, the others are known not to")  # fmt: skip

# %%
# Two documents of moderate length that are settled by words which occur, and by as few as possible:
# one where SHAP's largest values would do nearly as well, and one where they would not.

fits = [4 <= text.count("\n") < 13 and max(map(len, text.split("\n"))) <= 74 for text in test[:70]]
occur = [all(fact.startswith("with ") for fact in reason.facts) for reason in reasons.reasons]
proved, right = reasons.minimality == "minimum", reasons.prediction == y_test[:70]
good = np.flatnonzero(np.array(fits) & np.array(occur) & proved & right)

found = compare(model, test[good], train, delta=0.9)
by_shap = found.table["top_shap_guarantee_lower"]
shown = {int(good[k]): k for k in (by_shap.argmax(), by_shap.argmin())}
for i in shown:
    print("\n" + reasons.describe(i))

# %%
# Left: the document, with the words of the reason. Right: its largest SHAP values.

RED, GREY, PALE = "#ff0051", "#8a8a8a", "#c8c8c8"
COLUMNS, LARGEST = 74, 9


def percent(share):
    return f"{np.floor(1000 * share) / 10:.1f}%"  # rounded down, as promises are


def write(ax, lines, marked):
    """Write a document in a typewriter's letters, the marked words on a red ground."""
    ax.set(xlim=(0, COLUMNS), ylim=(max(len(lines), 12) - 0.4, -0.8))
    ax.set_axis_off()
    size = 72 * ax.bbox.width / ax.figure.dpi / COLUMNS / 0.61  # a letter is that wide
    style = {"family": "DejaVu Sans Mono", "fontsize": size, "va": "center", "ha": "left"}
    for row, line in enumerate(lines):
        for word in re.finditer(r"\w+|[^\w\s]+", line):
            at, inside = word.start(), word[0].lower() in marked
            if inside:
                box = plt.Rectangle((at - 0.12, row - 0.46), len(word[0]) + 0.24, 0.92, color=RED)
                ax.add_patch(box)
            colour, weight = ("white", "bold") if inside else ("#444444", "normal")
            ax.text(at, row, word[0], color=colour, weight=weight, **style)


figure = plt.figure(figsize=(11, 6.6))
for place, (i, k) in enumerate(shown.items()):
    reason, values = reasons.reasons[i], found.shap_values[k]
    bottom = 0.57 - 0.5 * place
    left = figure.add_axes((0.02, bottom, 0.6, 0.33))
    right = figure.add_axes((0.79, bottom, 0.19, 0.33))
    write(left, test[i].split("\n"), set(reason.feature_names))
    figure.text(
        0.02, bottom + 0.375, f"{reason.size} words keep “{reason.prediction}” in "
        f"{percent(reason.guarantee.lower)} of {len(train)} replacements",
        color=RED, weight="bold", fontsize=12,
    )  # fmt: skip

    largest = np.argsort(-np.abs(values), kind="stable")[:LARGEST]
    inside = np.isin(largest, reason.features)
    # The second class in alphabetical order is "network": up is towards it.
    right.barh(range(LARGEST), values[largest], color=np.where(inside, RED, PALE), height=0.7)
    occurs = words.transform([test[i]]).toarray()[0]
    names = [f"{'' if occurs[u] else 'no '}“{found.feature_names[u]}”" for u in largest]
    right.set_yticks(range(LARGEST), names, fontsize=10)
    for label in np.array(right.get_yticklabels())[inside]:
        label.set(color=RED, weight="bold")
    right.invert_yaxis()
    right.axvline(0, color="black", linewidth=0.8)
    right.tick_params(axis="y", length=0)
    right.spines[["top", "right", "left"]].set_visible(False)
    top = percent(by_shap[k])
    right.set_title(f"the {reason.size} largest SHAP values: {top}", fontsize=10, x=0.15)
    right.set_xlabel("← data     network →", fontsize=9, color=GREY)
