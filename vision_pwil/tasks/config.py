"""What a task is made of: independent choices. They are settings only, so that a help is shown quickly."""

import ast
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from vision_pwil.envs.targets import Targets
from vision_pwil.system.errors import InputError
from vision_pwil.system.settings import Count, NotNegative, Positive, Settings, Whole

if TYPE_CHECKING:
    from vision_pwil.envs.renderer import RenderSettings

Compare = Literal["pairs", "states", "frames"]
Ending = Literal["none", "last", "shared"]
OWN_REWARD = "task"
"""Name of the reward that is the environment's own: an expert is trained with it."""


@dataclass(frozen=True)
class View(Settings):
    """Where the camera looks from; what is not given is as the environment's own `render()` has it."""

    view: str | None = None
    """One of the model's cameras, by its name."""
    lookat: tuple[float, float, float] | None = None
    """Point that the camera looks at, in metres."""
    distance: Positive | None = None
    """Metres from the camera to that point."""
    azimuth: float | None = None
    """Degrees about the vertical."""
    elevation: float | None = None
    """Degrees above the horizon, negative when looking down."""

    def applied(self, settings: "RenderSettings") -> "RenderSettings":
        """Settings of a camera with this view."""
        given = {name: value for name, value in vars(self).items() if value is not None}
        if self.view is not None:  # a camera of the model has a pose of its own
            settings = replace(settings, lookat=None, distance=None, azimuth=None, elevation=None)
            given["camera"] = given.pop("view")
        return replace(settings, **given)


@dataclass(frozen=True)
class TaskConfig(Settings):
    """What is compared, how an episode ends, what the policy sees, and the reward."""

    horizon: Count | None = None
    """T, the steps of the longest episode; by default the environment's own limit."""
    env_options: tuple[str, ...] = ()
    """Arguments for the environment's constructor, each as NAME=VALUE."""
    compare: Compare = "pairs"
    """What the reward compares: state-action pairs, states alone (PWIL-state), or frames through a learned encoder."""
    view: View = field(default_factory=View)
    ending: Ending = "none"
    """Which point absorbing steps are compared at, after an episode that finished the task: none are (locomotion), its
    own last point (appendix "Environment"), or one shared by all (DAC, Kostrikov et al. 2019)."""
    success: str | None = None
    """Entry of the environment's `info` that says the task is done; it ends the episode. By default, termination."""
    watch: tuple[str, ...] = ()
    """Other entries of `info` to report: the highest value in an episode."""
    alpha: Positive = 5.0
    """Largest reward of a step (section "Implementation": 5)."""
    beta: Positive = 5.0
    """How fast the reward falls with the cost (section "Implementation": 5; on embeddings 1)."""
    pace: NotNegative = 0.0
    """How much it counts when something is done, beside what: t/T times this is one more coordinate of the reward's
    metric. 0, the paper's, hardly sees speed and order. W1 is reported without it and, as paced_w1, with it."""
    standardized: bool = True
    """Divide each dimension of states and actions by its standard deviation over the demonstrations (off: PWIL-L2)."""
    min_std: NotNegative = 0.0
    """Minimum standard deviation that a dimension is divided by in the reward's distance. Not in the paper: where the
    expert holds a joint still (Ant-v5, to 0.001 rad), that joint outweighs the rest of the pose without it."""
    dimensions: tuple[Whole, ...] = ()
    """State dimensions the reward compares, counted from 0 (default: all). For targets that move from episode to
    episode, of which one demonstration shows one place: on Reacher, 8 9 is the fingertip relative to its target."""
    observe: Literal["state", "embedding"] = "state"
    """What the policy sees: the environment's state, or what a robot would see: the encoder's embedding of the present
    and of the previous decision's frame and its own joints (--proprioception), and nothing of the scene's state."""
    proprioception: tuple[Whole, ...] = ()
    """Dimensions of the state that are the robot's own, counted from 0, for --observe embedding."""
    time_feature: bool = False
    """Let the policy see t/T (Pardo et al. 2018, "Time limits in reinforcement learning"): the reward depends on what
    the episode has used up, which the state does not tell. Not in the paper."""
    targets: Targets = field(default_factory=Targets)
    point_interval: Count = 1
    """Steps for each point that the reward sees while training (evaluations see them all). Each carries the mass of the
    steps it stands for; of frames, most need not be drawn and encoded. The paper: 1."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.min_std and (not self.standardized or self.compare == "frames"):
            raise InputError("--min-std bounds what states are divided by, and here they are not: leave it at 0.")
        if self.dimensions and self.compare == "frames":
            raise InputError("--dimensions names dimensions of a state, and frames are compared: leave it out.")
        if self.observe == "embedding" and self.compare != "frames":
            raise InputError("--observe embedding takes the frames that the reward compares: give --compare frames.")
        self.make_options  # noqa: B018  (raises where they are not as they should be)

    @property
    def make_options(self) -> dict[str, Any]:
        """`env_options` as names and values: numbers and truth values where they read as such, else text."""
        return dict(map(_named_value, self.env_options))


_OURS = ("id", "env_id", "horizon", "render_mode", "max_episode_steps", "disable_env_checker")
"""Arguments of an environment's making that are not its constructor's own."""


def _named_value(option: str) -> tuple[str, Any]:
    name, equals, text = option.partition("=")
    if name in _OURS:
        raise InputError(f"--env-options cannot set {name}: it is decided here, the longest episode by --horizon.")
    if not name.isidentifier() or not equals:
        raise InputError(f"--env-options takes arguments such as frame_skip=5, not {option!r}.")
    try:
        return name, ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return name, text
