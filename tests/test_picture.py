"""A match as a picture: its size, that it tells all there is to see, and where the seats are."""

import random
import sys
from itertools import combinations

import numpy as np
import pytest
from test_render import random_action

from napoleon_env import picture, render
from napoleon_env.match import Match
from napoleon_env.ruleset import PRESETS


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("players", [2, 3, 4, 5, 6])
def test_a_picture_is_an_image_of_every_number_of_players(preset, players):
    match = Match(preset, seed=1, players=players)
    image = picture.picture(match, size=(480, 360))
    assert image.shape == (360, 480, 3)
    assert image.dtype == np.uint8
    assert len(np.unique(image @ [1, 256, 65536])) > 500  # many colours
    assert np.array_equal(image, picture.picture(match.copy(), size=(480, 360)))


def test_a_picture_changes_with_every_action_and_with_who_looks():
    match, rng = Match("russian", seed=4, players=3, deals=2), random.Random(4)
    before = [picture.picture(match, None, (320, 240))]
    while not match.over:
        views = [picture.picture(match, seat, (320, 240)) for seat in range(3)]
        match.play(random_action(match, rng))
        before.append(picture.picture(match, None, (320, 240)))
        assert not np.array_equal(before[-1], before[-2])
        assert not np.array_equal(views[0], views[1])
    assert len(before) > 10


@pytest.mark.parametrize("size", [(64, 64), (333, 222), (1000, 300), [120, 500]])
def test_a_picture_has_the_size_asked_for(size):
    assert picture.picture(Match("russian", seed=1), 0, size).shape == (size[1], size[0], 3)


@pytest.mark.parametrize("size", [(63, 720), (960, 2049), (960,), 960, (960.0, 720), None])
def test_a_size_that_cannot_be_drawn_is_refused(size):
    with pytest.raises(render.RenderError, match="must be a width and a height from 64 to 2048"):
        picture.picture(Match("german", seed=1), size=size)


@pytest.mark.parametrize("players", [2, 3, 4, 5, 6])
def test_seats_sit_clockwise_from_the_bottom_and_do_not_overlap(players):
    match = Match("german", seed=1, players=players, hand_size=8)
    seen = render.seen_table(match, 1)
    places = picture._places(seen)
    assert picture._clockwise(seen) == [(1 + i) % players for i in range(players)]
    assert places[0] == max(places, key=lambda place: place[1])
    assert players == 2 or places[1][0] < places[0][0] < places[-1][0]  # the next seat is to the left, the last to the right
    # A hand of 8 is at most 204 wide; with a call above or below it, its plate and tricks it is within 66 of the middle.
    for (x0, y0), (x1, y1) in combinations(places, 2):
        assert abs(x0 - x1) > 204 or abs(y0 - y1) > 126
    for x, y in places:
        assert x - 102 > 20
        assert x + 102 < 700
        assert y - 50 > 20
        assert y + 80 < 700


def test_without_pillow_the_sentence_names_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "PIL", None)
    monkeypatch.setitem(sys.modules, "PIL.Image", None)
    match = Match("german", seed=1)
    assert render.text(match)
    with pytest.raises(ImportError, match=r"pip install napoleon-env\[image\]"):
        picture.picture(match)
