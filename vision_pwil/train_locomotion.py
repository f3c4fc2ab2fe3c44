"""Imitate in any Gymnasium environment: `python -m vision_pwil.train_locomotion --env Hopper-v5 --num-demos 1`.

PWIL with D4PG, TD3 or SAC, its ablations, and the paper's baselines: behavioural cloning and DAC.
"""

from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Literal

import numpy as np
import tyro

from vision_pwil import sac
from vision_pwil.agents.protocol import Agent
from vision_pwil.agents import bc, d4pg, dac, td3
from vision_pwil.agents import table as agents
from vision_pwil.commands.evaluate import TASK
from vision_pwil.demonstrations import Demonstrations, choose, read, subsample
from vision_pwil.envs.flat import FlatEnv
from vision_pwil.system import choices, cli
from vision_pwil.system.errors import InputError
from vision_pwil.system.run import Run
from vision_pwil.tasks.locomotion_task import Ablation, Expert, LocomotionTaskFactory
from vision_pwil.training.evaluations import conclude
from vision_pwil.training.prefill import prefill
from vision_pwil.training.replay import Replay
from vision_pwil.training.trainer import FREE, Trainer, TrainingConfig

Settings = d4pg.D4PGConfig | td3.TD3Config | sac.SACConfig | bc.BCConfig | dac.DACConfig
ASSETS = Path(__file__).parent / "demonstrations" / "assets"


@dataclass(frozen=True)
class Choice:
    """The options that decide the defaults of others: name them, and --help shows those."""

    env: str = "Hopper-v5"
    """Id of a Gymnasium environment with Box spaces; "module:id" imports the module first."""
    agent: Literal["d4pg", "td3", "sac", "bc", "dac"] = "d4pg"
    """D4PG is the paper's (appendix A), TD3 and SAC its other agents; bc and dac are its baselines."""
    ablation: Ablation = "none"
    """PWIL-state, PWIL-L2, PWIL-nofill or PWIL-support (section "Ablation Study")."""


@dataclass(frozen=True)
class TrainLocomotion(Choice):
    """Imitate demonstrations in a Gymnasium environment."""

    num_demos: int = 1
    """Demonstrations to learn from, drawn by the seed (the paper: 1, 4 or 11)."""
    demos: str | None = None
    """Demonstrations of the environment, in any format that `python -m vision_pwil.demonstrations` reads; by default
    those that come with the package, if there are any of this environment."""
    run: str | None = None
    """Directory of the run, by default runs/ENV-AGENT; an interrupted run found there is continued."""
    subsample: int = 20
    """Keep one in so many steps of a demonstration, from a random offset (section "Implementation": 20, Reacher 1)."""
    prefill: int = 50_000
    """Expert transitions in the replay before training, see `vision_pwil.training.prefill` (appendix A: 50,000 for D4PG;
    appendix "Influence of the Direct RL Algorithm": none for SAC, and for TD3 1,000 on Reacher, Hopper, Walker2d).
    The ablation nofill sets 0 and plays 1,000 random steps first; a 0 of your own with D4PG wants --random-steps."""
    horizon: int | None = None
    """T, the longest episode; by default the environment's own limit."""
    alpha: float = 5.0
    """Largest reward of a step (section "Implementation")."""
    beta: float = 5.0
    """How fast the reward falls with the cost (section "Implementation")."""
    min_deviation: float = 0.0
    """Least standard deviation that a dimension of the points is divided by in the reward's distance. Not in the paper:
    where the expert holds a joint still (Ant-v5, to 0.001 rad), nothing else of a pose counts without it."""
    dimensions: tuple[int, ...] = ()
    """Dimensions of the state that the reward compares, counted from 0, beside the action; by default all, as in the
    paper. One demonstration shows one place of a target that moves: Reacher's fingertip from its target is 8 9."""
    training: TrainingConfig = field(default_factory=TrainingConfig)
    settings: tyro.conf.AvoidSubcommands[Settings] = field(default_factory=d4pg.D4PGConfig)


def defaults(choice: Choice) -> TrainLocomotion:
    """The paper's settings for an environment, agent and ablation."""
    name, agent = choice.env.rpartition(":")[2].partition("-")[0], choice.agent
    steps = 2_500_000 if name == "Humanoid" else 1_000_000
    settings: Settings
    training = TrainingConfig(steps=steps, update_interval=1.0, threads=2)
    filling = 0
    # Fujimoto et al. 2018, appendix D: longer random play where no episode ends early; DAC's code does the same.
    random_steps = 10_000 if name in ("HalfCheetah", "Ant") else 1_000
    if agent == "d4pg":
        # The authors' code adds its noise of 0.2 in the environment's units; Humanoid's actions end at 0.4.
        settings, filling = d4pg.D4PGConfig(sigma=0.5 if name == "Humanoid" else 0.2), 50_000
        training = replace(training, n_step=5, update_interval=4.0, random_steps=0)
    elif agent == "td3":
        settings, filling = td3.TD3Config(), 1_000 if name in ("Reacher", "Hopper", "Walker2d") else 0
        training = replace(training, random_steps=random_steps)
    elif agent == "sac":
        settings = sac.SACConfig()
    elif agent == "dac":
        settings = dac.DACConfig()
        training = replace(training, batch_size=100, random_steps=random_steps)
    else:
        settings = bc.BCConfig()
        training = replace(training, steps=100_000, random_steps=0, threads=1)
    if choice.ablation in ("state", "nofill"):
        filling = 0
    if agent == "d4pg" and not filling:
        training = replace(training, random_steps=1_000)  # as many as Acme waits for before it learns
    return TrainLocomotion(
        **asdict(choice),
        subsample=1 if name == "Reacher" else 20,
        prefill=filling,
        training=training,
        settings=settings,
    )


def find_demonstrations(config: TrainLocomotion, env: FlatEnv) -> Demonstrations:
    """Those named, or those that come with the package, if they are of this environment; as many as asked for."""
    path = Path(config.demos) if config.demos else ASSETS / f"{config.env}.demos"
    if config.demos is None and not path.exists():
        raise InputError(f"No demonstrations of {config.env} come with the package: name a file with --demos.")
    demonstrations = read(path)
    env.require(demonstrations, actions=config.ablation != "state")
    return choose(demonstrations, config.num_demos, config.training.seed)


def require_dimensions(dimensions: tuple[int, ...], env: FlatEnv) -> None:
    """Raise one clear sentence unless these are dimensions of the environment's states, each named once."""
    size = env.observation_size
    if len(set(dimensions)) < len(dimensions) or not all(0 <= index < size for index in dimensions):
        raise InputError(
            f"--dimensions {' '.join(map(str, dimensions))} does not name dimensions of a state, each once: "
            f"give numbers from 0 to {size - 1}."
        )


def main(config: TrainLocomotion) -> None:
    """Train, evaluate, and say where the outcome is."""
    if config.ablation in ("state", "nofill") and config.prefill:
        raise InputError(f"The ablation {config.ablation} does not fill the replay: leave --prefill at 0.")
    ours = config.ablation != "none" or config.prefill or config.training.n_step * config.training.action_repeat != 1
    if config.agent in ("bc", "dac") and ours:
        raise InputError(
            f"The baseline {config.agent} does not learn from PWIL's reward: leave --ablation, --prefill, --n-step and "
            "--action-repeat at their defaults."
        )
    if config.min_deviation and config.ablation == "l2":
        raise InputError("The ablation l2 divides by no deviation: leave --min-deviation at 0.")
    env = FlatEnv(config.env, config.horizon)
    require_dimensions(config.dimensions, env)
    chosen = find_demonstrations(config, env)
    kept = subsample(chosen, config.training.seed, config.subsample)
    states = np.concatenate([np.asarray(episode.states) for episode in kept.episodes])
    known = [episode.actions for episode in kept.episodes if episode.actions is not None]
    actions = np.concatenate(known) if len(known) == len(kept) else None
    factory = LocomotionTaskFactory(
        config.env,
        config.horizon,
        Expert(states, actions, config.ablation, config.alpha, config.beta, config.min_deviation, config.dimensions),
        absorbing_bit=config.agent == "dac",
    )
    settings = {**asdict(config), "checksum": chosen.checksum}
    with Run(config.run or default_run(config.env, config.agent), settings, free=(*FREE, "run", "demos")) as run:
        factory.save(run.path / TASK)
        about = about_policy(config.env, env.horizon)
        if isinstance(config.settings, bc.BCConfig):
            assert actions is not None
            pairs = states, env.bounds.to_policy(actions)
            finished = bc.clone(run, *pairs, factory, config.settings, config.training, about)
        else:
            agent, replay = _learner(config, env, states, actions, kept, ends=sum(e.absorbing for e in chosen.episodes))
            act = agents.ACTS[config.agent]
            finished = Trainer(run, agent, act, factory, replay, config.training, about).train()
        report(run, finished)


def _learner(
    config: TrainLocomotion,
    env: FlatEnv,
    states: np.ndarray,
    actions: np.ndarray | None,
    kept: Demonstrations,
    ends: int,
) -> tuple[Agent, Replay]:
    """A fresh agent, and its replay with what the expert puts in."""
    training, settings = config.training, config.settings
    assert not isinstance(settings, bc.BCConfig)
    agent: Agent
    size = env.observation_size
    if isinstance(settings, dac.DACConfig):
        assert actions is not None
        size += 1
        pairs = dac.ExpertPairs.of(states, actions, env.bounds, ends=ends, every=config.subsample)
        agent = dac.DAC(pairs, settings, training.seed)
    else:
        agent = agents.build(settings, size, env.action_size, training.seed)
    replay = Replay(training.replay_capacity, size, env.action_size, training.seed)
    if config.prefill:
        sums = {"alpha": config.alpha, "gamma": training.gamma}
        replay.add(prefill(kept, env.bounds, config.prefill, training.n_step, **sums))
    return agent, replay


def about_policy(env_id: str, horizon: int) -> dict[str, str | int]:
    """What a saved policy says of itself."""
    return {"task": "locomotion", "env": env_id, "horizon": horizon}


def default_run(env_id: str, name: str) -> str:
    """A directory for runs of an environment."""
    return f"runs/{env_id.replace('/', '-').replace(':', '-')}-{name}"


def report(run: Run, finished: bool) -> None:
    """Keep the outcome; say how it went, and where to look."""
    if outcome := conclude(run, finished):
        for name, row in zip(("last evaluation", "highest return"), outcome, strict=True):
            print(f"{name}:", ", ".join(f"{key} {_rounded(value)}" for key, value in row.items()))
    state = "The run is" if finished else "Stopped; the same command continues. The run is"
    print(
        f"{state} in {run.path}: `python -m vision_pwil.commands.evaluate {run.path}` plays it (the highest with --best)."
    )


def _rounded(value: float) -> str:
    return str(value) if isinstance(value, int) else f"{value:.4g}"


if __name__ == "__main__":
    cli.run(choices.command(main, Choice, defaults))
