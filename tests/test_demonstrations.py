"""The types, the file format, the choice of demonstrations and steps, and the command line."""

import json
import os
import re
import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.datasets import write_robomimic
from tests.shared import DATA, needs_shared
from vision_pwil.demonstrations import Demonstrations, Episode, choose, read, subsample
from vision_pwil.demonstrations.contact_sheet import contact_sheet
from vision_pwil.demonstrations.options import Options
from vision_pwil.demonstrations.summary import checksums, episodes_table, sentences
from vision_pwil.system.errors import InputError

RNG = np.random.default_rng(0)


def make(steps=(7, 4), frames=True) -> Demonstrations:
    rng = np.random.default_rng(1)
    episodes = [
        Episode(
            rng.normal(size=(n, 3)),
            rng.normal(size=(n, 2)).astype(np.float32),
            rng.integers(0, 256, (n, 84, 84, 3), dtype=np.uint8) if frames else None,
            {"qpos": rng.normal(size=5)},
            absorbing=n == 4,
        )
        for n in steps
    ]
    return Demonstrations(tuple(episodes), "Some-v0", "a test", "abc123")


def equal(left: Episode, right: Episode) -> bool:
    mine, other = dict(left.parts()), dict(right.parts())
    return (
        mine.keys() == other.keys()
        and left.absorbing == right.absorbing
        and all(mine[name].dtype == other[name].dtype and np.array_equal(mine[name], other[name]) for name in mine)
    )


# --- types


def test_parts_must_fit_together():
    states, frames = np.zeros((3, 2)), np.zeros((3, 84, 84, 3), np.uint8)
    with pytest.raises(InputError, match="3 states, 4 actions"):
        Episode(states, np.zeros((4, 1)))
    with pytest.raises(InputError, match="needs states, actions or frames"):
        Episode(initial_state={"qpos": np.zeros(3)})
    with pytest.raises(InputError, match="uint8"):
        Episode(frames=frames.astype(np.float32))
    with pytest.raises(InputError, match=r"shape \(3,\)"):
        Episode(np.zeros(3))
    with pytest.raises(InputError, match="no episodes"):
        Demonstrations(())
    with pytest.raises(InputError, match="episode 1"):
        Demonstrations((Episode(states), Episode(np.zeros((3, 5)))))
    with pytest.raises(InputError, match="initial qpos"):
        Episode(states, initial_state={"qpos": np.zeros((2, 2))})


def test_nan_and_empty_are_refused_and_located():
    states = np.zeros((5, 2))
    states[3, 1] = np.nan
    with pytest.raises(InputError, match="NaN or infinity at step 3"):
        Episode(states)
    with pytest.raises(InputError, match="one row of numbers per step"):
        Episode(np.zeros((0, 2)))
    with pytest.raises(InputError, match="object"):
        Episode(np.array([[None]]))


def test_require_names_the_episode():
    mixed = Demonstrations((Episode(np.zeros((2, 1)), np.zeros((2, 1))), Episode(np.zeros((2, 1)))))
    mixed.require("states")
    with pytest.raises(InputError, match=r"Episode 1 .* no actions"):
        mixed.require("actions")


def test_checksum_follows_the_content_and_nothing_else():
    base = make()
    assert make().checksum == base.checksum
    assert Demonstrations(base.episodes, base.env_id, "elsewhere", base.render_fingerprint).checksum == base.checksum
    others = [
        Demonstrations(base.episodes, base.env_id, base.source, "other"),
        Demonstrations(base.episodes, None, base.source, base.render_fingerprint),
        Demonstrations(base.episodes[::-1], base.env_id, base.source, base.render_fingerprint),
        make(frames=False),
        make((7, 5)),
    ]
    assert len({base.checksum, *(other.checksum for other in others)}) == 6


# --- the package's own format


def test_round_trip_with_absent_parts(tmp_path):
    full = make()
    mixed = Demonstrations(
        (*full.episodes, Episode(states=np.ones((2, 3))), Episode(frames=np.zeros((1, 84, 84, 3), np.uint8))),
        source="é",
    )
    for number, demonstrations in enumerate((full, mixed)):
        path = tmp_path / f"{number}.demos"
        demonstrations.save(path)
        for loaded in (Demonstrations.load(path), read(path)):
            assert all(map(equal, demonstrations.episodes, loaded.episodes))
            assert (loaded.env_id, loaded.source, loaded.render_fingerprint, loaded.checksum) == (
                *(demonstrations.env_id, demonstrations.source, demonstrations.render_fingerprint),
                demonstrations.checksum,
            )


def test_same_content_same_bytes_and_plain_numpy_opens_it(tmp_path):
    make().save(tmp_path / "a.demos")
    make().save(tmp_path / "b.demos")
    assert (tmp_path / "a.demos").read_bytes() == (tmp_path / "b.demos").read_bytes()
    with np.load(tmp_path / "a.demos", allow_pickle=False) as arrays:
        assert np.array_equal(arrays["episodes/1/frames"], make().episodes[1].frames)


def rewrite(path: Path, name: str, content: bytes) -> None:
    """Replace one member of a zip file, with a valid CRC."""
    with zipfile.ZipFile(path) as file:
        members = {info.filename: file.read(info) for info in file.infolist()}
    members[name] = content
    with zipfile.ZipFile(path, "w") as file:
        for member, data in members.items():
            file.writestr(member, data)


def test_changed_content_fails_the_checksum(tmp_path):
    path = tmp_path / "a.demos"
    make().save(path)
    with zipfile.ZipFile(path) as file:
        data = bytearray(file.read("episodes/0/frames.npy"))
    data[-1] ^= 1
    rewrite(path, "episodes/0/frames.npy", bytes(data))
    with pytest.raises(InputError, match=r"a\.demos: the checksum does not match"):
        read(path)


def test_other_versions_and_other_documents_are_named(tmp_path):
    path = tmp_path / "a.demos"
    make().save(path)
    with zipfile.ZipFile(path) as file:
        metadata = json.loads(file.read("metadata.json"))
    rewrite(path, "metadata.json", json.dumps(metadata | {"version": 2}).encode())
    with pytest.raises(InputError, match="version 2"):
        read(path)
    rewrite(path, "metadata.json", json.dumps(metadata | {"format": "other"}).encode())
    with pytest.raises(InputError, match="not in the format of this package"):
        read(path)


def test_interrupted_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "a.demos"
    make().save(path)
    before = path.read_bytes()

    def fail(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(np.lib.format, "write_array", fail)
    with pytest.raises(KeyboardInterrupt):
        make((9,)).save(path)
    assert path.read_bytes() == before and list(tmp_path.iterdir()) == [path]


# --- choice of demonstrations and steps


def test_subsample_takes_one_in_twenty_from_a_random_offset():
    steps = np.arange(1000.0)[:, None]
    demonstrations = Demonstrations(tuple(Episode(steps, 2 * steps) for _ in range(400)))
    taken = subsample(demonstrations, seed=3)
    offsets = []
    for episode in taken.episodes:
        assert np.array_equal(np.diff(episode.states[:, 0]), np.full(49, 20.0))
        assert np.array_equal(episode.actions, 2 * episode.states)
        offsets.append(int(episode.states[0, 0]))
    # 400 draws from [0, 20): each about 20 times; chi-squared with 19 degrees of freedom is under 43.8 in 99.9%.
    counts = np.bincount(offsets, minlength=20)
    assert len(counts) == 20 and ((counts - 20) ** 2 / 20).sum() < 43.8
    assert subsample(demonstrations, seed=3).checksum == taken.checksum
    assert subsample(demonstrations, seed=4).checksum != taken.checksum


def test_subsample_keeps_short_episodes_and_the_absorbing_end_where_it_is_taken():
    episode = Episode(np.arange(5.0)[:, None], absorbing=True)
    for seed in range(20):
        (short,) = subsample(Demonstrations((episode,)), seed).episodes
        assert len(short) == 1 and short.absorbing == (short.states[0, 0] == 4)
    whole = subsample(Demonstrations((episode,)), seed=0, every=1)
    assert equal(whole.episodes[0], episode)
    with pytest.raises(InputError, match="one in 0"):
        subsample(whole, 0, every=0)


def test_choose_draws_without_replacement():
    demonstrations = Demonstrations(tuple(Episode(np.full((1, 1), float(k))) for k in range(11)))
    picks = [tuple(e.states[0, 0] for e in choose(demonstrations, 4, seed).episodes) for seed in range(200)]
    assert all(list(pick) == sorted(set(pick)) and len(pick) == 4 for pick in picks)
    assert {value for pick in picks for value in pick} == set(map(float, range(11)))
    assert picks == [tuple(e.states[0, 0] for e in choose(demonstrations, 4, seed).episodes) for seed in range(200)]
    with pytest.raises(InputError, match="12 demonstrations were asked for, and there are 11"):
        choose(demonstrations, 12, 0)


# --- for people


def test_contact_sheet():
    demonstrations = make()
    sheet = np.asarray(contact_sheet(demonstrations, columns=3))
    assert sheet.shape == (2 * 85 + 1, 120 + 3 * 85 + 1, 3)  # a line of one pixel around each frame
    assert np.array_equal(sheet[1:85, -85:-1], demonstrations.episodes[0].frames[-1])
    assert np.array_equal(sheet[86:-1, 121:205], demonstrations.episodes[1].frames[0])
    assert np.array_equal(sheet[86:-1, 206:290], demonstrations.episodes[1].frames[2])
    assert sheet[:85, :120].min() < 50  # the label


def described() -> Demonstrations:
    """Demonstrations of which everything is known that a file can say."""
    episodes = [replace(episode, name=f"{k}.mp4", task="ab"[k]) for k, episode in enumerate(make().episodes)]
    about = {"rate": 4.0, "camera": "front", "cameras": ("front", "top"), "state_parts": (("hand", 2), ("goal", 1))}
    return replace(make(), episodes=tuple(episodes), **about)


def test_table_and_sentences():
    lines = episodes_table(make()).splitlines()
    assert len(lines) == 4 and len(set(map(len, lines))) == 1
    assert re.split(r"[| ]+", lines[3])[1:3] == ["1", "4"] and "84x84x3 uint8" in lines[3]
    assert "name" not in lines[0] and "seconds" not in lines[0] and "task" not in lines[0]
    assert re.split(r"[| ]+", episodes_table(described()).splitlines()[3])[1:5] == ["1", "1.mp4", "4", "1.0"]
    assert sentences(described()).splitlines() == [
        "2 episodes of 4 to 7 steps each from a test.",
        "11 steps at 4 a second, 2.8 seconds in all.",
        "Frames of 84x84 pixels from the camera front.",
        "Cameras: front, top; --camera chooses one.",
        "States of hand (2), goal (1).",
        'Task of 1 episode: "a"',
        'Task of 1 episode: "b"',
        "Environment Some-v0.",
    ]
    filmed = replace(described(), render_fingerprint=None)
    for fit, words in {"crop": "the middle square of each picture", "pad": "each picture whole"}.items():
        assert f"Frames of 84x84 pixels from the camera front: {words}" in sentences(filmed, Options(fit=fit))
        assert words not in sentences(described(), Options(fit=fit))  # drawn as they are
        assert words not in sentences(filmed, Options(fit=fit, size=None))
    assert checksums(make()).splitlines() == [f"checksum {make().checksum}", "render settings abc123"]


def test_what_is_for_people_is_kept_and_not_part_of_the_checksum(tmp_path):
    described().save(tmp_path / "a.demos")
    loaded = read(tmp_path / "a.demos")
    assert loaded.checksum == described().checksum == make().checksum
    for name in ("rate", "camera", "cameras", "state_parts"):
        assert getattr(loaded, name) == getattr(described(), name)
    assert [(episode.name, episode.task) for episode in loaded.episodes] == [("0.mp4", "a"), ("1.mp4", "b")]
    assert [episode.task for episode in subsample(loaded, seed=0, every=2).episodes] == ["a", "b"]


# --- what comes with the package

SHIPPED = {
    "Hopper-v5": "d8786227cd680036714ddefab53ad44c12b08e1aa7dc9070a216668cc7b019b9",
    "Reacher-v5": "c6afddbbc808b4ae9dea9af574d568acbe6ecb87736049a32b5e4d6e7a2aa996",
    "door": "13df17da871dbb3b55480d43b76432e5a5d18143ce80f8dc4bcf1345a46e8c35",
}


def test_shipped_demonstrations_by_name_from_any_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, checksum in SHIPPED.items():
        assert read(name).checksum == checksum  # trained encoders and runs refer to these
    make().save(tmp_path / "door")
    assert read("door").checksum == make().checksum  # what is there on disk comes first
    with pytest.raises(
        InputError, match=r'nothing: it does not exist, .* are named "Hopper-v5", "Reacher-v5", "door"\.'
    ):
        read("nothing")


def test_options_that_a_format_does_not_have(tmp_path):
    for option in ("camera", "filter"):
        with pytest.raises(InputError, match=f"own format, which has no {option} to choose: leave --{option} out"):
            read("door", **{option: "x"})


# --- the command line


def command(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "vision_pwil", "demonstrations", *map(str, arguments)],
        capture_output=True,
        text=True,
        env=os.environ | environment,
    )


def test_command_line_inspects_and_converts(tmp_path):
    make().save(tmp_path / "a.demos")
    shown = command("inspect", tmp_path / "a.demos", "--sheet", tmp_path / "sheet.png")
    assert shown.returncode == 0 and "84x84x3" in shown.stdout and make().checksum not in shown.stdout
    shown = command("inspect", tmp_path / "a.demos", "--sheet", tmp_path / "sheet.png", "--checksum")
    assert make().checksum in shown.stdout
    assert Image.open(tmp_path / "sheet.png").format == "PNG"
    np.savez(tmp_path / "b.npz", observations=np.ones((3, 2)), actions=np.ones((3, 1)), episode_lengths=[3])
    assert command("convert", tmp_path / "b.npz", tmp_path / "b.demos").returncode == 0
    assert Demonstrations.load(tmp_path / "b.demos").checksum == read(tmp_path / "b.npz").checksum


@needs_shared
@pytest.mark.parametrize("name", [*(path.name for path in sorted((DATA / "formats").glob("*"))), "g1"])
def test_every_dataset_beside_the_project_is_shown(name, tmp_path):
    """As it lies there, with no option."""
    path = DATA / name if name == "g1" else DATA / "formats" / name
    shown = command("inspect", path, "--sheet", tmp_path / "sheet.png")
    assert shown.returncode == 0, shown.stderr
    pictures = not name.startswith("minari-hopper")
    assert (tmp_path / "sheet.png").exists() == pictures == ("84x84" in shown.stdout)
    assert ("--camera chooses one" in shown.stdout) == ("robomimic" in name)


def test_of_several_cameras_the_first_is_shown_and_the_others_are_named(tmp_path):
    write_robomimic(tmp_path / "a.hdf5")
    shown = command("inspect", tmp_path / "a.hdf5", "--sheet", tmp_path / "first.png").stdout
    assert "from the camera front_image" in shown and "Cameras: front_image, wrist_image; --camera chooses" in shown
    command("inspect", tmp_path / "a.hdf5", "--sheet", tmp_path / "front.png", "--camera", "front")
    command("inspect", tmp_path / "a.hdf5", "--sheet", tmp_path / "wrist.png", "--camera", "wrist")
    first, front, wrist = ((tmp_path / f"{name}.png").read_bytes() for name in ("first", "front", "wrist"))
    assert first == front != wrist


def test_command_line_says_what_is_wrong_in_one_sentence(tmp_path):
    (tmp_path / "bad.npz").write_bytes(b"PK\x03\x04 nothing")
    failed = command("convert", tmp_path / "bad.npz", tmp_path / "out.demos")
    assert failed.returncode == 2 and "Traceback" not in failed.stderr
    assert re.search(r"^error: .*bad\.npz is not a readable .*\.$", failed.stderr, re.MULTILINE)
    assert not (tmp_path / "out.demos").exists()
