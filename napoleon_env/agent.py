"""An agent file as a player: an ONNX network run by onnxruntime, in batches, without torch.

Inputs `observation` [B, OBSERVATION_SIZE] and `action_mask` [B, N_ACTIONS] of any number type, output `logits` [B, N_ACTIONS]
and optionally `value` [B]. The metadata entry "napoleon" is JSON: the layout's digest, suit order, rule sets trained on,
version and how it was trained. Any framework that exports ONNX can make one (`agent_metadata`).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from napoleon_env.dealing import uniform
from napoleon_env.jit import jit
from napoleon_env.match import View
from napoleon_env.notation import N_ACTIONS, N_SUITS, VERSION, shown
from napoleon_env.observation import (
    DIGEST,
    OBSERVATION_SIZE,
    SUIT_ORDERS,
    encode,
    encode_mask,
    rules_features,
    suit_places,
    true_action,
)
from napoleon_env.players import StatesPlayer
from napoleon_env.ruleset import Ruleset

METADATA_KEY: Final = "napoleon"


class AgentError(ValueError):
    """A file that is no agent, or one for another layout."""


def agent_metadata(rule_sets: Sequence[Ruleset], suit_order: str, training: dict[str, Any]) -> dict[str, Any]:
    """What an agent file says of itself, as JSON values."""
    return {
        "observation": DIGEST,
        "suit_order": suit_order,
        "rules": [rules.header for rules in rule_sets],
        "version": VERSION,
        "training": training,
    }


@jit
def _encode_all(
    states: Any, rules: Any, fixed: Any, canonical: bool, seats: Any, observation: Any, mask: Any, places: Any
) -> None:
    for i in range(len(states)):
        suit_places(states[i], rules[0], seats[i], canonical, places[i])
        encode(states[i], rules[0], fixed, seats[i], places[i], observation[i])
        encode_mask(states[i], rules[0], seats[i], places[i], mask[i])


@jit
def _choose(logits: Any, mask: Any, places: Any, seeds: Any, sample: bool, actions: Any) -> None:
    """The most likely legal action of each row, or one drawn from the softmax; in the rules' own suits."""
    for i in range(len(logits)):
        best = -1
        for a in range(N_ACTIONS):
            if mask[i, a] and (best < 0 or logits[i, a] > logits[i, best]):
                best = a
        if sample:
            total = 0.0
            for a in range(N_ACTIONS):
                if mask[i, a]:
                    total += np.exp(logits[i, a] - logits[i, best])
            left = uniform(seeds[i]) * total
            for a in range(N_ACTIONS):
                if mask[i, a]:
                    left -= np.exp(logits[i, a] - logits[i, best])
                    if left < 0:
                        best = a
                        break
        actions[i] = true_action(best, places[i])


@jit
def _softmax(logits: Any, mask: Any, places: Any, chances: Any) -> None:
    """Write the softmax over the legal actions of each row, in the rules' own suits, into `chances`, which is all zero."""
    for i in range(len(logits)):
        best = -np.inf
        for a in range(N_ACTIONS):
            if mask[i, a]:
                best = max(best, np.float64(logits[i, a]))
        total = 0.0
        for a in range(N_ACTIONS):
            if mask[i, a]:
                weight = np.exp(np.float64(logits[i, a]) - best)
                chances[i, true_action(a, places[i])] = weight
                total += weight
        chances[i] /= total


class OnnxPlayer(StatesPlayer):
    """Plays an agent file.

    Args:
        path: the file.
        sample: draw from the policy; by default its most likely action is taken.

    Raises:
        AgentError: the file cannot be read as an agent, or its layout is not this one.
    """

    def __init__(self, path: str | Path, *, sample: bool = False) -> None:
        try:
            import onnxruntime
        except ImportError as error:
            raise AgentError("running an agent file needs onnxruntime: pip install 'napoleon-env[agents]'") from error
        if not isinstance(sample, bool):
            raise AgentError(f"sample={shown(sample)} must be true or false")
        self.path, self.sample, self.deterministic = Path(path), sample, not sample
        if not self.path.is_file():
            raise AgentError(f"agent file {shown(str(path), 200)} does not exist")
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.log_severity_level = 4  # a refusal is reported below, in one sentence
        try:
            self._session = onnxruntime.InferenceSession(self.path.read_bytes(), options, providers=["CPUExecutionProvider"])
        except Exception as error:  # onnxruntime's exceptions have no common base of their own
            raise AgentError(f"agent file {path} is not a readable ONNX model") from error
        self.metadata: dict[str, Any] = self._read_metadata()
        self._types = {i.name: _NUMPY_TYPES.get(i.type) for i in self._session.get_inputs()}
        outputs = {o.name for o in self._session.get_outputs()}
        if set(self._types) != {"observation", "action_mask"} or "logits" not in outputs or None in self._types.values():
            raise AgentError(
                f"agent file {path} must have number inputs observation and action_mask and an output logits, "
                f"it has {sorted(self._types)} and {sorted(outputs)}"
            )
        self.has_value = "value" in outputs

    def _read_metadata(self) -> dict[str, Any]:
        text = self._session.get_modelmeta().custom_metadata_map.get(METADATA_KEY)
        if text is None:
            raise AgentError(f'{self.path} is an ONNX model without the metadata entry "{METADATA_KEY}"')
        try:
            metadata = json.loads(text)
            digest, suit_order = metadata["observation"], metadata["suit_order"]
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise AgentError(f'{self.path}: its metadata entry "{METADATA_KEY}" cannot be read') from error
        if digest != DIGEST:
            raise AgentError(f"{self.path} was made for observation layout {shown(digest)}, this version's is {DIGEST}")
        if suit_order not in SUIT_ORDERS:
            raise AgentError(f"{self.path}: suit_order {shown(suit_order)} must be one of {', '.join(SUIT_ORDERS)}")
        self._canonical = suit_order == "canonical"
        return metadata

    def run(self, observation: np.ndarray, mask: np.ndarray) -> dict[str, Any]:
        """The network's outputs by name for rows of observations and masks."""
        names = [o.name for o in self._session.get_outputs()]
        feed = {"observation": observation, "action_mask": mask}
        values = self._session.run(names, {n: x.astype(self._types[n], copy=False) for n, x in feed.items()})
        return dict(zip(names, values, strict=True))

    def act_states(self, states: np.ndarray, rules: Ruleset, seats: np.ndarray, seeds: np.ndarray) -> np.ndarray:
        """Decide for many tables at once.

        Args:
            states: dtype rules.STATE, shape (n,); nothing secret is read.
            seats: int64 (n,), for whom.
            seeds: uint64 (n,), of each decision's own randomness.

        Returns:
            Action ids, int64 (n,).
        """
        logits, mask, places = self._logits(states, rules, seats)
        actions = np.empty(len(states), np.int64)
        _choose(logits, mask, places, seeds, self.sample, actions)
        return actions

    def value(self, view: View) -> float | None:
        """What the value head says of a view, in the unit that the agent was trained in; None where it has no such head."""
        if not self.has_value:
            return None
        outputs, _, _ = self._outputs(view.state, view.rules, np.array([view.seat]))
        return float(np.ravel(outputs["value"])[0])

    def _logits(self, states: np.ndarray, rules: Ruleset, seats: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        outputs, mask, places = self._outputs(states, rules, seats)
        return outputs["logits"], mask, places

    def _outputs(self, states: np.ndarray, rules: Ruleset, seats: np.ndarray) -> tuple[dict[str, Any], np.ndarray, np.ndarray]:
        n = len(states)
        observation, mask = np.empty((n, OBSERVATION_SIZE), np.int8), np.empty((n, N_ACTIONS), np.int8)
        places = np.empty((n, N_SUITS), np.int8)
        _encode_all(states, rules.struct, rules_features(rules), self._canonical, seats, observation, mask, places)
        return self.run(observation, mask), mask, places

    def probabilities_states(self, states: np.ndarray, rules: Ruleset, seats: np.ndarray) -> np.ndarray:
        """The policy at many tables (as `act_states`), float64 of shape (n, N_ACTIONS); what `sample` draws from."""
        logits, mask, places = self._logits(states, rules, seats)
        chances = np.zeros((len(states), N_ACTIONS))
        _softmax(logits, mask, places, chances)
        return chances

    def probabilities(self, view: View) -> np.ndarray:
        """The policy, float64 of shape (N_ACTIONS,); what `sample` draws from."""
        return self.probabilities_states(view.state, view.rules, np.array([view.seat]))[0]


_NUMPY_TYPES: Final = {
    "tensor(float)": np.float32,
    "tensor(double)": np.float64,
    "tensor(float16)": np.float16,
    "tensor(int8)": np.int8,
    "tensor(uint8)": np.uint8,
    "tensor(bool)": np.bool_,
    "tensor(int32)": np.int32,
    "tensor(int64)": np.int64,
}
