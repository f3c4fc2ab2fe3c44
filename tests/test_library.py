"""The package's verbs: there when asked for, and not before."""

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

import vision_pwil
from vision_pwil import door_env
from vision_pwil.commands import COMMANDS
from vision_pwil.commands.completion import script
from vision_pwil.commands.encoder import ACTIONS
from vision_pwil.system.errors import InputError
from vision_pwil.tasks import door, presets
from vision_pwil.tasks.library import _settings, audit, train, train_encoder
from vision_pwil.tasks.settings import Choice


def test_the_verbs_are_there():
    assert dir(vision_pwil) == sorted([*vision_pwil.__all__, "__version__"])
    for name in vision_pwil.__all__:
        assert getattr(vision_pwil, name).__name__ == name
    with pytest.raises(AttributeError, match="no attribute 'fly'"):
        vision_pwil.fly  # noqa: B018


def test_importing_the_package_imports_next_to_nothing():
    """Milliseconds: torch, numpy and the rest wait until a verb is used; rooms do not hide verbs."""
    code = """
import sys
import vision_pwil
heavy = {"torch", "numpy", "gymnasium", "mujoco", "scipy", "tyro"} & {name.partition(".")[0] for name in sys.modules}
print(sorted(heavy), [name for name in sys.modules if name.startswith("vision_pwil.")])
import vision_pwil.commands.audit, vision_pwil.commands.evaluate
print(vision_pwil.audit.__module__, vision_pwil.evaluate.__module__)
"""
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert shown.splitlines() == [
        "[] ['vision_pwil.system', 'vision_pwil.system.lazy']",
        "vision_pwil.tasks.library vision_pwil.tasks.playback",
    ]


def test_options_are_those_of_the_command_line():
    config = _settings("Hopper-v5", agent="td3", demos="mine.demos", hidden=[32, 32], steps=100, view="track", beta=2.0)
    assert config.demos == Path("mine.demos") and config.settings.hidden == (32, 32) and config.training.steps == 100
    assert config.task.view.view == "track" and config.task.beta == 2.0
    assert config.training.update_interval == presets.defaults(Choice("Hopper-v5", "td3")).training.update_interval
    assert _settings("Hopper-v5") == presets.defaults(Choice("Hopper-v5", "d4pg"))  # the preset's agent


def test_what_is_wrong_is_said_before_anything_begins(tmp_path):
    with pytest.raises(InputError, match="no option 'stepz' here: is it steps"):
        train("Hopper-v5", run=tmp_path / "run", stepz=3)
    with pytest.raises(InputError, match="--steps must be a whole number at least 1, not 'many'"):
        train("Hopper-v5", run=tmp_path / "run", steps="many")
    with pytest.raises(InputError, match="no recipe 'cake': choose one of default, paper"):
        train_encoder("videos", tmp_path, recipe="cake")
    with pytest.raises(InputError, match="Name an environment"):
        audit("videos")
    assert not [*tmp_path.iterdir()]


def test_help_imports_little():
    """What takes seconds to import is not needed to show options."""
    slow = ["torch", "numba", "scipy", "gymnasium", "mujoco", "av", "h5py", "pyarrow", "matplotlib", "ot", "ray"]
    shown = [[name] for name in COMMANDS] + [["encoder", name] for name in ACTIONS] + [["demonstrations", "inspect"]]
    code = f"""
import sys
from vision_pwil.__main__ import main
for words in {shown!r}:
    try:
        main([*words, "--help"])
    except SystemExit:
        pass
print([name for name in {slow!r} if name in sys.modules])
"""
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert shown.splitlines()[-1] == "[]"
    assert door.ENV_ID == door_env.ENV_ID


def test_help_takes_less_than_two_seconds_of_processor_time():
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-m", "vision_pwil", "train", "--help"], capture_output=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 2


def test_the_shell_completes_commands_and_options(tmp_path):
    (tmp_path / "completion.bash").write_text(script("bash"))
    lines = {
        "vision-pwil ev": "evaluate",
        "vision-pwil encoder cross": "crossvalidate",
        "vision-pwil encoder train --upd": "--updates",
        "vision-pwil demonstrations ins": "inspect",
        "vision-pwil demonstrations inspect --shee": "--sheet",
        "vision-pwil train --random": "--random-steps",
        "vision-pwil export --be": "--best",
    }
    asked = "".join(
        f"COMP_WORDS=({line}); COMP_CWORD={len(line.split()) - 1}; COMPREPLY=(); _vision_pwil; echo ${{COMPREPLY[@]}}\n"
        for line in lines
    )
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    command = ["bash", "-c", f"source completion.bash\n{asked}"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env={**os.environ, "PATH": path})
    assert done.stdout.splitlines() == [*lines.values()], done.stderr
    with pytest.raises(InputError, match="for bash and zsh, not for 'fish'"):
        script("fish")
