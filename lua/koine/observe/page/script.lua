--- The script of the page of records (page/init.lua). It keeps the rows that can be seen in the document and no others,
-- reads the records of 500 spans when one of them is looked at, and writes text by textContent alone.

return [[
"use strict";
(() => {
  const HEIGHT = 24, CHUNK = 500;
  const byId = (id) => document.getElementById(id);
  const list = byId("list"), space = byId("space"), rows = byId("rows"), detail = byId("detail");
  const spans = JSON.parse(byId("spans").textContent);
  const chunks = new Map();
  const record = (i) => {
    const n = Math.floor(i / CHUNK);
    if (!chunks.has(n)) chunks.set(n, JSON.parse(byId("records-" + n).textContent));
    return chunks.get(n)[i % CHUNK];
  };
  const make = (tag, className, text) => {
    const element = document.createElement(tag);
    if (className) element.className = className;
    if (text !== undefined) element.textContent = text;
    return element;
  };
  const duration = (ms) => {
    if (ms === undefined) return "open";
    return ms < 1000 ? ms.toFixed(ms < 10 ? 1 : 0) + " ms" : (ms / 1000).toFixed(2) + " s";
  };
  const grouped = (n) => n.toLocaleString("en-US");

  // The spans: how deep they are, whether they have parts, which root they are below.
  const end = spans.reduce((most, s) => Math.max(most, s.at + (s.ms || 0)), 1);
  const folded = new Set(), match = new Uint8Array(spans.length);
  let filtering = false, shown = [], chosen = -1;
  spans.forEach((s, i) => {
    s.depth = s.up < 0 ? 0 : spans[s.up].depth + 1;
    s.root = s.up < 0 ? i : spans[s.up].root;
    if (s.up >= 0) spans[s.up].parts = true;
  });
  const range = new Map();
  spans.forEach((s) => {
    const r = range.get(s.root) || { from: s.at, to: s.at };
    r.to = Math.max(r.to, s.at + (s.ms || 0));
    r.from = Math.min(r.from, s.at);
    range.set(s.root, r);
  });

  const total = (f) => spans.reduce((sum, s) => sum + (f(s) || 0), 0);
  const calls = spans.filter((s) => s.type === "chat" || s.type === "embed");
  const failed = total((s) => s.failed ? 1 : 0), cost = total((s) => s.cost);
  const unpriced = calls.filter((s) => s.cost === undefined && s.input !== undefined).length;
  byId("totals").textContent = [grouped(range.size) + " trees", grouped(spans.length) + " spans",
    grouped(calls.length) + " calls", grouped(total((s) => s.input)) + " in", grouped(total((s) => s.output)) + " out",
    "$" + cost.toFixed(6) + (unpriced ? " and " + unpriced + " calls without a price" : ""),
    failed ? grouped(failed) + " failed" : ""].filter(Boolean).join(" · ");
  for (const type of [...new Set(spans.map((s) => s.type))].sort()) {
    const option = make("option", "", type);
    option.value = type;
    byId("kind").append(option);
  }

  const visible = (i) => {
    for (let up = spans[i].up; up >= 0; up = spans[up].up) if (folded.has(up)) return false;
    return true;
  };
  const refresh = () => {
    shown = [];
    let hidden = -1; // the depth below which a folded span hides its parts
    for (let i = 0; i < spans.length; i++) {
      const s = spans[i];
      if (filtering) {
        if (match[i]) shown.push(i);
        continue;
      }
      if (hidden >= 0 && s.depth > hidden) continue;
      hidden = folded.has(i) ? s.depth : -1;
      shown.push(i);
    }
    space.style.height = shown.length * HEIGHT + "px";
    draw();
  };
  const row = (place) => {
    const i = shown[place], s = spans[i], r = range.get(s.root), wide = Math.max(r.to - r.from, 0.001);
    const element = make("div", "row" + (i === chosen ? " chosen" : "") + (s.failed ? " failed" : ""));
    element.setAttribute("role", "treeitem");
    element.setAttribute("aria-level", s.depth + 1);
    element.setAttribute("aria-selected", i === chosen);
    element.dataset.span = i;
    element.style.top = place * HEIGHT + "px";
    const label = make("div", "label");
    label.style.paddingLeft = 8 + (filtering ? 0 : Math.min(s.depth, 40) * 14) + "px";
    label.append(make("span", "fold", s.parts && !filtering ? (folded.has(i) ? "▸" : "▾") : ""),
      make("span", "type", s.type + " "), make("span", "name", s.name));
    const track = make("div", "track"), kind = s.type.replace(/[^a-z]/g, "");
    const bar = make("div", "bar " + kind + (s.failed ? " failed" : "") + (s.ms === undefined ? " open" : ""));
    bar.style.left = 100 * (s.at - r.from) / wide + "%";
    bar.style.width = 100 * (s.ms === undefined ? r.to - s.at : s.ms) / wide + "%";
    track.append(bar);
    element.append(label, make("div", "time", duration(s.ms)), track);
    return element;
  };
  const draw = () => {
    const first = Math.max(0, Math.floor(list.scrollTop / HEIGHT) - 10);
    const last = Math.min(shown.length, Math.ceil((list.scrollTop + list.clientHeight) / HEIGHT) + 10);
    const some = [];
    for (let place = first; place < last; place++) some.push(row(place));
    rows.replaceChildren(...some);
  };

  const text = (value) => typeof value === "string" ? value : JSON.stringify(value, null, 2);
  const section = (title, value) => {
    if (value === undefined || value === null) return;
    detail.append(make("h3", "", title), make("pre", "", text(value)));
  };
  const message = (m) => {
    const content = typeof m.content === "string" ? [{ type: "text", text: m.content }] : m.content || [];
    for (const b of content) blockOf(m.role, b);
  };
  const blockOf = (role, b) => {
    if (b.type === "text") section(role, b.text);
    else if (b.type === "thinking") section(role + ": thinking", b.thinking);
    else if (b.type === "tool_use") section(role + ": call of " + b.name, b.arguments);
    else if (b.type === "tool_result") section("result" + (b.is_error ? " (error)" : ""), b.content);
    else section(role + ": " + b.type, b);
  };
  const HIDDEN = new Set(["v", "type", "phase", "trace", "id", "parent", "time", "content", "error"]);
  const table = (fields) => {
    const element = make("table");
    for (const [name, value] of Object.entries(fields)) {
      const line = make("tr");
      const words = typeof value === "object" ? JSON.stringify(value) : String(value);
      line.append(make("td", "", name), make("td", "", words));
      element.append(line);
    }
    detail.append(element);
  };
  const show = () => {
    const s = spans[chosen], r = record(chosen), start = r.start || {}, finish = r.finish || {};
    detail.replaceChildren(make("h2", "", s.type + " " + s.name));
    const err = finish.error;
    if (err) detail.append(make("p", "bad", (err.kind || "error") + ": " + (err.message || "")));
    const fields = { duration: duration(s.ms) };
    for (const part of [start, finish]) {
      for (const [name, value] of Object.entries(part)) if (!HIDDEN.has(name)) fields[name] = value;
    }
    table(fields);
    for (const point of Array.isArray(r.points) ? r.points : []) section("point: " + point.type, point);
    const given = start.content || {}, came = finish.content || {};
    section("system", given.system);
    for (const m of Array.isArray(given.messages) ? given.messages : []) message(m);
    for (const b of Array.isArray(came.blocks) ? came.blocks : []) blockOf("answer", b);
    section("arguments", given.arguments);
    section("result", came.result);
    section("records", { trace: s.trace, id: s.id, start: r.start, end: r.finish });
  };
  const choose = (i, quiet) => {
    if (i === undefined || i < 0) return;
    chosen = i;
    const place = shown.indexOf(i);
    if (place >= 0) {
      const top = place * HEIGHT;
      if (top < list.scrollTop) list.scrollTop = top;
      else if (top + HEIGHT > list.scrollTop + list.clientHeight) list.scrollTop = top + HEIGHT - list.clientHeight;
    }
    draw();
    show();
    if (!quiet) history.replaceState(null, "", "#" + encodeURIComponent(spans[i].id));
  };
  const fold = (i, close) => {
    if (!spans[i].parts || filtering) return;
    if (close) folded.add(i);
    else folded.delete(i);
    refresh();
  };

  // Filters look through the records a piece at a time, so that the page stays usable.
  let search = 0;
  const filter = () => {
    const words = byId("search").value.toLowerCase(), kind = byId("kind").value, bad = byId("failed").checked;
    const mine = ++search;
    filtering = words !== "" || kind !== "" || bad;
    match.fill(0);
    if (!filtering) return refresh();
    let i = 0;
    const step = () => {
      if (mine !== search) return;
      const until = performance.now() + 20;
      while (i < spans.length && performance.now() < until) {
        const s = spans[i];
        if ((!kind || s.type === kind) && (!bad || s.failed)) {
          match[i] = !words || (s.type + " " + s.name + " " + s.id).toLowerCase().includes(words) ||
            JSON.stringify(record(i)).toLowerCase().includes(words) ? 1 : 0;
        }
        i++;
      }
      refresh();
      if (i < spans.length) setTimeout(step, 0);
      else document.body.dataset.searched = words;
    };
    step();
  };
  const goTo = () => {
    const id = decodeURIComponent(location.hash.slice(1));
    const i = spans.findIndex((s) => s.id === id);
    if (i < 0) return;
    for (let up = spans[i].up; up >= 0; up = spans[up].up) folded.delete(up);
    refresh();
    choose(i, true);
  };

  list.addEventListener("scroll", draw);
  addEventListener("resize", draw);
  addEventListener("hashchange", goTo);
  list.addEventListener("click", (event) => {
    const element = event.target.closest(".row");
    if (!element) return;
    const i = Number(element.dataset.span);
    if (event.target.className === "fold") fold(i, !folded.has(i));
    choose(i);
  });
  const move = (by) => {
    const place = shown.indexOf(chosen);
    choose(shown[Math.max(0, Math.min(shown.length - 1, place + by))]);
  };
  const KEYS = { ArrowDown: () => move(1), ArrowUp: () => move(-1), PageDown: () => move(20), PageUp: () => move(-20),
    Home: () => choose(shown[0]), End: () => choose(shown[shown.length - 1]),
    ArrowLeft: () => {
      if (chosen >= 0 && spans[chosen].parts && !folded.has(chosen)) fold(chosen, true);
      else if (chosen >= 0 && spans[chosen].up >= 0) choose(spans[chosen].up);
    },
    ArrowRight: () => chosen >= 0 && fold(chosen, false) };
  list.addEventListener("keydown", (event) => {
    if (!KEYS[event.key]) return;
    event.preventDefault();
    KEYS[event.key]();
  });
  addEventListener("keydown", (event) => {
    if (event.key === "/" && event.target !== byId("search")) {
      event.preventDefault();
      byId("search").focus();
    } else if (event.key === "Escape") {
      byId("search").value = "";
      filter();
      list.focus();
    }
  });
  byId("search").addEventListener("input", filter);
  byId("kind").addEventListener("change", filter);
  byId("failed").addEventListener("change", filter);
  refresh();
  goTo();
  list.focus();
})();
]]
