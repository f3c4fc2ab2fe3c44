"""Read demonstrations in any known format, recognised by content rather than by name."""

import json
import zipfile
from pathlib import Path

from vision_pwil.demonstrations import format, hdf5, npz, pickles, video
from vision_pwil.demonstrations.archive import Archive
from vision_pwil.demonstrations.episode import Demonstrations
from vision_pwil.demonstrations.parsing import parsing
from vision_pwil.system.errors import InputError

KINDS = "this package's own format, .npz, D4RL or Minari HDF5, a DAPG pickle, a video, or a folder of videos or images"


def read(path: str | Path) -> Demonstrations:
    """Read a file or folder in any format of KINDS."""
    path = Path(path)
    with parsing(path, "file"):
        if path.is_dir():
            minari = path / "data" / "main_data.hdf5"
            return hdf5.read(minari) if minari.is_file() else video.read_folder(path)
        with path.open("rb") as file:
            start = file.read(8)
        if not start:
            raise InputError("the file is empty.")
    if start.startswith(b"PK"):
        return _read_zip(path)
    if start == hdf5.MAGIC:
        return hdf5.read(path)
    if path.suffix.lower() in video.SUFFIXES:
        return video.read_file(path)
    if start[:1] == b"\x80" or path.suffix.lower() in (".pickle", ".pkl"):
        return pickles.read(path)
    raise InputError(f"{path} is in none of the known formats: {KINDS}.")


def _read_zip(path: Path) -> Demonstrations:
    with parsing(path, "archive of arrays"), zipfile.ZipFile(path) as file:
        archive = Archive(file)
        text = archive.text("metadata.json")
        return npz.parse(archive, path) if text is None else format.parse(json.loads(text), archive)
