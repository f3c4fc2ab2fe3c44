"""The published DAPG demonstrations are a pickle, and a pickle is a program: it is read here without running it.

A small machine interprets the opcodes that build lists, tuples, dicts, numbers, text, bytes and numpy arrays. It
never imports anything and never calls what a pickle names: the few names that numpy's own pickles use are labels that
select a function below, and every other name or opcode is refused.
"""

import math
import pickletools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from vision_pwil.demonstrations.episode import Array, Demonstrations, adroit_env_id
from vision_pwil.demonstrations.options import Options
from vision_pwil.demonstrations.parsing import Parts, each, starts
from vision_pwil.system import memory
from vision_pwil.system.errors import InputError


class _Label(str):
    """A name that the pickle asked for; only ever compared, never resolved."""


class _Type:
    """A numpy dtype under construction: a type code, then a byte order."""

    def __init__(self, code: Any, *_: Any) -> None:
        self.dtype = _plain_dtype(code)

    def build(self, state: Any) -> None:
        order, structure = state[1], state[2:5]
        if order not in ("<", ">", "|", "=") or any(structure):
            raise InputError("it holds arrays of something other than numbers.")
        self.dtype = self.dtype.newbyteorder(order)


class _Array:
    """A numpy array under construction: nothing, then a shape, a dtype and bytes."""

    value: Array | None = None

    def build(self, state: Any) -> None:
        _, shape, kind, fortran, data = state
        self.value = _array(data, kind, shape, "F" if fortran else "C")


def _plain_dtype(code: Any) -> np.dtype[Any]:
    code = code.decode("latin-1") if isinstance(code, bytes) else code
    # Checked by hand first: numpy's parser of type codes is not a place for strangers' text.
    if not isinstance(code, str) or len(code) > 4 or code.lstrip("<>|=")[:1] not in tuple("biuf"):
        raise InputError("it holds arrays of something other than numbers.")
    return np.dtype(code)


def _array(data: Any, kind: Any, shape: Any, order: str) -> Array:
    data = data.encode("latin-1") if isinstance(data, str) else data  # Python 2 wrote bytes as text
    sizes = shape if isinstance(shape, tuple) else (shape,)
    if not (
        isinstance(data, bytes | bytearray)
        and isinstance(kind, _Type)
        and all(type(n) is int and n >= 0 for n in sizes)
    ):
        raise InputError("it holds a malformed array.")
    if len(data) != math.prod(sizes) * kind.dtype.itemsize:
        raise InputError(f"it holds an array of {len(data)} bytes, which is not what shape {sizes} needs.")
    return np.frombuffer(bytes(data), kind.dtype).reshape(sizes, order="F" if order == "F" else "C")


def _finished(array: Array) -> _Array:
    result = _Array()
    result.value = array
    return result


def _encode(text: Any, codec: Any) -> bytes:
    if not isinstance(text, str) or codec not in ("latin1", "latin-1"):
        raise InputError("it holds malformed bytes.")
    return text.encode("latin-1")


# What the names in numpy's own pickles stand for. numpy 2 moved numpy.core to numpy._core.
_MEANINGS: dict[str, Callable[..., Any]] = {
    "numpy dtype": _Type,
    "_codecs encode": _encode,  # bytes in protocols 0 to 2
}
for _core in ("numpy.core", "numpy._core"):
    _MEANINGS |= {
        f"{_core}.multiarray _reconstruct": lambda subtype, shape, code: _Array(),
        f"{_core}.multiarray scalar": lambda kind, data: _finished(_array(data, kind, (), "C")),
        f"{_core}.numeric _frombuffer": lambda data, kind, shape, order: _finished(_array(data, kind, shape, order)),
    }
_NAMES = {*_MEANINGS, "numpy ndarray"}

_MARK = object()
# Opcodes whose whole effect is to push a value: the decoded argument, or a constant.
_ARGUMENTS = {
    *("INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT"),
    *("STRING", "BINSTRING", "SHORT_BINSTRING", "UNICODE", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8"),
    *("BINBYTES", "SHORT_BINBYTES", "BINBYTES8", "BYTEARRAY8"),
}
_CONSTANTS: dict[str, Callable[[], Any]] = {
    "NONE": lambda: None,
    "NEWTRUE": lambda: True,
    "NEWFALSE": lambda: False,
    "EMPTY_LIST": list,
    "EMPTY_DICT": dict,
    "EMPTY_TUPLE": tuple,
    "MARK": lambda: _MARK,
}


class _Machine:
    """The stack and the memo of a pickle."""

    def __init__(self) -> None:
        self.stack: list[Any] = []
        self.memo: dict[int, Any] = {}

    def pop(self, count: int) -> list[Any]:
        if count > len(self.stack):
            raise InputError("its opcodes do not fit together.")
        taken = self.stack[len(self.stack) - count :]
        del self.stack[len(self.stack) - count :]
        return taken

    def pop_mark(self) -> list[Any]:
        for depth in range(len(self.stack)):
            if self.stack[-1 - depth] is _MARK:
                items = self.pop(depth)
                self.stack.pop()
                return items
        raise InputError("its opcodes do not fit together.")

    def push(self, value: Any) -> None:
        self.stack.append(value)

    def step(self, name: str, argument: Any) -> None:
        """The effect of one opcode."""
        if name in _ARGUMENTS:
            self.push(argument)
        elif name in _CONSTANTS:
            self.push(_CONSTANTS[name]())
        elif name in ("PROTO", "FRAME"):
            pass
        elif name in ("PUT", "BINPUT", "LONG_BINPUT", "MEMOIZE"):
            self.memo[len(self.memo) if name == "MEMOIZE" else int(argument)] = self.stack[-1]
        elif name in ("GET", "BINGET", "LONG_BINGET"):
            self.push(self.memo[int(argument)])
        elif name in ("TUPLE1", "TUPLE2", "TUPLE3"):
            self.push(tuple(self.pop(int(name[-1]))))
        elif name == "TUPLE":
            self.push(tuple(self.pop_mark()))
        elif name == "LIST":
            self.push(self.pop_mark())
        elif name == "DICT":
            items = self.pop_mark()
            self.push({})
            self._set(items)
        elif name in ("APPEND", "APPENDS"):
            items = self.pop(1) if name == "APPEND" else self.pop_mark()
            self._top(list).extend(items)
        elif name in ("SETITEM", "SETITEMS"):
            self._set(self.pop(2) if name == "SETITEM" else self.pop_mark())
        elif name in ("GLOBAL", "STACK_GLOBAL"):
            self.push(self._name(argument if name == "GLOBAL" else " ".join(map(str, self.pop(2)))))
        elif name == "REDUCE":
            label, arguments = self.pop(2)
            if not isinstance(label, _Label) or label not in _MEANINGS or not isinstance(arguments, tuple):
                raise InputError("it wants something called that is not part of an array, which is refused.")
            self.push(_MEANINGS[label](*arguments))
        elif name == "BUILD":
            (state,) = self.pop(1)
            self._top(_Array, _Type).build(state)
        else:
            raise InputError(
                f"it uses the pickle opcode {name}, which is refused: only arrays and plain containers are read."
            )

    def _name(self, name: str) -> _Label:
        if name not in _NAMES:
            shown = ".".join(name.split())[:80]
            raise InputError(f"it asks for {shown!r}, which is refused: only arrays and plain containers are read.")
        return _Label(name)

    def _top(self, *kinds: type) -> Any:
        if not self.stack or not isinstance(self.stack[-1], kinds):
            raise InputError("its opcodes do not fit together.")
        return self.stack[-1]

    def _set(self, items: list[Any]) -> None:
        target = self._top(dict)
        for key, value in zip(items[::2], items[1::2], strict=True):
            # Only text: hashing a deeply nested tuple would overflow the interpreter's stack.
            if type(key) not in (str, bytes):
                raise InputError("a dict in it has a key that is not text.")
            target[key.decode("latin-1") if isinstance(key, bytes) else key] = value


def interpret(data: bytes) -> Any:
    """The lists, tuples, dicts, numbers, text and `_Array`s in a pickle."""
    machine = _Machine()
    for opcode, argument, _ in pickletools.genops(data):
        if opcode.name == "STOP":
            break
        machine.step(opcode.name, argument)
    (result,) = machine.pop(1)
    return result


def _plain(value: Any, what: str) -> Array:
    if isinstance(value, _Array) and value.value is not None:
        return value.value
    raise InputError(f"the {what} are not an array of numbers.")


def _parts(path: Any) -> Parts:
    if not isinstance(path, dict) or not {"observations", "actions"} <= path.keys():
        raise InputError("there must be a dict with observations and actions.")
    state = path.get("init_state_dict")
    if state is not None and not isinstance(state, dict):
        raise InputError("the init_state_dict is not a dict.")
    return {
        "states": _plain(path["observations"], "observations"),
        "actions": _plain(path["actions"], "actions"),
        "initial_state": {key: _plain(value, key) for key, value in state.items()} if state else None,
    }


def recognises(path: Path) -> bool:
    """Whether a file is a pickle: newer ones say so in their first byte, older ones only in their name."""
    return path.is_file() and (starts(path, b"\x80") or path.suffix.lower() in (".pickle", ".pkl"))


def read(path: Path, options: Options) -> Demonstrations:
    """A list of dicts with `observations`, `actions` and perhaps `init_state_dict`, as hand_dapg publishes them."""
    memory.require(path.stat().st_size)
    paths = interpret(path.read_bytes())
    if not isinstance(paths, list):
        raise InputError("it must hold a list of episodes.")
    episodes = each(_parts, paths)
    return Demonstrations(episodes, adroit_env_id(episodes), source=path.name)
