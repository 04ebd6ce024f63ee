"use strict";
// The page shows what is in `data`; it computes nothing but places. Text is only ever set as text, never as markup.
const D = JSON.parse(document.getElementById("data").textContent);
const T = D.positions, best = D.paths[0], traced = D.search.traced;
const SVG = "http://www.w3.org/2000/svg";
const byId = id => document.getElementById(id);
const state = { t: 0, path: 0, step: Infinity, playing: false };

function fill(node, attributes, children) {
  for (const [key, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined) continue;
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value); else node.setAttribute(key, value);
  }
  for (const child of children) if (child !== null && child !== undefined) node.append(child);
  return node;
}
const el = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
const svg = (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);

const whole = n => Math.round(n).toString().replace(/\B(?=(\d{3})+$)/g, ",");
function num(x) {
  if (x === null) return "−∞";
  const size = Math.abs(x);
  if (size >= 1e6) return x.toExponential(3).replace("-", "−");
  const text = size >= 100 ? x.toFixed(2) : size >= 1 ? x.toFixed(2) : size >= 0.001 || size === 0 ? x.toFixed(3) : x.toExponential(1);
  return text.replace("-", "−");
}
const signed = x => (x > 0 ? "+" : "") + num(x);
function percent(p) {
  if (p >= 0.9995 && p < 1) return "> 99.9 %";
  if (p > 0 && p < 0.0005) return "< 0.1 %";
  return (100 * p).toFixed(1) + " %";
}
const cut = (text, most) => [...text].length > most ? [...text].slice(0, most - 1).join("") + "…" : text;
const name = y => D.names[y] ?? String(y);
// Control characters and marks of direction would disturb the text around them.
const visible = text => text.replace(/[\u0000-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g, c => "\\u{" + c.codePointAt(0).toString(16) + "}");
const token = t => D.tokens ? visible(D.tokens[t]) : "position " + (t + 1);
const word = (t, most) => D.tokens ? cut(token(t), most) : ""; // beside the number of the position
const label = y => visible(name(y));
const file = path => visible(path.split(/[\\/]/).pop());
const column = t => D.columns[t].vertices;
const probability = (t, y) => { const v = column(t).find(v => v[0] === y); return v ? v[4] : 0; };

// ---- summary -------------------------------------------------------------------------------------------------------
function facts() {
  byId("title").textContent = D.tokens && T ? cut(D.tokens.map(visible).join(" "), 110) : "Sequence " + whole(D.sequence) + " of " + file(D.file);
  byId("subtitle").textContent = "sequence " + whole(D.sequence) + " of " + file(D.file) + (D.model ? ", labelled by " + file(D.model) : ", scores without a model");
  document.title = "kbest explain: " + cut(byId("title").textContent, 60);
  const opened = D.columns.reduce((sum, c) => sum + c.opened, 0), all = T * D.labels;
  const fact = (id, value, what, strong) =>
    el("div", { class: "fact" + (strong ? " strong" : ""), id: "fact-" + id, "data-value": value.raw ?? value }, el("b", null, value.text ?? value), el("span", null, what));
  const asked = D.search.asked === D.search.decoder ? "" : ", asked for " + D.search.asked;
  const proof = el("span", { class: "badge" + (D.search.exact ? "" : " bad") }, D.search.exact ? "exact" : "not proven");
  const box = el("div", { class: "fact", id: "fact-decoder", "data-value": D.search.decoder }, el("b", null, D.search.decoder + " ", proof),
    el("span", null, "decoder" + asked));
  byId("facts").append(fact("positions", { raw: T, text: whole(T) }, T === 1 ? "position" : "positions"),
    fact("labels", { raw: D.labels, text: whole(D.labels) }, D.labels === 1 ? "label" : "labels"), box);
  if (traced && T) {
    byId("facts").append(fact("opened", { raw: opened, text: percent(opened / all) }, "of all vertices opened (" + whole(opened) + ")", true),
      fact("mean", { raw: opened / T, text: num(opened / T) }, "opened per position"));
  } else {
    for (const [what, count] of Object.entries(D.search.counters)) byId("facts").append(fact(what.replace(" ", "-"), { raw: count, text: whole(count) }, what));
  }
  if (best) byId("facts").append(fact("best", { raw: best.probability, text: percent(best.probability) }, "probability of the best path"));
  const counted = Object.entries(D.search.counters).map(([what, count]) => whole(count) + " " + what).join(", ");
  const plan = (D.search.plan ? "\nPlan: " + D.search.plan : "") +
    (D.search.because ? "\nThe paths are those of `" + D.search.paths_by + "`, because " + D.search.because + "." : "") +
    (D.calibration ? "\nProbabilities are calibrated: " + D.calibration + "." : "");
  byId("footer").textContent = "Work: " + counted + ". log Z = " + num(D.log_partition) + ". Made by kbest " + D.version + "." + plan +
    "\nKeys: ← → position; space replay; T theme; in the trellis or the list of paths also ↑ ↓ path, Home End first and last position.";
}

// ---- the answer ----------------------------------------------------------------------------------------------------
const chips = [];
function sentence() {
  const box = byId("sentence");
  if (!T) { box.textContent = "The sequence is empty."; return; }
  for (let t = 0; t < T; t++) {
    const y = best.labels[t], p = probability(t, y);
    const chip = el("button", { type: "button", class: "token" + (p < 0.9 ? " unsure" : ""), "aria-pressed": "false", "data-t": t, "data-label": y,
      title: token(t) + ": " + label(y) + ", " + percent(p), onclick: () => choose(t, true) },
      el("i", null, D.tokens ? token(t) : String(t + 1)), el("em", null, label(y)), el("s", { style: "--p:" + (100 * p).toFixed(1) + "%" }));
    chips.push(chip);
    box.append(chip);
  }
}

// ---- overview: vertices opened along the sequence ---------------------------------------------------------------------
const H = 96, LEFT = 44, BASE = 76;
let W = 1160, marker = null, frame = null;
function overview() {
  const box = byId("overview");
  if (!T || !traced) { box.hidden = true; return; }
  W = Math.max(240, box.clientWidth);
  const most = Math.max(1, ...D.columns.map(c => c.opened)), width = (W - LEFT) / T;
  const bars = D.columns.map((c, t) => {
    const x = LEFT + t * width, w = Math.max(width * 0.82, 0.6), h = Math.max(c.opened ? 1.5 : 0, (BASE - 8) * c.opened / most);
    return "M" + x.toFixed(2) + " " + BASE + "v" + (-h).toFixed(2) + "h" + w.toFixed(2) + "v" + h.toFixed(2) + "z";
  }).join("");
  marker = svg("rect", { class: "chosen", y: 2, height: BASE - 2, width: Math.max(width, 3) });
  frame = svg("rect", { class: "window", y: 2, height: BASE - 2 });
  const picture = svg("svg", { viewBox: "0 0 " + W + " " + H, role: "img", "aria-label": "Vertices opened at each position, at most " + most,
    onclick: e => { const r = picture.getBoundingClientRect(); choose(Math.floor(((e.clientX - r.left) / r.width * W - LEFT) / width), true); } },
    svg("line", { class: "grid", x1: LEFT, x2: W, y1: BASE, y2: BASE }), svg("line", { class: "grid", x1: LEFT, x2: W, y1: 8, y2: 8 }),
    marker, svg("path", { class: "bar", d: bars }), frame,
    svg("text", { class: "axis", x: LEFT - 8, y: 12, "text-anchor": "end" }, whole(most)), svg("text", { class: "axis", x: LEFT - 8, y: BASE + 4, "text-anchor": "end" }, "0"),
    svg("text", { class: "axis", x: LEFT, y: BASE + 16 }, "1"), svg("text", { class: "axis", x: W, y: BASE + 16, "text-anchor": "end" }, whole(T)),
    svg("text", { class: "axis", x: (W + LEFT) / 2, y: BASE + 16, "text-anchor": "middle" }, "vertices opened at each position"));
  box.replaceChildren(picture);
  mark();
}
function mark() {
  const width = (W - LEFT) / T;
  if (marker) marker.setAttribute("x", LEFT + state.t * width - Math.max(0, 3 - width) / 2);
}

// ---- the trellis: only the columns and rows in sight are drawn --------------------------------------------------------
const ROW = 27, HEAD = 46, GAP = 30;
let PILL = 92, COLUMN = PILL + GAP, LETTERS = 11; // by the length of the names, see prepare
const box = byId("trellis"), space = el("div", { class: "space" }), canvas = svg("svg", { role: "img" });
const drawnColumns = [], places = [];
let rows = 0, asked = false;
function prepare() {
  byId("search-hint").textContent = traced
    ? "What " + D.search.decoder + " did to find " + (D.search.k === 1 ? "the best path" : "the " + D.search.k + " best paths") + ". Each column is a position, likely labels on top; labels that were never touched are not drawn."
    : "Decoders of segments count their work, but keep no trace; these are the best segmentations.";
  if (!T) { box.hidden = true; byId("controls").hidden = true; byId("legend").hidden = true; return; }
  const lengths = D.paths.flatMap(p => p.labels).map(y => [...label(y)].length).sort((a, b) => a - b);
  LETTERS = Math.max(6, Math.min(22, lengths[Math.floor(0.95 * (lengths.length - 1))]));
  PILL = 22 + 7.1 * LETTERS;
  COLUMN = PILL + GAP;
  for (let t = 0; t < T; t++) {
    const onPath = new Set(D.paths.map(p => p.labels[t]));
    const list = D.segments ? [] : column(t).filter(v => v[1] > 0 || onPath.has(v[0]));
    drawnColumns.push(list);
    places.push(new Map(list.map((v, i) => [v[0], i])));
    rows = Math.max(rows, list.length + (hiddenCount(t) ? 1 : 0));
  }
  if (D.segments) rows = D.paths.length;
  space.style.width = T * COLUMN + "px";
  space.style.height = HEAD + rows * ROW + 12 + "px";
  space.append(canvas);
  box.append(space);
  box.addEventListener("scroll", request, { passive: true });
  addEventListener("resize", () => { overview(); request(); });
  const sample = (kind, text) => el("li", null, el("i", { class: kind }), text);
  const legend = byId("legend");
  legend.append(sample("win", "on the best path"), sample("other", "on the chosen path"));
  if (traced) legend.append(sample("open", "opened"), sample("closed", "opened, then pruned"), sample("pruned", "pruned unopened"));
}
const hiddenCount = t => Math.max(0, D.columns[t].opened + D.columns[t].pruned - drawnColumns[t].filter(v => v[1] > 0).length);
function request() { if (!asked) { asked = true; requestAnimationFrame(() => { asked = false; draw(); }); } }

function draw() {
  if (!T) return;
  const width = box.clientWidth || 1160, height = Math.min(box.clientHeight || 470, HEAD + rows * ROW + 12);
  canvas.setAttribute("width", width);
  canvas.setAttribute("height", height);
  const from = Math.max(0, Math.floor(box.scrollLeft / COLUMN) - 1), to = Math.min(T, Math.ceil((box.scrollLeft + width) / COLUMN) + 1);
  const top = Math.max(0, Math.floor(box.scrollTop / ROW) - 1), bottom = Math.ceil((box.scrollTop + height) / ROW) + 1;
  const X = t => t * COLUMN - box.scrollLeft + 15, Y = i => HEAD + i * ROW - box.scrollTop + ROW / 2 + 3;
  const back = svg("g"), edges = svg("g"), pills = svg("g"), heads = svg("g");
  for (let t = from; t < to; t++) {
    back.append(svg("rect", { class: "column" + (t === state.t ? " chosen" : ""), x: X(t) - 15, y: 0, width: COLUMN, height, onclick: () => choose(t) }));
    const count = D.columns[t];
    heads.append(svg("text", { class: "head", x: X(t), y: 20 }, D.tokens ? cut(token(t), LETTERS + 2) : whole(t + 1)),
      svg("text", { class: "sub", x: X(t), y: 36 }, traced ? whole(count.opened) + " opened" : String(t + 1)));
    if (D.segments) continue;
    const list = drawnColumns[t];
    for (let i = top; i < Math.min(list.length, bottom); i++) pills.append(vertex(t, list[i], X(t), Y(i)));
    if (list.length < bottom && hiddenCount(t)) pills.append(svg("text", { class: "sub", x: X(t) + 4, y: Y(list.length) + 4 }, "+ " + whole(hiddenCount(t)) + " more"));
  }
  if (D.segments) segments(pills, X, Y, from, to);
  else D.paths.forEach((path, rank) => { if (rank !== 0 && rank !== state.path) line(edges, path, rank, X, Y, from, to); });
  if (!D.segments && state.path) line(edges, D.paths[state.path], state.path, X, Y, from, to);
  if (!D.segments) line(edges, best, 0, X, Y, from, to);
  canvas.replaceChildren(back, edges, pills, svg("rect", { class: "headback", width, height: HEAD - 2 }),
    svg("line", { class: "headline", x1: 0, x2: width, y1: HEAD - 2, y2: HEAD - 2 }), heads);
  if (frame) {
    const w = (W - LEFT) / T;
    frame.setAttribute("x", LEFT + box.scrollLeft / COLUMN * w);
    frame.setAttribute("width", Math.min(W - LEFT, width / COLUMN * w));
    frame.setAttribute("visibility", width >= T * COLUMN ? "hidden" : "visible");
  }
}
const FATES = ["never touched", "pruned", "opened", "opened, then pruned"];
function vertex(t, [y, fate, step, node, p], x, middle) {
  const on = best.labels[t] === y, other = state.path && D.paths[state.path].labels[t] === y;
  const later = state.step < D.search.steps && (step === null || step > state.step);
  const classes = "vertex f" + fate + (on && !later ? " on" : "") + (other && !on ? " alternative" : "") + (later ? " later" : "");
  return svg("g", { class: classes, "data-t": t, "data-label": y, "data-fate": fate, "data-step": step, onclick: () => choose(t) },
    svg("rect", { x, y: middle - 10, width: PILL, height: 20, rx: 10 }),
    p > 0.005 ? svg("rect", { class: "sure", x: x + 9, y: middle + 6, width: (PILL - 18) * p, height: 2, rx: 1 }) : null,
    svg("text", { x: x + 10, y: middle + 3.5 }, cut(label(y), LETTERS)),
    svg("title", null, label(y) + " at " + token(t) + "\n" + FATES[fate] + (step === null ? "" : ", step " + (step + 1)) + "\nnode score " + num(node) + "\nprobability " + percent(p)));
}
function line(group, path, rank, X, Y, from, to) {
  for (let t = Math.max(1, from); t < to; t++) {
    if (rank && path.labels[t] === best.labels[t] && path.labels[t - 1] === best.labels[t - 1]) continue;
    const a = places[t - 1].get(path.labels[t - 1]), b = places[t].get(path.labels[t]);
    if (a === undefined || b === undefined) continue;
    const x1 = X(t - 1) + PILL, x2 = X(t), bend = (x2 - x1) * 0.55;
    group.append(svg("path", { class: "edge" + (rank === 0 ? " best" : rank === state.path ? " shown" : ""), "data-rank": rank,
      d: "M" + x1 + " " + Y(a) + "C" + (x1 + bend) + " " + Y(a) + " " + (x2 - bend) + " " + Y(b) + " " + x2 + " " + Y(b) }));
  }
}
function segments(group, X, Y, from, to) {
  D.paths.forEach((path, rank) => {
    for (const [start, end, y] of path.segments) {
      if (end <= from || start >= to) continue;
      const same = best.segments.some(s => s[0] === start && s[1] === end && s[2] === y);
      const x = X(start), w = (end - start) * COLUMN - (COLUMN - PILL);
      group.append(svg("g", { class: "vertex " + (same ? "on" : "f2") + (rank === state.path && !same ? " alternative" : ""), "data-rank": rank, "data-start": start, "data-end": end, "data-label": y, onclick: () => choose(start) },
        svg("rect", { x, y: Y(rank) - 10, width: w, height: 20, rx: 10 }), svg("text", { x: Math.max(x, 4) + 10, y: Y(rank) + 4 }, cut(label(y), Math.max(2, Math.floor((w - 20) / 7.1))))));
    }
  });
}

// ---- replay ---------------------------------------------------------------------------------------------------------
let slider = null, told = null, play = null, order = null;
function controls() {
  if (!traced || !D.search.steps) { byId("controls").hidden = true; return; }
  slider = el("input", { type: "range", min: 0, max: D.search.steps, value: D.search.steps, "aria-label": "Step of the search", oninput: () => { stop(); goTo(+slider.value); } });
  play = el("button", { type: "button", id: "play", onclick: toggle }, "Replay");
  told = el("output", { id: "told" }, whole(D.search.steps) + " steps");
  byId("controls").append(play, slider, told);
}
function findOrder() {
  order = new Array(D.search.steps).fill(null);
  D.columns.forEach((c, t) => c.vertices.forEach(v => { if (v[2] !== null && (order[v[2]] === null || v[0] === best.labels[t])) order[v[2]] = [t, v[0]]; }));
}
function goTo(step) {
  if (!order) findOrder();
  const end = step >= D.search.steps;
  state.step = end ? Infinity : step;
  slider.value = step;
  const now = order[Math.min(step, D.search.steps - 1)];
  told.textContent = end ? whole(D.search.steps) + " steps" : "step " + whole(step + 1) + " of " + whole(D.search.steps) + (now ? ": " + token(now[0]) + " · " + label(now[1]) : "");
  if (now && state.playing) follow(now[0]);
  request();
}
function follow(t) {
  const x = t * COLUMN;
  if (x < box.scrollLeft || x + COLUMN > box.scrollLeft + box.clientWidth) box.scrollLeft = Math.max(0, x - box.clientWidth / 3);
}
function stop() { state.playing = false; play.textContent = "Replay"; }
function toggle() {
  if (state.playing) { stop(); return; }
  state.playing = true;
  play.textContent = "Pause";
  let step = +slider.value >= D.search.steps ? 0 : +slider.value;
  const speed = Math.max(1, D.search.steps / 600); // ten seconds for the whole of it
  let exact = step;
  const tick = () => {
    if (!state.playing) return;
    exact += speed * (D.search.steps < 120 ? 0.15 : 1);
    goTo(Math.min(D.search.steps, Math.floor(exact)));
    if (exact >= D.search.steps) stop(); else requestAnimationFrame(tick);
  };
  tick();
}

// ---- one position ---------------------------------------------------------------------------------------------------
function rivalLabel(why, t) { return t >= why.from && t <= why.to ? why.rival_labels[t - why.from] : best.labels[t]; }
function pairOf(why, term) {
  const [kind, at] = term;
  if (kind !== "edge" || D.segments || at < 1) return null;
  const arrow = f => label(f(at - 1)) + " → " + label(f(at));
  return [arrow(t => best.labels[t]), "over " + arrow(t => rivalLabel(why, t))];
}
function position() {
  const t = state.t, why = D.columns[t].why, y = best.labels[t], list = column(t);
  byId("likely-title").textContent = "How certain is " + cut(token(t), 40) + "?";
  const c = D.columns[t], untouched = D.labels - c.opened - c.pruned;
  byId("likely-hint").textContent = "Uncertainty " + num(c.entropy) + " bits" + (traced ? "; " + whole(c.opened) + " labels opened, " + whole(c.pruned) + " pruned unopened, " + whole(untouched) + " never touched." : ".");
  const byProbability = list.slice().sort((a, b) => b[4] - a[4]).slice(0, 12);
  byId("likely").replaceChildren(el("div", { class: "scroll" }, el("table", null,
    el("thead", null, el("tr", null, el("th", null, "label"), el("th", null), el("th", { class: "number" }, "probability"), el("th", { class: "number" }, "node"))),
    el("tbody", null, ...byProbability.map(v => el("tr", { "data-label": v[0], "data-probability": v[4], "data-node": v[3] ?? "" },
      el("td", { class: "name" }, label(v[0])), el("td", { class: "meter" }, el("div", null, el("i", { class: v[0] === y ? "on" : null, style: "width:" + (100 * v[4]).toFixed(1) + "%" }))),
      el("td", { class: "number" }, percent(v[4])), el("td", { class: "number" }, num(v[3]))))))));
  if (!why) {
    byId("why-title").textContent = "Why " + label(y) + "?";
    byId("why-hint").textContent = "There is no path with another label here, or it was not asked for (--token explains any position).";
    byId("why").replaceChildren();
    return;
  }
  const other = why.winner === why.rival ? "other segments" : label(why.rival);
  byId("why-title").textContent = "Why " + label(why.winner) + ", not " + other + "?";
  const span = why.from === why.to ? "" : " The paths differ from position " + (why.from + 1) + " to " + (why.to + 1) + ".";
  byId("why-hint").textContent = "The best path without it scores " + num(why.rival_score) + ": it is " + num(Math.abs(why.lead)) + (why.lead < 0 ? " ahead." : " behind.") + span;
  const most = Math.max(...why.terms.map(term => Math.abs(term[3] - term[4])), Math.abs(why.others_lead), 1e-12);
  const balance = lead => el("td", { class: "balance" }, el("div", null, el("i", { class: lead > 0 ? "for" : "against", style: "width:" + (50 * Math.abs(lead) / most).toFixed(1) + "%" })));
  const rowsOf = why.terms.map(term => {
    const [kind, at, which, winner, rival] = term, pair = pairOf(why, term), text = visible(D.strings[which]);
    const place = why.from === why.to && at === t ? null : el("b", null, String(at + 1));
    return el("tr", { "data-kind": kind, "data-position": at, "data-winner": winner, "data-rival": rival },
      el("td", { class: "name" }, place ? el("span", { class: "chip" }, place, word(at, 14)) : null, el("span", { class: "kind" }, kind), text,
        ...(pair || []).map(line => el("span", { class: "line" }, line))),
      balance(winner - rival), el("td", { class: "number" }, signed(winner - rival)), el("td", { class: "number wide" }, num(winner)), el("td", { class: "number wide" }, num(rival)));
  });
  if (why.others) rowsOf.push(el("tr", { class: "others", "data-lead": why.others_lead }, el("td", null, whole(why.others) + " more"), balance(why.others_lead), el("td", { class: "number" }, signed(why.others_lead)), el("td", { class: "wide" }), el("td", { class: "wide" })));
  rowsOf.push(el("tr", { class: "total", "data-lead": why.lead }, el("td", null, "together"), el("td"), el("td", { class: "number" }, signed(why.lead)), el("td", { class: "wide" }), el("td", { class: "wide" })));
  byId("why").replaceChildren(el("div", { class: "scroll" }, el("table", null,
    el("thead", null, el("tr", null, el("th", null, "what"), el("th", null), el("th", { class: "number" }, "lead"), el("th", { class: "number wide", title: label(why.winner) }, "winner"), el("th", { class: "number wide", title: other }, "rival"))),
    el("tbody", null, ...rowsOf))));
}
function choose(t, scroll) {
  if (!T) return;
  const old = chips[state.t];
  if (old) old.setAttribute("aria-pressed", "false");
  state.t = Math.max(0, Math.min(T - 1, t));
  const chip = chips[state.t];
  chip.setAttribute("aria-pressed", "true");
  const strip = byId("sentence");
  if (chip.offsetTop - strip.offsetTop < strip.scrollTop || chip.offsetTop - strip.offsetTop + chip.offsetHeight > strip.scrollTop + strip.clientHeight) strip.scrollTop = chip.offsetTop - strip.offsetTop - 40;
  mark();
  if (scroll) follow(state.t);
  history.replaceState(null, "", "#" + (state.t + 1));
  position();
  request();
}

// ---- paths ----------------------------------------------------------------------------------------------------------
const pathRows = [];
function paths() {
  const many = D.segments ? "segmentations" : "paths";
  byId("paths-title").textContent = D.paths.length === 1 ? "The best " + (D.segments ? "segmentation" : "path") : "The " + D.paths.length + " best " + many;
  const most = Math.max(...D.paths.map(p => p.probability), 1e-300);
  const body = D.paths.map((path, rank) => {
    const changes = path.differs.slice(0, 40).map(t => el("span", { class: "chip" }, el("b", null, String(t + 1)), word(t, 16) + " → " + label(path.labels[t])));
    if (path.differs.length > 40) changes.push(el("span", { class: "chip" }, "and " + whole(path.differs.length - 40) + " more"));
    const row = el("tr", { tabindex: 0, "data-rank": rank, "data-score": path.score, "data-probability": path.probability, "data-differs": path.differs.join(" "), onclick: () => choosePath(rank),
      onkeydown: e => { if (e.key === "Enter") choosePath(rank); } },
      el("td", { class: "number" }, String(rank + 1)), el("td", { class: "number" }, num(path.score)), el("td", { class: "number wide" }, rank ? num(best.score - path.score) : ""),
      el("td", { class: "number" }, percent(path.probability)), el("td", { class: "meter wide" }, el("div", null, el("i", { class: rank ? null : "on", style: "width:" + (100 * path.probability / most).toFixed(1) + "%" }))),
      el("td", null, rank ? null : el("span", { class: "chip better" }, "the best"), ...changes));
    pathRows.push(row);
    return row;
  });
  byId("paths").append(el("div", { class: "scroll" }, el("table", null, el("thead", null, el("tr", null, el("th", { class: "number" }, "rank"), el("th", { class: "number" }, "score"), el("th", { class: "number wide" }, "behind"), el("th", { class: "number" }, "probability"), el("th", { class: "wide" }), el("th", null, "differs at"))), el("tbody", null, ...body))));
  choosePath(0);
}
function choosePath(rank) {
  state.path = Math.max(0, Math.min(D.paths.length - 1, rank));
  pathRows.forEach((row, i) => row.setAttribute("aria-selected", String(i === state.path)));
  const first = D.paths[state.path].differs[0];
  if (first !== undefined) follow(first);
  request();
}

// ---- everything as a table, made when it is opened --------------------------------------------------------------------
function table() {
  if (byId("table").childElementCount || !T) return;
  const heads = ["", "token", "label", "probability", "runner-up", "lead", "opened", "pruned"];
  const body = D.columns.map((c, t) => {
    const y = best.labels[t], p = probability(t, y), why = c.why;
    const cell = (text, number) => el("td", { class: number ? "number" : "name" }, text);
    return el("tr", { "data-t": t, "data-label": y, "data-opened": c.opened, onclick: () => choose(t, true) }, cell(String(t + 1), true), cell(D.tokens ? token(t) : ""), cell(label(y)), cell(percent(p), true),
      cell(why ? label(why.rival) : ""), cell(why ? num(why.lead) : "", true), cell(traced ? whole(c.opened) : "", true), cell(traced ? whole(c.pruned + c.closed) : "", true));
  });
  byId("table").append(el("table", null, el("thead", null, el("tr", null, ...heads.map((h, i) => el("th", { class: [0, 3, 5, 6, 7].includes(i) ? "number" : null }, h)))), el("tbody", null, ...body)));
}

// ---- keys, theme, print -----------------------------------------------------------------------------------------------
const themes = ["system", "light", "dark"];
let theme = 0;
function setTheme(next) {
  theme = next % themes.length;
  if (theme) document.documentElement.dataset.theme = themes[theme]; else delete document.documentElement.dataset.theme;
  byId("theme").textContent = "Theme: " + themes[theme];
}
byId("theme").addEventListener("click", () => setTheme(theme + 1));
addEventListener("keydown", e => {
  if (e.ctrlKey || e.metaKey || e.altKey || e.target.tagName === "INPUT") return;
  const inside = e.target.closest && e.target.closest("#trellis, #paths, #sentence"); // elsewhere these keys scroll the page
  const act = { ArrowLeft: () => choose(state.t - 1, true), ArrowRight: () => choose(state.t + 1, true), t: () => setTheme(theme + 1), T: () => setTheme(theme + 1),
    Home: () => inside ? choose(0, true) : true, End: () => inside ? choose(T - 1, true) : true,
    ArrowUp: () => inside ? choosePath(state.path - 1) : true, ArrowDown: () => inside ? choosePath(state.path + 1) : true,
    " ": () => play && !["BUTTON", "SUMMARY"].includes(e.target.tagName) ? toggle() : true }[e.key];
  if (act && act() !== true) e.preventDefault();
});
byId("everything").addEventListener("toggle", table);
addEventListener("beforeprint", () => { byId("everything").open = true; table(); draw(); });

setTheme(0);
facts();
sentence();
overview();
prepare();
controls();
if (T) {
  paths();
  choose((parseInt(location.hash.slice(1), 10) || 1) - 1, true);
  draw();
} else {
  document.querySelectorAll(".pair, #everything, #paths").forEach(node => { node.closest(".card, .pair").hidden = true; });
}
document.documentElement.dataset.ready = "yes";
