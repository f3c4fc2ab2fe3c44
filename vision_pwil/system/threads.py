"""How many threads this process computes with."""

import scipy.linalg.cython_blas  # noqa: F401  the BLAS that compiled code calls must be loaded to be told
import torch
from threadpoolctl import threadpool_limits


def use_threads(count: int) -> None:
    """Give torch and the BLAS of compiled code so many threads from now on."""
    torch.set_num_threads(count)
    threadpool_limits(count, user_api="blas")
