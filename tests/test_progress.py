"""Bars in a terminal and in a file."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios

CODE = """
import time
from vision_pwil.system import progress
progress.INTERVAL = 0.2
for _ in progress.progress(range(50), desc="long", unit="step"):
    time.sleep(0.02)
for _ in progress.progress(range(3), desc="short", leave=False):
    pass
"""


def test_a_file_gets_a_line_now_and_then():
    told = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True).stderr
    lines = told.splitlines()
    assert "\r" not in told and "\n\n" not in told
    assert 3 <= len(lines) <= 12 and all(re.match(r"long: +\d+%\|", line) for line in lines)  # of 51 states
    assert "0/50" in lines[0] and "50/50" in lines[-1]


def test_a_terminal_gets_a_line_that_moves():
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    process = subprocess.Popen([sys.executable, "-c", CODE], stderr=theirs)
    os.close(theirs)
    told = b""
    try:
        while part := os.read(ours, 4096):
            told += part
    except OSError:  # the other end was closed
        pass
    assert process.wait() == 0
    assert told.count(b"\r") > 5 and b"short" in told
