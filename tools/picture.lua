-- picture.lua: draws the first trace of docs/img/trace.jsonl, a log of records, as docs/img/trace.svg: what koine trace
-- --html shows of it. All its spans have an end. The same log gives the same bytes. With `--check` nothing is written:
-- exits 1 where the picture differs. Run from the project's root, with the module built: `make generate`, and `make
-- lint`, which checks.

local koine = require "koine"
local svg = dofile "tools/svg.lua"

local add, escape = svg.add, svg.escape

local LOG <const>, PICTURE <const> = "docs/img/trace.jsonl", "docs/img/trace.svg"

-- Pixels.
local WIDTH <const>, ROW <const>, HEAD <const>, FOOT <const>, INDENT <const> = 960, 26, 34, 44, 16
local TOKENS <const>, COST <const>, TIME <const> = 454, 544, 618 -- right edges of columns
local FROM <const>, TO <const> = 640, WIDTH - 20                 -- of the bars
local LETTER <const> = 6.4                                       -- a letter of a badge, on average

local STYLE <const> = { light = [[
    text { white-space: pre; } .rule { stroke: #e1e4e9; } .head { fill: #f7f8fa; }
    .name { font-weight: 500; } .small { font-size: 11px; } .end { text-anchor: end; }
    .bad { fill: #b3261e; } .odd { fill: #7d5200; }
    .model { fill: #3f7fdb; } .attempt { fill: #9dbbe8; } .tool { fill: #2f9a57; } .agent { fill: #8460c9; }
    .wait { fill: #c4932b; } .failed { fill: #d63b32; } .waiting { fill: #fff; opacity: 0.55; }
]], dark = [[
      .rule { stroke: #2b3037; } .head { fill: #191c21; } .bad { fill: #ff9a92; } .odd { fill: #ecc063; }
      .model { fill: #5a97ee; } .attempt { fill: #41618f; } .tool { fill: #4cb576; } .agent { fill: #a686e8; }
      .wait { fill: #d7a944; } .failed { fill: #ec6a61; } .waiting { fill: #14161a; }
]] }

local KINDS <const> = { chat = "model", embed = "model", attempt = "attempt", tool = "tool", mcp = "tool",
  agent = "agent", wait = "wait" }
local LEGEND <const> = { { "agent", "agent" }, { "model", "model call (faded: before the first token)" },
  { "attempt", "attempt" }, { "tool", "tool" }, { "wait", "wait" }, { "failed", "error" } }

-- Numbers and words -------------------------------------------------------------------------------------------------

local function compact(n)
  if n < 1000 then return ("%d"):format(n) end
  return ((n < 9950 and "%.1fk" or "%.0fk"):format(n / 1000):gsub("%.0k", "k"))
end

local function duration(seconds)
  if seconds < 0.01 then return ("%.1f ms"):format(seconds * 1000) end
  if seconds < 0.9995 then return ("%.0f ms"):format(seconds * 1000) end
  return (seconds < 9.995 and "%.2f s" or "%.1f s"):format(seconds)
end

local function money(cost)
  local digits = cost >= 0.1 and 2 or math.min(8, 1 - math.floor(math.log(cost, 10)))
  return ("$%." .. digits .. "f"):format(cost)
end

-- What is drawn -----------------------------------------------------------------------------------------------------

-- What the calls of a node and its parts used: {input, output, cost}.
local function used(node)
  local sum = { input = 0, output = 0, cost = 0 }
  if node.type == "chat" and node.finish then
    local usage = node.finish.usage or {}
    sum.input = (usage.input_tokens or 0) + (usage.cache_read_tokens or 0) + (usage.cache_creation_tokens or 0)
    sum.output, sum.cost = usage.output_tokens or 0, node.finish.cost or 0
  end
  for _, part in ipairs(node.parts) do
    for name, n in pairs(used(part)) do sum[name] = sum[name] + n end
  end
  return sum
end

-- The badges of a node: an array of {class, words}.
local function badges_of(node)
  local list = {}
  if node.error then list[1] = { "bad", node.error.kind }
  elseif node.finish.is_error then list[1] = { "bad", "error" } end
  local retries = (node.finish.attempts or 1) - 1
  if retries > 0 then list[#list + 1] = { "odd", retries == 1 and "1 retry" or retries .. " retries" } end
  for _, point in ipairs(node.points) do
    if point.type == "cache_miss" then list[#list + 1] = { "odd", "cache miss" } end
  end
  return list
end

local function add_label(out, node, depth, y)
  local x, failed = 16 + depth * INDENT, node.error or node.finish.is_error
  add(out, '<rect class="%s" x="%d" y="%d" width="8" height="8" rx="2"/>', KINDS[node.type] or "attempt", x, y - 8)
  local badges = badges_of(node)
  for i, badge in ipairs(badges) do
    badges[i] = ('<tspan class="small %s" dx="12">%s</tspan>'):format(badge[1], escape(badge[2]))
  end
  add(out, '<text x="%d" y="%d"><tspan class="%s">%s </tspan><tspan class="name%s">%s</tspan>%s</text>', x + 15, y,
    failed and "bad" or "dim", node.type, failed and " bad" or "", escape(node.name or ""), table.concat(badges))
end

local function add_bar(out, node, root, y)
  local function at(seconds) return FROM + (TO - FROM) * seconds / root.seconds end
  local from, wide = at((node.time - root.time) / 1e9), (TO - FROM) * node.seconds / root.seconds
  local kind = (node.error or node.finish.is_error) and "failed" or KINDS[node.type] or "attempt"
  add(out, '<rect class="%s" x="%.1f" y="%d" width="%.1f" height="10" rx="3"/>', kind, from, y - 9, math.max(3, wide))
  local first = node.finish.first_delta
  if first then
    add(out, '<rect class="waiting" x="%.1f" y="%d" width="%.1f" height="10" rx="3"/>', from, y - 9,
      wide * first / node.seconds)
  end
end

-- The rows of a node and its parts from row `n` on (0: the first): the number of the next row.
local function add_rows(out, node, root, depth, n)
  local y, sum = HEAD + n * ROW + 18, used(node)
  add_label(out, node, depth, y)
  if sum.input + sum.output > 0 then
    add(out, '<text class="dim end" x="%d" y="%d">%s → %s</text>', TOKENS, y, compact(sum.input), compact(sum.output))
    if sum.cost > 0 then add(out, '<text class="dim end" x="%d" y="%d">%s</text>', COST, y, money(sum.cost)) end
  end
  add(out, '<text class="end" x="%d" y="%d">%s</text>', TIME, y, duration(node.seconds))
  add_bar(out, node, root, y)
  n = n + 1
  for _, part in ipairs(node.parts) do n = add_rows(out, part, root, depth + 1, n) end
  return n
end

local function add_head(out, root, height)
  add(out, '<path class="head" d="M0.5 %d V8.5 a8 8 0 0 1 8 -8 H%.1f a8 8 0 0 1 8 8 V%d Z"/>', HEAD - 4, WIDTH - 8.5,
    HEAD - 4)
  add(out, '<path class="rule" d="M0 %.1f H%d"/>', HEAD - 3.5, WIDTH)
  add(out, '<text class="dim" x="16" y="20">Span</text>')
  for _, column in ipairs { { "Tokens", TOKENS }, { "Cost", COST }, { "Time", TIME } } do
    add(out, '<text class="dim end" x="%d" y="20">%s</text>', column[2], column[1])
  end
  for seconds = 0, root.seconds // 1, 5 do
    local x = FROM + (TO - FROM) * seconds / root.seconds
    add(out, '<path class="rule" d="M%.1f 1 V%d"/>', x, height - FOOT)
    local words = seconds == 0 and "0" or ("%d s"):format(seconds)
    add(out, '<text class="dim small" x="%.1f" y="20">%s</text>', x + 5, words)
  end
end

local function add_legend(out, y)
  local x = 16
  for _, entry in ipairs(LEGEND) do
    add(out, '<rect class="%s" x="%d" y="%d" width="8" height="8" rx="2"/>', entry[1], x, y - 8)
    add(out, '<text class="dim small" x="%d" y="%d">%s</text>', x + 14, y, entry[2])
    x = x + 40 + math.floor(#entry[2] * LETTER)
  end
end

local function count(node)
  local n = 1
  for _, part in ipairs(node.parts) do n = n + count(part) end
  return n
end

local function draw(root)
  local height, out = HEAD + count(root) * ROW + FOOT, {}
  add(out, '<rect class="back" x="0.5" y="0.5" width="%d" height="%d" rx="8"/>', WIDTH - 1, height - 1)
  add_head(out, root, height)
  add_rows(out, root, root, 0, 0)
  add_legend(out, height - 16)
  return svg.picture(out, "A trace: an agent's run as a waterfall of its model calls, attempts and tools", WIDTH,
    height, STYLE)
end

svg.finish(PICTURE, draw(koine.observe.tree(assert(koine.observe.read(LOG)))[1]))
