"""Check a built site: every link inside it leads somewhere, and nothing comes from elsewhere."""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# Attributes that make a browser load something by itself.
LOADING = {("link", "href"), *((tag, "src") for tag in ("img", "script", "source", "iframe"))}


class Page(HTMLParser):
    """The links, the loaded files and the anchors of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.anchors: set[str] = {"", "top"}
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what a tag links to, loads or names."""
        for name, value in attrs:
            if name in {"id", "name"} and value:
                self.anchors.add(value)
            elif (tag, name) in LOADING and value:
                self.loaded.append(value)
            elif name == "href" and value:
                self.links.append(value)


def problems(root: Path) -> list[str]:
    """Return what is wrong with the pages in a folder."""
    # The theme keeps templates among its own files.
    paths = [path for path in sorted(root.rglob("*.html")) if "_static" not in path.parts]
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in paths}
    found = []
    for path, page in pages.items():
        here = path.relative_to(root)
        for target in page.loaded:
            url = urlsplit(target)
            if url.scheme in {"http", "https"} or url.netloc:
                found.append(f"{here} loads {target}")
            elif url.scheme != "data" and not (path.parent / unquote(url.path)).exists():
                found.append(f"{here} loads {target}, which is not there")
        for target in page.links:
            url = urlsplit(target)
            if url.scheme or url.netloc:
                continue
            other = (path.parent / unquote(url.path)).resolve() if url.path else path
            if not other.exists():
                found.append(f"{here} links to {target}, which is not there")
            elif other in pages and unquote(url.fragment) not in pages[other].anchors:
                found.append(f"{here} links to {target}, which has no such place")
    return found


if __name__ == "__main__":
    folder = Path(sys.argv[1]).resolve()
    wrong = problems(folder)
    count = len(list(folder.rglob("*.html")))
    if wrong or not count:
        sys.exit("\n".join([*wrong, f"{len(wrong)} problems in {count} pages"]))
    sys.stdout.write(f"{count} pages: no link is broken, nothing is loaded from elsewhere\n")
