"""The documentation site builds, and a link that leads nowhere stops it."""

import importlib.util
import subprocess
import sys

import pytest

from tools import site
from vision_pwil import __all__ as verbs

needs_mkdocs = pytest.mark.skipif(importlib.util.find_spec("mkdocs") is None, reason="needs the extra `site`")


def test_every_verb_has_a_place_in_the_reference():
    site.gather()
    found = (site.PAGES / "docs" / "api.md").read_text().splitlines()
    assert [line.rpartition(".")[2] for line in found if line.startswith(":::")] == verbs


@pytest.mark.slow
@needs_mkdocs
def test_the_site_builds_and_finds_broken_links(tmp_path):
    site.gather()

    def build():
        command = [sys.executable, "-m", "mkdocs", "build", "--site-dir", str(tmp_path)]
        return subprocess.run(command, cwd=site.ROOT, capture_output=True, text=True)

    done = build()
    assert done.returncode == 0, done.stderr
    home, python = (tmp_path / page for page in ("index.html", "docs/api/index.html"))
    assert "From videos to a policy" in home.read_text()
    assert [name for name in verbs if f".{name}" not in python.read_text()] == []
    page = site.PAGES / "docs" / "tutorial.md"
    page.write_text(page.read_text() + "\n[nowhere](nothing.md)\n")
    assert build().returncode != 0
