--- Which paths the loopback provider serves: exactly those that the providers' own base URLs make, so that a wrong
-- base_url fails a test, and those beside a path that the script names. Behind them is a wire's endpoint, the folder of
-- the codec's name (for Messages on Vertex AI anthropic_vertex): its `paths` are where chats go, its `count_path` (nil:
-- none) where counts do, below a prefix, with MODEL where a part is the model's name. Pure.

local paths = {}

-- The prefixes of an endpoint, by wire: the paths of the rows' base URLs, with NAME where a part is the caller's.
local PREFIXES = {
  -- generated: prefixes, by `make generate`
  anthropic = { "/v1", "/anthropic/v1" },
  anthropic_vertex = { "/v1/projects/NAME/locations/NAME/publishers/anthropic" },
  bedrock = { "" },
  bedrock_invoke = { "" },
  chat = { "", "/v1", "/api/v1", "/openai/v1", "/v1/openai", "/inference/v1", "/compatibility/v1",
    "/compatible-mode/v1", "/openai/deployments/NAME" },
  gemini = { "/v1beta", "/v1/publishers/google", "/v1/projects/NAME/locations/NAME/publishers/google" },
  ollama = { "" },
  responses = { "", "/v1", "/api/v1", "/openai/v1" },
  -- end of prefixes
}

--- The endpoints by wire: of all wires that a row speaks.
paths.endpoints = {}
for wire in pairs(PREFIXES) do
  paths.endpoints[wire] = require("koine.testing.loopback.wire." .. wire)
end

-- By kind (a wire, or "models"): patterns of the prefixes that it is served behind.
local KNOWN = { models = {} }
for wire, prefixes in pairs(PREFIXES) do
  KNOWN[wire] = {}
  for _, prefix in ipairs(prefixes) do
    local pattern = "^" .. prefix:gsub("%p", "%%%0"):gsub("NAME", "[^/]+") .. "$"
    table.insert(KNOWN[wire], pattern)
    table.insert(KNOWN.models, pattern)
  end
end

-- True where `kind` is served behind a prefix.
local function is_known(kind, prefix)
  for _, pattern in ipairs(KNOWN[kind] or {}) do
    if prefix:find(pattern) then
      return true
    end
  end
  return false
end

-- Where an endpoint is below a prefix: {wire, suffix, counts = whether it counts tokens, pattern}.
local function place(wire, suffix, counts)
  local pattern = suffix:gsub("%p", "%%%0"):gsub("MODEL", "[^/]+") .. "$"
  return { wire = wire, suffix = suffix, counts = counts, pattern = pattern }
end

--- Where the endpoints (as paths.endpoints) are: an array of {wire, suffix, counts}, and a function that finds the one
-- that a path ends in, and what stands before it; nil when there is none.
function paths.places(endpoints)
  local places = {}
  for wire, endpoint in pairs(endpoints) do
    for _, suffix in ipairs(endpoint.paths) do
      places[#places + 1] = place(wire, suffix, false)
    end
    places[#places + 1] = endpoint.count_path and place(wire, endpoint.count_path, true)
  end
  table.sort(places, function(a, b) -- the longer one first, where one ends in the other
    return #a.suffix == #b.suffix and a.suffix < b.suffix or #a.suffix > #b.suffix
  end)
  return places, function(path)
    for _, candidate in ipairs(places) do
      local at = path:find(candidate.pattern)
      if at then
        return candidate, path:sub(1, at - 1)
      end
    end
  end
end

local PLACES, split = paths.places(paths.endpoints)

--- Adds the prefix of a path that an answer names to `own`, a table that begins empty: its wire is served there, with
-- its counts and models.
function paths.add(own, path)
  local endpoint, prefix = split(path)
  if endpoint then
    own[endpoint.wire .. " " .. prefix], own["models " .. prefix] = true, true
  end
end

--- Looks up a path: the wire, and true when it counts tokens, else false. nil
-- when nothing is there. `own`: what was added.
function paths.endpoint(path, own)
  local endpoint, prefix = split(path)
  if endpoint and (is_known(endpoint.wire, prefix) or own[endpoint.wire .. " " .. prefix]) then
    return endpoint.wire, endpoint.counts or false
  end
end

--- Whether a wire is served behind a prefix. `own`: what was added.
function paths.serves(wire, prefix, own)
  return is_known(wire, prefix) or own[wire .. " " .. prefix] or own["models " .. prefix] or false
end

--- True when a path is that of a list of models (…/models, or an endpoint's `models_path`); and the id, when it is that
-- of one model. `own`: what was added.
function paths.models(path, own)
  local prefix, id = path:match("^(.*)/models$"), nil
  for _, endpoint in pairs(paths.endpoints) do
    if path == endpoint.models_path then
      return true
    end
  end
  if not prefix then
    prefix, id = path:match("^(.*)/models/([^/]+)$")
  end
  if prefix and (is_known("models", prefix) or own["models " .. prefix]) then
    return true, id
  end
  return false
end

--- The paths of chats that there are, in words: those of the wire whose endpoint `path` ends in, else of all.
function paths.words(path)
  local asked, list = split(path), {}
  for _, endpoint in ipairs(PLACES) do
    if not endpoint.counts and (not asked or asked.wire == endpoint.wire) then
      for _, prefix in ipairs(PREFIXES[endpoint.wire]) do
        list[#list + 1] = prefix .. endpoint.suffix
      end
    end
  end
  return table.concat(list, ", ")
end

return paths
