"""The audit on behaviour whose worth is known by construction, and the real command on real and made-up videos."""

import json
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from tests.shared import DOOR, needs_shared
from vision_pwil.demonstrations import Demonstrations, Episode, read
from vision_pwil.door_env import ENV_ID, SETTINGS
from vision_pwil.encoder import Encoder
from vision_pwil.sac import SAC, SACConfig
from vision_pwil.tasks.atoms import weighted
from vision_pwil.tasks.comparison import Comparison
from vision_pwil.tasks.config import TaskConfig
from vision_pwil.tasks.task import Task
from vision_pwil.training.snapshot import write_snapshot
from vision_pwil.verdict.audit import BehaviourScore, audit, judge
from vision_pwil.verdict.behaviour import FROZEN, HELD_OUT, PANTOMIME, REVERSED, Behaviour, parts


def score(group, value, demonstration=-1, fraction=1.0):
    return BehaviourScore(group, value, 0.0, demonstration, fraction, group == HELD_OUT)


def test_figures_by_hand():
    """Worst expert 90 over best other 60; one demonstration pays in order, the other in reverse: Spearman 0."""
    scores = [score(HELD_OUT, 90, 0), score(HELD_OUT, 120, 1), score("random", 60), score("nothing", 20)]
    scores += [score(REVERSED, 75, 0)]
    scores += [score(FROZEN, 30, 0, 0.5), score(FROZEN, 150, 1, 0.5)]
    report = judge(scores, median_cost=2.0)
    assert report.separation == 1.5
    assert report.over_reversed == 90 / 75
    assert report.over_pantomime is None
    posed = judge([*scores, score(PANTOMIME, 72, 0)], 2.0)  # told, but not part of the verdict
    assert (posed.over_pantomime, posed.separation) == (90 / 72, 1.5)
    assert report.spearman == pytest.approx(0.0)
    assert report.suggested_beta == pytest.approx(np.log(2) / 2)  # exp(-beta 2) = 1/2
    assert report.verdict == "cannot rank"
    assert judge([*scores, score("policy mine", 500)], 2.0).separation == 1.5  # of unknown worth
    assert judge([*scores, score(FROZEN, 180, 1, 0.1)], 2.0).separation == 0.5  # at a tenth nothing has happened yet
    assert judge([*scores[:-1], score(FROZEN, 80, 1, 0.5)], 2.0).verdict == "ranks well"
    well = judge([*scores[:-1], score(FROZEN, 80, 1, 0.5)], 2.0)
    assert "does not see is order" in well.sentence and "--pace" in well.sentence
    ordered = judge([*scores[:-1], score(FROZEN, 80, 1, 0.5)], 2.0, ordered=True)
    assert (ordered.verdict == "ranks well") == (well.over_reversed > 1) and "Order counts" in ordered.sentence
    backwards = judge([*scores[:-1], score(FROZEN, 80, 1, 0.5), score(REVERSED, 1e3, 0)], 2.0, ordered=True)
    assert backwards.verdict == "ranks weakly"
    assert judge([*scores[:-1], score(FROZEN, 80, 1, 0.5), score("random", 80)], 2.0).verdict == "ranks weakly"
    assert judge([*scores[:-1], score(FROZEN, 80, 1, 0.5), score("random", 95)], 2.0).verdict == "cannot rank"


def test_parts_of_a_demonstration():
    """Only the whole one finishes the task; the others wait at their last point until the episode is over."""
    video = np.arange(20.0)[:, None]
    whole, backwards, *frozen = parts(video, 3, steps=25, absorbed=True)
    assert whole.expert and whole.absorbed and (whole.points == video).all()
    assert backwards.points.ravel().tolist() == [*range(19, -1, -1), 0, 0, 0, 0, 0]
    assert [len(np.unique(part.points)) for part in frozen] == [2, 4, 6, 8, 10, 12, 14, 16, 18]
    assert {len(part.points) for part in frozen} == {25} and not any(part.absorbed for part in (backwards, *frozen))
    assert {part.demonstration for part in frozen} == {3}


def progress(steps):
    """A video whose embedding is how far the task has come."""
    return np.linspace(0, 4, steps)[:, None]


def comparison_of(embed, ending):
    videos = [embed(progress(steps)) for steps in (24, 30, 27)]
    config = TaskConfig(compare="frames", ending=ending, beta=2.0)
    return Comparison("pwil", config, weighted(videos, [True] * 3, 40, ending), 40)


def behaviours(embed):
    found = [part for n in (26, 33) for part in parts(embed(progress(n)), n, steps=40, absorbed=True)]
    return [*found, Behaviour("nothing", embed(np.zeros((40, 1))))]


@pytest.mark.parametrize("ending", ["last", "shared"])
def test_a_metric_of_progress_ranks_well_and_a_collapsed_one_cannot(ending):
    good = audit(behaviours(lambda x: x), comparison_of(lambda x: x, ending))
    assert good.verdict == "ranks well", good.sentence
    assert "can be trained on" in good.sentence
    bad = audit(behaviours(lambda x: 0 * x), comparison_of(lambda x: 0 * x, ending))
    assert bad.verdict == "cannot rank"
    assert bad.separation == bad.over_reversed == pytest.approx(1.0)


def run(*arguments):
    command = [sys.executable, "-m", "vision_pwil", "audit", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


def test_command_on_ones_own_videos(tmp_path):
    rng = np.random.default_rng(0)
    episodes = [Episode(frames=rng.integers(0, 255, (12, 84, 84, 3), dtype=np.uint8)) for _ in range(5)]
    Demonstrations(tuple(episodes)).save(tmp_path / "mine.demos")
    Encoder().save(tmp_path / "encoder.safetensors")
    done = run(
        *("--encoder", tmp_path / "encoder.safetensors", "--demos", tmp_path / "mine.demos"),
        *("--out", tmp_path / "out", "--horizon", 20),
    )
    assert done.returncode == 0, done.stderr
    assert HELD_OUT in done.stdout and "This reward" in done.stdout
    assert (tmp_path / "out" / "audit.png").read_bytes().startswith(b"\x89PNG")
    scores = json.loads((tmp_path / "out" / "audit.json").read_text())["scores"]
    assert len(scores) == 2 * 11  # two held-out videos: whole, reversed, nine frozen


@needs_shared
def test_command_on_the_door(tmp_path):
    human = read(DOOR)
    replace(human, episodes=human.episodes[:4]).save(tmp_path / "four.demos")
    encoder = Encoder()
    encoder.provenance = replace(encoder.provenance, render_fingerprint=SETTINGS.fingerprint)
    encoder.save(tmp_path / "encoder.safetensors")
    task = Task(ENV_ID, "pwil", TaskConfig())
    about = {"agent": "sac", "action_repeat": 1, "step": 0, **task.about(task.make_env())}
    write_snapshot(tmp_path / "mine.safetensors", SAC(39, 28, SACConfig(), seed=0).policy(), about)
    command = [
        *("--env", ENV_ID, "--encoder", tmp_path / "encoder.safetensors", "--demos", tmp_path / "four.demos"),
        *("--out", tmp_path / "out", "--episodes", 1, "--policies", tmp_path / "mine.safetensors"),
    ]
    refused = run(*command, "--action-smoothing", 0.5)
    assert refused.returncode == 2 and "audit with the --action-rate, --action-smoothing" in refused.stderr
    done = run(*command)
    assert done.returncode == 0, done.stderr
    groups = {s["group"] for s in json.loads((tmp_path / "out" / "audit.json").read_text())["scores"]}
    idle = {"doing nothing", "random play, white noise", "random play, smooth noise"}
    assert idle | {PANTOMIME, "policy mine.safetensors"} < groups
    assert "over pantomime" in done.stdout


@needs_shared
def test_an_encoder_for_other_frames_is_refused(tmp_path):
    Encoder().save(tmp_path / "encoder.safetensors")
    done = run("--env", ENV_ID, "--encoder", tmp_path / "encoder.safetensors", "--demos", DOOR)
    assert done.returncode == 2
    assert "fingerprint" in done.stderr
