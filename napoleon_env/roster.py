"""`make_player`: from a name, a file, `module:callable` or a command to a player.

A spec is one of

    random  rule  counting  human  pimc  epimc  guided  split    a player of this package (`BUILT_IN`)
    universal, german                  agents that come with this package (`RELEASED`, agents/released)
    path/agent.onnx                    an agent file (`agent.OnnxPlayer`)
    package.module:name, path/file.py:name    Python of yours, see below
    cmd:program argument ...           a program in any language (the protocol is in `external`)

with options after a further colon: `pimc:worlds=100`, `agent.onnx:sample=true`, `mine.py:policy:depth=2`. `name` is
a function that takes a `View` and returns an action, a class or a function without required arguments that returns a player,
or a player; options are passed on as keywords. Values are read as whole numbers, numbers, true or false, else text.

    # mine.py, entered as mine.py:policy
    def policy(view):
        return view.rng().choice(view.legal_ids())

`split` is made of other players: `split:bidding=epimc:worlds=100,trust=0,declarer=agent.onnx,defender=counting`. The values of
bidding, declarer and defender are specs, and the options after one that has a colon are its own, up to the next of these three.

Two things make a player fast in tournaments, both looked for by name: `act_states(states, rules, seats, seeds)` decides for
many tables at once (`tables.Question` says what these are), and `deterministic = True` says that it draws nothing by lot, so
that it is asked once where several tables have come to the same position.

What does not exist is refused; nothing ever plays at random in place of it. Nothing is cached: each call reads its file anew.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import os
import re
import shutil
import sys
from collections.abc import Callable, Mapping
from functools import partial
from hashlib import sha256
from pathlib import Path
from types import ModuleType
from typing import Any, Final, NamedTuple

from napoleon_env.match import View
from napoleon_env.notation import VERSION, shown
from napoleon_env.players import Player
from napoleon_env.ruleset import Ruleset

BUILT_IN: Final[dict[str, tuple[str, str]]] = {
    "random": ("napoleon_env.players", "RandomPlayer"),
    "rule": ("napoleon_env.players", "RulePlayer"),
    "counting": ("napoleon_env.players", "CountingPlayer"),
    "human": ("napoleon_env.players", "HumanPlayer"),
    "pimc": ("napoleon_env.search", "PimcPlayer"),
    "epimc": ("napoleon_env.search", "EpimcPlayer"),
    "guided": ("napoleon_env.guided", "GuidedPlayer"),
    "split": ("napoleon_env.split", "SplitPlayer"),
}
"""Where the players of this package are; imported only when asked for."""

RELEASED: Final = ("universal", "german")
"""Agents that come with this package; each has a card, agents/released/NAME.md."""

PARTS: Final = ("bidding", "declarer", "defender")
"""Options that name a player of whom another is made (`split.SplitPlayer`)."""

_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
_FORMS: Final = (
    ("program", re.compile(r"cmd:(?P<name>.*)", re.DOTALL)),
    ("built-in", re.compile(rf"(?P<name>{'|'.join(BUILT_IN)})(?::(?P<options>.*))?", re.DOTALL)),
    ("released", re.compile(rf"(?P<name>{'|'.join(RELEASED)})(?::(?P<options>.*))?", re.DOTALL)),
    ("agent", re.compile(r"(?P<name>.+\.onnx)(?::(?P<options>.*))?", re.DOTALL)),
    ("file", re.compile(rf"(?P<name>.+\.py):(?P<attribute>{_NAME}(?:\.{_NAME})*)(?::(?P<options>.*))?", re.DOTALL)),
    (
        "module",
        re.compile(rf"(?P<name>{_NAME}(?:\.{_NAME})*):(?P<attribute>{_NAME}(?:\.{_NAME})*)(?::(?P<options>.*))?", re.DOTALL),
    ),
)
_KINDS: Final = (
    f"there are {', '.join((*BUILT_IN, *RELEASED))}, an agent file (path.onnx), Python (package.module:name or path.py:name) "
    "and a program (cmd:program argument ...)"
)


class RosterError(ValueError):
    """A spec that makes no player; one sentence that says what exists."""


class Spec(NamedTuple):
    """A player's spec, read."""

    text: str
    kind: str
    """program, agent, file, built-in or module."""
    name: str
    attribute: str
    options: dict[str, Any]


def parse_spec(text: str) -> Spec:
    """Read a spec; whether what it names exists is seen when it is made.

    Raises:
        RosterError: it has no form of a spec, or its options are not key=value.
    """
    if not isinstance(text, str):
        raise RosterError(f"{shown(text)} is no player: {_KINDS}")
    for kind, form in _FORMS:
        if match := form.fullmatch(text.strip()):
            parts = match.groupdict()
            if kind == "released":
                kind, parts["name"] = "agent", str(released_agent(parts["name"]))
            return Spec(text.strip(), kind, parts["name"], parts.get("attribute") or "", _options(text, parts.get("options")))
    raise RosterError(f"player {shown(text)} does not exist: {_KINDS}")


def released_agent(name: str) -> Path:
    """The file of an agent that comes with this package: inside it where it is installed, in agents/ where it is developed."""
    package = Path(__file__).parent
    inside = package / "released" / f"{name}.onnx"
    return inside if inside.exists() else package.parent / "agents" / "released" / f"{name}.onnx"


def split_specs(text: str) -> list[str]:
    """The specs in a list with commas, such as "a.onnx,pimc:worlds=100,depth=2,random": options stay with their player.

    A program's command (`cmd:…`) takes the rest of the text, commas and all.
    """
    specs: list[str] = []
    for piece in text.split(","):
        last = specs[-1] if specs else ""
        goes_on = last.startswith("cmd:") or (":" in last and re.fullmatch(rf"\s*{_NAME}\s*=.*", piece, re.DOTALL))
        if goes_on:
            specs[-1] += f",{piece}"
        else:
            specs.append(piece.strip())
    return specs


def make_player(spec: str | Player, *, rules: Ruleset | None = None, seconds: float | None = None) -> Player:
    """The player that a spec names; a player is returned as it is.

    Args:
        spec: see the module.
        rules: what it is to play, for players that want to know beforehand (those whose maker takes `rules`).
        seconds: how long a program may take over a decision.

    Raises:
        RosterError: there is no such player, or its options do not fit it.
    """
    if not isinstance(spec, str):
        if _decides(spec):
            return spec
        raise RosterError(f"{shown(spec)} is no player: it has no act(view)")
    read = parse_spec(spec)
    if read.kind == "program":
        return _program(read, seconds)
    if read.kind == "agent":
        return _construct(read, _agent_class(read), rules)
    if read.kind == "built-in":
        module, attribute = BUILT_IN[read.name]
        try:
            maker = getattr(importlib.import_module(module), attribute)
        except (ModuleNotFoundError, AttributeError) as error:
            raise RosterError(f"player {read.name} is not part of this version: {error}") from None
        return _construct(read, maker, rules)
    return _from_python(read, rules)


def fingerprint(spec: str) -> str:
    """What a spec stands for: the digest of the file it names, or this package's version and the same of players inside it.

    Code that a module imports, and programs, are known by name only.

    Raises:
        RosterError: there is no such file.
    """
    read = parse_spec(spec)
    if read.kind in ("agent", "file"):
        return "sha256:" + sha256(_file(read).read_bytes()).hexdigest()
    if read.kind != "built-in":
        return read.kind
    inner = [fingerprint(str(value)) for option, value in read.options.items() if option in (*PARTS, "agent")]
    return ", ".join([f"napoleon-env {VERSION}", *inner])


class FunctionPlayer:
    """A player made of a function from a view to an action."""

    def __init__(self, function: Callable[..., Any], **options: Any) -> None:
        self.function = partial(function, **options) if options else function

    def act(self, view: View) -> int | str:
        """What the function returns."""
        return self.function(view)


def _options(text: str, options: str | None) -> dict[str, Any]:
    """The options in a text such as "worlds=100,greedy=true"; those of a player inside stay in its spec (`PARTS`)."""
    pieces: list[str] = []
    for piece in options.split(",") if options else ():
        part, _, inner = pieces[-1].partition("=") if pieces else ("", "", "")
        if part.strip() in PARTS and ":" in inner and piece.partition("=")[0].strip() not in PARTS:
            pieces[-1] += f",{piece}"
        else:
            pieces.append(piece)
    found: dict[str, Any] = {}
    for piece in pieces:
        key, equals, value = (part.strip() for part in piece.partition("="))
        if not equals or not key.isidentifier() or not value:
            raise RosterError(
                f"player {shown(text)}: {shown(piece)} is not an option: options are key=value, with commas between"
            )
        if key in found:
            raise RosterError(f"player {shown(text)}: the option {key} is given twice")
        found[key] = _value(value)
    return found


def _value(text: str) -> Any:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _decides(thing: object) -> bool:
    return any(callable(getattr(thing, name, None)) for name in ("act", "act_many", "act_states", "answer"))


def _file(spec: Spec) -> Path:
    path = Path(spec.name)
    if not path.is_file():
        raise RosterError(f"player {shown(spec.text)}: there is no file {shown(os.fspath(path), 200)}")
    return path


def _program(spec: Spec, seconds: float | None) -> Player:
    from napoleon_env.external import SECONDS, ProgramPlayer

    if not spec.name.strip():
        raise RosterError("cmd: needs a program to start, such as cmd:python bot.py")
    try:
        player = ProgramPlayer(spec.name, seconds=SECONDS if seconds is None else seconds)
    except ValueError as error:
        raise RosterError(f"player {shown(spec.text)}: {error}") from None
    program = next(iter(player.command), "")
    if shutil.which(program) is None:
        raise RosterError(f"player {shown(spec.text)}: there is no program {shown(program, 200)} that can be started")
    return player


def _agent_class(spec: Spec) -> Callable[..., Any]:
    _file(spec)
    try:
        from napoleon_env.agent import OnnxPlayer
    except ModuleNotFoundError as error:
        raise RosterError(
            f"player {shown(spec.text)} needs {error.name}: pip install napoleon-env[agents] brings what runs agent files"
        ) from None
    return partial(OnnxPlayer, spec.name)


def _construct(spec: Spec, maker: Callable[..., Any], rules: Ruleset | None) -> Player:
    """Call a class or factory with the options of a spec."""
    options, parameters = dict(spec.options), _parameters(maker)
    if parameters is not None:
        _check_options(spec, parameters, ("rules",))
        if "rules" in parameters and rules is not None:
            options["rules"] = rules
    try:
        player = maker(**options)
    except (Exception, SystemExit) as error:  # a script that reads its own arguments exits
        raise RosterError(f"player {shown(spec.text)} cannot be made: {_line(error)}") from error
    if not _decides(player):
        raise RosterError(
            f"player {shown(spec.text)}: what was made, a {type(player).__name__}, is no player: it has no act(view)"
        )
    return player


def _parameters(maker: Callable[..., Any]) -> Mapping[str, inspect.Parameter] | None:
    try:
        return inspect.signature(maker).parameters
    except (TypeError, ValueError):  # compiled code may not tell
        return None


def _line(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return text if isinstance(error, ValueError) and text else f"{type(error).__name__}: {text}"


def _from_python(spec: Spec, rules: Ruleset | None) -> Player:
    thing: Any = _module(spec)
    for name in spec.attribute.split("."):
        try:
            thing = getattr(thing, name)
        except AttributeError:
            there = sorted(n for n in vars(thing) if not n.startswith("_") and callable(getattr(thing, n)))[:20]
            raise RosterError(
                f"player {shown(spec.text)}: {spec.name} has no {spec.attribute}, only {', '.join(there) or 'nothing to call'}"
            ) from None
    if inspect.isclass(thing):
        return _construct(spec, thing, rules)
    if _decides(thing):
        if spec.options:
            raise RosterError(f"player {shown(spec.text)}: {spec.attribute} is made already, so it takes no options")
        return thing
    if not callable(thing):
        raise RosterError(f"player {shown(spec.text)}: {spec.attribute} is a {type(thing).__name__}, nothing that plays")
    required = [
        p
        for p in (_parameters(thing) or {}).values()
        if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]
    if len(required) != 1:
        return _construct(spec, thing, rules)
    _check_options(spec, _parameters(thing) or {}, (required[0].name,))
    return FunctionPlayer(thing, **spec.options)


def _check_options(spec: Spec, parameters: Mapping[str, inspect.Parameter], not_options: tuple[str, ...]) -> None:
    """Refuse options that a maker or a function with these parameters does not take."""
    if any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        return
    keywords = [name for name, p in parameters.items() if p.kind in (p.KEYWORD_ONLY, p.POSITIONAL_OR_KEYWORD)]
    there = [name for name in keywords if name not in not_options]
    for key in spec.options:
        if key not in there:
            exist = f"the options are {', '.join(there)}" if there else "it has no options"
            raise RosterError(f"player {shown(spec.text)}: there is no option {key}: {exist}")
    needed = [p.name for p in parameters.values() if p.kind is p.KEYWORD_ONLY and p.default is p.empty]
    if missing := [name for name in needed if name not in (*spec.options, *not_options)]:
        raise RosterError(f"player {shown(spec.text)} needs the option{'s' * (len(missing) > 1)} {' and '.join(missing)}")


def _module(spec: Spec) -> ModuleType:
    """The module of a spec; a file is run anew each time and under a name of its own, so two files never mix."""
    here = os.getcwd()
    added = here not in sys.path
    if added:
        sys.path.insert(0, here)  # the installed command does not have it, and users' modules stand there
    try:
        if spec.kind == "module":
            return importlib.import_module(spec.name)
        path = _file(spec).resolve()
        name = f"_napoleon_player_{sha256(os.fspath(path).encode() + path.read_bytes()).hexdigest()[:16]}"
        loader = importlib.util.spec_from_file_location(name, path)
        assert loader is not None
        assert loader.loader is not None
        module = importlib.util.module_from_spec(loader)
        sys.modules[name] = module  # dataclasses and pickle look here
        loader.loader.exec_module(module)
        return module
    except RosterError:
        raise
    except ModuleNotFoundError as error:
        if spec.kind == "module" and error.name and (spec.name == error.name or spec.name.startswith(f"{error.name}.")):
            raise RosterError(f"player {shown(spec.text)} does not exist: no module {spec.name}; {_KINDS}") from None
        raise RosterError(
            f"player {shown(spec.text)}: {spec.name} needs a module that is not installed, {error.name}"
        ) from error
    except (Exception, SystemExit) as error:  # a script that reads its own arguments exits
        raise RosterError(f"player {shown(spec.text)}: {spec.name} cannot be imported: {_line(error)}") from error
    finally:
        if added:
            sys.path.remove(here)
