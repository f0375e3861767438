"""A match as a picture: the whole table from above, or what one seat may know of it (a `render.SeenTable`).

It needs Pillow (extra `image`) and nothing else: suits and cards are drawn here, the font is Pillow's own, which has ASCII and
"·" and "…" and little more. Lengths are in units of a design 960 wide and 720 high; a canvas scales them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Final

import numpy as np

from napoleon_env.match import Match, View
from napoleon_env.notation import shown, whole
from napoleon_env.render import (
    RenderError,
    SeenTable,
    call_words,
    counted,
    deal_words,
    question,
    result_words,
    rules_words,
    seen_table,
    trick_winner,
    with_sign,
)

if TYPE_CHECKING:
    from PIL import Image, ImageDraw, ImageFont

_DESIGN: Final = (960, 720)
_SUPERSAMPLE: Final = 2
_LARGEST_SIDE: Final = 2048
_PANEL: Final = (732, 944)
"""Left and right edge of what is written beside the table."""
_MIDDLE: Final = (360, 346)
_CARD: Final = 76
_OWN_CARD: Final = 92
"""Heights of a card, and of one in the hand of the seat whose view it is."""
_ASPECT: Final = 0.7
"""A card's width to its height."""

Colour = tuple[int, int, int]

_NIGHT: Final[Colour] = (20, 24, 31)
_TILE: Final[Colour] = (33, 39, 49)
_WOOD: Final[Colour] = (92, 58, 33)
_WOOD_EDGE: Final[Colour] = (58, 35, 19)
_FELT: Final[Colour] = (30, 112, 76)
_FELT_EDGE: Final[Colour] = (10, 60, 41)
_PAPER: Final[Colour] = (252, 251, 246)
_INK: Final[Colour] = (24, 26, 32)
_RED: Final[Colour] = (200, 30, 44)
_BACK: Final[Colour] = (38, 66, 128)
_BACK_LINE: Final[Colour] = (112, 140, 200)
_LIGHT: Final[Colour] = (236, 239, 243)
_DIM: Final[Colour] = (150, 158, 170)
_GOLD: Final[Colour] = (246, 194, 68)
_GREEN: Final[Colour] = (112, 205, 138)
_ROSE: Final[Colour] = (240, 128, 128)
_PLATE: Final[Colour] = (13, 40, 29)


def picture(match: Match | View, seat: int | None = None, size: tuple[int, int] = _DESIGN) -> np.ndarray:
    """The table from above, as uint8 of shape (height, width, 3); no display is needed.

    Seats sit clockwise round it, `seat` (or else seat 0) at the bottom. The panel at the right tells contract, auction,
    scores, the last trick and the last deal.

    Args:
        match: a match, or one seat's view.
        seat: whose knowledge to show, other cards as backs; None shows the open table, and of a view what is in it.
        size: width and height in pixels, each from 64 to 2048; best near 4 to 3.

    Raises:
        ImportError: Pillow is not installed.
        RenderError: no such seat, a view of another one, or a size out of range.
    """
    try:
        import_module("PIL.Image")  # now, before any drawing
    except ImportError:
        raise ImportError("a picture of a match needs Pillow: pip install napoleon-env[image]") from None
    table = seen_table(match, seat)
    sides = [whole(side) for side in size] if isinstance(size, (tuple, list)) else []
    if len(sides) != 2 or any(side is None or not 64 <= side <= _LARGEST_SIDE for side in sides):
        raise RenderError(f"size={shown(size)} must be a width and a height from 64 to {_LARGEST_SIDE}")
    canvas = _Canvas(sides[0] or 0, sides[1] or 0)
    _draw_middle(canvas, table)
    for place, who in zip(_places(table), _clockwise(table), strict=True):
        _draw_seat(canvas, table, who, place)
    _draw_panel(canvas, table)
    return canvas.pixels()


def _clockwise(table: SeenTable) -> list[int]:
    """The seats in the order of their places, from the bottom."""
    return [((table.seat or 0) + i) % table.players for i in range(table.players)]


def _places(table: SeenTable) -> list[tuple[float, float]]:
    """The middle of each seat's place, from the bottom clockwise."""
    return [_on_ellipse(i / table.players, 230, 268) for i in range(table.players)]


def _on_ellipse(turn: float, rx: float, ry: float) -> tuple[float, float]:
    """The point a part `turn` of the way round the middle, clockwise from the bottom."""
    angle = math.pi / 2 + 2 * math.pi * turn
    return _MIDDLE[0] + rx * math.cos(angle), _MIDDLE[1] + ry * math.sin(angle)


class _Canvas:
    """An image twice as large as asked for, drawn on in units of the design."""

    def __init__(self, width: int, height: int) -> None:
        from PIL import ImageDraw

        self.unit = _SUPERSAMPLE * min(width / _DESIGN[0], height / _DESIGN[1])
        full = (_SUPERSAMPLE * width, _SUPERSAMPLE * height)
        self.left, self.top = (full[0] - self.unit * _DESIGN[0]) / 2, (full[1] - self.unit * _DESIGN[1]) / 2
        self.image = _empty_table(*full).copy()
        self.draw = ImageDraw.Draw(self.image)

    def pixels(self) -> np.ndarray:
        """The finished picture."""
        return np.array(self.image.reduce(_SUPERSAMPLE), np.uint8)

    def length(self, units: float) -> int:
        """A length in pixels, at least one."""
        return max(1, round(units * self.unit))

    def point(self, x: float, y: float) -> tuple[int, int]:
        """A place in pixels."""
        return round(self.left + x * self.unit), round(self.top + y * self.unit)

    def box(self, x0: float, y0: float, x1: float, y1: float, fill: Colour, radius: float, edge: Colour | None = None) -> None:
        """A rounded box."""
        corners = (*self.point(x0, y0), *self.point(x1, y1))
        line = self.length(1.5) if edge else 0
        self.draw.rounded_rectangle(corners, self.length(radius), fill=fill, outline=edge, width=line)

    def disc(self, x: float, y: float, radius: float, fill: Colour, edge: Colour | None = None) -> None:
        """A round marker."""
        corners = (*self.point(x - radius, y - radius), *self.point(x + radius, y + radius))
        self.draw.ellipse(corners, fill=fill, outline=edge, width=self.length(1.5) if edge else 0)

    def write(self, x: float, y: float, words: str, size: float, fill: Colour = _LIGHT, at: str = "mm", bold: int = 0) -> None:
        """One line of words; `at` is Pillow's anchor, `bold` a stroke in half pixels."""
        font = _font(self.length(size))
        self.draw.text(self.point(x, y), words, fill=fill, font=font, anchor=at, stroke_width=bold, stroke_fill=fill)

    def width(self, words: str, size: float) -> float:
        """How wide a line of words is, in units."""
        return _font(self.length(size)).getlength(words) / self.unit

    def glow(self, x: float, y: float, rx: float, ry: float) -> None:
        """A soft light on the table."""
        mask = _glow_mask(self.length(2 * rx), self.length(2 * ry))
        left, top = self.point(x, y)
        self.image.paste(_GOLD, (left - mask.width // 2, top - mask.height // 2), mask)

    def suit(self, x: float, y: float, suit: str, size: float) -> None:
        """A suit's shape with its middle at a place."""
        mask = _suit_mask(suit, self.length(size))
        left, top = self.point(x, y)
        self.image.paste(_RED if suit in "DH" else _INK, (left - mask.width // 2, top - mask.height // 2), mask)

    def card(self, x: float, y: float, card: str | None, height: float, edge: Colour | None = None) -> None:
        """A card with its middle at a place, face up or, for None, face down."""
        sprite = _card_sprite(card, self.length(height))
        left, top = self.point(x, y)
        left, top = left - sprite.width // 2, top - sprite.height // 2
        self.image.paste(sprite, (left, top), sprite)
        if edge:
            line, margin = self.length(2.5), _shadow(self.length(height))
            right, bottom = left + sprite.width - 1 - margin, top + sprite.height - 1 - margin
            corners = (left + margin - line, top + margin - line, right + line, bottom + line)
            self.draw.rounded_rectangle(corners, self.length(height * 0.08 + 2.5), outline=edge, width=line)

    def paragraph(self, y: float, words: Iterable[str], size: float, fill: Colour, lines: int) -> float:
        """Words in the panel, folded into at most `lines` lines; the latest words are always there.

        Returns:
            Where the next thing goes.
        """
        left, right = _PANEL
        rows: list[str] = [""]
        for word in words:
            longer = f"{rows[-1]} {word}".lstrip()
            if rows[-1] and self.width(longer, size) > right - left:
                rows.append(word)
            else:
                rows[-1] = longer
        if len(rows) > lines:
            rows = [f"… {rows[-lines]}", *rows[len(rows) - lines + 1 :]]
        for row in rows:
            self.write(left, y, self.fit(row, size, right - left), size, fill, at="lm")
            y += size * 1.4
        return y

    def fit(self, words: str, size: float, width: float) -> str:
        """The words, cut at the end where they are wider than `width`."""
        if self.width(words, size) <= width:
            return words
        while words and self.width(words + "…", size) > width:
            words = words[:-1]
        return words + "…"


# Sprites: drawn once for each size. Nobody draws on them afterwards.


@lru_cache(maxsize=64)
def _font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    from PIL import ImageFont

    return ImageFont.load_default(size)


@lru_cache(maxsize=4)
def _empty_table(width: int, height: int) -> Image.Image:
    """The background: a dark room and the table with its wooden rim, lit from above."""
    from PIL import Image, ImageDraw

    unit = min(width / _DESIGN[0], height / _DESIGN[1])
    left, top = (width - unit * _DESIGN[0]) / 2, (height - unit * _DESIGN[1]) / 2
    image = Image.new("RGB", (width, height), _NIGHT)
    # The light falls off with the square of the distance; worked out small and stretched, for speed.
    y, x = np.mgrid[-1:1:90j, -1:1:90j]
    glow = np.clip(1 - (x * x + y * y) / 1.7, 0, 1)[..., None]
    shades = (np.array(_FELT_EDGE) + glow * (np.array(_FELT) - np.array(_FELT_EDGE))).astype(np.uint8)
    corners = [round(c) for c in (left + 6 * unit, top + 6 * unit, left + 714 * unit, top + 714 * unit)]
    felt = Image.fromarray(shades).resize((corners[2] - corners[0], corners[3] - corners[1]), Image.Resampling.BICUBIC)
    _draw_emblem(ImageDraw.Draw(felt, "RGBA"), felt.width / 2, (_MIDDLE[1] - 6) * unit, unit)
    mask = Image.new("L", felt.size, 0)
    rim = round(13 * unit)
    box = (rim, rim, felt.width - rim, felt.height - rim)
    ImageDraw.Draw(mask).rounded_rectangle(box, round(112 * unit), fill=255)
    draw = ImageDraw.Draw(image)
    draw.rounded_rectangle(corners, round(124 * unit), fill=_WOOD, outline=_WOOD_EDGE, width=max(1, round(3 * unit)))
    image.paste(felt, (corners[0], corners[1]), mask)
    return image


def _draw_emblem(draw: ImageDraw.ImageDraw, x: float, y: float, unit: float) -> None:
    """The emperor's hat, woven faintly into the felt."""
    across = [i / 40 for i in range(-40, 41)]
    crown = [(84 * t, 26 - 66 * (1 - t * t) ** 1.3) for t in across]
    brim = [(84 * t, 26 + 9 * (1 - t * t)) for t in reversed(across)]
    draw.polygon([(x + dx * unit, y + dy * unit) for dx, dy in crown + brim], fill=(255, 255, 255, 14))
    draw.ellipse([c * unit + o for c, o in ((-9, x), (-12, y), (9, x), (6, y))], fill=(255, 255, 255, 18))


@lru_cache(maxsize=16)
def _glow_mask(width: int, height: int) -> Image.Image:
    """A light that fades from the middle, as grey levels."""
    from PIL import Image

    y, x = np.mgrid[-1:1:64j, -1:1:64j]
    levels = 150 * np.clip(1 - np.sqrt(x * x + y * y), 0, 1)
    return Image.fromarray(levels.astype(np.uint8)).resize((width, height), Image.Resampling.BILINEAR)


@lru_cache(maxsize=128)
def _suit_mask(suit: str, size: int) -> Image.Image:
    """The shape of a suit as grey levels, `size` pixels high and wide."""
    from PIL import Image, ImageDraw

    large = 4 * size
    mask = Image.new("L", (large, large), 0)
    draw = ImageDraw.Draw(mask)

    def polygon(points: Iterable[tuple[float, float]]) -> None:
        draw.polygon([(large * (0.5 + x / 2), large * (0.5 + y / 2)) for x, y in points], fill=255)

    def disc(x: float, y: float, r: float) -> None:
        draw.ellipse([large * (0.5 + c / 2) for c in (x - r, y - r, x + r, y + r)], fill=255)

    _SHAPES[suit](polygon, disc)
    return mask.reduce(4)


_Polygon = Callable[[Iterable[tuple[float, float]]], None]
_Disc = Callable[[float, float, float], None]
_STEM: Final = ((-0.06, 0.1), (0.06, 0.1), (0.1, 0.6), (0.36, 0.92), (-0.36, 0.92), (-0.1, 0.6))


def _heart_line(flip: float, shift: float, scale: float) -> list[tuple[float, float]]:
    """The well-known heart curve: x = 16 sin³ t, y = 13 cos t - 5 cos 2t - 2 cos 3t - cos 4t."""
    turns = [2 * math.pi * i / 120 for i in range(120)]
    return [
        (
            16 * math.sin(t) ** 3 * scale,
            shift - flip * scale * (13 * math.cos(t) - 5 * math.cos(2 * t) - 2 * math.cos(3 * t) - math.cos(4 * t)),
        )
        for t in turns
    ]


def _draw_club(polygon: _Polygon, disc: _Disc) -> None:
    disc(0, -0.48, 0.44)
    disc(-0.46, 0.2, 0.44)
    disc(0.46, 0.2, 0.44)
    disc(0, 0, 0.3)
    polygon(_STEM)


def _draw_diamond(polygon: _Polygon, _disc: _Disc) -> None:
    """A rhombus with sides drawn in a little: |x|^0.9 + |y|^0.9 = 1."""
    turns = [2 * math.pi * i / 120 for i in range(120)]
    points = [(math.cos(t), math.sin(t)) for t in turns]
    polygon((math.copysign(abs(x) ** (2 / 0.9) * 0.76, x), math.copysign(abs(y) ** (2 / 0.9) * 0.98, y)) for x, y in points)


def _draw_heart(polygon: _Polygon, _disc: _Disc) -> None:
    polygon(_heart_line(1, -0.12, 0.058))


def _draw_spade(polygon: _Polygon, _disc: _Disc) -> None:
    polygon(_heart_line(-1, -0.06, 0.053))
    polygon(_STEM)


_SHAPES: Final = {"C": _draw_club, "D": _draw_diamond, "H": _draw_heart, "S": _draw_spade}


@lru_cache(maxsize=512)
def _card_sprite(card: str | None, height: int) -> Image.Image:
    """A card of that height, face up or, for None, face down; see-through at its corners."""
    from PIL import Image, ImageDraw

    width, margin = round(height * _ASPECT), _shadow(height)
    sprite = Image.new("RGBA", (width + 2 * margin, height + 2 * margin), (0, 0, 0, 0))
    draw = ImageDraw.Draw(sprite)
    left, top, radius = margin, margin, round(height * 0.08)
    for fade in range(margin, 0, -1):
        box = (left - fade, top, left + width - 1 + fade, top + height - 1 + fade)
        draw.rounded_rectangle(box, radius + fade, fill=(0, 0, 0, 90 // fade))
    box = (left, top, left + width - 1, top + height - 1)
    draw.rounded_rectangle(box, radius, fill=_PAPER, outline=(120, 122, 126), width=max(1, round(height / 90)))
    if card is None:
        back = _card_back(width, height)
        sprite.paste(back, (left, top), back)
        return sprite
    rank, suit = ("10" if card[0] == "T" else card[0]), card[1]
    colour = _RED if suit in "DH" else _INK
    font = _font(round(height * (0.3 if len(rank) == 1 else 0.23)))
    corner = (left + width * 0.23, top + height * 0.19)
    draw.text(corner, rank, fill=colour, font=font, anchor="mm", stroke_width=1, stroke_fill=colour)
    for x, y, size in ((0.23, 0.46, 0.2), (0.66, 0.69, 0.43)):
        mask = _suit_mask(suit, max(1, round(height * size)))
        sprite.paste(colour, (round(left + width * x - mask.width / 2), round(top + height * y - mask.height / 2)), mask)
    return sprite


def _shadow(height: int) -> int:
    """How far a card's shadow reaches beyond a card of that height, in pixels."""
    return max(1, round(height / 50))


def _card_back(width: int, height: int) -> Image.Image:
    """The pattern of a back on a card of that size: a lattice in a frame, see-through outside."""
    from PIL import Image, ImageDraw

    rim = round(height * 0.055)
    pattern = Image.new("RGB", (width - 2 * rim, height - 2 * rim), _BACK)
    draw = ImageDraw.Draw(pattern)
    step, line = max(3, round(height / 9)), max(1, round(height / 80))
    for start in range(-pattern.height, pattern.width + pattern.height, step):
        draw.line((start, 0, start + pattern.height, pattern.height), fill=_BACK_LINE, width=line)
        draw.line((start, pattern.height, start + pattern.height, 0), fill=_BACK_LINE, width=line)
    draw.rectangle((0, 0, pattern.width - 1, pattern.height - 1), outline=_BACK_LINE, width=2 * line)
    mask = Image.new("L", pattern.size, 0)
    ImageDraw.Draw(mask).rounded_rectangle((0, 0, pattern.width - 1, pattern.height - 1), rim, fill=255)
    back = Image.new("RGBA", (width, height), (0, 0, 0, 0))
    back.paste(pattern, (rim, rim), mask)
    return back


# The table.


def _draw_middle(canvas: _Canvas, table: SeenTable) -> None:
    """The trick with its winning card framed, the pot, the trump marker and the stock."""
    now, trick, order = table.now, table.trick, _clockwise(table)
    if now.rules.has_pot:
        _draw_pot(canvas, now.pot)
    if trick:
        winner = trick_winner(now, len(now.tricks) - 1)
        for who, card in trick:
            x, y = _on_ellipse(order.index(who) / table.players, 78, 96)
            canvas.card(x, y, card, _CARD, _GOLD if who == winner else None)
            if who == trick[0][0]:
                canvas.box(x - 15, y + 31, x + 15, y + 46, _PLATE, 7)
                canvas.write(x, y + 38.5, "led", 11)
    if table.dealt and now.trump:
        canvas.disc(92, 622, 31, _PAPER, _GOLD)
        canvas.suit(92, 622, now.trump, 36)
        canvas.write(92, 665, "trump", 13)
    if table.dealt and now.rules.stock_size:
        for lift in range(3):
            canvas.card(628 - 2 * lift, 622 - 2 * lift, None, 62)
        left = now.rules.stock_size - sum(name.startswith("discard") for _, name in now.log)
        canvas.write(626, 665, f"stock {left}", 13)


def _draw_pot(canvas: _Canvas, amount: int) -> None:
    """The box with Napoleon's treasure, as a pile of coins and their number."""
    x, y = _MIDDLE
    for column, coins in ((-13, 2), (13, 3), (0, 4)) if amount else ():
        for height in range(coins):
            px, py = x + column, y + 4 - 5 * height + (0 if column else 4)
            corners = (*canvas.point(px - 12, py - 5), *canvas.point(px + 12, py + 5))
            canvas.draw.ellipse(corners, fill=_GOLD, outline=(150, 104, 20), width=canvas.length(1))
    canvas.write(x, y + 24, f"pot {_amount(amount)}", 14, _GOLD, bold=1)


def _draw_seat(canvas: _Canvas, table: SeenTable, seat: int, place: tuple[float, float]) -> None:
    """A seat's hand, its plate, the tricks it has won, and what it said in the auction."""
    (x, y), now = place, table.now
    own = seat == table.seat
    height = _OWN_CARD if own else _CARD
    reach = 300 if own else 204
    if seat == table.to_act:
        canvas.glow(x, y + 10, reach * 0.72, height * 1.15)
    _draw_hand(canvas, table.hands[seat], (x, y + 26 - height / 2), height, reach)
    _draw_plate(canvas, table, seat, (x, y + 38))
    won = now.tricks_won[seat] if table.dealt else 0
    for i in range(won):
        canvas.card(x + 18 * (i - (won - 1) / 2), y + 66, None, 22)
    calls = [call for who, call in now.calls if who == seat] if table.dealt else []
    if calls and not now.tricks:
        above = y > _MIDDLE[1] - 40
        stands = seat == now.declarer
        _draw_call(canvas, (x, y + 10 - height if above else y + 69), call_words(calls[-1]), stands)


def _draw_hand(canvas: _Canvas, hand: list[str | None], place: tuple[float, float], height: float, reach: float) -> None:
    """Cards side by side, overlapping where they would be wider than `reach`."""
    width = height * _ASPECT
    step = min(width * 0.68, (reach - width) / max(1, len(hand) - 1))
    for i, card in enumerate(hand):
        canvas.card(place[0] + step * (i - (len(hand) - 1) / 2), place[1], card, height)


def _draw_plate(canvas: _Canvas, table: SeenTable, seat: int, place: tuple[float, float]) -> None:
    """The seat's name with dealer's button, contract and crown; in gold when it is to act."""
    (x, y), now = place, table.now
    acts = seat == table.to_act
    name = f"Seat {seat}"
    declares = table.dealt and seat == now.declarer and now.phase != "auction"
    badge = call_words(now.contract or "") if declares else ""
    name_width = canvas.width(name, 15)
    badge_width = canvas.width(badge, 14) + (32 if now.trump else 16) if badge else 0
    crowned, deals = seat in table.winners, seat == now.dealer
    half = (name_width + 26 + 28 * crowned + 26 * deals + (badge_width + 2 if badge else 0)) / 2
    canvas.box(x - half, y - 13, x + half, y + 13, _GOLD if acts else _PLATE, 13, _PAPER if acts else None)
    left = x - half + 13
    if crowned:
        _draw_crown(canvas, left + 9, y)
        left += 28
    canvas.write(left, y, name, 15, _INK if acts else _LIGHT, at="lm")
    if deals:
        canvas.disc(left + name_width + 17, y, 9.5, _PAPER, _INK)
        canvas.write(left + name_width + 17, y, "D", 12, _INK, bold=1)
    if badge:
        left = x + half - badge_width - 4
        canvas.box(left, y - 10, left + badge_width, y + 10, _PAPER, 9, _INK)
        canvas.write(left + 8, y, badge, 14, _INK, at="lm", bold=1)
        if now.trump:
            canvas.suit(left + badge_width - 14, y, now.trump, 14)


def _draw_crown(canvas: _Canvas, x: float, y: float) -> None:
    points = ((-10, 7), (-11, -5), (-5, 0), (0, -8), (5, 0), (11, -5), (10, 7))
    canvas.draw.polygon([canvas.point(x + dx, y + dy) for dx, dy in points], fill=_GOLD)


def _draw_call(canvas: _Canvas, place: tuple[float, float], call: str, stands: bool) -> None:
    """A call in a bubble; the highest one in gold."""
    x, y = place
    half = max(15, canvas.width(call, 15) / 2 + 11)
    fill, ink = (_GOLD, _INK) if stands and call != "pass" else (_PAPER, (120, 124, 130) if call == "pass" else _INK)
    canvas.box(x - half, y - 12, x + half, y + 12, fill, 11, _INK)
    canvas.write(x, y, call, 15, ink, bold=0 if call == "pass" else 1)


# The panel.


def _draw_panel(canvas: _Canvas, table: SeenTable) -> None:
    """What is written beside the table, from top to bottom."""
    _, preset, changes = rules_words(table.now.rules)
    canvas.write(_PANEL[0], 34, preset.capitalize(), 26, at="lm", bold=1)
    words = [*changes[:5], f"… {len(changes) - 5} more"] if len(changes) > 6 else changes
    y = canvas.paragraph(60, words, 12, _DIM, 3) if words else 60
    y = canvas.paragraph(y + 4, f"deal {deal_words(table)}".split(" "), 14, _LIGHT, 2)
    y = _draw_status(canvas, table, y + 4)
    y = _draw_contract(canvas, table, y + 12)
    y = _draw_scores(canvas, table, y + 12)
    y = _draw_auction(canvas, table, y + 12)
    _draw_last(canvas, table, y + 12)


def _draw_status(canvas: _Canvas, table: SeenTable, y: float) -> float:
    """Who is to act and what is asked, in a bar."""
    left, right = _PANEL
    led = table.now.led_suit if table.to_act is not None else None
    who = "" if table.to_act is None else f"Seat {table.to_act}: "
    words = who + (question(table)[:-1] if led else question(table))
    words = words[0].upper() + words[1:]
    size = 16 if canvas.width(words, 16) < right - left else 14
    canvas.box(left - 8, y, right + 6, y + 32, _GOLD, 8)
    canvas.write(left, y + 16, canvas.fit(words, size, right - left), size, _INK, at="lm")
    if led:
        canvas.suit(left + canvas.width(words, size) + 12, y + 16, led, 17)
    return y + 32


def _draw_contract(canvas: _Canvas, table: SeenTable, y: float) -> float:
    """The contract or the highest call so far, the trump suit, and the declarer's exchange."""
    left, right = _PANEL
    now = table.now
    exchanged = table.dealt and any(name.startswith("discard") for _, name in now.log)
    bottom = y + (104 if exchanged else 78)
    canvas.box(left - 8, y, right + 6, bottom, _TILE, 8)
    if not table.dealt or now.declarer is None:
        canvas.write((left + right) / 2, y + 39, "no bid", 16, _DIM)
        return bottom
    middle = (y + bottom) / 2
    canvas.disc(left + 28, middle, 26, _PAPER if now.trump else _NIGHT, _GOLD if now.trump else _DIM)
    if now.trump:
        canvas.suit(left + 28, middle, now.trump, 32)
    else:
        unknown = "?" if now.phase == "auction" or now.contract != "misere" else "no"
        canvas.write(left + 28, middle, unknown, 20, _DIM)
    call = call_words(now.contract or "").capitalize()
    canvas.write(left + 66, y + 27, call, 20, at="lm", bold=1)
    if now.announced:
        canvas.write(left + 78 + canvas.width(call, 20), y + 27, "Napoleon!", 16, _GOLD, at="lm")
    playing = now.phase in ("play", "over")
    does = f", {counted(now.tricks_won[now.declarer], 'trick')} taken" if playing else " declares"
    canvas.write(left + 66, y + 51, f"seat {now.declarer}" + (" so far" if now.phase == "auction" else does), 14, _DIM, at="lm")
    if exchanged:
        for x, word, card in ((66, "out", now.discarded), (124, "in", now.drawn)):
            canvas.write(left + x, y + 80, word, 14, _DIM, at="lm")
            canvas.card(left + x + 17 + canvas.width(word, 14), y + 80, card, 34)
    return bottom


def _draw_scores(canvas: _Canvas, table: SeenTable, y: float) -> float:
    """Every seat's score, and what the last deal paid it."""
    left, right = _PANEL
    canvas.write(left + 140, y + 6, "score", 12, _DIM, at="rm")
    canvas.write(right, y + 6, "last deal", 12, _DIM, at="rm")
    for seat, score in enumerate(table.now.scores):
        row = y + 26 + 19 * seat
        canvas.write(left, row, f"Seat {seat}", 14, _GOLD if seat in table.winners else _LIGHT, at="lm")
        canvas.write(left + 140, row, _amount(score, signed=True), 14, at="rm", bold=1)
        if table.last_deal:
            payoff = table.last_deal.payoffs[seat]
            fill = _DIM if not payoff else _GREEN if payoff > 0 else _ROSE
            canvas.write(right, row, _amount(payoff, signed=True), 14, fill, at="rm")
    return y + 26 + 19 * table.players


def _draw_auction(canvas: _Canvas, table: SeenTable, y: float) -> float:
    """The auction in the order spoken, each call with its seat."""
    canvas.write(_PANEL[0], y, "auction", 12, _DIM, at="lm")
    calls = [f"{seat}: {call_words(call)} " for seat, call in table.now.calls] if table.dealt else []
    return canvas.paragraph(y + 19, calls or ["nobody has spoken"], 14, _LIGHT, 3)


def _draw_last(canvas: _Canvas, table: SeenTable, y: float) -> None:
    """How the last deal ended, and the trick before the one in play (or the last one of the deal before)."""
    left, deal = _PANEL[0], table.last_deal
    if deal:
        canvas.write(left, y, "last deal", 12, _DIM, at="lm")
        y = canvas.paragraph(y + 18, result_words(deal).split(" "), 13, _LIGHT, 2) + 6
    now = table.now
    complete = sum(len(trick) == table.players for trick in now.tricks) if table.dealt and now.phase != "over" else 0
    source, index = (now, complete - 1) if complete else (deal, len(deal.tricks) - 1 if deal else -1)
    if source is None or index < 0 or now.phase == "over":
        return
    canvas.write(left, y, f"trick {index + 1}" if source is now else "its last trick", 12, _DIM, at="lm")
    winner = trick_winner(source, index)
    for i, (seat, card) in enumerate(source.tricks[index]):
        x = left + 17 + 36 * i
        canvas.card(x, y + 34, card, 46, _GOLD if seat == winner else None)
        canvas.write(x, y + 67, str(seat), 12, _GOLD if seat == winner else _DIM)


def _amount(amount: int, signed: bool = False) -> str:
    """A number of at most nine characters: exact, or with an exponent where it is longer."""
    exact = with_sign(amount) if signed else str(amount)
    return exact if len(exact) <= 9 else format(amount, "+.2e" if signed else ".2e").replace("e+", "e")
