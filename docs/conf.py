"""The site: Sphinx's settings. ``make docs`` builds it, without a network, into build/site."""

import inspect
import sys
from pathlib import Path

import sklearn_probsr
from sklearn_probsr import exceptions, extend, results

PACKAGE = "sklearn_probsr"
HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "_ext"))

project = "sklearn-probsr"
author = "The sklearn-probsr developers"
copyright = f"2026, {author}"
version = release = sklearn_probsr.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
    "llms_txt",
    "mathml",
    "notebooks",
    "public_names",
    "source_links",
]
exclude_patterns = ["_build", "_templates", "gallery/*.ipynb", "gallery/*.py", "gallery/*.md5"]
templates_path = ["_templates"]
# Attributes of two classes may have one name.
suppress_warnings = ["config.cache", "ref.python"]

# --- text ------------------------------------------------------------------------------------
myst_enable_extensions = ["deflist", "dollarmath"]
myst_heading_anchors = 4
# Single backticks in docstrings name what can be called.
default_role = "py:obj"
nitpicky = True
# Other projects are not looked up: there is no network.
nitpick_ignore_regex = [
    (r"py:.*", r"(shap|sklearn|joblib|numpy|pandas|scipy|matplotlib|polars|fractions)(\..*)?"),
]

# Attributes are told in the docstring of their class, and have no place of their own.
PUBLIC = [
    getattr(module, name)
    for module in (sklearn_probsr, results, extend, exceptions)
    for name in module.__all__
]
nitpick_ignore = [
    ("py:obj", told)
    for kind in PUBLIC
    if isinstance(kind, type)
    for name in {*dir(kind), *getattr(kind, "__dataclass_fields__", ())}
    if not callable(getattr(kind, name, None))
    for told in (name, f"{kind.__name__}.{name}")
]

# --- reference -------------------------------------------------------------------------------
autosummary_generate = True
# Methods that a class has from a base of ours are told with it; those from shap are not.
autosummary_context = {
    "methods_of": {
        kind.__name__: [
            name
            for name in dir(kind)
            if (not name.startswith("_") or name == "__call__")
            and inspect.isroutine(getattr(kind, name))
            and str(getattr(getattr(kind, name), "__module__", "")).startswith(PACKAGE)
        ]
        for kind in PUBLIC
        if isinstance(kind, type)
    }
}
toc_object_entries_show_parents = "hide"
autodoc_typehints = "none"
numpydoc_show_class_members = False
numpydoc_use_plots = False

# --- gallery ---------------------------------------------------------------------------------
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_",
    "ignore_pattern": r"__init__\.py|/demo\.py",
    "abort_on_example_error": True,
    "capture_repr": ("_repr_html_",),
    "copyfile_regex": r".*\.rst",
    "download_all_examples": False,
    "matplotlib_animations": False,
    "min_reported_time": 10**6,
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
    "within_subsection_order": "ExampleTitleSortKey",
}

# --- pages -----------------------------------------------------------------------------------
html_theme = "pydata_sphinx_theme"
html_title = "sklearn-probsr"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
html_math_renderer = "mathml"
html_context = {"default_mode": "auto"}
html_theme_options = {
    "logo": {"text": "sklearn-probsr"},
    "navbar_align": "left",
    "navbar_center": ["navbar-nav"],
    "navbar_end": ["theme-switcher"],
    "navbar_persistent": ["search-button"],
    "header_links_before_dropdown": 7,
    "show_toc_level": 2,
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {"index": []}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
