--- Of the page's script: what the span that is chosen says.

return [=[
  const detail = byId("detail");
  const HIDDEN = new Set(["v", "type", "phase", "trace", "id", "parent", "time", "content", "error", "seconds",
    "usage", "cost"]);
  const TOKENS = [["input_tokens", "tokens in"], ["cache_read_tokens", "from the cache"],
    ["cache_creation_tokens", "into the cache"], ["output_tokens", "tokens out"],
    ["reasoning_tokens", "of it reasoning"]];
  const line = (table, name, value, className) => {
    const element = make("tr", className), head = make("th", "", name);
    head.scope = "row";
    element.append(head, make("td", "", value));
    table.append(element);
  };
  const said = (value) => typeof value !== "string" || value.length <= CLIPPED ? value :
    value.slice(0, CLIPPED) + "…";
  const fill = (table, fields, prefix, hidden) => {
    for (const [name, value] of Object.entries(isTable(fields) ? fields : {})) {
      const title = (prefix + name).replaceAll("_", " ");
      if (value === null || value === undefined || hidden.has(name) || isArray(value) && !value.length) continue;
      if (isArray(value) && value.every((v) => !isTable(v))) line(table, title, said(value.join(", ")));
      else if (!isTable(value)) line(table, title, said(words(name, value)));
      else if (prefix.split(" ").length > 3) line(table, title, said(JSON.stringify(value)));
      else fill(table, value, prefix + name + " ", new Set());
    }
  };
  const fillUsage = (table, usage) => {
    if (!isTable(usage)) return;
    for (const [name, title] of TOKENS) {
      if (typeof usage[name] === "number" && (usage[name] || !/cache|reason/.test(name))) {
        line(table, title, grouped(usage[name]));
      }
    }
    fill(table, usage, "", new Set([...TOKENS.map(([name]) => name), "cost", "cost_source"]));
  };

  // What went wrong, or otherwise than one expects.
  const problemOf = (title, text, className) => {
    const element = make("div", "problem " + (className || ""));
    element.append(make("strong", "", title));
    if (text) element.append(make("p", "", said(text)));
    return element;
  };
  const errorOf = (s, finish, err) => {
    if (!isTable(err)) {
      const said = finish.reason ? String(finish.reason) : "";
      const title = s.failed === "blocked" ? "Blocked: it was not run" : "The answer is an error";
      return s.failed ? [problemOf(title, said)] : [];
    }
    const code = [err.class, err.status_code, err.code].filter((v) => v !== undefined && v !== null).join(" · ");
    return [problemOf(String(err.kind || "error") + (code ? " (" + code + ")" : ""), String(err.message ?? ""))];
  };
  const retryOf = (p, number) => problemOf("Attempt " + (number + 1) + " failed: " +
    [p.status_code, p.kind].filter((v) => v !== undefined && v !== null).join(" "),
    typeof p.waited === "number" ? "Tried again after " + duration(p.waited * 1000) + "." : "", "odd");
  const POINTS = 50; // other points that are listed
  const pointsOf = (points, s) => {
    const retries = points.filter((p) => isTable(p) && p.type === "retry");
    const made = retries.map(retryOf);
    for (const p of points.filter((p) => isTable(p) && p.type === "cache_miss")) {
      made.push(problemOf("Cache miss",
        typeof p.path === "string" ? "The first difference from the turn before: " + p.path : "", "odd"));
    }
    const others = points.filter((p) => isTable(p) && p.type !== "retry" && p.type !== "cache_miss");
    for (const p of others.slice(0, POINTS)) {
      const fields = make("table");
      const at = typeof p.time === "number" ? p.time / 1e6 - FIRST - s.at : NaN;
      if (at >= 0) line(fields, "after", duration(at));
      fill(fields, p, "", HIDDEN);
      made.push(make("h3", "", String(p.type)), fields);
    }
    if (others.length > POINTS) made.push(make("p", "dim", grouped(others.length - POINTS) + " more points"));
    return made;
  };

  const MAIN = ["model", "response_model", "provider", "status", "outcome", "stop_reason", "reason", "status_code",
    "exit_code", "server", "method", "target", "what", "url", "tool_calls", "mcp_server"];
  const mainOf = (fields) => MAIN.filter((name) => fields[name] !== undefined &&
    (isArray(fields[name]) || !isTable(fields[name])) &&
    (name !== "response_model" || fields.response_model !== fields.model));
  const factsOf = (s, fields) => {
    const table = make("table", "facts");
    line(table, "duration", s.point ? "a point" : s.ms === undefined ? "open: it has no end" : duration(s.ms),
      s.ms === undefined ? "odd" : "");
    line(table, "begins", date(FIRST + s.at) + (s.up < 0 ? "" : ", +" + duration(s.at - trees.get(s.root).from)));
    if (s.first > 0) line(table, "first token", duration(s.first));
    fillUsage(table, fields.usage);
    if (isTable(fields.usage) && !s.call && (s.sum.input !== s.input || s.sum.output !== s.output)) {
      line(table, "with all parts", grouped(s.sum.input) + " tokens in, " + grouped(s.sum.output) + " out" +
        (s.sum.cost ? ", " + money(s.sum.cost) : ""));
    }
    if (typeof fields.cost === "number") line(table, "cost", words("cost", fields.cost));
    else if (s.call && s.ms !== undefined && s.input !== undefined) line(table, "cost", "unknown: no price", "odd");
    fill(table, Object.fromEntries(mainOf(fields).map((name) => [name, fields[name]])), "", new Set());
    return table;
  };
  // The fields of less weight: closed where there is something to read.
  const othersOf = (s, fields, isOpen) => {
    const element = make("details"), table = make("table");
    fill(table, fields, "", new Set([...HIDDEN, ...mainOf(fields), ...(s.first > 0 ? ["first_delta"] : [])]));
    line(table, "span", s.id);
    line(table, "trace", String(s.trace ?? ""));
    element.append(make("summary", "", "More fields"), table);
    element.open = isOpen;
    return element;
  };
  const KNOWN = new Set(["system", "messages", "tools", "blocks", "arguments", "result"]);
  const contentsOf = (given, came, wanted) => {
    const made = [], add = (title, value) => {
      if (value !== undefined && value !== null) made.push(section(title, value, wanted));
    };
    if (given.system) made.push(messageOf("system", given.system, wanted));
    if (isArray(given.messages)) made.push(messagesOf(given.messages, wanted));
    if (isArray(came.blocks)) made.push(messageOf("answer", came.blocks, wanted));
    add("arguments", given.arguments);
    add("result", came.result);
    for (const from of [given, came]) {
      for (const name of Object.keys(from)) if (!KNOWN.has(name)) add(name, from[name]);
    }
    if (isArray(given.tools)) made.push(closed(count(given.tools.length, "tool") + " offered", given.tools));
    return made;
  };

  // Marks the words that were searched.
  const highlight = (wanted) => {
    if (!CSS.highlights) return;
    CSS.highlights.clear();
    if (!wanted) return;
    const walker = document.createTreeWalker(detail, NodeFilter.SHOW_TEXT), found = [];
    while (walker.nextNode() && found.length < 500) {
      const node = walker.currentNode, text = node.data.toLowerCase();
      if (text.length !== node.data.length) continue;
      let at = -wanted.length;
      while ((at = text.indexOf(wanted, at + wanted.length)) >= 0 && found.length < 500) {
        const range = new Range();
        range.setStart(node, at);
        range.setEnd(node, at + wanted.length);
        found.push(range);
      }
    }
    CSS.highlights.set("found", new Highlight(...found));
    if (found[0]) {
      const hit = found[0].getBoundingClientRect(), box = detail.getBoundingClientRect();
      if (hit.bottom > box.bottom) detail.scrollTop += hit.top - box.top - box.height / 3;
    }
  };

  const show = (wanted) => {
    const s = spans[chosen], r = record(chosen);
    const table = (value) => isTable(value) ? value : {};
    const start = table(r.start), finish = table(r.finish), points = isArray(r.points) ? r.points : [];
    const head = make("h2");
    head.append(make("span", "dot " + s.kind), make("span", "type", s.type + " "), make("span", "name", s.name));
    const fields = s.point ? table(r.point) : { ...start, ...finish };
    const contents = contentsOf(table(start.content), table(finish.content), wanted);
    detail.replaceChildren(head, ...errorOf(s, finish, finish.error), ...pointsOf(points, s), factsOf(s, fields),
      ...contents, othersOf(s, fields, !contents.length),
      closed("Records", { trace: s.trace, id: s.id, ...r }));
    detail.scrollTop = 0;
    document.body.classList.add("looking");
    highlight(wanted);
  };
]=]
