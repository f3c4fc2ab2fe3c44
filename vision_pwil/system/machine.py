"""What there is of the machine."""

import os
from pathlib import Path


def memory() -> int:
    """Bytes of memory, of the machine or of the container that this runs in."""
    installed = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:
        return min(installed, int(Path("/sys/fs/cgroup/memory.max").read_text()))
    except (OSError, ValueError):  # no container, or one without a limit
        return installed
