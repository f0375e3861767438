// Pages of numbers: intervals, learning curves, and from a number to the deals that explain it.

function short(x, digits = 3) {
  const [size, unit] = [[1e9, "G"], [1e6, "M"], [1e3, "k"]].find(([s]) => Math.abs(x) >= s) ?? [1, ""];
  return `${+(x / size).toPrecision(digits)}${unit}`;
}

// The ticks of an axis in as many digits as tell them apart.
function named(ticks) {
  for (let digits = 3; ; digits++) {
    const names = ticks.map((tick) => short(tick, digits));
    if (digits === 12 || new Set(names).size === names.length) return ticks.map((tick, i) => [tick, names[i]]);
  }
}

// Round numbers that divide a range into a few parts.
function ticks(low, high, most = 4) {
  const step = 10 ** Math.floor(Math.log10((high - low) / most));
  const size = [1, 2, 5, 10].map((k) => k * step).find((s) => (high - low) / s <= most);
  const found = [];
  for (let n = Math.ceil(low / size); n * size <= high + size * 1e-9; n++) found.push(+(n * size).toPrecision(12));
  return found;
}

function span(values) {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  return high > low ? [low, high] : [low - 1, high + 1];
}

// A row for each name: its mean as a dot, its interval as a line. `rows` are [name, mean, low, high].
function intervals(rows, width) {
  const left = Math.min(190, width * 0.34), line = 30, height = rows.length * line + 28;
  const [low, high] = span([0, ...rows.flatMap(([, mean, a, b]) => [mean, a ?? mean, b ?? mean])]);
  const x = (value) => left + 12 + ((value - low) / (high - low)) * (width - left - 36);
  const grid = named(ticks(low, high, width / 100)).map(([tick, name]) => [svg("line", { class: "grid", x1: x(tick), x2: x(tick), y1: 4, y2: height - 24 }), svg("text", { x: x(tick), y: height - 6, "text-anchor": "middle" }, name)]);
  const marks = rows.map(([name, mean, a, b], i) => {
    const y = 20 + i * line;
    const label = name.length > left / 7.5 ? `…${name.slice(-left / 7.5)}` : name;
    return [svg("text", { class: "label", x: left, y: y + 4, "text-anchor": "end" }, label), a !== null && svg("line", { class: "span", x1: x(a), x2: x(b), y1: y, y2: y }), svg("circle", { class: "mean", cx: x(mean), cy: y, r: 5 })];
  });
  const told = rows.map(([name, mean, a, b]) => `${name}: ${short(mean)}${a === null ? "" : ` (${short(a)} to ${short(b)})`}`).join("; ");
  return svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": told }, grid.flat(), marks.flat());
}

// A line through points [x, y], or [x, y, low, high] with the interval as a band and a line at zero.
function curve(points) {
  const width = 320, height = 150, left = 50, right = 16, bottom = 20;
  const banded = points[0].length > 2;
  const [x0, x1] = span(points.map(([x]) => x)), [y0, y1] = span([...(banded ? [0] : []), ...points.flatMap(([, ...ys]) => ys)]);
  const at = ([x, y]) => `${(left + ((x - x0) / (x1 - x0)) * (width - left - right)).toFixed(1)} ${(height - bottom - ((y - y0) / (y1 - y0)) * (height - bottom - 10)).toFixed(1)}`;
  const rows = named(ticks(y0, y1, 4)).map(([y, name]) => [svg("path", { class: "grid", d: `M${at([x0, y])}L${at([x1, y])}` }), svg("text", { x: left - 5, y: Number(at([x0, y]).split(" ")[1]) + 4, "text-anchor": "end" }, name)]);
  const one = points.every(([x]) => x === points[0][0]);
  const columns = named(one ? [points[0][0]] : ticks(x0, x1, 4)).map(([x, name]) => svg("text", { x: at([x, y0]).split(" ")[0], y: height - 4, "text-anchor": "middle" }, name));
  const told = `${short(points[0][1])} → ${short(points.at(-1)[1])}`;
  const edge = [...points.map(([x, , low]) => [x, low]), ...points.map(([x, , , high]) => [x, high]).reverse()];
  const band = banded && [svg("path", { class: "band", d: `M${edge.map(at).join("L")}Z` }), svg("path", { class: "zero", d: `M${at([x0, 0])}L${at([x1, 0])}` })];
  const dots = banded && points.flatMap(([x, y, low, high]) => {
    const [[cx, cy], [, y1], [, y2]] = [y, low, high].map((value) => at([x, value]).split(" "));
    return [svg("line", { class: "whisker", x1: cx, x2: cx, y1, y2 }), svg("circle", { class: "mean", cx, cy, r: 2.5 })];
  });
  return svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": told }, rows.flat(), columns, band, dots, svg("path", { class: "line", d: `M${points.map(at).join("L")}` }));
}

for (const figure of document.querySelectorAll("[data-intervals]")) figure.append(intervals(JSON.parse(figure.dataset.intervals), Math.max(280, figure.clientWidth)));
for (const figure of document.querySelectorAll("[data-curve]")) figure.append(curve(JSON.parse(figure.dataset.curve)));

const deals = document.getElementById("deals");
let show = null;
for (const button of document.querySelectorAll("[data-deals]")) {
  button.addEventListener("click", () => {
    document.querySelectorAll("[data-deals]").forEach((other) => other.setAttribute("aria-pressed", other === button));
    const chosen = DATA.deals[button.dataset.deals].map((i) => DATA.matches[i]);
    if (show) show(chosen);
    else show = viewer(deals, chosen);
    deals.scrollIntoView({ behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth" });
    deals.querySelector("h1").tabIndex = -1;
    deals.querySelector("h1").focus({ preventScroll: true });
  });
}
