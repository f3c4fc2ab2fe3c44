"""Downloads: verified, whole or absent, and one clear sentence without a network."""

import hashlib
import http.server
import threading
from collections.abc import Iterator

import pytest

from tests.shared import DOOR, needs_shared
from tests.test_demonstrations import command
from vision_pwil.demonstrations.fetch import DOWNLOADS, Download, download, fetched_path
from vision_pwil.system.errors import InputError
from vision_pwil.system.files import sha256

CONTENT = bytes(range(256)) * 1000
DIGEST = hashlib.sha256(CONTENT).hexdigest()


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path == "/absent":
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(CONTENT)))
        self.end_headers()
        self.wfile.write(CONTENT[:1000] if self.path == "/cut" else CONTENT)

    def log_message(self, *_):
        pass


@pytest.fixture
def server() -> Iterator[str]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        thread = threading.Thread(target=running.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{running.server_port}"
        running.shutdown()
        thread.join()


def test_a_verified_download(server, tmp_path):
    path = tmp_path / "new" / "file.pickle"
    download(Download(f"{server}/file", DIGEST, ""), path)
    assert path.read_bytes() == CONTENT
    download(Download("http://127.0.0.1:9/gone", DIGEST, ""), path)  # there already: no network needed


@pytest.mark.parametrize(
    ("place", "digest", "message"),
    [
        ("file", "0" * 64, "not the expected file"),
        ("cut", DIGEST, "Could not download|not the expected file"),
        ("absent", DIGEST, "Could not download .*Not Found"),
    ],
)
def test_nothing_partial_or_wrong_is_left(server, tmp_path, place, digest, message):
    with pytest.raises(InputError, match=message):
        download(Download(f"{server}/{place}", digest, ""), tmp_path / "file.pickle")
    assert list(tmp_path.iterdir()) == []


def test_command_line_without_a_network(tmp_path):
    out = tmp_path / "door.pickle"
    failed = command("fetch", "door-human", "--out", out, https_proxy="http://127.0.0.1:9")
    assert failed.returncode == 2 and "Traceback" not in failed.stderr
    assert "error: Could not download https://" in failed.stderr and "check the network" in failed.stderr
    assert list(tmp_path.iterdir()) == []


@needs_shared
def test_the_known_checksum_is_that_of_the_published_file(tmp_path):
    assert sha256(DOOR) == DOWNLOADS["door-human"].sha256
    assert fetched_path("door-human", tmp_path) == tmp_path / DOOR.name
