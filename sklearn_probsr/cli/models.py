"""Models: read from files that may be somebody else's, which neither run code nor do harm.

A skops file names the types that it holds, and none is made that is not trusted. All types being
harmless, what they hold may not be: words of a table that name files, processes without number,
and indices that compiled code follows out of its arrays. So that is looked at as well.
"""

from __future__ import annotations

import io
import json
import shlex
import sys
import warnings
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from copy import copy
from inspect import isfunction
from pathlib import Path
from typing import IO, Any

import numpy as np

from sklearn_probsr.cli.packed import bearable
from sklearn_probsr.exceptions import InvalidInputError
from sklearn_probsr.results.codec import UnsoundError, refusing, shown

# skops itself trusts scikit-learn's estimators, NumPy's ufuncs and scalar types, and containers.
# These are the other parts of scikit-learn's and NumPy's own that the models which can be explained
# are made of. Each is named in full. A file decides what such a type holds, and may call it with
# arguments of its choice, so none is here that opens a file, imports by name, runs text, or trusts
# indices: no function of NumPy (`numpy.load` is one), no tree, no spline.
_ALLOWED = {
    "numpy": (
        "dtype", "floating", "generic", "inexact", "integer", "number", "signedinteger",
        "unsignedinteger",
    ),
    "sklearn.calibration": (
        "_CalibratedClassifier", "_SigmoidCalibration", "_TemperatureScaling",
    ),
    "sklearn.compose._column_transformer": ("_RemainderColsList", "make_column_selector"),
    "sklearn.feature_selection._mutual_info": ("mutual_info_classif",),
    "sklearn.feature_selection._univariate_selection": ("chi2", "f_classif"),
    "sklearn.metrics._classification": (
        "accuracy_score", "balanced_accuracy_score", "brier_score_loss", "cohen_kappa_score",
        "d2_brier_score", "d2_log_loss_score", "f1_score", "fbeta_score", "hamming_loss",
        "hinge_loss", "jaccard_score", "log_loss", "matthews_corrcoef", "precision_score",
        "recall_score", "zero_one_loss",
    ),
    "sklearn.metrics._ranking": (
        "average_precision_score", "dcg_score", "label_ranking_average_precision_score",
        "ndcg_score", "roc_auc_score", "top_k_accuracy_score",
    ),
    "sklearn.metrics._regression": (
        "d2_absolute_error_score", "explained_variance_score", "max_error",
        "mean_absolute_error", "mean_absolute_percentage_error", "mean_gamma_deviance",
        "mean_poisson_deviance", "mean_squared_error", "mean_squared_log_error",
        "median_absolute_error", "r2_score", "root_mean_squared_error",
        "root_mean_squared_log_error",
    ),
    "sklearn.metrics._scorer": (
        "_CurveScorer", "_MultimetricScorer", "_PassthroughScorer", "_Scorer",
        "negative_likelihood_ratio", "positive_likelihood_ratio",
    ),
    "sklearn.metrics.cluster._supervised": (
        "adjusted_mutual_info_score", "adjusted_rand_score", "completeness_score",
        "fowlkes_mallows_score", "homogeneity_score", "mutual_info_score",
        "normalized_mutual_info_score", "rand_score", "v_measure_score",
    ),
    "sklearn.model_selection._search_successive_halving": (
        "HalvingGridSearchCV", "HalvingRandomSearchCV",
    ),
    "sklearn.model_selection._split": (
        "GroupKFold", "KFold", "LeaveOneOut", "RepeatedKFold", "RepeatedStratifiedKFold",
        "ShuffleSplit", "StratifiedGroupKFold", "StratifiedKFold", "StratifiedShuffleSplit",
        "TimeSeriesSplit",
    ),
    "sklearn.utils._metadata_requests": ("MetadataRequest", "MethodMetadataRequest"),
}  # fmt: skip
ALLOWED = frozenset(f"{module}.{name}" for module, names in _ALLOWED.items() for name in names)

# How a pickle begins from protocol 2 on, and how joblib's compressed ones do.
_PICKLES = (
    *(bytes([0x80, protocol]) for protocol in range(2, 6)),
    *(bytes([0x78, level]) for level in (0x01, 0x5E, 0x9C, 0xDA)),  # zlib
    b"\x1f\x8b",  # gzip
    b"BZh",
    b"\xfd7zXZ",
    b"\x5d\x00\x00",  # lzma
    b'\x04"M\x18',  # lz4
    b"ZF0x",  # joblib of long ago
)
# So many bytes more may be read instead of a part looked at.
_LOOK = 50


def load_model(path: Path, trust: Iterable[str] = (), trust_pickle: bool = False) -> Any:
    """Return the model in a file.

    Parameters
    ----------
    path : Path
        What `skops.io.dump` wrote; or a pickle, if those are trusted.
    trust : iterable of str, default=()
        Types that it may hold beyond those of scikit-learn and NumPy.
    trust_pickle : bool, default=False
        Whether to run the code in a pickle.

    Warns
    -----
    UserWarning
        If another release of scikit-learn wrote it.
    """
    if not path.is_file():
        raise InvalidInputError(f"There is no file {path}.")
    with path.open("rb") as file:
        start = file.read(8)
    if not start:
        raise InvalidInputError(f"{path} is empty.")
    pickled = start.startswith(_PICKLES) or path.suffix.lower() in {".joblib", ".pickle", ".pkl"}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if zipfile.is_zipfile(path):
            model = _from_skops(path, trust)
        elif trust_pickle:
            import joblib

            with refusing(f"{path} cannot be loaded as a model"):
                model = joblib.load(path)
        elif pickled:
            raise InvalidInputError(
                f"{path} looks like a pickle or joblib file, and loading one can run any code that "
                "is in it. If you made it yourself, add --trust-pickle; better, save the model "
                "with skops.io.dump(model, 'model.skops')."
            )
        else:
            raise InvalidInputError(
                f"{path} is not a model: neither a skops file nor a pickle. "
                "Save one with skops.io.dump(model, 'model.skops')."
            )
    _tell(path, caught)
    return model


def _tell(path: Path, caught: Iterable[warnings.WarningMessage]) -> None:
    """Say once that releases differ, which scikit-learn says of every step; repeat the rest."""
    from sklearn import __version__
    from sklearn.exceptions import InconsistentVersionWarning

    wrote = set()
    for warning in caught:
        if isinstance(warning.message, InconsistentVersionWarning):
            wrote.add(str(warning.message.original_sklearn_version)[:20])
        else:
            warnings.warn(warning.message, stacklevel=3)
    for version in sorted(wrote):
        warnings.warn(
            f"{path} was written with scikit-learn {version}, and this is {__version__}: it may "
            "decide otherwise here. Fit it again if in doubt.",
            stacklevel=3,
        )


def _from_skops(path: Path, trust: Iterable[str]) -> Any:
    most = bearable(path)
    with refusing(f"{path} cannot be loaded as a model"), path.open("rb") as file:
        size, members = _unpacked(file, most), {}
        if size <= most:
            with zipfile.ZipFile(file) as archive:
                members = {info.filename: info.file_size for info in archive.infolist()}
                if "schema.json" in members:
                    size = _read_size(json.loads(archive.read("schema.json")), members)
    if size > most:
        raise InvalidInputError(
            f"{path} takes more than {most:,} bytes unpacked, too much for its size. If you trust "
            "it, save it again without compression, as skops.io.dump does unless told otherwise."
        )
    if "schema.json" not in members:
        raise InvalidInputError(
            f"{path} is a zip archive, but not a model that skops.io.dump wrote."
        )
    import skops.io

    allowed = {*ALLOWED, *trust}
    with refusing(f"{path} cannot be loaded as a model"):
        unknown = [t for t in skops.io.get_untrusted_types(file=path) if t not in allowed]
    if unknown:
        flags = " ".join(f"--trust {shlex.quote(name)}" for name in unknown)
        raise InvalidInputError(
            f"{path} holds what is not loaded unasked, because it may run code: "
            f"{', '.join(unknown)}. If you trust all of it, add {flags}."
        )
    with refusing(f"{path} cannot be loaded as a model"):
        model = skops.io.load(path, trusted=sorted(allowed))
        check_sound(model)
    return model


def _unpacked(file: IO[bytes], most: int, depth: int = 2) -> int:
    """Return how many bytes an archive says that its members take; JSON counts for its values.

    Members that are archives count for what is in them as well. Nobody reads more of a member than
    it says. All ends above ``most``.
    """
    total, names = 0, set()
    with zipfile.ZipFile(file) as archive:
        for info in archive.infolist():
            name = shown(info.filename)
            if info.filename in names:
                raise UnsoundError(f"{name} is there twice")
            names.add(info.filename)
            if info.compress_type not in {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}:
                raise UnsoundError(f"{name} is neither stored nor deflated")
            total += info.file_size
            if total > most:
                return total
            if info.filename.endswith(".json"):
                text = archive.read(info)
                total += 40 * text.count(b",") + 72 * text.count(b"[") + 250 * text.count(b"{")
            elif info.filename.endswith((".npz", ".zip")):
                if not depth:
                    raise UnsoundError(f"{name} is an archive in too many others")
                total += _unpacked(io.BytesIO(archive.read(info)), most - total, depth - 1)
    return total


def _read_size(schema: Any, members: Mapping[str, int]) -> int:
    """Return how many bytes a model reads: a member may be named, and a part meant, many times."""
    known: dict[Any, int] = {}

    def visit(value: Any) -> tuple[int, int]:
        """Return bytes that are read, and how many parts are looked at."""
        if isinstance(value, list):
            found = [visit(part) for part in value]
            return sum(read for read, _ in found), 1 + sum(looked for _, looked in found)
        if not isinstance(value, dict):
            return 0, 0
        own, file = value.get("__id__"), value.get("file")
        if isinstance(own, int) and own in known:
            return 0, known[own]
        if isinstance(own, int):
            known[own] = 1
        read, looked = visit([*value.values()])
        if isinstance(file, str) and file in members:
            # As a bytearray, which is made of a list.
            read += members[file] * (9 if value.get("__loader__") == "BytearrayNode" else 1)
        if isinstance(own, int):
            known[own] = looked
        return read, looked

    read, looked = visit(schema)
    return max(read, _LOOK * looked)


# --- what harmless types hold ----------------------------------------------------------------


def check_sound(model: Any) -> None:
    """Refuse a model whose parts do not fit together; let its parts start no processes."""
    from scipy import sparse
    from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer
    from sklearn.preprocessing import OneHotEncoder
    from sklearn.svm import SVC, NuSVC

    for part in _parts(model):
        if isinstance(part, str):
            _check_text(part)
        elif isinstance(part, np.ndarray) and part.dtype.kind == "U":
            _check_characters(part)
        elif sparse.issparse(part):
            # By columns or rows it is checked in full; other formats by what they become.
            matrix = part if part.format in {"csr", "csc"} else part.tocsr()
            matrix.check_format(full_check=True)
        elif isinstance(part, CountVectorizer | HashingVectorizer):
            _check_words(part)
        elif isinstance(part, OneHotEncoder):
            _check_one_hot(part)
        elif isinstance(part, SVC | NuSVC):
            _check_support(part)
        held = getattr(part, "__dict__", {})
        for name in held if isinstance(held, dict) else ():
            if isfunction(getattr(type(part), str(name), None)):
                raise UnsoundError(f"a {type(part).__name__} must have no {name} of its own")
        # How many processes may run is for the command line to say, not for the file.
        if isinstance(held, dict) and held.get("n_jobs") is not None:
            held["n_jobs"] = None
    # Both are asked of the steps of a Pipeline, which may be anything.
    for name in ("classes_", "predict"):
        hasattr(model, name)


def _parts(model: Any) -> Iterator[Any]:
    """Yield everything that a model is made of, each once."""
    # Those that were seen are kept: another object could get the place of one that is gone.
    waiting: list[Any] = [model]
    seen: dict[int, Any] = {}
    while waiting:
        part = waiting.pop()
        if id(part) in seen or isinstance(part, type):
            continue
        seen[id(part)] = part
        yield part
        if isinstance(part, Mapping):
            waiting += [*part.keys(), *part.values()]
        elif isinstance(part, list | tuple | set | frozenset):
            waiting += part
        elif isinstance(part, np.ndarray):
            # What a mask hides is still there.
            waiting += np.ma.getdata(part).ravel().tolist() if part.dtype.kind == "O" else []
        else:
            waiting += getattr(part, "__dict__", {}).values()


def _check_text(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise UnsoundError(f"a text must be of whole characters, got {shown(text)}") from None


def _check_characters(texts: Any) -> None:
    codes = np.frombuffer(texts.astype(texts.dtype.newbyteorder("=")).tobytes(), np.uint32)
    if ((codes >= 0xD800) & (codes < 0xE000)).any() or (codes > sys.maxunicode).any():
        raise UnsoundError("an array of texts must be of whole characters")


def _check_words(step: Any) -> None:
    """Refuse a vectorizer that opens files, or whose words have no columns."""
    name, way = type(step).__name__, step.input
    if type(way) is not str or way != "content":
        raise UnsoundError(
            f"{name}(input={shown(way)}) opens whatever file a row of the table names. Fit it with "
            "input='content', on the texts themselves"
        )
    known = getattr(step, "vocabulary_", {})
    if type(known) is not dict or {*known.values()} != {*range(len(known))}:
        raise UnsoundError(f"the words of a {name} must have columns, each its own")


def _check_one_hot(step: Any) -> None:
    """Refuse an encoder that gives a category a column that is not there."""
    import pandas as pd

    if not hasattr(step, "categories_"):
        return
    longest = max(map(len, step.categories_))
    names = getattr(step, "feature_names_in_", range(len(step.categories_)))
    columns = zip(names, step.categories_, strict=True)
    trial = copy(step)
    trial.sparse_output = True
    trial.__dict__.pop("_sklearn_output_config", None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rows = pd.DataFrame({name: np.resize(known, longest) for name, known in columns})
        trial.transform(rows).check_format(full_check=True)


def _check_support(model: Any) -> None:
    """Refuse support vectors that are fewer than their coefficients, or of another width."""
    if not hasattr(model, "support_vectors_"):
        return
    n, k = len(model.support_), len(model.classes_)
    pairs = k * (k - 1) // 2
    counts = np.asarray(model._n_support)
    sound = (
        model.support_vectors_.shape == (n, model.n_features_in_)
        and counts.shape == (k,)
        and counts.min() >= 0
        and counts.sum() == n
        and model._dual_coef_.shape == (k - 1, n)
        and np.shape(model._intercept_) == (pairs,)
        and {np.shape(model._probA), np.shape(model._probB)} <= {(0,), (pairs,)}
    )
    if not sound:
        raise UnsoundError(f"the support vectors of a {type(model).__name__} must fit together")
