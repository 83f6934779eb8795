"""Lines of kernels that no test runs where kernels are interpreted, or have their bounds checked."""

from __future__ import annotations

import ast

from tests.mutants.mutations import sources
from tests.mutants.reach import ROOT, Reach
from tests.mutants.trial import KERNELS

# Statements of functions that only a compiler reads, or that stand for what cannot happen, by file and text.
EXPLAINED: dict[str, str] = {}


def listing(reach: Reach) -> str:
    """Return the lines that nothing runs and nothing explains, as ranges with their first text."""
    out = []
    for file in (file for file in sources("sim") if file.startswith(KERNELS)):
        text = (ROOT / file).read_text()
        lines = text.splitlines()
        missing = sorted(_statements(text) - reach.lines(file))
        for first, last in _runs(missing, _statements(text)):
            what = lines[first - 1].strip()
            if f"{file}: {what}" not in EXPLAINED:
                out.append(f"{file}:{first}{f'-{last}' if last > first else ''}: {what}")
    return "\n".join(out)


def _statements(text: str) -> set[int]:
    """First lines of all statements inside functions, docstrings excepted."""
    found = set()
    for function in ast.walk(ast.parse(text)):
        if isinstance(function, ast.FunctionDef):
            for node in ast.walk(function):
                if isinstance(node, ast.stmt) and node is not function and not _says(node):
                    found.add(node.lineno)
    return found


def _says(node: ast.stmt) -> bool:
    """Tell whether a statement is only a text, or does nothing at all."""
    return isinstance(node, (ast.Pass, ast.FunctionDef)) or (
        isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    )


def _runs(missing: list[int], statements: set[int]) -> list[tuple[int, int]]:
    """Join lines between which there is no statement that runs."""
    out: list[tuple[int, int]] = []
    order = sorted(statements)
    for line in missing:
        if out and order.index(line) == order.index(out[-1][1]) + 1:
            out[-1] = (out[-1][0], line)
        else:
            out.append((line, line))
    return out
