"""What compiled code of the agents is made of: functions of float32 numbers that vectors can hold, and Adam.

Everything compiled works on one thread beside BLAS, and in a fixed order: the same machine gives the same bits. The
first update on a machine waits about 20 seconds for the compiler. Its work is kept in `__pycache__` and remade when the
file of a function changes, but not when only a file that it imports from does: then remove the caches.
"""

import math

import numpy as np
from numba import njit

# Sums may be taken in another order, which vectors need. With Python's error model every division would be checked for
# zero, and no loop with one could be vectorised. Each function becomes a part of its callers, although that takes the
# compiler longer: a function called would be one of several copies, whose sums differ in their order, and the process
# that compiles them would take another copy than those that find them compiled.
_common = {"cache": True, "nogil": True, "error_model": "numpy", "forceinline": True}
kernel = njit(**_common, fastmath={"reassoc", "contract", "nsz"})
# Where the order of operations is what makes the result exact. Not to say so would mean: as the first caller compiled.
_exact = njit(**_common, fastmath=False)

F32, _I = np.float32, np.int32
ZERO, HALF, ONE, TWO = F32(0.0), F32(0.5), F32(1.0), F32(2.0)
_LOG2_E = F32(math.log2(math.e))
_LN2_HIGH, _LN2_LOW = F32(0.693359375), F32(-2.12194440e-4)  # together log(2), beyond float32's precision
_SQRT_HALF = _I(0x3F3504F3)  # the bits of sqrt(1/2)


@_exact
def exp(x):
    """exp(x) to float32's rounding, for x from -87 to 88: 2^n times a polynomial of the rest (Cephes).

    Unlike the C library's it becomes a part of the loop that it stands in, and so of its vectors.
    """
    x = F32(-87.0) if x < F32(-87.0) else x  # so written that NaN stays NaN, and a divergence is seen
    x = F32(88.0) if x > F32(88.0) else x
    n = np.floor(x * _LOG2_E + HALF)
    r = x - n * _LN2_HIGH - n * _LN2_LOW
    p = F32(1.9875691500e-4)
    p = p * r + F32(1.3981999507e-3)
    p = p * r + F32(8.3334519073e-3)
    p = p * r + F32(4.1665795894e-2)
    p = p * r + F32(1.6666665459e-1)
    p = p * r + F32(5.0000001201e-1)
    p = p * r * r + r + ONE
    return p * _I((_I(n) + _I(127)) << _I(23)).view(F32)


@_exact
def log(x):
    """log(x) of a positive number to float32's rounding: the exponent's part plus a polynomial (Cephes)."""
    bits = _I(F32(x).view(_I) - _SQRT_HALF)
    n = F32(bits >> _I(23))
    r = _I(_I(bits & _I(0x7FFFFF)) + _SQRT_HALF).view(F32) - ONE  # x / 2^n - 1, between sqrt(1/2) - 1 and sqrt(2) - 1
    p = F32(7.0376836292e-2)
    p = p * r + F32(-1.1514610310e-1)
    p = p * r + F32(1.1676998740e-1)
    p = p * r + F32(-1.2420140846e-1)
    p = p * r + F32(1.4249322787e-1)
    p = p * r + F32(-1.6668057665e-1)
    p = p * r + F32(2.0000714765e-1)
    p = p * r + F32(-2.4999993993e-1)
    p = p * r + F32(3.3333331174e-1)
    square = r * r
    return r - HALF * square + p * r * square + n * _LN2_LOW + n * _LN2_HIGH


@_exact
def tanh(x):
    """tanh(x), within float32's rounding of 1."""
    q = exp(-TWO * abs(x))
    y = (ONE - q) / (ONE + q)
    return y if x > ZERO else -y


@kernel
def adam(values, gradient, mean, square, step_size, correction):
    """One step of Adam (Kingma and Ba 2015) with beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8.

    `step_size` is the learning rate / (1 - beta1^t), `correction` is 1 / sqrt(1 - beta2^t).
    """
    for i in range(values.size):
        m = mean[i] + F32(0.1) * (gradient[i] - mean[i])
        v = square[i] + F32(0.001) * (gradient[i] * gradient[i] - square[i])
        mean[i] = m
        square[i] = v
        values[i] -= step_size * m / (math.sqrt(v) * correction + F32(1e-8))


@kernel
def adam_and_follow(values, gradient, mean, square, step_size, correction, average, rate):
    """The same, and an average that moves the fraction `rate` of the way to the new values."""
    for i in range(values.size):
        m = mean[i] + F32(0.1) * (gradient[i] - mean[i])
        v = square[i] + F32(0.001) * (gradient[i] * gradient[i] - square[i])
        mean[i] = m
        square[i] = v
        value = values[i] - step_size * m / (math.sqrt(v) * correction + F32(1e-8))
        values[i] = value
        average[i] += rate * (value - average[i])
