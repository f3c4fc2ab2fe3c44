"""The settings of the training loop."""

from dataclasses import dataclass

from vision_pwil.system.errors import InputError
from vision_pwil.system.settings import Count, NotNegative, Positive, Settings, Share, Whole


@dataclass(frozen=True)
class TrainingConfig(Settings):
    """How much experience, how it is used, and how often it is looked at."""

    steps: Count = 500_000
    """Environment steps to train for; more on a later call continue the run (the paper: 1.5M for the door)."""
    seed: Whole = 0
    """Decides everything random in the run."""
    gamma: Share = 0.99
    """Discount factor (the paper's appendix A)."""
    n_step: Count = 1
    """Decisions in a return (SAC: 1; the paper's D4PG, appendix A: 5)."""
    action_repeat: Count = 1
    """Steps for which an action is held; the learner sees the steps at which a new one is chosen. Holding it explores
    further and shortens the horizon to learn over (Mnih et al. 2015; Yarats et al. 2022). Not in the paper."""
    batch_size: Count = 256
    """Transitions in an update (the paper's grid: 64, 128, 256)."""
    update_interval: Positive = 4.0
    """Environment steps for each update (the paper's grid: 1, 4, 8)."""
    random_steps: Whole = 10_000
    """Steps of uniformly random actions before learning starts (Haarnoja et al.'s code: 10,000)."""
    noise_exponent: float = 0.0
    """Colour of the exploration noise: 0 white, 1 pink (Eberhard et al. 2023)."""
    pace_after: Share = 0.0
    """First what, then how: let pace (--pace) count only once this share of the last 20 training episodes finished the
    task, little by little (`vision_pwil.training.pacing`). 0: from the start. Not in the paper."""
    demonstrated: Share = 0.0
    """Share of each batch drawn from the demonstrations' own transitions, where they hold states and actions (0.5: Ball
    et al. 2023, "RLPD"). Not in the paper, which fills the replay with them (--prefill)."""
    elite: Share = 0.0
    """Share of each batch drawn from the agent's own best episodes so far, of those that finished the task (Oh et al.
    2018, "Self-imitation learning"). Not in the paper."""
    elite_episodes: Count = 50
    """How many of its best episodes."""
    replay_capacity: Count = 1_000_000
    """Transitions kept (the paper's appendix A)."""
    device: str = "cpu"
    """Where the learner computes, as torch names it: cpu, cuda, cuda:1; episodes are played on the CPU."""
    threads: Count = 1
    """Of the learner; the episodes are played in a process beside it. The same number repeats a run to the last bit."""
    steady_episodes: Count = 1
    """Episodes over which the policy that evaluations play, and the run keeps, is averaged; 1: it is the latest, as in
    the paper."""
    evaluation_interval: Count = 10_000
    """Environment steps between evaluations (the paper, "Implementation")."""
    evaluation_episodes: Count = 10
    """Episodes in an evaluation (the paper, "Implementation")."""
    checkpoint_seconds: NotNegative = 60.0
    """Time between checkpoints; has no influence on what is learned."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.demonstrated and not 0 < self.shown < self.batch_size:
            raise InputError(
                f"--demonstrated {self.demonstrated:g} leaves a batch of {self.batch_size} without transitions of the "
                "demonstrations or of the agent: choose a share between, such as 0.5."
            )
        if self.elite and not 0 < self.repeated < self.batch_size - self.shown:
            raise InputError(
                f"--elite {self.elite:g} leaves a batch of {self.batch_size} without transitions of the best episodes "
                "or of the others: choose a share between, such as 0.5."
            )

    @property
    def shown(self) -> int:
        """Demonstrated transitions in a batch."""
        return round(self.demonstrated * self.batch_size)

    @property
    def repeated(self) -> int:
        """Transitions of the agent's best episodes in a batch."""
        return round(self.elite * self.batch_size)


FREE = ("training.steps", "training.checkpoint_seconds")
"""Settings that may change when a run is continued."""
