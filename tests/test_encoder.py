"""The encoder: its layers, its normalisation, and its file."""

from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from vision_pwil.encoder import Encoder, Provenance
from vision_pwil.system import checkpoint
from vision_pwil.system.errors import InputError


def frames(count: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (count, 84, 84, 3), dtype=np.uint8)


def test_it_is_the_network_of_the_paper() -> None:
    shapes = [tuple(parameter.shape) for parameter in Encoder().parameters()]
    assert shapes == [
        *((128, 3, 8, 8), (128,)),
        *((64, 128, 4, 4), (64,)),
        *((64, 64, 3, 3), (64,)),
        *((128, 3136), (128,)),
        *((32, 128), (32,)),
    ]


def test_it_computes_what_its_layers_say() -> None:
    """Against numpy, one window at a time."""
    encoder, image = Encoder(mean=np.full((84, 84, 3), 100.0), scale=50.0), frames(1)
    x = (image[0].astype(np.float64) - 100) / 50
    weights = [parameter.detach().numpy().astype(np.float64) for parameter in encoder.parameters()]
    for (kernel, bias), stride in zip(
        ((weights[0], weights[1]), (weights[2], weights[3]), (weights[4], weights[5])), (4, 2, 1), strict=True
    ):
        size = kernel.shape[-1]
        steps = range(0, x.shape[0] - size + 1, stride)
        windows = np.array([[x[i : i + size, j : j + size] for j in steps] for i in steps])
        x = np.maximum(np.einsum("ijyxc,ocyx->ijo", windows, kernel) + bias, 0)
    flat = x.transpose(2, 0, 1).ravel()
    expected = weights[8] @ np.maximum(weights[6] @ flat + weights[7], 0) + weights[9]
    np.testing.assert_allclose(encoder.embed(image)[0], expected, atol=1e-5)


def test_embedding_does_not_depend_on_batches() -> None:
    encoder, images = Encoder(), frames(7)
    np.testing.assert_allclose(encoder.embed(images, batch_size=3), encoder.embed(images), atol=1e-6)
    assert encoder.embed(images[:0]).shape == (0, 32)


def test_rescaling_multiplies_every_embedding() -> None:
    torch.manual_seed(0)
    encoder, images = Encoder(), frames(2)
    # In float32 a small sum of large terms is only as exact as the terms.
    np.testing.assert_allclose(encoder.rescaled(3.0).embed(images), 3 * encoder.embed(images), rtol=1e-5, atol=1e-6)


def test_the_file_gives_back_weights_normalisation_and_provenance(tmp_path: Path) -> None:
    torch.manual_seed(1)
    encoder = Encoder(mean=frames(1)[0], scale=33.0)
    encoder.provenance = Provenance("view", "sum", (3, 1), 0.98, 0.91, 2000, {"learning_rate": 1e-3})
    encoder.save(tmp_path / "encoder.safetensors")
    copy = Encoder.load(tmp_path / "encoder.safetensors")
    assert copy.provenance == encoder.provenance
    assert (copy.embed(frames(3)) == encoder.embed(frames(3))).all()


def test_other_frames_are_refused() -> None:
    with pytest.raises(InputError, match=r"uint8 frames of shape \(n, 84, 84, 3\)"):
        Encoder().embed(np.zeros((2, 64, 64, 3), np.uint8))


def test_other_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not exist"):
        Encoder.load(tmp_path / "missing")
    (tmp_path / "text").write_text("not tensors")
    with pytest.raises(InputError, match="not a readable encoder file"):
        Encoder.load(tmp_path / "text")
    save_file({"x": torch.zeros(1)}, tmp_path / "foreign")
    with pytest.raises(InputError, match="no checksum"):
        Encoder.load(tmp_path / "foreign")
    checkpoint.save(tmp_path / "policy", {"x": torch.zeros(1)}, {"agent": "sac"})
    with pytest.raises(InputError, match="not an encoder file"):
        Encoder.load(tmp_path / "policy")
    checkpoint.save(tmp_path / "unfit", {"x": torch.zeros(1)}, {"format": "vision_pwil.encoder.2", "provenance": {}})
    with pytest.raises(InputError, match="do not fit"):
        Encoder.load(tmp_path / "unfit")
