"""Where the real demonstrations lie beside the project; tests that need them skip with a clear message elsewhere."""

import os
from pathlib import Path

import pytest

DATA = Path(os.environ.get("VISION_PWIL_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
DOOR = DATA / "door" / "door-v0_demos.pickle"
HAMMER = DATA / "adroit" / "AdroitHandHammer-v1.npz"
LOCOMOTION = DATA / "locomotion"

needs_shared = pytest.mark.skipif(
    not DATA.is_dir(), reason=f"the demonstrations are not at {DATA} (set VISION_PWIL_DATA)"
)
