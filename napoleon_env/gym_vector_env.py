"""Gymnasium: many learners, each at a table of its own, stepped in compiled calls; what `make_vec("Napoleon-v0")` makes.

Episodes, steps, rewards and infos are those of `gym_env`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from secrets import randbits
from typing import Any, Final

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space

from napoleon_env import rules as core
from napoleon_env.dealing import check_indices, check_seed, deal_key, random_deal, random_match
from napoleon_env.jit import jit
from napoleon_env.match import FinishedDeal, IllegalActionError, Match
from napoleon_env.notation import N_ACTIONS, N_SUITS, NO_SEAT, NotationError, shown, whole
from napoleon_env.observation import OBSERVATION_SIZE, encode, encode_mask, rules_features, suit_places, true_action
from napoleon_env.opponents import (
    ROTATE,
    Opponent,
    OpponentError,
    ask,
    check_settings,
    learner_words,
    make_opponents,
    make_question,
    show_seat_to_act,
)
from napoleon_env.players import HumanPlayer, Player
from napoleon_env.ruleset import Ruleset
from napoleon_env.single_env import (
    DEAL_OPTIONS,
    DEAL_OVER,
    FINISHED,
    GOES_ON,
    TRUNCATED,
    Game,
    check_illegal_reward,
    check_options,
    check_seat,
    observation_space,
)
from napoleon_env.vector_env import EnvError, check_flag

FORFEITED: Final = 4
"""Beside the codes of `single_env`: the learner has chosen what is illegal."""


# The kernels.


@jit
def _begin(states: Any, last: Any, rules: Any, rows: Any, matches: Any) -> None:
    """Begin match number `matches[k]` in the environment `rows[k]`."""
    for k in range(len(rows)):
        random_match(states[rows[k]], rules[0], matches[k])
        last[rows[k]]["deal"] = 0


@jit
def _waiting(states: Any, rules: Any, learner: Any, status: Any, rows: Any, slots: Any) -> int:
    """Write the environments that wait for an opponent, and which one it is, 0 at the learner's left; returns how many."""
    n = 0
    players = rules[0]["players"]
    for i in range(len(states)):
        seat = states[i]["seat"]
        if seat != NO_SEAT and seat != learner[i] and status[i] <= DEAL_OVER:
            rows[n] = i
            slots[n] = (seat - learner[i] - 1) % players
            n += 1
    return n


@jit
def _act(
    states: Any, last: Any, rules: Any, relative: bool, learner: Any, places: Any, rows: Any, actions: Any, as_seen: bool,
    rewards: Any, status: Any,
) -> int:  # fmt: skip
    """Carry out `actions[k]` in the environment `rows[k]`; stops at the first illegal action and returns its k, else -1."""
    r = rules[0]
    others = r["players"] - 1
    for k in range(len(rows)):
        i = rows[k]
        state = states[i]
        action = true_action(actions[k], places[i]) if as_seen else actions[k]
        if action < 0 or action >= N_ACTIONS or not core.is_legal(state, r, action):
            return k
        core.apply(state, r, action)
        if state["phase"] != core.NO_DEAL:
            continue
        last[i] = state
        status[i] = DEAL_OVER + state["outcome"]
        payoff = np.float64(state["payoffs"][learner[i]])
        if relative:
            total = 0
            for seat in range(others + 1):
                total += state["payoffs"][seat]
            payoff -= (total - state["payoffs"][learner[i]]) / others
        rewards[i] += payoff
        if state["outcome"] == core.RUNNING:
            random_deal(state, r)
    return -1


@jit
def _look(
    states: Any, rules: Any, fixed: Any, canonical: bool, learner: Any, status: Any, observation: Any, mask: Any, places: Any
) -> None:
    """Write what the learners observe."""
    for i in range(len(states)):
        suit_places(states[i], rules[0], learner[i], canonical, places[i])
        encode(states[i], rules[0], fixed, learner[i], places[i], observation[i])
        encode_mask(states[i], rules[0], learner[i], places[i], mask[i])
        if status[i] == FORFEITED:
            mask[i, :] = 0


class NapoleonVectorEnv(gymnasium.vector.VectorEnv[Any, Any, Any]):
    """Many learners, each at a table of its own, stepped in compiled calls; for the arguments see `NapoleonEnv`.

    Environment i plays the matches of `NapoleonEnv(index=first_index + i)` for the same seed, to the last reward.

    Autoreset is SAME_STEP: where a match ends, the step returns its last reward and flag, `infos["final_obs"][i]` and
    `infos["final_info"]` say how it ended, and the observation is the first of the next match already.

    The infos are arrays over the environments with a mask `_name` beside each, as Gymnasium's own: action_mask, seat, deal,
    scores, pot, last_deal (number, -1 before the first has ended, dealer, declarer, tricks_won, payoffs and pot), and
    suit_places in canonical order; `final_info` also has illegal, where the learner ended the match so. What is not a number is
    not there: `match(i)` has all of it.

    Args:
        num_envs: how many.
        first_index: index of the first.
        copy: whether each call returns new arrays of observations and masks; without it they are views of buffers that the
            next call overwrites (only for obs_dtype="int8").
    """

    metadata: dict[str, Any] = {  # noqa: RUF012  # VectorEnv declares it of instances: as a ClassVar it would not override it
        "render_modes": ["ansi", "rgb_array"],
        "render_fps": 1,
        "autoreset_mode": AutoresetMode.SAME_STEP,
    }

    def __init__(
        self,
        num_envs: int = 1,
        rules: str | Ruleset | Mapping[str, Any] = "german",
        *,
        opponents: Opponent | Sequence[Opponent] = "rule",
        seat: int | str = ROTATE,
        reward: str = "payoff",
        illegal: str = "terminate",
        illegal_reward: float | None = None,
        suit_order: str = "fixed",
        obs_dtype: Any = "float32",
        mask: str = "observation",
        facts: bool = True,
        render_mode: str | None = None,
        render_seat: int | None = None,
        stream: str = "train",
        first_index: int = 0,
        copy: bool = True,
        **changes: Any,
    ) -> None:
        n = whole(num_envs)
        if n is None or n < 1:
            raise EnvError(f"num_envs={shown(num_envs)} must be a whole number of at least 1")
        first_index = check_indices(first_index, n)
        self.rules = Ruleset.make(rules, **changes)
        game = Game(
            self.rules, reward=reward, suit_order=suit_order, obs_dtype=obs_dtype, stream=stream, index=first_index, facts=facts
        )
        check_settings(illegal, mask, seat, render_mode, self.metadata["render_modes"], self.rules)
        self.opponents = make_opponents(opponents, self.rules)
        if any(isinstance(player, HumanPlayer) for player in self.opponents):
            raise EnvError(f"opponents={shown(opponents)}: human can play in a single environment only")
        self._players = list({id(player): player for player in self.opponents}.values())
        numbers = [next(p for p, other in enumerate(self._players) if other is player) for player in self.opponents]
        self._player_of_slot = np.array(numbers)
        self.num_envs, self.illegal, self.render_mode = n, illegal, render_mode
        self.illegal_reward = check_illegal_reward(illegal_reward, self.rules)
        self.render_seat = None if render_seat is None else check_seat("render_seat", render_seat, self.rules)
        self.stream, self.first_index = stream, game.index
        self._dtype, self._relative, self._canonical = game.dtype, game.relative, game.canonical
        self._copies, self._tells_facts = check_flag("copy", copy) or self._dtype != np.int8, bool(facts)
        self._mask_in_observation, self._rotates = mask == "observation", isinstance(seat, str)
        self.single_observation_space = observation_space(self._dtype, self._mask_in_observation)
        self.single_action_space = spaces.Discrete(N_ACTIONS)
        self.observation_space = batch_space(self.single_observation_space, n)
        self.action_space = batch_space(self.single_action_space, n)
        self.seats = np.full(n, 0 if isinstance(seat, str) else int(seat), np.int64)
        """int64 (num_envs,): the learner's seat in each match."""
        self._fixed = rules_features(self.rules)
        self._states, self._last = core.new_state(n), core.new_state(n)
        self._bases, self._starts = np.zeros(n, np.uint64), np.zeros(n, np.int64)
        self._observation, self._mask = np.zeros((n, OBSERVATION_SIZE), np.int8), np.zeros((n, N_ACTIONS), np.int8)
        self._places = np.tile(np.arange(N_SUITS, dtype=np.int8), (n, 1))
        self._rewards, self._status = np.zeros(n), np.zeros(n, np.int64)
        self._seed: int | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_fixed"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._fixed = rules_features(self.rules)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin match 0 of `seed` everywhere, or without a seed everywhere the next match.

        Raises:
            SeedError.
            EnvError: `options` is no mapping, or sets a deal, which only single environments take.
        """
        check_options(options)
        for name in DEAL_OPTIONS:
            if options and options.get(name) is not None:
                raise EnvError(f"options: {name} can be set in a single environment only")
        if seed is not None:
            seed = check_seed(seed)
        super().reset(seed=seed)
        n = self.num_envs
        if seed is not None or self._seed is None:
            self._seed = randbits(63) if seed is None else seed
            for i in range(n):
                index = self.first_index + i
                self._states["key"][i] = deal_key(self._seed, index, self.stream)
                self._bases[i], self._starts[i] = learner_words(self._seed, index, self.stream)
            matches = np.zeros(n, np.int64)
        else:
            matches = self._states["match"] + 1
        self._begin(np.arange(n), matches)
        self._look()
        return self._observations(), self._infos()

    def step(self, actions: Any) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Carry out one action for each learner, whole numbers of shape (num_envs,), and play to their next decisions.

        Raises:
            EnvError: not so many whole numbers.
            NotationError: no action has such an id.
            IllegalActionError: the rules forbid an action (illegal="raise"). In all three cases nothing has been stepped.
            OpponentError: an opponent's answer is no legal action.
        """
        if self._seed is None:
            raise gymnasium.error.ResetNeeded("reset() must be called before step")
        actions = self._checked(actions)
        self._status[:] = GOES_ON
        self._rewards[:] = 0.0
        legal = self._mask[np.arange(self.num_envs), actions] != 0
        rows = np.flatnonzero(legal)
        if len(rows) < self.num_envs:
            self._refuse(np.flatnonzero(~legal), actions)
            actions = actions[rows]
        _act(
            self._states, self._last, self.rules.struct, self._relative, self.seats, self._places, rows, actions, True,
            self._rewards, self._status,
        )  # fmt: skip
        self._let_opponents_play()
        terminated = (self._status == FINISHED) | (self._status == FORFEITED)
        truncated = self._status == TRUNCATED
        rewards, infos, done = self._rewards.copy(), {}, terminated | truncated
        if done.any():
            infos = self._finals(done)
            rows = np.flatnonzero(done)
            self._begin(rows, self._states["match"][rows] + 1)
        self._look()
        return self._observations(), rewards, terminated, truncated, {**infos, **self._infos()}

    def _checked(self, actions: Any) -> np.ndarray:
        actions = np.asarray(actions)
        if actions.shape != (self.num_envs,) or actions.dtype.kind not in "iu":
            raise EnvError(
                f"actions must be whole numbers of shape ({self.num_envs},), not {actions.dtype} of shape {actions.shape}"
            )
        wrong = (actions < 0) | (actions >= N_ACTIONS)
        if wrong.any():
            i = int(np.flatnonzero(wrong)[0])
            raise NotationError(f"environment {i}: {actions[i]} is not an action id: ids run from 0 to {N_ACTIONS - 1}")
        return actions.astype(np.int64, copy=False)

    def _refuse(self, rows: np.ndarray, actions: np.ndarray) -> None:
        """Raise because of illegal actions, or end their matches."""
        if self.illegal == "raise":
            i = int(rows[0])
            raise IllegalActionError(self.match(i).why_illegal(int(true_action(int(actions[i]), self._places[i]))))
        self._status[rows] = FORFEITED
        self._rewards[rows] = self.illegal_reward

    def _begin(self, rows: np.ndarray, matches: np.ndarray) -> None:
        """Begin matches in some environments and play to the learners' first decisions."""
        _begin(self._states, self._last, self.rules.struct, rows, matches)
        if self._rotates:
            self.seats[rows] = (self._starts[rows] + matches) % self.rules.players
        self._status[rows] = GOES_ON
        self._let_opponents_play()

    def _let_opponents_play(self) -> None:
        n = self.num_envs
        rows, slots = np.empty(n, np.int64), np.empty(n, np.int64)
        while waiting := _waiting(self._states, self.rules.struct, self.seats, self._status, rows, slots):
            numbers = self._player_of_slot[slots[:waiting]]
            for number, player in enumerate(self._players):
                mine = rows[:waiting] if len(self._players) == 1 else rows[:waiting][numbers == number]
                if len(mine):
                    self._ask(player, mine)

    def _ask(self, player: Player, rows: np.ndarray) -> None:
        question = make_question(len(rows), self.rules)
        show_seat_to_act(
            self._states, self._last, self.rules.struct, self._bases, rows,
            question.states, question.last_states, question.seats, question.seeds,
        )  # fmt: skip
        actions = ask(player, question)
        k = _act(
            self._states, self._last, self.rules.struct, self._relative, self.seats, self._places, rows, actions, False,
            self._rewards, self._status,
        )  # fmt: skip
        if k >= 0:
            i = int(rows[k])
            why = self.match(i).why_illegal(int(actions[k]))
            raise OpponentError(f"environment {i}: the opponent in seat {int(question.seats[k])} chose what is illegal: {why}")

    def _look(self) -> None:
        _look(
            self._states, self.rules.struct, self._fixed, self._canonical, self.seats, self._status,
            self._observation, self._mask, self._places,
        )  # fmt: skip

    def _observations(self) -> Any:
        observation = self._observation.astype(self._dtype, copy=self._copies)
        if not self._mask_in_observation:
            return observation
        return {"observation": observation, "action_mask": self._mask.copy() if self._copies else self._mask}

    def _infos(self, rows: np.ndarray | None = None) -> dict[str, Any]:
        """The infos of all environments, or only of those where `rows` is True."""
        there = np.ones(self.num_envs, np.bool_) if rows is None else rows
        infos: dict[str, Any] = {"action_mask": self._mask.copy() if self._copies else self._mask, "seat": self.seats.copy()}
        if not self._tells_facts:
            return _masked(infos, there)
        players, states, last = self.rules.players, self._states, self._last
        ended = last["deal"] > 0
        infos |= {
            "deal": states["deal"] - 1,
            "scores": states["scores"][:, :players].copy(),
            "pot": states["pot"].copy(),
            "last_deal": {
                "number": last["deal"] - 1,
                "dealer": last["dealer"].copy(),
                "declarer": last["declarer"].copy(),
                "tricks_won": last["tricks_won"][:, :players].copy(),
                "payoffs": last["payoffs"][:, :players].copy(),
                "pot": last["pot"].copy(),
            },
        }
        if self._canonical:
            infos["suit_places"] = self._places.copy()
        infos["last_deal"] = _masked(infos["last_deal"], ended & there)
        masked = _masked(infos, there)
        masked["_last_deal"] = ended & there
        return masked

    def _finals(self, done: np.ndarray) -> dict[str, Any]:
        """How the matches ended that have ended: `final_obs` and `final_info` with their masks."""
        self._look()
        final_obs = np.full(self.num_envs, None, dtype=object)
        rows = np.flatnonzero(done)
        observations, masks = self._observation[rows].astype(self._dtype), self._mask[rows]
        for k, i in enumerate(rows.tolist()):
            seen, mask = observations[k], masks[k]
            final_obs[i] = {"observation": seen, "action_mask": mask} if self._mask_in_observation else seen
        forfeited = self._status == FORFEITED
        info = self._infos(done)
        if self._tells_facts and forfeited.any():
            info |= {"illegal": forfeited, "_illegal": forfeited.copy()}
        return {"final_obs": final_obs, "_final_obs": done.copy(), "final_info": info, "_final_info": done.copy()}

    def action_masks(self) -> np.ndarray:
        """The learners' legal actions, bool of shape (num_envs, N_ACTIONS)."""
        return self._mask != 0

    def match(self, i: int) -> Match:
        """A copy of the match in environment i, with its last finished deal as all its history."""
        match = Match.__new__(Match)
        match.rules, match.state, match._random = self.rules, self._states[i : i + 1].copy(), True
        last = self._last[i : i + 1].copy()
        match.history = [FinishedDeal(self.rules, last)] if last["deal"][0] > 0 else []
        return match

    def render(self) -> tuple[Any, ...] | None:
        """The text or the picture of each environment, as `render_mode` says."""
        from napoleon_env import picture, render  # only for who looks

        if self.render_mode is None:
            gymnasium.logger.warn("render() shows nothing without a render_mode: make the environment with one")
            return None
        show = render.text if self.render_mode == "ansi" else picture.picture
        return tuple(show(self.match(i), self.render_seat) for i in range(self.num_envs))


def _masked(infos: dict[str, Any], there: np.ndarray) -> dict[str, Any]:
    """Infos with Gymnasium's masks beside them, and zeros where there is nothing."""
    masked: dict[str, Any] = {}
    everywhere = bool(there.all())
    for name, values in infos.items():
        if not everywhere and isinstance(values, np.ndarray):
            values = np.where(there.reshape(-1, *(1,) * (values.ndim - 1)), values, np.zeros((), values.dtype))
        masked[name], masked[f"_{name}"] = values, there.copy()
    return masked
