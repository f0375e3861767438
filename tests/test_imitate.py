"""Networks that play as another player: they do, as far as it can be foretold; and what is gathered is kept."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playing import seen_id

import napoleon_env as ne
from agents.network import ROLES, ActorCritic, column_scales
from napoleon_env.match import View
from napoleon_env.roster import RosterError, make_player
from napoleon_env.ruleset import Ruleset, RulesetError, parse_changes
from napoleon_env.tournament import run_tournament
from train import imitate
from train.experience import BIDDING, MAX_LEGAL
from train.imitate import (
    PART,
    Answers,
    Args,
    ImitationError,
    compare,
    draw_owners,
    fit,
    gather,
    gather_all,
    load,
    main,
    play,
    read,
)

TINY = ("suits=2", "lowest_rank=Q", "hand_size=2", "auction=once", "all_pass=dealer_plays_one", "min_bid=1")


class FirstLegal:
    """Takes the first legal action there is, and knows no batches."""

    def act(self, view: View) -> int:
        return int(view.legal_ids()[0])


class Stubborn:
    """Always passes, also where that is illegal."""

    def act(self, view: View) -> str:
        return "pass"


class LastLegal:
    """Takes the last one: of calls, the highest."""

    def act(self, view: View) -> int:
        return int(view.legal_ids()[-1])


class Spy:
    """Raises where it is shown a card that its seat may not see."""

    def act_states(self, states: np.ndarray, rules: Ruleset, seats: np.ndarray, seeds: np.ndarray) -> np.ndarray:
        hands = states["hand"].copy()
        hands[np.arange(len(states)), seats] = 0
        if hands.any() or states["key"].any():
            raise AssertionError("it sees other hands")
        return make_player("random").act_states(states, rules, seats, seeds)


class Deadly:
    """Ends its process."""

    def act(self, view: View) -> Any:
        os._exit(1)


class Quitter:
    """Leaves as a program would."""

    def act(self, view: View) -> Any:
        raise SystemExit(0)


@pytest.fixture
def short_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts of four decisions in each match."""
    monkeypatch.setattr(imitate, "STEPS", 4)
    monkeypatch.setattr(imitate, "PART", 4 * imitate.MATCHES)


def test_of_a_player_that_draws_nothing_by_lot_it_learns_to_play_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    args = Args("counting", players=2, changes=TINY, out=tmp_path, decisions=2 * PART, workers=1, epochs=20, omit=())
    (tmp_path / "part-00000.1.partial").touch()
    main(args)
    assert not [*tmp_path.glob("*.partial")]
    assert f"plays as counting, learnt from {PART:,} answers" in capsys.readouterr().out.splitlines()[-1]
    agent = str(tmp_path / "agent.onnx")
    rules = Ruleset.make("german", players=2, **parse_changes(TINY))
    result = run_tournament([agent, "counting", "rule"], rules=rules, deals=400, seed=3)
    edges = result.edges()
    assert abs(edges[0, 1].mean) < 0.02
    assert edges[0, 2].mean == pytest.approx(edges[1, 2].mean, abs=0.02)
    found = make_player(agent).metadata["training"]
    assert found["imitated"] == "counting"
    assert [*found["held out"]] == [*ROLES]
    for mine in found["held out"].values():
        assert mine["agreement"] > 0.99
        assert mine["own agreement"] == 1.0


def test_a_player_that_draws_uniformly_cannot_be_foretold_better_than_that(tmp_path: Path) -> None:
    args = Args("random", players=3, out=tmp_path, others=("rule",), epochs=4, width=32)
    inputs = args.inputs()
    held, learnt = (play(args, inputs, number) for number in (0, 1))
    found = compare(fit(args, inputs, learnt), held)
    for number, role in enumerate(ROLES):
        choices = (held.legal[held.role == number] >= 0).sum(1)
        assert found[role]["decisions"] == len(choices)
        assert found[role]["surprise"] == pytest.approx(np.log(choices).mean(), rel=0.03)
        for kind in ("agreement", "own agreement"):  # with any fixed or random guess
            assert found[role][kind] == pytest.approx((1 / choices).mean(), abs=0.03)


def test_the_places_found_are_those_of_the_seats_own_numbering() -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):
        places, legal = rng.permutation(4).astype(np.int8), np.full((1, MAX_LEGAL), -1, np.int8)
        n = rng.integers(1, MAX_LEGAL + 1)
        legal[0, :n] = rng.choice(ne.N_ACTIONS, size=n, replace=False)
        own = int(rng.integers(ne.N_ACTIONS))
        seen, found = seen_id(ne.action_name(own), places), np.zeros(1, np.int8)
        imitate.find_places(np.array([own]), places[None], legal, found)
        assert found[0] == ([*legal[0, :n]].index(seen) if seen in legal[0, :n] else -1)


@pytest.mark.usefixtures("short_parts")
def test_a_player_without_batches_is_asked_too(tmp_path: Path) -> None:
    args = Args("test_imitate:FirstLegal", out=tmp_path, others=(), suit_order="fixed")
    found = play(args, args.inputs(), 0)
    assert (found.choice == 0).all()  # in fixed order the first legal action is the first of those seen
    assert (found.again == 0).all()
    assert (play(args, args.inputs(), 1).again == -1).all()


@pytest.mark.usefixtures("short_parts")
def test_the_player_is_asked_where_others_go(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    args = Args("test_imitate:FirstLegal", out=tmp_path, others=("test_imitate:LastLegal",), suit_order="fixed")
    monkeypatch.setattr(imitate, "OWN", 1.0)
    assert (play(args, args.inputs(), 1).role == BIDDING).all()  # all pass, and pass again
    monkeypatch.setattr(imitate, "OWN", 0.0)
    found = play(args, args.inputs(), 1)
    assert (found.role == BIDDING).mean() == 1 / 4  # the first to speak bids all tricks, and then cards are played
    assert (found.choice == 0).all()


@pytest.mark.usefixtures("short_parts")
@pytest.mark.parametrize("rules", ne.PRESETS)
def test_nobody_is_shown_what_a_seat_may_not_see(tmp_path: Path, rules: str) -> None:
    args = Args("test_imitate:Spy", rules=rules, out=tmp_path, others=("test_imitate:Spy",))
    found = play(args, args.inputs(), 0)
    assert ((found.legal >= 0).sum(1) >= 2).all()
    assert len(np.unique(found.choice)) > 4


def test_the_answers_do_not_depend_on_who_gathers(tmp_path: Path) -> None:
    parts = []
    for workers in (1, 2):
        args = Args("random", players=2, changes=TINY, out=tmp_path / str(workers), decisions=2 * PART, workers=workers)
        args.out.mkdir()
        parts.append([read(path, args.inputs()) for path in gather_all(args, args.inputs())])
    for one, other in zip(*parts, strict=True):
        assert one is not None
        assert other is not None
        for mine, theirs in zip(one, other, strict=True):
            assert (mine == theirs).all()
    assert (parts[0][0].choice != parts[0][1].choice).any()


def test_half_of_the_seats_are_the_players() -> None:
    owners = draw_owners(np.random.default_rng(0), 10_000, 4, 3)
    share = [float((owners == number).mean()) for number in range(4)]
    assert share == pytest.approx([1 / 2, 1 / 6, 1 / 6, 1 / 6], abs=0.02)
    assert not draw_owners(np.random.default_rng(0), 100, 4, 0).any()


def test_parts_that_are_there_are_kept_and_damaged_ones_gathered_again(tmp_path: Path) -> None:
    args = Args("rule", players=2, out=tmp_path)
    inputs = args.inputs()
    path = gather(args, inputs, 1)
    whole, written = path.read_bytes(), path.stat().st_mtime_ns
    answers = read(path, inputs)
    assert answers is not None
    assert gather(args, inputs, 1) == path
    assert path.stat().st_mtime_ns == written
    path.write_bytes(whole[:-100])
    assert read(path, inputs) is None
    gather(args, inputs, 1)
    mended = read(path, inputs)
    assert mended is not None
    for mine, theirs in zip(mended, answers, strict=True):
        assert (mine == theirs).all()
    for wrong in (answers._replace(choice=answers.choice + 100), answers._replace(legal=np.full_like(answers.legal, 125))):
        np.savez(path, **wrong._asdict())
        assert read(path, inputs) is None
    path.write_bytes(b"foreign")
    assert read(path, inputs) is None
    with pytest.raises(ImitationError, match="was damaged meanwhile"):
        load([path], inputs)
    np.savez(path, **{name: np.array([None], object) for name in Answers._fields})  # would run code if it were unpickled
    assert read(path, inputs) is None
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_a_lost_process_ends_the_run_in_a_sentence(tmp_path: Path) -> None:
    args = Args("test_imitate:Deadly", players=2, out=tmp_path, workers=1, decisions=1)
    with pytest.raises(ImitationError, match="a process that gathered was lost: the same command goes on"):
        main(args)


def test_what_cannot_be_is_refused_in_a_sentence(tmp_path: Path) -> None:
    for name in ("decisions", "workers", "width", "depth", "epochs", "minibatch"):
        with pytest.raises(ImitationError, match=f"{name}=0 must be at least 1"):
            main(replace(Args("rule", out=tmp_path / "none"), **{name: 0}))
    for seed in (-1, 2**64):
        with pytest.raises(ImitationError, match=f"seed={seed} must be"):
            main(Args("rule", out=tmp_path / "none", seed=seed))
    with pytest.raises(ImitationError, match="omit=stars is no feature"):
        main(Args("rule", out=tmp_path / "none", omit=("stars",)))
    with pytest.raises(ImitationError, match="deals=8 must be 1"):
        main(Args("rule", out=tmp_path / "none", changes=("deals=8",)))
    for lr in (0, 1, float("nan")):
        with pytest.raises(ImitationError, match="lr="):
            main(Args("rule", out=tmp_path / "none", lr=lr))
    with pytest.raises(RosterError, match="nosuch"):
        main(Args("rule", out=tmp_path / "none", others=("nosuch",)))
    with pytest.raises(ImitationError, match="human cannot be asked"):
        main(Args("human", out=tmp_path / "none"))
    with pytest.raises(RulesetError):
        main(Args("rule", out=tmp_path / "none", players=9))
    assert not (tmp_path / "none").exists()
    (tmp_path / "file").write_text("")
    with pytest.raises(ImitationError, match="cannot be written into"):
        main(Args("rule", out=tmp_path / "file"))
    (tmp_path / "answers.json").write_bytes(b"\xff")
    with pytest.raises(ImitationError, match="take another --out"):
        main(Args("rule", out=tmp_path))


@pytest.mark.parametrize(("player", "why"), [("Stubborn", "the answer is illegal"), ("Quitter", "the player ended with")])
def test_a_player_that_does_not_answer_is_refused_in_a_sentence(tmp_path: Path, player: str, why: str) -> None:
    args = Args(f"test_imitate:{player}", players=2, out=tmp_path)
    with pytest.raises(ImitationError, match=f"test_imitate:{player}' cannot be asked: {why}"):
        play(args, args.inputs(), 1)


def test_the_scales_bring_every_column_into_the_unit_interval() -> None:
    args = Args("random", players=6, rules="russian")
    inputs = args.inputs()
    net, answers = ActorCritic(inputs, *column_scales()), play(args, inputs, 1)
    largest = np.abs(answers.rows * net.scale[: net.n_seen].numpy()).max(0)
    assert largest.max() <= 1
    assert (largest > 0).mean() > 0.9
