"""A process that plays episodes while the learner learns."""

import multiprocessing
import os
import signal
import time
import traceback
from contextlib import suppress
from pathlib import Path
from typing import Any

from vision_pwil.agents.protocol import Act
from vision_pwil.system.errors import InputError
from vision_pwil.system.interrupt import shielded
from vision_pwil.training.rollout import Assess, Collect, Playable, assess, collect

STOPPED = 10.0
"""Seconds after which a process that someone has stopped is replaced; a learner stopped with it finds it going on."""


def _serve(connection: Any) -> None:
    """The worker's life: answer requests until the other end closes."""
    for number in (signal.SIGINT, signal.SIGTERM):  # the learner decides when to stop, at an episode's end
        signal.signal(number, signal.SIG_IGN)
    import torch

    torch.set_num_threads(1)
    try:
        task, act = connection.recv()
        stage = task.stage()
        while True:
            request = connection.recv()
            work: Any = collect if isinstance(request, Collect) else assess
            connection.send(work(stage, act, request))
    except (EOFError, BrokenPipeError, ConnectionResetError):
        return
    except InputError as error:
        connection.send(error)
    except Exception:
        connection.send(RuntimeError(f"The worker that plays episodes failed:\n{traceback.format_exc()}"))


class Worker:
    """Plays one episode, or one evaluation, at a time.

    An episode is a function of its request. So a worker that dies (killed, or out of memory), or that someone has
    stopped, is replaced once, and the same request played again gives the same answer.
    """

    def __init__(self, task: Playable, act: Act) -> None:
        for library in ("OMP", "OPENBLAS", "MKL"):  # read when the worker loads numpy: one core each
            os.environ.setdefault(f"{library}_NUM_THREADS", "1")
        self._life = task, act
        self._deaths = 0
        self._start()

    def _start(self) -> None:
        self._running = time.monotonic()
        context = multiprocessing.get_context("spawn")
        self._connection, other = context.Pipe()
        self._process = context.Process(target=_serve, args=(other,), daemon=True)
        with shielded():
            self._process.start()
        other.close()
        # Not among the arguments: multiprocessing writes those into a pipe that it holds open itself, and would wait
        # for ever for a process that died before it had read them all.
        with suppress(BrokenPipeError, ConnectionResetError):  # who asks it for something will find out
            self._connection.send(self._life)

    def send(self, request: Collect | Assess) -> None:
        """Start on a request."""
        self._request = request
        try:
            self._connection.send(request)
        except (BrokenPipeError, ConnectionResetError):
            if not self.ready():  # otherwise its last words are there for `receive`
                self._replace()

    def ready(self, timeout: float = 0.0) -> bool:
        """Whether `receive` would return at once; waits for it up to `timeout` seconds."""
        if self._connection.poll(timeout):
            return True
        if not self._stopped():
            self._running = time.monotonic()
        elif time.monotonic() - self._running > STOPPED:
            self._replace()
        return False

    def _stopped(self) -> bool:
        """Whether the process was stopped (SIGSTOP) and does not go on."""
        try:
            return Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"
        except OSError:  # it has ended
            return False

    def receive(self) -> Any:
        """Wait for the answer to the request."""
        while True:
            try:
                if not self.ready(timeout=1.0):
                    continue
                answer = self._connection.recv()
                break
            except (EOFError, ConnectionResetError):
                self._replace()
        if isinstance(answer, Exception):
            raise answer
        self._deaths = 0
        return answer

    def _replace(self) -> None:
        """Start again, and play the request again; the second death in a row is the last."""
        self._deaths += 1
        self.close()
        if self._deaths > 1:
            words = "The worker that plays episodes died twice without a word (killed, stopped, or out of memory)"
            raise ChildProcessError(words)
        self._start()
        with suppress(BrokenPipeError, ConnectionResetError):  # `receive` will find out
            self._connection.send(self._request)

    def close(self) -> None:
        """End the process, in the middle of an episode if need be."""
        self._connection.close()
        self._process.join(timeout=0.5)
        self._process.kill()
        self._process.join()
