"""A match as frames for a page: the table before each decision and at the end of each deal, as JSON values.

A frame holds what `render` shows of the same table, the whole of it or one seat's view; a page only draws it.
"""

from __future__ import annotations

from typing import Any

from napoleon_env.analysis import Decision, analyse, deals_of, loss
from napoleon_env.match import FinishedDeal, Match, Situation, View
from napoleon_env.notation import ACTION_NAMES
from napoleon_env.record import to_record
from napoleon_env.render import seen_table, trick_winner
from napoleon_env.solver import Solver

Frame = dict[str, Any]


def frame(match: Match | View, seat: int | None = None) -> Frame:
    """The table as it stands; cards in `hands` are None where they may not be seen.

    Args:
        match: a match, or one seat's view.
        seat: whose knowledge is shown; None shows the open table (of a view, what is in it).

    Raises:
        RenderError: no such seat.
    """
    table = seen_table(match, seat)
    now, names = table.now, [name for _, name in table.now.log]
    tricks = now.tricks
    whole = bool(tricks) and len(tricks[-1]) == table.players
    ended = result(now) if now.phase == "over" else None
    played = int(now.state["played"][0])
    return {
        "deal": now.deal_number,
        "number": min(played + (ended is None or ended["made"] is None), now.rules.deals),  # void deals do not count (C9)
        "phase": now.phase,
        "to_act": table.to_act,
        "dealer": now.dealer,
        "declarer": now.declarer,
        "contract": now.contract,
        "announced": now.announced,
        "trump": now.trump,
        "led": now.led_suit,
        "hands": table.hands,
        "calls": [list(call) for call in now.calls],
        "exchange": [now.discarded, now.drawn] if any(name.startswith("discard") for name in names) else None,
        "tricks": [[list(play) for play in trick] for trick in tricks],
        "takers": [trick_winner(now, i) for i in range(len(tricks) - (not whole))],
        "winning": trick_winner(now, len(tricks) - 1) if tricks else None,
        "won": now.tricks_won,
        "scores": now.scores,
        "pot": now.pot if now.rules.has_pot else None,
        "stock": now.rules.stock_size - sum(name.startswith("discard") for name in names),
        "last": list(now.log[-1]) if names else None,
        "result": ended,
        "winners": table.winners,
    }


def result(deal: Situation) -> Frame:
    """How a deal that is over ended."""
    ended = FinishedDeal(deal.rules, deal.state)
    return {"made": ended.made, "payoffs": ended.payoffs}


def finished(view: View) -> Frame | None:
    """The frame of the deal before a view's, at its end and as that seat saw it; None where there was none."""
    deal = view.last_deal
    return frame(View(deal.rules, deal.state, view.seat), view.seat) if deal else None


def match_frames(
    match: Match, *, solver: Solver | None = None, player: Any = None, time_ms: float | None = None
) -> list[Frame]:
    """The frames of a match, all cards open, in order.

    Before a decision a frame has `chosen`, and `decision` where something was computed: rows [action, probability, payoff,
    loss] of the legal actions, with None for what is not known, and `value` where the player has a value head.

    Args:
        match: with its whole history.
        solver: for what every choice after the auction is worth with open cards; None leaves that out.
        player: whose probabilities (`probabilities(view)`) and value head (`value(view)`) are shown.
        time_ms: for one decision of the solver.

    Raises:
        RecordError: the match's history does not hold all its finished deals.
        SolverError.
    """
    record = to_record(match)
    again, frames = Match(match.rules, seed=0), []
    again.begin(dealer=match.history[0].dealer if match.history else match.dealer, pot=record.get("pot", 0))
    for number, deal in enumerate(deals_of(match)):
        solved = {}
        if solver is not None:
            solved = {decision.number: decision for decision in analyse(deal, solver, time_ms=time_ms)}
        again.begin_deal(record["deals"][number]["hands"], record["deals"][number].get("stock"))
        for place, (_, action) in enumerate(deal.log):
            decision = decision_facts(again, solved.get(place), player)
            frames.append(frame(again) | {"chosen": action} | ({"decision": decision} if decision else {}))
            again.play(action)
        frames.append(frame(again))
    return frames


def decision_facts(position: Match, solved: Decision | None, player: Any) -> Frame | None:
    """What is known of the decision that a match waits for."""
    if position.seat is None or (solved is None and player is None):
        return None
    view = position.view(position.seat)
    chances = player.probabilities(view) if player is not None else None
    rows = []
    for action in view.legal_ids():
        name = ACTION_NAMES[action]
        worth = solved.solution.values.get(name) if solved else None
        rows.append(
            [
                name,
                None if chances is None else round(float(chances[action]), 4),
                worth and worth.payoff,
                None if solved is None or worth is None else loss(solved.solution, name).payoff,
            ]
        )
    facts: Frame = {"rows": rows}
    if solved:
        facts |= {"best": solved.best, "exact": solved.solution.exact}
    value = getattr(player, "value", lambda view: None)(view)
    return facts if value is None else facts | {"value": round(float(value), 4)}


def changes(frames: list[Frame]) -> list[Frame]:
    """Each frame as what differs from the frame before it, which is much smaller; an absent key is written as None."""
    before: Frame = {}
    out = []
    for now in frames:
        gone = {key: None for key in before if key not in now and before[key] is not None}
        out.append({key: value for key, value in now.items() if key not in before or before[key] != value} | gone)
        before = now
    return out
