"""What the documents say is there is there."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from longtail import config
from longtail.methods import METHODS, method

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "benchmarks").rglob("*.md")])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_between_our_files_lead_somewhere(page: Path):
    for target, anchor in re.findall(r"\]\((?!https?:|mailto:)([^)#]*)#?([^)]*)\)", page.read_text("utf-8")):
        there = page.parent / target if target else page
        assert there.exists(), f"{page.name} links to {target}"
        assert not anchor or anchor in anchors(there), f"{page.name} links to {target}#{anchor}"


def anchors(page: Path) -> set[str]:
    """The names by which headings of a Markdown page are linked to."""
    headings = re.findall(r"^#+ (.*)$", page.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_every_method_has_its_page():
    for name in METHODS:
        assert (ROOT / "docs" / "methods" / f"{name.replace('+', 'p')}.md").is_file()


@pytest.mark.parametrize(
    "path", sorted((ROOT / "longtail" / "configs").rglob("*.toml")), ids=lambda path: str(path.relative_to(ROOT))
)
def test_every_shipped_config_is_accepted_by_its_method(path: Path):
    config.build(method(path.parent.name).Config, config.read_toml(path))


def test_the_tree_names_every_module_and_nothing_else():
    tree = (ROOT / "docs" / "architecture.md").read_text("utf-8").partition("## The tree")[2].partition("\n## ")[0]
    named = set(re.findall(r"([\w/]+\.py)\b", tree))
    tracked = subprocess.run(["git", "ls-files", "longtail"], cwd=ROOT, capture_output=True, text=True).stdout.split()
    there = {Path(path).name for path in tracked if path.endswith(".py") and Path(path).name != "__init__.py"}
    if tracked:
        assert {Path(name).name for name in named} - {"__init__.py"} == there


def test_no_machine_paths_in_the_project():
    pattern = r"(^|[^.[:alnum:]])/(work|root|farm)/"
    found = subprocess.run(["git", "grep", "-nIE", pattern], cwd=ROOT, capture_output=True, text=True).stdout
    assert [line for line in found.splitlines() if "test_docs.py" not in line] == []
