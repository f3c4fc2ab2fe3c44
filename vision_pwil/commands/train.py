"""Learn a policy from demonstrations: `vision-pwil train --env ID --demos PATH`.

Takes videos, or recorded states and actions. From videos it trains the encoder or takes a given one, audits the reward,
trains the agent on the pixel reward, evaluates it and films it. Everything goes to one run directory; the same command
continues an interrupted run.
"""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import tyro

from vision_pwil.system import cli
from vision_pwil.system.errors import InputError, Interrupted
from vision_pwil.system.run import Row, board
from vision_pwil.tasks import presets
from vision_pwil.tasks.preset import Preset
from vision_pwil.tasks.settings import Choice, ImitationConfig

if TYPE_CHECKING:
    from vision_pwil.tasks.imitation import Outcome


def main(args: Sequence[str], prog: str = "vision-pwil train") -> None:
    """The command, with the preset that suits the environment."""
    _run(args, prog, Choice(env=tyro.MISSING, agent=""), None, __doc__)


def with_preset(args: Sequence[str], prog: str, preset: Preset, env: str, about: str | None = __doc__) -> None:
    """The command with one preset, for its environment unless another is named."""
    _run(args, prog, Choice(env=env, agent=preset.agent), preset, about)


def _run(args: Sequence[str], prog: str, choice: Choice, preset: Preset | None, about: str | None) -> None:
    start = configured(args, choice, preset)
    command = partial(train, enough=start.training.steps)
    cli.run(cli.starting_from(command, start), args=args, prog=prog, description=about)


def configured(args: Sequence[str], choice: Choice, preset: Preset | None = None) -> ImitationConfig:
    """The defaults that belong to a command line's choice of environment, agent, reward and recipe."""
    chosen = cli.peek(choice, args)
    if not isinstance(chosen.env, str):  # none was named: the whole command line will say so
        return replace(presets.defaults(Choice("", "sac")), env=tyro.MISSING)
    try:
        return presets.defaults(chosen, preset)
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        raise SystemExit(2) from None


def train(config: ImitationConfig, enough: int) -> None:
    """Imitate demonstrations in an environment; with the settings that it started from, so many steps are `enough`."""
    from vision_pwil.tasks.imitation import imitate  # imports slowly, and --help needs none of it

    outcome = imitate(config)
    if outcome.video:
        print(f"Video: {outcome.video}")
    if not outcome.finished:
        raise Interrupted(describe(outcome, config, enough))
    print(describe(outcome, config, enough))


def describe(outcome: "Outcome", config: ImitationConfig, enough: int) -> str:
    """How a training went, and where to look."""
    from vision_pwil.tasks.auditing import held_out_level

    lines = ["Finished." if outcome.finished else "Stopped; the same command goes on."]
    if outcome.last and outcome.best:
        level = held_out_level(outcome.run)
        lines.append(f"At step {outcome.last['step']:.0f}: {figures(outcome.last, config.task.success, level)}.")
        lines.append(
            f"The highest return, {outcome.best['return']:.4g}, was at step {outcome.best['step']:.0f}; "
            f"`vision-pwil evaluate {outcome.run} --best` plays that policy."
        )
        learned = outcome.last.get(config.task.success or "", 0.0) > 0.5
        if outcome.finished and config.training.steps < enough / 10 and not learned:
            lines.append(
                f"{config.training.steps:,} steps are too few to learn much: about {enough:,} are enough. The same "
                f"command with --steps {enough} goes on from here."
            )
    lines.append(f"The run is in {outcome.run}; see it with: {board(outcome.run)}")
    return "\n".join(lines)


def figures(row: Row, success: str | None, level: Mapping[str, float]) -> str:
    """An evaluation in words, beside what a held-out demonstration has where that is known."""
    names = {"return": "return", "task_return": "task return", "w1": "W1"}
    parts = [
        f"{label} {row[name]:.3g}" + (f" (a held-out demonstration has {level[name]:.3g})" if name in level else "")
        for name, label in names.items()
        if name in row
    ]
    rates = [name for name in dict.fromkeys((success, "success")) if name in row]
    return ", ".join([*(f"{name} in {row[name]:.0%} of episodes" for name in rates), *parts])
