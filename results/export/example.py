"""Acts with policy.onnx. Needs onnxruntime and the numpy that comes with it, nothing else."""

import json
from pathlib import Path

import numpy as np
import onnxruntime

here = Path(__file__).parent
about = json.loads((here / "metadata.json").read_text())
policy, *encoder = (onnxruntime.InferenceSession(here / name) for name in about["files"])
known, moves = {}, about["moves_targets"]


def act(observation, step, frame=None, targets=None):
    """The action at a step of the episode, counted from 0: call it at every step.

    A policy whose actions move targets needs `targets` at step 0: the action that holds the pose.
    """
    if targets is not None:
        known["targets"] = np.asarray(targets, np.float32)
    if encoder and step % about["frames"]["interval"] == 0:
        seen = encoder[0].run(None, {"frames": frame[None]})[0]
        known.update(previous=known["present"] if step else seen, present=seen)
    if step % about["action_repeat"] == 0:
        time = np.array([[step / about["horizon"]]], np.float32)
        given = {**known, "observation": np.asarray(observation, np.float32)[None], "time": time}
        if moves:
            given["targets"] = known["targets"].reshape(1, -1)
        known["action"] = policy.run(None, {part.name: given[part.name] for part in policy.get_inputs()})[0][0]
    return move(known["action"]) if moves else known["action"]


def move(action):
    """The targets after a step: those that the policy moves go part of the way, the others at once."""
    low, high, now = np.ravel(about["action"]["low"]), np.ravel(about["action"]["high"]), known["targets"].ravel()
    action, rate = np.clip(action.ravel(), low, high), moves["action_rate"]
    if rate:
        there = np.clip(now + rate * (action - (low + high) / 2), low, high)
    else:
        there = now + moves["action_smoothing"] * (action - now)
    chosen = moves["action_targets"] or range(len(low))
    action[list(chosen)] = there[list(chosen)]
    known["targets"] = action.reshape(about["action"]["shape"]).astype(np.float32)
    return known["targets"]


if __name__ == "__main__":  # observations of zeros: put your robot's, or your simulator's, in their place
    frame = np.zeros(about["frames"]["shape"], np.uint8) if encoder else None
    targets = np.zeros(about["action"]["shape"]) if moves else None
    for step in range(5):
        print(act(np.zeros(about["observation"]["size"]), step, frame, None if step else targets))
