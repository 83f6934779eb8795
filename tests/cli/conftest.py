import pytest

from sim.kernels import jit
from tests.cli import fakes


@pytest.fixture
def engine(monkeypatch, tmp_path):
    """A fake engine; the current folder is a new one."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(jit, "interpret", lambda: None)
    monkeypatch.setattr(jit, "is_cold", lambda: False)
    return fakes.install(monkeypatch)
