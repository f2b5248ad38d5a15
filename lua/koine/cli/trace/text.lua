--- A tree of records as lines of text: a line for each span, with how long it took, what it used, and its error.

local text = {}

-- The parts that are there, with a space between them.
local function join(...)
  local parts = {}
  for i = 1, select("#", ...) do
    local part = select(i, ...)
    if part and part ~= "" then parts[#parts + 1] = part end
  end
  return table.concat(parts, " ")
end

-- 1,234,567
local function grouped(n)
  local digits = ("%d"):format(n):reverse():gsub("(%d%d%d)", "%1,"):reverse()
  return (digits:gsub("^,", ""))
end

local function duration(seconds)
  if not seconds then return "open" end
  if seconds < 1 then return ("%.0f ms"):format(seconds * 1000) end
  if seconds < 60 then return ("%.2f s"):format(seconds) end
  return ("%d min %02d s"):format(seconds // 60, math.floor(seconds % 60))
end

local function money(cost) return math.type(cost) == "float" and ("$%.6f"):format(cost) or nil end

local function tokens(usage)
  if type(usage) ~= "table" then return nil end
  local cached = usage.cache_read_tokens
  return join(usage.input_tokens and grouped(usage.input_tokens) .. " in",
    cached and cached > 0 and grouped(cached) .. " cached",
    usage.output_tokens and grouped(usage.output_tokens) .. " out")
end

local function list(names) return type(names) == "table" and names[1] and table.concat(names, ", ") or nil end

-- What its end says, by its type.
local ENDS = {
  chat = function(finish)
    return join(tokens(finish.usage), money(finish.cost), finish.stop_reason, list(finish.tool_calls),
      list(finish.warnings))
  end,
  embed = function(finish) return join(tokens(finish.usage), money(finish.cost)) end,
  attempt = function(finish) return finish.status_code and tostring(finish.status_code) end,
  agent = function(finish)
    return join(finish.status, finish.steps and finish.steps .. " steps", tokens(finish.usage), money(finish.cost))
  end,
  tool = function(finish)
    return join(finish.blocked and "blocked" or finish.is_error and "error",
      finish.bytes and grouped(finish.bytes) .. " bytes")
  end,
  session = function(finish) return join(finish.outcome, tokens(finish.usage), money(finish.cost)) end,
  turn = function(finish) return finish.outcome end,
  prompt = function(finish) return finish.stop_reason end,
}

local function line_of(node)
  local finish = node.finish
  local ending = finish and ENDS[node.type] and ENDS[node.type](finish)
  local err = type(node.error) == "table" and ("! %s: %s"):format(node.error.kind, node.error.message)
  local line = join(node.type, node.name, "", duration(not node.open and node.seconds or nil))
  return (join(line, ending and ending ~= "" and "· " .. ending, err):gsub("%c", " "))
end

local function walk(node, before, beneath)
  coroutine.yield(before .. line_of(node))
  for i, part in ipairs(node.parts) do
    local is_last = i == #node.parts
    walk(part, beneath .. (is_last and "└─ " or "├─ "), beneath .. (is_last and "   " or "│  "))
  end
end

--- The lines of a tree (koine.observe.tree), for a generic for.
function text.lines(root)
  return coroutine.wrap(function()
    local time = math.type(root.time) == "integer" and os.date("!%Y-%m-%d %H:%M:%S", root.time // 1000000000) or "?"
    coroutine.yield(("%s  %s"):format(root.trace or "?", time))
    walk(root, "", "")
  end)
end

return text
