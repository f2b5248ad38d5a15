--- The style sheet of the page of records (page/init.lua): light and dark, and for narrow screens.

return [[
:root { --back: #fff; --panel: #f7f8fa; --text: #1b1e23; --dim: #59616b; --line: #e1e4e9; --soft: #eff1f4;
  --pick: #e3edfc; --focus: #2f6fd6; --hit: #ffe08a;
  --model: #3f7fdb; --attempt: #9dbbe8; --tool: #2f9a57; --agent: #8460c9; --wait: #c4932b; --other: #7d8792;
  --bad: #b3261e; --bad-back: #fdecea; --odd: #7d5200; --odd-back: #fdf3dc; --bad-bar: #d63b32; }
@media (prefers-color-scheme: dark) {
  :root { --back: #14161a; --panel: #191c21; --text: #e6e8eb; --dim: #a0a9b4; --line: #2b3037; --soft: #21252b;
    --pick: #1e3350; --focus: #6ea3f5; --hit: #6b5300;
    --model: #5a97ee; --attempt: #41618f; --tool: #4cb576; --agent: #a686e8; --wait: #d7a944; --other: #8a949f;
    --bad: #ff9a92; --bad-back: #3b1c1b; --odd: #ecc063; --odd-back: #352a12; --bad-bar: #ec6a61; }
}
* { box-sizing: border-box; }
html, body { height: 100%; margin: 0; }
body { background: var(--back); color: var(--text); font: 13px/1.45 system-ui, sans-serif; display: flex;
  flex-direction: column; }
h1, h2, h3, p, dl, dd, dt { margin: 0; }
.dim { color: var(--dim); }

header { padding: 12px 16px 10px; border-bottom: 1px solid var(--line); }
#top { display: flex; flex-wrap: wrap; align-items: baseline; gap: 6px 24px; }
h1 { font-size: 15px; font-weight: 650; }
#totals { display: flex; flex-wrap: wrap; gap: 2px 18px; }
.fact { display: flex; flex-direction: row-reverse; gap: 5px; }
.fact dt { color: var(--dim); }
.fact dd { font-weight: 600; font-variant-numeric: tabular-nums; }
.fact.bad dd, .fact.bad dt { color: var(--bad); }
.fact.odd dd, .fact.odd dt { color: var(--odd); }
#tools { display: flex; flex-wrap: wrap; gap: 8px; margin-top: 10px; align-items: center; }
#search { flex: 1 1 240px; max-width: 400px; }
input[type=search], select, button, #tools label { font: inherit; color: inherit; background: var(--panel);
  border: 1px solid var(--line); border-radius: 6px; padding: 4px 10px; height: 30px; }
#tools label { display: flex; align-items: center; gap: 6px; }
#tools label input { margin: 0; accent-color: var(--bad-bar); }
::placeholder { color: var(--dim); opacity: 1; }
button:hover, select:hover, #tools label:hover { background: var(--soft); }
button { cursor: pointer; }
#keys { margin-left: auto; width: 30px; padding: 0; }
#count { color: var(--dim); font-variant-numeric: tabular-nums; }
:focus-visible { outline: 2px solid var(--focus); outline-offset: 1px; }

main { flex: 1; display: flex; min-height: 0; }
#left { flex: 1 1 62%; min-width: 0; display: flex; flex-direction: column;
  --columns: minmax(0, 11fr) 0 0 80px minmax(0, 9fr); }
#left.with-tokens { --columns: minmax(0, 11fr) 92px 0 80px minmax(0, 9fr); }
#left.with-costs { --columns: minmax(0, 11fr) 0 86px 80px minmax(0, 9fr); }
#left.with-tokens.with-costs { --columns: minmax(0, 11fr) 92px 86px 80px minmax(0, 9fr); }
#axis, .row { display: grid; grid-template-columns: var(--columns); align-items: center; padding-right: 16px; }
#axis { height: 26px; color: var(--dim); font-size: 12px; border-bottom: 1px solid var(--line);
  background: var(--panel); position: sticky; top: 0; z-index: 1; }
#axis > :first-child { padding-left: 16px; }
.tokens, .cost, .time { text-align: right; padding-right: 12px; color: var(--dim); white-space: nowrap;
  overflow: hidden; font-variant-numeric: tabular-nums; }
#left:not(.with-tokens) .tokens, #left:not(.with-costs) .cost { padding: 0; visibility: hidden; }
.row .time { color: var(--text); }
#scale { position: relative; height: 100%; overflow: hidden; }
.mark { position: absolute; top: 0; line-height: 25px; padding-left: 5px; border-left: 1px solid var(--line);
  white-space: nowrap; }

#list { flex: 1; overflow-y: scroll; overflow-x: hidden; outline: none; position: relative; }
#list:focus-visible .chosen { box-shadow: inset 0 0 0 2px var(--focus); }
#list:focus-visible:not([aria-activedescendant]), #detail:focus-visible { outline: 2px solid var(--focus);
  outline-offset: -2px; }
#space { position: relative; }
.none { padding: 24px 16px; color: var(--dim); }
.row { position: absolute; left: 0; right: 0; height: 26px; cursor: default; }
.row:hover { background: var(--soft); }
.row.chosen { background: var(--pick); }
.row.begins { border-top: 1px solid var(--line); }
.label { display: flex; align-items: center; min-width: 0; padding-right: 10px; overflow: hidden; }
.fold { flex: none; width: 16px; text-align: center; color: var(--dim); font-size: 11px; }
.dot { flex: none; display: inline-block; width: 8px; height: 8px; border-radius: 2px; margin-right: 7px;
  background: var(--other); }
.named { flex: 0 20 auto; min-width: 72px; overflow: hidden; white-space: nowrap; text-overflow: ellipsis; }
.type, .in, .when { color: var(--dim); }
.when { flex: none; margin-left: 10px; font-size: 12px; font-variant-numeric: tabular-nums; }
.name { font-weight: 500; }
.failed .name, .failed .type { color: var(--bad); }
.badge { flex: none; max-width: 60%; margin-left: 7px; padding: 0 6px; border-radius: 9px;
  font-size: 11px; line-height: 17px; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.badge.bad { color: var(--bad); background: var(--bad-back); }
.badge.odd { color: var(--odd); background: var(--odd-back); }
.badge.open { color: var(--dim); border: 1px dashed var(--other); line-height: 15px; }

.track { position: relative; height: 100%; }
.scaled .track { background: linear-gradient(to right, var(--line) 1px, transparent 1px) 0 0 / var(--step) 100%; }
.bar { position: absolute; top: 8px; height: 10px; min-width: 3px; border-radius: 3px; background: var(--other);
  overflow: hidden; }
.bar.model, .dot.model { background: var(--model); }
.bar.attempt, .dot.attempt { background: var(--attempt); }
.bar.tool, .dot.tool { background: var(--tool); }
.bar.agent, .dot.agent { background: var(--agent); }
.bar.wait, .dot.wait { background: var(--wait); }
.bar.failed { background: var(--bad-bar); }
.bar.open { mask-image: repeating-linear-gradient(-45deg, #000 0 4px, #0006 4px 8px); border-radius: 3px 0 0 3px; }
.bar.point { width: 6px; min-width: 6px; }
.waiting { height: 100%; background: var(--back); opacity: 0.55; }

#detail { display: none; flex: 1 1 38%; overflow: auto; border-left: 1px solid var(--line); padding: 14px 18px 32px;
  min-width: 0; }
.looking #detail { display: block; }
#detail h2 { font-size: 15px; font-weight: 600; margin-bottom: 10px; overflow-wrap: anywhere; }
#detail h2 .type { font-weight: 400; }
#detail h3 { font-size: 12px; font-weight: 500; color: var(--dim); margin: 0 0 5px; }
table { border-collapse: collapse; width: 100%; }
th, td { padding: 2px 0; vertical-align: top; text-align: left; font-weight: normal; }
th { color: var(--dim); width: 1%; padding-right: 18px; white-space: nowrap; max-width: 220px; overflow: hidden;
  text-overflow: ellipsis; }
td { overflow-wrap: anywhere; font-variant-numeric: tabular-nums; }
tr.odd td { color: var(--odd); }
.problem { border-left: 3px solid var(--bad-bar); background: var(--bad-back); border-radius: 0 6px 6px 0;
  padding: 7px 11px; margin: 0 0 10px; overflow-wrap: anywhere; }
.problem strong { color: var(--bad); font-weight: 600; }
.problem.odd { border-color: var(--wait); background: var(--odd-back); }
.problem.odd strong { color: var(--odd); }
.message, .part { margin-top: 16px; }
.message { border-left: 2px solid var(--line); padding-left: 12px; }
.message.user { border-color: var(--other); }
.message.model { border-color: var(--model); }
.block { background: var(--panel); border: 1px solid var(--line); border-radius: 6px; padding: 6px 10px 8px;
  margin: 6px 0; }
.block.wrong { border-color: var(--bad-bar); }
.block .title { font-size: 12px; margin-bottom: 4px; }
.block .kind { color: var(--dim); }
.block.wrong .kind { color: var(--bad); }
.block .block { border: 0; padding: 0; margin: 0; }
pre { margin: 0 0 6px; white-space: pre-wrap; overflow-wrap: anywhere; font: inherit; }
pre:last-child { margin-bottom: 0; }
pre.code { font: 12px/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; tab-size: 2; }
.part > pre, details > pre { background: var(--panel); border: 1px solid var(--line); border-radius: 6px;
  padding: 8px 10px; }
.more { display: block; height: auto; margin-top: 8px; padding: 2px 9px; font: 12px/1.5 system-ui, sans-serif; }
details { margin-top: 16px; }
summary { color: var(--dim); cursor: pointer; margin-bottom: 6px; }
::highlight(found) { background: var(--hit); color: var(--text); }

dialog { color: inherit; background: var(--back); border: 1px solid var(--line); border-radius: 10px;
  padding: 18px 22px; box-shadow: 0 12px 40px #0005; max-width: 420px; }
dialog::backdrop { background: #0006; }
dialog h2 { font-size: 15px; margin-bottom: 10px; }
kbd { font: 12px/1 ui-monospace, SFMono-Regular, Menlo, monospace; background: var(--soft);
  border: 1px solid var(--line); border-radius: 4px; padding: 1px 5px; }
dialog form { margin-top: 14px; text-align: right; }

@media (max-width: 760px) {
  header { padding: 10px 12px 8px; }
  #totals { gap: 0 12px; }
  main { flex-direction: column; }
  #left, #left.with-tokens, #left.with-costs, #left.with-tokens.with-costs { flex: 1 1 50%; min-height: 0;
    --columns: minmax(0, 6fr) 0 0 72px minmax(0, 2fr); }
  .when { display: none; }
  #left .tokens, #left .cost { padding: 0; visibility: hidden; }
  #axis, .row { padding-right: 10px; }
  #detail { flex: 1 1 50%; min-height: 0; border-left: 0; border-top: 1px solid var(--line); padding: 12px 14px 24px; }
}
@media (prefers-reduced-motion: no-preference) { .row, button { transition: background-color 60ms; } }
]]
