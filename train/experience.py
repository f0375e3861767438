"""Self-play experience: matches stepped with a policy, and the advantage of every decision for the seat that took it.

A deal pays all seats at its end, whoever moves then; so credit goes along each seat's own decisions.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numba import njit

from agents.network import ROLE_COLUMNS, ROLES, Inputs
from napoleon_env.notation import DISCARD, N_ACTIONS, PLAY, TRUMP
from napoleon_env.observation import HIDDEN_SIZE, OBSERVATION_SIZE, observation_layout
from napoleon_env.ruleset import Ruleset
from napoleon_env.vector_env import VectorEnv

BIDDING, DECLARER, DEFENDER = range(len(ROLES))
MAX_LEGAL = TRUMP
"""Most actions that are ever legal at once: all calls."""

RUNNING, UNPLAYED, FAILED, MADE = range(4)
"""The deal goes on; it has ended in its auction; its declarer has lost; has won."""

_ROWS = {row["name"]: row for row in observation_layout()}
_AUCTION, _DECLARER = ROLE_COLUMNS
_TRICKS_NEEDED = _ROWS["tricks_needed"]["start"]


class Batch(NamedTuple):
    """Decisions in the order they were taken: T steps of N matches. Views of buffers that the next rollout overwrites."""

    observation: np.ndarray
    """int8 [T, N, C], the selected columns."""
    hidden: np.ndarray
    """int8 [T, N, H]."""
    legal: np.ndarray
    """int8 [T, N, MAX_LEGAL]: the legal ones among the selected actions by number, all below 128, then -1."""
    choice: np.ndarray
    """int8 [T, N]: the place in `legal` of the action taken."""
    log_prob: np.ndarray
    """float32 [T, N]: of the policy, whoever drew."""
    role: np.ndarray
    """int8 [T, N]: BIDDING, DECLARER or DEFENDER."""
    seat: np.ndarray
    """int64 [T, N]."""
    reward: np.ndarray
    """float32 [T, N, players]: what the step paid each seat, scaled."""
    match_over: np.ndarray
    """bool [T, N]."""
    foreign: np.ndarray
    """bool [T, N]: a guest's action, so nothing is learnt from it."""
    explored: np.ndarray
    """bool [T, N]: drawn uniformly."""
    ended: np.ndarray
    """int8 [T, N]: how the deal ended that this step ended: RUNNING, UNPLAYED, FAILED or MADE."""
    needed: np.ndarray
    """int8 [T, N]: tricks that its contract asked for."""

    def taken(self, t: int | slice = slice(None)) -> np.ndarray:
        """The numbers of the actions taken among the selected ones, int8 of the shape of `choice[t]`."""
        legal, choice = self.legal[t], self.choice[t]
        return picked(legal.reshape(-1, MAX_LEGAL), choice.reshape(-1)).reshape(choice.shape)


class Policy(Protocol):
    """Chooses for rows of decisions."""

    def __call__(self, rows: np.ndarray, legal: np.ndarray, observation: np.ndarray, mask: np.ndarray) -> np.ndarray:
        """Logits of the legal actions, float32 [n, MAX_LEGAL].

        Args:
            rows: the selected columns, int8 [n, C].
            legal: as in `Batch`, int8 [n, MAX_LEGAL].
            observation, mask: of the environment, whole, [n, OBSERVATION_SIZE] and [n, N_ACTIONS].
        """
        ...


LEARNER = 0
"""The number of the policy that is being trained."""


class Guests(Protocol):
    """Who else sits at the tables."""

    def seat(self, players: int, matches: int) -> np.ndarray:
        """The numbers of the policies in the seats of matches that begin, int64 [matches, players]; LEARNER among them."""
        ...

    def policy(self, number: int) -> Policy:
        """The policy of a number other than LEARNER."""
        ...


class Nobody:
    """All seats are the learner's."""

    def seat(self, players: int, matches: int) -> np.ndarray:
        """See `Guests`."""
        return np.full((matches, players), LEARNER)

    def policy(self, number: int) -> Policy:
        """See `Guests`: there is none."""
        raise KeyError(number)


@dataclass
class Table:
    """Matches of one rule set within a batch."""

    env: VectorEnv
    rows: slice
    """Which of the N matches of the batch."""
    scale: float
    """Of its payoffs."""
    relative: bool
    """Whether a seat is rewarded by how its payoff compares."""
    team: bool = False
    """Whether the learner's seats stand together: what the guests lose is the reward of each."""


class Experience:
    """Matches of some rule sets, played on without end.

    Args:
        tables: they fill the N matches of the batch.
        inputs: columns and actions.
        steps: T, decisions of each match in a batch.
        rng: of the actions.
        guests: who else plays; whoever begins a match stays until its end.
    """

    def __init__(
        self, tables: Sequence[Table], inputs: Inputs, steps: int, rng: np.random.Generator, guests: Guests | None = None
    ) -> None:
        self.tables, self.steps, self.rng, self.guests = tables, steps, rng, guests or Nobody()
        self.n, self.players = tables[-1].rows.stop, max(table.env.rules.players for table in tables)
        shape = (steps, self.n)
        self.runs, self.hidden_runs, self.actions = spans(inputs.observation), spans(inputs.hidden), np.array(inputs.actions)
        self.batch = Batch(
            observation=np.zeros((*shape, len(inputs.observation)), np.int8),
            hidden=np.zeros((*shape, len(inputs.hidden)), np.int8),
            legal=np.zeros((*shape, MAX_LEGAL), np.int8),
            choice=np.zeros(shape, np.int8),
            log_prob=np.zeros(shape, np.float32),
            role=np.zeros(shape, np.int8),
            seat=np.zeros(shape, np.int64),
            reward=np.zeros((*shape, self.players), np.float32),
            match_over=np.zeros(shape, np.bool_),
            foreign=np.zeros(shape, np.bool_),
            explored=np.zeros(shape, np.bool_),
            ended=np.zeros(shape, np.int8),
            needed=np.zeros(shape, np.int8),
        )
        self.declarer = np.zeros(self.n, np.int64)
        self.owner = np.full((self.n, self.players), LEARNER)
        for table in tables:
            players = table.env.rules.players
            self.owner[table.rows, :players] = self.guests.seat(players, table.env.num_envs)
        self.seconds = dict.fromkeys(("environment", "batch", "inference"), 0.0)
        """In the environments' steps, which observe and mask too; reading them into the batch; choosing."""

    def rollout(self, logits_of: Callable[[np.ndarray, np.ndarray], np.ndarray], explore: float = 0.0) -> Batch:
        """Play `steps` decisions in every match with `logits_of(rows, legal)`, as of a `Policy`.

        A share `explore` of the calls is drawn uniformly (exploring starts).
        """
        batch, every, clock = self.batch, np.arange(self.n), time.perf_counter
        for t in range(self.steps):
            start = clock()
            self._look(t)
            looked = clock()
            logits = logits_of(batch.observation[t], batch.legal[t])
            who = self.owner[every, batch.seat[t]]
            for number in np.unique(who[who != LEARNER]):
                mine = np.flatnonzero(who == number)
                policy = self.guests.policy(int(number))
                logits[mine] = policy(batch.observation[t][mine], batch.legal[t][mine], *self._whole(mine))
            uniform = self.rng.random(self.n)
            batch.explored[t] = (batch.role[t] == BIDDING) & (self.rng.random(self.n) < explore) if explore > 0 else False
            sample(logits, batch.legal[t], uniform, batch.explored[t], batch.choice[t], batch.log_prob[t])
            batch.foreign[t] = who != LEARNER
            chosen = clock()
            stepped = self._step(t)
            self.seconds["environment"] += stepped
            self.seconds["batch"] += looked - start + clock() - chosen - stepped
            self.seconds["inference"] += chosen - looked
        return batch

    def _look(self, t: int) -> None:
        batch = self.batch
        for table in self.tables:
            env, rows = table.env, table.rows
            copy_columns(env.observation, self.runs, batch.observation[t, rows])
            list_legal(env.action_mask, self.actions, batch.legal[t, rows])
            if env.hidden is not None:
                copy_columns(env.hidden, self.hidden_runs, batch.hidden[t, rows])
            batch.seat[t, rows] = env.seat
            read_roles(env.observation, batch.role[t, rows])
            read_contracts(env.observation, env.seat, env.rules.players, self.declarer[rows], batch.needed[t, rows])

    def _whole(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The whole observations and masks of rows."""
        parts = []
        for table in self.tables:
            own = rows[(rows >= table.rows.start) & (rows < table.rows.stop)] - table.rows.start
            parts.append((table.env.observation[own], table.env.action_mask[own]))
        observation, mask = (np.concatenate(part) for part in zip(*parts, strict=True))
        return observation, mask

    def _step(self, t: int) -> float:
        """Returns the seconds that the environments took."""
        batch, taken, seconds = self.batch, self.actions[self.batch.taken(t)], 0.0
        for table in self.tables:
            env, rows = table.env, table.rows
            start = time.perf_counter()
            env.step(taken[rows])
            seconds += time.perf_counter() - start
            reward = env.payoffs.astype(np.float32) * table.scale
            reward = relative_payoffs(reward) if table.relative else reward
            owner = self.owner[rows, : env.rules.players]
            batch.reward[t, rows, : env.rules.players] = losses_of_guests(reward, owner) if table.team else reward
            over = batch.match_over[t, rows] = env.terminated | env.truncated
            how_deals_ended(batch.role[t, rows], self.declarer[rows], env.payoffs, env.deal_over, batch.ended[t, rows])
            if begun := int(over.sum()):
                owner[over] = self.guests.seat(env.rules.players, begun)
        return seconds


@njit(cache=True)
def read_roles(observation: Any, role: Any) -> None:
    """Writes the role in which each row's seat decides, int8 [n]: calls are BIDDING, all else is DECLARER or DEFENDER."""
    for i in range(len(role)):
        role[i] = BIDDING if observation[i, _AUCTION] == 1 else DECLARER if observation[i, _DECLARER] == 1 else DEFENDER


@njit(cache=True)
def read_contracts(observation: Any, seat: Any, players: int, declarer: Any, needed: Any) -> None:
    """Writes whose contract or call stands, a seat or else the one to act, and the tricks that it asks for.

    Args:
        observation: int8 [n, OBSERVATION_SIZE].
        seat: who is to act, int64 [n].
        declarer, needed: are written, integers [n].
    """
    for i in range(len(seat)):
        declarer[i] = seat[i]
        for step in range(players):
            if observation[i, _DECLARER + step] == 1:
                declarer[i] = (seat[i] + step) % players
        needed[i] = observation[i, _TRICKS_NEEDED]


@njit(cache=True)
def how_deals_ended(role: Any, declarer: Any, payoffs: Any, deal_over: Any, ended: Any) -> None:
    """Writes how the deals ended that the last step ended, int8 [n].

    Args:
        role, declarer: before that step; a deal whose play left nobody a choice counts as ended in the auction.
        payoffs, deal_over: of the environment after that step.
        ended: is written.
    """
    for i in range(len(role)):
        ended[i] = RUNNING
        if deal_over[i]:
            ended[i] = UNPLAYED if role[i] == BIDDING else MADE if payoffs[i, declarer[i]] > 0 else FAILED


def relative_payoffs(payoffs: np.ndarray) -> np.ndarray:
    """Each seat's payoff minus the mean of the others', along the last axis."""
    others = payoffs.shape[-1] - 1
    return payoffs - (payoffs.sum(-1, keepdims=True) - payoffs) / others


def losses_of_guests(reward: np.ndarray, owner: np.ndarray) -> np.ndarray:
    """What the guests of each match lose together, [n, 1]; `reward` and who has each seat are [n, players]."""
    return -(reward * (owner != LEARNER)).sum(-1, keepdims=True)


def varying_inputs(rule_sets: list[Ruleset], suit_order: str, omit: tuple[str, ...], decisions: int = 20_000) -> Inputs:
    """Columns that take more than one value, and actions that are legal, somewhere in random play of these rule sets.

    Those that tell the role are there in any case: networks are chosen by them, even where all choices are calls. Cards that
    are played can be discarded where any can: random play need not come upon each. `omit` names features that are left out
    all the same.
    """
    low, high = np.full(OBSERVATION_SIZE, 127), np.full(OBSERVATION_SIZE, -128)
    hidden_seen, legal = np.zeros(HIDDEN_SIZE, bool), np.zeros(N_ACTIONS, bool)
    rng = np.random.default_rng(0)
    for rules in rule_sets:
        env = VectorEnv(rules, num_envs=256, seed=0, suit_order=suit_order, hidden=True, skip_forced=True)
        assert env.hidden is not None
        env.reset()
        for _ in range(decisions // env.num_envs):
            low = np.minimum(low, env.observation.min(0))
            high = np.maximum(high, env.observation.max(0))
            hidden_seen |= env.hidden.any(0)
            legal |= env.action_mask.any(0)
            noise = rng.random(env.action_mask.shape)
            env.step((env.action_mask * (1 + noise)).argmax(1))
    columns = set(np.flatnonzero(low != high))
    for name in omit:
        columns -= set(range(_ROWS[name]["start"], _ROWS[name]["stop"]))
    columns |= set(ROLE_COLUMNS)
    hidden_seen[: _ROWS["hand"]["stop"]] = False  # the seat's own hand is in the observation
    if legal[DISCARD:PLAY].any():
        legal[DISCARD:PLAY] |= legal[PLAY:]
    as_ints = (tuple(int(i) for i in sorted(ids)) for ids in (columns, np.flatnonzero(hidden_seen), np.flatnonzero(legal)))
    return Inputs(*as_ints)


def spans(columns: Sequence[int]) -> np.ndarray:
    """First number and length of each run of numbers that follow one another, uint64 [R, 2]."""
    starts = [i for i, column in enumerate(columns) if i == 0 or columns[i - 1] != column - 1]
    lengths = np.diff([*starts, len(columns)])
    return np.array([[columns[i] for i in starts], lengths], np.uint64).T.copy()


@njit(cache=True)
def copy_columns(rows: Any, runs: Any, out: Any) -> None:
    """Copies the columns of `runs` (see `spans`) one behind the other; with unsigned numbers in a third of the time."""
    for i in range(out.shape[0]):
        row, copied, to = rows[i], out[i], np.uint64(0)
        for r in range(runs.shape[0]):
            first, length = runs[r, 0], runs[r, 1]
            for k in range(length):
                copied[to + k] = row[first + k]
            to += length


@njit(cache=True)
def list_legal(mask: Any, actions: Any, legal: Any) -> None:
    """For each row the places in `actions` of what `mask` allows, then -1."""
    width = np.uint64(legal.shape[1])
    for row in range(legal.shape[0]):
        i, n = np.uint64(row), np.uint64(0)
        for k in range(width):
            legal[i, k] = -1
        for a in range(len(actions)):
            if n == width:
                break
            legal[i, n] = a  # stays if it is allowed, else the next takes its place: no branch for the processor to guess
            n += np.uint64(mask[i, np.uint64(actions[a])])
        if n < width:
            legal[i, n] = -1


@njit(cache=True)
def picked(rows: Any, places: Any) -> Any:
    """Of each row the number at its place, [n] from [n, K]."""
    out = np.empty(len(places), rows.dtype)
    for i in range(len(places)):
        out[i] = rows[i, places[i]]
    return out


@njit(cache=True)
def sample(logits: Any, legal: Any, uniform: Any, explored: Any, choice: Any, log_prob: Any) -> None:
    """Draw a legal action for each row: from the softmax over the logits of the legal ones, where `explored` uniformly.

    Writes the place in `legal`, and the logarithm of the softmax's probability.
    """
    for i in range(logits.shape[0]):
        n = 0
        best = -np.inf
        while n < legal.shape[1] and legal[i, n] >= 0:
            best = max(best, logits[i, n])
            n += 1
        total = 0.0
        for k in range(n):
            total += np.exp(logits[i, k] - best)
        left = uniform[i] * (n if explored[i] else total)
        for k in range(n):
            choice[i] = k
            left -= 1.0 if explored[i] else np.exp(logits[i, k] - best)
            if left < 0:
                break
        log_prob[i] = logits[i, choice[i]] - best - np.log(total)


def advantages(
    reward: np.ndarray, match_over: np.ndarray, seat: np.ndarray, value: np.ndarray, decay: float,
    *, foreign: np.ndarray | None = None, explored: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """Generalised advantage estimation along each seat's own decisions (Schulman et al. 2016, eq. 16, gamma = 1).

    Args:
        reward: float [T, N, players], paid to every seat by step t, whoever moved.
        match_over: bool [T, N], whether the match ended with step t.
        seat: int [T, N], who decided.
        value: float [T, N], the critic's value for that seat before the decision.
        decay: lambda.
        foreign: bool [T, N], where a guest acted: no decision of the learner's; nowhere without.
        explored: bool [T, N], where the action was drawn uniformly: what came of it is credited to no decision before it;
            nowhere without.

    Returns:
        (advantage float32 [T, N], known bool [T, N]); `known` is False for a decision that was foreign, or after which that
        seat neither decided nor saw the match end within the batch.
    """
    nowhere = np.zeros(seat.shape, np.bool_)
    foreign, explored = (nowhere if where is None else where for where in (foreign, explored))
    return _advantages(reward, match_over, seat, value, foreign, explored, decay)


@njit(cache=True)
def _advantages(
    reward: Any, match_over: Any, seat: Any, value: Any, foreign: Any, explored: Any, decay: float
) -> tuple[Any, Any]:  # fmt: skip
    steps, n, players = reward.shape
    advantage = np.zeros((steps, n), np.float32)
    known = np.zeros((steps, n), np.bool_)
    for i in range(n):
        next_value = np.zeros(players)
        next_advantage = np.zeros(players)
        since = np.zeros(players)  # what the seat has been paid since the decision that is next in time
        has_next = np.zeros(players, np.bool_)
        for t in range(steps - 1, -1, -1):
            for s in range(players):
                if match_over[t, i]:
                    next_value[s] = 0.0
                    next_advantage[s] = 0.0
                    since[s] = 0.0
                    has_next[s] = True
                since[s] += reward[t, i, s]
            s = seat[t, i]
            if foreign[t, i]:
                next_advantage[s] = 0.0
            elif has_next[s]:
                known[t, i] = True
                delta = since[s] + next_value[s] - value[t, i]
                next_advantage[s] = delta + decay * next_advantage[s]
                advantage[t, i] = next_advantage[s]
                if explored[t, i]:
                    next_advantage[s] = 0.0
            since[s] = 0.0
            next_value[s] = value[t, i]
            has_next[s] = True
    return advantage, known
