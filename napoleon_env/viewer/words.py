"""The words of the game in four languages, as the rule texts use them: the only table of them, for pages and the terminal.

`{who}`, `{suit}` and the like are filled in by whoever shows a text; seats and numbers stand so that nothing is declined.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

from napoleon_env.notation import ACTION_NAMES, CARDS, RANKS, SUITS
from napoleon_env.story import SYMBOLS

LANGUAGES: Final = {"en": "English", "de": "Deutsch", "pt": "Português", "ru": "Русский"}
"""Languages by their code, each in its own name."""
OF_PRESET: Final = {"english": "en", "german": "de", "portuguese": "pt", "russian": "ru"}
"""The language of each preset's rule text."""

_TABLE: Final[dict[str, tuple[str, str, str, str]]] = {
    # Cards; the four suits are in the order of SUITS, the four court cards from the jack up.
    "suits": ("clubs diamonds hearts spades", "Kreuz Karo Herz Pik", "paus ouros copas espadas", "трефы бубны червы пики"),
    "suits of": ("clubs diamonds hearts spades", "Kreuz Karo Herz Pik", "paus ouros copas espadas", "треф бубен червей пик"),
    "letters": ("J Q K A", "B D K A", "J Q K A", "В Д К Т"),
    "courts": ("jack queen king ace", "Bube Dame König Ass", "valete dama rei ás", "валет дама король туз"),
    "card": ("{rank} of {suit}", "{suit} {rank}", "{rank} de {suit}", "{rank} {suit}"),
    "face down": ("face down", "verdeckt", "fechada", "рубашкой вверх"),
    # The table.
    "title": ("Napoleon", "Napoleon", "Napoleão", "Наполеон"),
    "table": ("Table", "Tisch", "Mesa", "Стол"),
    "seat": ("Seat {seat}", "Platz {seat}", "Lugar {seat}", "Место {seat}"),
    "you": ("You", "Du", "Você", "Вы"),
    "players": ("Players", "Spieler", "Jogadores", "Игроки"),
    "dealer": ("dealer", "Geber", "carteador", "сдающий"),
    "declarer": ("declarer", "Alleinspieler", "declarante", "объявивший игру"),
    "cards": ("cards", "Karten", "cartas", "карты"),
    "tricks": ("tricks", "Stiche", "vezes", "взятки"),
    "trick": ("Trick {n}", "Stich {n}", "Vez {n}", "Взятка {n}"),
    "takes": ("{who}: takes the trick", "{who}: gewinnt den Stich", "{who}: ganha a vez", "{who}: берёт взятку"),
    "trump": ("trump", "Trumpf", "trunfo", "козырь"),
    "no trump": ("no trump", "kein Trumpf", "sem trunfo", "без козыря"),
    "contract": ("contract", "Ansage", "declaração", "игра"),
    "highest": ("highest bid", "höchste Ansage", "maior declaração", "высшая игра"),
    "auction": ("Auction", "Ansagen", "Declarações", "Объявления"),
    "tricks played": ("Tricks", "Stiche", "Vezes", "Взятки"),
    "pot": ("pot", "Topf", "bolo", "клад"),
    "stock": ("stock", "Rest", "resto do baralho", "колода"),
    "scores": ("Scores", "Punkte", "Pontos", "Счёт"),
    "score": ("score", "Punkte", "pontos", "счёт"),
    "this deal": ("deal", "Runde", "rodada", "сдача"),
    "deal": ("Deal {n} of {total}", "Runde {n} von {total}", "Rodada {n} de {total}", "Сдача {n} из {total}"),
    "match": ("Match", "Partie", "Partida", "Партия"),
    "exchange": ("Exchange", "Tausch", "Troca", "Прикуп"),
    "exchanged": ("out {out}, in {drawn}", "weg {out}, neu {drawn}", "sai {out}, entra {drawn}", "снос {out}, прикуп {drawn}"),
    # What may be said or done.
    "pass": ("pass", "passe", "passo", "пас"),
    "hold": ("hold", "halte", "mantenho", "здесь"),
    "misere": ("misère", "Misère", "misère", "мизер"),
    "wellington": ("Wellington", "Wellington", "Wellington", "Веллингтон"),
    "blucher": ("Blücher", "Blücher", "Blücher", "Блюхер"),
    "trump is": ("trump {suit}", "Trumpf {suit}", "trunfo {suit}", "козырь {suit}"),
    "napoleon": ("Napoleon!", "Napoleon!", "Napoleão!", "иду на «Наполеона»"),
    "no napoleon": ("no Napoleon", "kein Napoleon", "sem Napoleão", "без «Наполеона»"),
    "stand": ("keep the hand", "nicht tauschen", "não trocar", "без прикупа"),
    "discard": ("discard {card}", "{card} weglegen", "trocar {card}", "скинуть {card}"),
    "discards": ("discards a card", "legt eine Karte weg", "troca uma carta", "скидывает карту"),
    # What is asked.
    "auction?": ("call", "Ansage", "declaração", "объявление игры"),
    "announce?": ("announce Napoleon?", "Napoleon ansagen?", "anunciar Napoleão?", "идти на «Наполеона»?"),
    "exchange?": ("exchange a card?", "eine Karte tauschen?", "trocar uma carta?", "прикупить карту?"),
    "trump?": ("choose trump", "Trumpf wählen", "escolher o naipe de trunfo", "назначить козырь"),
    "lead?": ("lead", "ausspielen", "sair", "первый ход"),
    "follow?": ("{suit} led", "{suit} ausgespielt", "saída em {suit}", "ход в масть: {suit}"),
    "to act": ("{who} to act", "{who} am Zug", "Joga: {who}", "Ход: {who}"),
    "choices": ("Choices", "Auswahl", "Opções", "Выбор"),
    # How it ends.
    "made": ("Contract made", "Ansage erfüllt", "Declaração cumprida", "Игра сыграна"),
    "failed": ("Contract failed", "Ansage verfehlt", "Declaração não cumprida", "Игра не сыграна"),
    "void": ("Everyone passed", "Alle haben gepasst", "Todos disseram passo", "Все спасовали"),
    "winners": ("Won by {who}", "Gewonnen: {who}", "Ganha: {who}", "Победа: {who}"),
    "over": ("The match is over", "Die Partie ist zu Ende", "Fim da partida", "Партия окончена"),
    "unfinished": ("The match was broken off here", "Hier brach die Partie ab", "A partida parou aqui", "Партия прервана"),
    # The viewer.
    "hands": ("Hands", "Blätter", "Mãos", "Карты игроков"),
    "open": ("all open", "alle offen", "todas abertas", "все открыты"),
    "as seen by": ("as seen by {who}", "aus Sicht von {who}", "como vê {who}", "как видит {who}"),
    "language": ("Language", "Sprache", "Idioma", "Язык"),
    "first": ("Beginning", "Anfang", "Início", "Начало"),
    "last": ("End", "Ende", "Fim", "Конец"),
    "back": ("Back", "Zurück", "Voltar", "Назад"),
    "forward": ("Forward", "Weiter", "Avançar", "Вперёд"),
    "trick back": ("Trick back", "Stich zurück", "Vez anterior", "Взятка назад"),
    "trick forward": ("Next trick", "Nächster Stich", "Próxima vez", "Следующая взятка"),
    "deal back": ("Deal back", "Runde zurück", "Rodada anterior", "Сдача назад"),
    "deal forward": ("Next deal", "Nächste Runde", "Próxima rodada", "Следующая сдача"),
    "place": ("Place in the deal", "Stelle in der Runde", "Posição na rodada", "Место в сдаче"),
    "step": ("{n} of {total}", "{n} von {total}", "{n} de {total}", "{n} из {total}"),
    "keys": (
        "Keys: ← → step, ↑ ↓ trick, Page Up / Page Down deal, Home / End",
        "Tasten: ← → Schritt, ↑ ↓ Stich, Bild auf / ab Runde, Pos1 / Ende",
        "Teclas: ← → passo, ↑ ↓ vez, Page Up / Page Down rodada, Home / End",
        "Клавиши: ← → шаг, ↑ ↓ взятка, Page Up / Page Down сдача, Home / End",
    ),
    # The analysis of a decision.
    "decision": ("Decision", "Entscheidung", "Decisão", "Решение"),
    "choice": ("choice", "Wahl", "opção", "выбор"),
    "policy": ("policy", "Policy", "política", "политика"),
    "value": ("value head {x}", "Wertschätzung {x}", "valor estimado {x}", "оценка позиции {x}"),
    "worth": ("open cards", "offene Karten", "cartas abertas", "открытые карты"),
    "loss": ("loss", "Verlust", "perda", "потеря"),
    "chosen": ("chosen", "gewählt", "escolhida", "выбрано"),
    "best": ("best", "beste", "melhor", "лучшее"),
    "inexact": ("time ran out", "Zeit abgelaufen", "tempo esgotado", "не хватило времени"),
    "worth note": (
        "Open cards: what the declarer is paid if all play on at their best with every card seen. "
        "Loss: what the choice gave away.",
        "Offene Karten: was der Alleinspieler erhält, wenn alle mit offenen Karten bestmöglich spielen. "
        "Verlust: was die Wahl verschenkt.",
        "Cartas abertas: o que o declarante recebe se todos jogam o melhor com as cartas à vista. "
        "Perda: o que a escolha custou.",
        "Открытые карты: что получит объявивший игру, если все играют лучшим образом в открытую. Потеря: цена выбора.",
    ),
    # Playing.
    "your turn": ("Your turn", "Du bist dran", "Sua vez de jogar", "Ваш ход"),
    "waiting": ("Waiting for {who}", "Warten auf {who}", "À espera de {who}", "Ожидание: {who}"),
    "away": ("away", "nicht da", "ausente", "нет на месте"),
    "hint": ("Hint", "Tipp", "Dica", "Подсказка"),
    "hinted": ("Hint: {what}", "Tipp: {what}", "Dica: {what}", "Подсказка: {what}"),
    "take back": ("Take back", "Zurücknehmen", "Desfazer", "Вернуть ход"),
    "go on": ("Go on", "Weiter", "Continuar", "Дальше"),
    "analysis": ("Analysis", "Analyse", "Análise", "Разбор"),
    "analysis of": ("Analysis of this deal", "Analyse dieser Runde", "Análise desta rodada", "Разбор сдачи"),
    "saved": ("Saved as {file}", "Gespeichert als {file}", "Salva em {file}", "Записано в {file}"),
    "speed": ("Speed", "Tempo", "Velocidade", "Скорость"),
    "slow": ("slow", "langsam", "lenta", "медленно"),
    "normal": ("normal", "normal", "normal", "обычно"),
    "at once": ("at once", "sofort", "imediata", "сразу"),
    "connecting": (
        "No connection; trying again …", "Keine Verbindung; neuer Versuch …",
        "Sem conexão; nova tentativa …", "Нет связи; новая попытка …",
    ),
    "refused": ("Not possible: {why}", "Nicht möglich: {why}", "Não é possível: {why}", "Нельзя: {why}"),
    "or": ("or", "oder", "ou", "или"),
    "answers": ("hint back quit", "tipp zurück ende", "dica desfazer sair", "подсказка назад выход"),
}  # fmt: skip


def text(language: str, key: str, **values: object) -> str:
    """A text in a language, with its places filled in."""
    return _TABLE[key][list(LANGUAGES).index(language)].format(**values)


def action_text(language: str, name: str, *, spoken: bool = False) -> str:
    """An action such as "bid 3", "discard AS" or "AS" in a language: short as on a card ("A♠"), or as it is spoken."""
    if name in _RANK_AND_SUIT:
        rank, suit = _RANK_AND_SUIT[name]
        court = RANKS.index(rank) - RANKS.index("J")
        if spoken:
            named = text(language, "courts").split()[court] if court >= 0 else "10" if rank == "T" else rank
            return text(language, "card", rank=named, suit=text(language, "suits of").split()[SUITS.index(suit)])
        return (text(language, "letters").split()[court] if court >= 0 else "10" if rank == "T" else rank) + SYMBOLS[suit]
    word, _, rest = name.partition(" ")
    if word == "bid":
        return rest
    if word == "trump":
        return text(language, "trump is", suit=suit_text(language, rest) if spoken else SYMBOLS[rest])
    if name == "discard ?":
        return text(language, "discards")
    if word == "discard":
        return text(language, "discard", card=action_text(language, rest, spoken=spoken))
    return text(language, name)


def suit_text(language: str, suit: str) -> str:
    """A suit's name."""
    return text(language, "suits").split()[SUITS.index(suit)]


@lru_cache(maxsize=1)
def page_words() -> dict[str, Any]:
    """All words for a page, by language, as JSON values: texts by key, and every action shown and spoken."""
    names = (*ACTION_NAMES, "discard ?")
    return {
        code: {
            "name": name,
            "text": {key: row[i] for key, row in _TABLE.items()},
            "suits": {suit: suit_text(code, suit) for suit in SUITS},
            "shown": {action: action_text(code, action) for action in names},
            "spoken": {action: action_text(code, action, spoken=True) for action in names},
        }
        for i, (code, name) in enumerate(LANGUAGES.items())
    }


_RANK_AND_SUIT: Final = {card: (card[0], card[1]) for card in CARDS}
