--- Which provider and model the command line speaks to, and the adapter for it.

local failure = require "koine.cli.failure"
local json = require "koine.cli.json"
local key_of = require "koine.cli.settings.key"
local koine = require "koine"
local nearest = require "koine.cli.arguments.nearest"
local paths = require "koine.cli.settings.paths"
local settings = require "koine.cli.settings"
local terminal = require "koine.cli.terminal"

local adapters = {}

--- The providers that have a variable for their key, as koine.providers lists them. The first with credentials is the
-- default: those with a default model come first.
adapters.PROVIDERS = {}
for _, provider in ipairs(koine.providers()) do
  if provider.env[1] then table.insert(adapters.PROVIDERS, provider) end
end
table.sort(adapters.PROVIDERS, function(a, b)
  if (a.default_model ~= nil) ~= (b.default_model ~= nil) then return a.default_model ~= nil end
  local x, y = a.rank or math.huge, b.rank or math.huge
  if x ~= y then return x < y end
  return a.name < b.name
end)

--- Whether a variable of the environment is set, and not empty.
function adapters.is_set(name) return (os.getenv(name) or "") ~= "" end

--- The variable that holds the key of a provider (an entry of PROVIDERS): the first that is set; nil when none is.
function adapters.variable(provider)
  for _, name in ipairs(provider.env) do
    if adapters.is_set(name) then return name end
  end
end

-- The options that the settings give for a provider.
local function settings_of(name) return settings.get().providers[name] or {} end

--- The command that the settings have for the key of a provider (an entry of PROVIDERS): an array; nil for none.
function adapters.key_command(provider)
  local key = settings_of(provider.name).key
  return key and key.command
end

--- Whether there are credentials for a provider (an entry of PROVIDERS): true or false; never starts a login, or the
-- command of a key. A server that needs none has some where a key is set for it.
function adapters.has_credentials(provider)
  if adapters.variable(provider) or adapters.key_command(provider) then return true end
  if provider.key_optional then return false end
  local adapter = koine.try(koine.adapter, provider.name, { model = "any" })
  return adapter and adapter:authenticated() or false
end

-- Whether a user who names no provider means this one: credentials that are for more than this (those of a cloud) do
-- not say so.
local function is_meant(provider)
  if provider.embeds_only then return false end
  return adapters.variable(provider) ~= nil or adapters.key_command(provider) ~= nil
    or provider.login and adapters.has_credentials(provider)
end

--- Whether a provider (an entry of PROVIDERS) is a server on this machine that needs no key.
function adapters.is_local(provider) return provider.key_optional and provider.base_url ~= nil end

-- The model of a provider that was named alone: the only one that it offers. Fails when there are more.
local function only_model(args, name)
  local list, err = adapters.adapter_of(args, name .. "/any"):list_models()
  if not list then error(err, 0) end
  local ids = {}
  for i, model in ipairs(list) do ids[i] = model.id end
  if #ids == 1 then return ids[1] end
  local some = table.concat(ids, ", ", 1, math.min(#ids, 10)) .. (#ids > 10 and ", …" or "")
  failure.fail(failure.WRONG_USE, "a model is required (-m %s/MODEL)%s", name,
    #ids > 0 and "; there are " .. some or "")
end

-- Fails for a word that is neither an alias nor a provider, but near to an alias.
local function refuse_misspelt(name)
  local aliases = {}
  for alias in pairs(settings.get().aliases) do aliases[#aliases + 1] = alias end
  table.sort(aliases)
  local near = nearest(name, aliases)
  if not near then return end
  failure.fail(failure.WRONG_USE, "%s: unknown model; did you mean %q? (`koine config` lists the aliases)", name, near)
end

--- What a name stands for: the model of an alias of the settings, else the name itself.
function adapters.resolve(name) return settings.get().aliases[name] or name end

--- "provider/model" for what was named, an alias perhaps: a provider alone has its default model or its only one, which
-- a line names. Fails when that leaves a choice.
function adapters.whole_name(args, name)
  name = adapters.resolve(name)
  local alone = name:match "^([^/]+)/?$"
  for _, provider in ipairs(adapters.PROVIDERS) do
    if provider.name == alone then
      local whole = alone .. "/" .. (provider.default_model or only_model(args, alone))
      terminal.say("%s", whole)
      return whole
    end
  end
  if alone then refuse_misspelt(alone) end
  return name
end

--- Returns the model's name: -m, KOINE_MODEL, that of the settings, or the default model of the first provider with a
-- key or a login. Fails when there is none.
function adapters.named(args)
  local named = args.model or adapters.is_set "KOINE_MODEL" and os.getenv "KOINE_MODEL" or settings.get().model
  if named then return adapters.resolve(named) end
  for _, provider in ipairs(adapters.PROVIDERS) do
    if is_meant(provider) then
      local name, model = provider.name, provider.default_model
      if not model then failure.fail(failure.WRONG_USE, "a model is required (-m %s/MODEL or KOINE_MODEL)", name) end
      terminal.say("%s/%s (-m or KOINE_MODEL chooses another)", name, model)
      return name .. "/" .. model
    end
  end
  local first, second = adapters.PROVIDERS[1], adapters.PROVIDERS[2]
  failure.fail(failure.NO_CREDENTIALS, "no key is set (%s, %s, …: `koine doctor` names them all)", first.env[1],
    second.env[1])
end

--- "provider/model" of what was named.
function adapters.model_of(args) return adapters.whole_name(args, adapters.named(args)) end

-- Words an option's error as the command line does, where a flag stands for it. An address is not shown.
local function by_flag(err, flags)
  local name = err.expected and err.field:match "^[^.]*"
  local option = flags[name] or name == "base_url" and { flag = "--base-url" }
  if not (option and option.flag) then return err end
  local expected = err.expected:gsub(", or a table.*", ""):gsub("{.*", "a number of tokens or off"):gsub('"', "")
  local got = name ~= "base_url" and (", got %q"):format(option.word) or ""
  err.message = ("%s: %s expected%s"):format(option.flag, expected, got)
  return err
end

-- What the word of an -o may mean, beside its first reading which the option's own check refused: JSON, the word as it
-- is, an array of it.
local function readings(word)
  local list = { word, koine.array { word } }
  local decoded = word:find "^[%[{]" and json.decode(word)
  if decoded then table.insert(list, 1, word:find "^%[" and koine.array(decoded) or decoded) end
  return list
end

-- Makes the adapter, with the word of each -o read as its option wants it: the adapter, or nil, err. Changes `given`.
local function make(name, given, flags)
  local left, first = {}, {} -- option → readings not tried yet; the error of the first one
  local adapter, err = koine.try(koine.adapter, name, given)
  while not adapter do
    local option = (err.field or ""):match "^[^.[]*"
    local how = flags[option]
    if not how or how.flag then return nil, err end
    left[option], first[option] = left[option] or readings(how.word), first[option] or err
    given[option] = table.remove(left[option], 1)
    if given[option] == nil then return nil, first[option] end
    adapter, err = koine.try(koine.adapter, name, given)
  end
  return adapter
end

-- Provider → its key, once its command has run.
local keys = {}

-- Adds the options that the settings give for the provider of "provider/model": their names, as keys. The command of
-- the key runs when the provider is asked, where no variable and no option gives one.
local function from_settings(name, given)
  local provider_name = name:match "^[^/]*"
  local options = settings_of(provider_name)
  local taken = {}
  for option, value in pairs(options) do
    if option ~= "key" and given[option] == nil then given[option], taken[option] = value, true end
  end
  if not options.key or given.key ~= nil then return taken end
  for _, provider in ipairs(adapters.PROVIDERS) do
    if provider.name == provider_name and adapters.variable(provider) then return taken end
  end
  function given.key()
    keys[provider_name] = keys[provider_name] or key_of(options.key.command, provider_name)
    return keys[provider_name]
  end
  return taken
end

-- The URL of the conversation that is continued, for the provider that it was with. nil: the settings, or the
-- provider, have the address. Fails as wrong use where the settings have another one: what was said to one server goes
-- to no other without the user's word.
local function continued_url(args, provider)
  local before = args.continued
  if not (before and before.base_url and before.provider == provider) then return nil end
  local now = settings_of(provider).base_url
  if type(now) == "string" then
    if paths.public_url(now) == before.base_url then return nil end
    failure.fail(failure.WRONG_USE, "the conversation was at %s, and %s has another base_url: --base-url says which",
      before.base_url, settings.path())
  end
  if not before.said then terminal.say("at %s, as before (--base-url gives another)", before.base_url) end
  before.said = true
  return before.base_url
end

-- Adds to the error for a provider that is not known where all are listed.
local function say_known(err, provider)
  for _, known in ipairs(koine.providers()) do
    if known.name == provider then return end
  end
  err.message = err.message .. " (`koine doctor --offline` lists providers)"
end

--- The adapter of "provider/model" with the options of the command line, then of the settings, and the base_url that
-- one of these or a continued conversation gives, without its user and query: nil for none. Raises the ArgumentError,
-- which names the flag at fault.
function adapters.adapter_of(args, name)
  local given, flags = {}, {}
  given.observer = args.keeper and args.keeper.meter.observer
  function given.on_retry(attempt) terminal.progress(attempt.kind .. ": trying again") end
  for _, option in ipairs(args.given) do
    given[option[1]] = option[2]
    if option.word then flags[option[1]] = option end
  end
  if given.base_url == nil then given.base_url = continued_url(args, name:match "^[^/]*") end
  local taken = from_settings(name, given)
  local adapter, err = make(name, given, flags)
  if adapter then return adapter, type(given.base_url) == "string" and paths.public_url(given.base_url) or nil end
  if taken[(err.field or ""):match "^[^.[]*"] then
    failure.fail(failure.WRONG_USE, "%s: providers.%s.%s", settings.path(), name:match "^[^/]*",
      koine.errors.words(err))
  end
  say_known(err, name:match "^[^/]*")
  error(by_flag(err, flags), 0)
end

return adapters
