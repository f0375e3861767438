"""OpenSpiel: the game `python_napoleon`, and OpenSpiel's bots as players of ours.

    import pyspiel
    import napoleon_env.adapters.open_spiel  # registers the game

    game = pyspiel.load_game("python_napoleon(rules=russian,players=3,deals=2)")

Parameters, all optional: `rules`, a preset's name; every field of a rule set (`napoleon rules` lists them): whole numbers as
numbers, words as they are, on or off as yes or no, pairs as `misere=3:3`, `none` for none, a lowest rank that is a digit in
quotation marks (`lowest_rank="6"`); `dealer`, the seat that deals first (drawn by lot without it, C8); `chance`, explicit or
sampled; and `rng_seed` of what is sampled.

Chance is *explicit* in tiny packs (at most EXPLICIT_DEALS ways to deal): a node for the first dealer, one for each card of a
hand, in ascending order, so that each deal has one history, and one for the card drawn in an exchange. Otherwise it is
*sampled*: one node a deal, with a single outcome, behind which the game shuffles. `chance=explicit` works for every pack.

Actions are those of the environments, and so is the tensor, of information states and observations alike (`observation`): it
has perfect recall of the deal, and of the deals before it scores, pot and the like, on a scale that rounds large amounts. The
string of an information state has perfect recall of the whole match. Before the first cards are dealt the tensor is zero;
at chance nodes it shows the deal that has ended. Returns are the scores. A player knows its cards when all are dealt.

The other way, `BotPlayer` makes a player of an OpenSpiel bot, and `ismcts` is one ready for tournaments:
`napoleon tournament --players rule,napoleon_env.adapters.open_spiel:ismcts:simulations=50`.

Tested with open-spiel 2.0.2, which has these limits for games in Python:

* C++ cannot serialise a game or state whose chance is sampled ("GetRNGState unimplemented"; open_spiel/python/pybind11/
  python_games.h has no such method): pickle does it, and so does `chance=explicit`.
* C++'s MCTSBot and ISMCTSBot end the process with a segmentation fault, with python_tic_tac_toe and python_kuhn_poker too;
  nor could C++ ask for resampling (same file). The bots in Python work (open_spiel.python.algorithms).
* ISMCTSBot in Python resamples from a generator that nobody can seed, whatever `random_state` is
  (open_spiel/python/algorithms/ismcts.py), unless `set_resampler` is used, as here.
* sequence_form_lp needs cvxpy and ecos, which open-spiel does not ask for.
"""

# open-spiel is an extra, so pyright may not find it.
# pyright: reportMissingImports=false

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import comb
from typing import Any, Final

import numpy as np
import pyspiel
from open_spiel.python.algorithms import ismcts as open_spiel_ismcts
from open_spiel.python.algorithms import mcts

from napoleon_env import rules as core
from napoleon_env.belief import sample_worlds
from napoleon_env.dealing import check_seed, random_deal
from napoleon_env.exact import n_deals
from napoleon_env.match import Match, Situation, View, log_name
from napoleon_env.notation import (
    ACTION_NAMES,
    CARDS,
    DISCARD,
    LARGEST_EXACT,
    MAX_PLAYERS,
    N_ACTIONS,
    N_CARDS,
    NO_CARD,
    NO_SEAT,
    PLAY,
    SOME_DISCARD,
    shown,
)
from napoleon_env.observation import OBSERVATION_SIZE, observation_layout, observe
from napoleon_env.ruleset import BOOLS, CHOICES, PAIRS, WHOLE, Ruleset, RulesetError, parse_changes

EXPLICIT_DEALS: Final = 100_000
"""Ways to deal the hands, up to which chance is explicit unless `chance` says otherwise."""
CHANCES: Final = ("explicit", "sampled")
NO_NUMBER: Final = -1
"""In place of a number that is not given; "" is a text that is not given."""
PRIVATE: Final = ("hand", "exchange")
"""Features that only their seat sees."""

_PARAMETERS: Final[dict[str, Any]] = {
    "rules": "german",
    **dict.fromkeys(WHOLE, NO_NUMBER),
    **dict.fromkeys((*CHOICES, *BOOLS, *PAIRS, "lowest_rank"), ""),
    "dealer": NO_NUMBER,
    "chance": "",
    "rng_seed": NO_NUMBER,
}


def _game_type(rules: Ruleset, explicit: bool) -> pyspiel.GameType:
    kind = pyspiel.GameType
    pays_once = _most_deals(rules) == 1 or (rules.deals == 1 and rules.ante == 0)
    return kind(
        short_name="python_napoleon",
        long_name="Nap (Napoleon)",
        dynamics=kind.Dynamics.SEQUENTIAL,
        chance_mode=kind.ChanceMode.EXPLICIT_STOCHASTIC if explicit else kind.ChanceMode.SAMPLED_STOCHASTIC,
        information=kind.Information.IMPERFECT_INFORMATION,
        utility=kind.Utility.ZERO_SUM if rules.zero_sum else kind.Utility.GENERAL_SUM,
        reward_model=kind.RewardModel.TERMINAL if pays_once else kind.RewardModel.REWARDS,
        max_num_players=MAX_PLAYERS,
        min_num_players=2,
        provides_information_state_string=True,
        provides_information_state_tensor=True,
        provides_observation_string=True,
        provides_observation_tensor=True,
        provides_factored_observation_string=True,
        parameter_specification=_PARAMETERS,
    )


def _most_deals(rules: Ruleset) -> int:
    """Deals of a match at most, void ones too."""
    return rules.deals * (rules.max_void_deals if rules.all_pass == "void" else 1)


def _game_info(rules: Ruleset, explicit: bool) -> pyspiel.GameInfo:
    low, high = _bounds(rules)
    calls = (core.N_LEVELS - 1) * (2 if rules.dealer_holds else 1)
    decisions = rules.players + (0 if rules.auction == "once" else calls) + 3 + rules.players * rules.hand_size
    return pyspiel.GameInfo(
        num_distinct_actions=N_ACTIONS,
        max_chance_outcomes=N_CARDS if explicit else 1,
        num_players=rules.players,
        min_utility=low,
        max_utility=high,
        utility_sum=0.0 if rules.zero_sum else None,
        max_game_length=min(decisions * _most_deals(rules), 2**31 - 1),
    )


def _bounds(rules: Ruleset) -> tuple[float, float]:
    """Bounds of what a seat can lose and win in a match."""
    if rules.payment == "points_only":
        return 0.0, float(rules.deals * rules.hand_size)
    levels = [level for level in range(1, core.N_LEVELS) if core.bid_at_level(level) <= rules.hand_size]
    won, lost = (max(int(core.contract_price(rules.struct[0], level, made)) for level in levels) for made in (True, False))
    others = rules.players - 1
    gain, loss = max(others * won, lost), max((others + 1) * lost, won)
    if not rules.has_pot:
        return float(-rules.deals * loss), float(rules.deals * gain)
    pot, low, high = 0, 0, 0
    for _ in range(rules.deals):
        antes = rules.ante * rules.max_void_deals
        pot = min(pot + rules.players * antes, LARGEST_EXACT + rules.players * rules.ante)
        low -= loss + rules.players * pot + antes
        high += gain + pot
        pot = 2 * pot + lost
        if max(-low, high) > LARGEST_EXACT:  # a match ends after the deal that leads beyond that
            most = LARGEST_EXACT + gain + loss + rules.players * (LARGEST_EXACT + rules.players * rules.ante)
            return float(-most), float(most)
    return float(low), float(high)


def _ruleset(parameters: Mapping[str, Any]) -> Ruleset:
    """The rule set that the parameters given say.

    Raises:
        RulesetError.
    """
    texts = []
    for name, value in parameters.items():
        if name in PAIRS and ":" in value:
            texts.append(f"{name}=[{value.replace(':', ',')}]")
        elif name not in ("rules", "dealer", "chance", "rng_seed"):
            texts.append(f"{name}={value}".replace('"', ""))
    return Ruleset.make({"preset": parameters.get("rules", "german"), **parse_changes(texts)})


def make_game(rules: str | Ruleset | Mapping[str, Any] = "german", **settings: Any) -> NapoleonGame:
    """The game of a rule set.

    Args:
        rules: a preset's name, a `Ruleset` or a record's header.
        settings: parameters that are no fields of a rule set: `dealer`, `chance`, `rng_seed`.

    Raises:
        RulesetError, SeedError.
    """
    header = Ruleset.make(rules).header
    fields = {name: _parameter(value) for name, value in header.items() if name != "preset"}
    return NapoleonGame({"rules": header["preset"], **fields, **settings})


def _parameter(value: Any) -> int | str:
    """A field's value as a parameter of the game."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ":".join(map(str, value))
    return "none" if value is None else value


class NapoleonGame(pyspiel.Game):
    """The game of one rule set; see the module for its parameters.

    Raises:
        RulesetError, SeedError: a parameter that does not fit.
    """

    def __init__(self, params: Mapping[str, Any] | None = None) -> None:
        given = {name: value for name, value in (params or {}).items() if value not in (NO_NUMBER, "", None)}
        self.rules: Final = _ruleset(given)
        chance = given.get("chance", CHANCES[n_deals(self.rules) > EXPLICIT_DEALS])
        if chance not in CHANCES:
            raise RulesetError(f"chance={shown(chance)} must be one of {', '.join(CHANCES)}")
        self.explicit: Final = chance == "explicit"
        if "lowest_rank" in given:  # so that the text of the game can be read again: a bare 6 would be a number
            given["lowest_rank"] = f'"{self.rules.lowest_rank}"'
        self.dealer: Final[int | None] = given.get("dealer")
        self.blank: Final = Match(self.rules, seed=0)
        """A match before its first deal."""
        self.blank.begin(dealer=self.dealer or 0)
        seed = given.get("rng_seed")
        self.rng = np.random.default_rng(None if seed is None else check_seed(seed, "rng_seed"))
        """Of all sampled deals, of all states of this game."""
        super().__init__(_game_type(self.rules, self.explicit), _game_info(self.rules, self.explicit), given)

    def new_initial_state(self) -> NapoleonState:
        """A match before its first deal."""
        return NapoleonState(self)

    def make_py_observer(self, iig_obs_type: Any = None, params: Any = None) -> NapoleonObserver:
        """What shows states to players: `open_spiel.python.observation.make_observation` asks for it."""
        return NapoleonObserver(self.rules, iig_obs_type or pyspiel.IIGObservationType(perfect_recall=False), params)

    def max_chance_nodes_in_history(self) -> int:
        """Of the longest match."""
        nodes = self.rules.players * self.rules.hand_size + self.rules.exchange if self.explicit else 1
        return min(1 + nodes * _most_deals(self.rules), 2**31 - 1)

    def __reduce__(self) -> tuple[Any, ...]:
        return _load_game, (str(self), self.rng)


def _load_game(text: str, rng: np.random.Generator) -> NapoleonGame:
    game = pyspiel.load_game(text)
    game.rng = rng
    return game


class NapoleonState(pyspiel.State):
    """A match at a decision, at a chance node or at its end.

    `match` is to be read; `waits_for` says what chance is to decide: "dealer", "cards", "draw", or None.
    """

    def __init__(self, game: NapoleonGame) -> None:
        super().__init__(game)
        self.match = game.blank.copy()
        self.waits_for: str | None = "dealer" if game.explicit and game.dealer is None else "cards"
        self._player = int(pyspiel.PlayerId.CHANCE)
        self._dealt: list[int] = []
        self._laid = NO_CARD
        self._paid = False
        self._start: np.ndarray | None = None
        """Where the history begins, if not before a match."""
        self.given: Any = None
        """Where chance is sampled, the deal that comes next if it is known already: a record of dtype `rules.STATE`."""

    def current_player(self) -> int:
        """The seat to act, or one of pyspiel.PlayerId."""
        return self._player

    def is_terminal(self) -> bool:
        """Whether the match is over."""
        return self._player == pyspiel.PlayerId.TERMINAL

    def _legal_actions(self, player: int) -> list[int]:
        return self.match.legal_ids()

    def chance_outcomes(self) -> list[tuple[int, float]]:
        """What chance can decide, each with its probability."""
        rules = self.match.rules
        if self.waits_for == "dealer":
            return [(seat, 1 / rules.players) for seat in range(rules.players)]
        if self.waits_for == "draw":
            dealt = self.match.state["cards"][0, : rules.players * rules.hand_size].tolist()
            left = [card for card in rules.pack if card not in dealt]
            return [(card, 1 / len(left)) for card in left]
        if not self.get_game().explicit:
            return [(0, 1.0)]
        # The next card of a hand in ascending order: the lowest of so many that are chosen from those that are higher still.
        begun = len(self._dealt) % rules.hand_size
        above = self._dealt[-1] if begun else NO_CARD
        left = [card for card in rules.pack if card > above and card not in self._dealt]
        more = rules.hand_size - begun
        ways = comb(len(left), more)
        return [(card, comb(len(left) - 1 - i, more - 1) / ways) for i, card in enumerate(left[: len(left) - more + 1])]

    def _apply_action(self, action: int) -> None:
        if self.waits_for is None:
            if self.get_game().explicit and DISCARD <= action < PLAY:
                self._laid, self._paid = action, False
                self.waits_for, self._player = "draw", int(pyspiel.PlayerId.CHANCE)
            else:
                self._play(action)
        elif self.waits_for == "dealer":
            self.match.begin(dealer=action)
            self.waits_for = "cards"
        elif self.waits_for == "draw":
            self.match.state["cards"][0, self.match.rules.players * self.match.rules.hand_size] = action
            self._play(self._laid)
        else:
            self._deal(action)

    def _play(self, action: int) -> None:
        self._paid = self.match.play(action) is not None
        self._look()

    def _look(self) -> None:
        seat, self.waits_for = self.match.seat, None
        if seat is not None:
            self._player = seat
        elif self.match.over:
            self._player = int(pyspiel.PlayerId.TERMINAL)
        else:
            self.waits_for, self._player = "cards", int(pyspiel.PlayerId.CHANCE)

    def _deal(self, card: int) -> None:
        """Deal a card, or where chance is sampled a whole pack."""
        game, match = self.get_game(), self.match
        rules, state = match.rules, match.state
        if game.explicit:
            self._dealt.append(card)
            if len(self._dealt) < rules.players * rules.hand_size:
                return
            state["cards"] = NO_CARD
            state["cards"][0, : len(self._dealt)] = self._dealt
            self._dealt = []
            core.begin_deal(state[0], rules.struct[0])
        else:
            given, self.given = self.given, None
            if state["deal"][0] == 0 and game.dealer is None and self._start is None:
                match.begin(dealer=int(game.rng.integers(rules.players) if given is None else given["dealer"]))
            if given is None:
                state["key"] = game.rng.integers(1 << 64, dtype=np.uint64)
                with np.errstate(over="ignore"):  # the shuffle's words wrap, on purpose; only uncompiled numpy minds
                    random_deal(state[0], rules.struct[0])
            else:
                state["cards"] = given["cards"]
                core.begin_deal(state[0], rules.struct[0])
        self._look()

    def rewards(self) -> list[float]:
        """What the deal was paid that the last decision ended; zero after any other decision."""
        return [float(payoff) for payoff in self.match.payoffs] if self._paid else [0.0] * self.match.rules.players

    def returns(self) -> list[float]:
        """The scores."""
        return [float(score) for score in self.match.scores]

    def _action_to_string(self, player: int, action: int) -> str:
        if player != pyspiel.PlayerId.CHANCE:
            return ACTION_NAMES[action]
        if self.waits_for == "dealer":
            return f"dealer {action}"
        if self.waits_for == "draw":
            return f"draw {CARDS[action]}"
        if not self.get_game().explicit:
            return "deal"
        return f"deal {CARDS[action]} to {len(self._dealt) // self.match.rules.hand_size}"

    def __str__(self) -> str:
        match, players = self.match, self.match.rules.players
        lines = [_told(deal, range(players), public=True) for deal in self._deals()]
        if self.waits_for == "draw":
            lines.append(ACTION_NAMES[self._laid])
        elif self.waits_for == "cards" and self.get_game().explicit:
            dealer = (match.dealer + (match.deal_number >= 0)) % players  # the deal passes to the left
            lines.append(f"dealer {dealer}, dealt {' '.join(CARDS[card] for card in self._dealt)}")
        return "\n".join(lines)

    def _deals(self) -> list[Situation]:
        """The deals in order, the one being played last."""
        playing = self.match.state["phase"][0] != core.NO_DEAL
        return [*self.match.history, self.match] if playing else [*self.match.history]

    def resample_from_infostate(self, player: int, sampler: Callable[[], float]) -> NapoleonState:
        """A state with the same information state of `player`; all that it does not know is drawn uniformly (`sample_worlds`).

        Args:
            player: a seat.
            sampler: gives numbers in [0, 1).

        Raises:
            SpielError: at a chance node.
        """
        if self.waits_for is not None:
            raise pyspiel.SpielError("at a chance node no player has an information state to resample from")
        rng = np.random.default_rng(int(sampler() * 2**53))
        twin = self.get_game().new_initial_state()
        if self._start is not None:
            twin.begin_at(self._start)
        for deal in self._deals():
            twin.replay(sample_worlds(View(deal.rules, deal.state, player), 1, rng)[0])
        return twin

    def __reduce__(self) -> tuple[Any, ...]:
        return _load_state, (self.get_game(), self.serialize())

    def begin_at(self, start: np.ndarray) -> None:
        """Go on from `start`, dtype `rules.STATE` (1,), between two deals."""
        self.match.state, self.match.history = start.copy(), []
        self._start = start
        self._look()

    def replay(self, world: np.ndarray) -> None:
        """Carry out a whole deal, chance and all: a record of dtype `rules.STATE` as it stands after its last decision."""
        rules = self.match.rules
        if self.waits_for == "dealer":
            self.apply_action(int(world["dealer"]))
        if self.get_game().explicit:
            size = rules.hand_size
            for seat in range(rules.players):
                for card in sorted(world["cards"][seat * size : (seat + 1) * size].tolist()):
                    self.apply_action(card)
        else:
            self.given = world
            self.apply_action(0)
        for action in world["log"][: world["n_log"]].tolist():
            self.apply_action(action)
            if self.waits_for == "draw":
                self.apply_action(int(world["drawn"]))


def _load_state(game: NapoleonGame, text: str) -> NapoleonState:
    return game.deserialize_state(text)


def _told(deal: Situation, seats: Any, *, public: bool) -> str:
    """A deal as text: the cards that `seats` hold and draw, and what is public."""
    parts = [f"dealer {deal.dealer}"] if public else []
    n = int(deal.state["n_log"][0])
    for seat in seats:
        parts.append(" ".join([f"{seat}:", *sorted(deal.dealt(seat))]))
        if deal.declarer == seat and deal.drawn is not None:
            parts[-1] += f" drew {deal.drawn}"
    if public:
        log = zip(deal.state["log_seat"][0][:n].tolist(), deal.state["log"][0][:n].tolist(), strict=True)
        hidden = [(who, action if who in seats or not DISCARD <= action < PLAY else SOME_DISCARD) for who, action in log]
        parts += [f"{who} {log_name(action)}" for who, action in hidden]
    return ", ".join(parts)


class NapoleonObserver:
    """What one seat is shown: `tensor`, float32, in `dict` too, and `string_from`; OpenSpiel's PyObserver interface.

    Args:
        rules: of the game.
        iig_obs_type: which of public and private information, and whether the string tells all deals (perfect recall).
        params: there are none.
    """

    def __init__(self, rules: Ruleset, iig_obs_type: pyspiel.IIGObservationType, params: Any) -> None:
        if params:
            raise ValueError(f"an observer of python_napoleon takes no parameters: {shown(params)}")
        kinds = pyspiel.PrivateInfoType
        if iig_obs_type.private_info == kinds.ALL_PLAYERS:
            raise ValueError("an observer of python_napoleon shows the cards of one player or of none, not of all")
        self._rules = rules
        self._private, self._public = iig_obs_type.private_info == kinds.SINGLE_PLAYER, iig_obs_type.public_info
        self._all_deals = iig_obs_type.perfect_recall
        private = np.zeros(OBSERVATION_SIZE, np.bool_)
        for row in observation_layout():
            private[row["start"] : row["stop"]] = row["name"] in PRIVATE
        self._shown = np.flatnonzero(private & self._private | ~private & self._public)
        self.tensor = np.zeros(len(self._shown), np.float32)
        self.dict = {"observation": self.tensor}

    def set_from(self, state: NapoleonState, player: int) -> None:
        """Write what `player` observes into `tensor`."""
        if state.match.state["deal"][0] == 0:
            self.tensor[:] = 0.0
        else:
            self.tensor[:] = observe(state.match.state, self._rules, player).observation[self._shown]

    def string_from(self, state: NapoleonState, player: int) -> str:
        """What `player` observes, as text."""
        deals = state._deals()
        told = [
            _told(deal, [player] if self._private else [], public=self._public)
            for deal in (deals if self._all_deals else deals[-1:])
        ]
        if self._public and not self._all_deals:
            told.append(f"scores {' '.join(map(str, state.match.scores))} pot {state.match.pot}")
        return "\n".join([f"seat {player}", *told])


class BotPlayer:
    """A player made of an OpenSpiel bot: one new for each decision.

    The bot is shown a state in which all that its seat may not know has been drawn at random, and whose history begins with
    the deal being played: so no bot can look at cards that are hidden from it.

    Args:
        make_bot: called with the game, the seat and a `numpy.random.RandomState`, to be the bot's only source of randomness.
        rules: to be played.
    """

    def __init__(self, make_bot: Callable[[NapoleonGame, int, np.random.RandomState], pyspiel.Bot], rules: Ruleset) -> None:
        self._make_bot, self._game = make_bot, make_game(rules)

    def act(self, view: View) -> int:
        """What the bot chooses, an action's id.

        Raises:
            BeliefError: no cards are dealt.
        """
        rng = view.rng()
        world = sample_worlds(view, 1, rng)
        start = world.copy()
        start["phase"], start["seat"] = core.NO_DEAL, NO_SEAT
        start["deal"] -= 1
        start["pot"] -= view.rules.players * view.rules.ante
        if start["deal"][0] > 0:  # the deal passes to the left again
            start["dealer"] = (start["dealer"] - 1) % view.rules.players
        state = self._game.new_initial_state()
        state.begin_at(start)
        state.replay(world[0])
        self._game.rng = rng
        bot = self._make_bot(self._game, view.seat, np.random.RandomState(rng.integers(1 << 32)))
        return int(bot.step(state))


def ismcts(*, rules: Ruleset, simulations: int = 100, uct_c: float = 5.0) -> BotPlayer:
    """Information set Monte Carlo tree search of OpenSpiel (Cowling, Powley and Whitehouse 2012) with random rollouts.

    Args:
        rules: to be played.
        simulations: for each decision.
        uct_c: how much it explores, in units of payoffs.
    """

    def make_bot(game: NapoleonGame, seat: int, rng: np.random.RandomState) -> pyspiel.Bot:
        evaluator = mcts.RandomRolloutEvaluator(1, rng)
        bot = open_spiel_ismcts.ISMCTSBot(game, evaluator, uct_c, simulations, random_state=rng)
        bot.set_resampler(lambda state, player: state.resample_from_infostate(player, rng.random_sample))
        return bot

    return BotPlayer(make_bot, rules)


pyspiel.register_game(_game_type(Ruleset.make(), False), NapoleonGame)
