--- What errors say of names that are no provider's: which provider is meant.

local check = require "koine.data.check"
local core = require "koine.core"
local errors = require "koine.data.errors"
local text = require "koine.data.text"

local unknown = {}

-- "provider/model" for a model id that stands alone: of the provider whose rows know the longest prefix of it; nil
-- where none does.
local function whose(rows, id)
  local best, longest = nil, 0
  for _, name in ipairs(rows.names) do
    local row = require("koine.provider.rows." .. name)
    local prefix = #(rows.model(row, id).prefix or "")
    local makes = prefix == longest and best and not row.login and best.login
    if prefix > longest or makes then best, longest = row, prefix end
  end
  return best and best.name .. "/" .. id
end

-- The names of providers elsewhere, and the constructors that are meant.
local ELSEWHERE = { google = "koine.gemini or koine.vertex", google_vertex = "koine.vertex", vertexai = "koine.vertex",
  aws = "koine.bedrock", openai_responses = "koine.openai",
  github_copilot = "koine.copilot", azure_openai = "koine.azure",
  openai_compatible = "koine.compatible",
  openai_chat = 'koine.openai with api = "chat"' }

-- Families of models that are taken for providers.
local FAMILIES = { claude = "anthropic", gpt = "openai", chatgpt = "openai", grok = "xai" }

--- Raises an ArgumentError where `name`, which is no provider of ours, is what one is called elsewhere.
function unknown.check_elsewhere(name)
  local meant = ELSEWHERE[name]
  if not meant then return end
  core.raise(errors.new { kind = "argument", field = name, expected = meant,
    message = ("koine.%s does not exist; did you mean %s?"):format(name, meant) })
end

--- Raises an ArgumentError with the field `name` that says which provider is meant: that of the model with this id, or
-- the nearest. `rows` is koine.provider.
function unknown.refuse(rows, name)
  local known = {}
  for _, other in ipairs(rows.names) do known[other] = true end
  local meant = whose(rows, name) or ELSEWHERE[name] or FAMILIES[name] or check.nearest(name, known)
  local shown = text.may_be_secret(name) and "a string that may be a credential" or name
  core.raise(errors.new { kind = "argument", field = "name", expected = meant or "known provider",
    message = shown .. ": unknown provider"
      .. (meant and ("; did you mean %s?"):format(meant:find " " and meant or '"' .. meant .. '"') or "") })
end

return unknown
