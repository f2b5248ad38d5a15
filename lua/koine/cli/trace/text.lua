--- A tree of records as lines of text: a line for each span, with how long it took, what it used with all its parts,
-- and its error.

local text = {}

local WORD_MAX = 1000    -- bytes of a text in a line
local SECONDS_MAX = 1e10 -- what lasts longer is damaged
local MONEY_MAX = 1e12
local COUNT_MAX = 1e15
local DEPTH_MAX = 40     -- levels that are indented

-- Logs may be damaged: what is no text or number is left out, and what is long is cut.
local function plain(value)
  if type(value) ~= "string" and type(value) ~= "number" then return nil end
  value = tostring(value)
  if #value <= WORD_MAX then return value end
  return value:sub(1, WORD_MAX):gsub("[\xC0-\xFF][\x80-\xBF]*$", "") .. "…"
end

-- The parts that are there, with a space between them.
local function join(...)
  local parts = {}
  for i = 1, select("#", ...) do
    local part = plain((select(i, ...)))
    if part and part ~= "" then parts[#parts + 1] = part end
  end
  return table.concat(parts, " ")
end

-- 1,234,567 and the unit; nil where it is no count.
local function count(n, unit)
  if math.type(n) ~= "integer" then return nil end
  local digits = ("%d"):format(n):reverse():gsub("(%d%d%d)", "%1,"):reverse()
  return digits:gsub("^(-?),", "%1") .. " " .. unit
end

local function duration(seconds)
  if type(seconds) ~= "number" or not (seconds >= 0 and seconds < SECONDS_MAX) then return "?" end
  if seconds < 1 then return ("%.0f ms"):format(seconds * 1000) end
  if seconds < 60 then return ("%.2f s"):format(seconds) end
  return ("%.0f min %02.0f s"):format(seconds // 60, seconds // 1 % 60)
end

local function money(cost)
  return type(cost) == "number" and cost >= 0 and cost < MONEY_MAX and ("$%.6f"):format(cost) or nil
end

local function amount(n) return math.type(n) == "integer" and n >= 0 and n < COUNT_MAX and n or 0 end

-- What a record says that its span used: {input, cached, output (tokens), cost}; nil where it does not say.
local function said_by(finish)
  local usage = type(finish.usage) == "table" and finish.usage or {}
  local cached = amount(usage.cache_read_tokens) + amount(usage.cache_creation_tokens)
  return { input = usage.input_tokens, cached = cached, output = usage.output_tokens, cost = finish.cost }
end

local CALLS = { chat = true, embed = true }
local SUMS = { "input", "cached", "output", "cost", "unpriced" }

--- What the parts of a span used: nothing yet.
function text.sum() return { input = 0, cached = 0, output = 0, cost = 0, unpriced = 0, within = {} } end

--- What a span used with all its parts, whose sum is `parts`: that of its calls, so that nothing counts twice; what it
-- says itself where none of them is known, as of another program's agent. A call that asks others of its type does not
-- count beside them. The page counts so, too (observe/page/script/store.lua).
function text.used(node, parts)
  local counts = CALLS[node.type] and not parts.within[node.type]
  if not counts and parts.input + parts.output > 0 then return parts end
  local own, total = said_by(node.finish or {}), text.sum()
  own.unpriced = counts and own.input and not money(own.cost) and 1 or 0
  own.input, own.output, own.cost = amount(own.input), amount(own.output), money(own.cost) and own.cost
  for _, name in ipairs(SUMS) do
    total[name] = (own[name] or 0) + ((counts or name == "unpriced") and parts[name] or 0)
  end
  return total
end

--- Adds what a part (a node) used with all its parts to a sum.
function text.add(sum, node, used)
  for _, name in ipairs(SUMS) do sum[name] = sum[name] + used[name] end
  sum.within[node.type] = true
end

-- The words for what a span used, of text.used, where its parts (nil: none) used something; else for what it says.
local function spent(finish, parts, used)
  local is_sum = parts and parts.input + parts.output > 0
  local shown = is_sum and used or said_by(finish)
  local cost = (not is_sum or used.cost > 0) and money(shown.cost) or nil
  return join(count(shown.input, "in"), shown.cached ~= 0 and count(shown.cached, "cached"),
    count(shown.output, "out"), cost, is_sum and used.unpriced > 0 and (cost and "+?" or "$?"))
end

local function list(names)
  if type(names) ~= "table" then return nil end
  local words = {}
  for _, name in ipairs(names) do words[#words + 1] = plain(name) end
  return words[1] and table.concat(words, ", ") or nil
end

local function refused(finish) return finish.blocked == true and "blocked" or finish.is_error == true and "error" end

-- What its end says, by its type; `used` is what it used, in words.
local ENDS = {
  chat = function(finish, used)
    return join(used, finish.stop_reason, list(finish.tool_calls), list(finish.warnings))
  end,
  attempt = function(finish) return join(finish.status_code) end,
  agent = function(finish, used)
    return join(finish.status, count(finish.steps, finish.steps == 1 and "step" or "steps"), used)
  end,
  tool = function(finish, used) return join(refused(finish), count(finish.bytes, "bytes"), used) end,
  mcp = function(finish, used) return join(refused(finish), used) end,
  session = function(finish, used) return join(finish.outcome, used) end,
  turn = function(finish, used) return join(finish.outcome, used) end,
  prompt = function(finish, used) return join(finish.stop_reason, used) end,
}

-- The texts of a result that was captured: a string, or an array of blocks.
local function result_of(content)
  local result = type(content) == "table" and content.result
  if type(result) ~= "table" then return plain(result) end
  local texts = {}
  for _, block in ipairs(result) do texts[#texts + 1] = type(block) == "table" and plain(block.text) or plain(block) end
  return texts[1] and plain(table.concat(texts, " "))
end

-- The error of a node, or that of a tool's answer, if the record has its text; nil for none.
local function error_of(node, finish)
  if type(node.error) == "table" then
    return ("! %s: %s"):format(plain(node.error.kind) or "?", plain(node.error.message) or "?")
  end
  local why = refused(finish) and (plain(finish.reason) or result_of(finish.content))
  return why and why ~= "" and "! " .. why or nil
end

-- What a point says, by its type; all others say their name alone.
local POINTS = {
  retry = function(point)
    return join("·", point.status_code, point.kind, point.waited and "· again after " .. duration(point.waited))
  end,
  cache_miss = function(point) return type(point.path) == "string" and "· first difference at " .. point.path end,
  dropped = function(point)
    return join(point.session, "·", count(point.messages, point.messages == 1 and "message" or "messages"),
      point.reason)
  end,
  queued = function(point) return point.session end,
  respawn = function(point) return point.session end,
}

--- What a point (a record) says, on a line.
function text.point(point)
  local said = POINTS[point.type] and POINTS[point.type](point)
  return (join((point.type:gsub("_", " ")), said):gsub("%c", " "))
end

--- The line of a node of a tree; `parts` is the sum of what its parts used (nil: there are none), `used` that with its
-- own, of text.used.
function text.line(node, parts, used)
  if node.point then return text.point(node.point) end
  local finish, ending = node.finish or {}, nil
  if node.finish then
    local words = spent(finish, parts, used)
    ending = ENDS[node.type] and ENDS[node.type](finish, words) or words
  end
  local line = join(node.type, node.name, node.open and "open" or duration(node.seconds))
  return (join(line, ending and ending ~= "" and "· " .. ending, error_of(node, finish)):gsub("%c", " "))
end

local function time_of(entry) return math.type(entry.time) == "integer" and entry.time or 0 end

-- The parts of a node and what happened in it, in the order of their times; deltas are too many to be read.
local function entries_of(node)
  if not node.points[1] then return node.parts end
  local entries, order = table.move(node.parts, 1, #node.parts, 1, {}), {}
  for _, point in ipairs(node.points) do
    if point.type ~= "delta" then
      entries[#entries + 1] = { point = point, time = point.time, parts = {}, points = {} }
    end
  end
  for i, entry in ipairs(entries) do order[entry] = i end
  table.sort(entries, function(a, b)
    if time_of(a) ~= time_of(b) then return time_of(a) < time_of(b) end
    return order[a] < order[b]
  end)
  return entries
end

-- What the parts of each node of a tree used, by its node, and what it used with them: two tables. Without recursion: a
-- chain of parts may be as long as the log.
local function sums_of(root)
  local nodes, parts, used = { root }, {}, {}
  for i = 1, math.huge do
    local node = nodes[i]
    if not node then break end
    table.move(node.parts, 1, #node.parts, #nodes + 1, nodes)
  end
  for i = #nodes, 1, -1 do
    local node = nodes[i]
    parts[node] = text.sum()
    for _, part in ipairs(node.parts) do text.add(parts[node], part, used[part]) end
    used[node] = text.used(node, parts[node])
  end
  return parts, used
end

-- Yields the line of a node and those of all beneath it. Without recursion, too.
local function walk(root)
  local parts, used = sums_of(root)
  local waiting = { { node = root, before = "", beneath = "", depth = 0 } }
  while waiting[1] do
    local at = table.remove(waiting)
    coroutine.yield(at.before .. text.line(at.node, parts[at.node], used[at.node]))
    local entries, beneath = entries_of(at.node), at.beneath
    for i = #entries, 1, -1 do
      local is_last, below = i == #entries, beneath
      if at.depth < DEPTH_MAX then below = beneath .. (is_last and "   " or "│  ") end
      waiting[#waiting + 1] = { node = entries[i], before = beneath .. (is_last and "└─ " or "├─ "), beneath = below,
        depth = at.depth + 1 }
    end
  end
end

--- A time (Unix nanoseconds) as hours, minutes and seconds, in UTC.
function text.clock(time)
  return math.type(time) == "integer" and os.date("!%H:%M:%S", time // 1000000000) or "??:??:??"
end

--- The lines of a tree (koine.observe.tree), for a generic for.
function text.lines(root)
  return coroutine.wrap(function()
    local time = math.type(root.time) == "integer" and os.date("!%Y-%m-%d %H:%M:%S", root.time // 1000000000) or "?"
    coroutine.yield(("%s  %s"):format(plain(root.trace) or "?", time))
    walk(root)
  end)
end

return text
