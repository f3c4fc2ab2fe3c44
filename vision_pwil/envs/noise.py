"""Exploration noise of a whole episode: white, or correlated in time."""

import numpy as np


def colored(steps: int, size: int, exponent: float, rng: np.random.Generator) -> np.ndarray:
    """Standard normal noise (steps, size), each column with a power spectrum of 1/f^exponent.

    0 is white noise, what SAC draws; 1 is pink noise, which moves a body further than white noise of the same
    strength (Eberhard et al. 2023, "Pink noise is all you need"). Each value is standard normal by itself.
    """
    if exponent == 0.0:
        return rng.standard_normal((steps, size))
    frequencies = np.fft.rfftfreq(steps)
    amplitudes = np.maximum(frequencies, 1.0 / steps) ** (-exponent / 2.0)
    phases = rng.standard_normal((len(frequencies), size, 2))
    phases[0, :, 1] = 0.0  # the mean, and at an even length the highest frequency, are real
    phases[0] *= np.sqrt(2.0)
    if steps % 2 == 0:
        phases[-1, :, 1] = 0.0
        phases[-1] *= np.sqrt(2.0)
    spectrum = amplitudes[:, None] * (phases[..., 0] + 1j * phases[..., 1])
    # Variance of irfft: the sum over all frequencies, positive and negative, of twice the squared amplitude, over N^2.
    power = 2.0 * (amplitudes[0] ** 2 + 2.0 * (amplitudes[1:] ** 2).sum())
    if steps % 2 == 0:
        power -= 2.0 * amplitudes[-1] ** 2
    return np.fft.irfft(spectrum, n=steps, axis=0) * (steps / np.sqrt(power))
