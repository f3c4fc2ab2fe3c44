"""Acts with policy.onnx. Needs onnxruntime and the numpy that comes with it, nothing else."""

import json
from pathlib import Path

import numpy as np
import onnxruntime

here = Path(__file__).parent
about = json.loads((here / "metadata.json").read_text())
policy, *encoder = (onnxruntime.InferenceSession(here / name) for name in about["files"])
known = {}


def act(observation, step, frame=None):
    """The action at a step of the episode, counted from 0: call it at every step."""
    if encoder and step % about["frames"]["interval"] == 0:
        seen = encoder[0].run(None, {"frames": frame[None]})[0]
        known.update(previous=known["present"] if step else seen, present=seen)
    if step % about["action_repeat"] == 0:
        time = np.array([[step / about["horizon"]]], np.float32)
        given = {**known, "observation": np.asarray(observation, np.float32)[None], "time": time}
        known["action"] = policy.run(None, {part.name: given[part.name] for part in policy.get_inputs()})[0][0]
    return known["action"]


if __name__ == "__main__":  # observations of zeros: put your robot's, or your simulator's, in their place
    frame = np.zeros(about["frames"]["shape"], np.uint8) if encoder else None
    for step in range(5):
        print(act(np.zeros(about["observation"]["size"]), step, frame))
