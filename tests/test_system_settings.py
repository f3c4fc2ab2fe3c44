"""Settings refuse what makes no sense, in one sentence, whoever makes them."""

import json
import math
import subprocess
import sys
from dataclasses import asdict, dataclass, field, fields, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
import tyro

import vision_pwil as pwil
from vision_pwil.agents.bc import BCConfig
from vision_pwil.agents.d4pg import D4PGConfig
from vision_pwil.agents.dac import DACConfig
from vision_pwil.agents.td3 import TD3Config
from vision_pwil.encoder import Provenance
from vision_pwil.sac import SACConfig
from vision_pwil.system.errors import InputError
from vision_pwil.system.settings import Count, Settings, above, at_least, at_most, below, restore
from vision_pwil.tcc.recipes import Recipe
from vision_pwil.tcc.settings import TrainConfig
from vision_pwil.training.settings import TrainingConfig

CLASSES = (TrainingConfig, SACConfig, TD3Config, D4PGConfig, DACConfig, BCConfig, Recipe, Provenance)


@dataclass(frozen=True)
class Inner(Settings):
    width: Count = 3


@dataclass(frozen=True)
class Example(Settings):
    whole: int = 0
    number: float = 0.5
    inside: Annotated[float, above(0), below(1)] = 0.5
    edges: Annotated[float, at_least(0), at_most(1)] = 0.5
    kind: Literal["a", "b"] = "a"
    maybe: Count | None = None
    many: tuple[Count, ...] = ()
    flag: bool = False
    path: Path = Path("x")
    inner: Inner = field(default_factory=Inner)
    about: dict[str, Any] | None = None


ALLOWED = [
    {"whole": -3},
    {"number": 2},
    {"inside": 1e-300},
    {"edges": 0},
    {"edges": 1.0},
    {"kind": "b"},
    {"maybe": 1},
    {"many": (1, 2)},
    {"about": {"x": [1]}},
    {"path": tyro.MISSING},
]
REFUSED = [
    ({"whole": 1.0}, "--whole must be a whole number, not 1.0."),
    ({"whole": True}, "--whole must be a whole number, not True."),
    ({"whole": None}, "--whole must be a whole number, not None."),
    ({"number": math.nan}, "--number must be a number, not nan."),
    ({"number": -math.inf}, "--number must be a number, not -inf."),
    ({"number": 10**400}, "--number must be a number"),
    ({"number": "1"}, "--number must be a number, not '1'."),
    ({"inside": 0}, "--inside must be a number above 0 and below 1, not 0."),
    ({"inside": 1.0}, "--inside must be a number above 0 and below 1, not 1.0."),
    ({"edges": -1e-300}, "--edges must be a number at least 0 and at most 1"),
    ({"edges": math.nan}, "--edges must be"),
    ({"kind": "c"}, "--kind must be a or b, not 'c'."),
    ({"kind": Inner()}, "--kind must be a or b, not a Inner."),
    ({"maybe": 0}, "--maybe must be a whole number at least 1 or None, not 0."),
    ({"many": (1, 0)}, "--many must be a tuple, each of it a whole number at least 1, not (1, 0)."),
    ({"many": [1]}, "--many must be a tuple"),
    ({"flag": 1}, "--flag must be True or False, not 1."),
    ({"path": "x"}, "--path must be a path, not 'x'."),
    ({"inner": {"width": 3}}, "--inner must be a Inner, not a dict."),
]


@pytest.mark.parametrize("values", ALLOWED, ids=str)
def test_allowed(values):
    example = Example(**values)
    assert all(getattr(example, name) is value for name, value in values.items())


@pytest.mark.parametrize(("values", "sentence"), REFUSED, ids=str)
def test_refused(values, sentence):
    with pytest.raises(InputError) as caught:
        Example(**values)
    assert str(caught.value).startswith(sentence)


@pytest.mark.parametrize("kind", CLASSES)
def test_no_settings_take_what_is_not_a_number(kind):
    default = kind()
    numbers = [f.name for f in fields(default) if isinstance(getattr(default, f.name), int | float)]
    for name in numbers:
        for bad in (math.nan, math.inf, -math.inf, "3", [], default):
            with pytest.raises(InputError, match=f"^--{name.replace('_', '-')} must be "):
                replace(default, **{name: bad})


@pytest.mark.parametrize("kind", CLASSES)
def test_settings_come_back_from_json(kind):
    default = kind()
    assert restore(kind, json.loads(json.dumps(asdict(default)))) == default


def test_nested_settings_come_back_from_json():
    example = Example(many=(3, 4), maybe=7, path=Path("a/b"), inner=Inner(9), about={"x": [1]})
    assert restore(Example, json.loads(json.dumps(asdict(example), default=str))) == example
    for hostile in ({"inner": {"width": -1}}, {"inner": 5}, {"many": [[1]]}, {"path": 7}, {"whole": {"__class__": 1}}):
        with pytest.raises(InputError):
            restore(Example, hostile)


@pytest.mark.parametrize(
    ("changes", "option"),
    [
        ({"gamma": 1.5}, "gamma"),
        ({"gamma": -0.1}, "gamma"),
        ({"update_interval": math.nan}, "update-interval"),
        ({"update_interval": 0.0}, "update-interval"),
        ({"random_steps": -5}, "random-steps"),
        ({"seed": -1}, "seed"),
        ({"steps": 0}, "steps"),
        ({"checkpoint_seconds": -1.0}, "checkpoint-seconds"),
    ],
)
def test_training_that_makes_no_sense(changes, option):
    with pytest.raises(InputError, match=f"^--{option} must be .*, not {next(iter(changes.values()))}"):
        TrainingConfig(**changes)


def test_a_recipe_is_not_the_name_of_one():
    with pytest.raises(InputError, match="--recipe must be default or paper, not a Recipe"):
        TrainConfig(Path("demos"), Path("out"), recipe=Recipe(updates=3))  # type: ignore[arg-type]


def test_the_support_of_values_has_two_ends():
    with pytest.raises(InputError, match=r"--value-min 2\.0 must be below --value-max 2\.0"):
        D4PGConfig(value_min=2.0, value_max=2.0)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("encoder train --demos x --out y --brightness nan", "--brightness must be a number at least 0 and below 1"),
        ("encoder evaluate --encoder x --demos x --out y --pairs -1", "--pairs must be a whole number at least 0"),
        ("audit --out y --episodes 0", "--episodes must be a whole number at least 1"),
        ("audit --out y --seed -1", "--seed must be a whole number at least 0"),
        ("evaluate x --episodes -2", "--episodes must be a whole number at least 1"),
        ("demonstrations record x y --episodes 0", "--episodes must be a whole number at least 1"),
        ("demonstrations inspect x --size 0", "--size must be a whole number at least 1 and at most 4096 or None"),
        ("score --encoder x --demos x --out y --film-size -3", "--film-size must be a whole number at least 1 or None"),
        ("sweep door-seeds --out y --retries -1", "--retries must be a whole number at least 0"),
        ("sweep door-seeds --out y --seeds -1", "--seeds must be a tuple, each of it a whole number at least 0"),
    ],
)
def test_the_command_line_says_the_same(words, sentence):
    done = subprocess.run([sys.executable, "-m", "vision_pwil", *words.split()], capture_output=True, text=True)
    assert done.returncode == 2 and "Traceback" not in done.stderr
    said = " ".join(done.stderr.replace("│", " ").split())
    assert f"{sentence}, not " in said
    assert not Path("y").exists()


def test_functions_say_the_same():
    for call, option in ((pwil.audit, "episodes"), (pwil.audit, "seed"), (partial(pwil.evaluate, "x"), "episodes")):
        with pytest.raises(InputError, match=f"^--{option} must be a whole number at least ., not -1"):
            call(**{option: -1})


def test_help_shows_plain_types(capsys):
    with pytest.raises(SystemExit):
        tyro.cli(TrainingConfig, args=["--help"])
    shown = " ".join(capsys.readouterr().out.split())
    assert "--gamma FLOAT" in shown and "--steps INT" in shown and "at_least" not in shown
