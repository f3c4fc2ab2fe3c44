"""Keep freed memory: what a batch needs, up to tens of megabytes, is else mapped and cleared anew in every update."""

import ctypes
import sys

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # of mallopt(3), from malloc.h


def keep_freed_memory() -> None:
    """Tell glibc to reuse large blocks instead of returning them to the kernel: a tenth to a fifth of an update here.

    Other C libraries ignore it or lack it, and nothing but speed depends on it.
    """
    if sys.platform != "linux":
        return
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_MMAP_THRESHOLD, 1 << 30)
        mallopt(_TRIM_THRESHOLD, (1 << 31) - 1)
