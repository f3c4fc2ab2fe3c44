"""What an expert's episodes earned in the task itself, where the file of its demonstrations tells it."""

import zipfile
from pathlib import Path

from vision_pwil.demonstrations.archive import Archive
from vision_pwil.system.files import parsing


def expert_return(path: str | Path) -> float | None:
    """The mean of the array `returns` in an .npz of demonstrations; None where a file or folder has no such array."""
    path = Path(path)
    if path.is_dir():
        return None
    with parsing(path, "file of demonstrations"), path.open("rb") as stream:
        if not zipfile.is_zipfile(stream):
            return None
        with zipfile.ZipFile(stream) as file:
            archive = Archive(file)
            return float(archive["returns"].mean()) if "returns" in archive else None
