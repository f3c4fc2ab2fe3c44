"""A policy's actor, and the frame encoder, as ONNX graphs, node by node from their arrays.

The networks are a dozen nodes each, so they are written down here, next to what they have to equal, and no tracer is
needed.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from onnx import ModelProto, TensorProto, checker, helper, numpy_helper, shape_inference

from vision_pwil.agents.compiled import EPSILON
from vision_pwil.agents.normalizer import CLIP
from vision_pwil.agents.protocol import Policy
from vision_pwil.encoder import EMBEDDING, Encoder
from vision_pwil.envs.flat import Bounds

OPSET = 17
"""The first with layer normalisation; runtimes since 2022 have it."""
IR_VERSION = 8
"""Of the file, as old as the operators."""
BROKEN = (KeyError, ValueError, TypeError, checker.ValidationError, shape_inference.InferenceError)
"""What is raised where arrays are missing or do not fit together."""
ACTIVATIONS: dict[str, tuple[str, ...]] = {
    "sac": ("Relu",),
    "td3": ("Relu",),
    "dac": ("Relu",),
    "bc": ("Relu",),
    "d4pg": ("NormalizedTanh", "Elu"),
}
"""What follows the hidden layers of an agent's actor in turn; the last one serves all further layers too."""


@dataclass
class Graph:
    """Nodes and constants, added one after the other; each node names its output."""

    nodes: list[Any] = field(default_factory=list)
    constants: list[Any] = field(default_factory=list)

    def constant(self, value: Any, dtype: Any = np.float32) -> str:
        """Keep an array in the graph."""
        name = f"constant{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.array(value, dtype), name))
        return name

    def add(self, kind: str, *inputs: str, **attributes: Any) -> str:
        """A node."""
        name = f"{kind}{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, [*inputs], [name], name, **attributes))
        return name

    def affine(self, inputs: str, weight: np.ndarray, bias: np.ndarray) -> str:
        """inputs @ weight + bias."""
        return self.add("Add", self.add("MatMul", inputs, self.constant(weight)), self.constant(bias))

    def model(self, inputs: dict[str, tuple[int, Sequence[int]]], output: str, name: str, shape: Sequence[int]) -> Any:
        """The graph with its named inputs (element type and shape of each) and its one output, checked; rows of all are
        examples, in any number."""
        self.nodes.append(helper.make_node("Identity", [output], [name], name))
        graph = helper.make_graph(
            self.nodes,
            "vision-pwil",
            [helper.make_tensor_value_info(key, kind, ["n", *size]) for key, (kind, size) in inputs.items()],
            [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", *shape])],
            self.constants,
        )
        opset = [helper.make_opsetid("", OPSET)]
        model = helper.make_model(graph, opset_imports=opset, ir_version=IR_VERSION, producer_name="vision-pwil")
        checker.check_model(model, full_check=True)
        return model


def policy_graph(
    policy: Policy,
    agent: str,
    sizes: dict[str, int],
    bounds: Bounds,
    shape: Sequence[int],
    *,
    absorbing_bit: bool,
) -> ModelProto:
    """An actor without exploration noise: inputs of these names and sizes, laid end to end, to actions.

    Normalisation is inside, and so are the environment's units, given by `bounds`, and the `shape` of its actions. The
    absorbing bit, which is 0 wherever a policy acts, is added inside, too. The input `targets`, if there is one, has
    the environment's units as well.
    """
    graph = Graph()
    half = (bounds.high - bounds.low) * np.float32(0.5)
    middle = (bounds.low + bounds.high) * np.float32(0.5)
    named = {name: name for name in sizes}
    if "targets" in sizes:
        named["targets"] = graph.add("Sub", "targets", graph.constant(middle))
        named["targets"] = graph.add("Div", named["targets"], graph.constant(half))
    inputs = graph.add("Concat", *named.values(), axis=1)
    if absorbing_bit:
        inputs = graph.add("Pad", inputs, graph.constant([0, 0, 0, 1], np.int64))
    if "mean" in policy:
        inputs = graph.add("Sub", inputs, graph.constant(policy["mean"]))
        inputs = graph.add("Mul", inputs, graph.constant(policy["inverse_std"]))
        limit = float(np.squeeze(policy.get("clip", CLIP)))
        if np.isfinite(limit):
            inputs = graph.add("Clip", inputs, graph.constant(-limit), graph.constant(limit))
    number = 0
    while f"weight{number + 1}" in policy:
        inputs = graph.affine(inputs, policy[f"weight{number}"], policy[f"bias{number}"])
        kind = ACTIVATIONS[agent][min(number, len(ACTIVATIONS[agent]) - 1)]
        if kind == "NormalizedTanh":
            scale, offset = (graph.constant(policy[name]) for name in ("scale", "offset"))
            inputs = graph.add("LayerNormalization", inputs, scale, offset, axis=-1, epsilon=EPSILON)
            kind = "Tanh"
        inputs = graph.add(kind, inputs)
        number += 1
    size = len(bounds.low)  # of SAC's output, the first half is the mean, which acts
    weight, bias = policy[f"weight{number}"][:, :size], policy[f"bias{number}"][:size]
    action = graph.add("Tanh", graph.affine(inputs, weight, bias))
    action = graph.add("Add", graph.add("Mul", action, graph.constant(half)), graph.constant(middle))
    action = graph.add("Reshape", action, graph.constant([-1, *shape], np.int64))
    return graph.model({name: (TensorProto.FLOAT, [size]) for name, size in sizes.items()}, action, "action", shape)


def encoder_graph(encoder: Encoder) -> ModelProto:
    """The encoder: uint8 frames (n, height, width, 3) to embeddings (n, 32)."""
    graph, arrays = Graph(), {name: tensor.numpy() for name, tensor in encoder.state_dict().items()}
    pixels = graph.add("Cast", "frames", to=TensorProto.FLOAT)
    pixels = graph.add("Transpose", pixels, perm=[0, 3, 1, 2])
    pixels = graph.add("Mul", pixels, graph.constant(1.0 / arrays["scale"]))
    inputs = graph.add("Sub", pixels, graph.constant(arrays["mean"] / arrays["scale"]))
    for number, layer in enumerate(encoder.network):
        kind = type(layer).__name__
        if kind == "Linear":
            weight, bias = arrays[f"network.{number}.weight"], arrays[f"network.{number}.bias"]
            inputs = graph.affine(inputs, weight.T, bias)
        elif kind == "Conv2d":
            weight, bias = (graph.constant(arrays[f"network.{number}.{name}"]) for name in ("weight", "bias"))
            inputs = graph.add("Conv", inputs, weight, bias, strides=[*layer.stride])
        else:
            inputs = graph.add({"ReLU": "Relu", "Flatten": "Flatten"}[kind], inputs)
    return graph.model({"frames": (TensorProto.UINT8, encoder.frame_shape)}, inputs, "embedding", [EMBEDDING])
