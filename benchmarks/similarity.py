"""Structural similarity of frames: whether two pictures are the same to a person."""

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter


def structural_similarity(frames: NDArray[np.uint8], others: NDArray[np.uint8]) -> NDArray[np.float64]:
    """SSIM of each pair of frames (Wang et al. 2004: Gaussian window of 1.5 pixels, K1 = 0.01, K2 = 0.03)."""

    def blur(values: NDArray[np.float64]) -> NDArray[np.float64]:
        return gaussian_filter(values, 1.5, axes=(-3, -2), truncate=3.5)

    x, y = frames.astype(np.float64), others.astype(np.float64)
    mean_x, mean_y = blur(x), blur(y)
    variance_x, variance_y = blur(x * x) - mean_x**2, blur(y * y) - mean_y**2
    covariance = blur(x * y) - mean_x * mean_y
    c1, c2 = (0.01 * 255) ** 2, (0.03 * 255) ** 2
    index = (2 * mean_x * mean_y + c1) * (2 * covariance + c2)
    index /= (mean_x**2 + mean_y**2 + c1) * (variance_x + variance_y + c2)
    return index.mean(axis=(-3, -2, -1))
