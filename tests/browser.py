"""Headless Chromium, driven through its debugging pipe with nothing but the standard library."""

import base64
import json
import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium here")
PATIENCE = 120  # seconds: machines are busy


class Browser:
    """One page in a browser; what it complains of is in `errors`."""

    def __init__(self, profile: Path) -> None:
        (to_read, self._write), (self._read, to_write) = os.pipe(), os.pipe()

        def inherit() -> None:  # the browser reads commands from 3 and writes answers to 4
            for source, target in ((os.dup(to_read), 3), (os.dup(to_write), 4)):
                os.dup2(source, target)

        flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", "--hide-scrollbars"]
        flags += [f"--user-data-dir={profile}", "--autoplay-policy=no-user-gesture-required", "--disable-dev-shm-usage"]
        self._process = subprocess.Popen(
            [CHROMIUM, *flags],
            preexec_fn=inherit,
            close_fds=False,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self._buffer, self._number, self._session, self.errors = b"", 0, None, []
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")
        self.requests: list[str] = []

    def send(self, method: str, **parameters) -> dict:
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._receive()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                return answer["result"]

    def _receive(self) -> dict:
        while b"\0" not in self._buffer:
            self._buffer += os.read(self._read, 1 << 20)
        message, _, self._buffer = self._buffer.partition(b"\0")
        event = json.loads(message)
        if event.get("method") == "Runtime.exceptionThrown":
            self.errors.append(event["params"]["exceptionDetails"])
        if event.get("method") == "Log.entryAdded" and event["params"]["entry"]["level"] == "error":
            self.errors.append(event["params"]["entry"]["text"])
        if event.get("method") == "Network.requestWillBeSent":
            self.requests.append(event["params"]["request"]["url"])
        return event

    def open(self, page: Path, width: int = 1100, *, dark: bool = False) -> None:
        metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        self.send("Emulation.setDeviceMetricsOverride", **metrics)
        theme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.send("Emulation.setEmulatedMedia", features=[theme])
        self.send("Page.navigate", url=page.resolve().as_uri())
        self.wait('document.readyState === "complete"')

    def run(self, script: str):
        """The value of an expression; a promise is awaited."""
        answer = self.send("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def wait(self, condition: str) -> None:
        end = time.monotonic() + PATIENCE
        while not self.run(condition):
            assert time.monotonic() < end, f"{condition} did not come true"
            time.sleep(0.1)

    def screenshot(self, path: Path) -> None:
        taken = self.send("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(taken["data"]))

    def close(self) -> None:
        self._process.terminate()
        self._process.wait(30)
        for handle in (self._write, self._read):
            os.close(handle)
