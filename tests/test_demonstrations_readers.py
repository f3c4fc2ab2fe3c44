"""Every reader of a foreign format against files made by the libraries those formats belong to."""

import pickle
from pathlib import Path

import h5py
import numpy as np
import pytest

from tests.shared import DOOR, LOCOMOTION, needs_shared
from vision_pwil.demonstrations import read
from vision_pwil.system.errors import InputError

RNG = np.random.default_rng(0)


# --- pickles


def dapg(episodes=3) -> list[dict]:
    state = {"qpos": RNG.normal(size=30), "qvel": RNG.normal(size=30), "door_body_pos": RNG.normal(size=3)}
    return [
        {
            "observations": np.asfortranarray(RNG.normal(size=(6 + k, 39))),
            "actions": RNG.normal(size=(6 + k, 28)).astype(">f4"),
            "rewards": [1.5, np.float64(2.5)] * 3,
            "init_state_dict": state,
            "notes": ("text", b"bytes", None, True, 2**80, -3),
        }
        for k in range(episodes)
    ]


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickles_of_every_protocol(tmp_path, protocol):
    path = tmp_path / "demos.pickle"
    paths = dapg()
    path.write_bytes(pickle.dumps(paths, protocol=protocol))
    demonstrations = read(path)
    assert demonstrations.env_id == "vision_pwil/AdroitDoor-v0"
    for episode, expected in zip(demonstrations.episodes, paths, strict=True):
        assert np.array_equal(episode.states, expected["observations"])
        assert np.array_equal(episode.actions, expected["actions"]) and episode.actions.dtype == np.float32
        for name, value in expected["init_state_dict"].items():
            assert np.array_equal(episode.initial_state[name], value)


@needs_shared
def test_the_human_door_demonstrations():
    demonstrations = read(DOOR)
    with DOOR.open("rb") as file:
        paths = pickle.load(file)  # the published file, of known checksum
    assert len(demonstrations) == len(paths) == 25
    for episode, expected in zip(demonstrations.episodes, paths, strict=True):
        assert np.array_equal(episode.states, expected["observations"])
        assert np.array_equal(episode.actions, expected["actions"])
        assert episode.initial_state.keys() == {"qpos", "qvel", "door_body_pos"}


# --- HDF5


def write_d4rl(path: Path) -> dict[str, np.ndarray]:
    data = {
        "observations": RNG.normal(size=(12, 3)).astype(np.float32),
        "actions": RNG.normal(size=(12, 2)).astype(np.float32),
        "rewards": np.zeros(12, np.float32),
        "terminals": np.arange(12) == 4,
        "timeouts": np.arange(12) == 9,
        "infos/qpos": RNG.normal(size=(12, 4)),
        "infos/qvel": RNG.normal(size=(12, 4)),
        "infos/door_body_pos": RNG.normal(size=(12, 3)),
    }
    with h5py.File(path, "w") as file:
        for name, value in data.items():
            file.create_dataset(name, data=value, compression="gzip")
    return data


def test_d4rl(tmp_path):
    data = write_d4rl(tmp_path / "door.hdf5")
    demonstrations = read(tmp_path / "door.hdf5")
    assert demonstrations.env_id == "vision_pwil/AdroitDoor-v0"
    # Episodes end after steps 4 (terminal) and 9 (timeout); two steps of an unfinished one remain.
    bounds = [(0, 5, True), (5, 10, False), (10, 12, False)]
    for episode, (start, end, absorbing) in zip(demonstrations.episodes, bounds, strict=True):
        assert np.array_equal(episode.states, data["observations"][start:end])
        assert np.array_equal(episode.actions, data["actions"][start:end])
        assert np.array_equal(episode.initial_state["qpos"], data["infos/qpos"][start])
        assert episode.absorbing == absorbing


def write_minari(path: Path, episodes=12, options=True) -> list[dict[str, np.ndarray]]:
    path.parent.mkdir(parents=True, exist_ok=True)
    written = []
    with h5py.File(path, "w") as file:
        for k in range(episodes):
            data = {"observations": RNG.normal(size=(k + 3, 3)), "actions": RNG.normal(size=(k + 2, 2))}
            flags = np.arange(k + 2) == k + 1
            group = file.create_group(f"episode_{k}")
            for name, value in data.items():
                group[name] = value
            group["rewards"] = np.zeros(k + 2)
            group["terminations"], group["truncations"] = flags & (k % 2 == 0), flags & (k % 2 == 1)
            group["infos/qpos"] = np.full((k + 3, 4), 10.0 * k)
            if options:
                group.attrs["options/initial_state_dict/qpos"] = np.full(4, float(k))
            written.append(data)
    return written


@pytest.mark.parametrize("options", [True, False])
def test_minari(tmp_path, options):
    file = tmp_path / "door" / "data" / "main_data.hdf5"
    written = write_minari(file, options=options)
    for demonstrations in (read(file), read(tmp_path / "door")):
        for k, (episode, data) in enumerate(zip(demonstrations.episodes, written, strict=True)):
            assert np.array_equal(episode.states, data["observations"][:-1])
            assert np.array_equal(episode.actions, data["actions"])
            assert episode.absorbing == (k % 2 == 0)
            assert np.array_equal(episode.initial_state["qpos"], np.full(4, float(k) if options else 10.0 * k))


def test_hdf5_never_reaches_into_other_files(tmp_path):
    secret = tmp_path / "secret.hdf5"
    write_d4rl(secret)
    with h5py.File(tmp_path / "link.hdf5", "w") as file:
        for name in ("observations", "actions"):
            file[name] = h5py.ExternalLink(str(secret), name)
    with pytest.raises(InputError, match="is a link, which is refused"):
        read(tmp_path / "link.hdf5")
    with h5py.File(tmp_path / "virtual.hdf5", "w") as file:
        layout = h5py.VirtualLayout((12, 3), np.float32)
        layout[:] = h5py.VirtualSource(str(secret), "observations", (12, 3))
        file.create_virtual_dataset("observations", layout)
        file["actions"] = np.zeros((12, 2))
    with pytest.raises(InputError, match="lies in another file"):
        read(tmp_path / "virtual.hdf5")


def test_hdf5_wrong_layouts(tmp_path):
    path = tmp_path / "a.hdf5"
    cases = {
        "no 'actions'": {"observations": np.zeros((3, 1))},
        "3 observations for 2 actions": {"observations": np.zeros((3, 1)), "actions": np.zeros((2, 1))},
        "not an array of numbers": {"observations/a": np.zeros((3, 1)), "actions": np.zeros((3, 1))},
        "'terminals' has shape": {"observations": np.zeros((3, 1)), "actions": np.zeros((3, 1)), "terminals": [True]},
        "instead of one more": {"episode_0/observations": np.zeros((3, 1)), "episode_0/actions": np.zeros((3, 1))},
        "NaN": {"observations": np.full((3, 1), np.nan), "actions": np.zeros((3, 1))},
    }
    for message, data in cases.items():
        with h5py.File(path, "w") as file:
            for name, value in data.items():
                file[name] = value
        with pytest.raises(InputError, match=message):
            read(path)


# --- npz


@needs_shared
@pytest.mark.parametrize(
    "env_id", ["Ant-v5", "HalfCheetah-v5", "Hopper-v5", "Humanoid-v5", "Reacher-v5", "Walker2d-v5"]
)
def test_locomotion(env_id):
    demonstrations = read(LOCOMOTION / f"{env_id}.npz")
    assert demonstrations.env_id == env_id and len(demonstrations) == 11
    with np.load(LOCOMOTION / f"{env_id}.npz") as arrays:
        assert [len(episode) for episode in demonstrations.episodes] == arrays["episode_lengths"].tolist()
        assert np.array_equal(np.concatenate([e.states for e in demonstrations.episodes]), arrays["observations"])
        assert np.array_equal(np.concatenate([e.actions for e in demonstrations.episodes]), arrays["actions"])


def test_npz_wrong_lengths(tmp_path):
    path = tmp_path / "a.npz"
    flat = {"observations": np.zeros((5, 2)), "actions": np.zeros((5, 1))}
    for lengths, message in (([2, 2], "sum to 4"), ([5, 0], "positive"), ([2.5, 2.5], "whole"), ([], "whole")):
        np.savez(path, **flat, episode_lengths=lengths)
        with pytest.raises(InputError, match=message):
            read(path)
    np.savez(path, **flat)
    with pytest.raises(InputError, match="no array named 'episode_lengths'"):
        read(path)
    np.savez(path, observations=np.array([[None]]), actions=np.zeros((1, 1)), episode_lengths=[1])
    with pytest.raises(InputError, match="only arrays of numbers"):
        read(path)


# --- what is wrong


def test_empty_and_unknown(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "empty.npz").write_bytes(b"")
    (tmp_path / "words.txt").write_text("hello")
    for name, message in (
        ("folder", "no videos"),
        ("empty.npz", "empty"),
        ("words.txt", "none of the known formats"),
        ("absent.npz", "does not exist"),
    ):
        with pytest.raises(InputError, match=rf"{name}.*{message}"):
            read(tmp_path / name)


def test_complaints_name_the_file_and_the_episode(tmp_path):
    paths = dapg()
    paths[1]["observations"][4, 7] = np.inf
    (tmp_path / "a.pickle").write_bytes(pickle.dumps(paths))
    with pytest.raises(InputError, match=r"a\.pickle: in episode 1, the states hold NaN or infinity at step 4\.$"):
        read(tmp_path / "a.pickle")
    observations = np.zeros((5, 2))
    observations[3] = np.nan
    np.savez(tmp_path / "a.npz", observations=observations, actions=np.zeros((5, 1)), episode_lengths=[2, 3])
    with pytest.raises(InputError, match=r"a\.npz: in episode 1, the states hold NaN or infinity at step 1\.$"):
        read(tmp_path / "a.npz")
    (tmp_path / "films").mkdir()
    (tmp_path / "films" / "1.gif").write_bytes(b"GIF89a nothing")
    with pytest.raises(InputError, match=r"^[^ ]*films/1\.gif is not a readable video"):
        read(tmp_path / "films")
