"""RLCard: the environment `napoleon`, for its agents (DMC, NFSP, DQN, CFR) and its `tournament`.

    import rlcard
    import napoleon_env.adapters.rlcard  # registers the environment

    env = rlcard.make("napoleon", config={"rules": "german", "players": 3, "seed": 1, "allow_step_back": True})

`config` may hold `rules` (a preset's name, a `Ruleset` or a record's header), fields of the rule set to change, `suit_order`
("fixed" or "canonical"), `stream` ("train" or "evaluation") and RLCard's own `seed` and `allow_step_back`. A game is a match:
`seed(s)` leads to match 0 of the seed s, as in the other environments, and each `reset()` goes on to the next one. Payoffs are
the scores at its end.

A state holds `obs`, int8 (OBSERVATION_SIZE,); `legal_actions`, the ids (empty for a seat that is not to act), and
`raw_legal_actions`, their names; `raw_obs`, the seat's `View`; and `action_record`, the names of what was done, by whom. An
agent with `use_raw` answers with names.

Tested with rlcard 1.2.0, which has these defects:

* CFRAgent asks observations for `tostring`, which numpy 2.3 has removed (https://github.com/datamllab/rlcard/pull/328): the
  observations here have it.
* `Env.step_back` leaves the action that it takes back in the action record (rlcard/envs/env.py): here it does not.
* DMCTrainer leaves its actors running when it has ended (rlcard/agents/dmc_agent/trainer.py: nobody joins them), so that the
  program never ends: terminate `multiprocessing.active_children()`. It fails in a git repository without a branch
  (dmc_agent/file_writer.py, `active_branch`): start it in another folder.
* `tournament` takes payoffs in a list for those of many games (rlcard/utils/utils.py): payoffs here are an array.
* `rlcard.agents` has no neural agents where `pip freeze` does not list torch, and needs setuptools from Python 3.12 on
  (rlcard/agents/__init__.py, `distutils`).
"""

# rlcard is an extra, so pyright may not find it.
# pyright: reportMissingImports=false

from __future__ import annotations

from collections import OrderedDict
from secrets import randbits
from typing import Any, Final

import numpy as np
from rlcard.envs import Env, register

from napoleon_env.dealing import check_seed
from napoleon_env.match import Match
from napoleon_env.notation import ACTION_NAMES, CARDS, N_ACTIONS
from napoleon_env.observation import OBSERVATION_SIZE, is_canonical, observe, true_action
from napoleon_env.ruleset import Ruleset

OWN_SETTINGS: Final = ("seed", "allow_step_back", "rules", "suit_order", "stream")
"""Keys of `config` that are no fields of a rule set."""


class Observation(np.ndarray):
    """An array whose bytes CFRAgent can ask for."""

    tostring = np.ndarray.tobytes


class Game:
    """The matches of one environment, one after another, in RLCard's shape.

    `match` is the match being played, to be read; a *state* here is a seat's number, for the environment to look at.
    """

    allow_step_back = False

    def __init__(self, rules: Ruleset, stream: str) -> None:
        self.rules: Final = rules
        self.stream: Final = stream
        self.seed, self.number = 0, 0
        self.match = Match(rules, seed=0, stream=stream)
        self._before: list[tuple[Match, int]] = []
        self._seat = 0

    def init_game(self) -> tuple[int, int]:
        """Begin the next match of the seed."""
        self.match = Match(self.rules, seed=self.seed, stream=self.stream, number=self.number)
        self.number += 1
        self._before = []
        return self._look()

    def step(self, action: str) -> tuple[int, int]:
        """Carry out an action by name.

        Raises:
            NotationError, IllegalActionError.
        """
        if self.allow_step_back:
            self._before.append((self.match.copy(), self._seat))
        self.match.play(action)
        return self._look()

    def _look(self) -> tuple[int, int]:
        if self.match.seat is not None:
            self._seat = self.match.seat
        return self._seat, self._seat

    def step_back(self) -> bool:
        """Take back the last action; False where there is none."""
        if not self._before:
            return False
        self.match, self._seat = self._before.pop()
        return True

    def get_state(self, player_id: int) -> int:
        """For `NapoleonEnv` to look at."""
        return player_id

    def get_player_id(self) -> int:
        """Who is to act; at the end, who was the last."""
        return self._seat

    def get_num_players(self) -> int:
        """Of the rule set."""
        return self.rules.players

    def get_num_actions(self) -> int:
        """The same for all rule sets."""
        return N_ACTIONS

    def is_over(self) -> bool:
        """Whether the match is over."""
        return self.match.over


class NapoleonEnv(Env):
    """The environment; see the module.

    Raises:
        RulesetError, ObservationError, SeedError: a setting that does not fit.
    """

    def __init__(self, config: dict[str, Any]) -> None:
        changes = {name: value for name, value in config.items() if name not in OWN_SETTINGS}
        self.name = "napoleon"
        self.game = Game(Ruleset.make(config.get("rules", "german"), **changes), config.get("stream", "train"))
        self._canonical = is_canonical(config.get("suit_order", "fixed"))
        super().__init__(config)
        self.state_shape = [[OBSERVATION_SIZE]] * self.num_players
        self.action_shape = [None] * self.num_players

    def seed(self, seed: int | None = None) -> int:
        """Go to match 0 of `seed`; None draws one from the system."""
        self.game.seed, self.game.number = randbits(63) if seed is None else check_seed(seed), 0
        return self.game.seed

    def step_back(self) -> Any:
        """Take back the last action: (state, seat), or False where there is none."""
        back = super().step_back()
        if back is not False:
            self.action_recorder.pop()
        return back

    def get_payoffs(self) -> np.ndarray:
        """The scores, float64 (players,)."""
        return np.array(self.game.match.scores, np.float64)

    def get_perfect_information(self) -> dict[str, Any]:
        """All that there is to know, in names."""
        match = self.game.match
        stock = match.state["cards"][0, self.num_players * match.rules.hand_size : match.rules.pack_size].tolist()
        return {
            "hands": match.hands,
            "stock": [CARDS[card] for card in stock],
            "discarded": match.discarded,
            "dealer": match.dealer,
            "declarer": match.declarer,
            "contract": match.contract,
            "trump": match.trump,
            "log": match.log,
            "scores": match.scores,
            "pot": match.pot,
            "current_player": match.seat,
            "legal_actions": match.legal(),
        }

    def _extract_state(self, state: int) -> dict[str, Any]:
        match = self.game.match
        seen = observe(match.state, match.rules, state, self._canonical)
        legal = np.flatnonzero(seen.action_mask).tolist()
        return {
            "obs": seen.observation.view(Observation),
            "legal_actions": OrderedDict.fromkeys(legal),
            "raw_obs": match.view(state),
            "raw_legal_actions": [ACTION_NAMES[true_action(action, seen.suit_places)] for action in legal],
            "action_record": self.action_recorder,
        }

    def _decode_action(self, action_id: int) -> str:
        match = self.game.match
        places = observe(match.state, match.rules, self.game.get_player_id(), self._canonical).suit_places
        return ACTION_NAMES[true_action(int(action_id), places)]

    def _get_legal_actions(self) -> list[int]:
        return list(self._extract_state(self.game.get_player_id())["legal_actions"])


register("napoleon", "napoleon_env.adapters.rlcard:NapoleonEnv")
