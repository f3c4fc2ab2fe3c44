"""The whole way from demonstrations to a policy: frames, encoder, audit, task, agent, training.

Everything goes to one run directory; the same call continues an interrupted run.
"""

import json
import sys
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from vision_pwil.agents import blueprint, table
from vision_pwil.agents.protocol import Agent
from vision_pwil.demonstrations import ASSETS, Demonstrations, choose, read, subsample
from vision_pwil.encoder import Encoder
from vision_pwil.envs.flat import FlatEnv
from vision_pwil.envs.replaying import replayed
from vision_pwil.rewards.table import find as find_reward
from vision_pwil.system.device import require_device
from vision_pwil.system.errors import InputError, Interrupted
from vision_pwil.system.run import Row, Run
from vision_pwil.tasks import presets
from vision_pwil.tasks.auditing import check_reward, held_out_level
from vision_pwil.tasks.config import OWN_REWARD, TaskConfig
from vision_pwil.tasks.demonstrated import demonstrated_replay, require_demonstrated
from vision_pwil.tasks.making import make_env, make_task, require_room
from vision_pwil.tasks.playback import film_run
from vision_pwil.tasks.settings import ImitationConfig
from vision_pwil.tasks.task import Task, own_settings
from vision_pwil.tasks.views import check_views
from vision_pwil.tcc.session import train as train_encoder
from vision_pwil.tcc.settings import TrainConfig as EncoderConfig
from vision_pwil.tcc.videos import require_videos
from vision_pwil.training.cloning import clone
from vision_pwil.training.evaluations import conclude
from vision_pwil.training.prefill import prefill
from vision_pwil.training.replay import Replay, require_memory
from vision_pwil.training.settings import FREE
from vision_pwil.training.trainer import Trainer

SHIPPED_ENCODER = ASSETS / "door-encoder.safetensors"


@dataclass(frozen=True)
class Outcome:
    """Where a training came to."""

    run: Path
    finished: bool
    """False: a signal asked it to stop, and the same call goes on."""
    last: Row | None = None
    """Its last evaluation."""
    best: Row | None = None
    """The evaluation with the highest return under the run's own reward."""
    video: Path | None = None
    """Of the policy, once it is finished, where frames are compared."""


def imitate(config: ImitationConfig) -> Outcome:
    """Train, or continue, one run."""
    kind = table.find(config.agent)
    _require_sense(config, kind)
    require_device(config.training.device)
    env = make_env(config)
    _require_dimensions("--dimensions", config.task.dimensions, env)
    _require_dimensions("--proprioception", config.task.proprioception, env)
    sees = Task(config.env, config.reward, config.task).observation(env).size(env.observation_size)
    require_memory(config.training.replay_capacity, sees, env.action_size)
    check_seeding(config.env, env)
    config = replace(config, task=replace(config.task, success=find_success(config.task, env)))
    path = config.run or default_run(config)
    shown = None if config.reward == OWN_REWARD else find_demonstrations(config, env)
    if shown and config.num_demos is not None:
        shown = choose(shown, config.num_demos, config.training.seed)
    if shown:
        require_room(config, shown, env.horizon)
    if config.training.demonstrated:
        require_demonstrated(config.task, shown, env)
    encoder = None
    if shown and config.task.compare == "frames":
        require_videos(shown)
        drawing = make_env(config, render_mode="rgb_array")
        check_views(shown, drawing, Task(config.env, config.reward, config.task).camera(drawing), path)
        encoder = find_encoder(config, shown, path)
    settings = json.loads(json.dumps(asdict(config), default=str))
    checksums = {"demonstrations": shown.checksum if shown else None, "encoder": encoder.checksum if encoder else None}
    free = (*FREE, "run", "demos", "encoder", "audit", "video")
    with Run(path, {**settings, "checksums": checksums}, free) as run:
        if encoder is not None and shown is not None and config.audit:
            check_reward(config, run, shown, encoder)
        kept = subsample(shown, config.training.seed, config.subsample) if shown else None
        task = make_task(config, kept, encoder)
        task.save(run.path)
        finished = _train(config, run, task, env, shown, kept)
        outcome = conclude(run, finished)
    last, best = outcome or (None, None)
    filmed = finished and config.video and config.task.compare == "frames"
    return Outcome(path, finished, last, best, film_run(path) if filmed else None)


def check_seeding(name: str, env: FlatEnv) -> None:
    """Say so where the environment's resets ignore their seed: such a run cannot be repeated."""
    if not np.array_equal(env.reset(0), env.reset(0)):
        print(f"{name} starts otherwise from the same seed: a run in it cannot be repeated exactly.", file=sys.stderr)


def find_success(config: TaskConfig, env: FlatEnv) -> str | None:
    """The entry of `info` that says the task is done: the one named, else `success` or `is_success` if there is one."""
    env.reset(0)
    _, _, _, _, info = env.step(np.zeros(env.action_size))
    if config.success is not None:
        if config.success not in info:
            raise InputError(
                f"The environment's info has no entry {config.success!r}, but {', '.join(sorted(info)) or 'none'}: "
                "name another with --success."
            )
        return config.success
    known = [name for name in ("success", "is_success") if name in info and config.ending != "none"]
    return known[0] if known else None


def default_run(config: ImitationConfig) -> Path:
    """A directory for runs of an environment and an agent."""
    preset = presets.find(config.env)
    if preset.env and config.agent == preset.agent and config.reward != OWN_REWARD:
        return Path("runs") / preset.name
    role = "expert" if config.reward == OWN_REWARD else config.agent
    return Path("runs") / f"{config.env.replace('/', '-').replace(':', '-')}-{role}"


def find_demonstrations(config: ImitationConfig, env: FlatEnv) -> Demonstrations:
    """The demonstrations to learn from, with frames where those are compared."""
    preset = presets.find(config.env)
    path = config.demos or ASSETS / f"{preset.name if preset.env else config.env}.demos"
    if config.demos is None and not path.exists():
        raise InputError(f"No demonstrations of {config.env} come with the package: name a file with --demos.")
    demonstrations = read(path, **asdict(config.reading))
    pixels = config.task.compare == "frames"
    if not (pixels and demonstrations.has("frames")):
        if preset.replay is not None and demonstrations.has("initial_state"):
            settings = config.task.view.applied(own_settings(env)) if pixels else None
            demonstrations = preset.replay(demonstrations, config.task.make_options, settings)
        elif pixels and demonstrations.has("initial_state"):
            drawing = make_env(config, render_mode="rgb_array")
            camera = Task(config.env, config.reward, config.task).camera(drawing)
            demonstrations = replayed(demonstrations, drawing, camera, find_success(config.task, drawing))
        elif pixels:
            raise InputError(
                f"{path} has no frames, and {config.env} cannot replay it to make them: give videos, or compare states "
                "and actions with --compare pairs."
            )
    if not pixels:
        needs_actions = config.task.compare == "pairs" or table.find(config.agent).needs_actions
        env.require(demonstrations, actions=needs_actions)
    return demonstrations


def find_encoder(config: ImitationConfig, demonstrations: Demonstrations, run: Path | None = None) -> Encoder:
    """The encoder named; else the package's own if it was made from these demonstrations; else trained in the run."""
    if config.encoder is not None:
        encoder = Encoder.load(config.encoder)
        trained_on, drawn = encoder.provenance.render_fingerprint, demonstrations.render_fingerprint
        if trained_on != drawn:
            raise InputError(
                f"The encoder {config.encoder} was trained on frames with render fingerprint {trained_on}, these have "
                f"{drawn}: its distances would mean nothing. Train it on frames drawn alike."
            )
        (height, width, _), frames = encoder.frame_shape, demonstrations.episodes[0].frames
        if frames is not None and frames.shape[1:] != encoder.frame_shape:
            raise InputError(
                f"The encoder {config.encoder} takes frames of {height}x{width} pixels, and those of "
                f"{demonstrations.source} have {frames.shape[1]}x{frames.shape[2]}: read the videos with "
                f"--size {height}, or train an encoder on frames of their size."
            )
        return encoder
    if not config.fresh_encoder:
        own = Encoder.load(SHIPPED_ENCODER)
        if own.provenance.demonstrations == demonstrations.identity:
            return own
    if run is None:
        raise InputError("No encoder comes with these demonstrations: name one with --encoder.")
    settings = EncoderConfig(demos=config.demos or Path(), out=run / "encoder", device=config.training.device)
    session = train_encoder(settings, demonstrations)
    if not session.finished:
        raise Interrupted("The encoder is saved; the same command goes on.")
    return Encoder.load(session.encoder_path)


def _require_sense(config: ImitationConfig, kind: table.AgentKind) -> None:
    if config.reward != OWN_REWARD:
        find_reward(config.reward)
    training = config.training
    shared = bool(config.prefill or training.demonstrated)
    ours = config.ablation != "none" or shared or training.n_step * training.action_repeat != 1
    if kind.needs_actions and ours:
        raise InputError(
            f"The baseline {config.agent} does not learn from PWIL's reward: leave --ablation, --prefill, "
            "--demonstrated, --n-step and --action-repeat at 1 or their defaults."
        )
    if config.task.targets and (shared or kind.needs_actions):
        raise InputError(
            "--action-rate and --action-smoothing make actions other than those recorded: leave --demonstrated and "
            "--prefill at 0, or give --action-smoothing 0 --action-targets."
        )
    if kind.needs_actions and config.task.compare == "frames":
        raise InputError(f"The baseline {config.agent} learns from states and actions: give --compare pairs.")


def _require_dimensions(option: str, dimensions: tuple[int, ...], env: FlatEnv) -> None:
    size = env.state_size
    if len(set(dimensions)) < len(dimensions) or not all(0 <= index < size for index in dimensions):
        raise InputError(
            f"{option} {' '.join(map(str, dimensions))} does not name dimensions of a state, each once: "
            f"give numbers from 0 to {size - 1}."
        )


def _train(
    config: ImitationConfig,
    run: Run,
    task: Task,
    env: FlatEnv,
    shown: Demonstrations | None,
    kept: Demonstrations | None,
) -> bool:
    """Make the agent, and train it."""
    training, kind = config.training, table.find(config.agent)
    size = task.observation(env).size(env.observation_size)
    expert = None
    if kind.needs_actions:
        assert shown is not None and kept is not None
        states, actions = (
            np.concatenate([np.asarray(getattr(episode, part)) for episode in kept.episodes])
            for part in ("states", "actions")
        )
        ends = sum(episode.absorbing for episode in shown.episodes)
        expert = blueprint.Expert(states, env.bounds.to_policy(actions), ends, config.subsample)
    plan = blueprint.Blueprint(config.settings, size, env.action_size, training.seed, training.device, expert)
    agent: Agent = kind.build(plan)
    common: dict[str, Any] = {"task": task, "agent": agent, "act": kind.act, "about": task.about(env)}
    if not kind.plays:
        assert expert is not None
        return clone(run, training, states=expert.states, actions=expert.actions, **common)
    replay = Replay(training.replay_capacity, size, env.action_size, training.seed)
    if config.prefill:
        if kept is None:
            raise InputError("--prefill fills the replay with demonstrations, and there are none: leave it at 0.")
        sums = {"alpha": config.task.alpha, "gamma": training.gamma}
        replay.add(prefill(kept, env.bounds, config.prefill, training.n_step, **sums))
    demonstrated = demonstrated_replay(task, training, kept, env, replay) if kept and training.demonstrated else None
    level = held_out_level(run.path)
    return Trainer(run, training, replay=replay, demonstrated=demonstrated, level=level, **common).train()
