"""Files and functions of the package stay small enough to be read in one go."""

from __future__ import annotations

import ast
import statistics
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "longtail"
MODULES = sorted(PACKAGE.rglob("*.py"))
FILE, FUNCTION, USUAL, MEDIAN = 400, 50, 25, 8  # lines


def functions(path: Path) -> Iterator[tuple[str, int]]:
    """Name and lines of every function and method, docstring included, decorators not."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.name, (node.end_lineno or node.lineno) - node.lineno + 1


LINES = [lines for path in MODULES for _, lines in functions(path)]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_no_file_and_no_function_is_too_long(path: Path):
    assert len(path.read_text("utf-8").splitlines()) <= FILE
    assert [(name, lines) for name, lines in functions(path) if lines > FUNCTION] == []


def test_nineteen_functions_of_twenty_fit_on_a_page():
    assert sum(lines <= USUAL for lines in LINES) >= 0.95 * len(LINES)


def test_half_of_the_functions_are_a_few_lines():
    assert statistics.median(LINES) <= MEDIAN
