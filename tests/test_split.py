"""Three players in one seat: whose decision is whose."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import napoleon_env as ne
from napoleon_env import rules as core
from napoleon_env.players import CountingPlayer
from napoleon_env.roster import RosterError, fingerprint, parse_spec, split_specs
from napoleon_env.tournament import run_tournament

PRESETS = ["german", "portuguese", "russian", "english"]


@pytest.mark.parametrize("rules", PRESETS)
def test_calls_declarers_play_and_defence_are_each_of_one_player(rules: str) -> None:
    split = ne.make_player("split:bidding=rule,declarer=counting,defender=random")
    parts = {
        role: ne.make_player(spec) for role, spec in (("bidding", "rule"), ("declarer", "counting"), ("defender", "random"))
    }
    decisions = dict.fromkeys(parts, 0)
    for seed in range(20):
        match = ne.Match(rules, players=4, deals=1, seed=seed)
        while match.seat is not None:
            role = "declarer" if match.seat == match.declarer else "defender"
            if match.phase in ("auction", "announce"):
                role = "bidding"
            else:
                assert role == "declarer" or match.phase == "play"  # who exchanges and chooses trump is the declarer
            view = match.view(match.seat, seed=seed)
            action = parts[role].act(view)
            assert split.act(view) == action
            decisions[role] += 1
            match.play(action)
    assert min(decisions.values()) > 20


def test_of_one_player_alone_it_is_that_player_and_asks_it_once_for_all_tables() -> None:
    split: Any = ne.make_player("split:bidding=counting,declarer=counting,defender=counting")
    env = ne.VectorEnv("russian", num_envs=64, seed=3)
    env.reset()
    asked = []

    class Listening(CountingPlayer):
        def act_states(self, states: np.ndarray, *rest: Any) -> np.ndarray:
            asked.append(len(states))
            return super().act_states(states, *rest)

    assert split.bidding is split.declarer is split.defender
    split.bidding = split.declarer = split.defender = Listening()
    split._players = [split.bidding]
    seeds, phases = np.zeros(64, np.uint64), set()
    for step in range(40):
        actions = split.act_states(env.states, env.rules, env.seat, seeds)
        assert (actions == CountingPlayer().act_states(env.states, env.rules, env.seat, seeds)).all()
        phases |= set(env.states["phase"].tolist())
        assert asked == [64] * (step + 1)
        env.step(actions)
    assert {core.AUCTION, core.EXCHANGE, core.TRICKS} <= phases


def test_a_tournament_of_one_player_in_all_parts_comes_out_as_that_of_the_player(tmp_path: Path) -> None:
    whole, file = "pimc:worlds=5", tmp_path / "result.jsonl"
    split = f"split:bidding={whole},declarer={whole},defender={whole}"
    results = [
        run_tournament([(name, player), "rule"], deals=6, seed=2, workers=workers, file=to)
        for name, player, workers, to in (("x", whole, 1, None), ("x", split, 1, file), ("x", split, 2, None))
    ]
    one, parts, two_processes = results
    assert one.fields() == parts.fields() == two_processes.fields()
    assert fingerprint(split) in file.read_text()


def test_options_of_the_parts_are_passed_on() -> None:
    text = "split:bidding=epimc:worlds=7,trust=0,declarer=rule,defender=pimc:worlds=9,memory=8"
    assert parse_spec(text).options == {
        "bidding": "epimc:worlds=7,trust=0",
        "declarer": "rule",
        "defender": "pimc:worlds=9,memory=8",
    }
    split: Any = ne.make_player(text)
    assert (split.bidding.worlds, split.bidding.trust, split.defender.worlds) == (7, 0, 9)
    assert split_specs(f"rule,{text},random") == ["rule", text, "random"]


def test_it_draws_by_lot_or_by_the_clock_where_a_part_does() -> None:
    def split(part: str) -> Any:
        return ne.make_player(f"split:bidding=rule,declarer=counting,defender={part}")

    assert split("rule").deterministic
    assert not split("random").deterministic
    assert split("pimc:time_ms=5").timed
    assert not split("pimc:worlds=5").timed


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("split:bidding=rule,declarer=rule", "defender"),
        ("split:bidding=rule,declarer=rule,defender=human", "player human has no act_states"),
        ("split:bidding=rule,declarer=nobody,defender=rule", "player 'nobody' does not exist"),
        ("split:bidding=rule,declarer=rule,defender=rule,worlds=3", "there is no option worlds"),
        ("split:bidding=rule,declarer=rule,defender=pimc:worlds=0", "worlds=0 must be"),
    ],
)
def test_what_cannot_be_part_of_a_player_is_refused(spec: str, says: str) -> None:
    with pytest.raises(RosterError, match=says):
        ne.make_player(spec)


def test_a_fingerprint_tells_what_the_parts_are(tmp_path: Path) -> None:
    (tmp_path / "a.onnx").write_bytes(b"an agent")
    rule, agent = fingerprint("rule"), fingerprint(f"{tmp_path}/a.onnx")
    assert fingerprint(f"split:bidding={tmp_path}/a.onnx,declarer=rule,defender=rule") == ", ".join([rule, agent, rule, rule])
