"""What demonstrations hold, as a table."""

from vision_pwil.demonstrations.episode import Array, Demonstrations
from vision_pwil.system.table import table


def episodes_table(demonstrations: Demonstrations) -> str:
    """What each episode holds."""

    def shape(part: Array | None) -> str | None:
        return None if part is None else f"{'x'.join(map(str, part.shape[1:]))} {part.dtype}"

    header = ("episode", "steps", "states", "actions", "frames", "initial state", "ends absorbing")
    rows = [
        (
            number,
            len(episode),
            shape(episode.states),
            shape(episode.actions),
            shape(episode.frames),
            " ".join(sorted(episode.initial_state)) if episode.initial_state else None,
            "yes" if episode.absorbing else "no",
        )
        for number, episode in enumerate(demonstrations.episodes)
    ]
    return table(header, rows)
