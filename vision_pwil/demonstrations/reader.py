"""Read demonstrations in any known format, recognised by content rather than by name."""

from pathlib import Path

from vision_pwil.demonstrations import shipped
from vision_pwil.demonstrations.episode import Demonstrations
from vision_pwil.demonstrations.options import Fit, Options
from vision_pwil.system.errors import InputError
from vision_pwil.system.files import parsing


def read(
    path: str | Path,
    *,
    camera: str | None = None,
    filter: str | None = None,
    size: int | None = 84,
    fit: Fit = "crop",
) -> Demonstrations:
    """Read demonstrations from a file or folder in any format of the table, or those that come with the package.

    Args:
        path: a file, a folder, or a name of `shipped.names()`: "door", "Hopper-v5"; what is there on disk comes first.
        camera: which camera's pictures to read; needed where there are several.
        filter: which subset to read, by the name that the file gives it (robomimic's masks).
        size: height and width that pictures are resized to; None leaves them as they are.
        fit: what becomes of a picture that is not square: its middle is cropped, or it is padded, or stretched.
    """
    from vision_pwil.demonstrations.formats import FORMATS  # imports slowly

    options = Options(camera, filter, size, fit)
    path = shipped.find(path)
    with parsing(path, "file"):
        if not path.exists():
            names = ", ".join(f'"{name}"' for name in shipped.names())
            raise InputError(f"it does not exist, and demonstrations that come with the package are named {names}.")
        if not path.is_dir() and not path.is_file():
            raise InputError("it is neither a file nor a folder.")
        if path.is_file() and not path.stat().st_size:
            raise InputError("the file is empty.")
        format = next((format for format in FORMATS if format.recognises(path)), None)
    if format is None:
        raise InputError(f"{path} is in none of the known formats: {'; '.join(format.name for format in FORMATS)}.")
    for name in ("camera", "filter"):
        if getattr(options, name) is not None and name not in format.takes:
            raise InputError(f"{path} is a {format.name}, which has no {name} to choose: leave --{name} out.")
    with parsing(path, format.name):
        return format.read(path, options)
