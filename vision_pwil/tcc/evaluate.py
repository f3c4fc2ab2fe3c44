"""Tau of a saved encoder, and pictures of its alignment: `vision-pwil encoder evaluate --encoder ...`."""

from dataclasses import dataclass, field
from itertools import permutations
from pathlib import Path

import numpy as np

from vision_pwil.demonstrations.options import Options
from vision_pwil.system.errors import InputError
from vision_pwil.system.files import replacing
from vision_pwil.system.progress import progress
from vision_pwil.system.settings import Settings, Whole
from vision_pwil.tcc.alignment import nearest, tau_matrix


@dataclass(frozen=True)
class EvaluateConfig(Settings):
    """What to align, and where the pictures go."""

    encoder: Path
    """Encoder file, as `vision_pwil.tcc.train` writes it."""
    demos: Path
    """Demonstrations with frames, or the door's, whose frames are rendered first."""
    out: Path
    """Folder for the pictures."""
    pairs: Whole = 4
    """How many ordered pairs of held-out videos get a strip of matched frames and a picture of their distances."""
    reading: Options = field(default_factory=Options)


def evaluate(config: EvaluateConfig) -> dict[str, float]:
    """Tau of the training, the held-out and all videos; pictures of the held-out ones.

    Which videos were held out is known only for the demonstrations the encoder was trained on; of others, all are.
    """
    import imageio.v3 as imageio  # import slowly, and --help needs none of it

    from vision_pwil.encoder import Encoder
    from vision_pwil.tcc import pictures
    from vision_pwil.tcc.videos import read_videos

    encoder = Encoder.load(config.encoder)
    demonstrations = read_videos(config.demos, config.reading)
    trained_on, rendered = encoder.provenance.render_fingerprint, demonstrations.render_fingerprint
    if trained_on != rendered:
        raise InputError(
            f"The encoder was trained on frames with render fingerprint {trained_on}, these have {rendered}: render"
            " them alike, or train the encoder again."
        )
    videos = [episode.frames for episode in demonstrations.episodes if episode.frames is not None]
    embedded = [encoder.embed(video) for video in progress(videos, desc="embedding", unit="video", leave=False)]
    known = encoder.provenance.demonstrations == demonstrations.identity
    every = list(range(len(videos)))
    held_out = list(encoder.provenance.validation) if known else every
    parts = {"all": every, "held out": held_out, "training": [i for i in every if i not in held_out]}
    taus = {}
    for name, part in ((name, part) for name, part in parts.items() if part):
        matrix = tau_matrix([embedded[i] for i in part])
        taus[name] = float(np.nanmean(matrix))
        pictures.save(pictures.taus(matrix, part), config.out / f"tau_{name.replace(' ', '_')}.png")
    drawn = held_out or every
    for i, j in list(permutations(drawn, 2))[:: max(1, len(drawn) - 1)][: config.pairs]:
        match = nearest(embedded[i], embedded[j])
        with replacing(config.out / f"strip_{i}_{j}.png") as temporary:
            imageio.imwrite(temporary, pictures.strip(videos[i], videos[j], match))
        pictures.save(
            pictures.distances(embedded[i], embedded[j], f"videos {i} and {j}"), config.out / f"distances_{i}_{j}.png"
        )
    return taus


def main(config: EvaluateConfig) -> None:
    """Print tau and write the pictures."""
    for name, tau in evaluate(config).items():
        print(f"Kendall's tau, {name} videos: {tau:.4f}")
    print(f"Pictures of the alignment are in {config.out}.")
