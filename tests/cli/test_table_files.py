"""Files that the command line reads and writes: models, tables, and the columns of both."""

import gzip
import io
import json
import os
import pickle
import zipfile
from itertools import pairwise
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.feature_selection import SelectKBest, SelectPercentile, chi2, mutual_info_classif
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV, RepeatedStratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

from sklearn_probsr.cli.models import ALLOWED, load_model
from sklearn_probsr.cli.packed import bearable
from sklearn_probsr.cli.tables import open_table
from tests.adapters.cases import VERTICES, fitted, others, plain, quietly, targets
from tests.cli.conftest import NUMBERS, SIGN, case_of, load_table, refused, written
from tests.explained import mixed, people


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    """Let every test work in a folder of its own, so that messages hold short names."""
    monkeypatch.chdir(tmp_path)


class Mine(ClassifierMixin, BaseEstimator):
    """An estimator that is neither scikit-learn's nor on the list."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.repeat(self.classes_[0], len(X))


# --- models ----------------------------------------------------------------------------------


def pipelines():
    """Return what ordinary people fit and save."""
    table = NUMBERS.assign(job=["clerk", "nurse"] * 20)
    kinds = ColumnTransformer(
        [
            ("numbers", StandardScaler(), make_column_selector(dtype_include=np.number)),
            (
                "words",
                OneHotEncoder(min_frequency=2, handle_unknown="infrequent_if_exist"),
                ["job"],
            ),
        ],
        remainder="passthrough",
    )
    folds = RepeatedStratifiedKFold(n_splits=2, n_repeats=1, random_state=0)
    grid = {"logisticregression__C": [0.1, 1.0]}
    steps = make_pipeline(SimpleImputer(), StandardScaler(), LogisticRegression())
    seeded = LogisticRegression(solver="saga", random_state=np.random.RandomState(0))
    return {
        "kinds": (make_pipeline(kinds, LogisticRegression()), table),
        "grid": (GridSearchCV(steps, grid, scoring="roc_auc", cv=folds), NUMBERS),
        "two scores": (
            GridSearchCV(steps, grid, scoring=["f1_macro", "accuracy"], refit="accuracy", cv=2),
            NUMBERS,
        ),
        "log": (make_pipeline(FunctionTransformer(np.exp), LogisticRegression()), NUMBERS),
        "seeded": (seeded, NUMBERS),
        "best": (make_pipeline(SelectKBest(k=2), LogisticRegression()), NUMBERS),
        "chi2": (make_pipeline(SelectPercentile(chi2), LogisticRegression()), NUMBERS.abs()),
        "information": (
            make_pipeline(SelectKBest(mutual_info_classif, k=2), LogisticRegression()),
            NUMBERS,
        ),
    }


def same_after_loading(estimator, X) -> bool:
    skops.io.dump(estimator, "model.skops")
    return np.array_equal(load_model(Path("model.skops")).predict(X), estimator.predict(X))


def test_supported_classifiers_load_unasked():
    """Every classifier that can be explained comes back from a skops file without a question."""
    for name, estimator in {**plain(), **others()}.items():
        with quietly():  # some of them are about to leave scikit-learn
            assert same_after_loading(fitted(estimator, targets("strings")), VERTICES), name


@pytest.mark.parametrize("name", pipelines())
def test_ordinary_pipelines_load_unasked(name):
    """So do Pipelines of scikit-learn's and NumPy's own parts."""
    estimator, X = pipelines()[name]
    with quietly():
        assert same_after_loading(estimator.fit(X, SIGN), X)


@pytest.mark.smoke
def test_mixed_pipeline_loads_unasked():
    """A Pipeline over a table of all kinds loads with every supported release."""
    assert same_after_loading(mixed(), people()[0])


def test_the_list_is_about_scikit_learn_and_numpy():
    """Nothing else is on the list, and no function of NumPy, as some of them open files."""
    assert {name.partition(".")[0] for name in ALLOWED} == {"numpy", "sklearn"}
    for name in (n for n in ALLOWED if n.startswith("numpy.")):
        assert isinstance(getattr(np, name.removeprefix("numpy.")), type), name


def test_other_types_are_asked_for():
    """Types beyond the list are named, with what to add; then the file loads."""
    skops.io.dump(Mine().fit(NUMBERS, SIGN), "mine.skops")
    kind = f"{Mine.__module__}.Mine"
    assert refused(load_model, Path("mine.skops")) == (
        f"mine.skops holds what is not loaded unasked, because it may run code: {kind}. "
        f"If you trust all of it, add --trust {kind}."
    )
    assert isinstance(load_model(Path("mine.skops"), [kind]), Mine)


def test_functions_that_open_files_are_asked_for():
    """numpy.load in a FunctionTransformer is not NumPy's own business; all such are listed."""
    steps = make_pipeline(FunctionTransformer(np.load), FunctionTransformer(np.fromfile))
    skops.io.dump(steps, "open.skops")
    text = refused(load_model, Path("open.skops"))
    assert text.endswith("If you trust all of it, add --trust numpy.fromfile --trust numpy.load.")


def test_trees_are_asked_for():
    """A tree may crash a process, so it is not loaded unasked."""
    skops.io.dump(RandomForestClassifier(2).fit(NUMBERS, SIGN), "forest.skops")
    tree = "sklearn.tree._tree.Tree"
    text = refused(load_model, Path("forest.skops"))
    assert text.endswith(f"If you trust all of it, add --trust {tree}.")
    text = refused(case_of, RandomForestClassifier(2).fit(NUMBERS, SIGN), NUMBERS, trust=[tree])
    assert text.startswith(
        "m.skops cannot be explained: RandomForestClassifier is not a classifier that can be "
        "adapted: it averages trees that split on several columns each. "
    )


def forged(name: str, module: str, kind: str) -> Path:
    """Write a skops file that says to hold an object of some type."""
    skops.io.dump(LogisticRegression(), name)
    with zipfile.ZipFile(name) as archive:
        schema = json.loads(archive.read("schema.json"))
    with zipfile.ZipFile(name, "w") as archive:
        archive.writestr(
            "schema.json", json.dumps({**schema, "__module__": module, "__class__": kind})
        )
    return Path(name)


def test_names_in_a_file_are_quoted_for_a_shell():
    """A name that somebody made up cannot become a command when it is pasted."""
    text = refused(load_model, forged("evil.skops", "evil", "X; rm -r ."))
    assert text.endswith("add --trust 'evil.X; rm -r .'.")


def test_models_that_cannot_be_loaded():
    """Each says why, in one line."""
    path = forged("gone.skops", "nosuchpackage", "Thing")
    assert refused(load_model, path, ["nosuchpackage.Thing"]) == (
        "gone.skops cannot be loaded as a model: "
        "ModuleNotFoundError: No module named 'nosuchpackage'."
    )
    with zipfile.ZipFile("odd.skops", "w") as archive:
        archive.writestr("schema.json", "[]")
    assert refused(load_model, Path("odd.skops")).startswith(
        "odd.skops cannot be loaded as a model: AttributeError: "
    )
    with zipfile.ZipFile("other.zip", "w") as archive:
        archive.writestr("a", "b")
    assert refused(load_model, Path("other.zip")) == (
        "other.zip is a zip archive, but not a model that skops.io.dump wrote."
    )
    assert refused(load_model, written("empty.skops", "")) == "empty.skops is empty."
    assert refused(load_model, written("a.csv", "a,b\n1,2\n")) == (
        "a.csv is not a model: neither a skops file nor a pickle. "
        "Save one with skops.io.dump(model, 'model.skops')."
    )
    assert refused(load_model, Path("nothing.skops")) == "There is no file nothing.skops."


def packed_up(name: str, **members: bytes) -> Path:
    """Write a model as skops does, deflated, with some more members; ``__`` stands for a dot."""
    skops.io.dump(LogisticRegression().fit(NUMBERS, SIGN), name, compression=zipfile.ZIP_DEFLATED)
    with zipfile.ZipFile(name, "a", zipfile.ZIP_DEFLATED) as archive:
        for key, content in members.items():
            archive.writestr(key.replace("__", "."), content)
    return Path(name)


def in_a_zip(content: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.npy", content)
    return file.getvalue()


def test_models_that_would_fill_the_memory(monkeypatch):
    """Sizes are added up before anything is loaded, of archives in it too, and lies are found."""
    assert bearable(written("small", "1")) == 268_435_456
    assert bearable(written("large", bytes(6_000_000))) == 300_000_000
    monkeypatch.setattr("sklearn_probsr.cli.packed._BEARABLE", 5_000_000)
    too_much = (
        " takes more than 5,000,000 bytes unpacked, too much for its size. If you trust it, save "
        "it again without compression, as skops.io.dump does unless told otherwise."
    )
    assert isinstance(load_model(packed_up("fine.skops", a__npy=bytes(10**6))), LogisticRegression)
    zeros = bytes(3_000_000)
    large = packed_up("large.skops", a__npy=zeros, b__npy=zeros)
    inner = packed_up("inner.skops", a__npz=in_a_zip(zeros), b__npz=in_a_zip(zeros))
    for path in (large, inner):
        assert path.stat().st_size < 20_000
        assert refused(load_model, path) == f"{path}{too_much}"
    with zipfile.ZipFile("fine.skops") as archive:
        schema = archive.read("schema.json")
    with zipfile.ZipFile("json.skops", "w", zipfile.ZIP_DEFLATED) as archive:
        many = b',"x":[' + b"[]," * 60_000 + b"0]}"
        archive.writestr("schema.json", schema.rstrip()[:-1] + many)
    assert refused(load_model, Path("json.skops")) == f"json.skops{too_much}"
    # A member that declares less than it has is read no further.
    skops.io.dump(LogisticRegression().fit(NUMBERS, SIGN), "lies.skops")
    with zipfile.ZipFile("lies.skops") as archive:
        size = next(i.file_size for i in archive.infolist() if i.filename.endswith(".npy"))
    content = Path("lies.skops").read_bytes()
    written("lies.skops", content.replace(size.to_bytes(4, "little"), (9).to_bytes(4, "little")))
    assert refused(load_model, Path("lies.skops")).startswith("lies.skops cannot be loaded as a ")
    with zipfile.ZipFile("other.skops", "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("schema.json", schema)
    assert refused(load_model, Path("other.skops")) == (
        "other.skops cannot be loaded as a model: 'schema.json' is neither stored nor deflated."
    )


def test_tables_that_would_fill_the_memory():
    """A Parquet file of a few bytes may have any number of equal rows."""
    parquet = pytest.importorskip("pyarrow.parquet")
    column = pytest.importorskip("pyarrow").array(np.zeros(10_000_000, dtype=np.int8))
    table = pytest.importorskip("pyarrow").table(dict.fromkeys("abcde", column))
    parquet.write_table(table, "zeros.parquet", compression="zstd")
    assert Path("zeros.parquet").stat().st_size < 200_000
    assert refused(load_table, Path("zeros.parquet")) == (
        "zeros.parquet has 10,000,000 rows and 5 columns, too many for its size. If you trust it, "
        "save it as CSV."
    )


@pytest.mark.parametrize(
    "write",
    [
        lambda model, path: path.write_bytes(pickle.dumps(model)),
        lambda model, path: path.with_suffix(".pkl").write_bytes(pickle.dumps(model, protocol=0)),
        joblib.dump,
        lambda model, path: joblib.dump(model, path, compress=("zlib", 3)),
        lambda model, path: joblib.dump(model, path, compress=("gzip", 3)),
        lambda model, path: joblib.dump(model, path, compress=("bz2", 3)),
        lambda model, path: joblib.dump(model, path, compress=("xz", 3)),
        lambda model, path: joblib.dump(model, path, compress=("lzma", 3)),
    ],
    ids=["pickle", "protocol 0", "joblib", "zlib", "gzip", "bz2", "xz", "lzma"],
)
def test_pickles_need_trust(write):
    """A pickle is known by its content and loaded only if it is trusted."""
    write(LogisticRegression().fit(NUMBERS, SIGN), Path("model.bin"))
    (path,) = Path().iterdir()
    assert refused(load_model, path) == (
        f"{path} looks like a pickle or joblib file, and loading one can run any code that is in "
        "it. If you made it yourself, add --trust-pickle; better, save the model with "
        "skops.io.dump(model, 'model.skops')."
    )
    assert load_model(path, trust_pickle=True).predict(NUMBERS).tolist()


def test_broken_pickles_are_told():
    """A trusted pickle that is none says so."""
    path = written("junk.pkl", b"\x80\x04junk")
    assert refused(load_model, path, trust_pickle=True).startswith(
        "junk.pkl cannot be loaded as a model: "
    )


def test_another_release_is_told_once(monkeypatch):
    """Two steps of another release are one warning."""
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(NUMBERS, SIGN)
    with monkeypatch.context() as patched:
        patched.setattr("sklearn.base.__version__", "1.2.3")
        skops.io.dump(model, "old.skops")
    with pytest.warns(UserWarning, match="scikit-learn") as caught:
        load_model(Path("old.skops"))
    (warning,) = caught
    assert str(warning.message).startswith(
        "old.skops was written with scikit-learn 1.2.3, and this is "
    )
    assert str(warning.message).endswith(
        ": it may decide otherwise here. Fit it again if in doubt."
    )


# --- tables ----------------------------------------------------------------------------------


def test_tables_of_all_kinds():
    """CSV, with or without a byte order mark, Parquet and Feather give one table."""
    table = pd.DataFrame({"age": [31, 45], "job": ["clerk", "Köchin"], "paid": [1.5, np.nan]})
    table.to_csv("a.csv", index=False)
    table.to_csv("b.csv", index=False, encoding="utf-8-sig")
    table.to_csv("c.tsv", index=False, sep="\t")
    table.to_csv("d.txt", index=False, lineterminator="\r\n")
    table.to_parquet("e.parquet")
    table.to_feather("f.feather")
    table.to_parquet("g")
    read = [load_table(path) for path in sorted(Path().iterdir())]
    assert len(read) == 7
    for first, second in pairwise(read):
        pd.testing.assert_frame_equal(first, second, check_dtype=False)
    table.to_csv("h.csv", index=False, sep=";")
    assert load_table(Path("h.csv"), ";").columns.tolist() == ["age", "job", "paid"]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", "", "a.csv is empty."),
        ("a.csv", "\n\n", "a.csv is empty."),
        ("a.csv", "x,y\n", "a.csv has 2 columns but no rows."),
        ("a.csv", "x\n", "a.csv has 1 column but no rows."),
        ("a.csv", "x,x\n1,2\n", "a.csv has two columns named 'x'."),
        (
            "a.csv",
            "1.5,1.5\n1,2\n",
            "a.csv has two columns named '1.5'. Is its first line a line of names?",
        ),
        (
            "a.csv",
            "x,y\n1,2\n3,4,5\n",
            "a.csv cannot be read as CSV: Expected 2 fields in line 3, saw 3.",
        ),
        (
            "a.csv",
            "x,y\n1,2,3\n3,4,5\n",
            "a.csv has rows with more fields than there are names in its first line.",
        ),
        ("a.csv", "x;y\n1;2\n", "a.csv has one column, named 'x;y'. Pass --sep ';'."),
        ("a.csv", "x\ty\n1\t2\n", "a.csv has one column, named 'x\\ty'. Pass --sep tab."),
        ("a.csv", "größe\n1\n".encode("latin-1"), "a.csv is not text in UTF-8. Save it as UTF-8."),
        (
            "a.csv",
            "x,y\n1,2\n".encode("utf-16"),
            "a.csv is not text: CSV in UTF-8, Parquet and Feather can be read.",
        ),
        ("a.csv", gzip.compress(b"x,y\n", mtime=0), "a.csv is packed with gzip. Unpack it first."),
        ("a.parquet", "x,y\n", "a.parquet is not a Parquet file, in spite of its name."),
        ("a.feather", "x,y\n", "a.feather is not a Feather file, in spite of its name."),
    ],
)
def test_tables_that_are_refused(name, content, message):
    """Each is refused in one line that says what is wrong."""
    assert refused(load_table, written(name, content)) == message


def test_broken_parquet_and_feather():
    """A file that is cut short is told from one that is something else."""
    for name, kind in (("a.parquet", "Parquet"), ("a.feather", "Feather")):
        getattr(NUMBERS, f"to_{kind.lower()}")(name)
        whole = Path(name).read_bytes()
        path = written(name, whole[: len(whole) // 2])
        text = refused(load_table, path)
        assert text.startswith(f"{name} cannot be read as {kind}: ")
        assert "\n" not in text


def test_tables_without_columns():
    """A Parquet file may have rows and no columns."""
    pd.DataFrame(index=[0, 1]).to_parquet("none.parquet")
    assert refused(load_table, Path("none.parquet")) == "none.parquet has no columns."


def test_a_very_long_line_is_no_row():
    """A line of 200 MB is refused after its first 10 MB, wherever it begins."""
    with open("long.csv", "wb") as file:
        file.write(b"a,b\n1,2\n")
        file.truncate(8)
        for _ in range(200):
            file.write(b"1" * 1_000_000)
    assert refused(load_table, Path("long.csv")) == (
        "Line 3 of long.csv has more than 10,000,000 characters. Is this a CSV file?"
    )
    written("many.csv", "a,b\n" + "1,2\n" * 600_000)
    assert len(load_table(Path("many.csv"))) == 600_000


def test_inputs_must_be_files():
    """Nothing at a path, a folder without tables and a pipe are told."""
    Path("folder").mkdir()
    assert refused(load_table, Path("folder")) == "folder is a folder without Parquet files."
    assert refused(load_table, Path("x.csv")) == "There is no file x.csv."
    os.mkfifo("pipe")
    assert refused(load_table, Path("pipe")) == (
        "pipe is no regular file. Save what it gives to one first."
    )


def test_types_are_those_of_the_whole_table():
    """A number in a part of a CSV is a text if the column has one elsewhere."""
    frame = pd.DataFrame({"n": [1, 2, 3, 4, 5, 6], "w": ["1", "2", "3", "4", "x", None]})
    frame.to_csv("w.csv", index=False)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("sklearn_probsr.cli.tables.MOST_ROWS", 4)
        parts = list(open_table(Path("w.csv")).read(4))
    assert [len(part) for part in parts] == [4, 2]
    assert [value for part in parts for value in part["w"]][:5] == ["1", "2", "3", "4", "x"]
    assert parts[1]["w"].isna().tolist() == [False, True]


# --- columns and cells -----------------------------------------------------------------------


def test_columns_are_taken_by_name():
    """Their order does not matter, and others are ignored, which is told."""
    model = LogisticRegression().fit(NUMBERS, SIGN)
    with pytest.warns(UserWarning, match="which are ignored: 'id', 'note'"):
        found = case_of(model, NUMBERS[["c", "a", "b"]].assign(id=1, note="x"))
    assert found.features == ["a", "b", "c"]


def test_columns_without_names_are_counted():
    """A model fitted on an array takes as many columns, and the names of the table."""
    model = LogisticRegression().fit(NUMBERS.to_numpy(), SIGN)
    for names in (["a", "b", "c"], ["0", "1", "2"]):
        found = case_of(model, NUMBERS.set_axis(names, axis=1))
        assert list(found.explainer.linear_model.unit_names) == names
    assert refused(case_of, model, NUMBERS.assign(y=1)) == (
        "d.csv must have 3 columns, as fitted, it has 4: 'a', 'b', 'c', 'y'. Name a column that "
        "holds the true class with --target, and others to leave out with --drop."
    )
    assert refused(case_of, model, NUMBERS.set_axis(["1.5", "-2", "3e-05"], axis=1)) == (
        "d.csv must begin with a line of names, it begins with '1.5', '-2', '3e-05'."
    )


def test_other_columns_are_refused():
    """What is missing and what is there instead are named."""
    model = LogisticRegression().fit(NUMBERS, SIGN)
    lacks = "d.csv lacks 1 of the 3 columns that the model was fitted on: 'b'. "
    assert refused(case_of, model, NUMBERS.rename(columns={"b": "B"})) == (
        f"{lacks}It has instead 'B'."
    )
    assert refused(case_of, model, NUMBERS[["a", "c"]]) == f"{lacks}It has no others."
    assert refused(case_of, model, NUMBERS.set_axis(["1", "2", "2.5"], axis=1)).endswith(
        "It has instead '1', '2', '2.5'. Is its first line a line of names?"
    )
    assert refused(case_of, model, NUMBERS, drop=["c"]) == (
        "'c' cannot be a --target, an --id or dropped: the model was fitted on it."
    )
    assert refused(case_of, model, NUMBERS, target="y") == (
        "--target y: d.csv has no such column. It has 'a', 'b', 'c'."
    )


def test_what_is_no_classifier_is_refused():
    """Objects without predict, regressors, and what was not fitted."""
    assert refused(case_of, {"a": 1}, NUMBERS) == "m.skops holds no classifier, but a dict."
    assert "estimator must be fitted" in refused(case_of, LogisticRegression(), NUMBERS)
    assert "must be a classifier, got the regressor" in refused(
        case_of, LinearRegression().fit(NUMBERS, NUMBERS["a"]), NUMBERS
    )


@pytest.mark.parametrize("value", ["", "large", "inf"])
@pytest.mark.parametrize("names", [True, False])
def test_cells_that_are_no_numbers(value, names):
    """Missing values, texts and infinities are told with row and column, or skipped."""
    X = NUMBERS if names else NUMBERS.to_numpy()
    model = LogisticRegression().fit(X, SIGN)
    NUMBERS.to_csv("train.csv", index=False)
    table = NUMBERS.astype(object)
    table.loc[7, "b"] = value
    assert refused(case_of, model, table).startswith("d.csv: masker must hold finite numbers, got ")
    found = case_of(model, table, background="train.csv")
    text = refused(lambda: list(found.told()))
    assert text.startswith("Row 7 of d.csv (the first is 0) cannot be explained: ")
    assert text.endswith(" Or pass --on-error skip: such rows have no reason then.")
    assert "'b'" in text
    told = pd.concat(case_of(model, table, background="train.csv", on_error="skip").told())
    assert told["status"].tolist() == ["ok"] * 7 + ["invalid"] + ["ok"] * 32
    assert told["row"].tolist() == list(range(40))


def test_texts_are_one_column():
    """A model of texts takes the only column."""
    words = ["good day", "bad day"] * 10
    model = make_pipeline(CountVectorizer(binary=True), LogisticRegression()).fit(
        words, [1, 0] * 10
    )
    table = pd.DataFrame({"said": words})
    assert next(case_of(model, table).told())["prediction"].tolist() == [1, 0] * 10
    assert refused(case_of, model, table.assign(y=1)).startswith(
        "d.csv must have 1 column, of texts, it has 2: 'said', 'y'."
    )
    assert refused(case_of, model, table, independent=True) == (
        "--independent and --sample are for tables, and the model takes texts."
    )
