"""Does a learned metric rank behaviour? Asked before anyone spends hours of RL on it: `python -m vision_pwil.audit.audit`.

With atoms from the training demonstrations, the PWIL reward of behaviour whose worth is known: demonstrations that were
held out; random play; doing nothing; held-out demonstrations played backwards, or stopped part of the way, or with the
door held shut. A metric that does not pay the first best cannot teach the task, whatever its Kendall's tau.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from scipy.stats import spearmanr
from tqdm import tqdm

from vision_pwil.agents.noise import colored
from vision_pwil.commands.evaluate import load_policy
from vision_pwil.demonstrations import Demonstrations, read
from vision_pwil.door_env import ENV_ID, HORIZON, OPEN_ANGLE
from vision_pwil.encoder import Encoder
from vision_pwil.envs.open_loop import render_door, replay
from vision_pwil.envs.renderer import RenderSettings
from vision_pwil.rewards.reward import Rewarder
from vision_pwil.rewards.wasserstein import exact_w1
from vision_pwil.system import cli
from vision_pwil.system.errors import InputError
from vision_pwil.system.files import replacing, write_json
from vision_pwil.system.table import table
from vision_pwil.tasks.door_task import DoorTask, DoorTaskFactory, pixel_atoms
from vision_pwil.tcc.sampling import split
from vision_pwil.training.rollout import Choose

HELD_OUT, REVERSED, FROZEN = "held-out demonstrations", "reversed demonstrations", "frozen part of the way"
PANTOMIME, POLICY = "the hand alone, door shut", "policy"
FRACTIONS = tuple(k / 10 for k in range(1, 10))
SEPARATION, SPEARMAN = 1.5, 0.9
"""What a metric should reach: worst held-out return over best non-expert, and correlation of return with progress."""


@dataclass(frozen=True)
class Behaviour:
    """One episode of known worth, as points of the metric's space."""

    group: str
    points: np.ndarray
    absorbing: bool = True
    """The last point is held to the horizon."""
    demonstration: int = -1
    """Of a demonstration or a part of one: which."""
    fraction: float = 1.0
    """Of a part: how much."""
    expert: bool = False


@dataclass(frozen=True)
class Score:
    """What the metric says of one behaviour."""

    group: str
    imitation_return: float
    w1: float
    demonstration: int
    fraction: float
    expert: bool


@dataclass(frozen=True)
class Report:
    """The audit of one metric."""

    scores: list[Score]
    separation: float
    """Worst held-out demonstration over best non-expert, by imitation return. Non-experts get nowhere: random play,
    doing nothing, and demonstrations frozen at their first tenth."""
    over_reversed: float
    """Worst held-out over best reversed demonstration. A coupling hardly sees the order of frames, only which are
    visited and for how long, so this is at most about horizon over length of a demonstration."""
    over_pantomime: float | None
    """Worst held-out demonstration over best pantomime of one, where the environment is known: the hand moves as
    recorded, the door stays shut. What an agent can earn by posing; nearer to 1, the metric will be hacked."""
    spearman: float
    """Rank correlation of return with the fraction shown, the mean over held-out demonstrations."""
    suggested_beta: float
    """Beta at which the median step of a held-out demonstration earns half of the largest reward."""
    verdict: Literal["ranks well", "ranks weakly", "cannot rank"]

    @property
    def sentence(self) -> str:
        """The verdict in plain words."""
        figures = (
            f"separation {self.separation:.2f} (good: {SEPARATION}), Spearman {self.spearman:.2f} (good: {SPEARMAN})"
        )
        return {
            "ranks well": f"This metric ranks behaviour well and can be trained on: {figures}.",
            "ranks weakly": f"This metric ranks behaviour weakly; expect slow learning or a hacked reward: {figures}.",
            "cannot rank": f"This metric cannot rank behaviour; do not train on it: {figures}.",
        }[self.verdict]

    def groups(self) -> dict[str, list[Score]]:
        """Scores by group, in the order of appearance."""
        found: dict[str, list[Score]] = {}
        for score in self.scores:
            found.setdefault(score.group, []).append(score)
        return found


def parts(video: np.ndarray, number: int) -> Iterator[Behaviour]:
    """A held-out demonstration whole, backwards, and frozen at every tenth of its length."""
    yield Behaviour(HELD_OUT, video, demonstration=number, expert=True)
    yield Behaviour(REVERSED, video[::-1], demonstration=number)
    for fraction in FRACTIONS:
        yield Behaviour(FROZEN, video[: max(1, round(fraction * len(video)))], demonstration=number, fraction=fraction)


def idle_play(task: DoorTask, episodes: int, seed: int) -> Iterator[Behaviour]:
    """Random play with white and with smooth noise, and doing nothing, in the real environment."""
    size = (task.horizon, task.action_size)
    kinds: dict[str, Callable[[np.random.Generator], np.ndarray]] = {
        "random play, white noise": lambda rng: rng.uniform(-1, 1, size),
        "random play, smooth noise": lambda rng: np.clip(colored(*size, 2.0, rng), -1, 1),
        "doing nothing": lambda rng: np.zeros(size),
    }
    for group, noise in kinds.items():
        for index in range(episodes):
            played = task.rollout(_playing(noise(np.random.default_rng((seed, index)))), seed=seed + index)
            yield Behaviour(group, played.record["points"], bool(played.statistics["opened"]))


def _playing(actions: np.ndarray) -> Choose:
    return lambda _, step: actions[step]


def pantomime(task: DoorTask, demonstrations: Demonstrations, numbers: Sequence[int]) -> Iterator[Behaviour]:
    """The hand's motion of demonstrations of the door, the door not moving with it."""
    chosen = Demonstrations(tuple(demonstrations.episodes[i] for i in numbers), demonstrations.env_id)
    for number, played, episode in zip(numbers, replay(chosen, task.settings.open_angle), chosen.episodes, strict=True):
        qpos = played.qpos.copy()
        qpos[:, task.env.hinge] = 0.0
        points = task.embed(qpos, (episode.initial_state or {})["door_body_pos"])
        yield Behaviour(PANTOMIME, points, demonstration=number)


def policy_play(task: DoorTask, policies: Sequence[Path], episodes: int, seed: int) -> Iterator[Behaviour]:
    """What given policies do; how good they are is not known, so they do not enter the verdict."""
    for path in policies:
        for index in range(episodes):
            played = task.rollout(load_policy(path), seed=seed + index)
            yield Behaviour(f"{POLICY} {path.name}", played.record["points"], bool(played.statistics["opened"]))


def audit(behaviours: Sequence[Behaviour], rewarder: Rewarder, show_progress: bool = True) -> Report:
    """Score every behaviour against the rewarder's atoms and judge the metric by what is known of them."""
    scores, held_out_costs = [], []
    hidden = None if show_progress else True  # None: only a terminal shows it
    for behaviour in tqdm(behaviours, desc="auditing", unit="episode", disable=hidden, leave=False):
        costs, rewards = rewarder.episode(behaviour.points, absorbing=behaviour.absorbing)
        masses = np.ones(len(behaviour.points))
        masses[-1] += len(costs) - len(masses)
        w1 = exact_w1(rewarder.metric(behaviour.points), rewarder.coupling.atoms, masses, rewarder.coupling.weights)
        scores.append(
            Score(
                behaviour.group,
                float(rewards.sum()),
                w1,
                behaviour.demonstration,
                behaviour.fraction,
                behaviour.expert,
            )
        )
        if behaviour.expert:
            held_out_costs.append(costs[: len(behaviour.points)])
    return judge(scores, float(np.median(np.concatenate(held_out_costs))) * rewarder.scale)


def judge(scores: list[Score], median_cost: float) -> Report:
    """The figures and the verdict; `median_cost` is scale times the median greedy cost of held-out steps."""
    experts = [score.imitation_return for score in scores if score.expert]
    backwards = [score.imitation_return for score in scores if score.group == REVERSED]
    posing = [score.imitation_return for score in scores if score.group == PANTOMIME]
    idle = [score.imitation_return for score in scores if not score.expert and _gets_nowhere(score)]
    separation, over_reversed = min(experts) / max(idle), min(experts) / max(backwards)
    correlations = []
    for number in {score.demonstration for score in scores if score.group == FROZEN}:
        shown = [s for s in scores if s.demonstration == number and (s.group == FROZEN or s.expert)]
        correlations.append(spearmanr([s.fraction for s in shown], [s.imitation_return for s in shown]).statistic)
    spearman = float(np.mean(np.nan_to_num(correlations)))
    verdict: Literal["ranks well", "ranks weakly", "cannot rank"] = "ranks weakly"
    if separation >= SEPARATION and spearman >= SPEARMAN:
        verdict = "ranks well"
    elif separation <= 1 or spearman <= 0:
        verdict = "cannot rank"
    over_pantomime = min(experts) / max(posing) if posing else None
    beta = float(np.log(2) / max(median_cost, 1e-12))
    return Report(scores, separation, over_reversed, over_pantomime, spearman, beta, verdict)


def _gets_nowhere(score: Score) -> bool:
    if score.group == FROZEN:
        return score.fraction <= FRACTIONS[0]
    return score.group not in (REVERSED, PANTOMIME) and not score.group.startswith(POLICY)


def audit_encoder(
    encoder: Encoder,
    encoder_path: str,
    demonstrations: Demonstrations,
    *,
    horizon: int = HORIZON,
    alpha: float = 5.0,
    beta: float = 1.0,
    episodes: int = 5,
    seed: int = 0,
    open_angle: float = OPEN_ANGLE,
    policies: Sequence[Path] = (),
) -> Report:
    """Audit an encoder on demonstrations with frames; those of the door are compared with real idle play too."""
    train, held_out = held_out_split(encoder, demonstrations, seed)
    chosen = Demonstrations(tuple(demonstrations.episodes[i] for i in train), demonstrations.env_id)
    atoms = pixel_atoms(chosen, encoder, horizon)
    rewarder = Rewarder.for_embeddings(atoms.points, horizon, weights=atoms.weights, alpha=alpha, beta=beta)
    behaviours: list[Behaviour] = []
    for number in held_out:
        frames = demonstrations.episodes[number].frames
        assert frames is not None  # pixel_atoms checked
        behaviours += parts(encoder.embed(frames), number)
    if demonstrations.env_id == ENV_ID:
        task = DoorTaskFactory(atoms, "pixels", encoder_path, horizon, open_angle, alpha, beta, False).build()
        behaviours += pantomime(task, demonstrations, held_out)
        behaviours += tqdm(idle_play(task, episodes, seed), desc="idle play", total=3 * episodes, leave=False)
        behaviours += policy_play(task, policies, episodes, seed)
    return audit(behaviours, rewarder)


def held_out_split(encoder: Encoder, demonstrations: Demonstrations, seed: int) -> tuple[list[int], list[int]]:
    """Episodes for the atoms, and held-out ones: the encoder's own validation set where it knows them."""
    if encoder.provenance.demonstrations == demonstrations.checksum and encoder.provenance.validation:
        held_out = list(encoder.provenance.validation)
        return sorted(set(range(len(demonstrations))) - set(held_out)), held_out
    return split(len(demonstrations), max(2, len(demonstrations) // 5), 0, seed)


def report_table(report: Report) -> str:
    """Imitation return and exact W1 of each group, lowest to highest."""
    rows = []
    for group, scores in report.groups().items():
        returns, w1 = [s.imitation_return for s in scores], [s.w1 for s in scores]
        rows.append(
            (group, len(scores), *(f"{f(returns):.0f}" for f in (np.min, np.mean, np.max)), f"{np.mean(w1):.3f}")
        )
    return table(("behaviour", "episodes", "return, lowest", "mean", "highest", "W1, mean"), rows)


def draw(report: Report, path: Path) -> None:
    """One picture: returns and W1 of each group, and return against the fraction of a demonstration shown."""
    from matplotlib.figure import Figure

    groups = report.groups()
    figure = Figure(figsize=(13, 4), layout="constrained")
    returns, distances, progress = figure.subplots(1, 3)
    for row, scores in enumerate(groups.values()):
        colour = "tab:green" if scores[0].expert else "tab:gray"
        for axes, values in ((returns, [s.imitation_return for s in scores]), (distances, [s.w1 for s in scores])):
            axes.plot(values, [row] * len(values), "o", color=colour, alpha=0.5)
    returns.set(yticks=range(len(groups)), yticklabels=list(groups), xlabel="imitation return", title=report.verdict)
    distances.set(yticks=range(len(groups)), yticklabels=[], xlabel="exact W1 to the training demonstrations")
    for axes in (returns, distances):
        axes.invert_yaxis()
        axes.grid(axis="x", alpha=0.3)
    for number in sorted({s.demonstration for s in report.scores if s.group == FROZEN}):
        shown = sorted((s.fraction, s.imitation_return) for s in report.scores if _shows_progress(s, number))
        progress.plot(*zip(*shown, strict=True), "o-", markersize=3, label=f"demonstration {number}")
    progress.set(
        xlabel="fraction shown before freezing", ylabel="imitation return", title=f"Spearman {report.spearman:.2f}"
    )
    progress.legend(fontsize="small")
    with replacing(path) as temporary:
        figure.savefig(temporary, dpi=110)


def _shows_progress(score: Score, number: int) -> bool:
    return score.demonstration == number and (score.group == FROZEN or score.expert)


@dataclass(frozen=True)
class Audit:
    """Does this encoder's metric rank behaviour? Prints a table and a verdict, and writes a picture."""

    encoder: Path
    """Encoder file (`python -m vision_pwil.tcc.train` makes one)."""
    demos: Path
    """Demonstrations with frames, or of the door (they are rendered)."""
    out: Path = Path("runs/audit")
    """Where audit.json and audit.png go."""
    horizon: int = HORIZON
    """Steps in an episode."""
    beta: float = 1.0
    """How fast the reward falls with the cost (paper, section "Door Opening Task": 1)."""
    episodes: int = 5
    """Episodes of each kind of idle play, and of each policy."""
    policies: tuple[Path, ...] = ()
    """Policies of the door to play beside them: directories of runs (their latest), or files of policies."""
    seed: int = 0
    """Of the play, and of the split for demonstrations that the encoder was not trained on."""


def main(config: Audit) -> None:
    """Audit, print, and write."""
    encoder, demonstrations = Encoder.load(config.encoder), read(config.demos)
    if demonstrations.env_id == ENV_ID:
        RenderSettings().require_match(encoder.provenance.render_fingerprint, f"the encoder {config.encoder}")
        if any(episode.frames is None for episode in demonstrations.episodes):
            demonstrations = render_door(demonstrations)
    if len(demonstrations) < 4:
        raise InputError(
            f"An audit needs 4 demonstrations or more, and there are {len(demonstrations)} in {config.demos}."
        )
    report = audit_encoder(
        encoder,
        str(config.encoder),
        demonstrations,
        horizon=config.horizon,
        beta=config.beta,
        episodes=config.episodes,
        seed=config.seed,
        policies=config.policies,
    )
    print(report_table(report))
    print(f"suggested beta: {report.suggested_beta:.3g}; over reversed demonstrations: {report.over_reversed:.2f}")
    if report.over_pantomime:
        print(f"over the hand alone, the door shut: {report.over_pantomime:.2f}")
    print(report.sentence)
    write_json(config.out / "audit.json", asdict(report))
    draw(report, config.out / "audit.png")
    print(f"Written to {config.out}/audit.json and {config.out}/audit.png")


if __name__ == "__main__":
    cli.run(main)
