"""Kernels keep their promises, and the linter that says so sees each kind of breach."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.kernels.kernel_lint import breaches, decorator, kernels_of

pytestmark = pytest.mark.fast

KERNELS = Path(__file__).parents[2] / "sim" / "kernels"
SOURCES = {path.name: path.read_text(encoding="utf-8") for path in sorted(KERNELS.rglob("*.py"))}


def test_kernels_keep_their_promises() -> None:
    assert breaches(SOURCES) == []


def test_every_decorator_is_in_use() -> None:
    found = {decorator(node) for text in SOURCES.values() for node in kernels_of(text).values()}
    assert found == {
        "kernel",
        "inlined",
        "python_kernel",
        "driver",
        "python_driver",
        "unlocked_driver",
        "spliced",
        "entry",
    }


def test_no_two_kernels_share_a_name() -> None:
    names = [name for text in SOURCES.values() for name in kernels_of(text)]
    assert sorted(set(names)) == sorted(names)


GOOD = '''
@kernel
def fill(links, link_work, x, y_out):
    """Fill y and the links' V."""
    V_out, n = link_work.V, x.size
    for i in range(n):
        y_out[i] = V_out[i, 0] = x[i]
    a, b = 1.0, 2.0
    a, b = b, a
    y_out[0] += a

@kernel
def pass_on(notes, front_out):
    """Fill what is handed on in one piece."""
    J_out, row = notes.J_out, front_out.row
    J_out[0] = row[0] = notes.link_work.V[0, 1] = 1.0
    fill(notes.links, notes.link_work, notes.x, front_out.K)

@spliced
def tell(tables, control, work, stepper):
    """Write where a driver may."""
    y = stepper.y
    y[0] = 1.0
    work.links.V[0, 1] = control.turn[2] = 3.0
    fill(tables.links, work.links, tables.constants, work.rate)
'''


def test_a_good_kernel_passes() -> None:
    assert breaches({"good.py": GOOD}) == []


BAD = {
    "no docstring": "@kernel\ndef f(x_out):\n    x_out[0] = 1.0\n",
    "defaults": "@python_kernel\ndef f(x_out, a=1.0):\n    'Doc.'\n    x_out[0] = a\n",
    "writes x, which is an input": "@kernel\ndef f(x):\n    'Doc.'\n    x[0] = 1.0\n",
    "writes links, which is an input": "@kernel\ndef f(links):\n    'Doc.'\n    p = links.parent\n    p[0] += 1\n",
    "writes work, which is an input": "@kernel\ndef f(work):\n    'Doc.'\n    work.rate[0] = 1.0\n",
    "writes tables, which is an input": "@driver\ndef f(tables, work):\n    'Doc.'\n    tables.one.acts[0] = 1\n",
    "writes notes, which is an input": "@kernel\ndef f(notes):\n    'Doc.'\n    notes.rate[0] = 1.0\n",
    "lets h write notes, which is an input": (
        "@kernel\ndef h(y_out):\n    'Doc.'\n    y_out[0] = 1.0\n\n"
        "@kernel\ndef f(notes):\n    'Doc.'\n    h(notes.rate)\n"
    ),
    "writes v, which is an input": "@kernel\ndef f(v, q_out):\n    'Doc.'\n    q_out[0], v[0] = 1.0, 2.0\n",
    "writes CUT": "@kernel\ndef f(q_out):\n    'Doc.'\n    CUT[0] = 1.0\n",
    "lets g write x, which is an input": (
        "@kernel\ndef g(y_out):\n    'Doc.'\n    y_out[0] = 1.0\n\n"
        "@kernel\ndef f(x):\n    'Doc.'\n    g(x[:2])\n"
    ),
    "zeros() allocates": "@kernel\ndef f(x_out):\n    'Doc.'\n    x_out[0] = np.zeros(3)[0]\n",
    "copy() allocates": "@python_driver\ndef f(work):\n    'Doc.'\n    work.rate[0] = work.torque.copy()[0]\n",
    "builds a container": "@kernel\ndef f(x_out):\n    'Doc.'\n    a = [1.0, 2.0]\n    x_out[0] = a[0]\n",
    "row write": "@kernel\ndef f(body_work):\n    'Doc.'\n    b = body_work[0]\n    b.mass = 2.0\n",
}  # fmt: skip


@pytest.mark.parametrize("sentence", BAD)
def test_the_linter_sees_a_breach(sentence: str) -> None:
    found = breaches({"bad.py": BAD[sentence]})
    assert len(found) == 1
    assert sentence in found[0]
