"""Names in docstrings, found in the public module that has them: `Rule` is that of results."""

from sphinx.util.nodes import make_refnode

PLACES = ("", "results.", "extend.", "exceptions.", "adapters.")


def resolve(app, env, node, contnode):
    """Return a link to what a name means in one of the public modules."""
    if node.get("refdomain") != "py":
        return None
    objects = env.get_domain("py").objects
    for place in PLACES:
        name = f"sklearn_probsr.{place}{node['reftarget']}"
        if name in objects:
            entry = objects[name]
            return make_refnode(
                app.builder, node["refdoc"], entry.docname, entry.node_id, contnode, name
            )
    return None


def setup(app):
    """Ask for names that Sphinx does not find."""
    app.connect("missing-reference", resolve)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
