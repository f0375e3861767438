"""Two players in one seat: whose decision is whose."""

from __future__ import annotations

import pytest

import napoleon_env as ne
from napoleon_env.roster import RosterError, fingerprint


@pytest.mark.parametrize("rules", ["german", "portuguese", "russian", "english"])
def test_calls_are_of_one_player_and_cards_of_the_other(rules: str) -> None:
    split = ne.make_player("split:calls=rule,cards=counting")
    calls, cards = ne.make_player("rule"), ne.make_player("counting")
    differ = 0
    for seed in range(20):
        match = ne.Match(rules, players=4, deals=1, seed=seed)
        while match.seat is not None:
            view = match.view(match.seat, seed=seed)
            expected = (cards if match.phase == "play" else calls).act(view)
            differ += calls.act(view) != cards.act(view)
            assert split.act(view) == expected
            match.play(expected)
    assert differ > 0


def test_options_of_the_halves_are_passed_on() -> None:
    split = ne.make_player("split:calls=pimc:worlds=7,cards=random")
    assert split.calls.worlds == 7  # type: ignore[attr-defined]  # a Player promises only to act
    assert not split.deterministic  # type: ignore[attr-defined]
    assert ne.make_player("split:calls=rule,cards=counting").deterministic  # type: ignore[attr-defined]


def test_what_cannot_be_half_of_a_player_is_refused() -> None:
    for spec, says in (
        ("split:calls=rule", "cards"),
        ("split:calls=rule,cards=human", "player human decides on views alone"),
        ("split:calls=rule,cards=nobody", "player 'nobody' does not exist"),
    ):
        with pytest.raises(RosterError, match=says):
            ne.make_player(spec)


def test_a_fingerprint_tells_what_the_halves_are() -> None:
    assert fingerprint("split:calls=rule,cards=rule") == ", ".join(3 * [fingerprint("rule")])
