"""Does a reward rank behaviour? Asked before anyone spends hours of RL on it: `vision-pwil audit`.

With --env it audits the very reward that `vision-pwil train` would use, and plays in the environment; without, it takes
videos alone. Prints a table and a verdict, and writes a picture.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from vision_pwil.commands.train import configured
from vision_pwil.demonstrations.options import Options
from vision_pwil.system import cli
from vision_pwil.system.settings import Count, Settings, Whole
from vision_pwil.tasks.config import TaskConfig
from vision_pwil.tasks.settings import Choice, ImitationConfig


@dataclass(frozen=True)
class Audit(Settings):
    """Does this reward rank behaviour?"""

    env: str = ""
    """Environment to play in, as in `vision-pwil train`; none: videos alone."""
    demos: Path | None = None
    """Demonstrations, 4 or more; by default those that come with the package, if there are any of the environment."""
    encoder: Path | None = None
    """Encoder file (`vision-pwil encoder train` makes one), where frames are compared."""
    reward: str = "pwil"
    """The reward, as in `vision-pwil train`."""
    num_demos: Count | None = None
    """Demonstrations that the reward gets to see; the others are held out. By default four in five."""
    subsample: Count = 1
    """Keep one in so many steps of those."""
    reading: Options = field(default_factory=Options)
    out: Path = Path("runs/audit")
    """Where audit.json and audit.png go."""
    episodes: Count = 5
    """Episodes of each kind of idle play, and of each policy."""
    policies: tuple[Path, ...] = ()
    """Policies to play beside them: directories of runs (their latest), or files of policies."""
    seed: Whole = 0
    """Of the play, and of the split where the encoder does not say which demonstrations it was not trained on."""
    task: TaskConfig = field(default_factory=TaskConfig)


def main(args: Sequence[str], prog: str = "vision-pwil audit") -> None:
    """The command, with the defaults of the environment's preset."""
    usual = configured(args, Choice(env="", agent=""))
    default = Audit(env=usual.env, num_demos=usual.num_demos, subsample=usual.subsample, task=usual.task)
    cli.run(cli.starting_from(audit, default), args=args, prog=prog, description=__doc__)


def audit(config: Audit) -> None:
    """Audit, print, and write."""
    from vision_pwil.tasks.auditing import write_audit  # imports slowly, and --help needs none of it
    from vision_pwil.tasks.library import audit_reward
    from vision_pwil.verdict.audit import audit_table

    names = ("env", "demos", "encoder", "reward", "num_demos", "subsample", "reading", "task")
    settings = ImitationConfig(**{name: getattr(config, name) for name in names})
    report = audit_reward(settings, episodes=config.episodes, seed=config.seed, policies=config.policies)
    print(audit_table(report))
    print(f"suggested beta: {report.suggested_beta:.3g}; over reversed demonstrations: {report.over_reversed:.2f}")
    if report.over_pantomime:
        print(f"over pantomime, the motion without its effect: {report.over_pantomime:.2f}")
    print(report.sentence)
    write_audit(report, config.out)
    print(f"Written to {config.out}/audit.json and {config.out}/audit.png")
