"""What a rule set may be and what is refused, with which fields named (RULES.md section 6)."""

import copy
import json
import pickle
import random
from dataclasses import FrozenInstanceError, asdict, fields, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from random_rules import FIELDS, random_rules

from napoleon_env.match import Match
from napoleon_env.notation import RANKS
from napoleon_env.ruleset import BOOLS, CHOICES, PAIRS, PRESETS, WHOLE, Ruleset, RulesetError

MILLION = 1_000_000


def refusal(rules: Any = "german", /, **changes: Any) -> str:
    """The sentence with which a rule set is refused."""
    with pytest.raises(RulesetError) as caught:
        Ruleset.make(rules, **changes)
    sentence = str(caught.value)
    assert "\n" not in sentence
    assert len(sentence) < 400
    return sentence


IMPOSSIBLE: list[tuple[str, dict[str, Any], str]] = [
    # (preset, changes, the fields that the sentence must name)
    ("german", {"players": 6, "lowest_rank": "9"}, "players hand_size suits lowest_rank"),  # 30 cards of 24
    ("german", {"players": 6, "hand_size": 8, "lowest_rank": "4"}, "players hand_size suits lowest_rank"),  # 48 of 44
    ("german", {"suits": 1}, "players hand_size suits lowest_rank"),  # 20 of 13
    ("german", {"lowest_rank": "A"}, "players hand_size suits lowest_rank"),
    ("russian", {"players": 6, "hand_size": 7}, "players hand_size suits lowest_rank"),  # 42 of 36
    ("russian", {"suits": 2}, "players hand_size suits lowest_rank"),  # 20 of 18
    ("portuguese", {"players": 5, "suits": 2, "lowest_rank": "3"}, "players hand_size suits lowest_rank"),  # 25 of 24
    ("russian", {"players": 6, "hand_size": 6}, "exchange players hand_size"),  # 36 of 36: nothing to draw
    (
        "german",
        {"exchange": True, "players": 4, "suits": 2, "hand_size": 5, "lowest_rank": "5"},
        "exchange hand_size",
    ),  # 20 of 20
    ("german", {"min_bid": 6}, "min_bid hand_size"),
    ("german", {"hand_size": 1}, "min_bid hand_size"),  # 2 is the lowest bid
    ("english", {"hand_size": 4, "min_bid": 5}, "min_bid hand_size"),
    ("portuguese", {"dealer_holds": True}, "dealer_holds auction"),
    ("english", {"dealer_holds": True}, "dealer_holds auction"),
    ("russian", {"auction": "once"}, "dealer_holds auction"),
    ("english", {"hand_size": 3}, "misere hand_size"),
    ("english", {"min_bid": 5}, "misere min_bid"),
    ("german", {"misere": (3, 3), "hand_size": 2}, "misere hand_size"),
    ("german", {"misere": (3, 3), "hand_size": 8, "min_bid": 6}, "misere min_bid"),
    ("english", {"napoleon": "announced"}, "wellington napoleon"),
    ("german", {"napoleon": "announced", "wellington": (20, 20)}, "wellington napoleon"),
    ("russian", {"wellington": (20, 20)}, "wellington napoleon"),
    ("german", {"napoleon": "announced", "blucher": (20, 20)}, "blucher napoleon"),
    ("german", {"blucher": (20, 20)}, "blucher wellington"),
    ("english", {"wellington": None}, "blucher wellington"),
    ("english", {"made": "exactly", "stop": "made"}, "stop made"),
    ("russian", {"made": "exactly"}, "stop made"),
    ("portuguese", {"stop": "made"}, "stop made"),
    ("portuguese", {"misere": (3, 3)}, "payment misere"),
    ("portuguese", {"wellington": (3, 3)}, "payment wellington"),
    ("portuguese", {"wellington": (3, 3), "blucher": (3, 3)}, "payment wellington blucher"),
    ("portuguese", {"misere": (0, 0)}, "payment misere"),
    ("portuguese", {"ante": 1}, "ante"),
    ("portuguese", {"ante": 1, "napoleon": "announced"}, "payment"),
    ("portuguese", {"napoleon": "announced"}, "payment napoleon"),
    ("portuguese", {"stake": 2}, "payment stake"),
    ("portuguese", {"slam": (2, 2)}, "payment slam"),
    ("portuguese", {"slam": (1, 2)}, "payment slam"),
    ("portuguese", {"slam": (0, 0)}, "payment slam"),
    ("german", {"payment": "points_only"}, "payment slam"),
    ("russian", {"payment": "points_only"}, "payment"),
    ("english", {"payment": "points_only"}, "payment"),
    ("german", {"ante": 1}, "ante napoleon"),
    ("english", {"ante": MILLION}, "ante napoleon"),
    ("russian", {"napoleon": "bid"}, "ante napoleon"),
]


@pytest.mark.parametrize(("preset", "changes", "named"), IMPOSSIBLE)
def test_what_cannot_be_played_is_refused_with_the_fields_named(preset: str, changes: dict[str, Any], named: str) -> None:
    sentence = refusal(preset, **changes)
    assert [name for name in named.split() if name not in sentence] == []


WRONG_VALUES: dict[str, list[Any]] = {
    **{name: [least - 1, greatest + 1, -1] for name, (least, greatest) in WHOLE.items()},
    **{name: ["", "LEFT", " left", "first", 0, 1, True, None, ["left"], b"left", ()] for name in CHOICES},
    **{name: [0, 1, "true", "no", None, 1.0, [], np.int64(1), np.array([True, False])] for name in BOOLS},
    "lowest_rank": ["1", "10", "a", "t", "", "23", "2 ", 2, 6, 10, None, True, 6.0, ["6"], b"6", "٢"],
}
for name in WHOLE:
    WRONG_VALUES[name] += [2.0, 2.5, True, False, np.True_, "2", None, [2], (2,), float("nan"), float("inf"), Fraction(2), 2j]
    WRONG_VALUES[name] += [np.float64(2), np.array([2, 2]), np.array(2.0), 10**30, -(10**30), 10**5000, b"2", {}, object()]
for name in PAIRS:
    WRONG_VALUES[name] = [
        3,
        "33",
        "none",
        (3,),
        (1, 2, 3),
        (),
        (1, -1),
        (-1, 1),
        (1, MILLION + 1),
        (1.0, 1),
        (1, True),
        ("1", 1),
    ]
    WRONG_VALUES[name] += [
        (None, None),
        (1, None),
        {1: 2},
        {1, 2},
        True,
        False,
        0,
        [[1], 2],
        ((1, 2), (3, 4)),
        (10**5000, 1),
        object(),
    ]
WRONG_VALUES["slam"].append(None)


@pytest.mark.parametrize("name", FIELDS)
def test_a_wrong_value_is_refused_with_the_field_named(name: str) -> None:
    for value in WRONG_VALUES[name]:
        for preset in PRESETS:
            assert name in refusal(preset, **{name: value}), value
            assert name in refusal({"preset": preset, name: value}), value
        with pytest.raises(RulesetError, match=name):
            Ruleset(**{name: value})


def test_every_allowed_value_of_a_field_is_accepted() -> None:
    small = {"players": 2, "hand_size": 4, "min_bid": 1}
    good: dict[str, list[Any]] = {
        "players": [2, 3, 4, 5, 6],
        "suits": [1, 2, 3, 4],
        "lowest_rank": list(RANKS[:-1]),  # the aces alone are not eight cards: see below
        "hand_size": [1, 2, 3, 4, 5, 6, 7, 8],
        "min_bid": [1, 2, 3, 4],
        "stake": [1, MILLION],
        "deals": [1, MILLION],
        "max_void_deals": [1, MILLION],
        "ante": [0],
        **{name: list(words) for name, words in CHOICES.items() if name != "payment"},
        **{name: [False, True, np.False_, np.True_] for name in BOOLS},
        **{name: [(0, 0), (MILLION, MILLION), [1, 2], (np.int8(1), np.uint64(2))] for name in PAIRS if name != "blucher"},
    }
    for name, values in good.items():
        for value in values:
            changes = {**small, name: value}
            if name == "exchange":
                changes["players"] = 3
            expected = tuple(int(n) for n in value) if name in PAIRS else value
            made = Ruleset.make("german", **changes)
            assert getattr(made, name) == expected
            assert type(getattr(made, name)) is type(asdict(PRESETS["english"])[name])
    assert Ruleset.make("german", players=2, hand_size=2, lowest_rank="A").pack_size == 4
    assert Ruleset.make("russian", **small, ante=MILLION).ante == MILLION
    assert Ruleset.make("portuguese", misere=None, wellington=None, blucher=None, slam=[1, 1]) == PRESETS["portuguese"]


@pytest.mark.parametrize(
    ("preset", "changes"),
    [
        ("german", {"players": 6, "hand_size": 8}),  # 48 of 52
        ("german", {"players": 6, "hand_size": 8, "lowest_rank": "3"}),  # 48 of 48
        ("german", {"players": 6, "hand_size": 8, "lowest_rank": "2", "exchange": True}),  # four to draw from
        ("german", {"players": 6, "hand_size": 6, "lowest_rank": "6"}),  # all 36
        ("russian", {"players": 5, "hand_size": 7}),  # 35 of 36: one to draw
        ("german", {"players": 2, "suits": 1, "lowest_rank": "K", "hand_size": 1, "min_bid": 1}),  # two cards
        ("german", {"players": 2, "suits": 2, "lowest_rank": "J", "hand_size": 2}),  # the small game of section 6
        ("german", {"min_bid": 5}),
        ("german", {"min_bid": 8, "hand_size": 8}),
        ("german", {"dealer_holds": True}),
        ("german", {"dealer_holds": True, "wellington": (20, 20), "blucher": (1, 1), "misere": (3, 3)}),
        ("english", {"auction": "circulating", "dealer_holds": True}),
        ("english", {"hand_size": 4, "min_bid": 4}),
        ("english", {"hand_size": 8, "min_bid": 1}),
        ("russian", {"misere": (3, 3)}),
        ("russian", {"misere": (3, 3), "trump": "chosen"}),
        ("german", {"misere": (3, 3), "made": "exactly", "stop": "decided"}),
        ("german", {"misere": (3, 3), "stop": "made"}),
        ("german", {"wellington": (20, 20), "hand_size": 1, "min_bid": 1}),
        ("portuguese", {"stop": "decided"}),
        ("portuguese", {"made": "at_least", "stop": "made"}),
        ("portuguese", {"exchange": True, "void": "must_trump", "first_speaker": "dealer"}),
        ("portuguese", {"payment": "each_defender", "slam": (2, 2), "stake": 5, "misere": (3, 3)}),
        ("portuguese", {"payment": "each_defender", "napoleon": "announced", "ante": 1}),
        ("portuguese", {"napoleon_failed": "double_pot_and_each"}),  # no effect, and no harm
        ("german", {"napoleon_failed": "double_pot_and_each"}),
        ("german", {"napoleon": "announced"}),  # a pot without an ante
        ("german", {"napoleon": "announced", "all_pass": "dealer_plays_one"}),
        ("german", {"all_pass": "dealer_plays_one", "min_bid": 5}),
        ("russian", {"ante": 0}),
        ("russian", {"slam": (0, 0)}),
        ("russian", {"hand_size": 1}),
        ("english", {"trump": "chosen", "suits": 2}),
        ("english", {"blucher": None}),
        ("english", {"blucher": None, "wellington": None, "misere": None}),
    ],
)
def test_what_can_be_played_is_accepted_and_can_be_dealt(preset: str, changes: dict[str, Any]) -> None:
    rules = Ruleset.make(preset, **changes)
    match = Match(rules, seed=1)
    for _ in range(3):
        match.play(match.legal()[0])


def conflicts(f: dict[str, Any]) -> list[set[str]]:
    """Which fields of good values do not go together: section 6 in plain Python, one set of names for each reason."""
    pack = f["suits"] * (len(RANKS) - RANKS.index(f["lowest_rank"]))
    stock = pack - f["players"] * f["hand_size"]
    special = {name for name in ("misere", "wellington", "blucher") if f[name] is not None}
    found = []
    if stock < 0:
        found.append({"players", "hand_size", "suits", "lowest_rank"})
    if f["exchange"] and stock == 0:
        found.append({"exchange", "players", "hand_size"})
    if f["min_bid"] > f["hand_size"]:
        found.append({"min_bid", "hand_size"})
    if f["dealer_holds"] and f["auction"] == "once":
        found.append({"dealer_holds", "auction"})
    if f["misere"] is not None and not (f["hand_size"] >= 4 and f["min_bid"] <= 4):
        found.append({"misere", "hand_size", "min_bid"})
    found += [{name, "napoleon"} for name in special - {"misere"} if f["napoleon"] == "announced"]
    if f["blucher"] is not None and f["wellington"] is None:
        found.append({"blucher", "wellington"})
    if f["stop"] == "made" and f["made"] == "exactly":
        found.append({"stop", "made"})
    if f["ante"] > 0 and f["napoleon"] != "announced":
        found.append({"ante", "napoleon"})
    if f["payment"] == "points_only":
        found += [{"payment", name} for name in special]
        found += [{"payment", name} for name, free in (("ante", 0), ("stake", 1), ("slam", (1, 1))) if f[name] != free]
        if f["napoleon"] == "announced":
            found.append({"payment", "napoleon"})
    return found


def test_any_combination_of_good_values_is_accepted_or_refused_as_section_6_says() -> None:
    rng, n_good, n_bad = random.Random(0), 0, 0
    while n_good < 1500 or n_bad < 4000:
        values = asdict(random_rules(rng))
        for name in rng.sample(FIELDS, rng.randint(0, 3)):
            if name in CHOICES:
                values[name] = rng.choice(CHOICES[name])
            elif name in BOOLS:
                values[name] = rng.random() < 0.5
            elif name in PAIRS:
                values[name] = rng.choice((None, (1, 1), (3, 0))) if name != "slam" else rng.choice(((1, 1), (2, 1)))
            else:
                values[name] = rng.choice(RANKS) if name == "lowest_rank" else rng.randint(*WHOLE[name])
        expected = conflicts(values)
        if expected:
            n_bad += 1
            with pytest.raises(RulesetError) as caught:
                Ruleset(**values)
            assert any(all(name in str(caught.value) for name in names) for names in expected), (values, str(caught.value))
        else:
            n_good += 1
            assert asdict(Ruleset(**values)) == values


def test_unknown_fields_and_presets_are_refused_by_name() -> None:
    assert "colour" in refusal("german", colour=1)
    assert "pack_size" in refusal("german", pack_size=52)
    assert "Players" in refusal({"preset": "german", "Players": 4})
    assert "notes" in refusal({"preset": "german", "notes": {}})
    for preset in ("nap", "German", "", None, 4, ["german"], 2.5, b"german", ("german",)):
        assert "preset" in refusal(preset)
        assert "preset" in refusal({"preset": preset})
    assert "german, portuguese, russian, english" in refusal("nap")
    assert "preset" in refusal({})
    assert "preset" in refusal({"players": 4})
    assert "preset" in refusal({"preset": {"preset": "german"}})
    assert len(refusal({"preset": "x" * 10_000_000})) < 400
    assert len(refusal({"preset": "german", "x" * 10_000_000: 1})) < 1000


def test_make_takes_a_preset_a_rule_set_or_a_header_and_changes() -> None:
    rules = Ruleset.make("russian", players=5, deals=3)
    assert (rules.players, rules.deals, rules.ante) == (5, 3, 1)
    assert Ruleset.make(rules) == rules
    assert Ruleset.make(rules, players=4, deals=1) == PRESETS["russian"]
    header = {"preset": "russian", "players": 5, "deals": 3}
    assert Ruleset.make(header) == rules
    assert Ruleset.make(header, players=2) == Ruleset.make("russian", players=2, deals=3)
    assert header == {"preset": "russian", "players": 5, "deals": 3}
    assert Ruleset.make() == PRESETS["german"] == Ruleset()


def test_a_header_gives_the_same_rule_set_back() -> None:
    for name, rules in PRESETS.items():
        assert rules.header == {"preset": name}
    assert Ruleset.make("german", wellington=(20, 20)).header == {"preset": "german", "wellington": [20, 20]}
    assert Ruleset.make("english", misere=None, deals=2).header == {"preset": "english", "misere": None, "deals": 2}
    rng = random.Random(1)
    for _ in range(500):
        rules = random_rules(rng)
        assert Ruleset.make(json.loads(json.dumps(rules.header))) == rules
        for name, preset in PRESETS.items():
            n_changes = sum(getattr(rules, field) != getattr(preset, field) for field in FIELDS)
            assert len(rules.header) - 1 <= n_changes, f"{name} is nearer"


def test_equal_rule_sets_are_one_key_and_copies_are_equal() -> None:
    rng = random.Random(2)
    for _ in range(50):
        rules = random_rules(rng)
        assert rules.struct.shape == (1,)  # also with the record cached
        for twin in (replace(rules), copy.copy(rules), copy.deepcopy(rules), pickle.loads(pickle.dumps(rules))):
            assert twin == rules
            assert hash(twin) == hash(rules)
            assert {rules: 1}[twin] == 1
            assert twin.struct == rules.struct
            assert str(twin) == str(rules)
    assert replace(PRESETS["german"], deals=2) != PRESETS["german"]
    assert Ruleset.make("german", wellington=[20, 20]) == Ruleset.make("german", wellington=(20, np.int64(20)))


def test_a_rule_set_cannot_be_changed() -> None:
    rules = PRESETS["german"]
    with pytest.raises(FrozenInstanceError):
        rules.players = 3  # that is the point
    with pytest.raises(ValueError, match="read-only"):
        rules.struct["players"] = 3


def test_the_record_of_the_compiled_rules_has_every_field() -> None:
    rng = random.Random(3)
    for _ in range(200):
        rules = random_rules(rng)
        row = rules.struct[0]
        for name in FIELDS:
            value = getattr(rules, name)
            if name in CHOICES:
                assert CHOICES[name][row[name]] == value
            elif name in PAIRS:
                assert tuple(row[name]) == (value or (0, 0))
                assert name == "slam" or row[f"has_{name}"] == (value is not None)
            elif name == "lowest_rank":
                assert RANKS[row[name]] == value
            else:
                assert row[name] == value
        assert row["pack_size"] == rules.pack_size == len(rules.pack)
        assert rules.stock_size == rules.pack_size - rules.players * rules.hand_size
        assert rules.has_pot == (rules.napoleon == "announced")


def test_the_most_that_a_contract_can_cost() -> None:
    def cost(preset: str, **changes: Any) -> int:
        return Ruleset.make(preset, **changes).worst_contract_cost

    assert cost("german") == 30  # Napoleon failed: 5 × 2 to each of three
    assert cost("german", wellington=(20, 20)) == 60
    assert cost("german", players=2, stake=3) == 30  # 10 × 3
    assert cost("german", slam=(2, 0)) == 12  # a bid of 4
    assert cost("english") == 60  # Blücher failed: 20 to each of three
    assert cost("russian") == 20  # 5 to each of three, and 5 into the pot
    assert cost("portuguese") == 1  # nobody pays; at least 1, so that an illegal action is never free


def table_of_common_md() -> list[list[str]]:
    """The rows of the table of fields in seeds/common.md, without its heading."""
    text = (Path(__file__).parent.parent / "seeds" / "common.md").read_text(encoding="utf-8")
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("| ")]
    first = rows.index(["field", "values", *PRESETS])
    return [row for row in rows[first + 1 :] if len(row) == 6]


def value_of(field: str, text: str) -> Any:
    """A cell of that table as a value."""
    if text.startswith("("):
        return tuple(int(number) for number in text.strip("()").split(","))
    named = {"none": None, "yes": True, "no": False}
    if text in named and field not in CHOICES:
        return named[text]
    return int(text) if field in WHOLE else text


def test_the_presets_are_those_of_the_table_in_seeds() -> None:
    table = {row[0].strip("`"): row[2:] for row in table_of_common_md()}
    assert sorted(table) == sorted(FIELDS)
    for name, column in zip(PRESETS, zip(*(table[field] for field in FIELDS), strict=True), strict=True):
        values = {field: value_of(field, text) for field, text in zip(FIELDS, column, strict=True)}
        assert asdict(PRESETS[name]) == values


def test_the_words_of_a_field_are_those_of_the_table_in_seeds() -> None:
    words = {row[0].strip("`"): tuple(row[1].split(", ")) for row in table_of_common_md()}
    assert {name: words[name] for name in CHOICES} == CHOICES


def test_the_tables_of_fields_name_every_field_once() -> None:
    grouped = [*WHOLE, *CHOICES, *BOOLS, *PAIRS, "lowest_rank"]
    assert sorted(grouped) == sorted(field.name for field in fields(Ruleset))
