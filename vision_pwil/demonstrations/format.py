"""The package's own file of demonstrations: a zip of plain arrays and one JSON document, no pickle.

| member | content |
|---|---|
| `metadata.json` | `format` ("vision-pwil demonstrations"), `version` (1), `env_id`, `source`, `render_fingerprint`, `checksum`, and `episodes`: for each one `absorbing` and the names of its `parts` |
| `episodes/<k>/<part>.npy` | an array in numpy's .npy format; the parts are `states`, `actions`, `frames` and `initial_state/<key>`, each present or absent in each episode |

`checksum` is `Demonstrations.checksum`, the SHA-256 of everything but `source`; it is verified at every load. The
same demonstrations always give the same bytes. `numpy.load(path)` opens the arrays without this package.
"""  # noqa: E501

import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from vision_pwil.demonstrations.archive import Archive
from vision_pwil.demonstrations.episode import Demonstrations, Episode
from vision_pwil.demonstrations.parsing import each, parsing
from vision_pwil.system.errors import InputError
from vision_pwil.system.files import replacing

NAME = "vision-pwil demonstrations"
VERSION = 1


def save(demonstrations: Demonstrations, path: str | Path) -> None:
    """Write all episodes to one file, which is there whole or not at all."""
    metadata = {
        "format": NAME,
        "version": VERSION,
        "env_id": demonstrations.env_id,
        "source": demonstrations.source,
        "render_fingerprint": demonstrations.render_fingerprint,
        "checksum": demonstrations.checksum,
        "episodes": [
            {"absorbing": episode.absorbing, "parts": [name for name, _ in episode.parts()]}
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


def _member(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)
    info.compress_type = zipfile.ZIP_DEFLATED
    return info


def load(path: str | Path) -> Demonstrations:
    """Read a file written by `save`, and verify its checksum."""
    with parsing(path, "file of demonstrations"), zipfile.ZipFile(path) as file:
        archive = Archive(file)
        text = archive.text("metadata.json")
        if text is None:
            raise InputError("it has no metadata.json, so it is not in the format of this package.")
        return parse(json.loads(text), archive)


def parse(metadata: dict[str, Any], archive: Archive) -> Demonstrations:
    """The demonstrations in an open archive."""
    if metadata.get("format") != NAME:
        raise InputError(f"its metadata do not say {NAME!r}, so it is not in the format of this package.")
    if metadata["version"] != VERSION:
        raise InputError(f"it is in version {metadata['version']} of the format, and only version {VERSION} is known.")

    def episode(item: tuple[int, dict[str, Any]]) -> Episode:
        number, described = item
        parts = {name: archive[f"episodes/{number}/{name}"] for name in described["parts"]}
        state = {name.removeprefix("initial_state/"): part for name, part in parts.items() if "/" in name}
        absorbing = bool(described["absorbing"])
        return Episode(parts.get("states"), parts.get("actions"), parts.get("frames"), state or None, absorbing)

    episodes = each(episode, enumerate(metadata["episodes"]))
    texts = {name: metadata[name] for name in ("env_id", "source", "render_fingerprint")}
    if not all(value is None or isinstance(value, str) for value in texts.values()):
        raise InputError("its metadata are not text.")
    demonstrations = Demonstrations(
        tuple(episodes), texts["env_id"], texts["source"] or "", texts["render_fingerprint"]
    )
    if demonstrations.checksum != metadata["checksum"]:
        raise InputError("the checksum does not match the content: the file is damaged, so make or copy it again.")
    return demonstrations
