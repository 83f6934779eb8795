"""Lines of kernels that no test runs where kernels are interpreted, or have their bounds checked."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.mutants.mutations import sources
from tests.mutants.reach import ROOT, Reach
from tests.mutants.trial import KERNELS

# What these passes cannot run, by file or by file and function, and why.
EXPLAINED = {
    "sim/kernels/cache.py": "keeps compiled kernels; where kernels are interpreted there are none",
    "sim/kernels/jit.py": "compiles; where kernels are interpreted it does nothing",
    "sim/kernels/shipped.py": "finds kernels that a wheel brought; where kernels are interpreted none are taken",
    "sim/kernels/libraries.py": "makes machine code; where kernels are interpreted it does nothing",
    "sim/kernels/shortcuts.py": "stands in for parts of the compiler; where kernels are interpreted it does nothing",
    "sim/kernels/callback.py": "calls compiled laws by their addresses, or their twins where kernels are interpreted",
    "sim/kernels/unilateral/contact_solver.py:sweep_while_cheap": "goes on in large heaps, which no quick scene has",
    "sim/kernels/answers.py:with_tables": "writes addresses; where kernels are interpreted arrays are handed on",
    "sim/kernels/system.py": "reads addresses; where kernels are interpreted the arrays themselves are handed on",
}


def listing(reach: Reach) -> str:
    """Return the lines that nothing runs and nothing explains, with their text.

    What indexes nothing and calls nothing is left out, such as passing a status on: there are no bounds in it to check.
    """
    out = []
    for file in (file for file in sources("sim") if file.startswith(KERNELS) and file not in EXPLAINED):
        text = (ROOT / file).read_text()
        lines, seen = text.splitlines(), reach.lines(file)
        for function in ast.walk(ast.parse(text)):
            if isinstance(function, ast.FunctionDef) and f"{file}:{function.name}" not in EXPLAINED:
                missing = [head for head in _statements(function) if not any(line in seen for line in head)]
                out += [f"{file}:{head[0]}: {function.name}: {lines[head[0] - 1].strip()}" for head in missing]
    return "\n".join(out)


def _statements(function: ast.FunctionDef) -> Iterator[range]:
    """Lines of the heads of the statements of a function that index or call something.

    Of a head in parentheses on several lines, the first is none that runs.
    """
    for node in ast.walk(function):
        if not isinstance(node, ast.stmt) or node is function:
            continue
        inner = {name for name in ("body", "orelse", "finalbody", "handlers") if hasattr(node, name)}
        heads = [value for name, value in ast.iter_fields(node) if name not in inner]
        parts = [part for head in heads for part in (head if isinstance(head, list) else [head])]
        found = [n for part in parts if isinstance(part, ast.AST) for n in ast.walk(part)]
        if any(isinstance(n, (ast.Subscript, ast.Call)) for n in found):
            last = max(n.end_lineno for n in found if isinstance(n, ast.expr) and n.end_lineno is not None)
            yield range(node.lineno, last + 1)
