"""A page of a training, or of scored videos, made from what its folder holds: one file, to look at and to mail.

The folder is not trusted: nothing in it is imported or executed, all text is escaped, and of its films only what begins
as an MP4 or a GIF does goes into the page.
"""

import platform
import tempfile
from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from vision_pwil import __version__
from vision_pwil.demonstrations import Demonstrations, read
from vision_pwil.system import page
from vision_pwil.system.errors import InputError
from vision_pwil.system.files import parsing, read_json, require_file, write_text
from vision_pwil.system.mp4 import write_mp4
from vision_pwil.system.run import Row, flatten, read_curve
from vision_pwil.tasks.auditing import AUDIT, read_audit
from vision_pwil.tasks.scorecard import COLUMNS, SCORES
from vision_pwil.verdict.audit import AuditReport

PAGE = "report.html"
LARGEST = 64 * 2**20
"""Bytes of the largest film that goes into a page."""
PAIRS = {"w1": "greedy_w1", "tau_train": "tau_validation"}
"""Columns of a curve that share a chart."""
LEVELS = {"return": "imitation_return", "w1": "w1"}
"""Columns that held-out demonstrations have a level of, and what the audit calls it."""
_STRIDE, _RATE = 5, 20.0  # steps for each picture of an evaluation's GIF, and pictures a second (system.board.gif)
_SIZE = 336  # pixels, about, of a film made of small frames


def write_report(folder: Path, demonstrations: Demonstrations | None = None) -> Path:
    """Write the page into the folder: of scored videos, or of a run, its agent beside one of the demonstrations."""
    if (folder / SCORES).exists():
        title, parts = f"Scores in {folder.resolve().name}", _scores(folder)
    elif (folder / "config.json").exists():
        title, parts = f"Run {folder.resolve().name}", _training(folder, demonstrations)
    else:
        raise InputError(
            f"{folder} is neither the directory of a run nor of scores: it has no config.json, no {SCORES}."
        )
    out = folder / PAGE
    write_text(out, page.page(title, [*parts, *_versions()]))
    return out


def _scores(folder: Path) -> Iterator[str]:
    path = folder / SCORES
    with parsing(path, "file of scores"):
        content = read_json(path)
        videos = [dict(video) for video in content["videos"]]
        yield page.paragraph(
            "Score is likeness times the completed part of the task. Likeness: imitation return over that of held-out "
            "demonstrations, which hardly sees the order of frames. Completed: progress at the end minus progress at "
            "the start. Order: rank correlation of progress with time."
        )
        yield page.heading("Ranking")
        yield page.table(COLUMNS, [[video[name] for name in COLUMNS] for video in videos])
        yield page.heading("Videos")
        yield page.paragraph("Play a video, or touch its curve: the red line is the frame that is shown.")
        for number, video in enumerate(videos):
            yield _card(folder, number, video)


def _card(folder: Path, number: int, video: Mapping[str, Any]) -> str:
    """A video beside its progress."""
    rate, values = float(video["rate"]), [float(value) for value in video["progress"]]
    rewards = [float(value) for value in video["rewards"]]
    lines = {
        "progress": [(frame / rate, value) for frame, value in enumerate(values)],
        "reward, as a share of the largest": [(frame / rate, value / 5) for frame, value in enumerate(rewards)],
    }
    chart = page.chart(lines, "seconds", span=(0, 1), timing=(len(values), rate))
    shown = _film(folder, str(video["film"]))
    body = f'<div class="timed">{page.film(shown, str(video["kind"]))}{chart}</div>' if shown else chart
    figures = f"score {video['score']}, completed {video['completed']}, likeness {video['likeness']}"
    title = page.escape(f"{number + 1}. {video['video']}")
    return f'<section class="card"><h3>{title}</h3>{page.paragraph(figures)}{body}</section>'


def _training(folder: Path, demonstrations: Demonstrations | None) -> Iterator[str]:
    config = read_json(folder / "config.json")
    about = [(name, config[name]) for name in ("env", "agent", "recipe", "reward") if isinstance(config.get(name), str)]
    if about:
        yield page.table([name for name, _ in about], [[value for _, value in about]])
    audit = read_audit(folder) if (folder / AUDIT).exists() else None
    if (folder / "curve.csv").exists():
        curve = read_curve(folder)
        yield page.heading("Learning curves")
        yield f'<div class="grid">{"".join(_curves(curve, audit))}</div>'
        yield page.heading("Last evaluation")
        yield page.table(list(curve[-1]), [list(curve[-1].values())])
    yield from _films(folder, demonstrations)
    if audit is not None:
        yield page.heading("Audit of the reward")
        yield page.paragraph(audit.sentence)
        groups = [
            (
                name,
                len(scores),
                float(np.mean([s.imitation_return for s in scores])),
                float(np.mean([s.w1 for s in scores])),
            )
            for name, scores in audit.groups().items()
        ]
        yield page.table(("behaviour", "episodes", "mean return", "mean W1"), groups)
    yield page.heading("Settings")
    yield page.folded(
        "All settings of the run", page.table(("setting", "value"), list(flatten(config).items()), text=True)
    )


def _curves(curve: list[Row], audit: AuditReport | None) -> Iterator[str]:
    """A chart for each column, dashed where held-out demonstrations lie."""
    along, *names = curve[0]
    for name in names:
        if name in PAIRS.values() or name == "seconds":
            continue
        together = [name, PAIRS[name]] if PAIRS.get(name) in names else [name]
        levels = {}
        if audit is not None and name in LEVELS:
            known = [float(getattr(score, LEVELS[name])) for score in audit.scores if score.expert]
            levels = {"held-out demonstrations": float(np.mean(known))} if known else {}
        lines = {each: [(row[along], row[each]) for row in curve] for each in together}
        yield page.chart(lines, along, levels=levels)


def _films(folder: Path, demonstrations: Demonstrations | None) -> Iterator[str]:
    """The agent beside a demonstration, and its film in large frames."""
    pictures = sorted((folder / "videos").glob("*.gif"))
    moving = pictures[-1:] if pictures and _starts(pictures[-1], b"GIF8") else []
    large = _film(folder, "policy.mp4")
    if moving or large:
        yield page.heading("Films")
    for path in moving:
        shown = {
            f"the agent after {path.stem.lstrip('0') or '0'} steps": np.asarray(
                read(path, size=None).episodes[0].frames
            )
        }
        if demonstrations is not None and demonstrations.has("frames"):
            frames = np.asarray(demonstrations.episodes[0].frames)
            shown["a demonstration"] = frames[(len(frames) - 1) % _STRIDE :: _STRIDE]
        longest = max(map(len, shown.values()))
        films = [
            page.film(_encoded(frames[np.arange(longest).clip(max=len(frames) - 1)]), name, controls=number == 0)
            for number, (name, frames) in enumerate(shown.items())
        ]
        yield f'<div class="together">{"".join(films)}</div>'
    if large:
        yield f'<div class="card">{page.film(large, "the agent in large frames")}</div>'


def _encoded(frames: np.ndarray) -> bytes:
    """Small frames, enlarged, as MP4."""
    times = 2 * max(1, round(_SIZE / frames.shape[2] / 2))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "film.mp4"
        write_mp4(path, (frame.repeat(times, 0).repeat(times, 1) for frame in frames), _RATE)
        return path.read_bytes()


def _film(folder: Path, name: str) -> bytes | None:
    """A film of the folder, if it is there and is one."""
    path = folder / name
    if not path.resolve().is_relative_to(folder.resolve()) or not path.exists():
        return None
    with parsing(path, "film"):
        require_file(path)
        if path.stat().st_size > LARGEST:
            return None
        content = path.read_bytes()
        return content if content[4:8] == b"ftyp" else None


def _starts(path: Path, magic: bytes) -> bool:
    with parsing(path, "film"):
        require_file(path)
        with path.open("rb") as file:
            return file.read(len(magic)) == magic


def _versions() -> Iterator[str]:
    yield page.heading("Versions")
    found = {"vision-pwil": __version__, "python": platform.python_version()}
    for name in ("torch", "numpy", "gymnasium", "mujoco"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    yield page.paragraph("Of the programs that wrote this page.")
    yield page.table(list(found), [list(found.values())])
