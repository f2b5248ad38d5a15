-- JavaScript whose value is the least contrast of text that is seen, by WCAG 2 (the larger luminance plus 0.05, by the
-- smaller one plus 0.05), and the class and words of the text: [ratio, words].
return [[(() => {
  const parts = (c) => c.match(/[\d.]+/g).map(Number);
  const light = (c) => { const [r, g, b] = parts(c).map((v) => v / 255)
    .map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const back = (e) => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor;
    if (parts(c)[3] !== 0) return c; } return "rgb(255, 255, 255)"; };
  let least = [99, ""];
  for (const e of document.querySelectorAll("body *")) {
    if (![...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim()) || !e.getClientRects().length) continue;
    const a = light(getComputedStyle(e).color), b = light(back(e));
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < least[0]) least = [ratio, e.className + ": " + e.textContent.slice(0, 40)];
  }
  return least; })()]]
