"""Time a decision of the built-in players, by rule set, number of players and phase; forced moves are not counted.

With onnxruntime (extra `agents`) also of a released agent and of a search that it guides.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Final

from napoleon_env.bench.rows import Row
from napoleon_env.match import Match
from napoleon_env.roster import make_player
from napoleon_env.ruleset import PRESETS

PLAYERS: Final = ("random", "rule", "counting", "pimc:worlds=100", "epimc:worlds=100")
AGENTS: Final = ("german", "guided:agent=german,worlds=256")
TABLES: Final = (*((rules, 4) for rules in PRESETS), ("german", 3), ("german", 5))
TO_REACH: Final = {("pimc:worlds=100", "german", 4): {"auction": 15e3, "play": 3e3}}
"""Microseconds a decision, on average, one core."""
WARM_UP: Final = 2
"""Deals that are played before the clock starts: whatever is compiled is compiled in them."""
DEALS: Final = 20
"""Deals that are played at the least."""


def player_rows(seconds: float) -> Iterator[Row]:
    """A row for each player, rule set and phase: microseconds of processor time a decision, the player in every seat."""
    rows = [(spec, rules, players) for spec in PLAYERS for rules, players in TABLES]
    if find_spec("onnxruntime"):
        rows += [(spec, "german", 4) for spec in AGENTS]
    for spec, rules, players in rows:
        to_reach = TO_REACH.get((spec, rules, players), {})
        for phase, (spent, decisions) in _spent(spec, rules, players, seconds).items():
            name = f"{spec}, {rules} {players}, {phase}"
            yield Row(name, 1e6 * spent / decisions, "us", to_reach.get(phase), {"decisions": decisions}, at_most=True)


def _spent(spec: str, rules: str, players: int, seconds: float) -> dict[str, tuple[float, int]]:
    """Seconds and decisions by phase."""
    player, deals, total = make_player(spec), 0, 0.0
    spent: dict[str, float] = defaultdict(float)
    decisions: dict[str, int] = defaultdict(int)
    while deals < DEALS or total < seconds:
        match = Match(rules, players=players, deals=1, seed=deals, stream="evaluation")
        while match.seat is not None:
            view = match.view(match.seat, seed=deals)
            start = time.process_time()
            action = player.act(view)
            took = time.process_time() - start
            if deals >= WARM_UP and len(view.legal_ids()) > 1:
                spent[match.phase] += took
                decisions[match.phase] += 1
                total += took
            match.play(action)
        deals += 1
    return {phase: (spent[phase], decisions[phase]) for phase in spent}
