"""Files that are whole or not there, and that notice damage.

Whole: written beside the target, flushed to disk, renamed. Damage: what a run writes carries a checksum inside, never
beside it, so that a file and its checksum cannot disagree whenever a process is killed; it is verified on every read.
"""

import hashlib
import json
import math
import os
import stat
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from vision_pwil.system.errors import InputError

_UNFINISHED = ".unfinished-"
MOST = 64 * 2**20
"""Bytes of the largest text file that is read."""
DAMAGED = "it is damaged, since its checksum does not match its content: copy or make it again."
NO_CHECKSUM = "it has no checksum, so it is damaged or was not written by this version: copy or make it again."


@contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """Yield a temporary path in the target's folder; on success it takes the target's name, on failure it vanishes.

    The temporary name keeps the target's suffix, since many writers choose the format by it.
    """
    path = Path(path)
    temporary: Path | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=_UNFINISHED, suffix=path.suffix)
        os.close(handle)
        temporary = Path(name)
        yield temporary
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        # mkstemp makes the file private; give it the permissions any new file would have.
        mask = os.umask(0)
        os.umask(mask)
        temporary.chmod(0o666 & ~mask)
        temporary.replace(path)
    except OSError as error:
        error.filename = str(path)  # a full disk does not say which file it has no room for
        raise
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)


def remove_unfinished(folder: Path) -> None:
    """Remove what a killed process was writing there, when no other process is."""
    for path in folder.rglob(f"{_UNFINISHED}*"):
        path.unlink(missing_ok=True)


def write_text(path: str | Path, text: str) -> None:
    """Write a small text file atomically."""
    with replacing(path) as temporary:
        temporary.write_text(text)


@contextmanager
def parsing(path: str | Path, kind: str) -> Iterator[None]:
    """Turn every complaint about a file from outside into one sentence that names it.

    The parsers underneath (zip, HDF5, Arrow, codecs, safetensors) answer damage with almost any exception, so all of
    them are caught, here and nowhere else.
    """
    try:
        yield
    except InputError as error:
        if not str(error).startswith(str(path)):  # else it names the file already, or one inside this folder
            error.args = (f"{path}: {error}",)  # what it knows besides stays with it
        raise
    except FileNotFoundError as error:
        raise InputError(f"{error.filename or path} does not exist.") from None
    except PermissionError as error:
        raise InputError(f"{error.filename or path} may not be read: check its permissions.") from None
    except MemoryError:
        raise InputError(f"{path} claims to hold more than fits into memory; the {kind} may be damaged.") from None
    except Exception as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise InputError(f"{path} is not a readable {kind}: {reason[:200].rstrip('.')}.") from None


def require_file(path: str | Path) -> None:
    """Refuse folders, and what one might wait for in vain when it is opened (a FIFO, a device)."""
    mode = Path(path).stat().st_mode
    if not stat.S_ISREG(mode):
        kind = "a folder" if stat.S_ISDIR(mode) else "a pipe or device"
        raise InputError(f"it is {kind}, not a file: name the file itself.")


def read_text(path: str | Path) -> str:
    """The text of a small file."""
    require_file(path)
    with Path(path).open("rb") as file:
        content = file.read(MOST + 1)
    if len(content) > MOST:
        raise InputError(f"it is larger than {MOST // 2**20} MB, more than such a file ever is.")
    return content.decode()


def write_json(path: str | Path, content: Mapping[str, Any]) -> None:
    """Write a JSON object with its checksum, under the key `sha256`; what is not finite is written as null."""
    plain = json.loads(json.dumps(_finite(content), allow_nan=False))
    write_text(path, json.dumps({**plain, "sha256": _checksum(plain)}, indent=2) + "\n")


def read_json(path: str | Path) -> dict[str, Any]:
    """Read what `write_json` wrote, without the checksum."""
    with parsing(path, "JSON file"):
        content = parse_json(read_text(path))
        if "sha256" not in content:
            raise InputError(NO_CHECKSUM)
        if content.pop("sha256") != _checksum(content):
            raise InputError(DAMAGED)
        return content


def parse_json(text: str) -> dict[str, Any]:
    """A JSON object, all of its numbers finite."""
    content = json.loads(text, parse_float=_number, parse_constant=_number)
    if not isinstance(content, dict):
        raise ValueError("it is not a JSON object")
    return content


def _number(text: str) -> float:
    if not math.isfinite(float(text)):
        raise ValueError(f"it holds {text}, which is not a finite number")
    return float(text)


def _finite(content: Any) -> Any:
    if isinstance(content, Mapping):
        return {name: _finite(value) for name, value in content.items()}
    if isinstance(content, list | tuple):
        return [_finite(value) for value in content]
    return None if isinstance(content, float) and not math.isfinite(content) else content


def _checksum(content: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def sha256(path: str | Path) -> str:
    """Checksum of a file's bytes."""
    digest = hashlib.sha256()
    with Path(path).open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()
