"""The audit of a task: what its reward, as a training would use it, says of behaviour whose worth is known."""

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np

from vision_pwil.demonstrations import Demonstrations, subsample
from vision_pwil.encoder import Encoder
from vision_pwil.envs.control import Choose
from vision_pwil.system.errors import InputError
from vision_pwil.system.files import parsing, read_json, write_json
from vision_pwil.system.run import Run
from vision_pwil.system.settings import restore
from vision_pwil.tasks import presets
from vision_pwil.tasks.atoms import points_of, weighted
from vision_pwil.tasks.comparison import Comparison
from vision_pwil.tasks.making import finishes, make_task
from vision_pwil.tasks.settings import ImitationConfig
from vision_pwil.tasks.stage import TaskStage
from vision_pwil.tcc.sampling import split
from vision_pwil.verdict import behaviour
from vision_pwil.verdict.audit import AuditReport, BehaviourScore, audit, audit_table, draw

AUDIT = "audit.json"


def check_reward(config: ImitationConfig, run: Run, demonstrations: Demonstrations, encoder: Encoder) -> None:
    """Audit the reward once, and stop where it could not teach the task."""
    path = run.path / AUDIT
    if not path.exists():
        report = audit_task(config, demonstrations, encoder)
        print(audit_table(report), report.sentence, sep="\n")
        write_audit(report, run.path)
    if read_audit(run.path).verdict == "cannot rank":
        raise InputError(f"The reward cannot rank behaviour (see {path}): train another encoder, or give --no-audit.")


def held_out_level(folder: Path) -> dict[str, float]:
    """What held-out demonstrations have, by the audit in a run directory: `return` and `w1`; empty without an audit."""
    if not (folder / AUDIT).exists():
        return {}
    scores = [score for score in read_audit(folder).scores if score.expert]
    means = {"return": np.mean([s.imitation_return for s in scores]), "w1": np.mean([s.w1 for s in scores])}
    return {name: float(mean) for name, mean in means.items()}


def read_audit(folder: Path) -> AuditReport:
    """The audit that a folder holds."""
    with parsing(folder / AUDIT, "audit"):
        content = read_json(folder / AUDIT)
        report = AuditReport(**{**content, "scores": [restore(BehaviourScore, score) for score in content["scores"]]})
        report.sentence  # noqa: B018  (raises where the file is not as it should be)
        if not any(score.expert for score in report.scores):
            raise InputError("it knows of no held-out demonstration: make it again.")
        return report


def write_audit(report: AuditReport, folder: Path) -> None:
    """Keep an audit as JSON and as a picture."""
    draw(report, folder / "audit.png")
    write_json(folder / AUDIT, asdict(report))


def audit_task(
    config: ImitationConfig,
    demonstrations: Demonstrations,
    encoder: Encoder | None,
    *,
    episodes: int = 5,
    seed: int = 0,
    policies: Sequence[tuple[str, Choose]] = (),
) -> AuditReport:
    """Audit the very reward that a training with these settings would use, its atoms from part of the demonstrations.

    Idle play, and `policies` (by name, acting in [-1, 1]), are episodes of the environment.
    """
    shown, held_out, others = hold_out(demonstrations, encoder, config.num_demos, seed)
    stage = TaskStage(make_task(config, subsample(shown, seed, config.subsample), encoder))
    assert stage.comparison is not None
    behaviours = _parts(held_out, others, stage.comparison, encoder)
    preset = presets.find(config.env)
    if encoder is not None and preset.pantomime is not None and others.has("initial_state"):
        posing = preset.pantomime(others, config.task.make_options, stage.task.render_settings(stage.env))
        behaviours += [
            behaviour.unfinished(behaviour.PANTOMIME, encoder.embed(frames), number, stage.horizon)
            for number, frames in zip(held_out, posing, strict=True)
        ]
    if encoder is None and shown.has("actions"):
        actions = stage.env.bounds.to_policy(np.asarray(shown.episodes[0].actions))
        behaviours += behaviour.open_loop_play(stage, actions, episodes, seed)
    behaviours += behaviour.idle_play(stage, episodes, seed)
    behaviours += behaviour.policy_play(stage, policies, episodes, seed)
    return audit(behaviours, stage.comparison)


def audit_videos(
    config: ImitationConfig, demonstrations: Demonstrations, encoder: Encoder, *, seed: int = 0
) -> AuditReport:
    """The same for videos alone, where there is no environment to play in; the longest one sets the horizon."""
    shown, held_out, others = hold_out(demonstrations, encoder, config.num_demos, seed)
    horizon = config.task.horizon or max(map(len, demonstrations.episodes))
    points = points_of(shown, "frames", encoder)
    # The longest video has no step to spare, so the shared end may have no mass: each then ends at its own last frame.
    ending = config.task.ending if min(map(len, points)) < horizon else "last"
    atoms = weighted(points, finishes(shown), horizon, ending, timed=config.task.pace > 0)
    comparison = Comparison(config.reward, replace(config.task, ending=ending), atoms, horizon)
    return audit(_parts(held_out, others, comparison, encoder), comparison)


def _parts(
    numbers: Sequence[int], episodes: Demonstrations, comparison: Comparison, encoder: Encoder | None
) -> list[behaviour.Behaviour]:
    found: list[behaviour.Behaviour] = []
    points = points_of(episodes, comparison.config.compare, encoder)
    for number, path, finished in zip(numbers, points, finishes(episodes), strict=True):
        steps = comparison.horizon if comparison.absorbing else len(path)
        found += behaviour.parts(path, number, steps=steps, absorbed=finished and comparison.absorbing)
    return found


def hold_out(
    demonstrations: Demonstrations, encoder: Encoder | None, num_demos: int | None = None, seed: int = 0
) -> tuple[Demonstrations, list[int], Demonstrations]:
    """Episodes for the atoms, and held-out ones with their numbers: the encoder's own validation set where it knows
    them; all that a training with `num_demos` would not show; else one in five."""
    if len(demonstrations) < 4:
        raise InputError(f"Holding some out needs 4 demonstrations or more, and there are {len(demonstrations)}.")
    every = range(len(demonstrations))
    if encoder is not None and encoder.provenance.demonstrations == demonstrations.identity:
        held_out = set(encoder.provenance.validation)
    elif num_demos is not None and num_demos < len(demonstrations):
        held_out = set(every) - set(np.random.default_rng(seed).choice(len(every), num_demos, replace=False))
    else:
        held_out = set(split(len(demonstrations), None, 0, seed)[1])
    shown, others = (
        replace(demonstrations, episodes=tuple(demonstrations.episodes[i] for i in every if (i in held_out) == out))
        for out in (False, True)
    )
    return shown, sorted(held_out), others
