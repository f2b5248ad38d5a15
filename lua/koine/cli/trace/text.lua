--- A tree of records as lines of text: a line for each span, with how long it took, what it used, and its error.

local text = {}

local WORD_MAX = 1000    -- bytes of a text in a line
local SECONDS_MAX = 1e10 -- what lasts longer is damaged
local MONEY_MAX = 1e12
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

local function tokens(usage)
  if type(usage) ~= "table" then return nil end
  local cached = usage.cache_read_tokens
  return join(count(usage.input_tokens, "in"), cached ~= 0 and count(cached, "cached"),
    count(usage.output_tokens, "out"))
end

local function list(names)
  if type(names) ~= "table" then return nil end
  local words = {}
  for _, name in ipairs(names) do words[#words + 1] = plain(name) end
  return words[1] and table.concat(words, ", ") or nil
end

-- What its end says, by its type.
local ENDS = {
  chat = function(finish)
    return join(tokens(finish.usage), money(finish.cost), finish.stop_reason, list(finish.tool_calls),
      list(finish.warnings))
  end,
  embed = function(finish) return join(tokens(finish.usage), money(finish.cost)) end,
  attempt = function(finish) return join(finish.status_code) end,
  agent = function(finish)
    return join(finish.status, count(finish.steps, finish.steps == 1 and "step" or "steps"), tokens(finish.usage),
      money(finish.cost))
  end,
  tool = function(finish)
    return join(finish.blocked and "blocked" or finish.is_error and "error", count(finish.bytes, "bytes"))
  end,
  session = function(finish) return join(finish.outcome, tokens(finish.usage), money(finish.cost)) end,
  turn = function(finish) return join(finish.outcome) end,
  prompt = function(finish) return join(finish.stop_reason) end,
}

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

--- What a node of a tree says itself, on a line.
function text.line(node)
  if node.point then return text.point(node.point) end
  local finish = node.finish
  local ending = finish and ENDS[node.type] and ENDS[node.type](finish)
  local err = type(node.error) == "table"
    and ("! %s: %s"):format(plain(node.error.kind) or "?", plain(node.error.message) or "?")
  local line = join(node.type, node.name, node.open and "open" or duration(node.seconds))
  return (join(line, ending and ending ~= "" and "· " .. ending, err):gsub("%c", " "))
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

-- Yields the line of a node and those of all beneath it. Without recursion: a chain of parts may be as long as the log.
local function walk(root)
  local waiting = { { node = root, before = "", beneath = "", depth = 0 } }
  while waiting[1] do
    local at = table.remove(waiting)
    coroutine.yield(at.before .. text.line(at.node))
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
