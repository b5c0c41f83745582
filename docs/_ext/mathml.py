"""Formulas as MathML, which browsers draw by themselves: no script, no font, no network."""

from docutils import nodes
from latex2mathml.converter import convert


def _write(translator, node, display):
    translator.body.append(convert(node.astext(), display=display))


def inline(translator, node):
    """Write a formula of a line."""
    _write(translator, node, "inline")
    raise nodes.SkipNode


def block(translator, node):
    """Write a formula of its own."""
    translator.body.append('<div class="math-block">')
    _write(translator, node, "block")
    translator.body.append("</div>\n")
    raise nodes.SkipNode


def setup(app):
    """Offer the renderer to Sphinx."""
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
