"""What all readers share: untrusted files become either Demonstrations or one clear sentence."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from vision_pwil.demonstrations.episode import Episode
from vision_pwil.system.errors import InputError

Item = TypeVar("Item")
MAX_BYTES = 4 * 2**30
"""The most that one file may unpack to: small files that claim to hold more are refused, not believed."""


@contextmanager
def parsing(path: str | Path, kind: str) -> Iterator[None]:
    """Name the file in every complaint about it.

    The parsers underneath (zip, zlib, HDF5, image and video codecs) answer damage with almost any exception, so all of
    them are caught, here and nowhere else.
    """
    try:
        yield
    except InputError as error:
        if str(error).startswith(str(path)):  # it names a file inside this folder
            raise
        raise InputError(f"{path}: {error}") from None
    except FileNotFoundError:
        raise InputError(f"{path} does not exist.") from None
    except PermissionError:
        raise InputError(f"{path} may not be read: check its permissions.") from None
    except MemoryError:
        raise InputError(f"{path} claims to hold more than fits into memory; the {kind} may be damaged.") from None
    except Exception as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise InputError(f"{path} is not a readable {kind}: {reason[:200].rstrip('.')}.") from None


def limit(size: int) -> None:
    """Refuse what would unpack to more than MAX_BYTES."""
    if size > MAX_BYTES:
        raise InputError(f"the file claims {size:,} bytes of content, more than the {MAX_BYTES:,} that are accepted.")


def each(make: Callable[[Item], Episode], items: Iterable[Item]) -> tuple[Episode, ...]:
    """The episode of each item; a complaint about one says which it was."""
    episodes = []
    for number, item in enumerate(items):
        try:
            episodes.append(make(item))
        except InputError as error:
            raise InputError(f"in episode {number}, {str(error)[:1].lower()}{str(error)[1:]}") from None
    return tuple(episodes)
