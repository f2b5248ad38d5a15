--- The style sheet of the page of records (page/init.lua): light and dark, and for narrow screens.

return [[
:root { --back: #fff; --text: #1c1e21; --dim: #626970; --line: #d9dde1; --pick: #dbe8fb; --bar: #4c86d9;
  --bad: #c5352b;
  --tool: #3d9a50; --agent: #8a63c9; --wait: #b98a1f; --code: #f4f5f7; }
@media (prefers-color-scheme: dark) {
  :root { --back: #16181b; --text: #e4e6e9; --dim: #9aa2ab; --line: #31363c; --pick: #23364f; --bar: #5b97ea;
  --bad: #f0695e;
    --tool: #58b96c; --agent: #a985e6; --wait: #d5a63d; --code: #1f2327; }
}
* { box-sizing: border-box; }
html, body { height: 100%; margin: 0; }
body { background: var(--back); color: var(--text); font: 14px/1.45 system-ui, sans-serif; display: flex;
  flex-direction: column; }
header { padding: 10px 14px 8px; border-bottom: 1px solid var(--line); }
h1 { font-size: 16px; margin: 0; display: inline; }
#totals { display: inline; margin: 0 0 0 12px; color: var(--dim); }
#tools { display: flex; flex-wrap: wrap; gap: 10px; margin-top: 8px; align-items: center; }
#search { flex: 1 1 220px; max-width: 420px; }
input, select { font: inherit; color: inherit; background: var(--code); border: 1px solid var(--line);
  border-radius: 5px; padding: 3px 8px; }
main { flex: 1; display: flex; min-height: 0; }
#list { flex: 1 1 60%; overflow: auto; outline: none; position: relative; }
#list:focus-visible { box-shadow: inset 0 0 0 2px var(--bar); }
#space { position: relative; min-width: 480px; }
.row { position: absolute; left: 0; right: 0; height: 24px; display: flex; align-items: center; cursor: default; }
.row.chosen { background: var(--pick); }
.label { flex: 0 0 46%; overflow: hidden; white-space: nowrap; text-overflow: ellipsis; padding-right: 8px; }
.fold { display: inline-block; width: 16px; text-align: center; color: var(--dim); }
.type { color: var(--dim); }
.failed .name, .failed .type { color: var(--bad); }
.time { flex: 0 0 84px; text-align: right; color: var(--dim); padding-right: 10px;
  font-variant-numeric: tabular-nums; white-space: nowrap; }
.track { flex: 1; position: relative; height: 12px; margin-right: 14px; }
.bar { position: absolute; height: 12px; min-width: 2px; border-radius: 2px; background: var(--bar); }
.bar.tool, .bar.mcp { background: var(--tool); }
.bar.agent, .bar.session, .bar.turn, .bar.prompt { background: var(--agent); }
.bar.wait { background: var(--wait); }
.bar.failed { background: var(--bad); }
.bar.open { opacity: 0.55; }
#detail { flex: 1 1 40%; overflow: auto; border-left: 1px solid var(--line); padding: 10px 14px; min-width: 0; }
#detail h2 { font-size: 15px; margin: 0 0 6px; overflow-wrap: anywhere; }
#detail h3 { font-size: 13px; margin: 14px 0 4px; color: var(--dim); }
#detail table { border-collapse: collapse; }
#detail td { padding: 1px 12px 1px 0; vertical-align: top; overflow-wrap: anywhere; }
#detail td:first-child { color: var(--dim); white-space: nowrap; }
pre { background: var(--code); border-radius: 5px; padding: 8px; margin: 4px 0; white-space: pre-wrap;
  overflow-wrap: anywhere; font: 12.5px/1.45 ui-monospace, monospace; }
.bad { color: var(--bad); }
@media (max-width: 760px) {
  main { flex-direction: column; }
  #detail { border-left: 0; border-top: 1px solid var(--line); }
}
]]
