"""Links that leave docs/ lead to pages of the site: to the gallery, and to copies of files."""

import re
from pathlib import Path

# Pages that are files of the project's root.
ROOT_FILES = {name: f"{name.upper()}.md" for name in ("changelog", "contributing", "security")}
_SCRIPT = re.compile(r"\]\((?:\.\./)?examples/(plot_\w+)\.py\)")


def rewrite(app, docname, source):
    """Rewrite the links of one page; of a file of the root, read it first."""
    text = source[0]
    if docname in ROOT_FILES:
        text = Path(app.srcdir).parent.joinpath(ROOT_FILES[docname]).read_text(encoding="utf-8")
        text = text.replace("](docs/", "](")
    for page, name in ROOT_FILES.items():
        text = re.sub(rf"\]\((?:\.\./)?{re.escape(name)}\)", f"]({page}.md)", text)
    source[0] = _SCRIPT.sub(r"](gallery/\1.rst)", text)


def setup(app):
    """Rewrite pages as they are read."""
    app.connect("source-read", rewrite)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
