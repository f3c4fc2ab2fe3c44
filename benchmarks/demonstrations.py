"""The human demonstrations of the door: read, replayed and rendered from nothing, each step timed in one run.

    python -m benchmarks.demonstrations [--demos door-v0_demos.pickle] [--out results/door-demonstrations]

Writes the table of the replay (how far it strays from the recording, when the door opens), the times, and a contact
sheet. Without `--demos` the published file is fetched.
"""

import tempfile
from pathlib import Path
from time import perf_counter

from benchmarks.report import write_report
from vision_pwil.demonstrations import read
from vision_pwil.demonstrations.contact_sheet import save_contact_sheet
from vision_pwil.demonstrations.fetch import DOWNLOADS, download, fetched_path
from vision_pwil.door_env import SETTINGS
from vision_pwil.envs.open_loop import render_door, replay, replay_table
from vision_pwil.system import cli
from vision_pwil.system.table import table


def main(demos: Path | None = None, out: Path = Path("results/door-demonstrations")) -> None:
    """Print the tables and write them, with the contact sheet, the machine and the commit, to `out`."""
    if demos is None:
        demos = fetched_path("door-human")
        download(DOWNLOADS["door-human"], demos)
    times = {}
    started = perf_counter()
    human = read(demos)
    times["read"] = perf_counter() - started
    started = perf_counter()
    replays = replay(human)
    times["replay"] = perf_counter() - started
    with tempfile.TemporaryDirectory() as cache:
        for name in ("replay, render and keep", "the same again, from the cache"):
            started = perf_counter()
            rendered = render_door(human, cache_dir=cache)
            times[name] = perf_counter() - started
    save_contact_sheet(rendered, out / "contact-sheet.png")
    frames = sum(map(len, rendered.episodes))
    lines = [
        f"{len(human)} demonstrations, {frames} frames of 84x84 up to the opening of the door (1.0 rad).",
        "",
        table(("step", "seconds"), [(name, f"{value:.2f}") for name, value in times.items()]),
        "",
        "## Replay against the recording",
        "",
        "Recorded actions, open loop, from the recorded initial state. The deviation is the largest of any entry of",
        "the 39-d state but the opened flag, in radians and metres. The published initial states do not have the arm",
        "where the first recorded observations have it, so that many replays stray furthest at step 0; the arm's",
        "position controllers pull it in within about 30 steps. The last column is about the door's angle alone.",
        "",
        replay_table(replays),
        "",
        "![first to last frame of every demonstration](contact-sheet.png)",
    ]
    print(*lines, sep="\n")
    summary = {
        "demonstrations": len(human),
        "opened": sum(each.opened is not None for each in replays),
        "frames": frames,
        "largest_deviation": max(each.deviation for each in replays),
        "largest_angle_deviation": max(each.angle_deviation for each in replays),
        "most_steps_between_openings": max(abs((each.opened or 0) - (each.recorded_opened or 0)) for each in replays),
        "seconds": times,
        "checksum": rendered.checksum,
        "settings": SETTINGS.fingerprint,
    }
    write_report(out, "The human demonstrations of the door", lines, summary, "benchmarks.demonstrations")
    print(f"The picture is {out / 'contact-sheet.png'}: a row for each demonstration.")


if __name__ == "__main__":
    cli.run(main)
