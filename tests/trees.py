"""Games written out as trees, by hand and slowly: Kuhn poker, Leduc poker, and any tiny rule set played through `Match`."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from itertools import combinations
from typing import NamedTuple

import numpy as np

from napoleon_env.match import Match
from napoleon_env.notation import CARDS
from napoleon_env.ruleset import Ruleset
from napoleon_env.sequence_form import SequenceForm


class End(NamedTuple):
    payoffs: tuple[float, ...]


class Chance(NamedTuple):
    """Every outcome with its probability."""

    outcomes: Iterable[tuple[float, Node]]


class Decision(NamedTuple):
    player: int
    known: Hashable
    """All that the player knows; equal in the nodes that it cannot tell apart."""
    moves: list[Callable[[], Node]]


Node = End | Chance | Decision


class Form:
    """The sequence form of a tree of `players`."""

    def __init__(self, root: Node, players: int) -> None:
        self.states: dict[tuple[int, Hashable], tuple[int, int, int]] = {}
        """By player and what is known: number, first sequence, sequence before."""
        self.first, self.ends, self.decisions = [players], [], 0
        self._walk(root, 1.0, tuple(range(players)))
        player = [player for player, _ in self.states]
        before = [before for _, _, before in self.states.values()]
        last, gain = zip(*self.ends, strict=True)
        self.form = SequenceForm(*(np.array(x) for x in (player, before, self.first, last)), np.array(gain))

    def _walk(self, node: Node, chance: float, last: tuple[int, ...]) -> None:
        if isinstance(node, End):
            self.ends.append((last, [chance * payoff for payoff in node.payoffs]))
        elif isinstance(node, Chance):
            for probability, outcome in node.outcomes:
                self._walk(outcome, chance * probability, last)
        else:
            self.decisions += 1
            key, moves = (node.player, node.known), len(node.moves)
            if key not in self.states:
                self.states[key] = (len(self.states), self.first[-1], last[node.player])
                self.first.append(self.first[-1] + moves)
            number, first, before = self.states[key]
            assert before == last[node.player], "perfect recall"
            assert self.first[number + 1] - first == moves
            for place, move in enumerate(node.moves):
                after = (*last[: node.player], first + place, *last[node.player + 1 :])
                self._walk(move(), chance, after)


def kuhn() -> Node:
    """Kuhn poker: three cards, one each, ante 1, one bet of 1 (Kuhn 1950)."""

    def play(cards: tuple[int, int], said: str) -> Node:
        wins = 1 if cards[0] > cards[1] else -1
        if said in ("pp", "bb", "pbb"):
            return End((wins, -wins) if said == "pp" else (2 * wins, -2 * wins))
        if said in ("bp", "pbp"):
            return End((1, -1) if said == "bp" else (-1, 1))
        player = len(said) % 2
        return Decision(player, (cards[player], said), [lambda move=move: play(cards, said + move) for move in "pb"])

    return Chance([(1 / 6, play((a, b), "")) for a in range(3) for b in range(3) if a != b])


def leduc() -> Node:
    """Leduc poker: two suits of three ranks, ante 1, bets of 2 then 4, at most two a round (Southey et al., UAI 2005)."""

    def settle(cards: tuple[int, ...], paid: tuple[int, int]) -> Node:
        ranks = [card // 2 for card in cards]
        strength = [10 if rank == ranks[2] else rank for rank in ranks[:2]]
        wins = (strength[0] > strength[1]) - (strength[0] < strength[1])
        return End((wins * paid[1], -wins * paid[0]) if wins else (0, 0))

    def play(cards: tuple[int, ...], rounds: tuple[str, ...], paid: tuple[int, int]) -> Node:
        said, size = rounds[-1], 2 * len(rounds)
        player, other = len(said) % 2, 1 - len(said) % 2
        seen = (cards[player] // 2, tuple(card // 2 for card in cards[2:]), rounds)

        def call() -> Node:
            both = (max(paid), max(paid))
            if said == "":  # the first to speak has nothing to call
                return play(cards, (*rounds[:-1], "c"), paid)
            if len(rounds) == 2:
                return settle(cards, both)
            left = [card for card in range(6) if card not in cards]
            return Chance([(1 / 4, play((*cards, card), (*rounds, ""), both)) for card in left])

        def bet() -> Node:
            more = max(paid) + size
            return play(cards, (*rounds[:-1], said + "r"), (more, paid[1]) if player == 0 else (paid[0], more))

        def fold() -> Node:
            return End((-paid[0], paid[0]) if player == 0 else (paid[1], -paid[1]))

        moves = [call]
        if said.count("r") < 2:
            moves.append(bet)
        if paid[player] < paid[other]:
            moves.append(fold)
        return Decision(player, seen, moves)

    return Chance([(1 / 30, play((a, b), ("",), (1, 1))) for a in range(6) for b in range(6) if a != b])


def nap(rules: Ruleset, dealers: Iterable[int]) -> Node:
    """A rule set whose match is one deal, through `Match`; what a seat knows is its `View`, to the byte."""

    def hands(pack: list[str], seats: int) -> Iterable[tuple[list[list[str]], list[str]]]:
        if seats == 0:
            for top in pack if rules.exchange else pack[:1] or [None]:
                yield [], [] if top is None else [top]
            return
        for hand in combinations(pack, rules.hand_size):
            for others, stock in hands([card for card in pack if card not in hand], seats - 1):
                yield [list(hand), *others], stock

    def play(match: Match) -> Node:
        if match.over:
            return End(tuple(match.scores))
        assert match.seat is not None

        def move(action: int) -> Node:
            after = match.copy()
            after.play(action)
            return play(after)

        known = match.view(match.seat).state.tobytes()
        return Decision(match.seat, known, [lambda action=action: move(action) for action in match.legal_ids()])

    deals = list(hands([CARDS[card] for card in rules.pack], rules.players))
    dealt = [Match.deal(rules, dealer=dealer, hands=cards, stock=stock) for cards, stock in deals for dealer in dealers]
    return Chance([(1 / len(dealt), play(match)) for match in dealt])


Mixed = Callable[[int, Hashable], Iterable[float]]
"""What a player does with what it knows."""


def best(nodes: list[tuple[float, Node]], player: int, policy: Mixed) -> float:
    """The best that a player can get from weighted nodes while the others play `policy`, by plain recursion over the tree."""
    total, nodes, asked = 0.0, list(nodes), {}
    while nodes:
        weight, node = nodes.pop()
        if isinstance(node, End):
            total += weight * node.payoffs[player]
        elif isinstance(node, Chance):
            nodes += [(weight * probability, outcome) for probability, outcome in node.outcomes]
        elif node.player == player:
            asked.setdefault(node.known, []).append((weight, node))
        else:
            chances = policy(node.player, node.known)
            nodes += [(weight * p, move()) for p, move in zip(chances, node.moves, strict=True)]
    for group in asked.values():
        total += max(
            best([(weight, node.moves[k]()) for weight, node in group], player, policy) for k in range(len(group[0][1].moves))
        )
    return total
