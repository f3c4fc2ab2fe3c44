"""What TensorBoard finds in a run's events: the layout of its custom scalars, the same for encoders and agents."""

import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.backend.event_processing.event_multiplexer import EventMultiplexer
from tensorboard.plugins.custom_scalar.layout_pb2 import Layout

from tests.toy import AGENT, ToyTask, settings, trainer
from tests.videos import ball_videos
from vision_pwil.demonstrations import Demonstrations, Episode
from vision_pwil.system import run as runs
from vision_pwil.system.board import Board, open_writer
from vision_pwil.system.run import Run
from vision_pwil.tcc.recipes import Recipe
from vision_pwil.tcc.session import train
from vision_pwil.tcc.settings import TrainConfig

ROOT = Path(__file__).resolve().parents[1]


def written(folder: Path) -> EventAccumulator:
    return EventAccumulator(str(folder), size_guidance={"scalars": 0, "images": 0, "tensors": 0}).Reload()


def layout(folder: Path) -> Layout:
    events = written(folder).Tensors("custom_scalars__config__")
    return Layout.FromString(events[-1].tensor_proto.string_val[0])


def drawn(layout: Layout, folder: Path) -> dict[str, set[str]]:
    """The tags that each chart draws of a run, chosen as TensorBoard chooses them."""
    tags = written(folder).Tags()["scalars"]
    return {
        f"{category.title}: {chart.title}": {t for t in tags for wish in chart.multiline.tag if re.match(wish, t)}
        for category in layout.category
        for chart in category.chart
    }


@pytest.fixture(scope="module")
def agent(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("agent")
    with Run(folder, {}) as run:
        assert trainer(run, settings(400), AGENT, ToyTask()).train()
    return folder


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("encoder")
    Demonstrations(tuple(Episode(frames=video) for video in ball_videos(4))).save(folder / "ball.demos")
    recipe = Recipe(updates=20, subsampling=16)
    train(TrainConfig(folder / "ball.demos", folder / "run", settings=recipe, validation=2, threads=1))
    return folder / "run"


def test_no_chart_is_empty_and_those_of_encoders_and_agents_fit_together(agent: Path, encoder: Path) -> None:
    assert all(drawn(layout(agent), agent).values()) and all(drawn(layout(encoder), encoder).values())
    titles = [category.title for folder in (agent, encoder) for category in layout(folder).category]
    assert titles[0] == "Imitation" and len(set(titles)) == len(titles)


def test_the_distance_and_its_bound_have_a_colour_each(tmp_path: Path) -> None:
    """TensorBoard colours folders; a run that goes on knows the charts that it had."""
    for step in (0, 10):
        board = Board(tmp_path, step)
        if step == 0:
            board.scalars("eval", {"return": 1.0, "w1": 2.0, "greedy_w1": 3.0}, step)
        board.scalars("train", {"return": 1.0}, step)
        board.close()
    assert written(tmp_path).Scalars("eval/w1")[0].value == 2.0
    assert "eval/greedy_w1" not in written(tmp_path).Tags()["scalars"]
    assert written(tmp_path / "bound").Scalars("eval/greedy_w1")[0].value == 3.0
    titles = {chart.title.partition(",")[0] for category in layout(tmp_path).category for chart in category.chart}
    assert titles == {"imitation return", "Wasserstein distance"}


def test_runs_are_named_by_their_folder(tmp_path: Path) -> None:
    """By TensorBoard itself; a run of before goes on where its events are."""
    (tmp_path / "old" / "tensorboard").mkdir(parents=True)
    for name in ("door", "old"):
        with Run(tmp_path / name, {}) as run:
            board = Board(run.events, 0)
            board.scalars("eval", {"w1": 2.0, "greedy_w1": 3.0}, 1)
            board.close()
    names = EventMultiplexer().AddRunsFromDirectory(str(tmp_path)).Reload().Runs()
    assert set(names) == {"door", "door/bound", "old/tensorboard", "old/tensorboard/bound"}
    assert runs.board(tmp_path / "door") == f"tensorboard --logdir {tmp_path}"


def test_an_agents_charts(agent: Path) -> None:
    charts = drawn(layout(agent), agent)
    assert charts["Imitation: imitation return, and that of held-out demonstrations"] == {"eval/return"}
    assert charts["Imitation: success on the door: opened, and 1.35 rad"] == {"eval/opened"}  # the toy has no angle
    assert charts["Exploring episodes: imitation return"] == {"train/return"}
    assert {name.partition(":")[0] for name in charts} == {"Imitation", "Exploring episodes", "Learner", "Speed"}
    assert {"eval/rollout", "eval/reward"} <= set(written(agent).Tags()["images"])


def test_an_encoders_charts(encoder: Path) -> None:
    charts = drawn(layout(encoder), encoder)
    assert charts["Alignment of videos (TCC): losses"] == {"train/loss", "train/cycle", "train/time_contrast"}
    assert {name.partition(":")[0] for name in charts} == {"Alignment of videos (TCC)"}
    assert {"alignment/0-1", "distances/0-1"} <= set(written(encoder).Tags()["images"])
    assert "validation" in next(encoder.glob("projector_config.pbtxt")).read_text()


def test_going_on_hides_what_was_written_after_the_checkpoint(tmp_path: Path) -> None:
    for start, values in ((0, {1: 10.0, 2: 20.0, 3: 30.0}), (2, {3: 31.0})):
        with open_writer(tmp_path, start) as writer:
            for step, value in values.items():
                writer.add_scalar("eval/return", value, step)
        time.sleep(1.1)  # TensorBoard reads files in the order of the seconds in which they began
    scalars = written(tmp_path).Scalars("eval/return")
    assert [(event.step, event.value) for event in scalars] == [(1, 10.0), (2, 20.0), (3, 31.0)]


FULL = """
import resource, sys
from pathlib import Path
from vision_pwil.system import cli
from vision_pwil.system.board import Board

def main() -> None:
    board = Board(Path(sys.argv[1]), 0)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
    for step in range(1000):
        board.scalars("train", {"return": 0.0}, step)
        board.flush()

cli.run(main, args=[])
"""


def test_a_full_disk_is_one_sentence(tmp_path: Path) -> None:
    """A limit on the size of files stands for the disk; TensorBoard writes in a thread, which dies of it."""
    done = subprocess.run([sys.executable, "-c", FULL, str(tmp_path)], capture_output=True, text=True, cwd=ROOT)
    assert (done.returncode, done.stderr) == (1, "error: File too large.\n")
