// The parts that every page is made of: words, cards, the table, what is said of it in words, and the columns beside it.

const DATA = JSON.parse(document.getElementById("data").textContent);
let language = DATA.language;

function say(key, values = {}) {
  return DATA.words[language].text[key].replace(/\{(\w+)\}/g, (_, name) => values[name]);
}

const shown = (action) => DATA.words[language].shown[action];
const spoken = (action) => DATA.words[language].spoken[action];
const suitName = (suit) => DATA.words[language].suits[suit];
const signed = (n) => (n > 0 ? "+" : n < 0 ? "−" : "") + Math.abs(n).toLocaleString(language, { maximumFractionDigits: 3 });
const capital = (text) => text.charAt(0).toLocaleUpperCase(language) + text.slice(1);

function build(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "style") for (const [key, x] of Object.entries(value)) element.style.setProperty(key, x);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

const h = (tag, attributes, ...children) => build(document.createElement(tag), attributes, children);
const svg = (tag, attributes, ...children) => build(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);

// Cards.

const SUIT_PATHS = {
  C: "M50 5a21 21 0 0 1 15 36a21 21 0 1 1-10 36c1 7 4 12 10 18H35c6-6 9-11 10-18a21 21 0 1 1-10-36A21 21 0 0 1 50 5Z",
  D: "M50 3C59 21 71 37 87 50C71 63 59 79 50 97C41 79 29 63 13 50C29 37 41 21 50 3Z",
  H: "M50 92C22 68 7 49 7 31C7 17 17 8 29 8C39 8 46 14 50 23C54 14 61 8 71 8C83 8 93 17 93 31C93 49 78 68 50 92Z",
  S: "M50 5C58 24 92 43 92 64C92 76 83 83 73 83C65 83 58 79 54 72C55 82 59 90 66 95H34C41 90 45 82 46 72C42 79 35 83 27 83C17 83 8 76 8 64C8 43 42 24 50 5Z",
};

function pip(suit, x, y, size) {
  const scale = size / 100;
  return svg("path", { d: SUIT_PATHS[suit], transform: `translate(${x - size / 2} ${y - size / 2}) scale(${scale})` });
}

function suitSign(suit) {
  return svg("svg", { class: `suit suit-${suit}`, viewBox: "0 0 100 100", role: "img", "aria-label": suitName(suit) }, svg("path", { d: SUIT_PATHS[suit] }));
}

// A card as a picture, 50 by 72; null is a card's back.
function card(name, label = name ? spoken(name) : say("face down")) {
  const named = label ? { role: "img", "aria-label": label } : { "aria-hidden": "true" };
  const edge = svg("rect", { x: 0.5, y: 0.5, width: 49, height: 71, rx: 5, class: "paper" });
  if (name === null) {
    const lines = [];
    for (let i = -64; i < 42; i += 7) lines.push(`M${Math.max(4, 4 + i)} ${Math.max(4, 4 - i)}L${Math.min(46, 68 + i)} ${Math.min(68, 46 - i)}`);
    for (let i = 4; i < 110; i += 7) lines.push(`M${Math.min(46, i)} ${Math.max(4, i - 42)}L${Math.max(4, i - 64)} ${Math.min(68, i)}`);
    const back = [svg("rect", { x: 4, y: 4, width: 42, height: 64, rx: 3, class: "back" }), svg("path", { d: lines.join(""), class: "lattice" })];
    return svg("svg", { class: "card", viewBox: "0 0 50 72", ...named }, edge, back);
  }
  const rank = shown(name).slice(0, -1);
  const text = svg("text", { x: rank.length > 1 ? 2.5 : 4.5, y: 18.5, class: rank.length > 1 ? "rank wide" : "rank" }, rank);
  const pips = [pip(name[1], 10.5, 29, 13), pip(name[1], 32, 50, 29)];
  return svg("svg", { class: `card suit-${name[1]}`, viewBox: "0 0 50 72", ...named }, edge, text, pips);
}

// Words of a frame.

const seatName = (game, seat) => game.names[seat] ? `${say("seat", { seat })}: ${game.names[seat]}` : say("seat", { seat });
const shortName = (game, seat) => (seat === game.me ? say("you") : say("seat", { seat }));
const contractText = (name, how = shown) => (name ? how(name) : "–");

function question(frame) {
  if (frame.phase === "play") return frame.led ? say("follow?", { suit: suitName(frame.led) }) : say("lead?");
  return say(`${frame.phase}?`);
}

function resultText(game, frame) {
  const { made, payoffs } = frame.result;
  const paid = payoffs.map((x, seat) => `${shortName(game, seat)} ${signed(x)}`).join(", ");
  return made === null ? say("void") : `${say(made ? "made" : "failed")}: ${paid}`;
}

function winnersText(game, frame) {
  return say("winners", { who: frame.winners.map((seat) => shortName(game, seat)).join(", ") });
}

// What has just happened and what is asked, in a line for those who listen.
function story(game, frame) {
  const parts = [];
  if (frame.last) parts.push(`${shortName(game, frame.last[0])}: ${spoken(frame.last[1])}`);
  const trick = frame.tricks.at(-1);
  if (trick && trick.length === frame.hands.length) parts.push(say("takes", { who: shortName(game, frame.winning) }));
  if (frame.result) parts.push(resultText(game, frame));
  if (frame.winners.length) parts.push(winnersText(game, frame));
  if (frame.to_act !== null) parts.push(`${say("to act", { who: shortName(game, frame.to_act) })}, ${question(frame)}`);
  return parts.join(". ");
}

// The table from above. `game` has names, me (the seat at the bottom or null) and, where one plays, choose(action) and legal.

function table(game, frame) {
  const n = frame.hands.length;
  const bottom = game.me ?? 0;
  const place = (seat) => {
    const turn = (2 * Math.PI * ((seat - bottom + n) % n)) / n;
    return { "--x": -Math.sin(turn).toFixed(4), "--y": Math.cos(turn).toFixed(4) };
  };
  const seats = frame.hands.map((_, i) => (bottom + i) % n).map((seat) => seatPart(game, frame, seat, place(seat), seat === bottom));
  return h("section", { class: "table", "aria-label": say("table") }, h("div", { class: "felt" }), middle(frame, place), seats);
}

function middle(frame, place) {
  const trick = frame.tricks.at(-1) ?? [];
  const cards = trick.map(([seat, name], i) =>
    h("li", { class: `played${seat === frame.winning ? " winning" : ""}${i === trick.length - 1 ? " newest" : ""}`, style: { ...place(seat), "z-index": i } }, card(name)));
  return h("div", { class: "middle" },
    h("ol", { class: "trick", "aria-label": say("trick", { n: Math.max(1, frame.tricks.length) }) }, cards),
    frame.trump && h("div", { class: "trump-mark" }, suitSign(frame.trump), h("small", {}, say("trump"))),
    frame.pot !== null && h("div", { class: "pot" }, coins(), h("span", {}, `${say("pot")} ${frame.pot.toLocaleString(language)}`)),
    frame.stock > 0 && h("div", { class: "stock" }, card(null, say("stock")), h("small", {}, `${say("stock")} ${frame.stock}`)));
}

function coins() {
  const discs = [[14, 30], [34, 30], [14, 25], [34, 25], [24, 33], [24, 28], [24, 23], [34, 20]];
  return svg("svg", { viewBox: "0 0 48 42", class: "coins", "aria-hidden": "true" }, discs.map(([cx, cy]) => svg("ellipse", { cx, cy, rx: 10, ry: 4.5 })));
}

function seatPart(game, frame, seat, style, own) {
  const acts = frame.to_act === seat;
  const declares = frame.declarer === seat && frame.phase !== "auction";
  const calls = frame.calls.filter(([who]) => who === seat);
  const call = !frame.tricks.length && calls.length ? calls.at(-1)[1] : null;
  const roles = [
    seatName(game, seat),
    frame.dealer === seat && say("dealer"),
    declares && `${say("declarer")} ${contractText(frame.contract, spoken)}`,
    call && !declares && spoken(call),
    `${say("tricks")} ${frame.won[seat]}`,
    game.away?.includes(seat) && say("away"),
    acts && say("to act", { who: shortName(game, seat) }),
  ].filter(Boolean).join(", ");
  const hand = [...frame.hands[seat]].reverse();
  const step = hand.length > 1 ? Math.min(own ? 0.74 : 0.5, (own ? 3.4 : 2.1) / (hand.length - 1)) : 1;
  const classes = `seat${own ? " own" : ""}${acts ? " acts" : ""}${game.away?.includes(seat) ? " away" : ""}${frame.winners.includes(seat) ? " winner" : ""}`;
  return h("div", { class: classes, role: "group", "aria-label": roles, style: { ...style, "--step": step } },
    h("ul", { class: "hand", "aria-label": say("cards") }, hand.map((name) => h("li", {}, handCard(game, frame, seat, name)))),
    h("div", { class: "plate", "aria-hidden": "true" },
      h("span", { class: "name" }, game.names[seat] ? [h("b", {}, seat), " ", game.names[seat]] : shortName(game, seat)),
      frame.dealer === seat && h("span", { class: "button", title: say("dealer") }, capital(say("dealer")).charAt(0)),
      declares && h("span", { class: "badge" }, contractText(frame.contract), frame.trump && suitSign(frame.trump)),
      call && !declares && h("span", { class: `badge call${frame.declarer === seat ? " highest" : call === "pass" ? " pass" : ""}` }, shown(call)),
      frame.won[seat] > 0 && h("span", { class: "won", title: say("tricks") }, "▮".repeat(frame.won[seat]))));
}

function handCard(game, frame, seat, name) {
  if (name === null) return card(null);
  const row = frame.to_act === seat && frame.decision?.rows.find(([action]) => action === name || action === `discard ${name}`);
  const chosen = frame.to_act === seat && (frame.chosen === name || frame.chosen === `discard ${name}`);
  const loss = row && row[3];
  const tag = row && loss !== null && h("span", { class: `tag${loss ? " bad" : ""}`, "aria-hidden": "true" }, loss ? signed(-loss) : "✓");
  const action = game.legal?.find((legal) => legal === name || legal === `discard ${name}`);
  if (action && game.choose) {
    const hinted = game.hint === action ? " hinted" : "";
    return h("button", { class: `choice${hinted}`, "data-action": action, "aria-label": spoken(action), onclick: () => game.choose(action) }, card(name, ""));
  }
  const dim = game.legal?.length && frame.to_act === seat && frame.phase === "play";
  return h("span", { class: `held${chosen ? " chosen" : ""}${dim ? " dim" : ""}` }, card(name), tag);
}

// The columns beside the table.

function contractPart(game, frame) {
  const settled = frame.phase !== "auction";
  const sign = frame.trump ? suitSign(frame.trump) : h("span", { class: "suit unknown", "aria-hidden": "true" }, frame.contract === "misere" && settled ? "–" : "?");
  const trump = frame.trump ? `${say("trump")} ${suitName(frame.trump)}` : frame.contract === "misere" && settled ? say("no trump") : "";
  const who = frame.declarer === null ? "" : seatName(game, frame.declarer);
  const won = settled && frame.declarer !== null ? `${say("tricks")} ${frame.won[frame.declarer]}` : "";
  return h("section", { class: "panel contract", "aria-label": say("contract") }, sign,
    h("div", {},
      h("h2", {}, capital(say(settled ? "contract" : "highest")), ": ", h("b", {}, contractText(frame.contract)), frame.announced && h("em", {}, ` ${shown("napoleon")}`)),
      h("p", {}, [who, trump, won].filter(Boolean).join(" · ")),
      frame.exchange && h("p", { class: "exchange" }, `${say("exchange")}: `, exchangeText(frame.exchange))));
}

function exchangeText([out, drawn]) {
  return out ? say("exchanged", { out: shown(out), drawn: drawn ? shown(drawn) : "?" }) : say("discards");
}

function scoresPart(game, frame) {
  const ended = frame.result;
  return h("section", { class: "panel", "aria-label": say("scores") },
    h("table", { class: "scores" },
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, say("players")), h("th", { scope: "col" }, say("tricks")), ended && h("th", { scope: "col" }, say("this deal")), h("th", { scope: "col" }, say("score")))),
      h("tbody", {}, frame.scores.map((score, seat) => h("tr", { class: frame.winners.includes(seat) ? "winner" : null },
        h("th", { scope: "row" }, seatName(game, seat)), h("td", {}, frame.won[seat]),
        ended && h("td", { class: ended.payoffs[seat] < 0 ? "bad" : ended.payoffs[seat] > 0 ? "good" : null }, signed(ended.payoffs[seat])),
        h("td", {}, h("b", {}, signed(score))))))));
}

function auctionPart(game, frame) {
  const said = frame.calls.map(([seat, call]) => h("li", {}, h("small", {}, shortName(game, seat)), " ", h("b", {}, shown(call))));
  return h("section", { class: "panel", "aria-label": say("auction") }, h("h2", {}, say("auction")), h("ol", { class: "calls" }, said.length ? said : h("li", {}, "–")));
}

function tricksPart(game, frame) {
  if (!frame.tricks.length) return null;
  const rows = frame.tricks.map((trick, i) => {
    const taker = i < frame.takers.length ? frame.takers[i] : null;
    const cards = trick.map(([seat, name]) => h("li", { class: `suit-${name[1]}${seat === taker ? " taker" : ""}`, title: seatName(game, seat) },
      h("small", {}, seat), h("span", { "aria-hidden": "true" }, shown(name)), h("span", { class: "hidden" }, spoken(name), seat === taker ? `, ${say("takes", { who: shortName(game, seat) })}` : "")));
    return h("li", {}, h("ol", { class: "row", "aria-label": say("trick", { n: i + 1 }) }, cards));
  });
  return h("section", { class: "panel", "aria-label": say("tricks played") }, h("h2", {}, say("tricks played")), h("ol", { class: "tricks" }, rows));
}

// What was computed of the decision that a frame waits for.
function decisionPart(game, frame) {
  const facts = frame.decision;
  if (!facts) return null;
  const columns = [1, 2, 3].map((i) => facts.rows.some((row) => row[i] !== null));
  const heads = ["policy", "worth", "loss"].filter((_, i) => columns[i]);
  const rows = facts.rows.map(([action, chance, worth, loss]) => {
    const chosen = action === frame.chosen;
    const best = facts.best?.includes(action);
    const marks = [chosen && mark("●", "chosen"), best && mark("★", "best")];
    return h("tr", { class: `${chosen ? "chosen" : ""}${best ? " best" : ""}` },
      h("th", { scope: "row" }, h("span", { "aria-hidden": "true", class: cardClass(action) }, shown(action)), h("span", { class: "hidden" }, spoken(action))),
      columns[0] && h("td", { class: "chance" }, chance !== null && h("span", { class: "bar", style: { "--p": chance } }), chance === null ? "" : `${(100 * chance).toFixed(chance < 0.1 ? 1 : 0)} %`),
      columns[1] && h("td", {}, worth === null ? "" : signed(worth)),
      columns[2] && h("td", { class: loss ? "bad" : "good" }, loss === null ? "" : loss ? signed(-loss) : "0"),
      h("td", { class: "marks" }, marks));
  });
  return h("section", { class: "panel decision", "aria-label": say("decision") },
    h("h2", {}, `${say("decision")}: ${seatName(game, frame.to_act)}`, facts.value !== undefined && h("small", {}, say("value", { x: signed(facts.value) }))),
    h("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": say("decision") },
      h("table", {}, h("thead", {}, h("tr", {}, h("th", { scope: "col" }, say("choice")), heads.map((key) => h("th", { scope: "col" }, say(key))), h("td", {}))), h("tbody", {}, rows))),
    facts.exact === false && h("p", { class: "bad" }, say("inexact")),
    h("p", { class: "note", "aria-hidden": "true" }, `● ${say("chosen")}`, facts.best && ` · ★ ${say("best")}`),
    columns[1] && h("p", { class: "note" }, say("worth note")));
}

const mark = (sign, word) => [h("span", { "aria-hidden": "true", title: say(word) }, sign), h("span", { class: "hidden" }, `${say(word)} `)];

const cardClass = (action) => (/[CDHS]$/.test(action) ? `suit-${action.at(-1)}` : null);

function languagePart(changed) {
  const options = Object.entries(DATA.words).map(([code, { name }]) => h("option", { value: code, selected: code === language, lang: code }, name));
  const select = h("select", { "aria-label": say("language"), id: "language", onchange: () => { language = select.value; document.documentElement.lang = language; changed(); } }, options);
  return select;
}

// Puts new content in place of the old and keeps the focus on the control of the same id or action, where there is one.
function replace(parent, ...children) {
  const active = document.activeElement;
  const key = parent.contains(active) ? active.id || active.dataset.action : null;
  parent.replaceChildren(...children.flat(Infinity).filter(Boolean));
  if (key) [...parent.querySelectorAll("[id], [data-action]")].find((element) => element.id === key || element.dataset.action === key)?.focus();
}
