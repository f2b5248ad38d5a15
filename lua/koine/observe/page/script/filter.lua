--- Of the page's script: what is searched and filtered. Filters look through the records a piece at a time, so that the
-- page stays usable.

return [=[
  const SLICE = 16; // ms
  const field = byId("search"), kinds = byId("kind"), failed = byId("failed");
  for (const type of [...new Set(spans.map((s) => s.type))].sort()) {
    const option = make("option", "", type);
    option.value = type;
    kinds.append(option);
  }
  const asked = () => field.value.trim().toLowerCase();

  // Whether a value says the words: what it holds, not the names of its fields.
  const says = (value, wanted) => {
    const waiting = [value];
    while (waiting.length) {
      const one = waiting.pop();
      if (isTable(one)) for (const v of Object.values(one)) waiting.push(v);
      else if (one !== null && one !== undefined && String(one).toLowerCase().includes(wanted)) return true;
    }
    return false;
  };
  const matches = (i, wanted, kind, bad) => {
    const s = spans[i];
    if (kind && s.type !== kind || bad && !s.failed) return false;
    return !wanted || says([s.type + " " + s.name, s.failed, s.id, s.trace], wanted) || says(record(i), wanted);
  };

  let search = 0;
  const found = (wanted, over) => {
    refresh();
    byId("count").textContent = filtering ? count(shown.length, "span") + (over ? "" : "…") : "";
    byId("clear").hidden = !filtering;
    if (over) document.body.dataset.searched = wanted;
  };
  const filter = () => {
    const wanted = asked(), kind = kinds.value, bad = failed.checked, mine = ++search;
    filtering = wanted !== "" || kind !== "" || bad;
    match.fill(0);
    delete document.body.dataset.searched;
    list.scrollTop = 0;
    if (!filtering) {
      if (chosen >= 0) unfold(chosen);
      found(wanted, true);
      if (chosen >= 0) show("");
      return reveal();
    }
    let i = 0;
    const step = () => {
      if (mine !== search) return;
      const until = performance.now() + SLICE;
      while (i < spans.length && performance.now() < until) {
        match[i] = matches(i, wanted, kind, bad) ? 1 : 0;
        i++;
      }
      found(wanted, i >= spans.length);
      if (i < spans.length) setTimeout(step, 0);
      else if (chosen >= 0 && match[chosen]) show(wanted);
    };
    step();
  };
]=]
