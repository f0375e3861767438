// A match step by step: buttons, keys, and one seat's view or the open table.

function whole(frames) {
  let now = {};
  return frames.map((changes) => (now = { ...now, ...changes }));
}

// What a seat may know of a frame: no other hand, no other's exchange, and no decision but its own.
function seenBy(frame, seat) {
  if (seat === null) return frame;
  const own = frame.to_act === seat;
  const hidden = frame.exchange && frame.declarer !== seat;
  return {
    ...frame,
    hands: frame.hands.map((hand, i) => (i === seat ? hand : hand.map(() => null))),
    exchange: hidden ? [null, null] : frame.exchange,
    last: frame.last && hidden && frame.last[1].startsWith("discard") ? [frame.last[0], "discard ?"] : frame.last,
    chosen: own ? frame.chosen : null,
    decision: own ? frame.decision : null,
  };
}

const ICONS = {
  first: "M5 4v16M19 4L8 12l11 8Z", last: "M19 4v16M5 4l11 8L5 20Z",
  "deal back": "M20 4l-8 8l8 8M12 4l-8 8l8 8", "deal forward": "M4 4l8 8l-8 8M12 4l8 8l-8 8",
  "trick back": "M4 4v16M20 4L9 12l11 8", "trick forward": "M20 4v16M4 4l11 8L4 20",
  back: "M16 4l-8 8l8 8", forward: "M8 4l8 8l-8 8",
};

function viewer(root, matches) {
  let games = [], number = 0, at = 0, seat = null;

  const frames = () => games[number].frames;
  const isTrick = (i) => i === 0 || i === frames().length - 1 || frames()[i].result || frames()[i].deal !== frames()[i - 1].deal ||
    frames()[i].tricks.length !== frames()[i - 1].tricks.length || frames()[i].phase !== frames()[i - 1].phase;
  const isDeal = (i) => i === 0 || frames()[i].deal !== frames()[i - 1].deal;
  function seek(by, stops) {
    let i = at + by;
    while (i > 0 && i < frames().length - 1 && !stops(i)) i += by;
    return Math.min(frames().length - 1, Math.max(0, i));
  }
  const moves = {
    first: () => 0, "deal back": () => seek(-1, isDeal), "trick back": () => seek(-1, isTrick), back: () => at - 1,
    forward: () => at + 1, "trick forward": () => seek(1, isTrick), "deal forward": () => seek(1, isDeal), last: () => frames().length - 1,
  };
  const keys = {
    Home: "first", PageUp: "deal back", ArrowUp: "trick back", ArrowLeft: "back",
    ArrowRight: "forward", ArrowDown: "trick forward", PageDown: "deal forward", End: "last",
  };
  function go(place) {
    at = Math.min(frames().length - 1, Math.max(0, place));
    draw();
  }

  const live = h("p", { class: "hidden", "aria-live": "polite", id: "story" });
  const content = h("div", { class: "viewer" });
  root.replaceChildren(content, live);

  function controls() {
    const buttons = Object.keys(moves).map((name) => {
      const ahead = ["forward", "trick forward", "deal forward", "last"].includes(name);
      const end = ahead ? at === frames().length - 1 : at === 0;
      return h("button", { id: `go-${name.replace(" ", "-")}`, class: name.includes("ward") || name.includes("back") ? null : "edge", title: say(name), "aria-label": say(name), "aria-disabled": end ? "true" : null, onclick: () => go(moves[name]()) },
        svg("svg", { viewBox: "0 0 24 24", "aria-hidden": "true" }, svg("path", { d: ICONS[name] })));
    });
    const deal = frames()[at].deal;
    const first = frames().findIndex((frame) => frame.deal === deal);
    const length = frames().filter((frame) => frame.deal === deal).length;
    const slider = h("input", { type: "range", id: "place", min: 0, max: length - 1, value: at - first, "aria-label": say("place"), "aria-valuetext": say("step", { n: at - first + 1, total: length }), oninput: () => go(first + Number(slider.value)) });
    return h("nav", { class: "controls", "aria-label": say("step", { n: at + 1, total: frames().length }) }, h("div", { class: "buttons" }, buttons), slider);
  }

  function heading(game, frame) {
    const match = games.length > 1 && h("select", { id: "match", "aria-label": say("match"), onchange: (event) => { number = Number(event.target.value); at = 0; draw(); } },
      games.map((one, i) => h("option", { value: i, selected: i === number }, one.title)));
    const hands = h("select", { id: "hands", "aria-label": say("hands"), onchange: () => { seat = hands.value === "" ? null : Number(hands.value); draw(); } },
      h("option", { value: "", selected: seat === null }, `${say("hands")}: ${say("open")}`),
      frame.hands.map((_, i) => h("option", { value: i, selected: seat === i }, `${say("hands")}: ${say("as seen by", { who: say("seat", { seat: i }) })}`)));
    const total = game.frames.at(-1).deal + 1;
    return h("header", { class: "bar" },
      h("div", {}, h("h1", {}, games.length > 1 ? say("match") : game.title),
        h("p", {}, [game.rules, say("deal", { n: frame.deal + 1, total })].join(" · "))),
      h("div", { class: "selects" }, match, hands, languagePart(draw)));
  }

  function draw() {
    const match = games[number];
    const game = { names: match.names, me: seat };
    const frame = seenBy(frames()[at], seat);
    const broken = frame.to_act !== null && at === frames().length - 1;
    const status = frame.result ? [resultText(game, frame), frame.winners.length > 0 && winnersText(game, frame)].filter(Boolean).join(". ")
      : broken ? say("unfinished") : `${say("to act", { who: seatName(game, frame.to_act) })} · ${question(frame)}`;
    const notes = Object.entries(match.notes);
    replace(content, heading(match, frame),
      h("div", { class: "stage" }, h("p", { class: "status" }, status), table(game, frame), controls()),
      h("div", { class: "side" }, decisionPart(game, frame), contractPart(game, frame), scoresPart(game, frame), auctionPart(game, frame), tricksPart(game, frame),
        notes.length > 0 && h("dl", { class: "panel notes" }, notes.map(([key, value]) => [h("dt", {}, key), h("dd", {}, value)])),
        h("p", { class: "note keys" }, say("keys"))));
    const said = story(game, frame);
    if (live.textContent !== said) live.textContent = said;
  }

  document.addEventListener("keydown", (event) => {
    const target = event.target;
    if (event.altKey || event.ctrlKey || event.metaKey || target.matches?.("select, input") || !root.isConnected) return;
    if (event.key in keys) {
      event.preventDefault();
      go(moves[keys[event.key]]());
    }
  });
  function show(chosen, deal = 0) {
    games = chosen.map((match) => ({ ...match, frames: whole(match.frames) }));
    number = 0;
    at = Math.max(0, frames().findIndex((frame) => frame.deal === deal));
    seat = null;
    draw();
  }
  show(matches, Number(/^#deal=(\d+)$/.exec(location.hash)?.[1] ?? 1) - 1);
  return show;
}

if (document.getElementById("viewer")) viewer(document.getElementById("viewer"), DATA.matches);
