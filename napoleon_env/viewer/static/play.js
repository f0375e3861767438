// A game: what the server sends is shown in order, choices go back to it; a lost connection is taken up again.

const PACES = { slow: 1500, normal: 700, "at once": 0 };

function play(root) {
  const token = new URLSearchParams(location.search).get("token");
  const queue = [];
  let socket = null, now = null, ended = null, acknowledged = false, hint = null, notice = "", waiting = null, online = false, pace = "normal";

  const live = h("p", { class: "hidden", "aria-live": "polite", id: "story" });
  const content = h("div", { class: "viewer" });
  root.replaceChildren(content, live);

  function connect(delay = 500) {
    socket = new WebSocket(`ws://${location.host}/table?token=${token}`);
    let opened = false;
    socket.onopen = () => { online = opened = true; notice = ""; };
    socket.onmessage = (event) => receive(JSON.parse(event.data));
    socket.onclose = () => {
      online = false;
      draw();
      setTimeout(() => connect(opened ? 500 : Math.min(2 * delay, 8000)), delay);
    };
  }

  function receive(message) {
    if (message.hint) { if (newest() && message.version === newest().version) { hint = message.hint; notice = say("hinted", { what: spoken(hint) }); } }
    else if (message.refused || message.failed) notice = message.failed ?? say("refused", { why: message.refused });
    else {
      queue.push(message);
      if (waiting === null && ended === null) step();
      return;
    }
    draw();
  }

  const newest = () => queue.at(-1) ?? now;

  // Shows the next message; stops where a deal has ended until the person goes on.
  function step() {
    waiting = null;
    if (!queue.length) return;
    const next = queue[0];
    if (now !== null && !acknowledged && next.frame.deal > now.frame.deal) {
      ended = next.ended;
      draw();
      return;
    }
    const changed = now !== null && next.version !== now.version;
    if (changed) hint = null;
    acknowledged = false;
    now = queue.shift();
    draw();
    if (queue.length || changed) waiting = setTimeout(step, PACES[pace]);
  }

  function goOn() {
    ended = null;
    acknowledged = true;
    step();
  }

  function send(what) {
    hint = null;
    notice = "";
    if (online) socket.send(JSON.stringify({ ...what, version: now.version }));
  }

  const choose = (action) => send({ do: "act", action });

  function draw() {
    if (now === null) {
      replace(content, h("p", { class: "status", role: "status" }, say("connecting")));
      return;
    }
    const frame = ended ?? now.frame;
    const mine = ended === null && !queue.length && now.legal.length > 0 && online;
    const game = { names: DATA.names.map((name, seat) => (seat === DATA.me ? say("you") : name)), me: DATA.me, away: now.away, hint, legal: mine ? now.legal : [], choose: mine ? choose : null };
    const over = frame.winners.length > 0;
    const lines = [frame.result && resultText(game, frame), over && winnersText(game, frame)].filter(Boolean);
    if (!lines.length) lines.push(mine ? `${say("your turn")} · ${question(frame)}` : say("waiting", { who: seatName(game, frame.to_act) }));
    replace(content, heading(frame),
      h("div", { class: "stage" },
        h("p", { class: `status${mine ? " mine" : ""}` }, online ? lines.join(". ") : say("connecting")),
        table(game, frame), choices(game, frame, mine), notice && h("p", { class: "notice", role: "status" }, notice)),
      h("div", { class: "side" }, contractPart(game, frame), scoresPart(game, frame), auctionPart(game, frame), tricksPart(game, frame),
        over && now.saved && h("p", { class: "note" }, say("saved", { file: now.saved }))));
    const said = [online ? "" : say("connecting"), mine ? say("your turn") : "", story(game, frame)].filter(Boolean).join(". ");
    if (live.textContent !== said) live.textContent = said;
    if (document.activeElement === document.body) content.querySelector(".choices button.action, .hand button")?.focus({ preventScroll: true });
  }

  function heading(frame) {
    const speed = h("select", { id: "speed", "aria-label": say("speed"), onchange: () => { pace = speed.value; draw(); } },
      Object.keys(PACES).map((key) => h("option", { value: key, selected: key === pace }, `${say("speed")}: ${say(key)}`)));
    return h("header", { class: "bar" },
      h("div", {}, h("h1", {}, say("title")), h("p", {}, [DATA.rules, say("deal", { n: frame.number, total: DATA.deals })].join(" · "))),
      h("div", { class: "selects" }, speed, languagePart(draw)));
  }

  // What can be said or done by a button; cards that can be played are buttons in the hand itself.
  function choices(game, frame, mine) {
    const cards = mine && frame.phase === "play";
    const actions = mine && !cards ? now.legal.filter((action) => !action.startsWith("discard")) : [];
    const buttons = actions.map((action) =>
      h("button", { class: `action${hint === action ? " hinted" : ""}`, "data-action": action, "aria-label": spoken(action), onclick: () => choose(action) },
        action.startsWith("trump ") ? [suitSign(action.at(-1)), " ", suitName(action.at(-1))] : capital(shown(action))));
    const next = ended && h("button", { class: "action", id: "go-on", onclick: goOn }, say("go on"));
    const analysis = (ended || frame.result) && h("a", { class: "link", id: "analysis", href: `/analysis?token=${token}#deal=${frame.deal + 1}`, target: "_blank", rel: "noopener" }, say("analysis of"));
    const tools = [
      mine && h("button", { id: "hint", onclick: () => send({ do: "hint" }) }, say("hint")),
      DATA.practice && ended === null && h("button", { id: "back", disabled: !now.back || !online || queue.length > 0, onclick: () => send({ do: "back" }) }, say("take back")),
    ];
    const discards = mine && frame.phase === "exchange" && h("p", { class: "note" }, say("exchange?"));
    return h("section", { class: "panel choices", "aria-label": say("choices") },
      h("div", { class: "actions" }, next, buttons, discards), h("div", { class: "tools" }, tools, analysis));
  }

  draw();
  connect();
}

play(document.getElementById("play"));
