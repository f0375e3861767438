"""Self-play experience: whose reward is whose, and what is drawn."""

import copy

import numpy as np
import pytest
import torch

from agents.network import ROLE_COLUMNS, ActorCritic, Inputs
from napoleon_env import Ruleset, VectorEnv
from napoleon_env.notation import ACTION_NAMES, DISCARD, PLAY
from napoleon_env.observation import HIDDEN_SIZE, OBSERVATION_SIZE
from napoleon_env.rules import AUCTION, tricks_needed
from train.experience import (
    BIDDING,
    DECLARER,
    DEFENDER,
    FAILED,
    LEARNER,
    MADE,
    RUNNING,
    UNPLAYED,
    Experience,
    Policy,
    Table,
    advantages,
    copy_columns,
    list_legal,
    relative_payoffs,
    sample,
    spans,
    varying_inputs,
)
from train.pool import PastSelves


def column(*values: object) -> np.ndarray:
    """One match over time: [T] to [T, 1]."""
    return np.array(values).reshape(len(values), 1)


def test_a_seat_is_credited_with_what_it_is_paid_while_others_move() -> None:
    # Three seats; the match ends with seat 2's move, which pays 5, 1 and -6. Lambda 1: advantage = all rewards to come - value.
    reward = np.zeros((4, 1, 3), np.float32)
    reward[3, 0] = [5, 1, -6]
    advantage, known = advantages(
        reward, column(False, False, False, True), column(0, 1, 0, 2), column(0.5, 0.25, 2.0, -1.0).astype(np.float32), 1.0
    )
    assert known.all()
    assert advantage[:, 0].tolist() == [5 - 0.5, 1 - 0.25, 5 - 2.0, -6 + 1.0]


def test_lambda_mixes_the_next_own_value_in() -> None:
    # Seat 0 decides at 0 and 2; lambda 1/2. At 2: 5 - 2 = 3. At 0: (2 - 0.5) + 3 / 2 = 3.
    reward = np.zeros((4, 1, 3), np.float32)
    reward[3, 0] = [5, 1, -6]
    advantage, _ = advantages(
        reward, column(False, False, False, True), column(0, 1, 0, 2), column(0.5, 0.25, 2.0, -1.0).astype(np.float32), 0.5
    )
    assert advantage[2, 0] == 3
    assert advantage[0, 0] == 3


def test_a_deal_inside_a_match_pays_and_goes_on_a_match_end_cuts() -> None:
    # Seat 0 decides at 0, 1 and 2. Step 0 ends a deal (pays 4), step 1 ends the match (pays 1), step 2 is of the next match.
    reward = np.zeros((3, 1, 2), np.float32)
    reward[0, 0] = [4, -4]
    reward[1, 0] = [1, -1]
    advantage, known = advantages(
        reward, column(False, True, False), column(0, 0, 0), column(1.0, 2.0, 7.0).astype(np.float32), 1.0
    )
    assert advantage[1, 0] == 1 - 2
    assert advantage[0, 0] == 4 + 1 - 1
    assert known[:, 0].tolist() == [True, True, False]  # nothing is known yet of what follows the last decision


def test_an_unfinished_tail_is_judged_by_the_next_own_value() -> None:
    reward = np.zeros((3, 1, 2), np.float32)
    advantage, known = advantages(
        reward, column(False, False, False), column(0, 1, 0), column(1.0, 9.0, 1.5).astype(np.float32), 0.95
    )
    assert advantage[0, 0] == 0.5
    assert known[:, 0].tolist() == [True, False, False]


def test_what_comes_of_an_explored_action_is_credited_to_it_and_to_no_decision_before_it() -> None:
    # Seat 0 decides at 0, 1 and 2, and 1 was explored: 0 is judged by the value at 1. Lambda 1/2; at 1: 7 - 1.5 + (5 - 7) / 2.
    reward = np.zeros((3, 1, 2), np.float32)
    reward[2, 0] = [5, -5]
    value, over, seat = column(1.0, 1.5, 7.0).astype(np.float32), column(False, False, True), column(0, 0, 0)
    explored = column(False, True, False)
    advantage, known = advantages(reward, over, seat, value, 0.5, explored=explored)
    assert known.all()
    assert advantage[:, 0].tolist() == [1.5 - 1.0, 7 - 1.5 - 1, 5 - 7.0]
    # A guest's is judged by nobody.
    advantage, known = advantages(reward, over, seat, value, 0.5, foreign=explored)
    assert known[:, 0].tolist() == [True, False, True]
    assert advantage[:, 0].tolist() == [1.5 - 1.0, 0, 5 - 7.0]


def test_relative_payoffs_subtract_the_mean_of_the_others() -> None:
    assert relative_payoffs(np.array([3.0, 0.0, 0.0, 0.0])).tolist() == [3, -1, -1, -1]
    assert relative_payoffs(np.array([2.0, -1.0, -1.0])).tolist() == [3, -1.5, -1.5]


def test_actions_are_drawn_as_often_as_the_policy_says() -> None:
    n = 40_000
    logits = np.tile(np.log(np.array([[0.5, 0.25, 0.05, 1.0]], np.float32)), (n, 1))  # of the legal ones; after them anything
    legal = np.empty((n, 4), np.int8)
    list_legal(np.tile(np.array([[1, 1, 0, 0, 1]], np.int8), (n, 1)), np.array([0, 1, 3, 4]), legal)
    assert legal[0].tolist() == [0, 1, 3, -1]
    full = np.empty((2, 3), np.int8)
    list_legal(np.array([[1, 1, 0, 1, 0], [0, 0, 0, 0, 1]], np.int8), np.arange(5), full)
    assert full.tolist() == [[0, 1, 3], [4, -1, -1]]
    choice, log_prob = np.zeros(n, np.int8), np.zeros(n, np.float32)
    rng, never_explored = np.random.default_rng(0), np.zeros(n, np.bool_)
    sample(logits, legal, rng.random(n), never_explored, choice, log_prob)
    expected = np.array([0.5, 0.25, 0.05]) / 0.8
    share = np.bincount(choice, minlength=3) / n
    assert share == pytest.approx(expected, abs=4 * 0.5 / n**0.5)  # four standard errors
    assert np.exp(log_prob) == pytest.approx(expected[choice], rel=1e-5)
    sample(logits, legal, rng.random(n), rng.random(n) < 0.6, choice, log_prob)
    mixture = 0.4 * expected + 0.6 / 3
    assert np.bincount(choice, minlength=3) / n == pytest.approx(mixture, abs=4 * 0.5 / n**0.5)
    assert np.exp(log_prob) == pytest.approx(expected[choice], rel=1e-5)


def test_forced_moves_are_left_out_and_roles_are_told_apart() -> None:
    env = VectorEnv("russian", num_envs=64, seed=1, hidden=True, skip_forced=True)
    env.reset()
    inputs = varying_inputs([env.rules], "fixed", ())
    experience = Experience([Table(env, slice(env.num_envs), 1.0, False)], inputs, 40, np.random.default_rng(0))
    batch = experience.rollout(lambda rows, legal: np.zeros(legal.shape, np.float32))
    assert (batch.legal[..., 1] >= 0).all()
    assert set(np.unique(batch.role)) == {BIDDING, DECLARER, DEFENDER}
    chosen = experience.actions[batch.taken()]
    assert (batch.role[chosen <= 12] == BIDDING).all()
    assert (batch.role[(chosen >= 13) & (chosen < 72)] == DECLARER).all()  # announce, exchange


@pytest.mark.parametrize("suit_order", ["fixed", "canonical"])
def test_how_deals_end_is_what_the_states_before_and_the_payoffs_say(suit_order: str) -> None:
    env = VectorEnv("german", num_envs=256, seed=1, suit_order=suit_order, hidden=True, skip_forced=True)
    env.reset()
    inputs = varying_inputs([env.rules], suit_order, ())
    experience = Experience([Table(env, slice(env.num_envs), 1.0, False)], inputs, 1, np.random.default_rng(0))
    seen = []
    for _ in range(60):
        before = env.states.copy()
        batch = experience.rollout(lambda rows, legal: np.where(legal == 0, 2, 0).astype(np.float32))  # passes more often
        for i, state in enumerate(before):
            assert batch.needed[0, i] == (tricks_needed(env.rules.struct[0], state["standing"]) if state["standing"] else 0)
            expected = RUNNING
            if env.deal_over[i]:
                in_auction, paid = state["phase"] == AUCTION, env.payoffs[i, state["declarer"]]
                expected = UNPLAYED if in_auction else MADE if paid > 0 else FAILED
            assert batch.ended[0, i] == expected
            seen.append(expected)
    assert set(seen) == {RUNNING, UNPLAYED, FAILED, MADE}


def test_a_share_of_the_calls_is_drawn_uniformly_and_no_card() -> None:
    env = VectorEnv("german", num_envs=512, seed=1, hidden=True, skip_forced=True)
    env.reset()
    inputs = varying_inputs([env.rules], "fixed", ())
    experience = Experience([Table(env, slice(env.num_envs), 1.0, False)], inputs, 40, np.random.default_rng(0))
    batch = experience.rollout(lambda rows, legal: np.where(legal == 0, 50, 0).astype(np.float32), explore=0.3)  # it would pass
    calls = batch.role == BIDDING
    assert not batch.explored[~calls].any()
    assert batch.explored[calls].mean() == pytest.approx(0.3, abs=0.03)
    assert (batch.taken()[calls & ~batch.explored] == 0).all()
    opening = batch.explored & ((batch.legal >= 0).sum(-1) == 5)  # pass, or bid 2 3 4 5
    assert np.bincount(batch.choice[opening]) / opening.sum() == pytest.approx([0.2] * 5, abs=0.05)
    assert batch.log_prob[opening & (batch.choice > 0)] == pytest.approx(-50)  # of the policy, not of the draw


@pytest.mark.parametrize("columns", [(), (4,), (1, 2, 3), (0, 2, 3, 7, 8, 9), (9, 8, 0, 1)])
def test_columns_are_copied_in_their_order(columns: tuple[int, ...]) -> None:
    rows = np.random.default_rng(0).integers(-128, 128, (5, 10)).astype(np.int8)
    out = np.zeros((5, len(columns)), np.int8)
    copy_columns(rows, spans(columns), out)
    assert (out == rows[:, list(columns)]).all()


def test_varying_inputs_leave_out_what_never_changes() -> None:
    two, six = Ruleset.make("german", players=2), Ruleset.make("german", players=6)
    few, many = varying_inputs([two], "fixed", ()), varying_inputs([six], "fixed", ())
    assert isinstance(few, Inputs)
    assert len(few.observation) < len(many.observation)
    assert len(few.hidden) == 52  # the other hand
    assert len(few.actions) == 1 + 4 + 52  # pass, bids 2 to 5, the cards
    assert set(varying_inputs([two], "fixed", ("played",)).observation) < set(few.observation)


@pytest.mark.parametrize("suit_order", ["fixed", "canonical"])
def test_every_card_of_the_pack_is_among_the_discards_however_short_the_random_play(suit_order: str) -> None:
    russian = Ruleset.make("russian", players=4)
    actions = varying_inputs([russian], suit_order, (), decisions=4096).actions
    pack = {f"{rank}{suit}" for suit in "CDHS" for rank in "6789TJQKA"}
    assert {ACTION_NAMES[a] for a in actions if DISCARD <= a < PLAY} == {f"discard {card}" for card in pack}
    assert {ACTION_NAMES[a] for a in actions if a >= PLAY} == pack


def test_a_past_self_plays_a_match_to_its_end_as_it_was_when_it_was_frozen() -> None:
    tables, start = [], 0
    for rules, players, matches in (("german", 3, 24), ("russian", 4, 8)):  # Russian matches have eight deals
        env = VectorEnv(rules, num_envs=matches, seed=1, hidden=True, skip_forced=True, players=players)
        env.reset()
        tables.append(Table(env, slice(start, start := start + matches), 1.0, False))
    inputs = varying_inputs([table.env.rules for table in tables], "fixed", ())
    torch.manual_seed(0)
    net = ActorCritic(inputs, torch.ones(OBSERVATION_SIZE), torch.ones(HIDDEN_SIZE), 8, 1)
    asked: list[tuple[int, np.ndarray, np.ndarray, np.ndarray]] = []

    @torch.no_grad()
    def logits_of(rows: np.ndarray, legal: np.ndarray, actors: torch.nn.ModuleList | None = None) -> np.ndarray:
        seen = torch.from_numpy(rows)
        return net.logits(net.features(seen, seen[:, :0]), torch.from_numpy(legal), actors).numpy()

    class Asked(PastSelves):
        def policy(self, number: int) -> Policy:
            chosen = super().policy(number)

            def policy(*given: np.ndarray) -> np.ndarray:
                asked.append((number, given[0].copy(), given[1].copy(), chosen(*given)))
                return asked[-1][3]

            return policy

    past = Asked(0.5, 1, np.random.default_rng(0), logits_of)
    experience = Experience(tables, inputs, 1, np.random.default_rng(1), past)
    frozen, begun_with, lasted = {}, experience.owner.copy(), 0
    for update in range(150):
        if update % 20 == 0:
            with torch.no_grad():
                for parameter in net.actors.parameters():  # the learner changes
                    parameter += 0.3 * torch.randn_like(parameter)
            past.add(net)
            frozen[past.newest] = copy.deepcopy(net.actors)
        past.turn(experience.owner)
        over = experience.rollout(logits_of).match_over[0]
        assert (experience.owner[~over] == begun_with[~over]).all()
        begun_with[over] = experience.owner[over]
        assert set(np.unique(begun_with[over])) <= {LEARNER, past.joins}
        lasted += int(((begun_with > LEARNER) & (begun_with < past.newest)).any(1).sum())
    assert lasted > 100  # matches went on with a past self that had left the ring of one
    assert {number for number, *_ in asked} == set(range(1, past.newest + 1))
    for number, rows, legal, logits in asked:
        assert np.array_equal(logits, logits_of(rows, legal, frozen[number]))
    _, rows, legal, logits = asked[0]
    assert not np.array_equal(logits_of(rows, legal), logits)
    assert len(past.actors) < 4  # the others are gone


def test_what_tells_the_role_is_seen_even_where_all_choices_are_calls() -> None:
    one_card = Ruleset.make("german", players=3, suits=2, lowest_rank="K", hand_size=1, min_bid=1, max_void_deals=1)
    inputs = varying_inputs([one_card], "fixed", ())
    assert set(ROLE_COLUMNS) < set(inputs.observation)
    assert inputs.actions == (0, 1)  # pass, bid 1
