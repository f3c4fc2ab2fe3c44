"""A trained policy as files for other runtimes: ONNX, a description in JSON, and an example that runs it."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

from vision_pwil.encoder import Encoder
from vision_pwil.system.errors import InputError
from vision_pwil.system.files import parsing, replacing, write_json, write_text
from vision_pwil.tasks.actor import read_actor
from vision_pwil.tasks.observation import Observation
from vision_pwil.tasks.task import ENCODER

POLICY_FILE, ENCODER_FILE, METADATA, EXAMPLE_FILE = "policy.onnx", "encoder.onnx", "metadata.json", "example.py"
EXAMPLE = '''"""Acts with policy.onnx. Needs onnxruntime and the numpy that comes with it, nothing else."""

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
'''


def export(path: str | Path, out: str | Path) -> Path:
    """Write a policy, from a run directory or a policy file, into the folder `out`, with all that its user must know.

    policy.onnx takes the environment's own observation, flat, and t/T where the policy sees the time, and gives actions
    in the environment's own units; where they move targets, the example shows how. Where the policy sees pictures,
    encoder.onnx turns a frame into what it takes.
    """
    graphs, actor, out = _graphs(), read_actor(path), Path(out)
    about, agent, observe, file = actor.about, actor.about.agent, actor.about.observation, actor.file
    metadata = {
        "agent": agent,
        "env": about.env,
        "env_options": about.env_options,
        "trained_steps": about.step,
        "horizon": observe.horizon,
        "action_repeat": about.action_repeat,
        "action": {**asdict(about.action), "dtype": "float32"},
        "moves_targets": asdict(about.action.targets) if about.action.targets else None,
    }
    with parsing(file, "policy of this package"):
        sizes = input_sizes(observe, actor.size, len(about.action.low) if about.action.targets else 0)
    if agent not in graphs.ACTIVATIONS:
        raise InputError(f"Policies of the agent {agent!r} cannot be exported, only {', '.join(graphs.ACTIVATIONS)}.")
    try:
        models = {
            POLICY_FILE: graphs.policy_graph(
                actor.arrays,
                agent,
                sizes,
                about.action.bounds,
                about.action.shape,
                absorbing_bit=observe.absorbing_bit,
            )
        }
    except graphs.BROKEN as error:
        raise InputError(f"{file} does not hold a policy's network ({error}): copy or train it again.") from None
    if observe.embedding:
        encoder = Encoder.load(file.parent / ENCODER)
        models[ENCODER_FILE] = graphs.encoder_graph(encoder)
        metadata["frames"] = {"shape": encoder.frame_shape, "dtype": "uint8", "interval": observe.interval}
    metadata |= {
        "files": [*models],
        "inputs": sizes,
        "observation": {
            "size": sizes.get("observation", 0),
            "dtype": "float32",
            "parts": about.parts,
            "dimensions": observe.proprioception[: sizes.get("observation", 0)] if observe.embedding else None,
        },
    }
    for name, model in models.items():
        with replacing(out / name) as temporary:
            temporary.write_bytes(model.SerializeToString())
    write_json(out / METADATA, metadata)
    write_text(out / EXAMPLE_FILE, EXAMPLE)
    return out


def input_sizes(observe: Observation, total: int, targets: int = 0) -> dict[str, int]:
    """The inputs of an actor that takes `total` numbers, so many `targets` among them, in their order, and how many
    each has."""
    known = {"present": observe.embedding, "previous": observe.embedding, "targets": targets, "time": int(observe.time)}
    seen = total - sum(known.values()) - observe.absorbing_bit
    if seen < 0 or (observe.embedding and seen + targets != len(observe.proprioception)):
        raise InputError(f"its network takes {total} numbers, which is not what it sees.")
    order = ("present", "previous", "observation", "targets", "time")
    return {name: size for name in order if (size := {**known, "observation": seen}[name])}


def _graphs() -> Any:
    try:
        from vision_pwil.agents import onnx_graph
    except ImportError as error:
        raise InputError(f"An export needs the package onnx ({error}): pip install 'vision-pwil[export]'.") from None
    return onnx_graph
