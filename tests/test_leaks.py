"""What a seat is shown depends on nothing that it may not know, and tells it all of the deal that it may know."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from playing import PRESETS, as_text, decisions, finite
from random_rules import Habits, random_rules, state_bytes

import napoleon_env as ne
from napoleon_env import render
from napoleon_env.match import FinishedDeal
from napoleon_env.notation import ACTION_NAMES, CARDS, DISCARD, N_CARDS, NO_CARD, PLAY, TRUMP, cards_of, mask_of
from napoleon_env.observation import observation_bounds
from napoleon_env.ruleset import Ruleset
from napoleon_env.single_env import deal_facts


def _rule_sets() -> Iterator[Ruleset]:
    """The presets for every number of players, and random ones."""
    for preset in PRESETS:
        for players in range(2, 7):
            yield Ruleset.make(preset, players=players, deals=2, max_void_deals=3)
    rng = random.Random(1)
    for _ in range(60):
        yield finite(random_rules(rng))


# No leak.


def scrambled(state: np.ndarray, seat: int, rules: Ruleset, rng: random.Random) -> np.ndarray:
    """The state with all cards that `seat` has not seen dealt round among the places where it has not seen them."""
    twin = state.copy()
    row = twin[0]
    n, size = int(row["n_log"]), rules.hand_size
    log = row["log"][:n].tolist()
    own = int(row["declarer"]) == seat and int(row["discard"]) != NO_CARD
    seen = {*row["cards"][seat * size : (seat + 1) * size].tolist(), *(action - PLAY for action in log if action >= PLAY)}
    if own:
        seen |= {int(row["discard"]), int(row["drawn"])}
    unseen = [card for card in rules.pack if card not in seen]
    other = dict(zip(unseen, rng.sample(unseen, len(unseen)), strict=True))
    row["cards"] = [other.get(card, card) for card in row["cards"].tolist()]
    for player in range(rules.players):
        row["hand"][player] = mask_of([other.get(card, card) for card in cards_of(row["hand"][player])])
    row["key"], row["match"] = rng.getrandbits(64), rng.getrandbits(20)
    if not own:
        for name in ("discard", "drawn"):
            row[name] = other.get(int(row[name]), int(row[name]))
        for place, action in enumerate(log):
            if DISCARD <= action < PLAY:
                row["log"][place] = DISCARD + other.get(action - DISCARD, action - DISCARD)
    return twin


def scrambled_env(env: Any, seat: int, rng: random.Random) -> Any:
    """A copy of the environment in which all that `seat` has not seen is different, in earlier deals too."""
    twin = env.clone()
    raw = twin.unwrapped
    match, rules = raw.match, raw.rules
    match.state = scrambled(match.state, seat, rules, rng)
    match.history = [FinishedDeal(rules, scrambled(deal.state, seat, rules, rng)) for deal in match.history]
    if match.history:
        raw._game.facts["last_deal"] = deal_facts(match.history[-1])
    raw._game.look()
    raw._inform()
    return twin


def shown_to(env: Any, seat: int) -> str:
    """All that a seat is shown: observation, mask, info, reward, text, and the view that players get."""
    agent, raw = f"seat_{seat}", env.unwrapped
    match = raw.match
    view = match.view(seat)
    last = view.last_deal and state_bytes(view.last_deal.state).hex()
    text = render.text(match, seat)
    shown = [env.observe(agent), raw.infos.get(agent), raw.rewards.get(agent), text, state_bytes(view.state).hex(), last]
    return as_text([*shown, view.legal(), view.hand, raw.agent_selection])


@pytest.mark.parametrize("suit_order", ["fixed", "canonical"])
def test_cards_that_a_seat_has_not_seen_change_nothing_that_it_is_shown(suit_order: str) -> None:
    """In every phase, right after a deal has ended, and after the end of the match."""
    rng = random.Random(2)
    places, changed = set(), 0
    for number, rules in enumerate(_rule_sets()):
        env = ne.env(rules, suit_order=suit_order, obs_dtype="int8")
        env.reset(seed=number)
        ended = 0

        def check(env: Any = env, rules: Ruleset = rules) -> None:
            nonlocal changed
            for seat in range(rules.players):
                twin = scrambled_env(env, seat, rng)
                changed += twin.unwrapped.match.hands != env.unwrapped.match.hands
                assert shown_to(twin, seat) == shown_to(env, seat), (str(rules), seat, env.unwrapped.match.log)

        for _ in decisions(env, rng):
            match = env.unwrapped.match
            just_ended, ended = len(match.history) > ended, len(match.history)
            place = "a deal has ended" if just_ended else match.phase
            if just_ended or rng.random() < (0.12 if match.phase in ("auction", "play") else 0.6):
                places.add(place)
                check()
        check()
        places.add(env.unwrapped.match.phase)
    assert places == {"auction", "announce", "exchange", "trump", "play", "a deal has ended", "over"}
    assert changed > 1000


def test_the_check_itself_finds_a_leak() -> None:
    """The open table, and another seat's observation, do change."""
    env, rng = ne.env("russian"), random.Random(1)
    env.reset(seed=1)
    twin = scrambled_env(env, 0, rng)
    assert render.text(twin.unwrapped.match) != render.text(env.unwrapped.match)
    assert shown_to(twin, 1) != shown_to(env, 1)
    assert not np.array_equal(twin.state(), env.state())


def test_an_illegal_attempt_shows_the_others_no_card_of_the_offender() -> None:
    """The info after a forfeit names who and what, not why: the reason could tell what the offender holds."""
    env, rng = ne.env("german"), random.Random(1)
    env.reset(seed=1)
    for agent in decisions(env, rng):
        if env.unwrapped.match.phase == "play":
            env.step(ne.action_id("pass"))
            assert env.infos["seat_0"]["illegal"] == {"agent": agent, "action": "pass"}
            break
    for seat in range(4):
        assert shown_to(scrambled_env(env, seat, rng), seat) == shown_to(env, seat)


# Bounds.


def test_observations_are_within_their_bounds() -> None:
    low, high = observation_bounds()
    for number, rules in enumerate(_rule_sets()):
        rng = random.Random(number)
        env = ne.raw_env(rules, obs_dtype="int8", suit_order=rng.choice(("fixed", "canonical")))
        env.reset(seed=number, options={"pot": rng.choice((0, 10**15))} if rules.has_pot else None)
        for _ in decisions(env, rng):
            for agent in env.possible_agents:
                observation = env.observe(agent)["observation"]
                assert (observation >= low).all()
                assert (observation <= high).all()
        assert all(env.observe(agent) in env.observation_space(agent) for agent in env.possible_agents)
        assert env.state() in env.state_space


# Perfect recall: the deal, read back from one observation.

STARTS = {row["name"]: row for row in ne.observation_layout()}


class Decoder:
    """Reads an observation of int8 by the layout that `observation_layout` tells."""

    def __init__(self, observation: np.ndarray) -> None:
        self.observation = observation
        self.players = 2 + self.one_of("rules.players")
        self.hand_size = int(self["rules.hand_size"][0])

    def __getitem__(self, name: str) -> np.ndarray:
        row = STARTS[name]
        return self.observation[row["start"] : row["stop"]].reshape(row["shape"])

    def one_of(self, name: str) -> int:
        """The place of the 1, or -1."""
        places = np.flatnonzero(self[name])
        assert len(places) <= 1
        return int(places[0]) if len(places) else -1

    @property
    def phase(self) -> str:
        return ("auction", "announce", "exchange", "trump", "play", "over")[self.one_of("phase")]

    # The auction: levels of calls are none 1 2 3 misere 4 … 8 wellington blucher.

    NAMES = ("none", "bid 1", "bid 2", "bid 3", "misere", *(f"bid {n}" for n in range(4, 9)), "wellington", "blucher")

    def may_call(self, seat: int, standing: int, holder: int) -> bool:
        """Whether a seat has anything to say but to pass."""
        top = self.NAMES.index(f"bid {self.hand_size}")
        higher = range(standing + 1, top + 1)
        bids = any(
            self.NAMES[level].startswith("bid") and int(self.NAMES[level][4:]) >= self["rules.min_bid"][0] for level in higher
        )
        misere = bool(self["rules.has_misere"][0]) and standing < self.NAMES.index("misere")
        wellington = bool(self["rules.has_wellington"][0]) and standing == top
        blucher = bool(self["rules.has_blucher"][0]) and self.NAMES[standing] == "wellington"
        hold = bool(self["rules.dealer_holds"][0]) and seat == self.one_of("dealer") and standing > 0 and holder != seat
        return bids or misere or wellington or blucher or hold

    def calls(self) -> list[tuple[int, str]]:
        """The auction in order, seats relative to the observer; who was passed unasked is not in it."""
        dealer = self.one_of("dealer")
        called = {level: int(np.flatnonzero(row)[0]) for level, row in enumerate(self["caller"]) if row.any()}
        circulating = self["rules.auction"][0] == 1
        seat = dealer if self["rules.first_speaker"][1] else (dealer + 1) % self.players
        standing, holder, silent, held = 0, -1, set(), set()
        calls: list[tuple[int, str]] = []
        while True:
            waiting = [other % self.players for other in range(seat, seat + self.players)]
            waiting = [other for other in waiting if other not in silent and other != holder]
            if not waiting:
                return calls
            seat = waiting[0]
            higher = [level for level in called if level > standing]
            if not self.may_call(seat, standing, holder):
                silent.add(seat)
                assert self["passed"][seat]
            elif self["held"][standing] and standing not in held and seat == dealer and holder != seat:
                calls.append((seat, "hold"))
                held.add(standing)
                holder = seat
            elif higher and called[min(higher)] == seat:
                standing, holder = min(higher), seat
                calls.append((seat, self.NAMES[standing]))
                if not circulating:
                    silent.add(seat)
            elif self["passed"][seat]:
                assert self["passed_at"][seat] == standing
                calls.append((seat, "pass"))
                silent.add(seat)
            else:
                assert (self.phase, self.one_of("to_act")) == ("auction", seat)
                return calls
            seat += 1

    # The tricks.

    def plays(self) -> list[tuple[int, str]]:
        """Every card in the order of play, with the relative seat that played it."""
        trump, leader = self.one_of("trump"), self.one_of("declarer")
        tricks: dict[int, dict[int, int]] = {}
        for seat, card in zip(*np.nonzero(self["played"]), strict=True):
            tricks.setdefault(int(self["trick_of"][card]), {})[int(seat)] = int(card)
        plays = []
        for number in range(1, len(tricks) + 1):
            trick = tricks[number]
            order = [seat % self.players for seat in range(leader, leader + len(trick))]
            plays += [(seat, CARDS[trick[seat]]) for seat in order]
            led = trick[leader] // 13
            leader = max(order, key=lambda seat: (trick[seat] // 13 == trump, trick[seat] // 13 == led, trick[seat]))
        return plays


def test_the_whole_deal_is_read_back_from_one_observation() -> None:
    """The auction in order, the declarer's open decisions and every card with its player and trick, for every seat."""
    words: set[str] = set()
    for number, rules in enumerate(_rule_sets()):
        rng = random.Random(number)
        env = ne.raw_env(rules, obs_dtype="int8")
        env.reset(seed=number)
        for _ in decisions(env, rng):
            _check_recall(env, words)
        _check_recall(env, words)
    assert words >= {"pass", "hold", "misere", "wellington", "blucher", "bid 1", "bid 8", "AS"}


def _check_recall(env: Any, words: set[str]) -> None:
    match = env.match
    state, players = match.state[0], match.rules.players
    n = int(state["n_log"])
    log = list(zip(state["log_seat"][:n].tolist(), state["log"][:n].tolist(), strict=True))
    words.update(ACTION_NAMES[action] for _, action in log)
    for observer in range(players):
        decoder = Decoder(env.observe(f"seat_{observer}")["observation"])
        calls = [((seat - observer) % players, ACTION_NAMES[action]) for seat, action in log if action < TRUMP]
        plays = [((seat - observer) % players, CARDS[action - PLAY]) for seat, action in log if action >= PLAY]
        assert decoder.players == players
        assert decoder.calls() == calls, (str(match.rules), calls)
        assert decoder.plays() == plays, (str(match.rules), plays)
        assert decoder.phase == match.phase
        assert [CARDS[card] for card in np.flatnonzero(decoder["hand"])] == match.view(observer).hand
        assert bool(decoder["announced"][0]) == match.announced
        assert bool(decoder["exchanged"][0]) == any(DISCARD <= action < PLAY for _, action in log)
        exchange = {CARDS[card]: int(decoder["exchange"][card]) for card in np.flatnonzero(decoder["exchange"])}
        own = match.declarer == observer and match.discarded is not None
        assert exchange == ({match.discarded: -1, match.drawn: 1} if own else {})
        assert decoder.one_of("trump") == int(state["trump"])


def test_histories_that_a_seat_can_tell_apart_look_different() -> None:
    """All positions of many matches on one deal: equal observations only for equal histories, as the seat knows them."""
    seen: dict[bytes, str] = {}
    for number in range(60):
        env, rng = ne.raw_env("russian", players=3, obs_dtype="int8"), random.Random(number)
        env.reset(seed=5)
        for _ in decisions(env, rng, Habits(passing=0.3, lowest=0.7, announcing=0.5, only_pass_after=9)):
            if env.match.history:
                break
            history = as_text(env.match.view(1).log)
            observation = env.observe("seat_1")["observation"].tobytes()
            assert seen.setdefault(observation, history) == history
    assert len(seen) > 500


def test_the_layout_covers_the_observation_once() -> None:
    rows = ne.observation_layout()
    assert [row["start"] for row in rows] == [0, *(row["stop"] for row in rows[:-1])]
    assert rows[-1]["stop"] == ne.OBSERVATION_SIZE
    assert STARTS["hand"]["shape"] == (N_CARDS,)
