--- A page of HTML that shows records: a waterfall of their spans, and what each of them says. It is one file that asks
-- nobody for anything: its policy forbids requests, and runs only its own script. What records hold stands in it as
-- JSON, and gets into the document as text alone.

local check = require "koine.data.check"
local core = require "koine.core"
local script = require "koine.observe.page.script"
local style = require "koine.observe.page.style"
local tree = require "koine.observe.tree"

-- What is read at once, when a span is looked at: so many spans, or a few more bytes of their records than this.
local BLOCK_SPANS <const>, BLOCK_BYTES <const> = 500, 256 * 1024

-- Text of JSON that stands within an element script: nothing in it ends that.
local function json(value) return (core.encode(value):gsub("<", "\\u003c")) end

local function block(id, text) return ('<script type="application/json" id="%s">%s</script>\n'):format(id, text) end

local NUMBER_MAX <const> = 1e15 -- in a damaged log numbers may be of any size; JSON has none that is infinite

local function number(value) return type(value) == "number" and math.abs(value) < NUMBER_MAX and value or nil end
local function time_of(record) return type(record.time) == "number" and math.abs(record.time) < 1e19 and record.time end
local function words(value) return type(value) == "string" and value or nil end

-- Milliseconds of seconds.
local function ms(seconds) return number(seconds) and seconds * 1000 end

-- The tokens that were read from the provider's cache or written to it; nil where there are none.
local function cached_of(usage)
  local sum = (number(usage.cache_read_tokens) or 0) + (number(usage.cache_creation_tokens) or 0)
  return sum > 0 and sum or nil
end

-- In a word or two, how it failed; nil where it did not.
local function failure_of(node, finish)
  if node.error then return type(node.error) == "table" and words(node.error.kind) or "error" end
  if finish.blocked == true then return "blocked" end
  return finish.is_error == true and "error" or nil
end

-- How often it was tried again; nil for never.
local function retries_of(node, finish)
  local count = math.max(0, (number(finish.attempts) or 1) - 1)
  local told = 0
  for _, point in ipairs(node.points) do told = told + (point.type == "retry" and 1 or 0) end
  count = math.max(count, told)
  return count > 0 and count or nil
end

-- Where it first differed from the turn before, which a cache held; nil where no point says so.
local function miss_of(node)
  for _, point in ipairs(node.points) do
    if point.type == "cache_miss" then return words(point.path) or "" end
  end
end

-- What the list shows of a span or a point.
local function summary_of(node, above, first)
  local finish = node.finish or {}
  local usage = type(finish.usage) == "table" and finish.usage or {}
  local lasted = not node.open and (ms(node.seconds) or 0) or nil
  local time = time_of(node) or first
  local at = (time - first) / 1e6 - (node.finish and not node.start and lasted or 0) -- an end comes when it is over
  return { type = tostring(node.type), name = node.name or "", up = above, id = node.id, trace = node.trace, at = at,
    ms = lasted, point = node.point and true or nil, first = ms(finish.first_delta), failed = failure_of(node, finish),
    retries = retries_of(node, finish), miss = miss_of(node), cost = number(finish.cost),
    input = number(usage.input_tokens), output = number(usage.output_tokens), cached = cached_of(usage) }
end

-- The spans of trees, a part behind what it is a part of: two arrays, of summaries and of nodes, and the first time.
-- Goes down without recursion: a chain of parts may be as long as the log.
local function flatten(roots)
  local first = math.huge
  for _, root in ipairs(roots) do first = math.min(first, time_of(root) or first) end
  if first == math.huge then first = 0 end
  local summaries, nodes, waiting = core.array {}, {}, {}
  for i = #roots, 1, -1 do waiting[#waiting + 1] = { roots[i], -1 } end
  while waiting[1] do
    local node, above = table.unpack(table.remove(waiting))
    local place = #summaries
    summaries[place + 1] = summary_of(node, above, first)
    nodes[place + 1] = node
    for i = #node.parts, 1, -1 do waiting[#waiting + 1] = { node.parts[i], place } end
  end
  return summaries, nodes, first
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
<div id="top"><h1>Koine trace</h1><dl id="totals"></dl></div>
<div id="tools" role="search">
<input id="search" type="search" placeholder="Search names and contents" aria-label="Search names and contents"
  aria-keyshortcuts="/" autocomplete="off" spellcheck="false">
<select id="kind" aria-label="Type"><option value="">All types</option></select>
<label><input id="failed" type="checkbox" aria-keyshortcuts="e"> Errors only</label>
<button id="clear" type="button" hidden>Clear</button>
<span id="count" role="status"></span>
<button id="keys" type="button" title="Keys (?)" aria-label="Keys">?</button>
</div>
</header>
<main>
<div id="left">
<div id="list" role="tree" tabindex="0" aria-label="Spans">
<div id="axis" aria-hidden="true"><span>Span</span><span class="tokens">Tokens</span><span class="cost">Cost</span>
<span class="time">Time</span><div id="scale"></div></div>
<div id="space" role="none"><div id="rows" role="none"></div></div></div>
</div>
<section id="detail" aria-label="What the span says" tabindex="0"></section>
</main>
<dialog id="help" aria-label="Keys">
<h2>Keys</h2>
<table>
<tr><th><kbd>↑</kbd> <kbd>↓</kbd> or <kbd>k</kbd> <kbd>j</kbd></th><td>the span before, the next one</td></tr>
<tr><th><kbd>←</kbd> <kbd>→</kbd></th><td>fold and unfold; to the parent, to the first part</td></tr>
<tr><th><kbd>x</kbd></th><td>unfold all, or fold all</td></tr>
<tr><th><kbd>n</kbd> <kbd>N</kbd></th><td>the next error, the one before</td></tr>
<tr><th><kbd>e</kbd></th><td>errors only</td></tr>
<tr><th><kbd>/</kbd></th><td>search</td></tr>
<tr><th><kbd>Enter</kbd></th><td>to what the span says; from the search to the list</td></tr>
<tr><th><kbd>Esc</kbd></th><td>end the search and the filters; back to the list</td></tr>
</table>
<form method="dialog"><button>Close</button></form>
</dialog>
]]

-- Adds the blocks of JSON with the nodes' records to parts: the spans that they begin with (an array).
local function add_records(parts, nodes)
  local firsts, texts, bytes = core.array {}, {}, 0
  for i, node in ipairs(nodes) do
    if not texts[1] then firsts[#firsts + 1] = i - 1 end
    texts[#texts + 1] = json { start = node.start, finish = node.finish, point = node.point, points = node.points }
    bytes = bytes + #texts[#texts]
    if #texts == BLOCK_SPANS or bytes > BLOCK_BYTES or i == #nodes then
      parts[#parts + 1] = block("records-" .. #firsts - 1, "[" .. table.concat(texts, ",\n") .. "]")
      texts, bytes = {}, 0
    end
  end
  return firsts
end

local function source(text) return "sha256-" .. core.base64_encode(core.sha256(text)) end

--- The page (a string) of an array of records, as koine.observe.read gives them. Raises an ArgumentError for what is no
-- array.
return function(records)
  check.table(records, "records")
  local summaries, nodes, first = flatten(tree(records))
  local parts = { HEAD:format(source(script), source(style), style), block("spans", json(summaries)) }
  local firsts = add_records(parts, nodes)
  parts[#parts + 1] = block("page", json { first = first / 1e6, firsts = firsts })
  parts[#parts + 1] = "<script>" .. script .. "</script>\n</body>\n</html>\n"
  return table.concat(parts)
end
