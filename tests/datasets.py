"""Small datasets in the layouts of LeRobot, robomimic and Minari, with contents that tests can tell apart.

Every frame of a camera is one colour, which says the episode and the step: see `colour`.
"""

import io
import json
from collections.abc import Sequence
from pathlib import Path

import av
import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image

RATE = 10
CAMERAS = ("observation.images.front", "observation.images.wrist")


def colour(episode: int, step: int, camera: int = 0) -> tuple[int, int, int]:
    return (20 + 8 * step, 200 - 30 * episode, 60 + 90 * camera)


def flat_frames(episode: int, steps: int, camera: int = 0, size: tuple[int, int] = (32, 48)) -> np.ndarray:
    frames = np.empty((steps, *size, 3), np.uint8)
    frames[:] = np.array([colour(episode, step, camera) for step in range(steps)])[:, None, None]
    return frames


def write_film(path: Path, frames: np.ndarray, codec: str = "libx264", rate: int = RATE) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with av.open(str(path), "w") as container:
        stream = container.add_stream(codec, rate=rate)
        stream.height, stream.width = frames.shape[1:3]
        stream.pix_fmt = "yuv420p"
        stream.codec_context.gop_size = 2  # as LeRobot encodes
        for frame in frames:
            container.mux(stream.encode(av.VideoFrame.from_ndarray(frame, format="rgb24")))
        container.mux(stream.encode())


def encoded(frame: np.ndarray, kind: str = "PNG") -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(frame).save(buffer, kind)
    return buffer.getvalue()


def _steps(episode: int, steps: int) -> dict[str, object]:
    """The columns of an episode: its states count 100 * episode + step, its actions the same with a minus."""
    values = (100.0 * episode + np.arange(steps, dtype=np.float32))[:, None].repeat(3, axis=1)
    return {
        "observation.state": list(values),
        "action": list(-values[:, :2]),
        "timestamp": (np.arange(steps) / RATE).astype(np.float32),
        "frame_index": np.arange(steps),
        "episode_index": np.full(steps, episode),
        "index": np.arange(steps),
        "task_index": np.full(steps, episode % 2),
        "action.note": ["by hand"] * steps,
    }


def _info(folder: Path, version: str, kind: str) -> None:
    features = {name: {"dtype": kind, "shape": [32, 48, 3]} for name in CAMERAS}
    features |= {name: {"dtype": "float32", "shape": [3]} for name in ("observation.state", "action")}
    info = {"codebase_version": version, "fps": RATE, "chunks_size": 1000, "features": features}
    (folder / "meta").mkdir(parents=True)
    (folder / "meta" / "info.json").write_text(json.dumps(info))


TASKS = ("open the drawer", "close it")


def write_lerobot_v3(
    folder: Path, lengths: Sequence[int] = (6, 4, 5), kind: str = "video", codec: str = "libx264"
) -> None:
    """All episodes in one film for each camera, their steps in two files in the wrong order."""
    _info(folder, "v3.0", kind)
    tables = []
    for episode, length in enumerate(lengths):
        columns = _steps(episode, length)
        if kind == "image":
            for number, camera in enumerate(CAMERAS):
                frames = flat_frames(episode, length, number)
                columns[camera] = [{"bytes": encoded(frame), "path": f"{k}.png"} for k, frame in enumerate(frames)]
        tables.append(pa.table(columns))
    for name, chosen in (("file-001", tables[:1]), ("file-000", tables[1:])):
        path = folder / "data" / "chunk-000" / f"{name}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.concat_tables(chosen), path, row_group_size=3)
    starts = np.cumsum([0, *lengths])[:-1] / RATE
    rows: dict[str, object] = {
        "episode_index": range(len(lengths)),
        "length": lengths,
        "data/file_index": [0] * len(lengths),
    }
    for number, camera in enumerate(CAMERAS):
        if kind == "video":
            film = np.concatenate([flat_frames(episode, length, number) for episode, length in enumerate(lengths)])
            write_film(folder / "videos" / camera / "chunk-000" / "file-002.mp4", film, codec)
            rows |= {
                f"videos/{camera}/chunk_index": [0] * len(lengths),
                f"videos/{camera}/file_index": [2] * len(lengths),
                f"videos/{camera}/from_timestamp": starts,
            }
    path = folder / "meta" / "episodes" / "chunk-000" / "file-000.parquet"
    path.parent.mkdir(parents=True)
    pq.write_table(pa.table(rows), path)
    # pandas keeps the index as a column of its own, as here.
    pq.write_table(pa.table({"task_index": [0, 1], "__index_level_0__": TASKS}), folder / "meta" / "tasks.parquet")


def write_lerobot_v2(
    folder: Path, episodes: Sequence[tuple[int, int]] = ((3, 6), (12, 4)), codec: str = "libx264"
) -> None:
    """A film and a table for each episode, with indices of their own."""
    _info(folder, "v2.1", "video")
    lines = []
    for episode, length in episodes:
        path = folder / "data" / "chunk-000" / f"episode_{episode:06d}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table(_steps(episode, length)), path)
        for number, camera in enumerate(CAMERAS):
            film = folder / "videos" / "chunk-000" / camera / f"episode_{episode:06d}.mp4"
            write_film(film, flat_frames(episode % 4, length, number), codec)
        lines.append(json.dumps({"episode_index": episode, "tasks": [TASKS[episode % 2]], "length": length}))
    (folder / "meta" / "episodes.jsonl").write_text("\n".join(lines[::-1]) + "\n")
    tasks = [json.dumps({"task_index": number, "task": task}) for number, task in enumerate(TASKS)]
    (folder / "meta" / "tasks.jsonl").write_text("\n".join(tasks))


def write_robomimic(path: Path, lengths: Sequence[int] = (3, 4, 2, 3, 2, 2, 2, 2, 2, 2, 2)) -> None:
    """More than ten demonstrations, which must not be sorted as text."""
    with h5py.File(path, "w") as file:
        data = file.create_group("data")
        data.attrs["env_args"] = json.dumps({"env_name": "Lift", "env_kwargs": {"control_freq": 20}})
        for number, length in enumerate(lengths):
            demo = data.create_group(f"demo_{number}")
            demo["actions"] = np.full((length, 2), float(number))
            demo["obs/pos"] = np.arange(3.0 * length).reshape(length, 3) + number
            demo["obs/grip"] = np.full((length, 1), -1.0)
            for camera, name in enumerate(("front_image", "wrist_image")):
                demo[f"obs/{name}"] = flat_frames(number % 4, length, camera)
        file["mask/train"] = np.array([b"demo_10", b"demo_2"])
        file["mask/valid"] = np.array([b"demo_1"])


def _box(shape: tuple[int, ...], dtype: str = "float64", low: float = -1, high: float = 1) -> dict[str, object]:
    return {"type": "Box", "dtype": dtype, "shape": list(shape)} | {
        name: np.full(shape, value).tolist() for name, value in (("low", low), ("high", high))
    }


MINARI_SPACE = {
    "type": "Dict",
    "subspaces": {
        "goal": _box((2,)),
        "pair": {"type": "Tuple", "subspaces": [_box((2, 2)), {"type": "Discrete", "n": 5, "start": 0}]},
        "view": _box((32, 48, 3), "uint8", 0, 255),
        "words": {"type": "Text", "max_length": 5},
    },
}


def minari_observations(episode: int, steps: int) -> dict[str, np.ndarray]:
    """The parts by their names, T + 1 of each."""
    rng = np.random.default_rng(episode)
    return {
        "goal": rng.normal(size=(steps + 1, 2)),
        "pair/0": rng.normal(size=(steps + 1, 2, 2)),
        "pair/1": rng.integers(0, 5, steps + 1),
        "view": flat_frames(episode % 4, steps + 1),
    }


def write_minari_tables(folder: Path, storage: str, jpeg: bool, episodes: int = 11) -> None:
    """As Minari's own ArrowStorage and ParquetStorage write: Dicts as structs, arrays as flat lists of fixed size."""
    data = folder / "data"
    for episode in range(episodes):
        steps = 2 + episode
        parts = minari_observations(episode, steps)

        def fixed(values: np.ndarray) -> pa.Array:
            flat = values.reshape(len(values), -1)
            kind = pa.list_(pa.from_numpy_dtype(flat.dtype), flat.shape[1])
            return pa.FixedSizeListArray.from_arrays(flat.reshape(-1), type=kind)

        pair = pa.StructArray.from_arrays([fixed(parts["pair/0"]), pa.array(parts["pair/1"])], names=["0", "1"])
        view = pa.array([encoded(f, "JPEG") for f in parts["view"]]) if jpeg else fixed(parts["view"])
        words = pa.array(["a"] * (steps + 1))
        names = ["goal", "pair", "view", "words"]
        batch = pa.RecordBatch.from_pydict(
            {
                "observations": pa.StructArray.from_arrays([fixed(parts["goal"]), pair, view, words], names=names),
                "actions": fixed(np.append(np.full((steps, 1), float(episode)), [[0.0]], axis=0)),
                "rewards": np.zeros(steps + 1),
                "terminations": np.arange(steps + 1) == (steps - 1 if episode == 1 else -1),
                "infos": pa.StructArray.from_arrays([fixed(np.full((steps + 1, 4), 10.0 * episode))], names=["qpos"]),
            }
        )
        inner = data / str(episode)
        inner.mkdir(parents=True)
        path = inner / f"part-0.{storage}"
        if storage == "arrow":
            with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, batch.schema) as writer:
                writer.write_batch(batch)
        else:
            pq.write_table(pa.Table.from_batches([batch]), path)
        options = {"initial_state_dict": {"qpos": [float(episode)] * 4}}
        metadata = {"id": episode, "total_steps": steps} | ({"options": options} if episode == 2 else {})
        (inner / "metadata.json").write_text(json.dumps(metadata))
    write_minari_metadata(data, jpeg)


def write_minari_metadata(data: Path, jpeg: bool) -> None:
    metadata = {
        "jpeg_encoding": jpeg,
        "observation_space": json.dumps(MINARI_SPACE),
        "env_spec": json.dumps({"id": "Toy-v0"}),
    }
    (data / "metadata.json").write_text(json.dumps(metadata))


def write_minari_file(folder: Path, jpeg: bool, episodes: int = 11) -> None:
    """As Minari's own HDF5Storage writes: Dicts as groups, JPEGs as bytes of different lengths."""
    data = folder / "data"
    data.mkdir(parents=True)
    with h5py.File(data / "main_data.hdf5", "w") as file:
        for episode in range(episodes):
            steps = 2 + episode
            parts = minari_observations(episode, steps)
            group = file.create_group(f"episode_{episode}")
            for name in ("goal", "pair/0", "pair/1"):
                group[f"observations/{name.replace('/', '/_index_')}"] = parts[name]
            if jpeg:
                pictures = [np.frombuffer(encoded(f, "JPEG"), np.uint8) for f in parts["view"]]
                # Minari writes pictures that happen to be equally long as one array.
                same = len({len(picture) for picture in pictures}) == 1
                kind = None if same else h5py.vlen_dtype(np.uint8)
                group.create_dataset("observations/view", data=pictures, dtype=kind)
            else:
                group["observations/view"] = parts["view"]
            group["actions"] = np.full((steps, 1), float(episode))
            group["terminations"] = np.arange(steps) == (steps - 1 if episode == 1 else -1)
    write_minari_metadata(data, jpeg)
