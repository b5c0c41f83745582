"""Check what is to be released: what the sdist and the wheel hold, and that they agree."""

import sys
import tarfile
import zipfile
from pathlib import Path

# Data that code reads: without it, an installed package breaks.
NEEDED = ("py.typed", "report/page/page.html", "report/page/page.css", "report/page/page.js")
SOURCES = ("LICENSE", "CHANGELOG.md", "pyproject.toml", "docs/conf.py", "tests/oracle.py")

folder = Path(sys.argv[1])
(wheel,), (sdist,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
names = set(zipfile.ZipFile(wheel).namelist())
strays = sorted(n for n in names if not n.startswith(("sklearn_probsr/", "sklearn_probsr-")))
assert not strays, f"the wheel holds files outside the package: {strays}"
assert not [n for n in names if "__pycache__" in n], "the wheel holds compiled files"
for name in NEEDED:
    assert f"sklearn_probsr/{name}" in names, f"the wheel lacks sklearn_probsr/{name}"

with tarfile.open(sdist) as archive:
    inside = {n.partition("/")[2] for n in archive.getnames()}
for name in (*SOURCES, *(n for n in names if n.startswith("sklearn_probsr/"))):
    assert name in inside, f"the sdist lacks {name}"
strays = sorted(n for n in inside if n.startswith(("build/", "docs/gallery/", "docs/api/")))
assert not strays, f"the sdist holds what was built: {strays[:3]}"

version = wheel.name.split("-")[1]
assert sdist.name == f"sklearn_probsr-{version}.tar.gz", f"{sdist.name} is not {version}"
changes = Path("CHANGELOG.md").read_text(encoding="utf-8")
assert f"\n## [{version}]" in changes, f"CHANGELOG.md has no section [{version}]"
sys.stdout.write(f"{wheel.name} and {sdist.name} hold what they should\n")
