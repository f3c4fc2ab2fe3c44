"""The process of a trial: the command itself, which dies with its runner and is continued by the next one."""

import ctypes
import fcntl
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from ray.tune import Trainable

from vision_pwil.sweep.trial import Trial

_POLL = 2.0  # seconds between two looks at a trial
_PATIENCE = 120.0  # seconds for a trial to save when it is stopped, and for one of a lost runner to vanish
_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None)  # loaded here: between fork and exec nothing may be


def _before_exec() -> None:
    """In the new process: die with the runner, which may be killed; and hear Ctrl-C, which Ray's processes block."""
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


def _wait_until_free(folder: Path) -> None:
    """A runner can be lost to the cluster a little before its process is gone: let that one go first."""
    with (folder / "lock").open("a") as lock:
        deadline = time.monotonic() + _PATIENCE
        while time.monotonic() < deadline:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except OSError:
                time.sleep(0.5)


def start(trial: Trial, cpus: int, note: str = "") -> subprocess.Popen:
    """Run the trial's command as one would by hand; what it prints goes to its log."""
    trial.folder.mkdir(parents=True, exist_ok=True)
    _wait_until_free(trial.folder)
    threads = {f"{library}_NUM_THREADS": str(cpus) for library in ("OMP", "OPENBLAS", "MKL")}
    with trial.log.open("a") as log:
        log.write(f"$ {trial.line}  # on {socket.gethostname()}{note}, process {os.getpid()}, {time.ctime()}\n")
        log.flush()
        return subprocess.Popen(
            [sys.executable, *trial.command],
            env={**os.environ, **threads, "TQDM_MININTERVAL": "5"},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # Ctrl-C is for the sweep, which stops its trials itself
            preexec_fn=_before_exec,
        )


class TrialRunner(Trainable):
    """What Ray Tune runs for a trial, on any node; a lost one is replaced, and the same command goes on."""

    def setup(self, config: dict[str, Any]) -> None:
        """Start, or go on with, the trial."""
        import ray

        os.chdir(config["directory"])  # where the sweep was started: its paths hold here
        self.trial: Trial = config["trial"]
        node = f" node {ray.get_runtime_context().get_node_id()}"
        self.process = start(self.trial, config["cpus"], node)

    def step(self) -> dict[str, Any]:
        """Look at the process for a while: done, still at it, or failed in a way that would fail again."""
        try:
            status = self.process.wait(_POLL)
        except subprocess.TimeoutExpired:
            return {}
        if status == 0:
            self.trial.finish()
        if self.trial.finished:
            return {"done": True}
        if status in (1, 2):  # an error, or bad input
            return {"done": True, "complaint": self.trial.complaint()}
        raise RuntimeError(f"The trial was stopped from outside (status {status}).")  # Ray Tune starts it again

    def cleanup(self) -> None:
        """Stop as Ctrl-C does: the run saves, and can go on later."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            try:
                self.process.wait(_PATIENCE)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
