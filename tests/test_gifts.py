"""A run directory is a gift from a stranger: nothing of it is executed, and every command ends in a sentence."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks import gifts


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    gifts.make(folder / "run")
    return folder


@pytest.fixture
def gift(made, tmp_path, monkeypatch) -> Path:
    """A copy of a run that is as it should be, in a working directory with a module that must not be imported."""
    shutil.copytree(made, tmp_path / "here")
    (tmp_path / "here" / f"{gifts.CANARY}.py").write_text("open('imported', 'w'); raise SystemExit('imported')")
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "here" / "run"


def outside(gift: Path) -> set[Path]:
    """All that lies beside the run, but for what commands were told to write."""
    here = gift.parent
    found = {path for path in here.parent.rglob("*") if not path.is_relative_to(gift) and path != here / "out"}
    return {path for path in found if not path.is_relative_to(here / "out") and "__pycache__" not in path.parts}


def test_a_run_as_it_should_be_is_taken_by_every_command(gift):
    assert set(gifts.give(gift).values()) == {"done"}


def test_every_field_hostile_and_every_command_ends_in_a_sentence(gift):
    rng = np.random.default_rng(0)
    for name in gifts.READ:
        gifts.spoil(gift / name, rng, everything=True)
    before, run = outside(gift), ["run"]
    commands = [
        ["evaluate", *run],
        ["evaluate", *run, "--best"],
        ["export", *run],
        ["report", *run],
        ["plot", *run],
        ["audit", "--env", gifts.ENV, "--policies", *run],
        ["train", "--env", gifts.ENV, "--steps", "20", "--run", *run],
        ["demonstrations", "record", *run, "out/recorded.demos"],
        ["score", "--encoder", "run/encoder.safetensors", "--demos", "videos.demos", "--out", "out/score"],
    ]
    for command in commands:
        done = subprocess.run(
            [sys.executable, "-m", "vision_pwil", *command],
            capture_output=True,
            text=True,
            timeout=300,
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)},
        )
        assert done.returncode == 2 and "Traceback" not in done.stderr, (command, done.stderr)
        last = done.stderr.strip().splitlines()[-1]
        assert last.startswith("error: ") and last.endswith("."), (command, done.stderr)
    assert outside(gift) == before and not (gift.parent / "imported").exists()


@pytest.mark.parametrize("name", gifts.READ)
def test_one_field_hostile(gift, name):
    before, answers, content = outside(gift), [], (gift / name).read_bytes()
    for seed in range(24):
        gifts.spoil(gift / name, np.random.default_rng(seed))
        answers += gifts.give(gift, gifts.READ[name]).values()
        shutil.rmtree(gift / "export", ignore_errors=True)
        (gift / name).write_bytes(content)
    assert any(answer != "done" for answer in answers)
    assert outside(gift) == before and gifts.CANARY not in sys.modules and not Path("imported").exists()


def test_a_module_named_beside_a_known_environment_is_not_imported(gift):
    tensors, values = gifts.checkpoint.load(gift / "task.safetensors")
    gifts.checkpoint.save(gift / "task.safetensors", tensors, {**values, "env": f"{gifts.CANARY}:{gifts.ENV}"})
    assert gifts.give(gift, ["evaluate"]) == {"evaluate": "done"}
    assert gifts.CANARY not in sys.modules


@pytest.mark.parametrize("field", ["env", "env_options"])
@pytest.mark.parametrize(("name", "command"), [("task.safetensors", "evaluate"), ("policy.safetensors", "record")])
def test_an_environment_out_of_a_file_imports_and_waits_for_nothing(gift, name, command, field):
    os.mkfifo("pipe")
    harm = {"env": f"{gifts.CANARY}:Nothing-v0", "env_options": ["xml_file=pipe"]}[field]
    tensors, values = gifts.checkpoint.load(gift / name)
    inside = values["config"] if field == "env_options" and "config" in values else values
    inside[field] = harm
    gifts.checkpoint.save(gift / name, tensors, values)
    (answer,) = gifts.give(gift, [command]).values()
    assert ("--import MODULE" if field == "env" else "a pipe or device") in answer
    assert gifts.CANARY not in sys.modules


@pytest.mark.parametrize("target", ["/dev/zero", "pipe", "/etc/passwd", "missing", "."])
def test_links_instead_of_files(gift, target):
    os.mkfifo("pipe")
    before = outside(gift)
    for name in gifts.READ:
        (gift / name).unlink()
        (gift / name).symlink_to((gift.parent / target).absolute())
    answers = gifts.give(gift)
    assert "done" not in answers.values(), answers
    assert outside(gift) == before


@pytest.mark.parametrize(
    "name", ["replay", "pending", "replay/more", "tensorboard", "bound", "lock", "checkpoint.safetensors"]
)
def test_a_training_writes_and_removes_nothing_where_links_lead(gift, name):
    elsewhere = gift.parent / "elsewhere"
    shutil.copytree(gift, elsewhere)  # with a replay of its own, of which a run removes what lies beyond its checkpoint
    segment = next((elsewhere / "replay").iterdir())
    segment.rename(segment.with_name("000000000900-000000000909.safetensors"))
    shutil.rmtree(gift / name) if (gift / name).is_dir() else (gift / name).unlink(missing_ok=True)
    (gift / name).symlink_to(elsewhere / name)
    before = {path: path.read_bytes() for path in elsewhere.rglob("*") if path.is_file()}
    (answer,) = gifts.give(gift, ["train"]).values()
    assert f"{name} is a link that leads out of the run" in answer
    assert {path: path.read_bytes() for path in elsewhere.rglob("*") if path.is_file()} == before


def test_an_export_follows_no_link(gift):
    (gift.parent / "elsewhere").mkdir()
    (gift / "export").symlink_to(gift.parent / "elsewhere")
    (answer,) = gifts.give(gift, ["export"]).values()
    assert answer == "done" and not [*(gift.parent / "elsewhere").iterdir()]  # the benchmark names a folder of its own
    with pytest.raises(gifts.InputError, match="export is a link that leads out of the run"):
        gifts.write(gifts.Export(gift))


def test_a_lock_that_is_a_pipe_is_not_waited_for(gift):
    (gift / "lock").unlink()
    os.mkfifo(gift / "lock")
    (answer,) = gifts.give(gift, ["train"]).values()
    assert "lock: it is a pipe or device" in answer
