--- Of the page's script: its address, keys and clicks; and its beginning. An address is #ID&q=WORDS&type=TYPE&errors:
-- the span that is chosen and the filters, all of which may be missing.

return [=[
  const addressOf = () => [chosen >= 0 ? encodeURIComponent(spans[chosen].id) : "",
    field.value ? "q=" + encodeURIComponent(field.value) : "",
    kinds.value ? "type=" + encodeURIComponent(kinds.value) : "", failed.checked ? "errors" : ""]
    .filter((part, i) => i === 0 || part).join("&");
  let later = 0;
  const address = () => { // browsers count how often a page changes it
    clearTimeout(later);
    later = setTimeout(() => history.replaceState(null, "", "#" + addressOf()), 250);
  };
  const choose = (i, quiet) => {
    if (i === undefined || i < 0) return;
    chosen = i;
    reveal();
    draw();
    show(asked());
    reveal(); // what it says may have taken some of the list's room
    if (!quiet) address();
  };
  const goTo = () => {
    let id = "", words = "", type = "", errors = false;
    try {
      for (const [place, part] of location.hash.slice(1).split("&").entries()) {
        const [, name, value] = /^([a-z]+)(?:=(.*))?$/.exec(part) || [];
        if (place === 0) id = decodeURIComponent(part);
        else if (name === "q") words = decodeURIComponent(value || "");
        else if (name === "type") type = decodeURIComponent(value || "");
        else if (name === "errors") errors = true;
      }
    } catch { return; } // no text is written so
    const i = id === "" ? -1 : spans.findIndex((s) => s.id === id);
    field.value = words;
    kinds.value = [...kinds.options].some((option) => option.value === type) ? type : "";
    failed.checked = errors;
    if (i >= 0) chosen = i;
    filter(); // unfolds it
    if (i >= 0) choose(i, true);
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
  list.addEventListener("dblclick", (event) => {
    const element = event.target.closest(".row");
    if (element && event.target.className !== "fold") fold(chosen, !folded.has(chosen));
  });

  const move = (by) => {
    const place = shown.indexOf(chosen);
    choose(shown[place < 0 ? 0 : Math.max(0, Math.min(shown.length - 1, place + by))]);
  };
  const page = () => Math.max(1, Math.floor(room() / HEIGHT) - 1);
  // The next span that failed, behind the one that is chosen, round the end.
  const nextError = (by) => {
    for (let steps = 1, i = chosen; steps <= spans.length; steps++) {
      i = (i + by + spans.length) % spans.length;
      if (!spans[i].failed || filtering && !match[i]) continue;
      unfold(i);
      refresh();
      return choose(i);
    }
  };
  const open = () => {
    if (chosen < 0 || filtering) return;
    if (folded.has(chosen)) fold(chosen, false);
    else if (spans[chosen].parts) move(1);
  };
  const shut = () => {
    if (chosen < 0 || filtering) return;
    if (spans[chosen].parts && !folded.has(chosen)) fold(chosen, true);
    else choose(spans[chosen].up);
  };
  const foldAll = () => {
    if (filtering) return;
    const close = folded.size === 0;
    folded.clear();
    if (close) spans.forEach((s, i) => { if (s.parts) folded.add(i); });
    while (close && chosen >= 0 && spans[chosen].up >= 0) chosen = spans[chosen].up;
    refresh();
    if (chosen >= 0) choose(chosen);
  };
  const IN_LIST = { ArrowDown: () => move(1), ArrowUp: () => move(-1), PageDown: () => move(page()),
    PageUp: () => move(-page()), Home: () => choose(shown[0]), End: () => choose(shown[shown.length - 1]),
    ArrowLeft: shut, ArrowRight: open, Enter: () => detail.focus() };
  const clear = () => {
    field.value = kinds.value = "";
    failed.checked = false;
    filter();
    address();
    list.focus();
  };
  const ANYWHERE = { j: () => move(1), k: () => move(-1), "/": () => field.focus(), n: () => nextError(1),
    N: () => nextError(-1), e: () => { failed.checked = !failed.checked; filter(); address(); }, x: foldAll,
    "?": () => byId("help").showModal(), Escape: () => filtering ? clear() : list.focus() };
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || byId("help").open) return;
    const writing = event.target.matches("input[type=search], select") && event.key !== "Escape";
    const does = writing ? undefined : event.target === list && IN_LIST[event.key] || ANYWHERE[event.key];
    if (!does) return;
    event.preventDefault();
    does();
  });
  field.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" && event.key !== "ArrowDown") return;
    event.preventDefault();
    list.focus();
    if (shown.length && !shown.includes(chosen)) choose(shown[0]);
  });
  for (const [element, event] of [[field, "input"], [kinds, "change"], [failed, "change"]]) {
    element.addEventListener(event, () => { filter(); address(); });
  }
  byId("clear").addEventListener("click", clear);
  byId("keys").addEventListener("click", () => byId("help").showModal());
  goTo();
  list.focus();
]=]
