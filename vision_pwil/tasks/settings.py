"""The settings of a whole training: which demonstrations, which task, which agent, how long."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from vision_pwil.demonstrations.options import Options
from vision_pwil.sac import SACConfig
from vision_pwil.system.errors import InputError
from vision_pwil.system.settings import Count, Settings, Whole
from vision_pwil.tasks.config import TaskConfig
from vision_pwil.training.settings import TrainingConfig

Ablation = Literal["none", "state", "l2", "nofill", "support"]


@dataclass(frozen=True)
class Choice(Settings):
    """The options that decide the defaults of the others: name them, and --help shows those."""

    env: str
    """Id of a Gymnasium environment; "module:id" imports the module first."""
    agent: str = "sac"
    """The learner: sac (the paper's on pixels), d4pg (the paper's in locomotion), td3; or a baseline, bc or dac."""
    recipe: Literal["default", "paper"] = "default"
    """Where the settings start from: those measured to learn faster, or the paper's. Each may still be changed."""
    reward: str = "pwil"
    """The reward: pwil (greedy coupling), support (PWIL-support), transport (exact optimal transport of the whole
    episode), sinkhorn (the same, regularised), or task (the environment's own: trains an expert)."""
    ablation: Ablation = "none"
    """PWIL-state, PWIL-L2, PWIL-nofill or PWIL-support (section "Ablation Study")."""
    demos: Path | None = None
    """Demonstrations: any file or folder that `vision-pwil demonstrations inspect` reads, videos among them; by default
    those that come with the package, if there are any of this environment."""


@dataclass(frozen=True)
class ImitationConfig(Choice):
    """Imitate demonstrations in an environment."""

    num_demos: Count | None = None
    """Demonstrations to learn from, drawn by the seed (the paper's locomotion: 1, 4 or 11); by default all."""
    subsample: Count = 1
    """Keep one in so many steps of a demonstration, from a random offset (section "Implementation": 20, Reacher 1)."""
    reading: Options = field(default_factory=Options)
    run: Path | None = None
    """Directory of the run, by default runs/ENV-AGENT; an interrupted run found there is continued."""
    encoder: Path | None = None
    """Encoder file, where frames are compared; by default one that comes with these demonstrations, else one is
    trained in the run."""
    fresh_encoder: bool = False
    """Train an encoder in the run even if one comes with the demonstrations."""
    audit: bool = True
    """Where frames are compared, audit the reward first, and refuse to train on one that cannot rank behaviour."""
    video: bool = True
    """Where frames are compared, film the final policy in large frames."""
    prefill: Whole = 0
    """Expert transitions in the replay before training, see `vision_pwil.training.prefill` (appendix A: 50,000 for
    D4PG; appendix "Influence of the Direct RL Algorithm": none for SAC; for TD3 1,000 on Reacher, Hopper, Walker2d).
    The ablation nofill sets 0 and plays 1,000 random steps first; if you set 0 with D4PG, give --random-steps too."""
    task: TaskConfig = field(default_factory=TaskConfig)
    training: TrainingConfig = field(default_factory=TrainingConfig)
    settings: Any = field(default_factory=SACConfig)
    """The agent's own."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.ablation in ("state", "nofill") and self.prefill:
            raise InputError(f"The ablation {self.ablation} does not fill the replay: leave --prefill at 0.")
        if self.subsample > 1 and self.training.demonstrated:
            raise InputError("--demonstrated takes whole demonstrations: leave --subsample at 1.")
        if self.subsample > 1 and (self.task.ending != "none" or self.task.pace):
            raise InputError(
                "Subsampled demonstrations have no absorbing end and no times: leave --subsample at 1, or give "
                "--ending none and --pace 0."
            )
        if self.training.pace_after and (not self.task.pace or self.task.ending == "none"):
            raise InputError(
                "--pace-after says when pace begins to count, once episodes finish the task: give --pace and an "
                "--ending other than none, or leave it at 0."
            )
        if self.training.elite and self.task.ending == "none":
            raise InputError("--elite repeats episodes that finished the task: give an --ending other than none.")
        if self.env and self.reading.fit != "crop" and self.task.compare == "frames":
            raise InputError(
                f"The camera sees the middle of the environment's picture, so of videos the middle is taken, too, and "
                f"--fit {self.reading.fit} would show something else: leave it out, or cut the videos beforehand."
            )
