"""Inspect, convert, render, record and fetch demonstrations: `vision-pwil demonstrations --help`."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

import tyro

from vision_pwil.commands.modules import import_modules
from vision_pwil.demonstrations.contact_sheet import save_contact_sheet
from vision_pwil.demonstrations.fetch import DOWNLOADS, download, fetched_path
from vision_pwil.demonstrations.reader import read
from vision_pwil.demonstrations.summary import episodes_table
from vision_pwil.door_env import OPEN_ANGLE
from vision_pwil.envs.open_loop import render_door, replay, replay_table
from vision_pwil.envs.record import record
from vision_pwil.envs.renderer import RenderSettings
from vision_pwil.system import cli
from vision_pwil.system.files import write_text


@dataclass(frozen=True)
class Inspect:
    """Show what a file or folder of demonstrations holds: a table, and a picture of its frames."""

    path: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="PATH")]
    """Own format, .npz, D4RL or Minari HDF5, DAPG pickle, video, or folder of videos or numbered images."""
    sheet: Path = Path("contact-sheet.png")
    """Where the picture goes, if there are frames: a row for each episode."""

    def run(self) -> None:
        """Print the table, save the picture."""
        demonstrations = read(self.path)
        print(f"{len(demonstrations)} episodes from {demonstrations.source}")
        print(f"environment {demonstrations.env_id}, render settings {demonstrations.render_fingerprint}")
        print(f"checksum {demonstrations.checksum}\n")
        print(episodes_table(demonstrations))
        if any(episode.frames is None for episode in demonstrations.episodes):
            print("\nNo picture: not every episode has frames (the door's are made by the `render` command).")
        else:
            save_contact_sheet(demonstrations, self.sheet)
            print(f"\nThe frames are in {self.sheet}: open it with any image viewer.")


@dataclass(frozen=True)
class Convert:
    """Write demonstrations of any known format in this package's own."""

    path: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="PATH")]
    """What to read."""
    out: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="OUT")]
    """The file to write, by custom named *.demos."""

    def run(self) -> None:
        """Read, write."""
        demonstrations = read(self.path)
        demonstrations.save(self.out)
        print(f"Wrote {len(demonstrations)} episodes to {self.out}: look with the `inspect` command.")


@dataclass(frozen=True)
class Render:
    """Replay demonstrations of the door, report how faithful the replay is, and write them with frames."""

    path: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="PATH")]
    """Demonstrations with actions and initial states."""
    out: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="OUT")]
    """The file to write, by custom named *.demos."""
    open_angle: float = OPEN_ANGLE
    """Radians at which the door counts as opened and the episode ends."""
    cache_dir: Path | None = None
    """Where rendered frames are kept; by default $VISION_PWIL_CACHE, else vision-pwil in the user's cache folder."""
    sheet: Path | None = None
    """Also save a picture of the frames here."""
    report: Path | None = None
    """Also save the table of the replay here, as Markdown."""
    settings: RenderSettings = field(default_factory=RenderSettings)
    """Camera, size and quality."""

    def run(self) -> None:
        """Replay, report, render, write."""
        demonstrations = read(self.path)
        report = replay_table(replay(demonstrations, self.open_angle))
        print(report)
        rendered = render_door(demonstrations, self.settings, self.open_angle, self.cache_dir)
        rendered.save(self.out)
        if self.report is not None:
            write_text(self.report, report + "\n")
        if self.sheet is not None:
            save_contact_sheet(rendered, self.sheet)
        frames = sum(map(len, rendered.episodes))
        print(f"Wrote {len(rendered)} episodes with {frames} frames to {self.out}: look with the `inspect` command.")


@dataclass(frozen=True)
class Record:
    """Play a trained policy in its environment and write what it does as demonstrations."""

    policy: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="POLICY")]
    """Directory of a run, for its latest policy, or a policy's file, such as its best.safetensors."""
    out: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="OUT")]
    """The file to write, by custom named *.demos."""
    episodes: int = 11
    """Episodes to play (the paper has 11 demonstrations at most)."""
    seed: int = 0
    """Seed of the first episode; the next ones count on."""
    only_absorbing: bool = False
    """Leave out episodes that did not end absorbing (of the door: that did not open it)."""
    imports: Annotated[tuple[str, ...], tyro.conf.arg(name="import", metavar="MODULE")] = ()
    """Modules that register the policy's environment: what a file names is never imported by itself."""

    def run(self) -> None:
        """Play, write."""
        from vision_pwil.tasks.policy import load_environment, load_policy  # the learners: other commands need none

        import_modules(self.imports)
        env = load_environment(self.policy).env
        recorded = record(load_policy(self.policy), env, self.episodes, self.seed, self.only_absorbing)
        recorded.save(self.out)
        print(f"Wrote {len(recorded)} episodes to {self.out}: look with the `inspect` command.")


@dataclass(frozen=True)
class Fetch:
    """Download public demonstrations and verify their checksum."""

    name: tyro.conf.Positional[Literal["door-human"]]
    """door-human: the 25 human demonstrations of the door (hand_dapg, Apache-2.0, 3.7 MB)."""
    out: Path | None = None
    """Where to save the file; by default in the cache folder."""

    def run(self) -> None:
        """Download, unless it is there."""
        path = self.out or fetched_path(self.name)
        download(DOWNLOADS[self.name], path)
        print(f"The demonstrations are in {path} ({DOWNLOADS[self.name].licence}): look with the `inspect` command.")


def run(command: tyro.conf.OmitSubcommandPrefixes[Inspect | Convert | Render | Record | Fetch]) -> None:
    """Inspect, convert, render, record and fetch demonstrations."""
    command.run()


def main(args: Sequence[str], prog: str = "vision-pwil demonstrations") -> None:
    """The command."""
    cli.run(run, args=args, prog=prog, description=__doc__)
