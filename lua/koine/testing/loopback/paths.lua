--- Which paths the loopback provider serves: exactly those that the providers' own base URLs make, so that a wrong
-- base_url fails a test, and those beside a path that the script names. Pure.

local paths = {}

-- Endpoint → where it is below a prefix. The longer suffix stands first where one ends in the other.
local ENDPOINTS = {
  { wire = "chat", suffix = "/chat/completions" },
  { wire = "anthropic", suffix = "/messages/count_tokens", counts = true },
  { wire = "anthropic", suffix = "/messages" },
  { wire = "responses", suffix = "/responses/input_tokens", counts = true },
  { wire = "responses", suffix = "/responses" },
}

-- What stands before an endpoint, by wire: the paths of the rows' base URLs, with NAME where a part is the caller's.
local PREFIXES = {
  -- generated: prefixes, by `make generate`
  anthropic = { "/v1" },
  chat = { "", "/v1", "/api/v1", "/openai/v1", "/inference/v1", "/openai/deployments/NAME" },
  responses = { "", "/v1", "/api/v1", "/openai/v1" },
  -- end of prefixes
}

local KNOWN = {}
for wire, prefixes in pairs(PREFIXES) do
  for _, prefix in ipairs(prefixes) do
    KNOWN[wire .. " " .. prefix], KNOWN["models " .. prefix] = true, true
  end
end

-- True where `kind` (a wire, or "models") is served behind a prefix.
local function is_known(kind, prefix)
  return KNOWN[kind .. " " .. prefix] or KNOWN[kind .. " " .. prefix:gsub("[^/]+$", "NAME")]
end

--- The endpoint whose name a path ends in, and what stands before it: nil when there is none.
local function split(path)
  for _, endpoint in ipairs(ENDPOINTS) do
    if path:sub(-#endpoint.suffix) == endpoint.suffix then
      return endpoint, path:sub(1, -#endpoint.suffix - 1)
    end
  end
end

--- Adds the prefix of a path that an answer names to `own`, a table that begins empty: its wire is served there, with
-- its counts and models.
function paths.add(own, path)
  local endpoint, prefix = split(path)
  if endpoint then
    own[endpoint.wire .. " " .. prefix], own["models " .. prefix] = true, true
  end
end

--- What is at a path: the wire ("anthropic", "chat", "responses"), and true when it counts tokens, else false. nil
-- when nothing is. `own`: what was added.
function paths.endpoint(path, own)
  local endpoint, prefix = split(path)
  if endpoint and (is_known(endpoint.wire, prefix) or own[endpoint.wire .. " " .. prefix]) then
    return endpoint.wire, endpoint.counts or false
  end
end

--- True when a path is that of a list of models; and the id, when it is that of one model. `own`: what was added.
function paths.models(path, own)
  local prefix, id = path:match("^(.*)/models$"), nil
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
  for _, endpoint in ipairs(ENDPOINTS) do
    if not endpoint.counts and (not asked or asked.wire == endpoint.wire) then
      for _, prefix in ipairs(PREFIXES[endpoint.wire]) do
        list[#list + 1] = prefix .. endpoint.suffix
      end
    end
  end
  return table.concat(list, ", ")
end

return paths
