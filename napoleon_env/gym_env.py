"""Gymnasium: `Napoleon-v0`, one learner at a table of opponents; many at once are in `gym_vector_env`.

An episode is a match. A step is a decision of the learner: the opponents' decisions until the learner's next one, and all
deals that end meanwhile, belong to it, and the rewards of these deals are summed. Every deal asks every seat at least once (a
void deal for its call, a played one for its cards), so no match passes without the learner, and the learner is never asked
with nothing to choose.

Observation, action, mask, rewards, infos, options of `reset` and what an illegal action does are those of `aec_env`, of the
learner's seat, which is `info["seat"]`. One thing differs, since Gymnasium's vector environments need infos of one type:
`last_deal` is not there before a deal has ended, and of a void deal it says declarer -1 and made False.

The opponents see what their seats may know and nothing else (`opponents`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import gymnasium
import numpy as np
from gymnasium import spaces

from napoleon_env import rules as core
from napoleon_env.match import Match
from napoleon_env.notation import N_ACTIONS, NO_SEAT
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
from napoleon_env.ruleset import Ruleset
from napoleon_env.single_env import (
    FINISHED,
    GOES_ON,
    REFUSED,
    RENDER_MODES,
    TRUNCATED,
    Game,
    check_illegal_reward,
    check_seat,
    observation_space,
)
from napoleon_env.tables import Question


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
        obs_dtype: of the observations, one of `single_env.OBS_DTYPES`.
        mask: "observation" (a Dict with the mask in it) or "info" (a flat Box); the mask is in the infos in both.
        facts: whether the infos hold more than the mask and the seat.
        render_mode: None, "human" (prints after every step), "ansi" or "rgb_array".
        render_seat: whose knowledge is rendered; None shows the open table.
        stream, index: of the deals; environments of one seed and different indices differ.

    Raises:
        RulesetError, EnvError, ObservationError, SeedError, RosterError: a setting that does not exist.
    """

    metadata: dict[str, Any] = {"render_modes": list(RENDER_MODES), "render_fps": 1}  # noqa: RUF012  # Env declares it of instances: as a ClassVar it would not override it

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
        check_settings(illegal, mask, seat, render_mode, RENDER_MODES, self.rules)
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
                raise OpponentError(f"the opponent in seat {seat} chose what is illegal: {self.match.why_illegal(action)}")
            if code != GOES_ON:
                reward += game.rewards[self.seat]
        return code, reward

    def _new_questions(self) -> list[Question]:
        """What each opponent is asked in, written anew for each decision; one each, so that none sees another's."""
        return [make_question(1, self.rules) for _ in self.opponents]

    def _opponents_action(self, slot: int) -> int:
        match, question = self.match, self._questions[slot]
        last = match.history[-1].state if match.history else self._no_deal
        show_seat_to_act(
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
