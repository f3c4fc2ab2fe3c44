"""Adding things is as short as CONTRIBUTING says: each test does it in a copy of the package, and uses it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import imageio.v3 as imageio
import numpy as np
import pytest

from vision_pwil.system.run import read_curve

PACKAGE = Path(__file__).resolve().parents[1] / "vision_pwil"
TINY = ["--steps", 40, "--random-steps", 20, "--batch-size", 8, "--evaluation-episodes", 1, "--evaluation-interval", 30]


class Copy:
    """A copy of the package to add to."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        shutil.copytree(PACKAGE, folder / "vision_pwil", ignore=shutil.ignore_patterns("__pycache__"))

    def file(self, name: str, text: str) -> None:
        path = self.folder / "vision_pwil" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)

    def row(self, name: str, before: str, row: str) -> None:
        """One line more, before the first that begins with `before`."""
        path = self.folder / "vision_pwil" / name
        lines = path.read_text().splitlines(keepends=True)
        place = next(i for i, line in enumerate(lines) if line.startswith(before))
        path.write_text("".join([*lines[:place], row + "\n", *lines[place:]]))

    def run(self, *words: object) -> str:
        environment = {**os.environ, "PYTHONPATH": str(self.folder)}
        command = [sys.executable, "-m", "vision_pwil", *map(str, words)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=900, env=environment, cwd=self.folder)
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture
def copy(tmp_path: Path) -> Copy:
    return Copy(tmp_path)


def test_a_reward_is_one_file_and_one_row(copy, tmp_path):
    copy.file(
        "rewards/generous.py",
        '''"""Pays everything."""
import numpy as np
from vision_pwil.rewards.pwil import Rewarder
class Generous(Rewarder):
    def reward(self, cost):
        return np.full_like(np.asarray(cost), 4.5)
''',
    )
    copy.row("rewards/table.py", "from vision_pwil.rewards.metric", "from vision_pwil.rewards.generous import Generous")
    copy.row("rewards/table.py", '    "pwil":', '    "generous": Generous,')
    run = tmp_path / "run"
    copy.run("train", "--env", "Hopper-v5", "--agent", "sac", "--reward", "generous", "--run", run, *TINY)
    for row in read_curve(run):
        assert row["return"] == pytest.approx(4.5 * row["steps"])


def test_an_agent_is_one_package_and_one_row(copy, tmp_path):
    copy.file(
        "agents/lazy/__init__.py",
        '''"""Learns nothing, and does the same whatever it sees."""
from dataclasses import dataclass
import numpy as np
import torch
@dataclass(frozen=True)
class LazyConfig:
    push: float = 0.5
class Lazy:
    name = "lazy"
    def __init__(self, plan):
        self.action = np.full(plan.action_size, plan.settings.push, np.float32)
    def observe(self, observations): ...
    def update(self, batch):
        return {"loss": torch.zeros(())}
    def policy(self):
        return {"action": self.action}
    def state_dict(self):
        return {"none": torch.zeros(1)}
    def load_state_dict(self, state): ...
def act(policy, observation, noise=None):
    return policy["action"]
''',
    )
    copy.row("agents/table.py", "from vision_pwil.agents.protocol", "from vision_pwil.agents import lazy")
    copy.row("agents/table.py", '    "sac":', '    "lazy": AgentKind(lazy.LazyConfig, lazy.Lazy, lazy.act),')
    copy.run("train", "--env", "Hopper-v5", "--agent", "lazy", "--push", 0.25, "--run", tmp_path / "run", *TINY)
    assert len({row["return"] for row in read_curve(tmp_path / "run")}) == 1
    code = "from vision_pwil.tasks.policy import load_policy; print(load_policy('run')([0.0] * 11, 0))"
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, env=environment)
    assert shown.stdout.split() == ["[0.25", "0.25", "0.25]"], shown.stderr


def test_a_format_is_one_file_and_one_row(copy, tmp_path):
    copy.file(
        "demonstrations/plain.py",
        '''"""A text file: a number a line, an episode."""
import numpy as np
from vision_pwil.demonstrations.episode import Demonstrations, Episode
def recognises(path):
    return path.suffix == ".plain"
def read(path, options):
    return Demonstrations((Episode(np.loadtxt(path)[:, None]),), source=path.name)
''',
    )
    copy.row(
        "demonstrations/formats.py",
        "from vision_pwil.demonstrations.episode",
        "from vision_pwil.demonstrations import plain",
    )
    copy.row(
        "demonstrations/formats.py", '    Format("video', '    Format("plain text file", plain.recognises, plain.read),'
    )
    (tmp_path / "mine.plain").write_text("1\n2\n3\n")
    shown = copy.run("demonstrations", "inspect", tmp_path / "mine.plain")
    assert "mine.plain" in shown and "3" in shown


DOT = '''"""A dot to be moved to the right edge of a picture; not on MuJoCo, and it draws itself."""
import gymnasium as gym
import numpy as np
class Dot(gym.Env):
    metadata = {"render_modes": ["rgb_array"], "render_fps": 10}
    observation_space = gym.spaces.Dict({"place": gym.spaces.Box(0, 1, (1,))})
    action_space = gym.spaces.Box(-1, 1, (1,))
    def __init__(self, render_mode=None):
        self.render_mode = render_mode
    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place = float(self.np_random.uniform(0, 0.2))
        return self.seen(), {"there": False}
    def seen(self):
        return {"place": np.array([self.place], np.float32)}
    def step(self, action):
        self.place = float(np.clip(self.place + 0.1 * action[0], 0, 1))
        return self.seen(), 0.0, False, False, {"there": self.place > 0.9}
    def render(self):
        picture = np.zeros((60, 60, 3), np.uint8)
        column = int(self.place * 50)
        picture[20:40, column : column + 10] = 255
        return picture
gym.register("Dot-v0", Dot, max_episode_steps=30)
'''


def test_a_pixel_task_is_one_preset(copy, tmp_path):
    """From videos that another library wrote to a policy, in an environment that this package has never heard of."""
    (tmp_path / "dot.py").write_text(DOT)
    copy.file(
        "tasks/dot.py",
        '''"""Preset: the dot."""
from dataclasses import replace
from vision_pwil.tasks import videos
from vision_pwil.tasks.preset import Preset
def defaults(choice):
    config = videos.defaults(choice)
    return replace(config, task=replace(config.task, success="there"))
PRESET = Preset("dot", defaults, env="Dot-v0")
''',
    )
    copy.row("tasks/presets.py", "from vision_pwil.tasks.preset", "from vision_pwil.tasks import dot")
    presets = tmp_path / "vision_pwil" / "tasks" / "presets.py"
    presets.write_text(presets.read_text().replace("[door.PRESET]", "[door.PRESET, dot.PRESET]"))
    film(tmp_path / "videos")
    encoder = tmp_path / "encoder"
    short = ["--updates", 30, "--iteration", 30, "--subsampling", 1, "--threads", 1]
    copy.run("encoder", "train", "--demos", tmp_path / "videos", "--out", encoder, *short)
    run = ["--run", tmp_path / "run", "--encoder", encoder / "encoder.safetensors", "--no-audit", *TINY]
    shown = copy.run("train", "--env", "dot:Dot-v0", "--demos", tmp_path / "videos", *run)
    assert "there in" in shown and "Video:" in shown
    row = read_curve(tmp_path / "run")[-1]
    assert {"there", "w1", "task_return"} <= row.keys()


def film(folder: Path, count: int = 6) -> None:
    """Videos of a dot that goes right, each at its own pace, as mp4."""
    folder.mkdir()
    for number in range(count):
        frames = np.zeros((20 + number, 60, 60, 3), np.uint8)
        for step, column in enumerate(np.linspace(5, 50, len(frames)).astype(int)):
            frames[step, 20:40, column : column + 10] = 255
        imageio.imwrite(folder / f"{number}.mp4", frames, plugin="FFMPEG", fps=10, macro_block_size=1)
