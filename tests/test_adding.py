"""Adding things is as short as CONTRIBUTING says: its files and rows, put into a copy of the package and used."""

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import pytest

from vision_pwil.agents.td3 import TD3Config
from vision_pwil.system.run import read_curve

pytestmark = pytest.mark.slow  # each compiles the kernels anew, in its copy of the package
ROOT = Path(__file__).resolve().parents[1]
PLAY = ["--steps", 40, "--random-steps", 40, "--evaluation-episodes", 1, "--evaluation-interval", 30]
"""A training that ends before the first update, which takes long to compile in a copy."""
TINY = [*PLAY[:2], "--random-steps", 20, *PLAY[4:], "--batch-size", 8]


def blocks(page: str) -> dict[str, str]:
    """The Python files that a page shows, by the names in their first lines."""
    found = re.findall(r"^```python\n(# ([\w/]+\.py).*?)^```$", (ROOT / page).read_text(), re.MULTILINE | re.DOTALL)
    return {name: text for text, name in found}


SHOWN = blocks("CONTRIBUTING.md")


class Copy:
    """A copy of the package to add to."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        shutil.copytree(ROOT / "vision_pwil", folder / "vision_pwil", ignore=shutil.ignore_patterns("__pycache__"))

    def file(self, name: str) -> None:
        """The file that CONTRIBUTING shows."""
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(SHOWN[name])

    def row(self, table: str, row: str, name: str, before: str) -> None:
        """The row that CONTRIBUTING shows with the file `name`, before the first line that begins with `before`."""
        assert f"{table}: {row}" in SHOWN[name]
        self.line(table, f"    {row},", before)

    def line(self, table: str, text: str, before: str) -> None:
        path = self.folder / "vision_pwil" / table
        lines = path.read_text().splitlines(keepends=True)
        place = next(i for i, line in enumerate(lines) if line.startswith(before))
        path.write_text("".join([*lines[:place], text + "\n", *lines[place:]]))

    def python(self, *words: object) -> str:
        environment = {**os.environ, "PYTHONPATH": str(self.folder)}
        command = [sys.executable, *map(str, words)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=900, env=environment, cwd=self.folder)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def run(self, *words: object) -> str:
        return self.python("-m", "vision_pwil", *words)


@pytest.fixture
def copy(tmp_path: Path) -> Copy:
    return Copy(tmp_path)


def test_a_reward_is_one_file_and_one_row(copy):
    """The distance to the nearest atom is PWIL-support once more."""
    name = "vision_pwil/rewards/nearest.py"
    copy.file(name)
    copy.line("rewards/table.py", "from vision_pwil.rewards.nearest import Nearest", "from vision_pwil.rewards.pwil")
    copy.row("rewards/table.py", '"nearest": Nearest', name, '    "pwil":')
    for reward in ("nearest", "support"):
        copy.run("train", "--env", "Hopper-v5", "--agent", "sac", "--reward", reward, "--run", reward, *PLAY)
    found, expected = (read_curve(copy.folder / reward) for reward in ("nearest", "support"))
    assert found[0]["return"] > 0 and found == [pytest.approx(row) for row in expected]


def test_an_agent_is_one_package_and_one_row(copy):
    """TD3 with another default."""
    name = "vision_pwil/agents/calm/__init__.py"
    copy.file(name)
    copy.line("agents/table.py", "from vision_pwil.agents import calm", "from vision_pwil.agents.d4pg")
    copy.row("agents/table.py", '"calm": AgentKind(calm.CalmConfig, "vision_pwil.agents.calm")', name, '    "sac":')
    copy.run("train", "--env", "Hopper-v5", "--agent", "calm", "--run", "run", *TINY)
    settings = json.loads((copy.folder / "run" / "config.json").read_text())["settings"]
    assert settings == json.loads(json.dumps(asdict(TD3Config(sigma=0.05)))) and TD3Config().sigma != 0.05
    copy.run("evaluate", "run", "--episodes", 1, "--no-video")
    played = json.loads((copy.folder / "run" / "evaluation.json").read_text())["mean"]
    last = read_curve(copy.folder / "run")[-1]
    assert {"step": last["step"], **played} == pytest.approx(last)  # the same episode as the run's own evaluation


def test_a_format_is_one_file_and_one_row(copy):
    name = "vision_pwil/demonstrations/tsv.py"
    copy.file(name)
    copy.line(
        "demonstrations/formats.py",
        "from vision_pwil.demonstrations import tsv",
        "from vision_pwil.demonstrations.episode",
    )
    row = 'Format("table of states", tsv.recognises, tsv.read)'
    copy.row("demonstrations/formats.py", row, name, '    Format("video')
    (copy.folder / "mine.tsv").write_text("1\t2\n3\t4\n5\t6\n")
    shown = copy.run("demonstrations", "inspect", "mine.tsv")
    assert "mine.tsv" in shown and "3" in shown
    read = "from vision_pwil.demonstrations import read; print(*read('mine.tsv').episodes[0].states.ravel())"
    assert copy.python("-c", read).split() == ["1.0", "2.0", "3.0", "4.0", "5.0", "6.0"]


def test_a_pixel_task_is_one_preset(copy):
    """From the videos of docs/own-videos.md to a policy, in the environment of docs/own-environment.md."""
    name = "vision_pwil/tasks/cross.py"
    copy.file(name)
    copy.line("tasks/presets.py", "from vision_pwil.tasks import cross", "from vision_pwil.tasks.preset")
    presets = copy.folder / "vision_pwil" / "tasks" / "presets.py"
    row = "PRESETS = [door.PRESET, cross.PRESET]"
    assert f"tasks/presets.py: {row}" in SHOWN[name]
    presets.write_text(presets.read_text().replace("PRESETS: list[Preset] = [door.PRESET]", row))
    (copy.folder / "cross.py").write_text(blocks("docs/own-environment.md")["cross.py"])
    (copy.folder / "draw.py").write_text(blocks("docs/own-videos.md")["draw.py"])
    (copy.folder / "videos").mkdir()
    copy.python("draw.py")
    short = ["--updates", 30, "--iteration", 30, "--subsampling", 4, "--threads", 1]
    copy.run("encoder", "train", "--demos", "videos", "--out", "encoder", *short)
    chosen = ["--env", "cross:Cross-v0", "--demos", "videos", "--encoder", "encoder/encoder.safetensors"]
    shown = copy.run("train", *chosen, "--run", "run", "--no-audit", *TINY)
    assert "arrived in" in shown and "Video:" in shown
    last = read_curve(copy.folder / "run")[-1]
    assert {"arrived", "w1", "task_return"} <= last.keys()
