"""# Nap (Napoleon).

A trick-taking game for 2 to 6 players, each against all: an auction says who will take how many tricks, that player plays
alone against the others. Four rule sets (German, Portuguese, Russian, English) and every mixture of their switches.

| Creation           | `napoleon_env.env("german")`, or `pettingzoo.make("aec", "napoleon/napoleon-v0", rules="german")` |
|--------------------|---------------------------------------------------------------------------------------------------|
| Actions            | Discrete                                                                                          |
| Parallel API       | Yes, turn-based: `napoleon_env.parallel_env(...)`                                                 |
| Manual Control     | No                                                                                                |
| Agents             | `seat_0` … `seat_5`, as many as the rule set has players (4 by default)                           |
| Action Shape       | (1)                                                                                               |
| Action Values      | Discrete(N_ACTIONS), the same for all rule sets and numbers of players                            |
| Observation Shape  | (OBSERVATION_SIZE,), the same for all rule sets and numbers of players                            |
| Observation Values | small whole numbers, see `observation_layout()`                                                   |

An agent is a seat: the same one through the auction, the declarer's decisions and the tricks. It may act twice running, for
instance as the winner of a trick who leads to the next. Which seat is asked what comes from the rules alone: a seat that could
only pass is passed without being asked, a forced card is asked for.

### Observation Space

A `Dict` of `observation` and `action_mask`. `observation` is a flat vector (`obs_dtype`, float32 by default) of small whole
numbers that need no scaling, as `napoleon_env.observation_layout()` names them: the seat's own cards, every card played with
its player and its trick, the whole auction, the state of the match and the rule set. Seats in it are relative, 0 is the
observer. It holds nothing that the seat may not know. `observe(agent)` changes nothing and may be called for every seat at
any time after `reset`, also when the match is over.

With `mask="info"` the observation is that vector alone (a `Box`), and the mask is in `infos` only.

`state()` is the observation of the seat to move followed by all that is secret, for central critics, in fixed suit order.

With `suit_order="canonical"` the suits of observation, mask and action are renumbered at each decision (trump, suit led, then
the seat's own longest and highest), so that positions which differ only in the names of the suits look the same. The
environment translates the actions back; `infos[agent]["suit_places"]` has the number under which the agent sees ♣ ♦ ♥ ♠.

#### Legal Actions Mask

`observation["action_mask"]` and `infos[agent]["action_mask"]` are equal: int8, 1 where the action is legal. A seat that is not
to act, and every seat once the match is over, has a mask of zeros. A seat that is to act has at least one legal action.

### Action Space

| Id         | Action                                    |
|------------|-------------------------------------------|
| 0          | pass                                      |
| 1 … 8      | bid 1 … bid 8                             |
| 9          | hold                                      |
| 10, 11, 12 | misere, wellington, blucher               |
| 13 … 16    | trump C, D, H, S                          |
| 17, 18     | napoleon, no napoleon                     |
| 19         | stand                                     |
| 20 … 71    | discard 2C … discard AS                   |
| 72 … 123   | play 2C … AS (2C 3C … AC, 2D …, 2H …, 2S) |

`napoleon_env.action_name(id)` and `action_id(name)` translate. An illegal action raises `IllegalActionError`, which names the
rule, in `raw_env` (`illegal="raise"`). In `env` it ends the match (`illegal="terminate"`): all agents are terminated, the
offender gets `illegal_reward` (by default minus the most that a contract can cost in this rule set), the others get 0, and
`infos[agent]["illegal"]` names the agent and the action. A number that is no action at all raises.

### Rewards

All rewards of a deal arrive in the step that ends it, to all seats.

| `reward`     | What a seat gets for a deal                                                                       |
|--------------|---------------------------------------------------------------------------------------------------|
| `"payoff"`   | what it won or lost, in whole stakes                                                              |
| `"relative"` | its payoff minus the mean payoff of the others; in the Portuguese game this is what defenders feel |

The step that ends a deal also deals the next one of the match, so `observe` then shows new cards; what happened is in
`infos[agent]["last_deal"]`: number, dealer, declarer, contract, announced, trump, tricks_won, made, payoffs, pot, calls and
last_trick. That is public and the same for all. The exact `scores` (by seat), the `pot` and the number of the current `deal`
are in `infos` too. With `facts=False` the infos hold the mask alone, for tools that make tensors of all they find there
(TorchRL).

### Endings

A match is `deals` deals long (default 1; void ones don't count). After its last deal all agents are *terminated*. A match of
nothing but void deals (`max_void_deals`), or one whose amounts grow out of bounds, is *truncated*, for all agents. In every
ending, a forfeit too, the closing `None` steps are asked in the order `seat_0`, `seat_1`, …

### Reset

`reset(seed=s)` begins match 0 of the seed s, `reset()` the next match of the same seed. A deal depends on the stream ("train"
or "evaluation"), the seed, `index`, the number of the match and of the deal alone. `options` may set the first deal: `dealer`,
`hands` (lists of cards by seat, such as "AS"), `stock` (from its top; what is not listed is filled up at random) and `pot`
(before this deal's antes). Other options are ignored.

### Version History

* v0: first version

"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from pettingzoo import AECEnv
from pettingzoo.utils.conversions import turn_based_aec_to_parallel_wrapper
from pettingzoo.utils.wrappers import AssertOutOfBoundsWrapper, BaseWrapper, OrderEnforcingWrapper

from napoleon_env.match import Match
from napoleon_env.notation import (
    N_ACTIONS,
    shown,
)
from napoleon_env.ruleset import Ruleset
from napoleon_env.single_env import (
    DEAL_OVER,
    FINISHED,
    GOES_ON,
    ILLEGAL,
    MASKS,
    REFUSED,
    RENDER_MODES,
    Game,
    check_illegal_reward,
    check_seat,
    check_word,
    observation_space,
    state_space,
)
from napoleon_env.vector_env import EnvError


class raw_env(AECEnv[str, Any, Any]):  # noqa: N801  # PettingZoo's convention: every game's module has a `raw_env`
    """The environment without wrappers; see the module for its spaces, rewards and endings.

    Args:
        rules: a preset's name, a `Ruleset` or a record's header; `changes` change fields.
        reward: "payoff" or "relative".
        illegal: what an illegal action does: "raise" or "terminate".
        suit_order: "fixed" or "canonical".
        obs_dtype: of the observations, one of OBS_DTYPES.
        mask: "observation" (and in the infos) or "info" (only there).
        facts: whether the infos hold more than the mask. Switch it off for a tool that makes tensors of all infos.
        render_mode: None, "human" (prints after every step), "ansi" or "rgb_array".
        render_seat: whose knowledge is rendered; None shows the open table.
        stream: of the deals, "train" or "evaluation".
        index: which of the environments made with one seed this is; their deals differ.
        illegal_reward: of the offender under illegal="terminate"; None: minus `Ruleset.worst_contract_cost`.

    Raises:
        RulesetError, EnvError, ObservationError, SeedError: a setting that does not exist.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012  # AECEnv declares it of instances: as a ClassVar it would not override it
        "name": "napoleon_v0",
        "render_modes": list(RENDER_MODES),
        "is_parallelizable": False,
        "render_fps": 1,
    }

    def __init__(
        self,
        rules: str | Ruleset | Mapping[str, Any] = "german",
        *,
        reward: str = "payoff",
        illegal: str = "raise",
        suit_order: str = "fixed",
        obs_dtype: Any = "float32",
        mask: str = "observation",
        facts: bool = True,
        render_mode: str | None = None,
        render_seat: int | None = None,
        stream: str = "train",
        index: int = 0,
        illegal_reward: float | None = None,
        **changes: Any,
    ) -> None:
        super().__init__()
        ruleset = Ruleset.make(rules, **changes)
        self._game = Game(
            ruleset,
            reward=reward,
            suit_order=suit_order,
            obs_dtype=obs_dtype,
            stream=stream,
            index=index,
            facts=facts,
        )
        check_word("illegal", illegal, ILLEGAL)
        check_word("mask", mask, MASKS)
        if render_mode is not None:
            check_word("render_mode", render_mode, RENDER_MODES)
        self.rules = ruleset
        self.illegal, self.render_mode = illegal, render_mode
        self.illegal_reward = check_illegal_reward(illegal_reward, ruleset)
        self.render_seat = None if render_seat is None else check_seat("render_seat", render_seat, ruleset)
        self._mask_in_observation = mask == "observation"
        self.possible_agents = [f"seat_{seat}" for seat in range(ruleset.players)]
        self._seat_of = {agent: seat for seat, agent in enumerate(self.possible_agents)}
        dtype = self._game.dtype
        self.observation_spaces = {a: observation_space(dtype, self._mask_in_observation) for a in self.possible_agents}
        self.action_spaces = {agent: spaces.Discrete(N_ACTIONS) for agent in self.possible_agents}
        self.state_space = state_space(dtype)
        self.agents: list[str] = []
        self.rewards: dict[str, float] = {}
        self._cumulative_rewards: dict[str, float] = {}
        self.terminations: dict[str, bool] = {}
        self.truncations: dict[str, bool] = {}
        self.infos: dict[str, dict[str, Any]] = {}
        self._paid = False
        """Whether `rewards` holds anything but zeros."""

    @property
    def match(self) -> Match:
        """The match being played, to be read; whoever wants to try something plays on a copy of it."""
        self._check_begun("match")
        assert self._game.match is not None
        return self._game.match

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        """The same for all agents and all rule sets."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Space[Any]:
        """The same for all agents and all rule sets."""
        return self.action_spaces[agent]

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Begin match 0 of `seed`, or without a seed the next match; for `options` see the module.

        Raises:
            SeedError, EnvError, DealError: the match before goes on then.
        """
        self._game.reset(seed, options)
        self.agents = self.possible_agents.copy()
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self._paid = False
        self.agent_selection = self.possible_agents[self._game.seat]
        self.infos = {}
        self._inform()
        if self.render_mode == "human":
            self.render()

    def step(self, action: Any) -> None:
        """Carry out the action of `agent_selection`, or None once the match is over.

        Raises:
            IllegalActionError: the rules forbid it (illegal="raise"); nothing has changed.
            NotationError: no action has this id.
            ValueError: an action for an agent whose match is over.
        """
        game = self._game
        if game.over or not self.agents:
            self._close_seat(action)
            return
        code = game.play(action)
        if code == REFUSED and self.illegal == "raise":
            raise game.why_refused(int(action))
        agent = self.agent_selection
        self._cumulative_rewards[agent] = 0.0
        if self._paid:
            self._paid = False
            for other in self.rewards:
                self.rewards[other] = 0.0
        if code == GOES_ON:
            self.agent_selection = self.possible_agents[game.seat]
        elif code == REFUSED:
            self._forfeit(agent, int(action))
        else:
            self._pay(dict(zip(self.agents, game.rewards, strict=True)))
            if code == DEAL_OVER:
                self.agent_selection = self.possible_agents[game.seat]
            else:
                self._end(self.terminations if code == FINISHED else self.truncations)
        self._inform()
        if self.render_mode == "human":
            self.render()

    def _pay(self, rewards: dict[str, float]) -> None:
        self._paid = True
        self.rewards = rewards
        for agent, reward in rewards.items():
            self._cumulative_rewards[agent] += reward

    def _forfeit(self, offender: str, action: int) -> None:
        """End the match because of an illegal action."""
        self._game.forfeit(action)
        self._pay({agent: self.illegal_reward if agent == offender else 0.0 for agent in self.agents})
        self._end(self.terminations)

    def _end(self, flags: dict[str, bool]) -> None:
        for agent in self.agents:
            flags[agent] = True
        self.agent_selection = self.agents[0]

    def _close_seat(self, action: Any) -> None:
        """One closing step: the agent leaves, and the next one in the order of the seats is selected."""
        self._check_begun("step")
        if not self.agents:
            raise gymnasium.error.ResetNeeded("no agent is left, the match is over: call reset() to begin the next one")
        if action is not None:
            raise ValueError("when an agent is dead, the only valid action is None")
        agent = self.agents.pop(0)
        for of in (self.terminations, self.truncations, self.rewards, self._cumulative_rewards, self.infos):
            del of[agent]
        self._clear_rewards()
        if self.agents:
            self.agent_selection = self.agents[0]

    def _inform(self) -> None:
        info = self._game.info
        for agent in self.agents:
            self.infos[agent] = info(self._seat_of[agent])

    def observe(self, agent: str) -> Any:
        """What an agent observes now, as fresh arrays; changes nothing, and answers for every seat at any time after `reset`.

        Raises:
            EnvError: no such agent.
        """
        game = self._game
        seat = self._seat_of.get(agent)
        if seat is None:
            raise EnvError(f"agent {shown(agent)} must be one of {', '.join(self.possible_agents)}")
        if game.match is None:
            self._check_begun("observe")
        if self._mask_in_observation:
            return {"observation": game.observe(seat), "action_mask": game.mask(seat)}
        return game.observe(seat)

    def state(self) -> np.ndarray:
        """The observation of the seat to move (seat 0 when nobody is) and all that is secret; see the module."""
        self._check_begun("state")
        return self._game.state()

    def render(self) -> Any:
        """What `render_mode` says: prints and returns None, or returns the text or the picture (uint8, height × width × 3)."""
        self._check_begun("render")
        if self.render_mode is None:
            gymnasium.logger.warn("render() shows nothing without a render_mode: make the environment with one")
            return None
        return self._game.render(self.render_mode, self.render_seat)

    def close(self) -> None:
        """Nothing is held that would have to be released."""

    def clone(self) -> raw_env:
        """An independent environment in the same state: the same actions lead to the same rewards and later deals.

        The spaces are shared, with the generators that `sample` draws from; `deepcopy` copies them too.
        """
        twin = type(self).__new__(type(self))
        twin.__dict__.update(self.__dict__)
        twin._game = self._game.copy()
        twin.agents = self.agents.copy()
        twin.rewards, twin._cumulative_rewards = self.rewards.copy(), self._cumulative_rewards.copy()
        twin.terminations, twin.truncations = self.terminations.copy(), self.truncations.copy()
        twin.infos = {agent: {**info, "action_mask": info["action_mask"].copy()} for agent, info in self.infos.items()}
        return twin

    def _check_begun(self, what: str) -> None:
        if self._game.match is None:
            raise gymnasium.error.ResetNeeded(f"reset() must be called before {what}")


class _Cloning(BaseWrapper):
    """A wrapper of ours: `clone()` copies it as well as what it wraps, and what needs no wrapping goes straight through."""

    def clone(self) -> Any:
        """An independent environment in the same state, in the same wrappers; see `raw_env.clone`."""
        twin = type(self).__new__(type(self))
        twin.__dict__.update(self.__dict__)
        inner: Any = self.env  # of PettingZoo's type, which has no `clone`; ours have one
        twin.env = inner.clone()
        return twin

    def __str__(self) -> str:
        return str(self.env)


class _InBounds(_Cloning, AssertOutOfBoundsWrapper):
    """PettingZoo's wrapper: a number that is no action fails at once."""


class _InOrder(_Cloning, OrderEnforcingWrapper):
    """PettingZoo's wrapper: nothing is asked before `reset`."""

    def last(self, observe: bool = True) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """As `AECEnv.last`, without asking each wrapper for each part."""
        return self.unwrapped.last(observe) if self._has_reset else super().last(observe)


class _TurnByTurn(turn_based_aec_to_parallel_wrapper):
    """PettingZoo's wrapper: in each step one agent is listened to, the one that `infos[agent]["active_agent"]` names."""

    def clone(self) -> Any:
        """An independent environment in the same state; see `raw_env.clone`."""
        twin = type(self).__new__(type(self))
        twin.__dict__.update(self.__dict__)
        inner: Any = self.aec_env  # of PettingZoo's type, which has no `clone`; ours have one
        twin.aec_env = inner.clone()
        if hasattr(self, "agents"):
            twin.agents = twin.aec_env.agents
        return twin


def env(
    rules: str | Ruleset | Mapping[str, Any] = "german", *, illegal: str = "terminate", **options: Any
) -> AECEnv[str, Any, Any]:
    """The environment in the conventional wrappers; for the arguments see `raw_env`.

    An illegal action ends the match, as PettingZoo's own wrapper would have it, but done by the environment itself: so the
    next match begins clean, and the infos say who it was.
    """
    return _InOrder(_InBounds(raw_env(rules, illegal=illegal, **options)))


def parallel_env(rules: str | Ruleset | Mapping[str, Any] = "german", *, illegal: str = "terminate", **options: Any) -> Any:
    """The environment behind PettingZoo's parallel interface, turn by turn; for the arguments see `raw_env`."""
    return _TurnByTurn(env(rules, illegal=illegal, **options))
