"""llms.txt: the pages of the site in plain text, for readers that are programs."""

from pathlib import Path

HEAD = """# sklearn-probsr

> Which few features settle this decision, and how sure is that? Certified probabilistic sufficient
> reasons for linear classifiers, beside SHAP and scikit-learn.
"""


def write(app, error):
    """Write one line for each page, with its title and its address."""
    if error is not None or app.builder.format != "html":
        return
    lines = [HEAD]
    for title, names in _sections(app.env):
        lines.append(f"\n## {title}\n")
        lines += [
            f"- [{app.env.titles[n].astext()}]({app.builder.get_target_uri(n)})" for n in names
        ]
    Path(app.outdir, "llms.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


def _sections(env):
    """Return the sections of the site and all pages of each."""
    found = []
    for section in env.toctree_includes.get("index", ()):
        names, left = [], [section]
        while left:
            name = left.pop(0)
            names.append(name)
            left += [n for n in env.toctree_includes.get(name, ()) if n in env.titles]
        found.append((env.titles[section].astext(), names))
    return found


def setup(app):
    """Write the file when all pages are."""
    app.connect("build-finished", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
