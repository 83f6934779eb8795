"""docs/controllers.md: its whole example loads and runs, and does what its words say."""

import re
from pathlib import Path

import numpy as np
import pytest

import sim

TEXT = (Path(__file__).parents[2] / "docs" / "controllers.md").read_text(encoding="utf-8")


@pytest.fixture
def folder(tmp_path):
    """Write the example's file and scene as a reader would."""
    (program,) = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    (scene,) = (block for block in re.findall(r"```yaml\n(.*?)```", TEXT, re.DOTALL) if block.startswith("schema:"))
    (tmp_path / "my_controllers.py").write_text(program, encoding="utf-8")
    (tmp_path / "braked.yaml").write_text(scene, encoding="utf-8")
    return tmp_path


def test_the_example_wants_trust(folder):
    with pytest.raises(sim.SceneError, match="trust"):
        sim.load(folder / "braked.yaml")


def test_the_example_reaches_its_target(folder):
    """The integral part brings the arm to -30 degrees against its weight and the wind."""
    recording = sim.run(sim.load(folder / "braked.yaml", trust=True), duration=20.0)
    angle = np.asarray(recording.coordinate["hinge"])[-1]
    assert angle == pytest.approx(np.radians(-30.0), abs=0.01)


def test_only_what_is_offered_is_listed():
    listed = set(re.findall(r"^\| `(\w+)` \| (?:an expression|holds|keeps|moves|leads)", TEXT, re.MULTILINE))
    assert listed == {
        "torque",
        "pd",
        "limits",
        "swing_pump",
        "serpenoid",
        "snake_paper",
        "track",
        "walk",
        "computed_torque",
    }
