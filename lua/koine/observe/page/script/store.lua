--- Of the page's script: the spans, which are read at once, and the records of them, which are read in blocks.

return [=[
  const KEPT = 32; // blocks of records
  const read = (id) => JSON.parse(byId(id).textContent);
  const spans = read("spans");
  const { first: FIRST, firsts } = read("page"); // the time of 0 in Unix ms; the span that each block begins with
  const blocks = new Map();
  const record = (i) => {
    let low = 0, high = firsts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (firsts[middle] <= i) low = middle;
      else high = middle - 1;
    }
    if (!blocks.has(low)) {
      if (blocks.size >= KEPT) blocks.clear();
      blocks.set(low, read("records-" + low));
    }
    return blocks.get(low)[i - firsts[low]];
  };

  const KINDS = new Map([["chat", "model"], ["embed", "model"], ["attempt", "attempt"], ["tool", "tool"],
    ["mcp", "tool"], ["agent", "agent"], ["session", "agent"], ["turn", "agent"], ["prompt", "agent"],
    ["wait", "wait"]]);

  // How deep spans are, which tree they are of, when that begins and ends.
  const trees = new Map();
  spans.forEach((s, i) => {
    s.kind = KINDS.get(s.type) || "other";
    s.call = s.kind === "model";
    s.depth = s.up < 0 ? 0 : spans[s.up].depth + 1;
    s.root = s.up < 0 ? i : spans[s.up].root;
    if (s.up >= 0) {
      spans[s.up].parts = true;
      if (s.call && spans[s.up].type === s.type) spans[s.up].outer = true;
    }
    const tree = trees.get(s.root) || { from: s.at, to: s.at };
    tree.to = Math.max(tree.to, s.at + (s.ms || 0));
    tree.from = Math.min(tree.from, s.at);
    tree.open = tree.open || s.ms === undefined;
    trees.set(s.root, tree);
  });
  // What is open goes on behind the last that is known.
  for (const tree of trees.values()) tree.shown = (tree.to - tree.from) * (tree.open ? 1.05 : 1) || 1;

  // What a span used with all its parts: the sum of its calls, so that nothing counts twice; what it says itself where
  // none of them is known, as of another program's agent. A call that asks others of its type does not count beside
  // them. As koine trace counts in a terminal (cli/trace/text.lua).
  const SUMS = ["input", "cached", "output", "cost", "calls", "unpriced", "errors", "open", "retried", "missed"];
  const USED = ["input", "cached", "output", "cost"];
  const counts = (s) => s.call && !s.outer;
  const sums = (s) => ({ input: counts(s) && s.input || 0, cached: counts(s) && s.cached || 0,
    output: counts(s) && s.output || 0, cost: counts(s) && s.cost || 0, calls: counts(s) ? 1 : 0,
    unpriced: counts(s) && s.cost === undefined && s.input !== undefined ? 1 : 0,
    errors: s.failed ? 1 : 0, open: s.ms === undefined ? 1 : 0, retried: s.retries || 0,
    missed: s.miss === undefined ? 0 : 1 });
  const all = sums({ ms: 0 });
  for (let i = spans.length - 1; i >= 0; i--) {
    const s = spans[i], above = s.up < 0 ? all : spans[s.up].sum || (spans[s.up].sum = sums(spans[s.up]));
    s.sum = s.sum || sums(s);
    if (!counts(s) && s.sum.input + s.sum.output === 0) for (const name of USED) s.sum[name] = s[name] || 0;
    for (const name of SUMS) above[name] += s.sum[name];
  }

  const fact = (name, value, className) => {
    const element = make("div", "fact" + (className ? " " + className : ""));
    element.append(make("dt", "", name), make("dd", "", value));
    byId("totals").append(element);
  };
  const totals = () => {
    const traces = new Set(spans.map((s) => s.trace)).size;
    if (trees.size === 1) fact("duration", all.open ? "open" : duration(trees.get(0).to - trees.get(0).from));
    else fact(traces === 1 ? "trace" : "traces", grouped(traces));
    fact(spans.length === 1 ? "span" : "spans", grouped(spans.length));
    if (all.calls) {
      fact(all.calls === 1 ? "model call" : "model calls", grouped(all.calls));
      if (all.input + all.output) fact("tokens in", compact(all.input));
      if (all.cached) fact("cached", compact(all.cached));
      if (all.input + all.output) fact("tokens out", compact(all.output));
      if (all.cost) fact("cost", money(all.cost));
      if (all.unpriced) fact("without a price", count(all.unpriced, "call"), "odd");
    }
    if (all.retried) fact(all.retried === 1 ? "retry" : "retries", grouped(all.retried), "odd");
    if (all.missed) fact(all.missed === 1 ? "cache miss" : "cache misses", grouped(all.missed), "odd");
    if (all.errors) fact(all.errors === 1 ? "error" : "errors", grouped(all.errors), "bad");
    if (all.open) fact("open", grouped(all.open), "odd");
  };
  if (spans.length) totals();
]=]
