"""The package's own file of demonstrations: a zip of plain arrays and one JSON document, no pickle.

| member | content |
|---|---|
| `metadata.json` | `format` ("vision-pwil demonstrations"), `version` (1), `env_id`, `source`, `render_fingerprint`, `checksum`, and `episodes`: for each one `absorbing` and the names of its `parts`; where known `rate`, `camera`, `cameras`, `state_parts`, `origin` (the checksum of what was rendered), and an episode's `name` and `task` |
| `episodes/<k>/<part>.npy` | an array in numpy's .npy format; the parts are `states`, `actions`, `frames` and `initial_state/<key>`, each present or absent in each episode |

`checksum` is `Demonstrations.checksum`, the SHA-256 of all but what is for people only; it is verified at every load. The
same demonstrations always give the same bytes. `numpy.load(path)` opens the arrays without this package.
"""  # noqa: E501

import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from vision_pwil.demonstrations.archive import Archive
from vision_pwil.demonstrations.episode import Demonstrations
from vision_pwil.demonstrations.options import Options
from vision_pwil.demonstrations.parsing import Parts, each, starts
from vision_pwil.system.errors import InputError
from vision_pwil.system.files import parsing, replacing

NAME = "vision-pwil demonstrations"
VERSION = 1
_OPTIONAL = ("rate", "camera", "cameras", "state_parts", "origin")


def save(demonstrations: Demonstrations, path: str | Path) -> None:
    """Write all episodes to one file, which is there whole or not at all."""
    metadata = {
        "format": NAME,
        "version": VERSION,
        "env_id": demonstrations.env_id,
        "source": demonstrations.source,
        "render_fingerprint": demonstrations.render_fingerprint,
        "checksum": demonstrations.checksum,
        **_known({name: getattr(demonstrations, name) for name in _OPTIONAL}),
        "episodes": [
            {
                "absorbing": episode.absorbing,
                "parts": [name for name, _ in episode.parts()],
                **_known({"name": episode.name, "task": episode.task}),
            }
            for episode in demonstrations.episodes
        ],
    }
    # Level 1: frames shrink about as well as at level 6, several times faster. ZipInfo's fixed date keeps bytes equal.
    with replacing(path) as temporary, zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as file:
        file.writestr(_member("metadata.json"), json.dumps(metadata, indent=1))
        for number, episode in enumerate(demonstrations.episodes):
            for name, part in episode.parts():
                with file.open(_member(f"episodes/{number}/{name}.npy"), "w", force_zip64=True) as member:
                    np.lib.format.write_array(member, part, allow_pickle=False)


def _known(values: dict[str, Any]) -> dict[str, Any]:
    """Without what is not known."""
    return {name: value for name, value in values.items() if value not in (None, ())}


def _member(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)
    info.compress_type = zipfile.ZIP_DEFLATED
    return info


def recognises(path: Path) -> bool:
    """A zip file with metadata, or one that is named as this package names its own."""
    if not (path.is_file() and starts(path, b"PK")):
        return False
    with parsing(path, "archive of arrays"), zipfile.ZipFile(path) as file:
        return "metadata.json" in file.namelist() or path.suffix == ".demos"


def load(path: str | Path) -> Demonstrations:
    """Read a file written by `save`, and verify its checksum."""
    with parsing(path, "file of demonstrations"):
        return read(Path(path), Options())


def read(path: Path, options: Options) -> Demonstrations:
    """Read the arrays that the metadata name; frames keep the size that they were written in."""
    with zipfile.ZipFile(path) as file:
        archive = Archive(file)
        text = archive.text("metadata.json")
        if text is None:
            raise InputError("it has no metadata.json, so it is not in the format of this package.")
        return _parse(json.loads(text), archive)


def _parse(metadata: dict[str, Any], archive: Archive) -> Demonstrations:
    if metadata.get("format") != NAME:
        raise InputError(f"its metadata do not say {NAME!r}, so it is not in the format of this package.")
    if metadata["version"] != VERSION:
        raise InputError(f"it is in version {metadata['version']} of the format, and only version {VERSION} is known.")

    def parts(item: tuple[int, dict[str, Any]]) -> Parts:
        number, described = item
        arrays = {name: archive[f"episodes/{number}/{name}"] for name in described["parts"]}
        state = {name.removeprefix("initial_state/"): part for name, part in arrays.items() if "/" in name}
        return {
            **{name: arrays.get(name) for name in ("states", "actions", "frames")},
            "initial_state": state or None,
            "absorbing": bool(described["absorbing"]),
            **{name: _text(described.get(name)) for name in ("name", "task")},
        }

    rate = metadata.get("rate")
    demonstrations = Demonstrations(
        each(parts, enumerate(metadata["episodes"])),
        _text(metadata["env_id"]),
        _text(metadata["source"]) or "",
        _text(metadata["render_fingerprint"]),
        None if rate is None else float(rate),
        _text(metadata.get("camera")),
        tuple(str(name) for name in metadata.get("cameras", ())),
        tuple((str(name), int(width)) for name, width in metadata.get("state_parts", ())),
        _text(metadata.get("origin")),
    )
    if demonstrations.checksum != metadata["checksum"]:
        raise InputError("the checksum does not match the content: the file is damaged, so make or copy it again.")
    return demonstrations


def _text(value: Any) -> str | None:
    if not (value is None or isinstance(value, str)):
        raise InputError("its metadata are not text.")
    return value
