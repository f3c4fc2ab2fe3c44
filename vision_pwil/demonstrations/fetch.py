"""Download public demonstrations, verified against a known checksum; nothing partial is ever left."""

import hashlib
import http.client
import urllib.request
from pathlib import Path
from typing import NamedTuple

from vision_pwil.demonstrations.cache import cache_folder
from vision_pwil.system.errors import InputError
from vision_pwil.system.files import replacing, sha256
from vision_pwil.system.progress import progress


class Download(NamedTuple):
    """A public file and what its bytes must hash to."""

    url: str
    sha256: str
    licence: str


DOWNLOADS = {
    "door-human": Download(
        "https://raw.githubusercontent.com/aravindr93/hand_dapg/9a1de23df6574e1b94e1da742e3326eb1f61c013"
        "/dapg/demonstrations/door-v0_demos.pickle",
        "d6ec9a090261f901e5c9bf10082799e30c8d34c3f28aef4026e492a1aefc96c3",
        "Apache-2.0, Rajeswaran et al. 2018",
    )
}
"""The 25 human demonstrations of the door task, recorded by the authors of DAPG."""


def fetched_path(name: str, cache_dir: str | Path | None = None) -> Path:
    """Where `fetch` puts a file."""
    return cache_folder(cache_dir) / DOWNLOADS[name].url.rsplit("/", 1)[1]


def download(source: Download, path: Path) -> None:
    """Fetch the file to `path`, unless it is there already; it appears only once its checksum is verified."""
    if path.exists() and sha256(path) == source.sha256:
        return
    digest = hashlib.sha256()
    with replacing(path) as temporary:
        try:
            with urllib.request.urlopen(source.url, timeout=30) as response, temporary.open("wb") as file:
                size = int(response.headers.get("Content-Length") or 0) or None
                with progress(total=size, desc=path.name, unit="B", unit_scale=True) as bar:
                    while block := response.read(1 << 16):
                        file.write(block)
                        digest.update(block)
                        bar.update(len(block))
        except (OSError, http.client.HTTPException) as error:
            reason = getattr(error, "reason", None) or error
            raise InputError(
                f"Could not download {source.url} ({reason}): check the network, or fetch it elsewhere, "
                f"save it as {path}, and run this again."
            ) from None
        if digest.hexdigest() != source.sha256:
            raise InputError(
                f"What came from {source.url} is not the expected file (SHA-256 {digest.hexdigest()}, "
                f"expected {source.sha256}), so it was not kept: try again later."
            )
