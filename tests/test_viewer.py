"""The pages of matches, without a browser: words, frames, and what is written."""

import json
import re
from itertools import groupby, pairwise
from pathlib import Path

import numpy as np
import onnx
import pytest
from example import EXAMPLE
from onnx import TensorProto, helper
from pages import applied, page_data

from napoleon_env import Match, Ruleset, make_player, read_records
from napoleon_env.__main__ import run
from napoleon_env.agent import METADATA_KEY, OnnxPlayer, agent_metadata
from napoleon_env.notation import ACTION_NAMES, CARDS, N_ACTIONS
from napoleon_env.observation import OBSERVATION_SIZE
from napoleon_env.record import RecordError, replay, write_records
from napoleon_env.solver import Solver
from napoleon_env.viewer.frames import changes, finished, frame, match_frames
from napoleon_env.viewer.page import PageError, document, match_page, policy_player
from napoleon_env.viewer.words import LANGUAGES, action_text, page_words

ROOT = Path(__file__).resolve().parent.parent
CASES = sorted((ROOT / "seeds" / "cases").glob("*.jsonl"))


def played(preset: str, players: int, *, deals: int = 2, seed: int = 5) -> Match:
    """A match of the rule of thumb against itself."""
    match, player = Match(preset, seed=seed, players=players, deals=deals), make_player("rule")
    while match.seat is not None:
        match.play(player.act(match.view(match.seat)))
    return match


# Words.


def test_every_language_has_every_word_with_the_same_places_in_it() -> None:
    words = page_words()
    assert list(words) == list(LANGUAGES)
    for key, english in words["en"]["text"].items():
        for language in LANGUAGES:
            there = words[language]["text"][key]
            assert there.strip() == there != "", (key, language)
            assert sorted(re.findall(r"{\w+}", there)) == sorted(re.findall(r"{\w+}", english)), (key, language)
            if key in ("suits", "suits of", "courts", "letters", "answers"):
                assert len(there.split()) == len(english.split())


def test_every_word_is_used_and_every_word_used_is_there() -> None:
    folder = ROOT / "napoleon_env" / "viewer"
    sources = "".join(path.read_text() for path in (*folder.rglob("*.js"), folder / "terminal.py"))
    there = set(page_words()["en"]["text"])
    named = set(re.findall(r"""(?:\bsay|self\.say)\(\s*["']([^"']+)["']""", sources))
    assert named <= there
    by_phase = {f"{phase}?" for phase in ("auction", "announce", "exchange", "trump")}  # of `question`
    of_cards = {"suits", "suits of", "letters", "courts", "card", "trump is", "discard", "discards"}  # of `action_text`
    listed = {key for key in there if re.search(rf"""["']{re.escape(key)}["']|\b{re.escape(key)}:""", sources)}
    assert there - named - by_phase - of_cards - listed - set(ACTION_NAMES) == set()


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_two_actions_have_the_same_words(language: str) -> None:
    for spoken in (False, True):
        texts = [action_text(language, name, spoken=spoken) for name in ACTION_NAMES]
        assert len(set(texts)) == N_ACTIONS


def test_cards_are_named_as_each_language_names_them() -> None:
    named = {language: (action_text(language, "JS"), action_text(language, "JS", spoken=True)) for language in LANGUAGES}
    assert named == {
        "en": ("J♠", "jack of spades"),
        "de": ("B♠", "Pik Bube"),
        "pt": ("J♠", "valete de espadas"),
        "ru": ("В♠", "валет пик"),
    }
    assert action_text("ru", "hold") == "здесь"
    assert action_text("pt", "pass") == "passo"
    assert action_text("en", "TD") == "10♦"


# Frames.


@pytest.mark.parametrize("preset", ["german", "portuguese", "russian", "english"])
@pytest.mark.parametrize("players", [2, 6])
def test_frames_follow_a_match_decision_by_decision(preset: str, players: int) -> None:
    match = played(preset, players)
    frames = match_frames(match)
    chosen = [(now["to_act"], now["chosen"]) for now in frames if "chosen" in now]
    assert chosen == [entry for deal in match.history for entry in deal.log]
    ends = [now for now in frames if now["result"]]
    assert [end["result"]["payoffs"] for end in ends] == [deal.payoffs for deal in match.history]
    assert [end["scores"] for end in ends] == [deal.scores for deal in match.history]
    assert [end["pot"] for end in ends] == [deal.pot if match.rules.has_pot else None for deal in match.history]
    assert frames[-1]["winners"] == match.winners
    for before, after in pairwise(frames):
        if "chosen" in before:
            assert after["last"] == [before["to_act"], before["chosen"]]
        if before.get("chosen") in CARDS:
            assert after["tricks"][-1][-1] == [before["to_act"], before["chosen"]]
            assert before["chosen"] not in after["hands"][before["to_act"]]


def test_the_winner_of_a_trick_is_the_highest_trump_or_card_of_its_suit() -> None:
    frames = match_frames(replay(EXAMPLE))  # hearts are trump: AH 6D, KS 6S, TH JD to seat 1; JS 7D to seat 1, 6C JC to seat 0
    assert frames[-1]["takers"] == [1, 1, 1, 1, 0]
    assert frames[-1]["won"] == [1, 4]
    assert [now["winning"] for now in frames if len(now["tricks"]) == 1] == [1, 1]


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_every_case_of_the_rules_can_be_shown(path: Path) -> None:
    for _, record in read_records(path):
        frames = match_frames(replay(record))
        assert applied(json.loads(json.dumps(changes(frames)))) == [
            {**dict.fromkeys(applied(changes(frames))[i]), **now} for i, now in enumerate(frames)
        ]
        assert frames[-1]["scores"] == record["scores"]


def test_a_match_broken_off_is_shown_as_far_as_it_went() -> None:
    match = Match("german", seed=1, dealer=3)
    assert len(match_frames(match)) == 1
    match.play("bid 3")
    frames = match_frames(match)
    assert [now["to_act"] for now in frames] == [0, 1]
    assert frames[-1]["result"] is None
    assert "chosen" not in frames[-1]


def test_deals_are_counted_without_the_void_ones() -> None:
    match = Match("german", seed=1, dealer=3, deals=2)
    for _ in range(4):
        match.play("pass")
    assert match.history[0].void
    player = make_player("rule")
    while match.seat is not None:
        match.play(player.act(match.view(match.seat)))
    assert [deal.void for deal in match.history] == [True, False, False]
    # The void deal is the first of two, and so is the one that is dealt in its place; each keeps its number to its end.
    assert [key for key, _ in groupby(now["number"] for now in match_frames(match))] == [1, 2]
    assert [{now["number"] for now in match_frames(match) if now["deal"] == deal} for deal in range(3)] == [{1}, {1}, {2}]


def test_a_seats_frame_is_made_of_its_view_alone() -> None:
    match = Match("russian", seed=4, dealer=0)
    for action in ["bid 1", "pass", "pass", "pass"]:
        match.play(action)
    match.play(next(name for name in match.legal() if name.startswith("discard")))
    mine, other = frame(match.view(0), 0), frame(match.view(1), 1)
    assert mine["exchange"] == [match.discarded, match.drawn]
    assert other["exchange"] == [None, None]
    assert other["last"] == [0, "discard ?"]
    assert other["hands"][0] == [None] * 5
    assert other["hands"][1] == match.hands[1]


def test_the_end_of_the_deal_before_is_shown_as_the_seat_saw_it() -> None:
    match, player = Match("russian", seed=6, deals=2), make_player("rule")
    assert finished(match.view(0)) is None
    while not match.history:
        assert match.seat is not None
        match.play(player.act(match.view(match.seat)))
    end = finished(match.view(2))
    assert end is not None
    assert end["result"]["payoffs"] == match.history[0].payoffs
    assert all(card is None for seat in (0, 1, 3) for card in end["hands"][seat])


# What was computed of a decision.


def test_losses_are_what_the_chosen_card_gave_away_with_open_cards() -> None:
    match = Match.deal("german", players=2, hand_size=3, dealer=1, hands=[["AS", "KS", "3D"], ["2S", "AD", "4D"]])
    for action in ["bid 2", "pass", "3D", "4D", "AD", "KS", "2S", "AS"]:
        match.play(action)
    lead = next(now for now in match_frames(match, solver=Solver()) if now["phase"] == "play")
    assert lead["chosen"] == "3D"
    rows = {name: (payoff, loss) for name, _, payoff, loss in lead["decision"]["rows"]}
    # A spade first makes spades trump, and two of them are high: +2. 3D makes diamonds trump, of which seat 1 has the two
    # that are left, and both take a trick: one trick of three, so -2, which is 4 less.
    assert rows == {"AS": (2, 0), "KS": (2, 0), "3D": (-2, 4)}
    assert sorted(lead["decision"]["best"]) == ["AS", "KS"]


def test_probabilities_and_the_value_head_of_an_agent_stand_beside_its_decisions(tmp_path: Path) -> None:
    path = tmp_path / "agent.onnx"
    path.write_bytes(agent_with_value(0.25))
    match = played("russian", 3)
    frames = match_frames(match, player=OnnxPlayer(path))
    decisions = [now["decision"] for now in frames if "chosen" in now]
    assert all(decision["value"] == 0.25 for decision in decisions)
    for decision in decisions:  # the logits are the action's id over 100: softmax
        ids = np.array([ACTION_NAMES.index(name) for name, *_ in decision["rows"]])
        expected = np.exp(ids / 100) / np.exp(ids / 100).sum()
        assert [row[1] for row in decision["rows"]] == pytest.approx(expected, abs=1e-4)
        assert all(row[2:] == [None, None] for row in decision["rows"])


def agent_with_value(value: float) -> bytes:
    """An agent file whose logits are the actions' ids over 100, and whose value is always the same."""
    ramp = helper.make_tensor("ramp", TensorProto.FLOAT, [N_ACTIONS], (np.arange(N_ACTIONS) / 100).tolist())
    nodes = [
        helper.make_node("Cast", ["action_mask"], ["legal"], to=TensorProto.BOOL),
        helper.make_node("Where", ["legal", "ramp", "low"], ["logits"]),
        helper.make_node("ReduceMax", ["logits"], ["most"], axes=[1], keepdims=0),
        helper.make_node("Mul", ["most", "zero"], ["none"]),
        helper.make_node("Add", ["none", "known"], ["value"]),
    ]
    constants = [
        ramp,
        *(helper.make_tensor(n, TensorProto.FLOAT, [], [x]) for n, x in (("low", -1e9), ("zero", 0.0), ("known", value))),
    ]
    sizes = (("observation", OBSERVATION_SIZE), ("action_mask", N_ACTIONS))
    inputs = [helper.make_tensor_value_info(name, TensorProto.INT8, ["batch", size]) for name, size in sizes]
    outputs = [
        helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", N_ACTIONS]),
        helper.make_tensor_value_info("value", TensorProto.FLOAT, ["batch"]),
    ]
    graph = helper.make_graph(nodes, "fixed", inputs, outputs, constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    helper.set_model_props(model, {METADATA_KEY: json.dumps(agent_metadata([Ruleset.make("russian")], "fixed", {}))})
    onnx.checker.check_model(model)
    return model.SerializeToString()


def test_a_player_without_probabilities_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("def policy(view):\n    return view.legal_ids()[0]\n")
    with pytest.raises(PageError, match=r"mine.py:policy' does not tell .* it has no probabilities\(view\)"):
        policy_player(f"{tmp_path / 'mine.py'}:policy")


# Pages.


def test_a_page_holds_all_it_needs_and_names_no_other_place() -> None:
    page = match_page([("m", played("english", 4), None)])
    assert "http://" not in page.replace("http://www.w3.org/2000/svg", "")
    assert "https://" not in page
    assert not re.search(r"<(script|link|img|iframe)[^>]* src=", page)
    assert not re.search(r"@import|url\(", page)
    assert "default-src 'none'" in page


def test_text_of_a_record_cannot_become_part_of_the_page() -> None:
    notes = {"players": ["</script><script>alert(1)</script>", "<b>"], "<i>": "<!--"}
    page = match_page([("</title><script>", replay(EXAMPLE), notes)])
    assert "<script>alert" not in page
    assert "<b>" not in page
    assert page_data(page)["matches"][0]["names"] == ["</script><script>alert(1)</script>", "<b>"]
    assert "&lt;/title&gt;" in document("</title>", "", {})


def test_the_language_is_that_of_the_rule_text_unless_named() -> None:
    assert page_data(match_page([("m", replay(EXAMPLE), None)]))["language"] == "ru"
    assert '<html lang="pt">' in match_page([("m", replay(EXAMPLE), None)], language="pt")


def test_view_writes_a_page_beside_the_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "two.jsonl"
    write_records(file, [played("german", 3), EXAMPLE])
    assert run(["view", str(file), "--lang", "en"]) == 0
    page = (tmp_path / "two.html").read_text()
    assert capsys.readouterr().out.strip() == str(tmp_path / "two.html")
    data = page_data(page)
    assert [match["title"] for match in data["matches"]] == ["two.jsonl · 1", "two.jsonl · 2"]
    assert applied(data["matches"][1]["frames"])[-1]["scores"] == [4, -8]
    assert run(["view", str(file), "--match", "2", "--out", str(tmp_path / "one.html"), "--no-worth", "--agent", "rule"]) == 0
    (match,) = page_data((tmp_path / "one.html").read_text())["matches"]
    assert match["frames"][0]["decision"]["rows"][0][1] is not None


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (["none.jsonl"], 2, "the file cannot be read"),
        (["{file}", "--lang", "fr"], 2, "language 'fr' does not exist: there are en, de, pt, ru"),
        (["{file}", "--match", "7"], 2, "there is no match 7"),
        (["{file}", "--out", "x.html", "--serve"], 2, "give one of the two"),
        (["{file}", "--port", "1"], 2, "--port goes with --serve"),
        (["{file}", "--agent", "nobody"], 2, "player 'nobody' does not exist"),
        (["{file}", "--out", "no/such/folder.html"], 2, "there is no folder no/such"),
        (["{wrong}"], 1, "wrong.jsonl: line 1: scores are [4, -7] but must be [4, -8]"),
        (["{wrong}", "--match", "2"], 2, "wrong.jsonl: line 2: "),
    ],
)
def test_view_refuses_in_one_sentence(
    arguments: list[str], code: int, sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good, wrong = tmp_path / "good.jsonl", tmp_path / "wrong.jsonl"
    write_records(good, [EXAMPLE])
    wrong.write_text(json.dumps({**EXAMPLE, "scores": [4, -7]}) + '\n{"rules": {"preset": "german"}}\n')
    assert run(["view", *(text.format(file=good, wrong=wrong) for text in arguments)]) == code
    error = capsys.readouterr().err
    assert sentence in error
    assert error.count("\n") == 1
    assert not list(tmp_path.glob("*.html"))


def test_a_match_without_its_history_is_refused() -> None:
    match = played("german", 3)
    match.history.clear()
    with pytest.raises(RecordError, match="its history holds 0"):
        match_frames(match)
