"""Tournaments: entrants, duplicate deals on all cores, results that can be continued.

`run_tournament` plays a `schedule.Schedule` block by block and adds up a `Result`. Blocks are the unit of everything: what is
asked at once, what a worker plays, what a line of the file holds (`journal`); and they are added up in their order. So the
result is the same to the last digit for any number of workers, here or on a cluster, and any number of interruptions.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, closing
from dataclasses import replace
from functools import partial
from multiprocessing import get_context, parent_process
from platform import node
from typing import Any, Final, NamedTuple

import numpy as np

from napoleon_env.cluster import FELL, RayCluster
from napoleon_env.control import Part
from napoleon_env.journal import Journal
from napoleon_env.match import Match
from napoleon_env.notation import VERSION, is_real, shown, whole
from napoleon_env.players import Player
from napoleon_env.record import to_record
from napoleon_env.result import Result
from napoleon_env.roster import RosterError, fingerprint, make_player, parse_spec
from napoleon_env.ruleset import Ruleset
from napoleon_env.schedule import Schedule, block_size, n_tables
from napoleon_env.solver import Solver
from napoleon_env.tables import TALLY, Draw, Played, play_tables

SMALL: Final = 10.0
"""Seconds: when less is left to play, no further processes are started for it."""

ENGINES: Final = ("processes", "ray")
"""What plays the blocks."""

MOST_SECONDS: Final = 86400
"""A day: the longest limit for one decision."""
MOST_ERROR: Final = 0.5
"""Below it the sequential mode's error must be: at a half, any verdict is as good."""


class TournamentError(ValueError):
    """A tournament that cannot be played; one sentence."""


class Entrant(NamedTuple):
    """Who takes part."""

    name: str
    player: str | Player
    """A spec (`roster`) or a player."""
    fingerprint: str

    def make(self, rules: Ruleset, seconds: float | None) -> Any:
        """The player, under a time limit in a process of its own.

        Raises:
            RosterError.
        """
        program = isinstance(self.player, str) and parse_spec(self.player).kind == "program"
        if seconds is None or program:
            return make_player(self.player, rules=rules, seconds=seconds)
        from napoleon_env.external import TimedPlayer

        return TimedPlayer(partial(make_player, self.player, rules=rules), rules=rules, seconds=seconds)


def entrant(entry: str | tuple[str, str | Player]) -> Entrant:
    """An entrant from a spec, "spec as name", or (name, spec or player).

    Raises:
        RosterError: there is no such player, or it cannot enter a tournament.
    """
    if isinstance(entry, str):
        player, _, name = (part.strip() for part in entry.partition(" as "))
        name = name or player
        if not player:
            raise RosterError("an entrant is empty: a player is missing before, between or after the commas")
    else:
        name, player = entry
    if not isinstance(name, str) or not name or not name.isprintable() or len(name) > 200:
        raise RosterError(f"{shown(name)} is no name for a player: a name is printable text of at most 200 characters")
    if not isinstance(player, str):
        return Entrant(name, make_player(player), f"{type(player).__module__}.{type(player).__qualname__}")
    if parse_spec(player).name == "human":
        raise RosterError("human cannot enter a tournament: its players decide thousands of times, without a terminal")
    return Entrant(name, player, fingerprint(player))


# One block.


class Crew:
    """The players of one process."""

    def __init__(self, schedule: Schedule, entrants: Sequence[Entrant], seconds: float | None) -> None:
        self.schedule = schedule
        self.solver = Solver() if schedule.losses or schedule.share < 1 else None
        self.players = [entrant.make(schedule.rules, seconds) for entrant in entrants]

    def play(self, block: int, *, recorder: Any = None, draw: Draw | None = None) -> Played:
        """Play the tables of a block, deal by deal in their order."""
        schedule = self.schedule
        deals, tables = np.array(schedule.deals_of(block)), len(schedule.tables)
        return play_tables(
            self.players,
            schedule.rules,
            seed=schedule.seed,
            deals=np.repeat(deals, tables),
            assigned=np.tile(schedule.tables, (len(deals), 1)),
            keys=np.tile(schedule.keys, len(deals)),
            tables=np.tile(np.arange(tables), len(deals)),
            recorder=recorder,
            solver=self.solver if schedule.losses else None,
            draw=draw,
            common_random_numbers=schedule.common_random_numbers,
        )

    def line(self, block: int) -> dict[str, Any]:
        """Play a block; what the file holds of it."""
        schedule = self.schedule
        part = Part(schedule, self.solver) if self.solver and schedule.share < 1 else None
        played = self.play(block, draw=part)
        scores = part.scores(played) if part else played.scores
        scores = scores.reshape(-1, len(schedule.tables), schedule.rules.players)
        names = TALLY.names or ()
        return {
            "block": block,
            "sums": schedule.pair_sums(scores).tolist(),
            "tally": [{name: mine[name].tolist() for name in names} for mine in played.tally],
            "played": int(np.count_nonzero(played.weights)),
            "lines": played.lines,
            "forfeits": [list(forfeit) for forfeit in played.forfeits],
        }

    def records(self, deal: int, tables: Sequence[int]) -> list[dict[str, Any]]:
        """The matches of some tables of a deal, as records; the deal's whole block is played again to get the same ones."""
        schedule = self.schedule
        block = deal // schedule.block
        first = (deal - block * schedule.block) * len(schedule.tables)
        wanted = {first + table: table for table in tables}
        logs: dict[int, list[list[int]]] = {row: [] for row in wanted}

        def keep(rows: np.ndarray, states: np.ndarray) -> None:
            for row, state in zip(rows.tolist(), states, strict=True):
                if row in logs:
                    logs[row].append(state["log"][: state["n_log"]].tolist())

        self.play(block, recorder=keep)
        return [self._record(deal, table, logs[row]) for row, table in wanted.items()]

    def _record(self, deal: int, table: int, log: list[list[int]]) -> dict[str, Any]:
        schedule = self.schedule
        rules = schedule.rules
        match = Match(rules, seed=schedule.seed, stream="evaluation", number=deal, dealer=deal % rules.players)
        for actions in log:
            for action in actions:
                match.play(action)
        seats = [schedule.names[entrant] for entrant in schedule.tables[table]]
        return to_record(match, notes={"players": seats, "seed": schedule.seed, "deal": deal, "table": table})

    def warnings(self) -> list[str]:
        """What a reader of the result should know of the players, in sentences."""
        found = []
        for name, player in zip(self.schedule.names, self.players, strict=True):
            trained = getattr(player, "metadata", {}).get("rules")
            if isinstance(trained, list) and self.schedule.rules.header not in trained:
                found.append(f"{name} was not trained for this rule set")
            if getattr(player, "timed", False) is True:
                found.append(f"{name} decides by the clock, so its results depend on the machine")
        return found

    def close(self) -> None:
        """Close the players that are closed."""
        for player in self.players:
            if callable(close := getattr(player, "close", None)):
                close()


def crew_elsewhere(version: str, schedule: Schedule, entrants: Sequence[Entrant], seconds: float | None) -> Crew:
    """The players of a process on another machine.

    Raises:
        RosterError: it has other players, or another version of this package.
    """
    if version != VERSION:
        raise RosterError(f"{node()} has napoleon-env {VERSION}, not {version}")
    for entrant in entrants:
        if isinstance(entrant.player, str) and fingerprint(entrant.player) != entrant.fingerprint:
            raise RosterError(f"the player {entrant.name} on {node()} is another one: its file differs")
    return Crew(schedule, entrants, seconds)


_crew: Crew | None = None
"""Of a worker process."""


def _start_worker(schedule: Schedule, entrants: Sequence[Entrant], seconds: float | None) -> None:
    global _crew
    end_with_main()
    _crew = Crew(schedule, entrants, seconds)


def end_with_main() -> None:
    """Have this worker of a pool end without a word when it is interrupted, and with its main process, however that ends."""
    signal.signal(signal.SIGINT, lambda *_: os._exit(130))  # the main process tells of it
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """A worker whose main process was killed would wait for ever."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _work(block: int) -> dict[str, Any]:
    assert _crew is not None
    return _crew.line(block)


def swing_records(result: Result, players: Entries, *, seconds: float | None = None) -> list[tuple[str, list[dict[str, Any]]]]:
    """The deals of a result on which a pair differed most, as (title, records of the pair's tables).

    Their blocks are played again. Deals on which a match was forfeited are left out: their records would be unfinished.

    Args:
        result: of `run_tournament` with the same players.
        players, seconds: as there.
    """
    schedule = result.schedule
    entrants = [entrant(entry) for entry in _entries(players)]
    forfeited = {forfeit.deal for forfeit in result.forfeits}
    crew = Crew(schedule, entrants, seconds)
    found = []
    try:
        for swing in result.swings:
            if swing.deal not in forfeited:
                first, second = (schedule.names[i] for i in (swing.first, swing.second))
                title = f"deal {swing.deal}: {first} {swing.points:+.2f} over {second}"
                found.append((title, crew.records(swing.deal, schedule.tables_of(swing.first, swing.second))))
    finally:
        crew.close()
    return found


# The run.

Entries = Sequence[str | tuple[str, "str | Player"]] | Mapping[str, "str | Player"]
"""Players as `run_tournament` takes them."""


def _entries(players: Entries) -> list[str | tuple[str, str | Player]]:
    if isinstance(players, Mapping):
        return list(players.items())
    if isinstance(players, str) or not isinstance(players, Iterable):
        raise TournamentError(f"players={shown(players)} must be a list of players, or a mapping of names to players")
    entries = list(players)
    for entry in entries:
        if not (isinstance(entry, str) or (isinstance(entry, tuple | list) and len(entry) == 2)):
            raise TournamentError(f"the entrant {shown(entry)} must be a player's spec, or a pair of a name and a player")
    return entries


def run_tournament(
    players: Entries,
    /,
    *,
    rules: str | Ruleset | Mapping[str, Any] = "german",
    deals: int = 1000,
    seed: int = 1,
    workers: int = 1,
    engine: str = ENGINES[0],
    address: str | None = None,
    file: str | os.PathLike[str] | None = None,
    seconds: float | None = None,
    error: float | None = None,
    share: float = 1.0,
    losses: bool = False,
    common_random_numbers: bool = False,
    block: int | None = None,
    on_block: Callable[[Result], None] | None = None,
    **changes: Any,
) -> Result:
    """Play a round robin of duplicate deals (`schedule`).

    Args:
        players: specs, "spec as name", (name, spec or player), or a mapping of names.
        rules: a preset's name, a `Ruleset` or a record's header; `changes` change fields.
        deals: matches that every table is repeated for; in sequential mode, at most.
        seed: names the deals and all randomness.
        workers: processes; players that are not specs must pickle for more than one.
        engine: "processes" of this machine, or "ray" for a Ray cluster (`cluster`).
        address: of a running Ray cluster, all CPUs of which are used, whatever `workers` is; without, a local one is started.
        file: goes on with this file of results, or begins it.
        seconds: limit per decision; then results depend on the machine. Players run in processes of their own.
        error: sequential mode: stop when the order of every pair is certain at this error in all.
        losses: also count what every card gives away against open cards (double dummy), by role.
        share: the part of the tables, about, that is played out, drawn by lot; at all of them the entrants call, and what
            the others would bring is forecast, without bias (`control`). Matches of one deal only.
        common_random_numbers: an entrant is asked once for all tables of a deal that have come to the same position, and what
            it draws by lot depends on the position alone. Each table's result has the same distribution; together they take
            less time, and what two entrants do alike cancels out.
        block: deals that are played at once, by default what suits the players.
        on_block: told of the result after each block.

    Raises:
        RosterError, RulesetError, ScheduleError, JournalError, ClusterError, TournamentError: one sentence; nothing has been
            written, unless a worker or a cluster is lost.
    """
    ruleset = Ruleset.make(rules, **changes)
    entrants = [entrant(entry) for entry in _entries(players)]
    n_workers = whole(workers)
    if n_workers is None or n_workers < 1:
        raise TournamentError(f"workers={shown(workers)} must be a whole number of at least 1")
    if engine not in ENGINES:
        raise TournamentError(f"engine={shown(engine)} must be {' or '.join(ENGINES)}")
    if address is not None and (engine != "ray" or not isinstance(address, str) or not address):
        raise TournamentError(f"address={shown(address)} must be the address of a running Ray cluster, for engine ray")
    if error is not None and not (is_real(error) and 0 < error < MOST_ERROR):
        raise TournamentError(f"error={shown(error)} must be a number between 0 and {MOST_ERROR}")
    if seconds is not None and not (is_real(seconds) and 0 < seconds <= MOST_SECONDS):
        raise TournamentError(f"seconds={shown(seconds)} must be a number above 0 and at most {MOST_SECONDS}")
    if file is not None and not isinstance(file, str | os.PathLike):
        raise TournamentError(f"file={shown(file)} must be the path of a file of results")
    names = tuple(entrant.name for entrant in entrants)
    # The first schedule refuses what cannot be before any player is made; how many deals a block has depends on the players.
    probe = Schedule(
        rules=ruleset, names=names, seed=seed, deals=deals, share=share, losses=losses,
        common_random_numbers=common_random_numbers, block=1,
    )  # fmt: skip
    crew = Crew(probe, entrants, seconds)
    if block is None:
        # A player that searches has worlds, and saves nothing by deciding for many tables at once.
        batched = all(hasattr(player, "act_states") and not hasattr(player, "worlds") for player in crew.players)
        block = min(block_size(n_tables(len(names), ruleset.players), batched=batched), deals)
    schedule = crew.schedule = replace(probe, block=block)
    header = {
        **schedule.header,
        "fingerprints": [entrant.fingerprint for entrant in entrants],
        "seconds": None if seconds is None else float(seconds),
        "error": None if error is None else float(error),
    }
    result = Result(schedule, error=error)
    result.warnings = crew.warnings() + (["the time limit makes results depend on the machine"] if seconds is not None else [])
    with ExitStack() as stack:
        stack.callback(crew.close)
        cluster = None
        if engine == "ray":
            make = partial(crew_elsewhere, VERSION, schedule, entrants, seconds)
            cluster = stack.enter_context(closing(RayCluster(make, workers=n_workers, address=address)))
        store = stack.enter_context(closing(Journal(file, header))) if file is not None else None
        if store:
            for line in store.lines():
                if not result.fits(line):
                    raise store.damaged(result.blocks)
                result.add(line)
        blocks = range(result.blocks, schedule.blocks)
        played = cluster.lines(blocks) if cluster else _play_blocks(crew, entrants, seconds, blocks, n_workers)
        lines = stack.enter_context(closing(played))
        for line in () if result.certain else lines:
            if store:
                store.append(line)
            result.add(line)
            if on_block:
                on_block(result)
            if result.certain:
                break
    return result


def _play_blocks(
    crew: Crew,
    entrants: Sequence[Entrant],
    seconds: float | None,
    blocks: range,
    workers: int,
) -> Generator[dict[str, Any], None, None]:
    """The lines of blocks in order: played here as long as starting workers would not pay, then by workers.

    Closed before its end it drops what is in flight.
    """
    while blocks:
        started = time.monotonic()
        line = crew.line(blocks[0])
        left = (time.monotonic() - started) * (len(blocks) - 1)
        yield line
        blocks = blocks[1:]
        if workers > 1 and len(blocks) > 1 and left > SMALL:
            break
    if not blocks:
        return
    pool = ProcessPoolExecutor(
        min(workers, len(blocks)),
        get_context("spawn"),
        initializer=_start_worker,
        initargs=(crew.schedule, list(entrants), seconds),
    )
    try:
        yield from _in_order(pool, blocks, 2 * workers)
    except BrokenProcessPool:
        raise TournamentError(FELL) from None
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _in_order(pool: ProcessPoolExecutor, blocks: range, ahead: int) -> Iterator[dict[str, Any]]:
    waiting: deque[Future[dict[str, Any]]] = deque()
    for block in blocks:
        waiting.append(pool.submit(_work, block))
        if len(waiting) > ahead:
            yield waiting.popleft().result()
    while waiting:
        yield waiting.popleft().result()
