"""The package as a wheel, installed elsewhere, does what the tutorial begins with."""

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from tests.test_docs import ROOT, blocks


@pytest.mark.slow
def test_an_installed_wheel_runs_the_tutorial(tmp_path):
    def run(*command: object) -> str:
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        done = subprocess.run([*map(str, command)], cwd=tmp_path, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", tmp_path, ROOT)
    (wheel,) = tmp_path.glob("*.whl")
    run(sys.executable, "-m", "venv", tmp_path / "venv")
    python = tmp_path / "venv" / "bin" / "python"
    packages = Path(run(python, "-c", "import sysconfig; print(sysconfig.get_paths()['purelib'])").strip())
    # The dependencies are those of the tests; a line in a .pth file brings them, but not what is installed as editable.
    (packages / "dependencies.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
    run(python, "-m", "pip", "install", "--quiet", "--no-deps", wheel)
    assert run(python, "-c", "import vision_pwil; print(vision_pwil.__file__)").startswith(str(packages))

    tutorial = blocks((ROOT / "docs" / "tutorial.md").read_text())
    (block,) = (block.text for block in tutorial if "demonstrations render" in block.text)
    lines = block.replace("vision_pwil/demonstrations", str(packages / "vision_pwil" / "demonstrations")).splitlines()
    for line in lines:
        program, *words = line.split()
        told = run(python.parent / program, *words)
    assert "25 episodes" in told and (tmp_path / "contact-sheet.png").exists()
