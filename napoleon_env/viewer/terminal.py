"""A game in the terminal: the table as a person may see it, in their language, and a line of answer for every decision."""

from __future__ import annotations

from collections.abc import Callable

from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from napoleon_env.analysis import analyse
from napoleon_env.match import FinishedDeal
from napoleon_env.notation import ACTION_NAMES, NotationError
from napoleon_env.players import PlayerLeftError, named_action
from napoleon_env.solver import Solver
from napoleon_env.story import SYMBOLS
from napoleon_env.viewer.frames import Frame
from napoleon_env.viewer.game import Game
from napoleon_env.viewer.words import action_text, suit_text, text


def play_here(game: Game, language: str, *, ask: Callable[[str], str] = input, console: Console | None = None) -> None:
    """Play a game to its end, or until somebody leaves; the record is written in both cases.

    Args:
        game: with any number of people, who take turns at this terminal.
        language: of `words`.
        ask: shows a prompt and returns one line of answer; EOFError says that nobody is there any more.
        console: where the table is shown.

    Raises:
        GameError: a player failed, or the record cannot be written.
    """
    Here(game, language, ask, console or Console(highlight=False)).run()


class Here:
    """One terminal at a game's table."""

    def __init__(self, game: Game, language: str, ask: Callable[[str], str], console: Console) -> None:
        self.game, self.language, self.ask, self.console = game, language, ask, console
        self.told = 0
        """Deals that had ended when it was last looked whether one has."""

    def run(self) -> None:
        """Until the match is over."""
        game = self.game
        try:
            with game:
                self.play()
        finally:
            if game.saved:
                self.print(self.say("saved", file=game.path))

    def play(self) -> None:
        """Let everybody decide in turn, until the match is over or a person leaves."""
        game = self.game
        try:
            while not game.match.over:
                if view := game.view():
                    game.play(game.decide(view))
                else:
                    self.decide(game.match.seat or 0)
                self.show_end()
            self.print(self.say("over"), "bold")
        except PlayerLeftError:
            self.print(self.say("unfinished"), "bold")

    def say(self, key: str, **values: object) -> str:
        """A text in this terminal's language."""
        return text(self.language, key, **values)

    def print(self, words: str, style: str = "") -> None:
        """A line, cards of red suits in red."""
        line = Text(words, style)
        line.highlight_regex(r"\S*[♥♦]", "red")
        self.console.print(line)

    def decide(self, seat: int) -> None:
        """Show the table and ask until an answer changes it."""
        game, language = self.game, self.language
        view = game.match.view(seat)
        seen = game.seen(seat)
        self.show(seen["frame"], seat)
        hint, back, leave = self.say("answers").split()
        commands = [hint, *([back] if game.practice else []), leave]
        choices = ", ".join(self.choice(name) for name in seen["legal"])
        choices = f"{self.say('choices')}: {choices}  ({self.say('or')}: {', '.join(commands)})"
        self.print(choices)
        typed = {action_text(language, name).lower(): name for name in seen["legal"]}
        while True:
            try:
                answer = self.ask(f"{self.say('seat', seat=seat)}> ").strip().lower()
            except EOFError:
                raise PlayerLeftError(f"seat {seat} has left the table: no more input") from None
            try:
                if answer == leave:
                    raise PlayerLeftError(f"seat {seat} has left the table")
                if answer == hint:
                    what = game.hint(game.hint_for(seat, game.version))
                    self.print(self.say("hinted", what=action_text(language, what)), "yellow")
                    continue
                if answer == back:
                    game.take_back(game.version)
                    return
                try:
                    action = typed.get(answer) or ACTION_NAMES[named_action(view, answer)]
                except NotationError:  # it would speak English, and name the actions of all rule sets
                    self.print(self.say("refused", why=answer or "–"), "yellow")
                    self.print(choices)
                    continue
                game.act(seat, action, game.version)
                return
            except PlayerLeftError:
                raise
            except ValueError as error:  # of the game and of the notation: one sentence
                self.print(self.say("refused", why=error), "yellow")

    def choice(self, name: str) -> str:
        """A legal action as it is shown, and what to type where that cannot be typed."""
        shown = action_text(self.language, name)
        return f"{shown} [{name.split()[-1]}]" if name[-1] in SYMBOLS else shown

    def show(self, frame: Frame, seat: int) -> None:
        """The table: who is where with which cards, the contract, the calls and the tricks."""
        language, rules = self.language, self.game.match.rules
        self.console.print()
        facts = [self.say("deal", n=frame["number"], total=rules.deals)]
        if frame["pot"] is not None:
            facts.append(f"{self.say('pot')} {frame['pot']}")
        if frame["declarer"] is not None:
            key = "highest" if frame["phase"] == "auction" else "contract"
            facts.append(
                f"{self.say(key)}: {self.say('seat', seat=frame['declarer'])} {action_text(language, frame['contract'])}"
            )
        if frame["trump"]:
            facts.append(f"{self.say('trump')} {suit_text(language, frame['trump'])} {SYMBOLS[frame['trump']]}")
        self.print(" · ".join(facts), "bold")
        table = Table("", "", self.say("cards"), self.say("tricks"), self.say("score"), box=None, pad_edge=False)
        for other, hand in enumerate(frame["hands"]):
            name = self.game.names[other] or self.say("you" if other == seat else "seat", seat=other)
            roles = [self.say("dealer")] * (other == frame["dealer"])
            roles += [self.say("declarer")] * (other == frame["declarer"] and frame["phase"] != "auction")
            cards = Text(" ".join("##" if card is None else action_text(language, card) for card in reversed(hand)))
            cards.highlight_regex(r"\S*[♥♦]", "red")
            who = f"{'>' if other == frame['to_act'] else ' '}{other} {name}"
            table.add_row(escape(who), ", ".join(roles), cards, str(frame["won"][other]), f"{frame['scores'][other]:+d}")
        self.console.print(table)
        calls = ", ".join(f"{who}: {action_text(language, call)}" for who, call in frame["calls"])
        self.print(f"{self.say('auction')}: {calls or '–'}")
        for number, trick in enumerate(frame["tricks"]):
            taker = frame["takers"][number] if number < len(frame["takers"]) else None
            cards = "  ".join(f"{who}: {action_text(language, card)}{'*' if who == taker else ''}" for who, card in trick)
            self.print(f"{self.say('trick', n=number + 1)}:  {cards}")

    def show_end(self) -> None:
        """The result of the deal if it has just ended, and what people's decisions in it gave away."""
        game, before = self.game, self.told
        self.told = len(game.match.history)
        if self.told > before:
            ended = game.seen(game.people[0])["ended"]
            self.show(ended, game.people[0])
            verdict = {True: "made", False: "failed", None: "void"}[ended["result"]["made"]]
            paid = ", ".join(f"{seat}: {amount:+d}" for seat, amount in enumerate(ended["result"]["payoffs"]))
            self.print(f"{self.say(verdict)}. {paid}", "bold")
            self.show_losses(game.match.history[-1])

    def show_losses(self, deal: FinishedDeal) -> None:
        """What the decisions of people gave away against open cards."""
        for decision in analyse(deal, Solver()):
            if decision.seat in self.game.people and decision.loss:
                chosen = action_text(self.language, decision.action)
                better = ", ".join(action_text(self.language, name) for name in decision.best[:3])
                loss = f"{self.say('loss')} {decision.loss:g}, {self.say('best')} {better}"
                self.print(f"{self.say('analysis')}: {self.say('seat', seat=decision.seat)} {chosen}, {loss}")
