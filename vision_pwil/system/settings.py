"""Settings that check themselves: a frozen dataclass whose fields say in their types what they may be.

    @dataclass(frozen=True)
    class Example(Settings):
        steps: Count = 100
        smoothing: Annotated[float, at_least(0), below(1)] = 0.9

Whoever makes one, a command line, a file or Python, gets the same sentence where a value has another type, is not
finite, or is out of bounds. It names the field as the command line spells it. Type checkers and tyro see plain types.
"""

import difflib
import operator
import sys
import types
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import tyro

from vision_pwil.system.errors import InputError

Made = TypeVar("Made")


@dataclass(frozen=True)
class Bound:
    """What a number has to be, beside a type in `Annotated`."""

    words: str
    limit: float
    holds: Callable[[float, float], bool]

    def __str__(self) -> str:
        return f"{self.words} {self.limit:g}"


def at_least(limit: float) -> Bound:
    """A lower bound."""
    return Bound("at least", limit, operator.ge)


def at_most(limit: float) -> Bound:
    """An upper bound."""
    return Bound("at most", limit, operator.le)


def above(limit: float) -> Bound:
    """A lower bound that is not allowed itself."""
    return Bound("above", limit, operator.gt)


def below(limit: float) -> Bound:
    """An upper bound that is not allowed itself."""
    return Bound("below", limit, operator.lt)


Count = Annotated[int, at_least(1)]
Whole = Annotated[int, at_least(0)]
Positive = Annotated[float, above(0)]
NotNegative = Annotated[float, at_least(0)]
Share = Annotated[float, at_least(0), at_most(1)]

_NAMES = {int: "a whole number", float: "a number", bool: "True or False", str: "text", Path: "a path", None: "None"}


class Settings:
    """A frozen dataclass that inherits this refuses values that its fields do not allow."""

    def __post_init__(self) -> None:
        """Raise one sentence about the first field whose value is not allowed."""
        hints = get_type_hints(type(self), include_extras=True)
        for field in fields(self):  # type: ignore[arg-type]
            require(field.name, hints[field.name], getattr(self, field.name))


def require(name: str, hint: Any, value: Any) -> None:
    """Raise one sentence unless a value is what its type allows; `name` is that of the setting."""
    if value is not tyro.MISSING and not _allows(hint, value):  # MISSING: the command line is to say it
        plain = isinstance(value, str | int | float | tuple | Path | None)
        shown = repr(value) if plain else f"a {type(value).__name__}"
        raise InputError(f"--{name.replace('_', '-')} must be {_describe(hint)}, not {shown}.")


def restore(kind: Callable[..., Made], values: Mapping[str, Any]) -> Made:
    """Settings from what JSON kept of them: lists become the tuples, and objects the settings, that they were."""
    hints = get_type_hints(kind, include_extras=True)
    return kind(**{name: _revive(hints.get(name), value) for name, value in values.items()})


def changed(settings: Made, options: Mapping[str, Any]) -> Made:
    """Settings with options changed, each by its name on the command line, in whichever part of them it lies."""
    known = [*_options(settings)]
    for name in options:
        if name not in known:
            near = difflib.get_close_matches(name, known, 3)
            raise InputError(f"There is no option {name!r} here{': is it ' * bool(near)}{' or '.join(near)}.")
    return _changed(settings, options)


def _options(settings: Any) -> Iterator[str]:
    for field in fields(settings):
        value = getattr(settings, field.name)
        yield from _options(value) if is_dataclass(value) else [field.name]


def _changed(settings: Any, options: Mapping[str, Any]) -> Any:
    hints = get_type_hints(type(settings), include_extras=True)
    values = {field.name: getattr(settings, field.name) for field in fields(settings)}
    parts = {name: _changed(value, options) for name, value in values.items() if is_dataclass(value)}
    own = {name: _revive(hints[name], options[name]) for name in values.keys() & options.keys() - parts.keys()}
    return replace(settings, **parts, **own)


def _revive(hint: Any, value: Any) -> Any:
    origin, args = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _revive(args[0], value)
    if origin in (Union, types.UnionType):
        return next((revived for each in args if _allows(each, revived := _revive(each, value))), value)
    if origin is tuple and isinstance(value, list):
        kinds = args if args[1:] != (...,) and len(args) == len(value) else args[:1] * len(value)
        return tuple(map(_revive, kinds, value))
    if isinstance(hint, type) and is_dataclass(hint) and isinstance(value, Mapping):
        return restore(hint, value)
    return Path(value) if hint is Path and isinstance(value, str) else value


def _allows(hint: Any, value: Any) -> bool:
    origin, args = get_origin(hint), get_args(hint)
    if hint is Any:
        return True
    if origin is Annotated:
        bounds = [each for each in args[1:] if isinstance(each, Bound)]
        return _allows(args[0], value) and all(bound.holds(value, bound.limit) for bound in bounds)
    if origin in (Union, types.UnionType):
        return any(_allows(each, value) for each in args)
    if origin is Literal:
        return any(type(value) is type(each) and value == each for each in args)
    if origin is tuple and args[1:] == (...,):
        return isinstance(value, tuple) and all(_allows(args[0], item) for item in value)
    if origin is tuple:
        return isinstance(value, tuple) and len(value) == len(args) and all(map(_allows, args, value))
    if hint in (int, float):  # NaN and infinity fail the comparison
        kinds = (int,) if hint is int else (int, float)
        number = isinstance(value, kinds) and not isinstance(value, bool)
        return number and (hint is int or abs(value) <= sys.float_info.max)
    return isinstance(value, type(None) if hint is None else origin or hint)


def _describe(hint: Any) -> str:
    origin, args = get_origin(hint), get_args(hint)
    if origin is Annotated:
        bounds = " and ".join(str(each) for each in args[1:] if isinstance(each, Bound))
        return f"{_describe(args[0])} {bounds}".strip()
    if origin in (Union, types.UnionType):
        return " or ".join(_describe(each) for each in args)
    if origin is Literal:
        return " or ".join(map(str, args))
    if origin is tuple:
        number = "" if args[1:] == (...,) else f" of {len(args)}"
        return f"a tuple{number}, each of it {_describe(args[0])}"
    return _NAMES.get(None if hint is type(None) else hint) or f"a {(origin or hint).__name__}"
