"""The shape of the package: imports point left along the flow, and importing costs nothing."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import longtail

PACKAGE = Path(__file__).parents[2] / "longtail"

# A module may import from its own step and from those left of it.
FLOW = [
    {"errors", "progress", "reasons", "sparse"}, {"columns", "label_cells"},
    {"config", "corpus", "frames"}, {"new_label"},
    {"invariants", "precision", "presets", "ranks"}, {"kernels", "store"}, {"data"},
    {"features"}, {"encoders"}, {"shortlist", "ranking"}, {"index.clusters"},
    {"rankers.label_rows", "rankers.unseen"}, {"index"}, {"rankers"}, {"judge.frequencies", "judge.gains"},
    {"judge.metrics", "judge.ensemble", "judge.calibration"}, {"train"}, {"methods"}, {"predict"}, {"judge"}, {"auto"},
    {"report"}, {"sklearn", "serve"}, {"cli"}, {"__main__"},
]  # fmt: skip
STEP = {part: at for at, parts in enumerate(FLOW) for part in parts}
MODULES = sorted(path for path in PACKAGE.rglob("*.py") if path != PACKAGE / "__init__.py")


def part_of(dotted: list[str]) -> str:
    """The entry of FLOW that a module belongs to: its own, or that of its folder."""
    own = ".".join(dotted[:2])
    return own if own in STEP else dotted[0]


def dotted(path: Path) -> list[str]:
    return list(path.relative_to(PACKAGE).with_suffix("").parts)


def imported(tree: ast.AST) -> list[list[str]]:
    """Every name of this package that code imports, anywhere in it, as in ["methods", "elias", "fit"]."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "longtail":
            found += [[*node.module.split(".")[1:], alias.name] for alias in node.names]
        elif isinstance(node, ast.Import):
            found += [a.name.split(".")[1:] for a in node.names if a.name.startswith("longtail.")]
    return found


def imported_parts(path: Path) -> set[str]:
    return {part_of(names) for names in imported(ast.parse(path.read_text("utf-8")))}


def imported_modules(path: Path) -> set[Path]:
    """The files that a module imports; a package is its __init__.py."""
    return {file_of(names) for names in imported(ast.parse(path.read_text("utf-8")))} - {path}


def file_of(names: list[str]) -> Path:
    """The module that a dotted name is, or that it is in."""
    place = PACKAGE.joinpath(*names)
    for file in (place.with_suffix(".py"), place / "__init__.py"):
        if file.is_file():
            return file
    return file_of(names[:-1])


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
    """What answers needs NumPy and numba; torch is for train/, learn/ folders and modules called learn or ablations."""
    for path in MODULES:
        if {"learn", "ablations"} & set(dotted(path)) or dotted(path)[0] == "train":
            continue
        names = {name for node in at_top(path) for name in names_of(node)}
        assert not any(name.split(".")[0] == "torch" for name in names), f"{path} imports torch"
        assert not any({"learn", "ablations"} & set(name.split(".")) for name in names), f"{path} imports what learns"


def at_top(path: Path) -> list[ast.Import | ast.ImportFrom]:
    body = ast.parse(path.read_text("utf-8")).body
    return [node for node in body if isinstance(node, (ast.Import, ast.ImportFrom))]


def names_of(node: ast.Import | ast.ImportFrom) -> list[str]:
    if isinstance(node, ast.ImportFrom):
        return [f"{node.module or ''}.{alias.name}" for alias in node.names]
    return [alias.name for alias in node.names]


def test_what_learns_imports_an_ablation_only_where_it_is_asked_for():
    for path in MODULES:
        names = {name for node in at_top(path) for name in names_of(node)}
        assert not any("ablations" in name.split(".") for name in names), f"{path} imports ablations at its top"


METHOD_MODULES = [path for path in MODULES if dotted(path)[0] == "methods" and len(dotted(path)) > 1]


@pytest.mark.parametrize("path", METHOD_MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_no_method_imports_another(path: Path):
    """What several need is in shared/, which knows none of them; METHOD++ knows the method that proposes its labels."""
    own = dotted(path)[1]
    others = {names[1] for names in imported(ast.parse(path.read_text("utf-8"))) if names[0] == "methods"}
    assert others <= {"shared", own, own.removesuffix("pp")}


@pytest.mark.parametrize("path", METHOD_MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_no_two_modules_of_a_method_import_each_other(path: Path):
    """`__init__.py` imports settings, stages, model and, when asked to train, what learns; none of them imports it."""
    assert [other for other in imported_modules(path) if path in imported_modules(other)] == []


PACKAGED = [path for path in METHOD_MODULES if path.name == "__init__.py" and path.with_name("settings.py").is_file()]
PACKAGED = [path for path in PACKAGED if path.parent.parent.name == "methods"]  # those of linear, decaf, …


@pytest.mark.parametrize("path", PACKAGED, ids=lambda path: path.parent.name)
def test_a_method_loads_what_answers_and_imports_what_learns_when_it_learns(path: Path):
    """At its top, `__init__.py` imports the model and the settings; `fit` and `need` import what they call."""
    own = ("longtail", "methods", path.parent.name)
    known = {(*own, "settings"), (*own, "model"), ("longtail", "methods", "shared", "clustered", "model")}
    ours = {tuple(name.split(".")) for node in at_top(path) for name in names_of(node) if name.startswith("longtail")}
    assert {name[:-1] for name in ours} <= known | {("longtail", "corpus")}


@pytest.mark.parametrize("path", PACKAGED, ids=lambda path: path.parent.name)
def test_a_method_that_answers_loads_few_modules(path: Path):
    """What a reader of a method may have to open; a package whose `__init__.py` is one docstring is nothing to read."""
    code = f"import sys, longtail.methods.{path.parent.name}; print(*(m for m in sys.modules if m[:9] == 'longtail.'))"
    loaded = [file_of(name.split(".")[1:]) for name in fresh(code).split()]
    assert len([path for path in loaded if len(ast.parse(path.read_text("utf-8")).body) > 1]) < 45


# What only learning, explaining, adding labels, an ensemble or a transformer asks for.
ASIDE = {
    "data.batches", "encoders.cost", "encoders.families", "features.described", "features.labels", "features.locating",
    "features.spans", "features.terms", "index.balanced", "judge.metrics", "kernels.dual", "kernels.halves",
    "kernels.label_rows", "kernels.located", "kernels.reasons", "methods.linear.explaining", "methods.linear.stages",
    "methods.shared.preparation", "predict.ensemble", "predict.fit", "rankers.joint", "rankers.unseen", "train.run",
}  # fmt: skip


def test_an_opened_model_that_answers_loads_nothing_else(tmp_path: Path):
    model = longtail.fit("linear", longtail.Corpus.of(["a few words", "some others"], [["x"], ["y"]]))
    model.save(tmp_path / "model")
    code = "import sys, longtail; print(longtail.open({!r}).predict(['words'])[0][0].name, *sys.modules)"
    first, *loaded = fresh(code.format(str(tmp_path / "model"))).split()
    assert first == "x" and {".".join(dotted(path)) for path in MODULES} >= ASIDE
    assert ASIDE & {name.removeprefix("longtail.") for name in loaded} == set()


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
