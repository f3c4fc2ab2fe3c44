"""Inspect, convert, render, record and fetch demonstrations: `vision-pwil demonstrations --help`."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Annotated, Literal

import tyro

from vision_pwil.commands.modules import import_modules
from vision_pwil.demonstrations import Demonstrations, read
from vision_pwil.demonstrations.fetch import DOWNLOADS, download, fetched_path
from vision_pwil.demonstrations.options import Options, SeveralCameras
from vision_pwil.demonstrations.summary import checksums, episodes_table, sentences
from vision_pwil.system import cli, memory
from vision_pwil.system.files import replacing, write_text
from vision_pwil.system.settings import Count, Settings, Whole
from vision_pwil.tasks.config import View

Source = Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="PATH")]
Out = Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="OUT")]


@dataclass(frozen=True)
class Inspect:
    """Show what a file or folder of demonstrations holds: sentences, a table, and a picture of its frames."""

    path: Source
    """A LeRobot or Minari dataset, robomimic or D4RL HDF5, .npz, DAPG pickle, video, folder of videos or images, a file
    of this package, or the name of what ships: door, Hopper-v5, Reacher-v5."""
    sheet: Path = Path("contact-sheet.png")
    """Where the picture goes, if there are frames: a row for each episode."""
    checksum: bool = False
    """Also tell what identifies the content."""
    max_memory: str | None = None
    """Memory that the content may take, such as 8GB; by default half of the machine's."""
    reading: Options = field(default_factory=Options)

    def run(self) -> None:
        """Print the table, save the picture."""
        from vision_pwil.demonstrations.contact_sheet import save_contact_sheet  # imports slowly

        if self.max_memory is not None:
            memory.set_limit(self.max_memory)
        reading = self.reading
        try:
            demonstrations = read(self.path, **asdict(reading))
        except SeveralCameras as several:  # what is there is shown all the same, through the first of them
            reading = replace(reading, camera=several.names[0])
            demonstrations = read(self.path, **asdict(reading))
        print(sentences(demonstrations, reading), episodes_table(demonstrations), sep="\n\n")
        if self.checksum:
            print(f"\n{checksums(demonstrations)}")
        if demonstrations.has("frames"):
            save_contact_sheet(demonstrations, self.sheet)
            print(f"\nThe frames are in {self.sheet}: open it with any image viewer.")
        else:
            print("\nNo picture: not every episode has frames (`vision-pwil demonstrations render` can draw some).")


@dataclass(frozen=True)
class Convert:
    """Write demonstrations of any known format in this package's own."""

    path: Source
    """What to read."""
    out: Out
    """The file to write, by custom named *.demos."""
    reading: Options = field(default_factory=Options)

    def run(self) -> None:
        """Read, write."""
        demonstrations = read(self.path, **asdict(self.reading))
        demonstrations.save(self.out)
        print(f"Wrote {len(demonstrations)} episodes to {self.out}: look with the `inspect` command.")


@dataclass(frozen=True)
class Render:
    """Replay recorded actions open loop, and write the demonstrations with frames; of the door, also report how
    faithful the replay is."""

    path: Source
    """Demonstrations with actions and initial states."""
    out: Out
    """The file to write, by custom named *.demos."""
    env: str | None = None
    """The environment to replay in, by default the one that the file names; it must take recorded starts, as Adroit's
    do."""
    env_options: tuple[str, ...] = ()
    """Arguments for the environment's constructor, each as NAME=VALUE (the door's open_angle=1.0, for example)."""
    success: str | None = None
    """Entry of `info` that says the task is done, where an episode is cut; `success` or `is_success` by default."""
    sheet: Path | None = None
    """Also save a picture of the frames here."""
    report: Path | None = None
    """Also save the table of the door's replay here, as Markdown."""
    videos: Path | None = None
    """Also write each episode as an mp4 file into this folder."""
    view: View = field(default_factory=View)

    def run(self) -> None:
        """Replay, report, render, write."""
        from vision_pwil.demonstrations.contact_sheet import save_contact_sheet
        from vision_pwil.tasks.rendering import render  # MuJoCo: other commands need none

        rendered, report = render(self.path, self.env, self.env_options, self.success, self.view)
        if report is not None:
            print(report)
            if self.report is not None:
                write_text(self.report, report + "\n")
        rendered.save(self.out)
        if self.sheet is not None:
            save_contact_sheet(rendered, self.sheet)
        if self.videos is not None:
            write_videos(rendered, self.videos)
            print(f"The videos are in {self.videos}.")
        frames = sum(map(len, rendered.episodes))
        print(f"Wrote {len(rendered)} episodes with {frames} frames to {self.out}: look with the `inspect` command.")


def write_videos(demonstrations: Demonstrations, folder: Path) -> None:
    """Each episode as an mp4 file, numbered."""
    import imageio.v3 as imageio  # imports slowly

    rate = demonstrations.rate or 25.0
    for number, episode in enumerate(demonstrations.episodes):
        with replacing(folder / f"{number:03d}.mp4") as temporary:
            imageio.imwrite(temporary, episode.frames, plugin="FFMPEG", fps=rate, macro_block_size=1, quality=8)


@dataclass(frozen=True)
class Record(Settings):
    """Play a trained policy in its environment and write what it does as demonstrations."""

    policy: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="POLICY")]
    """Directory of a run, for its latest policy, or a policy's file, such as its best.safetensors."""
    out: Out
    """The file to write, by custom named *.demos."""
    episodes: Count = 11
    """Episodes to play (the paper has 11 demonstrations at most)."""
    seed: Whole = 0
    """Seed of the first episode; the next ones count on."""
    only_absorbing: bool = False
    """Leave out episodes that did not end absorbing (of the door: that did not open it)."""
    imports: Annotated[tuple[str, ...], tyro.conf.arg(name="import", metavar="MODULE")] = ()
    """Modules that register the policy's environment: what a file names is never imported by itself."""

    def run(self) -> None:
        """Play, write."""
        from vision_pwil.envs.holding import holding
        from vision_pwil.envs.record import record
        from vision_pwil.tasks.policy import load_environment, load_policy  # the learners: other commands need none

        import_modules(self.imports)
        flat = load_environment(self.policy)
        policy = load_policy(self.policy, hold=holding(flat.env) if flat.meaning else None)
        recorded = record(policy, flat.env, self.episodes, self.seed, self.only_absorbing)
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
