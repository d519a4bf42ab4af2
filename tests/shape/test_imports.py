"""The shape of the package: imports point left along the flow, and importing costs nothing."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "longtail"

# A module may import from its own step and from those left of it.
FLOW = [
    {"errors", "progress"}, {"config", "corpus"}, {"invariants"}, {"kernels", "store"}, {"data"}, {"features"},
    {"encoders"}, {"index"}, {"shortlist", "ranking"}, {"rankers"},
    {"judge.metrics", "judge.ensemble", "judge.calibration"}, {"train"},
    {"methods"}, {"predict"}, {"judge"}, {"report"}, {"sklearn", "serve"}, {"cli"}, {"__main__"},
]  # fmt: skip
STEP = {part: at for at, parts in enumerate(FLOW) for part in parts}
MODULES = sorted(path for path in PACKAGE.rglob("*.py") if path != PACKAGE / "__init__.py")


def part_of(dotted: list[str]) -> str:
    """The entry of FLOW that a module belongs to: its own, or that of its folder."""
    own = ".".join(dotted[:2])
    return own if own in STEP else dotted[0]


def dotted(path: Path) -> list[str]:
    return list(path.relative_to(PACKAGE).with_suffix("").parts)


def imported_parts(path: Path) -> set[str]:
    found = []
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "longtail":
            found += [[*node.module.split(".")[1:], alias.name] for alias in node.names]
        elif isinstance(node, ast.Import):
            found += [a.name.split(".")[1:] for a in node.names if a.name.startswith("longtail.")]
    return {part_of(names) for names in found}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_left(path: Path):
    if part_of(dotted(path)) == "cli":
        return
    for other in imported_parts(path):
        assert STEP[other] <= STEP[part_of(dotted(path))], (
            f"{path.name} imports longtail.{other}, which lies to its right"
        )


def test_every_module_has_its_place_in_the_flow():
    assert {part_of(dotted(path)) for path in MODULES} <= set(STEP)


def test_only_what_learns_imports_torch():
    """What answers needs NumPy and numba; torch is for modules called learn, for learn/ folders and for train/."""
    for path in MODULES:
        at_top = [
            node for node in ast.parse(path.read_text("utf-8")).body if isinstance(node, (ast.Import, ast.ImportFrom))
        ]
        names = {alias.name for node in at_top if isinstance(node, ast.Import) for alias in node.names}
        names |= {node.module or "" for node in at_top if isinstance(node, ast.ImportFrom)}
        if any(name.split(".")[0] == "torch" or ".learn" in name for name in names):
            assert "learn" in dotted(path) or dotted(path)[0] == "train", f"{path} imports torch"


def test_no_method_imports_another():
    for path in MODULES:
        where = dotted(path)
        if where[0] != "methods" or len(where) < 3:
            continue
        text = path.read_text("utf-8")
        for other in {place.name for place in (PACKAGE / "methods").iterdir() if place.is_dir()} - {
            where[1],
            "__pycache__",
        }:
            assert f"longtail.methods.{other}" not in text, f"{path} imports {other}"


def test_no_drawer_for_everything():
    names = {path.stem for path in MODULES}
    assert not names & {"utils", "common", "helpers", "base", "misc"}


def fresh(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def test_importing_longtail_brings_in_nothing_heavy():
    heavy = fresh(
        "import sys, longtail; print([m for m in ('torch', 'numba', 'numpy', 'sklearn') if m in sys.modules])"
    )
    assert heavy.strip() == "[]"


def test_help_brings_in_nothing_heavy():
    code = "import sys, longtail.cli; print([m for m in ('torch', 'numba', 'numpy', 'scipy') if m in sys.modules])"
    assert fresh(code).strip() == "[]"


def test_the_linear_methods_never_import_torch():
    code = (
        "import sys, longtail; m = longtail.fit('linear', longtail.Corpus.of(['a b', 'c d'], [['x'], ['y']]));"
        "m.predict(['a']); print('torch' in sys.modules)"
    )
    assert fresh(code).strip() == "False"


def test_settings_of_every_method_are_known_without_torch():
    code = (
        "import sys; from longtail.methods import METHODS, method; [method(name).Config() for name in METHODS];"
        "print([m for m in ('torch', 'transformers') if m in sys.modules])"
    )
    assert fresh(code).strip() == "[]"


def test_networks_are_trained_by_the_run_alone_which_knows_the_device():
    for path in MODULES:
        names = [
            alias.name
            for node in ast.walk(ast.parse(path.read_text("utf-8")))
            if isinstance(node, ast.ImportFrom) and node.module == "longtail.train.loop"
            for alias in node.names
        ]
        assert "train" not in names or path.name == "run.py", path


def test_no_pickle_in_the_package():
    for path in MODULES:
        text = path.read_text("utf-8")
        assert not any(word in text for word in ("import pickle", "joblib", "torch.load(", "allow_pickle=True")), path
