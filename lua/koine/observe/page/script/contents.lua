--- Of the page's script: what records captured of messages, calls and results, as elements. What records hold may have
-- any form.

return [=[
  const CLIPPED = 2000;  // characters of a long text that are shown at first
  const MESSAGES = 20;   // the last messages of a long conversation, which are shown at first
  const isJson = (value) => /^\s*[[{]/.test(value) && value.length < 200000;
  const pretty = (value) => {
    if (typeof value !== "string") return JSON.stringify(value, null, 2);
    if (!isJson(value)) return value;
    try { return JSON.stringify(JSON.parse(value), null, 2); } catch { return value; }
  };

  // Text of any length; `wanted` (lower case) is what was searched: it is shown where it comes later in the text.
  const written = (value, wanted) => {
    const text = pretty(value), code = typeof value !== "string" || text !== value;
    const element = make("pre", code ? "code" : "prose");
    if (text.length <= CLIPPED * 1.5 || wanted && text.toLowerCase().indexOf(wanted, CLIPPED) >= 0) {
      element.textContent = text;
      return element;
    }
    const more = make("button", "more", "Show all " + grouped(text.length) + " characters");
    more.addEventListener("click", () => element.textContent = text);
    element.append(text.slice(0, CLIPPED), make("span", "dim", "…"), more);
    return element;
  };
  const section = (title, value, wanted) => {
    const element = make("section", "part");
    element.append(make("h3", "", title), written(value, wanted));
    return element;
  };

  // A block of a message. `calls`: the names of calls by their ids, undefined where there are none.
  const blockOf = (b, wanted, calls) => {
    if (!isTable(b)) return written(b ?? null, wanted);
    if (b.type === "text" && typeof b.text === "string") return written(b.text, wanted);
    const element = make("div", "block " + (b.type === "tool_use" ? "call" : b.is_error === true ? "wrong" : ""));
    const title = (kind, name) => {
      const line = make("div", "title");
      line.append(make("span", "kind", kind), " ", make("span", "name", name || ""));
      element.append(line);
    };
    if (b.type === "tool_use") {
      title("calls", String(b.name));
      element.append(written(b.arguments ?? b.arguments_json ?? {}, wanted));
      if (b.arguments_error) element.append(make("p", "problem", String(b.arguments_error)));
    } else if (b.type === "tool_result") {
      title(b.is_error === true ? "result, an error" : "result", calls && calls.get(b.tool_use_id) || "");
      const content = isArray(b.content) ? b.content : [b.content ?? ""];
      for (const one of content) element.append(blockOf(one, wanted));
    } else if (b.type === "thinking") {
      title("thinking");
      element.append(written(b.thinking ?? "", wanted));
    } else {
      title(String(b.type));
      element.append(written(b, wanted));
    }
    return element;
  };
  const messageOf = (role, content, wanted, calls) => {
    const element = make("article", "message " + (role === "user" ? "user" : role === "system" ? "system" : "model"));
    element.append(make("h3", "", role));
    for (const b of isArray(content) ? content : [content]) element.append(blockOf(b, wanted, calls));
    return element;
  };
  const messagesOf = (messages, wanted) => {
    const element = make("div", "messages");
    const calls = new Map();
    for (const m of messages) {
      for (const b of isTable(m) && isArray(m.content) ? m.content : []) {
        if (isTable(b) && b.type === "tool_use") calls.set(b.id, String(b.name));
      }
    }
    const add = (list) => list.map((m) => isTable(m) ? messageOf(String(m.role), m.content, wanted, calls) :
      messageOf("user", m, wanted));
    const earlier = wanted ? 0 : Math.max(0, messages.length - MESSAGES);
    if (earlier) {
      const more = make("button", "more", "Show " + count(earlier, "earlier message"));
      more.addEventListener("click", () => more.replaceWith(...add(messages.slice(0, earlier))));
      element.append(more);
    }
    element.append(...add(messages.slice(earlier)));
    return element;
  };
  // JSON that is written when somebody opens it.
  const closed = (title, value) => {
    const element = make("details");
    element.append(make("summary", "", title));
    element.addEventListener("toggle", () => {
      if (element.open && element.children.length === 1) element.append(written(value));
    });
    return element;
  };
]=]
