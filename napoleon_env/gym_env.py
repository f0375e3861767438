"""Gymnasium: `Napoleon-v0`, one learner at a table of opponents, alone (`NapoleonEnv`) or many at once (`NapoleonVectorEnv`).

An episode is a match. A step is a decision of the learner: the opponents' decisions until the learner's next one, and all
deals that end meanwhile, belong to it, and the rewards of these deals are summed. Every deal asks every seat at least once (a
void deal for its call, a played one for its cards), so no match passes without the learner, and the learner is never asked
with nothing to choose.

Observation, action, mask, rewards, infos, options of `reset` and what an illegal action does are those of `aec_env`, of the
learner's seat, which is `info["seat"]`. One thing differs, since Gymnasium's vector environments need infos of one type:
`last_deal` is not there before a deal has ended, and of a void deal it says declarer -1 and made False.

The opponents see what their seats may know and nothing else. Their decisions are drawn from seeds of their own, a function of
(seed, index, match, deal, decision) that says nothing of the cards.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from secrets import randbits
from typing import Any, Final

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space

from napoleon_env import rules as core
from napoleon_env.aec_env import (
    DEAL_OVER,
    FINISHED,
    GOES_ON,
    ILLEGAL,
    MASKS,
    REFUSED,
    RENDER_MODES,
    TRUNCATED,
    Game,
    check_illegal_reward,
    check_options,
    check_seat,
    check_word,
    observation_space,
)
from napoleon_env.dealing import STREAMS, check_indices, check_seed, deal_key, fork, random_deal, random_match
from napoleon_env.jit import jit
from napoleon_env.match import FinishedDeal, Match
from napoleon_env.notation import ACTION_NAMES, N_ACTIONS, N_SUITS, NO_SEAT, NotationError, shown, whole
from napoleon_env.observation import OBSERVATION_SIZE, encode, encode_mask, rules_features, suit_places, true_action
from napoleon_env.players import HumanPlayer, Player
from napoleon_env.roster import FunctionPlayer, make_player
from napoleon_env.ruleset import Ruleset
from napoleon_env.tables import Question, answer
from napoleon_env.vector_env import EnvError, check_flag

Opponent = str | Player | Callable[..., Any]
ROTATE: Final = "rotate"
FORFEITED: Final = 4
"""Beside the codes of `aec_env`: the learner has chosen what is illegal."""


class OpponentError(ValueError):
    """An opponent that did not answer with a legal action; the sentence names its seat.

    What an opponent's own code raises comes through as it is, so that its traceback is seen.
    """


# The kernels.


@jit
def _show(states: Any, last: Any, rules: Any, bases: Any, rows: Any, seen: Any, last_seen: Any, seats: Any, seeds: Any) -> None:
    """Copy what the seats to act in the environments `rows` may know, and write the seeds of their decisions."""
    for k in range(len(rows)):
        state = states[rows[k]]
        seat = state["seat"]
        seats[k] = seat
        seeds[k] = fork(fork(fork(bases[rows[k]], state["match"]), state["deal"]), state["n_log"])
        seen[k] = state
        core.hide(seen[k], rules[0], seat)
        last_seen[k] = last[rows[k]]
        if last_seen[k]["deal"] > 0:
            core.hide(last_seen[k], rules[0], seat)


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


def make_opponents(opponents: Opponent | Sequence[Opponent], rules: Ruleset) -> list[Player]:
    """The player in each other seat, from the learner's left on.

    Raises:
        EnvError, RosterError: not a player, or not one for each seat.
    """
    n = rules.players - 1
    if isinstance(opponents, (list, tuple)):
        if len(opponents) != n:
            raise EnvError(
                f"opponents must be one player, or a list of {n}, from the learner's left on: {len(opponents)} given"
            )
        return [_make_opponent(opponent, rules) for opponent in opponents]
    return [_make_opponent(opponents, rules)] * n


def _make_opponent(opponent: Any, rules: Ruleset) -> Player:
    if isinstance(opponent, type):
        raise EnvError(f"opponents: {shown(opponent)} is a class: a player must be an object of one, or a function")
    player: Any = opponent
    if callable(opponent) and not any(hasattr(opponent, name) for name in ("act", "act_many", "act_states")):
        player = FunctionPlayer(opponent)
    return make_player(player, rules=rules)


def learner_words(seed: int, index: int, stream: str) -> tuple[np.uint64, int]:
    """The key of the opponents' decisions and where the learner's seat starts from; of another domain than any deal's key."""
    sequence = np.random.SeedSequence(check_seed(seed), spawn_key=(2, 1 + STREAMS.index(stream), index))
    base, start = sequence.generate_state(2, np.uint64)
    return base, int(start >> np.uint64(32))


def _question(n: int, rules: Ruleset) -> Question:
    return Question(core.new_state(n), rules, np.zeros(n, np.int64), np.zeros(n, np.uint64), core.new_state(n))


def ask(player: Player, question: Question) -> np.ndarray:
    """A player's actions.

    Raises:
        OpponentError: an answer is no action at all.
    """
    actions, faults = answer(player, question)
    for k, fault in faults.items():
        raise OpponentError(f"the opponent in seat {int(question.seats[k])}: {fault}")
    return actions


def _check_settings(
    illegal: str, mask: str, seat: int | str, render_mode: str | None, modes: Sequence[str], rules: Ruleset
) -> None:
    check_word("illegal", illegal, ILLEGAL)
    check_word("mask", mask, MASKS)
    if render_mode is not None:
        check_word("render_mode", render_mode, tuple(modes))
    if isinstance(seat, str):
        check_word("seat", seat, (ROTATE,))
    else:
        check_seat("seat", seat, rules)


class NapoleonEnv(gymnasium.Env[Any, Any]):
    """One learner at a table of opponents; see the module.

    Args:
        rules: a preset's name, a `Ruleset` or a record's header; `changes` change fields.
        opponents: a player for all other seats, or a list of one for each, from the learner's left on. A player is a name
            ("rule", "random", "path.onnx", … : `roster.make_player`), a `Player`, or a function from a `View` to an action.
            A player given as an object is used as it is.
        seat: the learner's, or "rotate": one further to the left with each match of a seed.
        reward: "payoff" or "relative".
        illegal: what an illegal action does: "terminate" (the episode ends with `illegal_reward`) or "raise".
        illegal_reward: None: minus `Ruleset.worst_contract_cost`.
        suit_order: "fixed" or "canonical".
        obs_dtype: of the observations, one of `aec_env.OBS_DTYPES`.
        mask: "observation" (a Dict with the mask in it) or "info" (a flat Box); the mask is in the infos in both.
        facts: whether the infos hold more than the mask and the seat.
        render_mode: None, "human" (prints after every step), "ansi" or "rgb_array".
        render_seat: whose knowledge is rendered; None shows the open table.
        stream, index: of the deals; environments of one seed and different indices differ.

    Raises:
        RulesetError, EnvError, ObservationError, SeedError, RosterError: a setting that does not exist.
    """

    metadata: dict[str, Any] = {"render_modes": list(RENDER_MODES), "render_fps": 1}  # noqa: RUF012  # a ClassVar would contradict the base class

    def __init__(
        self,
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
        index: int = 0,
        **changes: Any,
    ) -> None:
        self.rules = Ruleset.make(rules, **changes)
        self._game = Game(
            self.rules, reward=reward, suit_order=suit_order, obs_dtype=obs_dtype, stream=stream, index=index, facts=facts
        )
        _check_settings(illegal, mask, seat, render_mode, RENDER_MODES, self.rules)
        self.opponents = make_opponents(opponents, self.rules)
        self.illegal, self.render_mode = illegal, render_mode
        self.illegal_reward = check_illegal_reward(illegal_reward, self.rules)
        self.render_seat = None if render_seat is None else check_seat("render_seat", render_seat, self.rules)
        self.observation_space = observation_space(self._game.dtype, mask == "observation")
        self.action_space = spaces.Discrete(N_ACTIONS)
        self.seat = 0 if isinstance(seat, str) else int(seat)
        """The learner's, in this match."""
        self._rotates = isinstance(seat, str)
        self._mask_in_observation = mask == "observation"
        self._start = 0
        self._bases = np.zeros(1, np.uint64)
        self._seed: int | None = None
        self._no_deal = core.new_state()
        self._questions = self._new_questions()

    @property
    def match(self) -> Match:
        """The match being played, to be read; whoever wants to try something plays on a copy of it."""
        if self._game.match is None:
            raise gymnasium.error.ResetNeeded("reset() must be called first")
        return self._game.match

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin match 0 of `seed`, or without a seed the next match, and play to the learner's first decision.

        Raises:
            SeedError, EnvError, DealError: the match before goes on then.
            OpponentError: an opponent's answer is no legal action.
        """
        game = self._game
        game.reset(seed, options)
        super().reset(seed=None if seed is None else game.seed)
        if game.seed != self._seed:
            self._seed = game.seed
            assert game.seed is not None
            self._bases[0], self._start = learner_words(game.seed, game.index, game.stream)
        if self._rotates:
            self.seat = (self._start + game.number) % self.rules.players
        game.watch = self.seat
        game.look()
        self._let_opponents_play()
        if self.render_mode == "human":
            self.render()
        return self._observation(), self._info()

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Carry out the learner's action and play to its next decision, or to the end of the match.

        Raises:
            IllegalActionError: the rules forbid it (illegal="raise"); nothing has changed.
            NotationError: no action has this id.
            OpponentError: an opponent's answer is no legal action.
        """
        game = self._game
        if game.match is None or game.over:
            raise gymnasium.error.ResetNeeded("no match is being played: call reset() to begin one")
        code, reward = game.play(action), 0.0
        if code == REFUSED:
            if self.illegal == "raise":
                raise game.why_refused(int(action))
            game.forfeit(int(action))
            reward = self.illegal_reward
        else:
            if code != GOES_ON:
                reward = game.rewards[self.seat]
            code, more = self._let_opponents_play(code)
            reward += more
        if self.render_mode == "human":
            self.render()
        return self._observation(), reward, code in (REFUSED, FINISHED), code == TRUNCATED, self._info()

    def _let_opponents_play(self, code: int = GOES_ON) -> tuple[int, float]:
        """Play until the learner is to act or the match is over; returns what that led to and the learner's rewards."""
        game, reward = self._game, 0.0
        while game.seat != self.seat and not game.over:
            seat = game.seat
            action = self._opponents_action((seat - self.seat - 1) % self.rules.players)
            code = game.play(action, as_seen=False)
            if code == REFUSED:
                raise OpponentError(f"the opponent in seat {seat} chose what is illegal: {_why_illegal(self.match, action)}")
            if code != GOES_ON:
                reward += game.rewards[self.seat]
        return code, reward

    def _new_questions(self) -> list[Question]:
        """What each opponent is asked in, written anew for each decision; one each, so that none sees another's."""
        return [_question(1, self.rules) for _ in self.opponents]

    def _opponents_action(self, slot: int) -> int:
        match, question = self.match, self._questions[slot]
        last = match.history[-1].state if match.history else self._no_deal
        _show(
            match.state, last, self.rules.struct, self._bases, _FIRST,
            question.states, question.last_states, question.seats, question.seeds,
        )  # fmt: skip
        return int(ask(self.opponents[slot], question)[0])

    def _observation(self) -> Any:
        game, seat = self._game, self.seat
        if self._mask_in_observation:
            return {"observation": game.observe(seat), "action_mask": game.mask(seat)}
        return game.observe(seat)

    def _info(self) -> dict[str, Any]:
        info = self._game.info(self.seat)
        info["seat"] = self.seat
        last = info.get("last_deal")
        if last is None:
            info.pop("last_deal", None)
        elif last["declarer"] is None:
            last["declarer"], last["made"] = NO_SEAT, False
        return info

    def action_masks(self) -> np.ndarray:
        """The learner's legal actions, bool of shape (N_ACTIONS,), as sb3-contrib's MaskablePPO asks for them."""
        return self._game.mask(self.seat).astype(np.bool_)

    def render(self) -> Any:
        """What `render_mode` says: prints and returns None, or returns the text or the picture (uint8, height × width × 3)."""
        assert self.match is not None
        if self.render_mode is None:
            gymnasium.logger.warn("render() shows nothing without a render_mode: make the environment with one")
            return None
        return self._game.render(self.render_mode, self.render_seat)

    def clone(self) -> NapoleonEnv:
        """An independent environment in the same state, whose later deals and opponents' decisions are the same.

        Opponents and spaces are shared; `deepcopy` copies them too.
        """
        twin = type(self).__new__(type(self))
        twin.__dict__.update(self.__dict__)
        twin._game, twin._bases, twin._questions = self._game.copy(), self._bases.copy(), self._new_questions()
        return twin


_FIRST: Final = np.zeros(1, np.int64)


def _why_illegal(match: Match, action: int) -> str:
    """The rule that forbids an action, in a sentence."""
    try:
        match.copy().play(action)
    except ValueError as error:
        return str(error)
    raise AssertionError(f"{ACTION_NAMES[action]} is legal")  # not reached: both ask rules.is_legal


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

    metadata: dict[str, Any] = {  # noqa: RUF012  # a ClassVar would contradict the base class
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
        _check_settings(illegal, mask, seat, render_mode, self.metadata["render_modes"], self.rules)
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
        for name in ("dealer", "hands", "stock", "pot"):
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
            match = self.match(i)
            match.play(int(true_action(int(actions[i]), self._places[i])))  # raises
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
        question = _question(len(rows), self.rules)
        _show(
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
            why = _why_illegal(self.match(i), int(actions[k]))
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
        from napoleon_env import render  # with Pillow: only for who looks

        if self.render_mode is None:
            gymnasium.logger.warn("render() shows nothing without a render_mode: make the environment with one")
            return None
        show = render.text if self.render_mode == "ansi" else render.picture
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
