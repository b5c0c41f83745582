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
import warnings
from pathlib import Path

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline

from sklearn_probsr import SufficientReasonExplainer, compare, plots

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
    there = np.mean([not fact.startswith("no ") for reason in told for fact in reason.facts])
    print(f"called {label}: {np.median([r.size for r in told]):g} words in a reason (median), "
          f"{there:.0%} of them occur, the others are known not to")  # fmt: skip

# %%
# ``present_only=True`` keeps reasons to words that occur, which is what a reader looks for in a
# text. Where they do not reach 90%, a row is flagged and has the best set. Of the documents of
# moderate length that are settled by as few words as possible, two: one where SHAP's largest values
# would do nearly as well, and one where they would not.

occurring = SufficientReasonExplainer(model, train, delta=0.9, present_only=True)
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # rows that are flagged
    present = occurring(test[:70])
print(f"settled by words that occur: {np.mean(present.status == 'ok'):.0%} of the documents")

fits = np.array([4 <= text.count("\n") < 13 for text in test[:70]])
proved, right = present.minimality == "minimum", present.prediction == y_test[:70]
good = np.flatnonzero(fits & (present.reason_size > 1) & proved & right)

found = compare(model, test[good], train, delta=0.9, present_only=True)
by_shap = found.table["top_shap_guarantee_lower"]
shown = [int(good[k]) for k in (by_shap.argmax(), by_shap.argmin())]
for i, k in zip(shown, (by_shap.argmax(), by_shap.argmin()), strict=True):
    size, sure = present.reason_size[i], np.floor(1000 * by_shap[k]) / 10
    print(f"\n{present.describe(i)}\nThe {size} largest SHAP values keep it in {sure:.1f}%.")

# %%
# The words in their texts. `sklearn_probsr.plots.text` takes any explanation of texts; facts about
# words that do not occur would stand below.

plots.text(present[shown], test[shown])
