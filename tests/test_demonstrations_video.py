"""Plain videos and pictures: what they become, what is kept of them, and what they cannot make the package do."""

import contextlib
import os
import socket
import subprocess
from pathlib import Path

import imageio.v3 as imageio
import imageio_ffmpeg
import numpy as np
import pytest
from PIL import Image

from tests.datasets import flat_frames, write_film
from tests.test_demonstrations import equal
from vision_pwil.demonstrations import Demonstrations, Episode, read
from vision_pwil.system.errors import InputError

FFMPEG = imageio_ffmpeg.get_ffmpeg_exe()


def moving_square(n: int, size=(168, 126)) -> list[Image.Image]:
    """Frames whose left part turns from black to coloured, twice as large (or so) as the frames of the package."""
    frames = []
    for k in range(n):
        pixels = np.zeros((size[1], size[0], 3), np.uint8)
        pixels[:, : size[0] * (k + 1) // n] = (200, 100, 50)
        frames.append(Image.fromarray(pixels))
    return frames


def write_mp4(path: Path, frames: list[Image.Image]) -> None:
    writer = imageio_ffmpeg.write_frames(path, frames[0].size, macro_block_size=2, quality=9)
    writer.send(None)
    for frame in frames:
        writer.send(frame.tobytes())
    writer.close()


def check_moving_square(frames: np.ndarray, n: int, tolerance: int) -> None:
    assert frames.shape == (n, 84, 84, 3) and frames.dtype == np.uint8
    for k, frame in enumerate(frames):
        edge = 84 * (k + 1) // n
        assert np.abs(frame[:, : max(edge - 4, 1)].astype(int) - (200, 100, 50)).max() <= tolerance
        assert frame[:, edge + 4 :].max(initial=0) <= tolerance


@pytest.fixture
def cache(tmp_path, monkeypatch) -> Path:
    """A cache folder of the test's own, empty at first."""
    monkeypatch.setenv("VISION_PWIL_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


# --- what is read


def test_folder_of_videos(tmp_path):
    write_mp4(tmp_path / "10.mp4", moving_square(12))
    write_mp4(tmp_path / "2.mp4", moving_square(6))
    first, *rest = moving_square(4)
    first.save(tmp_path / "1.gif", save_all=True, append_images=rest)
    demonstrations = read(tmp_path, fit="stretch")
    assert [episode.name for episode in demonstrations.episodes] == ["1.gif", "2.mp4", "10.mp4"]  # 2 before 10
    for episode, n in zip(demonstrations.episodes, (4, 6, 12), strict=True):
        check_moving_square(episode.frames, n, tolerance=30)
    single = read(tmp_path / "2.mp4")
    assert len(single.episodes[0]) == 6 and single.rate == 16  # imageio-ffmpeg's own


def test_videos_that_differ_are_noticed(tmp_path, capsys):
    for name, fps in (("a", 25), ("b", 24.9), ("c", 10)):
        frames = [np.asarray(frame) for frame in moving_square(4)]
        imageio.imwrite(tmp_path / f"{name}.mp4", frames, fps=fps, macro_block_size=2)
    (tmp_path / "d").mkdir()
    (tmp_path / "c.mp4").rename(tmp_path / "d" / "c.mp4")
    read(tmp_path)
    said = capsys.readouterr().err
    assert (
        "not square (b.mp4 has 168x126 pixels): of each picture the middle square" in said and "differ in" not in said
    )
    read(tmp_path, fit="pad")
    assert "square" not in capsys.readouterr().err
    (tmp_path / "d" / "c.mp4").rename(tmp_path / "c.mp4")
    imageio.imwrite(tmp_path / "wide.mp4", np.zeros((4, 60, 100, 3), np.uint8), fps=25, macro_block_size=2)
    read(tmp_path)
    said = capsys.readouterr().err
    assert "wide.mp4 has 100x60 pixels): do they show the task from the same camera?" in said
    assert "(c.mp4 has 10, wide.mp4 has 25)" in said and "ffmpeg -i video.mp4 -r 10 converted.mp4" in said


def test_folders_of_images(tmp_path):
    for name, n in (("a", 12), ("b", 3)):
        (tmp_path / name).mkdir()
        for k, frame in enumerate(moving_square(n)):
            frame.save(tmp_path / name / f"frame{k}.png")
    demonstrations = read(tmp_path, fit="stretch")
    for episode, n in zip(demonstrations.episodes, (12, 3), strict=True):
        check_moving_square(episode.frames, n, tolerance=0)
    (single,) = read(tmp_path / "a", fit="stretch").episodes
    assert equal(single, demonstrations.episodes[0])


@pytest.mark.parametrize("codec", ["libx264", "libsvtav1"])
def test_frames_are_what_ffmpeg_itself_decodes(tmp_path, codec):
    rng = np.random.default_rng(0)
    smooth = np.asarray(Image.fromarray(rng.integers(0, 256, (6, 8, 3), dtype=np.uint8)).resize((96, 64)))
    write_film(tmp_path / "a.mp4", np.stack([np.roll(smooth, 2 * k, axis=1) for k in range(12)]), codec)
    (episode,) = read(tmp_path / "a.mp4", size=None).episodes
    decoded = subprocess.run(
        [FFMPEG, "-v", "error", "-i", tmp_path / "a.mp4", "-f", "rawvideo", "-pix_fmt", "rgb24", "-"],
        capture_output=True,
        check=True,
    ).stdout
    truth = np.frombuffer(decoded, np.uint8).reshape(-1, 64, 96, 3)
    assert episode.frames.shape == truth.shape
    assert np.abs(episode.frames.astype(int) - truth).mean() < 1.5  # two versions of FFmpeg turn YUV into RGB


def test_a_film_made_sideways_is_seen_upright(tmp_path):
    frames = np.zeros((3, 64, 96, 3), np.uint8)
    frames[:, :, :48] = (200, 40, 40)  # the left half is red
    write_film(tmp_path / "flat.mp4", frames)
    subprocess.run(
        [
            FFMPEG,
            "-v",
            "error",
            "-display_rotation",
            "90",
            "-i",
            tmp_path / "flat.mp4",
            "-c",
            "copy",
            tmp_path / "a.mp4",
        ],
        check=True,
    )
    decoded = subprocess.run(
        [FFMPEG, "-v", "error", "-i", tmp_path / "a.mp4", "-f", "rawvideo", "-pix_fmt", "rgb24", "-"],
        capture_output=True,
        check=True,
    ).stdout
    truth = np.frombuffer(decoded, np.uint8).reshape(3, 96, 64, 3)
    (episode,) = read(tmp_path / "a.mp4", size=None).episodes
    assert episode.frames.shape == truth.shape
    assert np.abs(episode.frames.astype(int) - truth).mean() < 3


# --- the size of a frame


def save_picture(folder: Path, height: int, width: int) -> np.ndarray:
    pixels = np.random.default_rng(0).integers(0, 256, (height, width, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(folder / "0.png")
    return pixels


def test_resizing_averages_areas_and_crops_the_middle(tmp_path):
    pixels = save_picture(tmp_path, 168, 252)
    (cropped,) = read(tmp_path).episodes
    means = pixels[:, 42:-42].reshape(84, 2, 84, 2, 3).mean(axis=(1, 3))
    assert np.abs(cropped.frames[0] - means).max() <= 1
    (stretched,) = read(tmp_path, fit="stretch").episodes
    means = pixels.reshape(84, 2, 84, 3, 3).mean(axis=(1, 3))
    assert np.abs(stretched.frames[0] - means).max() <= 1


def test_padding_shows_the_whole_picture_between_black_bars(tmp_path):
    pixels = save_picture(tmp_path, 84, 168)
    (padded,) = read(tmp_path, fit="pad").episodes
    means = pixels.reshape(42, 2, 84, 2, 3).mean(axis=(1, 3))
    assert np.abs(padded.frames[0, 21:63] - means).max() <= 1
    assert not padded.frames[0, :21].any() and not padded.frames[0, 63:].any()


def test_other_sizes_and_none(tmp_path):
    pixels = save_picture(tmp_path, 60, 60)
    assert read(tmp_path, size=20).episodes[0].frames.shape == (1, 20, 20, 3)
    assert np.array_equal(read(tmp_path, size=None).episodes[0].frames[0], pixels)
    for size in (0, -1, 10**6):
        with pytest.raises(InputError, match="--size must be a whole number at least 1 and at most 4096 or None, not"):
            read(tmp_path, size=size)
    with pytest.raises(InputError, match="--fit must be crop or pad or stretch, not 'squash'"):
        read(tmp_path, fit="squash")
    Image.new("RGB", (30, 20)).save(tmp_path / "1.png")
    with pytest.raises(InputError, match="differ in size"):
        read(tmp_path, size=None)


# --- what is kept


def test_decoded_frames_are_kept_by_content(tmp_path, cache):
    film = tmp_path / "a.mp4"
    write_film(film, flat_frames(0, 5))
    first = read(film)
    (kept,) = cache.rglob("*.demos")
    # Other frames in the place of the kept ones are read instead of the film: it was not decoded again.
    Demonstrations((Episode(frames=np.full((2, 84, 84, 3), 7, np.uint8)),)).save(kept)
    assert (read(film).episodes[0].frames == 7).all()
    kept.write_bytes(b"damaged")
    assert read(film).checksum == first.checksum
    moved = tmp_path / "b.mp4"
    film.rename(moved)
    assert read(moved).checksum == first.checksum and len(list(cache.rglob("*.demos"))) == 1
    read(moved, fit="pad")
    write_film(film, flat_frames(1, 5))
    assert read(film).checksum != first.checksum
    assert len(list(cache.rglob("*.demos"))) == 3


def test_a_folder_that_keeps_nothing_costs_time_only(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv("VISION_PWIL_CACHE", str(tmp_path / "file" / "cache"))
    write_film(tmp_path / "a.mp4", flat_frames(0, 5))
    with pytest.warns(UserWarning, match="could not be kept for next time"):
        assert len(read(tmp_path / "a.mp4").episodes[0]) == 5


# --- what is refused


def test_a_broken_film_is_told_in_our_words(tmp_path, capfd):
    write_film(tmp_path / "good.mp4", flat_frames(0, 20))
    data = (tmp_path / "good.mp4").read_bytes()
    (tmp_path / "cut.mp4").write_bytes(data[: len(data) // 2])
    with pytest.raises(InputError, match=r"cut\.mp4: it is damaged, or no video \([^()]*\)\.$"):
        read(tmp_path / "cut.mp4")
    (tmp_path / "cut.mp4").write_text("no video at all")
    with pytest.raises(InputError, match=r"cut\.mp4: it is damaged, or no video"):
        read(tmp_path / "cut.mp4")
    assert "moov" not in capfd.readouterr().err  # FFmpeg's own words stay away


@pytest.mark.parametrize(
    "text",
    [
        "#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\n{url}\n#EXT-X-ENDLIST\n",
        "ffconcat version 1.0\nfile '{url}'\n",
        '<?xml version="1.0"?><MPD xmlns="urn:mpeg:dash:schema:mpd:2011"><BaseURL>{url}</BaseURL></MPD>',
    ],
)
def test_a_playlist_named_as_video_opens_no_connection(tmp_path, text):
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.2)
        path = tmp_path / "playlist.mp4"
        path.write_text(text.format(url=f"http://127.0.0.1:{server.getsockname()[1]}/x.ts"))
        with pytest.raises(InputError, match="it is damaged, or no video"):
            read(path)
        with pytest.raises(TimeoutError):
            server.accept()


def test_a_playlist_reads_no_other_file(tmp_path):
    write_film(tmp_path / "secret.mp4", flat_frames(0, 5))
    (tmp_path / "list.mp4").write_text("ffconcat version 1.0\nfile 'secret.mp4'\n")
    with pytest.raises(InputError, match="it is damaged, or no video"):
        read(tmp_path / "list.mp4")


def test_postscript_named_as_a_picture_starts_nothing(tmp_path, monkeypatch):
    marker = tmp_path / "started"
    program = tmp_path / "bin" / "gs"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\ntouch {marker}\necho 10.0\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    folder = tmp_path / "pictures"
    folder.mkdir()
    (folder / "0.png").write_text("%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 10 10\n%%EndComments\nshowpage\n%%EOF\n")
    with pytest.raises(InputError, match=r"0\.png is not a readable image"):
        read(folder)
    assert not marker.exists()
    with contextlib.suppress(Exception), Image.open(folder / "0.png") as image:
        image.load()
    assert marker.exists(), "this is no attack at all"


def test_a_picture_that_claims_to_be_huge(tmp_path):
    Image.new("1", (8_000, 6_000)).save(tmp_path / "0.png")
    assert (tmp_path / "0.png").stat().st_size < 200_000
    with pytest.raises(InputError, match="8000 x 6000 pixels, more than the 40,000,000 accepted"):
        read(tmp_path)


def test_what_is_no_file_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe.mp4")
    with pytest.raises(InputError, match=r"pipe\.mp4: it is neither a file nor a folder"):
        read(tmp_path / "pipe.mp4")
    with pytest.raises(InputError, match="no videos"):
        read(tmp_path)
