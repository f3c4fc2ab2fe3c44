"""A run directory as a gift: every checksum is valid, and a field of a file, or all of them, mean harm.

`make` writes a small run as a training leaves it, `spoil` puts hostile values into one of its files, and COMMANDS are
those that a person gives a run directory to.
"""

import contextlib
import io
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch

from vision_pwil.commands.demonstrations import Record
from vision_pwil.commands.evaluate import Evaluate, evaluate
from vision_pwil.commands.export import Export, write
from vision_pwil.commands.plot import Plot, draw
from vision_pwil.commands.report import Report, report
from vision_pwil.demonstrations import Demonstrations, Episode, read
from vision_pwil.encoder import Encoder
from vision_pwil.envs.flat import FlatEnv
from vision_pwil.sac import SAC, SACConfig
from vision_pwil.system import checkpoint
from vision_pwil.system.errors import InputError
from vision_pwil.system.files import read_json, write_json
from vision_pwil.system.run import BEST, LATEST, Run, read_curve, write_curve
from vision_pwil.tasks import scorecard
from vision_pwil.tasks.atoms import Atoms
from vision_pwil.tasks.auditing import write_audit
from vision_pwil.tasks.config import TaskConfig
from vision_pwil.tasks.library import audit
from vision_pwil.tasks.settings import ImitationConfig
from vision_pwil.tasks.task import Task
from vision_pwil.training.replay import Replay, Transitions
from vision_pwil.training.snapshot import write_snapshot
from vision_pwil.training.trainer import Trainer, TrainingConfig
from vision_pwil.verdict.audit import AuditReport, BehaviourScore

ENV, HORIZON = "Reacher-v5", 8
CANARY = "hostile_module"
"""What no command may import."""
HOSTILE: tuple[Any, ...] = (
    *(None, True, -1, 0, 2, 2**31, 2**62, 2**70, 1e308, -1e308, 5e-324, [], {}, [[]], [None], [-1], {"a": {}}),
    *("", "x", "nan", "1", "../../outside", "/etc/passwd", "/dev/zero", f"{CANARY}:{ENV}", "Nothing-v0", "\0", "{}"),
    *(["xml_file=/etc/passwd"], ["render_mode=human"], ["frame_skip='x'"], ["nothing=1"], ["xml_file=../x.xml"]),
    *([2**62], [1e308] * 3, ["a"] * 3, "$(touch outside)", "<script>", "%s" * 50),
)
"""Put in the place of any value."""


def make(run: Path) -> None:
    """A run as a training leaves it: of frames and their encoder, in an environment that is quick to play."""
    rng = np.random.default_rng(0)
    config = ImitationConfig(
        env=ENV,
        audit=False,
        task=TaskConfig(horizon=HORIZON, compare="frames", ending="last"),
        training=TrainingConfig(steps=20, batch_size=4, random_steps=8, replay_capacity=100, evaluation_episodes=1),
        settings=SACConfig(hidden=(8, 8)),
    )
    env = FlatEnv(ENV, HORIZON)
    atoms = Atoms(rng.normal(size=(20, 32)).astype(np.float32), np.ones(20, np.int64))
    encoder = Encoder()
    task = Task(ENV, "pwil", config.task, atoms, encoder)
    with Run(run, asdict(config) | {"checksums": {"demonstrations": None, "encoder": encoder.checksum}}) as directory:
        task.save(run)
        trainer = trained(directory)
        row = {"return": 1.5, "task_return": -3.0, "steps": 8.0, "w1": 2.0, "greedy_w1": 2.5}
        directory.write_curve([{"step": step, **row} for step in (0, 10, 20)])
        directory.write_summary({"finished": True, "step": 20, **row})
        for path in (run / LATEST, run / BEST, directory.pending / f"{20:012d}.safetensors"):
            write_snapshot(path, trainer.agent.policy(), {**trainer.about, "step": 20})
        trainer.agent.observe(np.zeros((9, env.observation_size), np.float32))
        rows = (rng.normal(size=(9, *each.shape[1:])).astype(np.float32) for each in trainer.replay._rows)
        trainer.replay.add(Transitions(*rows))
        trainer._save()
        trainer.board.close()
    judged = [
        BehaviourScore("held-out demonstrations", 30.0, 0.5, 0, 1.0, True),
        BehaviourScore("doing nothing", 2.0, 4.0, -1, 1.0, False),
    ]
    write_audit(AuditReport(judged, 15.0, 1.1, None, 0.95, 0.7, "ranks well"), run)
    videos(run.parent / "videos.demos")


def trained(run: Run) -> Trainer:
    """The training of such a run, continued from its checkpoint if there is one."""
    env = FlatEnv(ENV, HORIZON)
    agent = SAC(env.observation_size, env.action_size, SACConfig(hidden=(8, 8)), seed=0)
    replay = Replay(100, env.observation_size, env.action_size, seed=0)
    task = Task(ENV, "pwil", TaskConfig(horizon=HORIZON))
    kinds: dict[str, Any] = {"task": task, "agent": agent, "act": None, "replay": replay, "about": task.about(env)}
    return Trainer(run, TrainingConfig(steps=20, batch_size=4, random_steps=8), **kinds)


def videos(path: Path) -> None:
    """Five short videos, to score with the run's encoder."""
    frames = np.random.default_rng(1).integers(0, 255, (5, 6, 84, 84, 3)).astype(np.uint8)
    Demonstrations(tuple(Episode(frames=each) for each in frames)).save(path)


def _score(run: Path, out: Path) -> None:
    demonstrations = read(run.parent / "videos.demos")
    card = scorecard.compare(Encoder.load(run / "encoder.safetensors"), demonstrations, [demonstrations])
    scorecard.write(card, out / "score")


def _continue(run: Path, out: Path) -> None:
    """As far as a training goes before it plays: the settings, the checkpoint, the replay, the curve."""
    kept = read_json(run / "config.json")
    with Run(run, kept) as directory:
        directory.read_curve()
        trained(directory).board.close()


COMMANDS: dict[str, Callable[[Path, Path], Any]] = {
    "evaluate": lambda run, out: evaluate(Evaluate(run, episodes=1, video=False)),
    "evaluate --best": lambda run, out: evaluate(Evaluate(run, episodes=1, best=True, video=False)),
    "export": lambda run, out: write(Export(run, out / "export")),
    "report": lambda run, out: report(Report(run)),
    "plot": lambda run, out: draw(Plot((run,), out / "curves.png")),
    "audit": lambda run, out: audit(env=ENV, policies=[run], episodes=1),
    "train": _continue,
    "record": lambda run, out: Record(run, out / "recorded.demos", episodes=1).run(),
    "score": _score,
}
"""What takes a run directory, each as a function of it and of a folder for what is written."""


READ = {
    "task.safetensors": ["evaluate"],
    "encoder.safetensors": ["evaluate", "score"],
    "policy.safetensors": ["evaluate", "export", "record", "audit"],
    "best.safetensors": ["evaluate --best"],
    "config.json": ["evaluate --best", "report", "train"],
    "audit.json": ["report", "plot"],
    "curve.csv": ["plot", "report", "train"],
    "checkpoint.safetensors": ["train"],
    "replay/000000000000-000000000009.safetensors": ["train"],
}
"""The files of a run directory that are read, and what reads them."""


def give(run: Path, commands: Iterator[str] | list[str] | None = None) -> dict[str, str]:
    """Give the run to every command; their sentences, or "done". Anything else is raised."""
    answers = {}
    for name in commands or COMMANDS:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            try:
                COMMANDS[name](run, run.parent / "out")
                answers[name] = "done"
            except (InputError, OSError) as error:  # of both the command line makes one sentence
                answers[name] = f"{error}"
    return answers


def places(content: Any, where: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to every value of nested dictionaries and lists."""
    items = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    for key, value in items:
        yield (*where, key)
        yield from places(value, (*where, key))


def _changed(content: Any, where: tuple[Any, ...], value: Any) -> Any:
    if not where:
        return value
    copy = dict(content) if isinstance(content, dict) else list(content)
    copy[where[0]] = _changed(copy[where[0]], where[1:], value)
    return copy


def hostile_tensor(tensor: torch.Tensor, rng: np.random.Generator) -> torch.Tensor:
    """Another type, another shape, or numbers that are none."""
    kind = rng.integers(9)
    if kind < 4:
        value: Any = (float("nan"), float("inf"), 3e38, -3e38)[kind]
        return torch.full_like(tensor, value) if tensor.is_floating_point() else torch.full_like(tensor, -(2**31))
    if kind == 4:
        return torch.full(tensor.shape, 2**62, dtype=torch.int64)
    if kind == 5:
        return tensor.reshape(-1)[:-1].clone() if tensor.numel() else torch.zeros(3)
    if kind == 6:
        return tensor.new_zeros((2**20, 0))
    if kind == 7:
        return tensor.to(torch.complex64 if rng.random() < 0.5 else torch.bfloat16)
    return tensor[None].clone()


def spoil(path: Path, rng: np.random.Generator, everything: bool = False) -> None:
    """Put hostile values in the place of one field of a file, or of all, and give it its checksum again."""
    if path.suffix == ".safetensors":
        tensors, values = checkpoint.load(path)
        fields = [("tensor", name) for name in tensors] + [("value", *where) for where in places(values)]
        chosen = fields if everything else [fields[rng.integers(len(fields))]]
        for kind, *where in chosen:
            if kind == "tensor":
                tensors[where[0]] = hostile_tensor(tensors[where[0]], rng)
            elif not everything or len(where) == 1:
                values = _changed(values, tuple(where), HOSTILE[rng.integers(len(HOSTILE))])
        checkpoint.save(path, tensors, values)
    elif path.suffix == ".json":
        content = read_json(path)
        fields = list(places(content))
        for where in [each for each in fields if len(each) == 1] if everything else [fields[rng.integers(len(fields))]]:
            content = _changed(content, where, HOSTILE[rng.integers(len(HOSTILE))])
        write_json(path, content)
    elif path.suffix == ".csv":
        rows = read_curve(path.parent)
        column = [*rows[0]][rng.integers(len(rows[0]))]
        value: Any = (float("nan"), float("inf"), -1.0, 1e308, 2.0**62, "x", "")[rng.integers(7)]
        write_curve(path.parent, [{**row, **dict.fromkeys([*row] if everything else [column], value)} for row in rows])
