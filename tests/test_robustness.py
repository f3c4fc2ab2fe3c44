"""The benchmark of robustness sees what it is to see, and finds nothing in a small sample."""

import os
import signal
import sys

import numpy as np
import pytest

from benchmarks import kills, mutations, robustness
from benchmarks.formats import FORMATS


@pytest.fixture(scope="module")
def reader():
    reader = mutations.Reader()
    yield reader
    reader.close()


def test_a_sample_has_no_fault():
    records = list(mutations.run(118, 0, (), {("own.demos", 0)}))
    assert len(records) == 117 and len({record["format"] for record in records}) == len(FORMATS)
    assert [record for record in records if record["outcome"] in mutations.FAULTS] == []
    assert [record for record in records if record["outcome"] == "sentence"]


def test_every_kind_of_damage_changes_the_file():
    content = np.random.default_rng(0).bytes(5000)
    changed = [mutations.mutate(content, np.random.default_rng(seed)) for seed in range(200)]
    assert all(mutations.mutate(content, np.random.default_rng(seed)) == each for seed, each in enumerate(changed))
    assert sum(each != content for each in changed) > 195
    assert {np.sign(len(each) - len(content)) for each in changed} == {-1, 0, 1}


def test_faults_are_seen(reader, tmp_path, monkeypatch):
    path = tmp_path / "config.json"
    FORMATS["config.json"].make(path)
    kind, original = reader.outcome("config.json", path, None, True)
    assert kind == "same"
    assert reader.outcome("config.json", path, original, True)[0] == "same"
    assert reader.outcome("config.json", path, "another", True)[0] == "silent change"
    assert reader.outcome("config.json", path, "another", False)[0] == "other content"
    kind, words = reader.outcome("unknown", 5, None, True)  # type: ignore[arg-type]
    assert kind == "escaped" and "TypeError" in words
    assert reader.outcome("config.json", tmp_path / "none", original, True)[0] == "sentence"
    os.kill(reader._process.pid, signal.SIGSTOP)
    monkeypatch.setattr(mutations, "PATIENCE", 1.0)
    assert reader.outcome("config.json", path, original, True)[0] == "hung"
    monkeypatch.setattr(mutations, "PATIENCE", 60.0)
    os.kill(reader._process.pid, signal.SIGSEGV)
    assert reader.outcome("config.json", path, original, True) == ("crashed", f"status {-signal.SIGSEGV}")
    assert reader.outcome("config.json", path, original, True)[0] == "same"


@pytest.mark.slow
def test_a_killed_run_ends_in_the_same_bits(tmp_path, monkeypatch):
    monkeypatch.setattr(kills, "CASES", {"toy": kills.Case("tests.toy", "{run} 900", "")})
    monkeypatch.setattr(kills, "KILLS", 2)
    (record,) = kills.run(2, 0, tmp_path, [])
    assert (record["kills"], record["same"], record["orphans"]) == (2, 1, 0), record


def test_a_difference_is_seen(tmp_path, monkeypatch):
    monkeypatch.setattr(kills, "CASES", {"toy": kills.Case("tests.toy", "{run} 40", "")})
    monkeypatch.setattr(kills, "KILLS", 1)
    whole, seconds = kills.reference("toy", tmp_path)
    monkeypatch.setattr(kills, "reference", lambda name, work: ({**whole, "curve.csv": "another"}, seconds / 9))
    (record,) = kills.run(1, 0, tmp_path, [])
    assert record["same"] == 0


def test_records_survive_a_cut_line(tmp_path):
    path = tmp_path / "x.jsonl"
    assert [record["a"] for record in robustness.keep(path, iter([{"a": 1}, {"a": 2}]), "abc")] == [1, 2]
    path.write_text(path.read_text() + '{"a": 3')
    assert [record["a"] for record in robustness.kept(path)] == [1, 2]
    list(robustness.keep(path, iter([{"a": 4}]), "def"))
    assert robustness.kept(path) == [{"a": a, "commit": at} for a, at in ((1, "abc"), (2, "abc"), (4, "def"))]


def test_processes_are_found_by_their_mark():
    process = kills.subprocess.Popen(
        [sys.executable, "-c", "input()"], stdin=kills.subprocess.PIPE, env={**os.environ, kills._MARK: "here"}
    )
    while process.pid not in kills.alive("here"):
        assert process.poll() is None
    assert kills.clear("here", patience=0.1) == 1
    assert process.wait() == -signal.SIGKILL
