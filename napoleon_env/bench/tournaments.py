"""How many tables a tournament has to play out: independent deals beside a part drawn of tables that are all called."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from napoleon_env.bench.rows import Row
from napoleon_env.roster import make_player
from napoleon_env.ruleset import Ruleset
from napoleon_env.tables import play_tables
from napoleon_env.tournament import run_tournament

PAIRS: Final = {("rule", "counting"): 1000, ("rule", "pimc:worlds=30"): 40, ("counting", "pimc:worlds=30"): 40}
"""Deals called for each second asked for, by pair: a number of its own, so that the result is the same on every machine."""
LEAST: Final = 200
SHARE: Final = 0.02
TO_REACH: Final = 10.0


class _Asked:
    """A built-in player that counts what it is asked."""

    def __init__(self, spec: str) -> None:
        self.player: Any = make_player(spec)
        self.deterministic, self.asked = self.player.deterministic, 0

    def act_states(self, states: np.ndarray, rules: Ruleset, seats: np.ndarray, seeds: np.ndarray) -> np.ndarray:
        self.asked += len(states)
        return self.player.act_states(states, rules, seats, seeds)


def tournament_rows(seconds: float) -> Iterator[Row]:
    """For each pair how many times fewer tables are played out than with independent deals, for the same interval.

    Independent: each table has a deal of its own, one player alone among three of the other, who and where by turns. Its
    advantage over the tables' mean is that player's score, so its variance is the score's mean square. Played: every table at
    which a card was asked for after the first lead. What is asked for at tables that are only called is counted in decisions.
    """
    for (first, second), deals_a_second in PAIRS.items():
        players = [_Asked(first), _Asked(second)]
        result = run_tournament(
            list(zip((first, second), players, strict=True)),
            rules="german",
            deals=max(LEAST, round(deals_a_second * seconds)),
            share=SHARE,
        )
        schedule, asked = result.schedule, sum(player.asked for player in players)
        numbers = np.arange(max(LEAST, result.played))
        turns = numbers % len(schedule.tables)
        played = play_tables(
            players, schedule.rules, seed=schedule.seed + 1, deals=numbers, assigned=schedule.tables[turns], keys=numbers
        )
        square = (played.scores[numbers, schedule.alone[turns]] ** 2).mean()
        deviation = result.deviations()[0, 1]
        fewer = float(square / (deviation**2 * result.played / result.deals))
        asked_alone = sum(player.asked for player in players) - asked
        yield Row(
            f"{first}, {second}: german, 4 players",
            fewer,
            "times fewer tables",
            TO_REACH,
            {
                "played out": result.played,
                "only called": result.tables - result.played,
                "times fewer decisions": fewer * result.played / len(numbers) * asked_alone / asked,
            },
        )
