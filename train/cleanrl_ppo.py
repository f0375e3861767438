"""PPO in one file in the style of CleanRL, on Gymnasium's vector interface: `python -m train.cleanrl_ppo --opponents rule`.

Tested with gymnasium 1.2.2 and 1.4.0. CleanRL is no package to install: its files are copied and changed. Its `ppo.py` has no
masks (https://github.com/vwxyzjn/cleanrl/issues/402); and it was written for the autoreset that Gymnasium 1.0 replaced, with
which it learns from steps that cross a reset (https://github.com/vwxyzjn/cleanrl/issues/499). Here the masks are stored with
the observations and bound both the choice and its probability in the update; and the environment resets in the same step
(`AutoresetMode.SAME_STEP`), so that every row is a decision and the reward of the last one comes with `done`.

One learner at tables of a fixed opponent. Self-play over all seats on one page is train/ppo.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import gymnasium
import numpy as np
import torch
from torch import Tensor, nn
from torch.distributions import Categorical

from agents.network import MASKED
from napoleon_env.notation import N_ACTIONS
from napoleon_env.observation import OBSERVATION_SIZE
from train import adapting
from train.adapting import SUIT_ORDER, Clock, Evaluation, begin, finish
from train.command import run
from train.ppo import reward_scale


@dataclass
class Args(adapting.Args):
    """What a run is."""

    out: Path = Path("runs/cleanrl")
    """Folder for agent.onnx."""
    opponents: str = "rule"
    """A player: random, rule, path.onnx, …"""
    num_envs: int = 256
    """Tables at once."""
    num_steps: int = 16
    """Decisions of each between updates."""
    num_minibatches: int = 8
    """In each of which the network changes."""
    update_epochs: int = 2
    """Passes over the decisions of an update."""
    learning_rate: float = 1e-3
    """Adam's step size."""
    gae_lambda: float = 0.95
    """Lambda of generalised advantage estimation; gamma is 1."""
    clip_coef: float = 0.2
    """PPO's bound on the change of a probability ratio."""
    ent_coef: float = 0.01
    """Weight of the entropy."""
    vf_coef: float = 0.5
    """Weight of the critic's squared error."""
    max_grad_norm: float = 0.5
    """Bound on the norm of the gradient."""


def layers(n_out: int, gain: float) -> nn.Sequential:
    """A multilayer perceptron with orthogonal weights."""
    net = nn.Sequential(nn.Linear(OBSERVATION_SIZE, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, n_out))
    for number, layer in enumerate(part for part in net if isinstance(part, nn.Linear)):
        nn.init.orthogonal_(layer.weight, gain if number == 2 else 2**0.5)
        nn.init.zeros_(layer.bias)
    return net


class Agent(nn.Module):
    """Actor and critic."""

    def __init__(self) -> None:
        super().__init__()
        self.actor, self.critic = layers(N_ACTIONS, 0.01), layers(1, 1.0)

    def policy(self, obs: Tensor, mask: Tensor) -> Categorical:
        """Over the legal actions alone."""
        return Categorical(logits=torch.where(mask, self.actor(obs), MASKED), validate_args=False)

    def value(self, obs: Tensor) -> Tensor:
        """What is still to be won in the match, scaled, [B]."""
        return self.critic(obs).squeeze(-1)


def train(args: Args) -> tuple[Agent, Clock]:
    """Train for as long as `args` says."""
    begin(args)
    envs = gymnasium.make_vec(
        "napoleon_env:Napoleon-v0", num_envs=args.num_envs, vectorization_mode="vector_entry_point",
        rules=args.ruleset, opponents=args.opponents, suit_order=SUIT_ORDER, reward=args.reward, mask="info",
        facts=False, illegal="raise",
    )  # fmt: skip
    agent, scale = Agent(), reward_scale(args.ruleset)
    optimizer = torch.optim.Adam(agent.parameters(), lr=args.learning_rate, eps=1e-5)
    shape = (args.num_steps, args.num_envs)
    obs, masks = torch.zeros(*shape, OBSERVATION_SIZE), torch.zeros(*shape, N_ACTIONS, dtype=torch.bool)
    actions = torch.zeros(shape, dtype=torch.long)
    logprobs, rewards, dones, values, advantages = (torch.zeros(shape) for _ in range(5))
    seen, info = envs.reset(seed=args.seed)
    clock = Clock(args.minutes)
    while clock.running:
        clock.count(args.num_steps * args.num_envs)
        for step in range(args.num_steps):
            obs[step], masks[step] = torch.from_numpy(seen), torch.from_numpy(info["action_mask"] != 0)
            with torch.no_grad():
                policy = agent.policy(obs[step], masks[step])
                actions[step], values[step] = policy.sample(), agent.value(obs[step])
                logprobs[step] = policy.log_prob(actions[step])
            seen, reward, terminated, truncated, info = envs.step(actions[step].numpy())
            rewards[step] = torch.from_numpy(reward * scale)
            dones[step] = torch.from_numpy((terminated | truncated).astype(np.float32))

        with torch.no_grad():
            next_value = agent.value(torch.from_numpy(seen))
        last = torch.zeros(args.num_envs)
        for t in reversed(range(args.num_steps)):
            delta = rewards[t] + next_value * (1 - dones[t]) - values[t]
            advantages[t] = last = delta + args.gae_lambda * (1 - dones[t]) * last
            next_value = values[t]
        returns = advantages + values

        rows = [x.flatten(0, 1) for x in (obs, masks, actions, logprobs, advantages, returns)]
        for _ in range(args.update_epochs):
            for chosen in torch.randperm(args.num_steps * args.num_envs).chunk(args.num_minibatches):
                b_obs, b_mask, b_action, b_logprob, b_advantage, b_return = (x[chosen] for x in rows)
                policy = agent.policy(b_obs, b_mask)
                ratio = (policy.log_prob(b_action) - b_logprob).exp()
                b_advantage = (b_advantage - b_advantage.mean()) / (b_advantage.std() + 1e-8)
                clipped = ratio.clamp(1 - args.clip_coef, 1 + args.clip_coef)
                pg_loss = -torch.min(ratio * b_advantage, clipped * b_advantage).mean()
                v_loss = 0.5 * (agent.value(b_obs) - b_return).square().mean()
                loss = pg_loss - args.ent_coef * policy.entropy().mean() + args.vf_coef * v_loss
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(agent.parameters(), args.max_grad_norm)
                optimizer.step()
    return agent, clock


def main(args: Args) -> Evaluation:
    """Train, export, evaluate."""
    agent, clock = train(args)
    return finish(agent.actor, args, clock)


if __name__ == "__main__":
    run(main, Args, __doc__)
