"""Bounds in setup.cfg are versions that were tested: the lowest by `make test-oldest`, the newest by `make test`."""

import configparser

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from tests.test_docs import ROOT

SETUP = configparser.ConfigParser()
SETUP.read(ROOT / "setup.cfg")
EXTRAS = SETUP["options.extras_require"]
TOOLS = ("ruff", "mypy", "pre-commit")
"""Of the extra `dev`: no test needs them."""
BOTH = [SETUP["options"]["install_requires"], *(EXTRAS[name] for name in ("dev", "export", "peers", "sweeps"))]
"""What the tests run with."""
NEWEST = [EXTRAS[name] for name in ("notebooks", "site")]
"""Tested with the newest versions only."""


def requirements(sections: list[str]) -> list[Requirement]:
    lines = (line for section in sections for line in section.strip().splitlines() if not line.startswith("#"))
    return [each for each in map(Requirement, lines) if each.name not in TOOLS]


def pins(name: str) -> dict[str, Version]:
    lines = (line for line in (ROOT / name).read_text().splitlines() if not line.startswith("#"))
    return {canonicalize_name(package): Version(version) for package, version in (line.split("==") for line in lines)}


@pytest.mark.parametrize("needed", requirements(BOTH), ids=str)
def test_the_lowest_versions_are_those_that_are_tested(needed: Requirement) -> None:
    (lowest,) = (Version(each.version) for each in needed.specifier if each.operator == ">=")
    assert pins("constraints-oldest.txt")[canonicalize_name(needed.name)] == lowest


@pytest.mark.parametrize("needed", requirements([*BOTH, *NEWEST]), ids=str)
def test_the_newest_versions_that_are_tested_are_allowed(needed: Requirement) -> None:
    assert pins("constraints.txt")[canonicalize_name(needed.name)] in needed.specifier
