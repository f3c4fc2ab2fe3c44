"""Demonstrations that are costly to make, kept on disk by key; safe when several processes want the same at once."""

import fcntl
import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from vision_pwil.demonstrations.episode import Demonstrations
from vision_pwil.system.errors import InputError


def cache_folder(chosen: str | Path | None = None) -> Path:
    """The folder chosen, else $VISION_PWIL_CACHE, else vision-pwil in the user's cache folder (XDG)."""
    if chosen is not None:
        return Path(chosen)
    if named := os.environ.get("VISION_PWIL_CACHE"):
        return Path(named)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "vision-pwil"


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Wait for any other process in here with the same path; the lock vanishes with its holder, however it ends."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("w")
    except OSError:  # nothing can be kept there, so nothing is waited for
        yield
        return
    with file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def cached(path: Path, make: Callable[[], Demonstrations]) -> Demonstrations:
    """The demonstrations in the file, made and kept there first if they are not, or not whole.

    Of several processes one makes them while the others wait and then read what it made. A folder that cannot be
    written to, or a full disk, costs the time to make them again, and no more.
    """
    with _alone(path.with_suffix(".lock")):
        if path.exists():
            try:
                return Demonstrations.load(path)
            except InputError:
                pass  # damaged on disk, or of an older format: make it again
        made = make()
        try:
            made.save(path)
        except OSError as error:
            warnings.warn(f"{path} could not be kept for next time: {error}", stacklevel=2)
        return made
