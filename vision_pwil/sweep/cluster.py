"""Ray: started on this machine for a sweep, or a running cluster; each trial gets its cores and its retries."""

import logging
import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from vision_pwil.sweep.live import LiveTable
from vision_pwil.sweep.searches import Search
from vision_pwil.sweep.trial import Trial
from vision_pwil.system.errors import InputError

_OBJECT_STORE = 80 * 2**20  # bytes; trials exchange files, not objects, and Ray wants at least 75 MB
_STARTS = 5  # attempts: Ray gives up after 15 s for some of its parts, which a busy machine can take
_QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_AIR_NEW_OUTPUT": "0",
    "RAY_TRAIN_ENABLE_V2_MIGRATION_WARNINGS": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_CHDIR_TO_TRIAL_DIR": "0",
    "RAY_worker_niceness": "0",  # a trial runs as fast as by hand
    "TUNE_DISABLE_AUTO_CALLBACK_LOGGERS": "1",
}


@contextmanager
def connected(search: Search) -> Iterator[None]:
    """Ray, while a sweep runs: on loopback only, without dashboard and statistics, its own files removed at the end."""
    os.environ.update(_QUIET)
    if search.address is None or search.address.startswith(("127.", "localhost:")):
        os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"  # one machine: Ray then uses 127.0.0.1 alone
    try:
        import ray
    except ImportError:
        raise InputError('Sweeps need Ray, which is not installed: pip install "vision-pwil[sweeps]".') from None
    with tempfile.TemporaryDirectory(prefix="ray-", ignore_cleanup_errors=True) as folder:
        _initialise(search, folder)
        # Ray would end without letting the trials save.
        signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))
        try:
            most = max(node["Resources"].get("CPU", 0) for node in ray.nodes() if node["Alive"])
            if most < search.cpus_per_trial:
                raise InputError(f"A trial takes {search.cpus_per_trial} cores, and no node has more than {most:.0f}.")
            with _tidied_if_killed(folder):
                yield
        finally:
            ray.shutdown()


@contextmanager
def _tidied_if_killed(folder: str) -> Iterator[None]:
    """Have a process wait that, should this one be killed, removes Ray's files and ends its agents.

    Ray's other processes die with this one; its agents, which the raylet starts, else go on for a minute.
    """
    agents = [pid for child in _children("self") for pid in _children(child) if _title(pid).endswith("Agent")]
    script = f"read _; kill -KILL {' '.join(agents)}; rm -rf {shlex.quote(folder)}"  # read ends when this process does
    nothing = subprocess.DEVNULL
    with subprocess.Popen(
        ["sh", "-c", script], stdin=subprocess.PIPE, stdout=nothing, stderr=nothing, start_new_session=True
    ) as waiting:
        try:
            yield
        finally:
            waiting.kill()


def _children(pid: str) -> list[str]:
    """Process ids."""
    return [child for file in Path(f"/proc/{pid}/task").glob("*/children") for child in _read(file).split()]


def _title(pid: str) -> str:
    return _read(Path(f"/proc/{pid}/cmdline")).strip("\0 ")


def _read(file: Path) -> str:
    """A file of /proc; nothing where its process has ended."""
    try:
        return file.read_text()
    except OSError:
        return ""


def _initialise(search: Search, folder: str) -> None:
    import ray

    options: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.CRITICAL}
    if search.address is not None:
        _require_listener(search.address)
        try:
            ray.init(search.address, **options)
        except (ConnectionError, RuntimeError) as error:
            cause = str(error.__cause__ or error).strip().split("\n")[-1]
            raise InputError(f"The Ray cluster at {search.address} did not let us in: {cause}") from None
        return
    options |= {"include_dashboard": False, "object_store_memory": _OBJECT_STORE, "_temp_dir": folder}
    for attempt in range(_STARTS):
        try:
            ray.init("local", num_cpus=search.cpus or os.cpu_count(), **options)
            return
        except Exception as error:  # what Ray raises is no more specific
            if "AF_UNIX path length" in str(error):
                raise InputError(
                    f"{folder} is too long a path for Ray's sockets: set TMPDIR to a shorter one."
                ) from None
            if "timed out" not in str(error):
                raise
            print(f"Ray gave up starting (attempt {attempt + 1} of {_STARTS}).", file=sys.stderr)
    raise InputError("Ray does not start, as happens on a very busy machine: try again later.")


def _require_listener(address: str) -> None:
    """Ray itself would try for minutes."""
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host, int(port)), timeout=10).close()
    except (OSError, ValueError, OverflowError) as error:
        raise InputError(f"No Ray cluster answers at {address!r} ({error}): HOST:PORT of a head node.") from None


def run(search: Search, trials: Sequence[Trial], live: LiveTable) -> dict[Path, str]:
    """Run the trials; return what those that failed had to say."""
    from ray import tune

    from vision_pwil.sweep.runner import TrialRunner

    logging.getLogger("ray").setLevel(logging.CRITICAL)
    for left in search.out.glob(".tune-*"):  # of a sweep that was killed
        shutil.rmtree(left, ignore_errors=True)
    complaints: dict[Path, str] = {}

    class Watch(tune.Callback):
        def on_trial_start(self, iteration: int, trials: list, trial: Any, **info: Any) -> None:
            live.tell(trial.config["trial"], "running")

        def on_trial_recover(self, iteration: int, trials: list, trial: Any, **info: Any) -> None:
            live.tell(trial.config["trial"], "lost")

        def on_trial_error(self, iteration: int, trials: list, trial: Any, **info: Any) -> None:
            ours: Trial = trial.config["trial"]
            complaints[ours.folder] = f"lost more than {search.retries} times"
            live.tell(ours, "failed")

        def on_trial_complete(self, iteration: int, trials: list, trial: Any, **info: Any) -> None:
            ours: Trial = trial.config["trial"]
            if "complaint" in trial.last_result:
                complaints[ours.folder] = trial.last_result["complaint"]
            live.tell(ours, "failed" if ours.folder in complaints else "finished")

        def on_step_end(self, iteration: int, trials: list, **info: Any) -> None:
            live.refresh()

    with tempfile.TemporaryDirectory(dir=search.out, prefix=".tune-", ignore_cleanup_errors=True) as storage:
        tune.Tuner(
            tune.with_resources(TrialRunner, {"cpu": search.cpus_per_trial}),
            param_space={
                "trial": tune.grid_search(list(trials)),
                "cpus": search.cpus_per_trial,
                "directory": str(Path.cwd()),
            },
            tune_config=tune.TuneConfig(trial_dirname_creator=lambda trial: trial.trial_id),
            run_config=tune.RunConfig(
                name="sweep",
                storage_path=str(Path(storage).resolve()),
                checkpoint_config=tune.CheckpointConfig(checkpoint_at_end=False),  # trials keep their own
                failure_config=tune.FailureConfig(max_failures=search.retries),
                callbacks=[Watch()],
                verbose=0,
            ),
        ).fit()
    return complaints
