"""Score videos by demonstrations, with no RL: `vision-pwil score --encoder E --demos D VIDEO...`.

For each video: progress through the task over time, the reward of each step, the imitation return and W1 beside those
of held-out demonstrations. Writes a ranking (CSV), a plot, each video with a running progress bar, and one page that
shows them all; with --lerobot also the table that LeRobot's reward-aligned behaviour cloning trains with.
"""

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Annotated

import numpy as np
import tyro

from vision_pwil.demonstrations import Demonstrations, read
from vision_pwil.demonstrations.options import Options
from vision_pwil.demonstrations.parsing import parsing
from vision_pwil.system import cli
from vision_pwil.system.errors import InputError
from vision_pwil.system.settings import Count, Settings


@dataclass(frozen=True)
class Score(Settings):
    """Score videos by demonstrations."""

    encoder: Path
    """Encoder file, learned from such videos: `vision-pwil encoder train` makes one."""
    demos: Path
    """Demonstrations with frames, 4 or more; the encoder's own validation videos, or one in five, are held out."""
    videos: Annotated[tuple[Path, ...], tyro.conf.Positional, tyro.conf.arg(metavar="VIDEO")] = ()
    """What to score: videos, folders of them, or any dataset with frames; none: the demonstrations themselves, each
    compared with the others."""
    out: Path = Path("runs/score")
    """Where ranking.csv, scores.json, progress.png, the films and report.html go."""
    lerobot: Path | None = None
    """Also write the progress of every frame as LeRobot trains with it, a Parquet file. Needs one LeRobot dataset to
    score."""
    films: bool = True
    """Write each video with a running progress bar, and show it on the page."""
    film_size: Count | None = None
    """Height and width of the pictures in films of the videos, which are read anew; by default what the encoder sees,
    enlarged."""
    reading: Options = field(default_factory=Options)


def score(config: Score) -> None:
    """Score, print, and write."""
    from vision_pwil.demonstrations.lerobot_progress import require_dataset, write_progress  # import slowly
    from vision_pwil.encoder import Encoder
    from vision_pwil.tasks import scorecard
    from vision_pwil.tasks.report import write_report

    paths = config.videos or (config.demos,)
    if config.lerobot is not None:
        if len(paths) > 1:
            raise InputError("--lerobot writes the table of one dataset: name one.")
        require_dataset(paths[0])
    encoder = Encoder.load(config.encoder)
    reading = replace(config.reading, size=encoder.frame_shape[0])
    sources = {config.demos: read(config.demos, **asdict(reading))}
    sources |= {path: _read(path, reading) for path in paths if path not in sources}
    card = scorecard.compare(encoder, sources[config.demos], [sources[path] for path in paths])
    scorecard.write(card, config.out)
    if config.films:
        scorecard.write_films(card, config.out, _larger(config, [(path, sources[path]) for path in paths]))
    page = write_report(config.out)
    print(card.table())
    print(f"\nEvery video beside its progress: {page}. The ranking: {config.out / scorecard.RANKING}")
    if config.lerobot is not None:
        scored = card.lines[-len(sources[paths[0]]) :]
        rows = write_progress(paths[0], config.lerobot, {int(line.name): line.scored.progress for line in scored})
        print(
            f"\nProgress of {rows} frames for LeRobot: {config.lerobot}\n{_lerobot_command(paths[0], config.lerobot)}"
        )


def _read(path: Path, reading: Options) -> Demonstrations:
    """Read what is scored: a camera and a subset that were chosen of the demonstrations are asked only where there are
    such."""
    from vision_pwil.demonstrations.formats import FORMATS

    with parsing(path, "file"):
        format = next((each for each in FORMATS if path.exists() and each.recognises(path)), None)
    takes = {"camera", "filter"} if format is None else format.takes
    camera, subset = (getattr(reading, name) if name in takes else None for name in ("camera", "filter"))
    return read(path, camera=camera, filter=subset, size=reading.size, fit=reading.fit)


def _larger(config: Score, sources: Iterable[tuple[Path, Demonstrations]]) -> dict[str, np.ndarray]:
    """The frames of the videos that are scored in the films' size, where one is named."""
    from vision_pwil.tasks import scorecard

    if config.film_size is None:
        return {}
    reading = replace(config.reading, size=config.film_size)
    return {
        scorecard.key(small.frames): np.asarray(large.frames)
        for path, source in sources
        for small, large in zip(source.episodes, _read(path, reading).episodes, strict=True)
    }


def _lerobot_command(root: Path, table: Path) -> str:
    """How to go on."""
    words = ["lerobot-train", f"--dataset.repo_id=local/{root.resolve().name}", f"--dataset.root={root}"]
    newer = [*words, "--policy.type=pi05", "--sample_weighting.type=rabc", f"--sample_weighting.progress_path={table}"]
    older = ["--use_rabc=true", f"--rabc_progress_path={table}"]
    return f"Go on with: {shlex.join(newer)}\n(LeRobot before sample weighting: {shlex.join(older)})"


def main(args: Sequence[str], prog: str = "vision-pwil score") -> None:
    """The command."""
    cli.run(score, args=args, prog=prog, description=__doc__)
