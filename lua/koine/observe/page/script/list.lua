--- Of the page's script: the list of spans. Rows that can be seen are in the document, and no others.

return [=[
  const HEIGHT = 26; // pixels of a row, and of the scale, which covers the list's top
  const MANY = 20;   // trees that begin folded
  const list = byId("list"), space = byId("space"), rows = byId("rows");
  const folded = new Set(), match = new Uint8Array(spans.length);
  const room = () => list.clientHeight - HEIGHT;
  let filtering = false, shown = [], chosen = -1;
  if (trees.size > MANY) for (const root of trees.keys()) folded.add(root);
  byId("left").classList.toggle("with-tokens", all.input + all.output > 0);
  byId("left").classList.toggle("with-costs", spans.some((s) => s.cost !== undefined));

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

  const badge = (to, className, text) => to.append(make("span", "badge " + className, text));
  const badges = (to, i) => {
    const s = spans[i];
    if (s.failed) badge(to, "bad", s.failed);
    else if (folded.has(i) && !filtering && s.sum.errors) badge(to, "bad", count(s.sum.errors, "error"));
    if (s.retries) badge(to, "odd", count(s.retries, "retry", "retries"));
    if (s.miss !== undefined) badge(to, "odd", "cache miss");
    if (s.ms === undefined) badge(to, "open", "open");
  };
  const labelOf = (i) => {
    const s = spans[i], label = make("div", "label");
    label.style.paddingLeft = 10 + (filtering ? 0 : Math.min(s.depth, 40) * 16) + "px";
    label.append(make("span", "fold", s.parts && !filtering ? (folded.has(i) ? "▸" : "▾") : ""),
      make("span", "dot " + s.kind));
    const named = make("span", "named");
    named.append(make("span", "type", s.type), " ", make("span", "name", s.name));
    if (filtering && s.up >= 0) named.append(make("span", "in", " in " + (spans[s.up].name || spans[s.up].type)));
    label.append(named);
    badges(label, i);
    if (s.up < 0 && trees.size > 1) label.append(make("span", "when", date(FIRST + s.at).slice(11)));
    return label;
  };
  const barOf = (s) => {
    const tree = trees.get(s.root), wide = tree.shown;
    const track = make("div", "track"), ms = s.ms === undefined ? wide - (s.at - tree.from) : s.ms;
    const bar = make("div", "bar " + s.kind + (s.failed ? " failed" : "") + (s.ms === undefined ? " open" : "") +
      (s.point ? " point" : ""));
    bar.style.left = "min(" + 100 * (s.at - tree.from) / wide + "%, 100% - 3px)";
    bar.style.width = 100 * ms / wide + "%";
    if (s.first > 0 && s.first < ms) { // before the first token
      const waiting = make("div", "waiting");
      waiting.style.width = 100 * s.first / ms + "%";
      bar.append(waiting);
    }
    track.append(bar);
    return track;
  };
  const titleOf = (s) => s.type + " " + s.name + "\nafter " + duration(s.at - trees.get(s.root).from) + ", " +
    (s.ms === undefined ? "still open" : duration(s.ms)) +
    (s.first > 0 ? "\nfirst token after " + duration(s.first) : "");
  const tokens = (sum) => sum.input + sum.cached + sum.output ?
    compact(sum.input + sum.cached) + " → " + compact(sum.output) : "";
  const price = (sum) => sum.cost ? money(sum.cost) + (sum.unpriced ? " +?" : "") : sum.unpriced ? "?" : "";
  const row = (place, scaled) => {
    const i = shown[place], s = spans[i];
    const element = make("div", "row" + (i === chosen ? " chosen" : "") + (s.failed ? " failed" : "") +
      (s.up < 0 && place > 0 && !filtering ? " begins" : "") + (s.call ? "" : " sum") +
      (s.root === scaled ? " scaled" : ""));
    element.id = "row-" + i;
    element.setAttribute("role", "treeitem");
    element.setAttribute("aria-level", filtering ? 1 : s.depth + 1);
    element.setAttribute("aria-selected", i === chosen);
    if (s.parts && !filtering) element.setAttribute("aria-expanded", !folded.has(i));
    element.dataset.span = i;
    element.title = titleOf(s);
    element.style.top = place * HEIGHT + "px";
    element.append(labelOf(i), make("div", "tokens", tokens(s.sum)), make("div", "cost", price(s.sum)),
      make("div", "time", s.point ? "" : duration(s.ms)), barOf(s));
    return element;
  };

  // The scale above the bars is that of the tree of the row that is chosen where it is seen, else of the first row. Its
  // marks go on as lines through the rows of that tree, and of no other.
  const MARK = 64; // pixels, for one of its words
  let scale = "";
  const rounded = (ms) => duration(ms).replace(/(\.\d*?)0+ /, "$1 ").replace(". ", " ");
  const drawScale = (root) => {
    const tree = trees.get(root), marks = byId("scale"), is = root + " " + marks.clientWidth;
    if (is === scale) return;
    scale = is;
    marks.replaceChildren();
    if (!tree || tree.to === tree.from) return;
    const wide = tree.shown, most = Math.max(1, Math.min(5, Math.floor(marks.clientWidth / MARK)));
    const unit = 10 ** Math.floor(Math.log10(wide / most));
    const step = unit * [1, 2, 5, 10].find((by) => wide / (unit * by) <= most);
    byId("left").style.setProperty("--step", 100 * step / wide + "%");
    for (let at = 0; at <= wide * (1 - MARK / 2 / marks.clientWidth); at += step) {
      const mark = make("span", "mark", at === 0 ? "0" : rounded(at));
      mark.style.left = 100 * at / wide + "%";
      marks.append(mark);
    }
  };
  const draw = () => {
    const first = Math.max(0, Math.floor(list.scrollTop / HEIGHT) - 10);
    const last = Math.min(shown.length, Math.ceil((list.scrollTop + room()) / HEIGHT) + 10);
    const some = [], seen = shown.slice(first, last).includes(chosen);
    const top = seen ? chosen : shown[Math.floor(list.scrollTop / HEIGHT)] ?? shown[0];
    const scaled = top === undefined ? -1 : spans[top].root;
    for (let place = first; place < last; place++) some.push(row(place, scaled));
    if (!shown.length) some.push(make("p", "none", spans.length ? "No span matches." : "The log holds no spans."));
    rows.replaceChildren(...some);
    drawScale(scaled);
    if (byId("row-" + chosen)) list.setAttribute("aria-activedescendant", "row-" + chosen);
    else list.removeAttribute("aria-activedescendant");
  };
  const reveal = () => {
    const place = shown.indexOf(chosen), top = place * HEIGHT;
    if (place < 0) return;
    if (top < list.scrollTop) list.scrollTop = top;
    else if (top + HEIGHT > list.scrollTop + room()) list.scrollTop = top + HEIGHT - room();
  };
  const unfold = (i) => {
    for (let up = spans[i].up; up >= 0; up = spans[up].up) folded.delete(up);
  };
  const fold = (i, close) => {
    if (!spans[i].parts || filtering) return;
    if (close) folded.add(i);
    else folded.delete(i);
    refresh();
  };
]=]
