"""Temporal cycle-consistency losses (Dwibedi et al. 2019, section 3) as pure functions of embedded videos.

Videos are padded to a common length: `u` (P,N,d) and `v` (P,M,d) hold P pairs, the masks tell real frames from padding.
Similarity is minus the squared L2 distance over a temperature, on the way there and on the way back.
"""

from collections.abc import Callable

import torch
from torch import Tensor


def similarity(u: Tensor, v: Tensor, mask: Tensor, temperature: float) -> Tensor:
    """Minus the squared distance of every u_i to every v_k over the temperature, (P,N,M); minus infinity at padding."""
    squares = u.square().sum(-1)[..., :, None] + v.square().sum(-1)[..., None, :] - 2 * u @ v.transpose(-1, -2)
    return (-squares / temperature).masked_fill(~mask[..., None, :], -torch.inf)


def cycle_back(u: Tensor, v: Tensor, u_mask: Tensor, v_mask: Tensor, temperature: float) -> Tensor:
    """Log-probability (P,N,N) that frame i of u, sent to its soft nearest neighbour in v, comes back to frame k."""
    neighbour = similarity(u, v, v_mask, temperature).softmax(-1) @ v
    return similarity(neighbour, u, u_mask, temperature).log_softmax(-1)


def classification(
    u: Tensor, v: Tensor, u_mask: Tensor, v_mask: Tensor, temperature: float = 0.1, smoothing: float = 0.0
) -> Tensor:
    """Cross-entropy of the cycled-back index (section 3.2, the form the paper used), mean over real frames.

    `smoothing` spreads that share of the target evenly over the real frames of u.
    """
    log_probability = cycle_back(u, v, u_mask, v_mask, temperature)
    loss = -log_probability.diagonal(dim1=-2, dim2=-1)
    if smoothing:
        uniform = -log_probability.masked_fill(~u_mask[:, None, :], 0).sum(-1) / u_mask.sum(-1, keepdim=True)
        loss = (1 - smoothing) * loss + smoothing * uniform
    return loss[u_mask].mean()


def _cycled_index(
    u: Tensor, v: Tensor, u_mask: Tensor, v_mask: Tensor, temperature: float
) -> tuple[Tensor, Tensor, Tensor]:
    """Index i, and mean and variance of the index it cycles back to, all over the length of the video."""
    probability = cycle_back(u, v, u_mask, v_mask, temperature).exp()
    length = u_mask.sum(-1, keepdim=True)
    index = torch.arange(u.shape[-2], dtype=u.dtype, device=u.device) / length
    mean = (probability * index[:, None, :]).sum(-1)
    variance = (probability * (index[:, None, :] - mean[..., None]).square()).sum(-1)
    return index, mean, variance


def regression_mse(u: Tensor, v: Tensor, u_mask: Tensor, v_mask: Tensor, temperature: float = 0.1) -> Tensor:
    """Squared error of the mean cycled-back time (section 3.3 without the variance), time in lengths of the video."""
    index, mean, _ = _cycled_index(u, v, u_mask, v_mask, temperature)
    return (index - mean).square()[u_mask].mean()


def regression_mse_var(
    u: Tensor, v: Tensor, u_mask: Tensor, v_mask: Tensor, temperature: float = 0.1, variance_weight: float = 0.001
) -> Tensor:
    """The squared error over the variance plus `variance_weight` log sigma (section 3.3, equation 6)."""
    index, mean, variance = _cycled_index(u, v, u_mask, v_mask, temperature)
    # The floor is far below one frame squared; it keeps a one-hot return from dividing by zero.
    variance = variance.clamp_min(1e-6)
    return ((index - mean).square() / variance + variance_weight * 0.5 * variance.log())[u_mask].mean()


LOSSES: dict[str, Callable[..., Tensor]] = {
    "classification": classification,
    "regression_mse": regression_mse,
    "regression_mse_var": regression_mse_var,
}


def time_contrast(
    z: Tensor, time: Tensor, video: Tensor, temperature: float, width: float, composites: Tensor | None = None
) -> Tensor:
    """Cross-entropy between who is near in time and who is near in the embedding, across videos; needs no labels.

    `z` (n,d) are frames of several videos, `time` (n,) their times as a share of their video, `video` (n,) their
    videos. Among the frames of the other videos, frame i should find frame k with probability proportional to a
    Gaussian of `width` in time: the sequence contrastive loss of Chen et al. 2022, taken from one video to another.
    `composites` (m,d), synthetic frames, are negatives for every frame.
    """
    same = video[:, None] == video[None, :]
    target = (-(time[:, None] - time[None, :]).square() / (2 * width**2)).masked_fill(same, -torch.inf).softmax(-1)
    others = z if composites is None else torch.cat([z, composites])
    near = similarity(z, others, others.new_ones(len(others), dtype=torch.bool), temperature)
    hidden = torch.nn.functional.pad(same, (0, len(others) - len(z)))
    log_probability = near.masked_fill(hidden, -torch.inf).log_softmax(-1)[:, : len(z)]
    return -(target * log_probability.masked_fill(same, 0)).sum(-1).mean()
