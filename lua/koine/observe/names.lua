--- What spans are called, by their types: a word or some, of what their starts say.

local function words(...)
  local parts = {}
  for i = 1, select("#", ...) do
    local part = select(i, ...)
    if type(part) == "string" and part ~= "" then parts[#parts + 1] = part end
  end
  return parts[1] and table.concat(parts, " ") or nil
end

local NAMES = {
  chat = function(start) return words(start.model) end,
  embed = function(start) return words(start.model) end,
  attempt = function(start) return math.type(start.number) == "integer" and "#" .. start.number or nil end,
  wait = function(start) return words(start.what) end,
  session = function(start) return words(start.role, start.model) end,
  turn = function(start) return words(start.session) end,
  mcp = function(start) return words(start.server, start.method, start.target) end,
  prompt = function(start) return words(start.agent) end,
  queued = function(point) return words(point.session) end,
  dropped = function(point) return words(point.session, point.reason) end,
  respawn = function(point) return words(point.session) end,
}

--- The name that a start or a point (a record) gives to what it is about: a string, nil where it gives none.
return function(record)
  local name = NAMES[record.type]
  if name then return name(record) end
  return words(record.name)
end
