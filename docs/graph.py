"""Draw the graph of the package's rooms from what they import: ``python -m docs.graph``.

It writes ``docs/images/architecture.svg``, and the table in ``docs/architecture.md``. A test
compares both with the imports.
"""

import ast
import re
import textwrap
from html import escape

from tests.layout import CORE, LATE, PACKAGE, ROOT, SHELLS, imports, module_names

PAGE = ROOT / "docs" / "architecture.md"
PICTURE = ROOT / "docs" / "images" / "architecture.svg"
BETWEEN = re.compile(r"(?<=<!-- graph -->\n).*(?=<!-- end of graph -->)", re.DOTALL)

ROOMS = (*CORE, *SHELLS)
# Sizes of the picture, in pixels: a box, the gaps between boxes, and the lanes of long arrows.
BOX, TALL, ASIDE, DOWN, LANE, EDGE = 380, 58, 30, 30, 18, 20
COLOURS = {True: ("#e8f1fa", "#1f5f99"), False: ("#fdf1e3", "#b3641e")}


def edges() -> set[tuple[str, str]]:
    """Return every two rooms of which a module of the first imports one of the second."""
    modules, found = module_names(), set()
    for name in modules:
        rooms = {other.split(".")[0] for other in imports(name, modules)[0]}
        found |= {(name.split(".")[0], room) for room in rooms.difference(LATE.get(name, ()))}
    return {(a, b) for a, b in found if a and b and a != b}


def shown(room: str) -> str:
    """Return a room's name as a file or folder."""
    return f"{room}/" if (PACKAGE / room).is_dir() else f"{room}.py"


def described(room: str) -> str:
    """Return the sentence that a room says of itself."""
    path = PACKAGE / room / "__init__.py" if (PACKAGE / room).is_dir() else PACKAGE / f"{room}.py"
    doc = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return doc.split("\n")[0].replace("``", "")


def table() -> str:
    """Return all imports between rooms, in Markdown."""
    found = edges()
    lines = ["| room | imports from |", "|---|---|"]
    for room in ROOMS:
        folders = sorted(p.parent.name for p in (PACKAGE / room).glob("*/__init__.py"))
        also = f", with {', '.join(f'`{room}/{name}/`' for name in folders)}" if folders else ""
        told = ", ".join(f"`{other}`" for other in ROOMS if (room, other) in found)
        lines.append(f"| `{shown(room)}`{also} | {told or 'nothing'} |")
    return "\n".join(lines) + "\n"


def reduced(found: set[tuple[str, str]]) -> set[tuple[str, str]]:
    """Leave out the imports that a chain of others leads to as well."""
    reach: dict[str, set[str]] = {}
    for room in ROOMS:  # what a room imports comes before it
        direct = {b for a, b in found if a == room}
        reach[room] = direct.union(*(reach[b] for b in direct))
    return {(a, b) for a, b in found if not any(b in reach[c] for x, c in found if x == a)}


def layers(found: set[tuple[str, str]]) -> dict[str, int]:
    """Put each room below all that it imports, and the shells below the core."""
    depth: dict[str, int] = {}
    for room in ROOMS:
        above = [depth[b] + 1 for a, b in found if a == room]
        least = 0 if room in CORE else 1 + max(depth[name] for name in CORE)
        depth[room] = max([least, *above])
    return depth


def svg() -> str:
    """Return the picture: an arrow leads from a room to one that it imports."""
    found = reduced(edges())
    depth = layers(found)
    width = 2 * BOX + ASIDE + 2 * EDGE + LANE * 4
    middle = EDGE + BOX + ASIDE / 2
    step = TALL + DOWN
    line = (1 + max(depth[room] for room in CORE)) * step  # between core and shells
    place: dict[str, tuple[float, float]] = {}
    for level in set(depth.values()):
        there = [room for room in ROOMS if depth[room] == level]
        start = middle - (len(there) * (BOX + ASIDE) - ASIDE) / 2
        top = EDGE + level * step + (DOWN if level * step >= line else 0)
        place |= {room: (start + i * (BOX + ASIDE), top) for i, room in enumerate(there)}
    height = max(top for _, top in place.values()) + TALL + EDGE
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:g}" height="{height:g}" '
        f'viewBox="0 0 {width:g} {height:g}" font-family="Helvetica, Arial, sans-serif">',
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" '
        'markerHeight="8" orient="auto"><path d="M0,0 L8,4 L0,8 z" fill="#555"/></marker></defs>',
        f'<rect width="{width:g}" height="{height:g}" fill="#fff"/>',
        *_border(EDGE + line, width),
        *_arrows(found, depth, place),
        *(part for room in ROOMS for part in _box(room, *place[room])),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _border(y: float, width: float) -> list[str]:
    """Return the line between what computes and what meets the world."""
    return [
        f'<path d="M{EDGE},{y:g} H{width - EDGE:g}" stroke="#999" stroke-dasharray="4 4"/>',
        f'<text x="{EDGE}" y="{y - 6:g}" font-size="12" fill="#666">pure core</text>',
        f'<text x="{EDGE}" y="{y + 16:g}" font-size="12" fill="#666">shells</text>',
    ]


def _arrows(
    found: set[tuple[str, str]], depth: dict[str, int], place: dict[str, tuple[float, float]]
) -> list[str]:
    """Return straight arrows between layers, and long ones in lanes beside the boxes."""
    parts, lanes = [], 0
    far = max(x for x, _ in place.values()) + BOX
    for a, b in sorted(found, key=lambda e: (ROOMS.index(e[0]), ROOMS.index(e[1]))):
        (x, y), (u, v) = place[a], place[b]
        if depth[a] - depth[b] == 1:
            near = min(max(u + BOX / 2, x + BOX / 4), x + 3 * BOX / 4)
            end = min(max(x + BOX / 2, u + BOX / 4), u + 3 * BOX / 4)
            path = f"M{near:g},{y:g} L{end:g},{v + TALL:g}"
        else:
            lanes += 1
            lane = far + LANE * lanes
            path = f"M{x + BOX:g},{y + TALL / 3:g} H{lane:g} V{v + 2 * TALL / 3:g} H{u + BOX:g}"
        parts.append(f'<path d="{path}" fill="none" stroke="#555" marker-end="url(#tip)"/>')
    return parts


def _box(room: str, x: float, y: float) -> list[str]:
    """Return a room with its name and what it says of itself."""
    fill, ink = COLOURS[room in CORE]
    lines = textwrap.wrap(described(room), 56)
    return [
        f'<rect x="{x:g}" y="{y:g}" width="{BOX}" height="{TALL}" rx="6" fill="{fill}" '
        f'stroke="{ink}"/>',
        f'<text x="{x + 10:g}" y="{y + 19:g}" font-size="15" font-weight="bold" fill="{ink}">'
        f"{shown(room)}</text>",
        *(
            f'<text x="{x + 10:g}" y="{y + 35 + 15 * i:g}" font-size="12" fill="#333">'
            f"{escape(text)}</text>"
            for i, text in enumerate(lines)
        ),
    ]


if __name__ == "__main__":
    page = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(BETWEEN.sub(lambda _: table(), page), encoding="utf-8")
    PICTURE.write_text(svg(), encoding="utf-8")
