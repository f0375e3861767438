"""AgileRL's PPO in self-play over all seats, many matches in one call: `python -m train.agilerl_ppo`.

Tested with agilerl 2.58.0, pettingzoo 1.26.1; `import agilerl.algorithms` needs peft, which a plain install leaves out.

Of its algorithms PPO alone keeps the masks for its update (https://github.com/AgileRL/AgileRL/pull/487). IPPO, the one for
several agents, fails on masks that are arrays; lists it ignores in vector environments, and in its update always. DQN takes
its targets from illegal actions too. PPO's own collector (`collect_rollouts`) passes no masks and knows one agent: here
`VectorEnv` plays all seats with one network, advantages run along each seat's own decisions, and `PPO.learn` gets them with the
masks.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from agilerl.algorithms import PPO
from gymnasium import spaces
from tensordict import TensorDict
from torch import nn

import napoleon_env as ne
from train import adapting
from train.adapting import SUIT_ORDER, Clock, Evaluation, begin, finish
from train.command import run
from train.experience import advantages, relative_payoffs
from train.ppo import reward_scale

LAYERS = {"hidden_size": [128], "activation": "ReLU", "layer_norm": False, "output_vanish": False}
"""Of AgileRL's encoder and head each, without the norms that an agent file cannot hold."""
ENCODER = {**LAYERS, "output_layernorm": False}


@dataclass
class Args(adapting.Args):
    """What a run is."""

    out: Path = Path("runs/agilerl")
    """Folder for agent.onnx."""
    envs: int = 256
    """Matches at once."""
    steps: int = 32
    """Decisions of each between updates."""


class Table:
    """Self-play of `args.envs` matches with an agent of AgileRL."""

    def __init__(self, args: Args, agent: PPO) -> None:
        self.args, self.agent = args, agent
        self.env = ne.VectorEnv(args.ruleset, num_envs=args.envs, seed=args.seed, suit_order=SUIT_ORDER, skip_forced=True)
        self.env.reset()

    def rollout(self) -> dict[str, np.ndarray]:
        """The next `args.steps` decisions of every match, by name of AgileRL's columns, of shape [T, N, …]."""
        env, rows = self.env, []
        for _ in range(self.args.steps):
            seen, mask, seat = env.observation.astype(np.float32), env.action_mask.copy(), env.seat.copy()
            action, log_prob, _, value = self.agent.get_action(seen, action_mask=mask)
            env.step(action)
            paid = env.payoffs.astype(np.float32) * reward_scale(env.rules)
            paid = relative_payoffs(paid) if self.args.reward == "relative" else paid
            rows.append((seen, mask, action, log_prob, value.reshape(-1), seat, paid, env.terminated | env.truncated))
        names = ("observations", "action_masks", "actions", "log_probs", "values", "seat", "paid", "over")
        return dict(zip(names, map(np.stack, zip(*rows, strict=True)), strict=True))


def experiences(rows: dict[str, np.ndarray], decay: float) -> TensorDict:
    """Those decisions of a rollout whose worth is known, with their advantages, as `PPO.learn` takes them."""
    advantage, known = advantages(rows["paid"], rows["over"], rows["seat"], rows["values"], decay)
    columns = {name: rows[name] for name in ("observations", "action_masks", "actions", "log_probs", "values")}
    columns |= {"advantages": advantage, "returns": advantage + rows["values"]}
    return TensorDict({name: torch.from_numpy(column[known]) for name, column in columns.items()}, [int(known.sum())])


def make_agent() -> PPO:
    """PPO with a fresh network."""
    return PPO(
        spaces.Box(-np.inf, np.inf, (ne.OBSERVATION_SIZE,)), spaces.Discrete(ne.N_ACTIONS), share_encoders=False,
        net_config={"latent_dim": 128, "max_latent_dim": 128, "encoder_config": ENCODER, "head_config": LAYERS},
        lr=1e-3, batch_size=512, update_epochs=3, learn_step=1, ent_coef=0.01, gamma=1.0, gae_lambda=0.95,
    )  # fmt: skip


def train(args: Args) -> tuple[PPO, Clock]:
    """Train for as long as `args` says."""
    begin(args)
    agent = make_agent()
    table, clock = Table(args, agent), Clock(args.minutes)
    while clock.running:
        agent.learn(experiences(table.rollout(), agent.gae_lambda))
        clock.count(args.envs * args.steps)
    return agent, clock


def policy_layers(agent: PPO) -> list[nn.Module]:
    """From the observation to the logits."""
    return [agent.actor.encoder, agent.actor.head_net]


def main(args: Args) -> Evaluation:
    """Train, export, evaluate."""
    agent, clock = train(args)
    return finish(policy_layers(agent), args, clock)


if __name__ == "__main__":
    run(main, Args, __doc__)
