"""Learn to open the door from demonstrations: `python -m vision_pwil.train_door`.

Renders the demonstrations, trains the encoder or takes a given one, audits the metric, trains the agent on the pixel
reward, and evaluates and films it. Everything goes to one run directory; the same command continues an interrupted run.
"""

import json
import shutil
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Literal

from vision_pwil import sac
from vision_pwil.audit import audit
from vision_pwil.commands import evaluate
from vision_pwil.demonstrations import Demonstrations, read
from vision_pwil.door_env import HORIZON, OPEN_ANGLE
from vision_pwil.encoder import Encoder
from vision_pwil.envs.open_loop import render_door
from vision_pwil.envs.renderer import RenderSettings
from vision_pwil.system import choices, cli
from vision_pwil.system.errors import InputError
from vision_pwil.system.files import read_json, replacing, sha256, write_json
from vision_pwil.system.run import Run
from vision_pwil.tasks.door_task import Absorbing, DoorTaskFactory, Metric, pixel_atoms, state_atoms
from vision_pwil.tcc.train import TrainConfig as EncoderConfig
from vision_pwil.tcc.train import train as train_encoder
from vision_pwil.training.evaluations import conclude
from vision_pwil.training.replay import Replay
from vision_pwil.training.trainer import FREE, Trainer, TrainingConfig

STATE_SIZE, ACTION_SIZE = 39, 28
ASSETS = Path(__file__).parent / "demonstrations" / "assets"
DEMONSTRATIONS, ENCODER = ASSETS / "door.demos", ASSETS / "door-encoder.safetensors"


@dataclass(frozen=True)
class TrainDoor:
    """Learn to open the door from demonstrations."""

    demos: Path = DEMONSTRATIONS
    """Demonstrations of the door, in any format that `python -m vision_pwil.demonstrations` reads; by default those
    that come with the package."""
    run: Path = Path("runs/door")
    """Directory of the run; an interrupted run found there is continued."""
    recipe: Literal["default", "paper"] = "default"
    """Where the settings start from: those measured to learn faster, or the paper's agent (appendix "Agent"). Each
    may be changed beside it."""
    metric: Metric = "pixels"
    """What the reward compares: frames through the learned encoder, or standardised states (no rendering)."""
    encoder: Path | None = None
    """Encoder file; by default the one that comes with the default demonstrations, else one is trained in the run."""
    fresh_encoder: bool = False
    """Train an encoder in the run even if one comes with the demonstrations."""
    audit: bool = True
    """Audit the metric first, and refuse to train on one that cannot rank behaviour."""
    horizon: int = HORIZON
    """Steps in an episode, of the agent and of the padded demonstrations alike."""
    open_angle: float = OPEN_ANGLE
    """Radians at which the door is open and the episode ends."""
    alpha: float = 5.0
    """Largest reward of a step (section "Door Opening Task")."""
    beta: float = 1.0
    """How fast the reward falls with the cost (section "Door Opening Task": 1)."""
    time_feature: bool = True
    """Let the policy see t/T (Pardo et al. 2018, "Time limits in reinforcement learning"): episodes end at T, and the
    reward depends on what the episode has used up, which the state does not tell. Not in the paper."""
    point_interval: int = 1
    """Steps for each frame that the reward sees while training (evaluations see them all). A frame a decision costs a
    fraction of the rendering and encoding, and each carries the mass of the steps it stands for. The paper: 1."""
    absorbing: Absorbing = "last"
    """Where the steps after the opening lie, of demonstrations and agent alike: each at its own episode's last frame
    (appendix "Environment", after AIRL), or all in one shared absorbing state (DAC, Kostrikov et al. 2019), with which
    the door opens reliably (results/door)."""
    video: bool = True
    """Film the final policy in large frames."""
    training: TrainingConfig = field(default_factory=TrainingConfig)
    agent: sac.SACConfig = field(default_factory=sac.SACConfig)

    def __post_init__(self) -> None:
        if self.point_interval < 1:
            raise InputError(f"--point-interval must be at least 1, not {self.point_interval}.")


RECIPES = {
    "default": TrainDoor(
        point_interval=4,
        absorbing="shared",
        training=TrainingConfig(
            steps=300_000, action_repeat=4, n_step=3, batch_size=128, random_steps=3_000, noise_exponent=1.0
        ),
        agent=sac.SACConfig(
            actor_learning_rate=6e-4,
            critic_learning_rate=6e-4,
            temperature_learning_rate=1e-3,
            initial_temperature=0.2,
            final_target_entropy=-3.0,
            critic_layer_norm=True,
            normalize=True,
        ),
    ),
    # The appendix names grids, not choices: of its grids, these. Episodes that reach the horizon end there, as in the
    # default; what the paper did then is not said.
    "paper": TrainDoor(recipe="paper", time_feature=False, training=TrainingConfig(steps=1_500_000)),
}


def read_demonstrations(path: Path) -> Demonstrations:
    """The demonstrations, or one sentence when none are there."""
    if path == DEMONSTRATIONS and not path.exists():
        raise InputError("No demonstrations of the door come with this package: name a file with --demos.")
    return read(path)


def find_encoder(config: TrainDoor, rendered: Demonstrations) -> Path:
    """The encoder named; else the package's own if it was made from these demonstrations; else trained in the run."""
    path = config.encoder
    if path is None and not config.fresh_encoder and ENCODER.exists():
        own = Encoder.load(ENCODER).provenance
        path = ENCODER if own.demonstrations == rendered.checksum else None
    if path is None:
        session = train_encoder(EncoderConfig(demos=config.demos, out=config.run / "encoder"))
        if not session.finished:
            raise KeyboardInterrupt
        path = session.encoder_path
    RenderSettings().require_match(Encoder.load(path).provenance.render_fingerprint, f"the encoder {path}")
    return path


def check_metric(config: TrainDoor, run: Run, encoder: Path, rendered: Demonstrations) -> None:
    """Audit the metric once, and stop where it could not teach the task."""
    path = run.path / "audit.json"
    if not path.exists():
        settings = {name: getattr(config, name) for name in ("horizon", "alpha", "beta", "open_angle")}
        report = audit.audit_encoder(Encoder.load(encoder), str(encoder), rendered, **settings)
        print(audit.report_table(report), report.sentence, sep="\n")
        audit.draw(report, run.path / "audit.png")
        write_json(path, asdict(report))
    if read_json(path).get("verdict") == "cannot rank":
        raise InputError(f"The metric cannot rank behaviour (see {path}): train another encoder, or give --no-audit.")


def prepare(config: TrainDoor) -> tuple[Run, DoorTaskFactory]:
    """Demonstrations, encoder and audit; the run directory, locked; and the task."""
    demonstrations = read_demonstrations(config.demos)
    pixels = config.metric == "pixels"
    encoder = None
    if pixels:
        demonstrations = render_door(demonstrations, open_angle=config.open_angle)
        encoder = find_encoder(config, demonstrations)
    settings = json.loads(json.dumps(asdict(config), default=str))
    checksums = {"demonstrations": demonstrations.checksum, "encoder": sha256(encoder) if encoder else None}
    run = Run(
        config.run, {**settings, "checksums": checksums}, free=(*FREE, "run", "demos", "encoder", "audit", "video")
    )
    kept = None
    if encoder:
        if config.audit:
            check_metric(config, run, encoder, demonstrations)
        kept = run.path / "encoder.safetensors"
        with replacing(kept) as temporary:
            shutil.copyfile(encoder, temporary)
        atoms = pixel_atoms(demonstrations, Encoder.load(kept), config.horizon, config.absorbing)
    else:
        atoms = state_atoms(demonstrations, config.horizon, config.open_angle, config.absorbing)
    factory = DoorTaskFactory(
        atoms,
        config.metric,
        str(kept) if kept else None,
        config.horizon,
        config.open_angle,
        config.alpha,
        config.beta,
        config.time_feature,
        config.point_interval,
        config.absorbing,
    )
    factory.save(run.path / evaluate.TASK)
    return run, factory


def main(config: TrainDoor) -> None:
    """Train, evaluate, film, and say where the outcome is."""
    run, factory = prepare(config)
    with run:
        size, training = STATE_SIZE + config.time_feature, config.training
        agent = sac.SAC(size, ACTION_SIZE, config.agent, training.seed)
        replay = Replay(training.replay_capacity, size, ACTION_SIZE, training.seed)
        about = {"task": "door", "horizon": config.horizon, "time_feature": config.time_feature}
        finished = Trainer(run, agent, sac.act, factory, replay, training, about).train()
        outcome = conclude(run, finished)
        if finished and config.video:
            print(f"Video: {evaluate.film(config.run)}")
    print("Finished." if finished else "Stopped; the same command goes on.")
    if outcome:
        last, best = outcome
        print(
            f"At step {last['step']:.0f} the door opened in {last['opened']:.0%} of {training.evaluation_episodes} "
            f"episodes (1.35 rad: {last['success']:.0%}), imitation return {last['return']:.0f}, W1 {last['w1']:.3g}."
        )
        print(
            f"The highest imitation return, {best['return']:.0f}, was at step {best['step']:.0f}; "
            f"`python -m vision_pwil.commands.evaluate {config.run} --best` plays that policy."
        )
    print(f"The run is in {config.run}; see it with: tensorboard --logdir {config.run}")


@dataclass(frozen=True)
class Choice:
    """The option that decides the defaults of the others."""

    recipe: Literal["default", "paper"] = "default"


def configure(args: list[str] | None = None) -> Callable[..., None]:
    """The command, with the settings of the recipe that the arguments name as defaults."""
    return choices.command(main, Choice, lambda choice: RECIPES[choice.recipe], args)


if __name__ == "__main__":
    cli.run(configure())
