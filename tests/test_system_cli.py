"""Commands end with a sentence and a status, whatever goes wrong and whenever Ctrl-C comes."""

import errno
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from vision_pwil.system import cli
from vision_pwil.system.errors import InputError, Interrupted
from vision_pwil.system.interrupt import asked_to_stop, shielded

ROOT = Path(__file__).resolve().parents[1]
DEMOS = ROOT / "vision_pwil" / "demonstrations" / "assets" / "door.demos"


@pytest.mark.parametrize(
    ("error", "status", "sentence"),
    [
        (InputError("The door is shut."), 2, "error: The door is shut.\n"),
        (Interrupted("Saved at step 5."), 130, "\nSaved at step 5.\n"),
        (KeyboardInterrupt(), 130, "\nStopped; nothing is left half written.\n"),
        (
            OSError(errno.ENOSPC, "No space left on device", "runs/x"),
            1,
            "error: runs/x: No space left on device; free some space, then give the same command again.\n",
        ),
        (
            PermissionError(errno.EACCES, "Permission denied", "runs"),
            1,
            "error: runs: Permission denied; check its permissions, or choose another folder.\n",
        ),
        (OSError("odd"), 1, "error: odd.\n"),
    ],
)
def test_errors_become_a_sentence_and_a_status(error, status, sentence, capsys):
    def command() -> None:
        raise error

    before = signal.getsignal(signal.SIGINT)
    try:
        with pytest.raises(SystemExit) as ended:
            cli.run(command, args=[])
    finally:
        signal.signal(signal.SIGINT, before)
    assert ended.value.code == status
    assert capsys.readouterr().err == sentence


def test_where_nothing_can_be_written_one_sentence():
    line = [sys.executable, "-m", "vision_pwil", "demonstrations", "convert", str(DEMOS), "/sys/kernel/door.demos"]
    done = subprocess.run(line, capture_output=True, text=True)
    assert done.returncode == 1 and done.stderr.splitlines()[-1].startswith("error: /sys/kernel/door.demos: ")
    assert "Traceback" not in done.stderr


def test_ctrl_c_while_an_audit_runs(tmp_path):
    line = [sys.executable, "-m", "vision_pwil", "audit", "--env", "Hopper-v5", "--episodes", "9999"]
    process = subprocess.Popen([*line, "--out", str(tmp_path / "out")], stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    time.sleep(12)  # while it imports it ends in the same way
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=120)
    assert process.returncode == 130 and "Traceback" not in said, said
    assert not (tmp_path / "out").exists()


def test_a_fault_of_the_program_is_not_hidden():
    def command() -> None:
        raise RuntimeError("a bug")

    with pytest.raises(RuntimeError, match="a bug"):
        cli.run(command, args=[])


def test_a_full_device_is_told():
    code = "from vision_pwil.system import cli; cli.run(lambda: print('x'), args=[])"
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([sys.executable, "-c", code], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1 and done.stderr.startswith("error: No space left on device; free some space")


@pytest.mark.parametrize("words", [["inspect", DEMOS], ["--help"]], ids=["inspect", "help"])
def test_nobody_reads_the_output(words, tmp_path):
    """As `| head -0` does: the reader is gone before anything is written."""
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-m", "vision_pwil", "demonstrations", *words],
        stdout=writer,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=False,
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, b"")


def test_ctrl_c_while_the_command_is_imported(tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-X", "importtime", "-m", "vision_pwil.train_locomotion", "--help"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert process.stderr is not None
    assert any("numpy" in line for line in iter(process.stderr.readline, "")), "it imports none"
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 130 and output == ""
    assert "Stopped before it began." in errors and "Traceback" not in errors


IN_A_CALLBACK = """
import ctypes, sys, time
from vision_pwil.system import cli

def wait():
    print("inside", flush=True)
    time.sleep(60)

def main():
    ctypes.CFUNCTYPE(None)(wait)()  # what wait raises is ignored, as in numba's calls to LLVM
    if sys.argv[1] == "error":
        raise RuntimeError("a library that misses what the callback should have made")
    time.sleep(60)

cli.run(main, args=[])
"""


@pytest.mark.parametrize("then", ["nothing", "error"])
def test_ctrl_c_inside_a_callback_of_a_compiled_library_is_not_lost(then):
    process = subprocess.Popen(
        [sys.executable, "-c", IN_A_CALLBACK, then], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None and process.stdout.readline() == "inside\n"
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert (process.returncode, errors) == (130, "\nStopped; nothing is left half written.\n")


def test_processes_started_in_a_shield_do_not_hear_ctrl_c():
    code = "import signal, os; os.kill(os.getpid(), signal.SIGINT); print('alive')"
    with shielded():
        inside = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    outside = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert inside.stdout == "alive\n" and inside.returncode == 0
    assert outside.stdout == ""
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, [])


def test_the_first_signal_asks_and_the_second_insists():
    with asked_to_stop() as stop:
        assert not stop.is_set()
        signal.raise_signal(signal.SIGTERM)
        assert stop.is_set()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)


def test_outside_the_main_thread_nobody_asks():
    seen: list[bool] = []

    def work() -> None:
        with asked_to_stop() as stop:
            seen.append(stop.is_set())

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [False]
