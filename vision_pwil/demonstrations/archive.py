"""Arrays in a zip file, as numpy's .npz holds them, read without trusting the file: no pickle, sizes checked first."""

import ast
import math
import struct
import zipfile
from collections.abc import Iterator, Mapping

import numpy as np

from vision_pwil.demonstrations.episode import Array
from vision_pwil.system import memory
from vision_pwil.system.errors import InputError

_MAGIC = b"\x93NUMPY"
_HEADER_LENGTH = {1: "<H", 2: "<I", 3: "<I"}


def _parse(data: bytes) -> Array:
    """The array in the bytes of an .npy file (format 1, 2 or 3); its size must match its header exactly."""
    version = data[6] if data[:6] == _MAGIC else None
    if version not in _HEADER_LENGTH:
        raise InputError("an array in it is not in numpy's .npy format.")
    start = 8 + struct.calcsize(_HEADER_LENGTH[version])
    (length,) = struct.unpack(_HEADER_LENGTH[version], data[8:start])
    if length > 10_000:
        raise InputError("an array in it has an absurdly long header.")
    header = ast.literal_eval(data[start : start + length].decode("latin-1").strip())
    dtype, shape = np.dtype(str(header["descr"])), tuple(int(size) for size in header["shape"])
    if dtype.kind not in "biuf" or min(shape, default=1) < 0:
        raise InputError(f"an array in it is {dtype} of shape {shape}, and only arrays of numbers are read.")
    size = len(data) - start - length
    if size != math.prod(shape) * dtype.itemsize:
        raise InputError(f"an array in it has {size} bytes, which is not what shape {shape} needs.")
    flat = np.frombuffer(data, dtype, offset=start + length) if size else np.empty(0, dtype)
    return flat.reshape(shape, order="F" if header["fortran_order"] else "C")


class Archive(Mapping[str, Array]):
    """The arrays of an open zip file by name, each read when asked for; `text` gives members that are not arrays."""

    def __init__(self, file: zipfile.ZipFile) -> None:
        """Refuse an archive that would unpack to more than is accepted."""
        memory.require(sum(member.file_size for member in file.infolist()))
        self._file = file
        self._names = {name.removesuffix(".npy") for name in file.namelist() if name.endswith(".npy")}

    def _bytes(self, name: str) -> bytes:
        member = self._file.getinfo(name)
        with self._file.open(member) as file:
            data = file.read(member.file_size + 1)  # never more than the archive's index admitted to
        if len(data) != member.file_size:
            raise InputError(f"the member {name!r} is not as long as the index of the archive says.")
        return data

    def __getitem__(self, name: str) -> Array:
        if name not in self._names:
            raise InputError(f"there is no array named {name!r} in it.")
        return _parse(self._bytes(f"{name}.npy"))

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._names))

    def __len__(self) -> int:
        return len(self._names)

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def text(self, name: str) -> str | None:
        """A text member, or None."""
        return self._bytes(name).decode() if name in self._file.namelist() else None
