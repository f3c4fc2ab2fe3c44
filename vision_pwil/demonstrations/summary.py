"""What demonstrations hold, in sentences and as a table."""

from collections import Counter

from vision_pwil.demonstrations.episode import Array, Demonstrations
from vision_pwil.demonstrations.options import Fit, Options
from vision_pwil.system.table import table

FITTED: dict[Fit, str] = {
    "crop": "the middle square of each picture (--fit pad keeps all of one that is not square)",
    "pad": "each picture whole, between black bars where it is not square",
    "stretch": "each picture whole, squashed where it is not square",
}


def sentences(demonstrations: Demonstrations, reading: Options | None = None) -> str:
    """What a person asks first: how many, how long, of what, from which camera, doing what.

    Of pictures that were made into frames by `reading`, also how.
    """
    lengths = [len(episode) for episode in demonstrations.episodes]
    spread = f"{min(lengths)} to {max(lengths)}" if min(lengths) < max(lengths) else f"{lengths[0]}"
    each = " each" if len(lengths) > 1 else ""
    source = f" from {demonstrations.source}" if demonstrations.source else ""
    lines = [f"{len(lengths)} episode{'s' if len(lengths) > 1 else ''} of {spread} steps{each}{source}."]
    if demonstrations.rate is not None:
        seconds = sum(lengths) / demonstrations.rate
        lines.append(f"{sum(lengths)} steps at {demonstrations.rate:g} a second, {seconds:.1f} seconds in all.")
    shapes = {episode.frames.shape[1:3] for episode in demonstrations.episodes if episode.frames is not None}
    for height, width in shapes:
        camera = f" from the camera {demonstrations.camera}" if demonstrations.camera else ""
        filmed = demonstrations.render_fingerprint is None
        how = f": {FITTED[reading.fit]}" if reading and filmed and height == width == reading.size else ""
        lines.append(f"Frames of {height}x{width} pixels{camera}{how}.")
    if len(demonstrations.cameras) > 1:
        lines.append(f"Cameras: {', '.join(demonstrations.cameras)}; --camera chooses one.")
    if demonstrations.state_parts:
        lines.append(f"States of {', '.join(f'{name} ({width})' for name, width in demonstrations.state_parts)}.")
    tasks = Counter(episode.task for episode in demonstrations.episodes if episode.task)
    for task, count in tasks.items():
        lines.append(f'Task of {count} episode{"s" if count > 1 else ""}: "{task}"')
    if demonstrations.env_id is not None:
        lines.append(f"Environment {demonstrations.env_id}.")
    return "\n".join(lines)


def checksums(demonstrations: Demonstrations) -> str:
    """What identifies the content."""
    lines = [f"checksum {demonstrations.checksum}"]
    if demonstrations.render_fingerprint is not None:
        lines.append(f"render settings {demonstrations.render_fingerprint}")
    return "\n".join(lines)


def episodes_table(demonstrations: Demonstrations) -> str:
    """What each episode holds; a column that would be empty is left out."""

    def shape(part: Array | None) -> str | None:
        return None if part is None else f"{'x'.join(map(str, part.shape[1:]))} {part.dtype}"

    rate = demonstrations.rate
    several = len({episode.task for episode in demonstrations.episodes}) > 1
    columns: dict[str, list[object]] = {
        "episode": list(range(len(demonstrations))),
        "name": [episode.name for episode in demonstrations.episodes],
        "steps": [len(episode) for episode in demonstrations.episodes],
        "seconds": [f"{len(episode) / rate:.1f}" if rate else None for episode in demonstrations.episodes],
        "states": [shape(episode.states) for episode in demonstrations.episodes],
        "actions": [shape(episode.actions) for episode in demonstrations.episodes],
        "frames": [shape(episode.frames) for episode in demonstrations.episodes],
        "initial state": [" ".join(sorted(episode.initial_state or {})) or None for episode in demonstrations.episodes],
        "ends absorbing": ["yes" if episode.absorbing else "no" for episode in demonstrations.episodes],
        "task": [episode.task if several else None for episode in demonstrations.episodes],
    }
    shown = {name: cells for name, cells in columns.items() if any(cell is not None for cell in cells)}
    return table(list(shown), list(zip(*shown.values(), strict=True)))
