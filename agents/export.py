"""Networks as agent files: ONNX with what it needs to be understood, so that anyone plays them without torch.

`save_agent` writes the reference network, `save_layers` a plain stack of layers out of any torch library.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from onnx import TensorProto, checker, helper, numpy_helper
from torch import nn

from agents.network import MASKED, ROLE_BIAS, ROLE_COLUMNS, ROLE_WEIGHT, ROLES, ActorCritic, RoleHeads
from napoleon_env.agent import METADATA_KEY, agent_metadata
from napoleon_env.notation import N_ACTIONS
from napoleon_env.observation import OBSERVATION_SIZE
from napoleon_env.ruleset import Ruleset

OPSET = 17
ACTIVATIONS = {nn.ReLU: "Relu", nn.Tanh: "Tanh"}
"""Those whose operator has the same defaults in ONNX."""


class _Graph:
    """ONNX nodes in order, each with one output named after it."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def add(self, operator: str, *inputs: str, name: str = "", **attributes: Any) -> str:
        """Append a node and return the name of its output."""
        output = name or f"{operator}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, list(inputs), [output], **attributes))
        return output

    def constant(self, value: Any, dtype: type) -> str:
        """Store a constant and return its name."""
        name = f"constant_{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(value, dtype), name))
        return name


def _add_layers(graph: _Graph, x: str, layers: Iterable[nn.Module]) -> str:
    """Append a stack of layers and return the name of its output.

    Built node by node: torch's own exporter takes seconds and a tracing dependency for these few layers.
    """
    seen = x
    for layer in layers:
        if isinstance(layer, nn.Linear):
            bias = layer.weight.new_zeros(layer.out_features) if layer.bias is None else layer.bias
            parameters = [graph.constant(p.float().numpy(force=True), np.float32) for p in (layer.weight, bias)]
            x = graph.add("Gemm", x, *parameters, transB=1)
            if isinstance(layer, RoleHeads):
                x = _add_choice(graph, x, seen)
        elif type(layer) in ACTIVATIONS:
            x = graph.add(ACTIVATIONS[type(layer)], x)
        elif not isinstance(layer, nn.Identity):
            raise ValueError(f"a layer of type {type(layer).__name__} cannot be exported: Linear, RoleHeads, ReLU and Tanh can")
    return x


def _add_choice(graph: _Graph, heads: str, seen: str) -> str:
    """Append the choice of each row's head by its role, as `RoleHeads` makes it."""
    role = graph.add("Gather", seen, graph.constant(ROLE_COLUMNS, np.int64), axis=1)
    role = graph.add("Gemm", role, *(graph.constant(x, np.float32) for x in (ROLE_WEIGHT, ROLE_BIAS)), transB=1)
    role = graph.add("Unsqueeze", graph.add("Relu", role), graph.constant([2], np.int64))
    heads = graph.add("Reshape", heads, graph.constant([0, len(ROLES), -1], np.int64))
    return graph.add("ReduceSum", graph.add("Mul", heads, role), graph.constant([1], np.int64), keepdims=0)


def _actor_graph(net: ActorCritic) -> tuple[_Graph, str]:
    """The actor from the full observation to the logits of all actions, and the name of its output."""
    graph = _Graph()
    columns = graph.constant(net.inputs.observation, np.int64)
    x = graph.add("Cast", graph.add("Gather", "observation", columns, axis=1), to=TensorProto.FLOAT)
    x = graph.add("Mul", x, graph.constant(net.scale[: net.n_seen].numpy(force=True), np.float32))
    towers = [
        _add_layers(graph, x, [*(part for layer in tower.hidden for part in (layer, nn.ReLU())), tower.last])
        for tower in net.actors
    ]
    if net.roles == "shared":
        (x,) = towers
    else:
        x = graph.add("Concat", *towers, axis=1) if len(towers) > 1 else towers[0]
        x = _add_choice(graph, x, graph.add("Cast", "observation", to=TensorProto.FLOAT))
    # Actions the network never met are legal only under other rule sets: they get logit 0, like an untrained output.
    place = np.full(N_ACTIONS, len(net.inputs.actions))
    place[list(net.inputs.actions)] = np.arange(len(net.inputs.actions))
    x = graph.add("Pad", x, graph.constant([0, 0, 0, 1], np.int64))
    return graph, graph.add("Gather", x, graph.constant(place, np.int64), axis=1)


def save_agent(
    path: Path, net: ActorCritic, rule_sets: Sequence[Ruleset], suit_order: str, *, training: dict[str, Any]
) -> Path:
    """Write `net` as an agent file: int8 inputs observation and action_mask, output logits. Replaces the file atomically.

    Args:
        path: of the file.
        net: its actor is what is written.
        rule_sets: what it was trained on.
        suit_order: "fixed" or "canonical", as trained.
        training: how it was trained and what it reached; JSON values.
    """
    graph, logits = _actor_graph(net)
    return _save(path, graph, logits, agent_metadata(rule_sets, suit_order, training))


def save_layers(
    path: Path, layers: Iterable[nn.Module], rule_sets: Sequence[Ruleset], suit_order: str, *, training: dict[str, Any]
) -> Path:
    """Write layers that follow one another, as an agent file; for the further arguments see `save_agent`.

    Args:
        path: of the file.
        layers: Linear, `RoleHeads`, ReLU and Tanh, in their order, from the whole observation, float32
            [B, OBSERVATION_SIZE], to the logits of all actions, [B, N_ACTIONS], legal or not. What contains them
            (Sequential, MLP) is opened.

    Raises:
        ValueError: a layer of another type.
    """
    graph = _Graph()
    leaves = [leaf for layer in layers for leaf in layer.modules() if not [*leaf.children()]]
    logits = _add_layers(graph, graph.add("Cast", "observation", to=TensorProto.FLOAT), leaves)
    return _save(path, graph, logits, agent_metadata(rule_sets, suit_order, training))


def _save(path: Path, graph: _Graph, logits: str, metadata: dict[str, Any]) -> Path:
    legal = graph.add("Cast", "action_mask", to=TensorProto.BOOL)
    graph.add("Where", legal, logits, graph.constant(MASKED, np.float32), name="logits")
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.INT8, ["batch", size])
        for name, size in (("observation", OBSERVATION_SIZE), ("action_mask", N_ACTIONS))
    ]
    output = helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", N_ACTIONS])
    model = helper.make_model(
        helper.make_graph(graph.nodes, "actor", inputs, [output], graph.constants),
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=9,  # what onnxruntime has read since 1.16
        producer_name="napoleon-env",
    )
    helper.set_model_props(model, {METADATA_KEY: json.dumps(metadata)})
    checker.check_model(model)
    partial = path.with_suffix(".partial")
    partial.write_bytes(model.SerializeToString())
    os.replace(partial, path)
    return path
