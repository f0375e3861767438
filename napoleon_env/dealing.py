"""Random deals: a pack and a first dealer as a pure function of (stream, seed, environment index, match, deal).

A key of 64 bits stands for (stream, seed, index); a counter-based generator (SplitMix64: Steele, Lea and Flood, "Fast
splittable pseudorandom number generators", OOPSLA 2014) turns key, match and deal into the shuffle. So no deal depends on
how earlier ones were played, and copies of a match share nothing.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from napoleon_env.jit import jit
from napoleon_env.notation import N_CARDS, N_RANKS, NO_CARD, shown, whole
from napoleon_env.rules import begin_deal, begin_match

STREAMS: Final = ("train", "evaluation")
"""Deals of different streams never share a key."""

N_INDICES: Final = 2**32
"""Environments of one seed have indices from 0 to N_INDICES - 1."""

_GOLDEN: Final = np.uint64(0x9E3779B97F4A7C15)
_MIX_1: Final = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2: Final = np.uint64(0x94D049BB133111EB)
_LOW_32: Final = np.uint64(0xFFFFFFFF)
_ONE: Final = np.uint64(1)


class SeedError(ValueError):
    """A seed or a stream that names no deals."""


@jit
def _mix(x: Any) -> Any:
    """SplitMix64's output function: a bijection of 64-bit words that scatters neighbours."""
    x = (x ^ x >> np.uint64(30)) * _MIX_1
    x = (x ^ x >> np.uint64(27)) * _MIX_2
    return x ^ x >> np.uint64(31)


@jit
def fork(key: Any, number: int) -> Any:
    """The key of the `number`-th child of a key."""
    return _mix(_mix(key) + _GOLDEN * (np.uint64(number) + _ONE))


@jit
def below(word: Any, bound: int) -> tuple[Any, Any]:
    """Draw uniformly from 0 … bound - 1; returns the advanced generator word and the number.

    Multiply-shift with rejection (Lemire, "Fast random integer generation in an interval", 2019), so exactly uniform.
    """
    n = np.uint64(bound)
    least = (_LOW_32 + _ONE - n) % n
    while True:
        word += _GOLDEN
        product = (_mix(word) & _LOW_32) * n
        if (product & _LOW_32) >= least:
            return word, np.int64(product >> np.uint64(32))


@jit
def uniform(word: Any) -> float:
    """A number in [0, 1) for a generator word, the same one every time."""
    return np.float64(_mix(word + _GOLDEN) >> np.uint64(11)) * 2.0**-53


@jit
def shuffle(state: Any, rules: Any) -> None:
    """Fill `state["cards"]` with the pack in the order of the deal that is to begin."""
    word = fork(fork(state["key"], state["match"]), state["deal"] + 1)
    n = rules["pack_size"]
    ranks = N_RANKS - rules["lowest_rank"]
    cards = state["cards"]
    for place in range(N_CARDS):
        cards[place] = place // ranks * N_RANKS + rules["lowest_rank"] + place % ranks if place < n else NO_CARD
    for place in range(n - 1):
        word, step = below(word, n - place)
        other = place + step
        card = cards[place]
        cards[place] = cards[other]
        cards[other] = card


@jit
def random_deal(state: Any, rules: Any) -> None:
    """Shuffle and deal the next deal of the match in `state`."""
    shuffle(state, rules)
    begin_deal(state, rules)


@jit
def random_match(state: Any, rules: Any, match: int) -> None:
    """Begin match number `match` of the key in `state`: draw the first dealer (C8), then the first deal."""
    state["match"] = match
    _, dealer = below(fork(fork(state["key"], match), 0), rules["players"])
    begin_match(state, rules, dealer, 0)
    random_deal(state, rules)


def check_seed(seed: object, name: str = "seed", bound: int | None = None) -> int:
    """`seed` as an int; `name` is what the user calls it.

    Raises:
        SeedError: not a whole number of at least 0, or not below `bound`.
    """
    number = whole(seed)
    if number is None or number < 0 or (bound is not None and number >= bound):
        most = "" if bound is None else f" and below {bound}"
        raise SeedError(f"{name}={shown(seed)} must be a whole number of at least 0{most}")
    return number


def check_indices(first_index: object, num_envs: int) -> int:
    """The index of the first of so many environments as an int.

    Raises:
        SeedError: it, or an index counted on from it, is none that `deal_key` takes.
    """
    first = check_seed(first_index, "first_index", N_INDICES)
    if first + num_envs > N_INDICES:
        raise SeedError(f"first_index={first} with num_envs={num_envs} must not pass index {N_INDICES - 1}")
    return first


def deal_key(seed: int, index: int = 0, stream: str = "train") -> np.uint64:
    """The key of all matches of one environment.

    Args:
        seed: any whole number >= 0.
        index: which of the environments made with that seed; a single one is 0.
        stream: "train" or "evaluation"; the two never share a deal's key.

    Raises:
        SeedError: a seed or an index below 0 or not whole, or another stream.
    """
    if stream not in STREAMS:
        raise SeedError(f"stream={shown(stream)} must be one of {', '.join(STREAMS)}")
    place = (STREAMS.index(stream), check_seed(index, "index", N_INDICES))
    return np.random.SeedSequence(check_seed(seed), spawn_key=place).generate_state(1, np.uint64)[0]
