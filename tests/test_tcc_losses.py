"""The losses against loops over frames written from the formulas, against finite differences, and at their limits."""

import math

import numpy as np
import pytest
import torch

from vision_pwil.tcc import losses

LENGTHS = [(4, 6), (5, 3), (2, 5)]


def make(dtype: torch.dtype = torch.float64) -> tuple[torch.Tensor, ...]:
    generator = torch.Generator().manual_seed(0)
    u, v = (torch.randn(3, 6, 4, generator=generator, dtype=dtype) for _ in range(2))
    frames = torch.arange(6)
    masks = [frames < torch.tensor(side)[:, None] for side in zip(*LENGTHS, strict=True)]
    return u, v, masks[0], masks[1]


def loop(kind: str, temperature: float, smoothing: float = 0.0, weight: float = 0.001) -> float:
    """Every frame by itself, with plain exponentials."""
    u_all, v_all, _, _ = (part.numpy() for part in make())
    terms = []
    for u_video, v_video, (n, m) in zip(u_all, v_all, LENGTHS, strict=True):
        u, v = u_video[:n], v_video[:m]
        for i in range(n):
            alpha = np.array([math.exp(-((u[i] - v[k]) ** 2).sum() / temperature) for k in range(m)])
            alpha /= alpha.sum()
            soft = sum(alpha[k] * v[k] for k in range(m))
            beta = np.array([math.exp(-((soft - u[k]) ** 2).sum() / temperature) for k in range(n)])
            beta /= beta.sum()
            mean = sum(beta[k] * k / n for k in range(n))
            variance = sum(beta[k] * (k / n - mean) ** 2 for k in range(n))
            error = (i / n - mean) ** 2
            if kind == "classification":
                target = [smoothing / n + (1 - smoothing) * (k == i) for k in range(n)]
                terms.append(-sum(target[k] * math.log(beta[k]) for k in range(n)))
            elif kind == "regression_mse":
                terms.append(error)
            else:
                terms.append(error / variance + weight * math.log(math.sqrt(variance)))
    return float(np.mean(terms))


@pytest.mark.parametrize("kind", list(losses.LOSSES))
@pytest.mark.parametrize("temperature", [0.7, 3.0])
def test_the_loss_is_that_of_a_loop_over_frames(kind: str, temperature: float) -> None:
    assert losses.LOSSES[kind](*make(), temperature).item() == pytest.approx(loop(kind, temperature), rel=1e-9)


def test_label_smoothing_spreads_the_target_over_real_frames() -> None:
    assert losses.classification(*make(), 2.0, 0.2).item() == pytest.approx(loop("classification", 2.0, 0.2), rel=1e-9)


@pytest.mark.parametrize("kind", list(losses.LOSSES))
def test_gradients_are_those_of_finite_differences(kind: str) -> None:
    u, v, u_mask, v_mask = make()
    u.requires_grad_()
    v.requires_grad_()
    assert torch.autograd.gradcheck(lambda a, b: losses.LOSSES[kind](a, b, u_mask, v_mask, 2.0), (u, v))


@pytest.mark.parametrize("kind", list(losses.LOSSES))
def test_padding_does_not_matter(kind: str) -> None:
    u, v, u_mask, v_mask = make()
    garbage_u = torch.where(u_mask[..., None], u, 1e3)
    garbage_v = torch.where(v_mask[..., None], v, -1e3)
    expected = losses.LOSSES[kind](u, v, u_mask, v_mask, 1.0)
    assert torch.allclose(losses.LOSSES[kind](garbage_u, garbage_v, u_mask, v_mask, 1.0), expected, rtol=1e-12)


def test_a_perfect_cycle_costs_nothing_and_a_collapsed_one_log_n() -> None:
    video = 10 * torch.eye(5, dtype=torch.float64)[None]
    mask = torch.ones(1, 5, dtype=torch.bool)
    assert losses.classification(video, video, mask, mask).item() == pytest.approx(0.0, abs=1e-12)
    collapsed = torch.zeros_like(video)
    assert losses.classification(collapsed, collapsed, mask, mask).item() == pytest.approx(math.log(5))


def time_contrast_loop(
    z: np.ndarray, time: np.ndarray, video: np.ndarray, temperature: float, width: float, composites: np.ndarray
) -> float:
    terms = []
    for i in range(len(z)):
        others = [k for k in range(len(z)) if video[k] != video[i]]
        target = np.array([math.exp(-((time[i] - time[k]) ** 2) / (2 * width**2)) for k in others])
        found = np.array([math.exp(-((z[i] - z[k]) ** 2).sum() / temperature) for k in others])
        wrong = sum(math.exp(-((z[i] - each) ** 2).sum() / temperature) for each in composites)
        terms.append(-(target / target.sum() * np.log(found / (found.sum() + wrong))).sum())
    return float(np.mean(terms))


def test_time_contrast_is_that_of_a_loop_and_has_its_gradient() -> None:
    generator = torch.Generator().manual_seed(1)
    z = torch.randn(7, 3, generator=generator, dtype=torch.float64, requires_grad=True)
    time = torch.tensor([0.0, 0.5, 1.0, 0.1, 0.9, 0.2, 0.6], dtype=torch.float64)
    video = torch.tensor([0, 0, 0, 1, 1, 2, 2])
    composites = torch.randn(4, 3, generator=generator, dtype=torch.float64, requires_grad=True)
    arrays = z.detach().numpy(), time.numpy(), video.numpy()
    expected = time_contrast_loop(*arrays, 2.0, 0.2, np.empty((0, 3)))
    assert losses.time_contrast(z, time, video, 2.0, 0.2).item() == pytest.approx(expected, rel=1e-9)
    expected = time_contrast_loop(*arrays, 2.0, 0.2, composites.detach().numpy())
    assert losses.time_contrast(z, time, video, 2.0, 0.2, composites).item() == pytest.approx(expected, rel=1e-9)
    assert torch.autograd.gradcheck(lambda x, y: losses.time_contrast(x, time, video, 2.0, 0.2, y), (z, composites))
