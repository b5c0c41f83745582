"""Models that somebody made up of harmless types: refused, or unable to do harm."""

import importlib
import inspect
import io
import json
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import skops.io
from scipy import sparse
from sklearn.compose import make_column_transformer
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, PolynomialFeatures
from sklearn.svm import SVC
from skops.io import _trusted_types

from sklearn_probsr.cli.models import ALLOWED, load_model
from tests.cli.conftest import NUMBERS, SIGN, case_of, refused

TEXTS = ["good day", "bad day"] * 10
SAID = ["up", "down"] * 10
THIN = "scipy.sparse._csr.csr_matrix"


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    """Let every test work in a folder of its own, so that messages hold short names."""
    monkeypatch.chdir(tmp_path)


def told(model: object, *trust: str) -> str:
    """Return why a model is not loaded, without the name of its file."""
    skops.io.dump(model, "m.skops")
    text = refused(load_model, Path("m.skops"), trust)
    assert text.startswith("m.skops cannot be loaded as a model: ")
    return text.partition(": ")[2]


def loaded(model: object, *trust: str) -> object:
    skops.io.dump(model, "m.skops")
    return load_model(Path("m.skops"), trust)


# --- parameters ------------------------------------------------------------------------------

# What makes a type do more than compute, and why it does not here.
REVIEWED = {
    "input": "names files, so it must be 'content'",
    "n_jobs": "starts processes, so it is None after loading",
    "n_threads": "of _BinMapper, whose trees are not trusted",
    "memory": "names a folder, for fit alone",
    "importance_getter": "names an attribute of an estimator, for fit and masks of columns",
    "callback": "is called by fit; a trusted function at most",
    "dtype": "names a type of NumPy's",
    "dtype_exclude": "names a type of NumPy's",
    "dtype_include": "names a type of NumPy's",
    "encoding": "names a codec of Python's, none of which opens anything",
    "decode_error": "names what to do with bytes that are no text",
    "pattern": "is a regular expression",
    "token_pattern": "is a regular expression",
    "device": "names a library of arrays, for fit alone",
    "verbose": "prints, for fit alone",
    "align": "of numpy.dtype",
    "cache_size": "is memory that libsvm takes, for fit alone",
    "kwargs": "of a scorer, which is called by fit alone; and of numpy.dtype",
    "kw_args": "are given to a trusted function",
    "inv_kw_args": "are given to a trusted function",
    "metric_params": "are given to a trusted function",
    "kernel_params": "are given to a trusted function",
}
CALLED = """
    activation affinity algorithm analyzer criterion feature_name_combiner feature_names_out fun
    fun_args func init inverse_func is_data_valid is_model_valid kernel loss metric
    neighbors_algorithm pooling_func preprocessor refit resource response_method score_func scorers
    scoring stop_words strategy tokenizer transform_algorithm
"""
REVIEWED |= dict.fromkeys(CALLED.split(), "may be a function: a trusted one, and none opens a file")
HARMLESS_NAMES = """
    C Cs U_init V_init X accept_sparse add_indicator adjusted aggressive_elimination
    allow_single_cluster alpha alpha_1 alpha_2 alpha_H alpha_W alpha_init alpha_per_target alphas
    alternate_sign angle assign_labels assume_centered atol average average_method bandwidth
    batch_size beta beta_1 beta_2 beta_loss bin_seeding binarize binary bisecting_strategy
    block_size bootstrap bootstrap_features branching_factor breadth_first break_ties calibrators
    categorical_features categories ccp_alpha chain_method check_inverse class_prior class_weight
    classes clip cluster_all cluster_method cluster_selection_epsilon cluster_selection_method
    code_init code_size coef0 compute_distances compute_full_tree compute_inverse_components
    compute_labels compute_score connectivity constant contamination contingency convergence_iter
    copy copy_X copy_X_train copy_x counter covariance covariance_estimator covariance_prior
    covariance_type cv damping decision_function_shape degree degrees_of_freedom_prior delta
    dense_output density dict_init dictionary direction discrete_features dissimilarity
    distance_threshold doc_topic_prior drop dual early_exaggeration early_stopping eigen_solver
    eigen_tol encode encoded_missing_value enet_tol ensemble eps epsilon error_on_new error_score
    estimator estimators eta0 evaluate_every extrapolation factor feature_range features
    fill_value final_estimator fit_algorithm fit_intercept fit_inverse_transform fit_path
    fit_prior flatten_transform force_alpha force_finite forget_factor fresh_restarts
    fresh_restarts_max_iter gamma gap gcv_mode handle_missing handle_unknown hessian_tol
    hidden_layer_sizes high high_inclusive ignore_implicit_zeros ignore_ties include_bias
    increasing init_params init_size input_type interaction_cst interaction_only intercept_scaling
    is_categorical iterated_power jitter k k_best keep_empty_features key knots known_categories
    l1_ratio l1_ratios l2_regularization labels labels_pred labels_true lambda_1 lambda_2
    lambda_init leaf_size learning_decay learning_method learning_offset learning_rate
    learning_rate_init link linkage log_base low low_inclusive lowercase max_bins max_categories
    max_cluster_size max_depth max_df max_doc_update_iter max_eps max_features max_fpr max_fun
    max_iter max_iter_predict max_leaf_nodes max_n_alphas max_no_improvement max_patches
    max_resources max_samples max_skips max_subpopulation max_train_size max_trials
    mean_change_tol mean_precision_prior mean_prior means_init method metric_mds min_bin_freq
    min_categories min_cluster_size min_df min_features_to_select min_frequency min_grad_norm
    min_impurity_decrease min_resources min_samples min_samples_leaf min_samples_split
    min_weight_fraction_leaf mini_batch missing_values mode modified_tol momentum monotonic_cst
    multi_class multioutput n_best n_bins n_candidates n_classes n_clusters n_components
    n_estimators n_features n_features_to_select n_init n_iter n_iter_no_change
    n_iter_without_progress n_knots n_neighbors n_nonzero_coefs n_oversamples n_quantiles
    n_refinements n_repeats n_restarts_optimizer n_splits n_subsamples n_svd_vecs n_targets
    neg_label nesterovs_momentum ngram_range noise_variance noise_variance_init norm norm_order
    normalize normalize_y normalized_stress novelty nu oob_score optimizer order out_of_bounds
    outlier_label output_distribution owner p param param_distributions param_grid passthrough
    patch_size path_method penalty percentile perp_tol perplexity pos_label positive positive_code
    positive_dict power power_iteration_normalizer power_t pre_dispatch precisions_init precompute
    pred_decision predecessor_correction preference prefit priors probability quantile
    quantile_method quantile_range radius raise_exc random_state reassignment_ratio reg reg_covar
    reg_param regressor remainder remove_zero_eig replace_undefined_by requests residual_threshold
    return_train_score ridge_alpha rotation rtol sample_interval sample_steps sample_weight scale
    scale_by_half seed seeds selection separator shrink_threshold shrinkage shrinking shuffle sign
    skewedness smooth smooth_idf solver solver_options sort sparse sparse_output sparse_threshold
    split_sign splitter stack_method standardize step steps stop_n_inliers stop_probability
    stop_score store_centers store_covariance store_cv_results store_precision strip_accents
    sublinear_tf subsample support_fraction svd_method svd_solver target_type test_size threshold
    threshold_lambda thresholds tol topic_word_prior total_samples train_size transform_alpha
    transform_input transform_max_iter transform_n_nonzero_coefs transformer transformer_list
    transformer_weights transformers unit_variance unknown_value use_idf use_legacy_attributes
    validate validation_fraction var_smoothing verbose_feature_names_out verbose_interval
    vocabulary voting w_init warm_start weight_concentration_prior weight_concentration_prior_type
    weights weights_init whiten whiten_solver with_centering with_mean with_scaling with_std xi xp
    y y1 y2 y_max y_min y_pred y_proba y_score y_true zero_division
"""
HARMLESS = {*HARMLESS_NAMES.split()}


def trusted_types() -> dict[str, object]:
    """Return what a file may hold unasked, by name: classes, and functions that it may call."""
    names = {
        *_trusted_types.SKLEARN_ESTIMATOR_TYPE_NAMES,
        *_trusted_types.NUMPY_RANDOM_BIT_GENERATOR_TYPE_NAMES,
        *getattr(_trusted_types, "SKLEARN_INTERNAL_TYPE_NAMES", ()),
        *ALLOWED,
    }
    found = {}
    for name in names:
        module, _, own = name.rpartition(".")
        try:
            found[name] = getattr(importlib.import_module(module), own)
        except (ImportError, AttributeError):  # of another release
            continue
    return found


def parameters(kind: object) -> set[str]:
    try:
        return {*inspect.signature(kind).parameters}
    except (TypeError, ValueError):  # compiled code, which says none
        return set()


def test_every_parameter_of_a_trusted_type_was_looked_at():
    """A release with a parameter that nobody has reviewed fails here: may it open a file?"""
    found = {name: parameters(kind) for name, kind in trusted_types().items()}
    assert len(found) > 200
    assert "input" in found["sklearn.feature_extraction.text.CountVectorizer"]
    new = {
        name: sorted(own - HARMLESS - REVIEWED.keys())
        for name, own in found.items()
        if own - HARMLESS - REVIEWED.keys()
    }
    assert new == {}
    assert not HARMLESS & REVIEWED.keys()


# --- vectorizers that open files -------------------------------------------------------------


@pytest.mark.parametrize("kind", [CountVectorizer, TfidfVectorizer, HashingVectorizer])
@pytest.mark.parametrize("way", ["filename", "file", np.array("filename")])
def test_no_row_opens_a_file(kind, way):
    """Vectorizers that take the rows for names of files are refused, wherever they are."""
    step = kind().fit(TEXTS)
    step.input = way
    classifier = LogisticRegression().fit(step.set_params(input="content").transform(TEXTS), SAID)
    step.input = way
    expected = (
        f"{kind.__name__}(input={way!r}) opens whatever file a row of the table names. Fit it with "
        "input='content', on the texts themselves."
    )
    assert told(make_pipeline(step, classifier)) == expected
    columns = make_column_transformer((step, "said"))
    columns.transformers_ = [("words", step, "said")]
    assert told(make_pipeline(columns, classifier)) == expected


def test_what_a_mask_hides_is_looked_at():
    """A masked array still has what it hides."""
    step = CountVectorizer().fit(TEXTS)
    step.more = np.ma.MaskedArray([CountVectorizer(input="file")], [True], dtype=object)
    assert told(step).startswith("CountVectorizer(input='file') opens whatever file a row ")


def test_a_pipeline_of_files_prints_none_of_them(run, here):
    """What stands in a file that a cell names is nowhere in what the command line says."""
    Path("secret.txt").write_text("launch code swordfish")
    step = CountVectorizer(input="filename").fit(["secret.txt"])
    classifier = LogisticRegression().fit(np.eye(3)[:2], ["up", "down"])
    skops.io.dump(make_pipeline(step, classifier), "files.skops")
    pd.DataFrame({"said": ["secret.txt"] * 3}).to_csv("names.csv", index=False)
    done = run("explain", "files.skops", "names.csv", "--row", "0", "--json")
    assert done.code == 1
    assert "swordfish" not in done.out + done.err


def test_a_model_starts_no_processes():
    """How many processes a file asks for is forgotten: predictions are the same without."""
    steps = make_column_transformer((OneHotEncoder(), ["a"]))
    X = pd.DataFrame({"a": ["x", "y"] * 10})
    model = make_pipeline(steps, LogisticRegression()).fit(X, SAID)
    steps.n_jobs = model[1].n_jobs = 100_000
    found = loaded(model)
    assert found[0].n_jobs is found[1].n_jobs is None
    assert found.predict(X).tolist() == SAID


# --- parts that do not fit together ----------------------------------------------------------


def test_indices_stay_inside():
    """Indices that compiled code follows out of its arrays, which ends the process, are refused."""
    words = CountVectorizer().fit(TEXTS)
    words.vocabulary_["bad"] = 2**31 - 1
    coef = LogisticRegression().fit(NUMBERS, SIGN).sparsify()
    coef.coef_.indices = coef.coef_.indices + 2**30
    kinds = OneHotEncoder(min_frequency=2, handle_unknown="infrequent_if_exist")
    kinds.fit([["a"], ["b"], ["b"], ["c"]])
    kinds._default_to_infrequent_mappings = [np.array([2**30, 0, 1])]
    twice = OneHotEncoder(drop=["a"]).fit([["a"], ["b"]])
    twice._drop_idx_after_grouping = np.array([-5], dtype=object)
    support = SVC(kernel="linear").fit(NUMBERS, SIGN)
    support.support_vectors_ = support.support_vectors_[:2]
    assert told(words) == "the words of a CountVectorizer must have columns, each its own."
    assert told(coef, THIN) == "ValueError: indices must be < 3."
    assert told(kinds).startswith("ValueError: indices must be < ")
    assert told(twice).startswith("ValueError: ")
    assert told(support) == "the support vectors of a SVC must fit together."


def test_sound_parts_are_loaded():
    """What scikit-learn itself makes of the same types passes, with its options."""
    table = pd.DataFrame({"job": ["a", "b", "b", None] * 5, "age": range(20)})
    for options in (
        {"drop": "if_binary"},
        {"min_frequency": 7, "handle_unknown": "infrequent_if_exist", "drop": "first"},
        {"max_categories": 2, "sparse_output": False, "handle_unknown": "infrequent_if_exist"},
        {"handle_unknown": "ignore"},
    ):
        step = OneHotEncoder(**options).fit(table)
        expected = sparse.csr_array(step.transform(table)).toarray()
        found = sparse.csr_array(loaded(step).transform(table)).toarray()
        assert np.array_equal(found, expected)
    model = SVC(kernel="linear").fit(NUMBERS, np.arange(len(NUMBERS)) % 3)
    assert np.array_equal(loaded(model).predict(NUMBERS), model.predict(NUMBERS))
    thin = LogisticRegression().fit(NUMBERS, SIGN).sparsify()
    assert np.array_equal(loaded(thin, THIN).predict(NUMBERS), thin.predict(NUMBERS))


def test_texts_are_of_whole_characters():
    """Half of a character, which no file can hold, is refused in labels, names and words."""
    half = "a text must be of whole characters, got 'yes\\udc80'."
    model = LogisticRegression().fit(NUMBERS, SIGN)
    model.classes_ = np.array(["no", "yes\udc80"], dtype=object)
    assert told(model) == half
    model.classes_ = np.array(["no", "yes\udc80"])
    assert told(model) == "an array of texts must be of whole characters."
    words = CountVectorizer().fit(TEXTS)
    words.vocabulary_["yes\udc80"] = words.vocabulary_.pop("bad")
    assert told(words) == half


def test_nothing_runs_before_all_parts_are_known(monkeypatch):
    """A part that could not be explained is told before rows go through it and fill the memory."""
    asked = []
    monkeypatch.setattr(PolynomialFeatures, "transform", lambda self, X: asked.append(X))
    model = make_pipeline(PolynomialFeatures(), LogisticRegression().fit(NUMBERS, SIGN))
    model[0].fit(NUMBERS)
    text = refused(case_of, model, NUMBERS)
    assert text == (
        "PolynomialFeatures cannot be part of a linear model over the "
        "raw columns: it multiplies columns with each other. Leave it out. Or explain what comes "
        "after it: pipeline[1:], over rows as pipeline[:1].transform gives them."
    )
    assert asked == []


def test_what_is_no_model_at_all():
    """Steps that are none, classes that are none, and methods that a file brings are told."""
    model = make_pipeline(OneHotEncoder(), LogisticRegression())
    model.steps = 5
    assert told(model) == "TypeError: 'int' object is not subscriptable."
    model = LogisticRegression().fit(NUMBERS, SIGN)
    model.predict = np.exp
    assert told(model) == "a LogisticRegression must have no predict of its own."
    model = LogisticRegression().fit(NUMBERS, SIGN)
    model.classes_ = None
    assert refused(case_of, model, NUMBERS).startswith("LogisticRegression must hold numbers, got ")


# --- schemas ---------------------------------------------------------------------------------


def with_schema(change) -> Path:
    """Write a model whose schema was changed."""
    skops.io.dump(LogisticRegression().fit(NUMBERS, SIGN), "plain.skops")
    with zipfile.ZipFile("plain.skops") as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    schema = json.loads(members["schema.json"])
    change(schema, members)
    members["schema.json"] = json.dumps(schema).encode()
    with zipfile.ZipFile("m.skops", "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return Path("m.skops")


def test_a_version_that_is_no_text():
    """What a file says of the release that wrote it may be anything, of any length."""
    for version in (7, [1], {"a": 1}, "9" * 10_000):
        node = {
            "__class__": "str", "__module__": "builtins", "__loader__": "JsonNode",
            "content": json.dumps(version), "is_json": True,
        }  # fmt: skip

        def change(schema, members, node=node):
            schema["content"]["content"]["_sklearn_version"] = node

        with pytest.warns(UserWarning, match="was written with scikit-learn") as caught:
            load_model(with_schema(change))
        assert len(str(caught[0].message)) < 200


def test_members_count_as_often_as_they_are_read(monkeypatch):
    """A member that a hundred parts of a model name is unpacked a hundred times."""
    monkeypatch.setattr("sklearn_probsr.cli.packed._BEARABLE", 5_000_000)
    file = io.BytesIO()
    np.save(file, np.zeros(10_000))

    def change(schema, members):
        members["zeros.npy"] = file.getvalue()
        node = {
            "__class__": "ndarray", "__module__": "numpy", "__loader__": "NdArrayNode",
            "type": "numpy", "file": "zeros.npy",
        }  # fmt: skip
        schema["content"]["content"]["more"] = {
            "__class__": "list", "__module__": "builtins", "__loader__": "ListNode",
            "content": [{**node, "__id__": 10**6 + k} for k in range(100)],
        }  # fmt: skip

    assert refused(load_model, with_schema(change)).startswith(
        "m.skops takes more than 5,000,000 bytes unpacked, too much for its size."
    )


def test_parts_that_are_meant_many_times():
    """Lists that hold the list before twice would be looked at for years."""

    def change(schema, members):
        def part(k, content):
            return {
                "__class__": "list", "__module__": "builtins", "__loader__": "ListNode",
                "__id__": 10**6 + k, "content": content,
            }  # fmt: skip

        parts = [part(k, [{"__id__": 10**6 + k - 1}] * 2 if k else []) for k in range(60)]
        schema["content"]["content"]["more"] = part(-1, parts)

    assert refused(load_model, with_schema(change)).startswith(
        "m.skops takes more than 268,435,456 bytes unpacked, too much for its size."
    )
