"""The demonstrations that come with the package, by name: "door", "Hopper-v5", "Reacher-v5"."""

from pathlib import Path

_ASSETS = Path(__file__).parent / "assets"


def names() -> list[str]:
    """What there is."""
    return sorted(path.stem for path in _ASSETS.glob("*.demos"))


def find(path: str | Path) -> Path:
    """The path itself if there is something at it, else the shipped file of that name, else the path."""
    if not Path(path).exists() and str(path) in names():
        return _ASSETS / f"{path}.demos"
    return Path(path)
