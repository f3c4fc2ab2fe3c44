"""The rooms of the package: what may import what, and how many there are."""

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "vision_pwil"
LAYERS = [
    {"system"},
    {"demonstrations"},
    {"encoder"},
    {"rewards"},
    {"envs", "door_env"},
    {"tcc"},
    {"agents", "sac"},
    {"training"},
    {"verdict"},
    {"tasks"},
    {"sweep"},
    {"commands", "train_door", "train_locomotion"},
]
"""From the ground up. A room imports from its own layer and from those before it."""
HEIGHT = {room: height for height, rooms in enumerate(LAYERS) for room in rooms}
MODULES = sorted(path for path in PACKAGE.rglob("*.py") if path.parent != PACKAGE or path.stem in HEIGHT)


def room_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported(path: Path) -> Iterator[str]:
    """Modules of this package that a file imports, anywhere in it."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.startswith("vision_pwil."))
        elif isinstance(node, ast.ImportFrom) and node.module == "vision_pwil":
            yield from (f"vision_pwil.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("vision_pwil."):
            yield node.module


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_down(path):
    for name in imported(path):
        room = name.split(".")[1]
        if room in HEIGHT:
            assert HEIGHT[room] <= HEIGHT[room_of(path)], f"{path} imports {name}, from a room above its own"


@pytest.mark.parametrize("path", sorted((PACKAGE / "rewards").glob("*.py")), ids=lambda path: path.name)
def test_rewards_know_no_torch(path):
    assert "import torch" not in path.read_text()


def test_the_house_has_sixteen_rooms():
    known = {"__init__.py", "__main__.py", "py.typed", "__pycache__"}
    rooms = {path.name.removesuffix(".py") for path in PACKAGE.iterdir() if path.name not in known}
    assert rooms == set(HEIGHT) and len(rooms) <= 16


def test_no_two_classes_have_one_name():
    nodes = (node for path in MODULES for node in ast.walk(ast.parse(path.read_text())))
    named = Counter(node.name for node in nodes if isinstance(node, ast.ClassDef))
    assert [name for name, count in named.items() if count > 1 and not name.startswith("_")] == []
