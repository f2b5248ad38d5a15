--- A page of HTML that shows records: a waterfall of their spans, and what each of them says. It is one file that asks
-- nobody for anything: its policy forbids requests, and runs only its own script. What records hold stands in it as
-- JSON, and gets into the document as text alone.

local check = require "koine.data.check"
local core = require "koine.core"
local script = require "koine.observe.page.script"
local style = require "koine.observe.page.style"
local tree = require "koine.observe.tree"

local CHUNK = 500 -- spans whose records are read at once, when one of them is looked at

-- Text of JSON that stands within an element script: nothing in it ends that.
local function json(value) return (core.encode(value):gsub("<", "\\u003c")) end

local function block(id, value)
  return ('<script type="application/json" id="%s">%s</script>\n'):format(id, json(value))
end

local function name_of(node)
  local start = node.start or {}
  local name = start.name or start.model or start.what or start.method or start.session or start.role
  if node.type == "attempt" and start.number then name = "#" .. tostring(start.number) end
  return type(name) == "string" and name or ""
end

local function number(value) return type(value) == "number" and value or nil end

-- What the list shows of a span.
local function summary_of(node, above, first)
  local finish = node.finish or {}
  local usage = type(finish.usage) == "table" and finish.usage or {}
  local is_call = node.type == "chat" or node.type == "embed"
  return { type = tostring(node.type), name = name_of(node), up = above, id = node.id, trace = node.trace,
    at = ((number(node.time) or first) - first) / 1e6, ms = number(node.seconds) and node.seconds * 1000 or nil,
    failed = (node.error or finish.is_error) and true or nil, cost = is_call and number(finish.cost) or nil,
    input = is_call and number(usage.input_tokens) or nil, output = is_call and number(usage.output_tokens) or nil }
end

-- The spans of trees, a part behind what it is a part of: two arrays, of summaries and of records. Goes down without
-- recursion: a chain of parts may be as long as the log.
local function flatten(roots)
  local first = math.huge
  for _, root in ipairs(roots) do first = math.min(first, number(root.time) or first) end
  if first == math.huge then first = 0 end
  local summaries, details, waiting = core.array {}, core.array {}, {}
  for i = #roots, 1, -1 do waiting[#waiting + 1] = { roots[i], -1 } end
  while waiting[1] do
    local node, above = table.unpack(table.remove(waiting))
    local place = #summaries
    summaries[place + 1] = summary_of(node, above, first)
    details[place + 1] = { start = node.start, finish = node.finish, points = node.points }
    for i = #node.parts, 1, -1 do waiting[#waiting + 1] = { node.parts[i], place } end
  end
  return summaries, details
end

local HEAD = [[
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy"
  content="default-src 'none'; script-src '%s'; style-src '%s'; base-uri 'none'; form-action 'none'">
<title>Koine trace</title>
<style>%s</style>
</head>
<body>
<header>
<h1>Koine trace</h1>
<p id="totals"></p>
<div id="tools">
<input id="search" type="search" placeholder="Search names and content (/)" aria-label="Search">
<select id="kind" aria-label="Type"><option value="">all types</option></select>
<label><input id="failed" type="checkbox"> errors only</label>
</div>
</header>
<main>
<div id="list" role="tree" tabindex="0" aria-label="Spans"><div id="space"><div id="rows"></div></div></div>
<section id="detail" aria-live="polite">
<p>Choose a span. Arrow keys move and fold, / searches, Escape ends the search.</p>
</section>
</main>
]]

local function source(text) return "sha256-" .. core.base64_encode(core.sha256(text)) end

--- The page (a string) of an array of records, as koine.observe.read gives them. Raises an ArgumentError for what is no
-- array.
return function(records)
  check.table(records, "records")
  local summaries, details = flatten(tree(records))
  local parts = { HEAD:format(source(script), source(style), style), block("spans", summaries) }
  for first = 1, #details, CHUNK do
    local chunk = core.array(table.move(details, first, math.min(first + CHUNK - 1, #details), 1, {}))
    parts[#parts + 1] = block("records-" .. (first - 1) // CHUNK, chunk)
  end
  parts[#parts + 1] = "<script>" .. script .. "</script>\n</body>\n</html>\n"
  return table.concat(parts)
end
