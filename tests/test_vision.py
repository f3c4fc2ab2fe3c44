import subprocess
import sys

import numpy as np
import torch

from vision_pwil.system.vision import functional, make_grid


def test_transforms_work_beside_the_cpu_build_of_torch() -> None:
    frame = torch.arange(3 * 6 * 8, dtype=torch.uint8).reshape(3, 6, 8)
    flipped = functional.horizontal_flip(frame)
    assert torch.equal(flipped, frame.flip(-1))
    cropped = functional.center_crop(frame, 4)
    assert torch.equal(cropped, frame[:, 1:5, 2:6])


def test_make_grid_places_the_pictures_in_rows() -> None:
    pictures = torch.arange(4.0)[:, None, None, None].expand(4, 3, 2, 2)
    grid = make_grid(pictures, nrow=2, padding=0)
    assert grid.shape == (3, 4, 4)
    np.testing.assert_array_equal(grid[0, ::2, ::2], [[0, 1], [2, 3]])


def test_importing_twice_and_torchvision_afterwards_is_harmless() -> None:
    code = (
        "from vision_pwil.system import vision; import importlib, torchvision; importlib.reload(vision); print('fine')"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert result.stdout.strip() == "fine", result.stderr
