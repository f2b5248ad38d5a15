--- Adapters: what a user calls. One kind of object for every provider; all that differs is the row it was made of.
-- Adds the methods that wait or decide to the core's `koine.adapter` userdata (render, start, close are C's). An
-- adapter serves any number of coroutines at once: what belongs to one call lives in its call (attempt).

local core = require "koine.core"
local auth = require "koine.provider.auth"
local errors = require "koine.data.errors"
local options = require "koine.call.options"
local rows = require "koine.provider"

local adapter = {}
local methods = core.adapter_methods

-- Quirks of the row, over them the model's, over them the caller's.
local function quirks_of(row, info, given)
  local quirks = { context_window = info.context }
  for _, layer in ipairs { row.quirks or {}, info.quirks or {}, given or {} } do
    for name, value in pairs(layer) do quirks[name] = value end
  end
  return quirks
end

--- Makes an adapter of a row and a constructor's options (table, see call/options; `model` is required where the row
-- has no default_model).
-- Needs no key and makes no connection. Raises an ArgumentError naming the option that is missing, unknown or bad.
function adapter.new(row, given)
  if type(given) ~= "table" then require("koine.data.check").refuse("options", "table", given) end
  local wanted = given.model
  if wanted == nil then wanted = row.default_model end
  if type(wanted) ~= "string" or not wanted:find "%S" then
    errors.argument("model", "model id (non-empty string)", wanted)
  end
  row = rows.chosen(row, given)
  local model = rows.model_id(row, wanted)
  local info = rows.model(row, model)
  local settings = options.constructor(given, info, row.options)
  local base_url = settings.base_url or rows.base_url(row, settings)
  if not base_url then errors.argument("base_url", "URL of the server to talk to", nil) end
  local quirks = quirks_of(row, info, settings.quirks)
  local state = { row = row, model = model, info = info, quirks = quirks, settings = settings, base_url = base_url,
    auth = auth.module(row), rate_limiter = settings.rate_limiter, prepared = {}, requests = {} }
  if state.auth and state.auth.setup then state.auth.setup(state) end
  return core.adapter { provider = row.name, title = row.title, codec = row.codec, model = model, quirks = quirks,
    id_header = row.id_header, state = state }
end

--- The adapter of "provider/model", with the options of that provider's constructor (model may come from either).
-- Raises an ArgumentError when there is no such provider, saying which may be meant.
function adapter.by_name(name, given)
  if type(name) ~= "string" or name == "" then errors.argument("name", '"provider/model"', name) end
  if given ~= nil and type(given) ~= "table" then require("koine.data.check").refuse("options", "table", given) end
  local provider, rest = name:match "^([^/]*)/?(.*)$"
  local row, copy = rows.load(provider), {}
  for option, value in pairs(given or {}) do copy[option] = value end
  if rest ~= "" then copy.model = name end
  return adapter.new(row, copy)
end

-- Opens a chat: see start.lua, which is loaded for the first one and takes this function's place.
local open
function open(...)
  open = require("koine.call.adapter.start").open
  return open(...)
end

--- Sends a chat and returns its Stream at once: next(), response(), deltas(), close(), stats().
-- `messages` is a string (one user message) or an array of messages; `opts` is a table of call options (call/options),
-- nil for none.
-- nil, err when it cannot start (an AuthenticationError when there is no key). Raises an ArgumentError for bad messages
-- or options, a NotImplementedError for what this provider cannot carry.
function methods:open(messages, opts)
  local state = core.state(self)
  return open(self, state, messages, options.call(opts, state.settings), true)
end

--- The deltas of an answer for a generic for, which closes the stream however the loop is left. Raises what open
-- returns as an error, and the error of an answer that fails.
function methods:stream(messages, opts)
  core.state(self) -- raises for a call with a dot
  local opened, err = self:open(messages, opts)
  if not opened then error(err, 0) end
  return opened:deltas()
end

--- The text of an answer, piece by piece, for a generic for: `for piece in adapter:text "Hello?" do … end`. Leaving the
-- loop closes the stream, which is the second value. Thinking, calls and refusals are not given; an answer without text
-- gives no piece. Arguments as for open, but for the option `output`. Raises what stream raises.
function methods:text(messages, opts)
  core.state(self)
  local pieces = require "koine.call.pieces"
  pieces.check(opts)
  return pieces.of(self:open(messages, opts))
end

--- Sends a chat and returns its Response, or nil, err. Arguments and raised errors as for open.
-- opts.on_delta (a function of one delta) is called for every delta as it arrives; what it raises ends the answer and
-- goes on unchanged. opts.stream = true asks the provider for a stream without handing out its deltas.
function methods:chat(messages, opts)
  local state = core.state(self)
  local settings = options.call(opts, state.settings)
  local on_delta = settings.stream ~= false and settings.on_delta or nil
  local opened <close>, err = open(self, state, messages, settings, settings.stream or on_delta ~= nil)
  if not opened then return nil, err end
  if on_delta then
    local delta
    repeat
      delta, err = opened:next()
      if err then return nil, err end
      if delta then on_delta(delta) end
    until not delta
  end
  return opened:response()
end

--- Asks for a value of a shape: the value and the Response, or nil, err: an error of the call, or one of kind "output"
-- whose `partial` is the Response and whose `code` is its output_error's. `opts` is a table of call options; `output`
-- is required. Arguments and raised errors as for chat.
function methods:object(messages, opts) return require "koine.call.output.object"(self, messages, opts) end

--- The models that the provider offers: an array of ModelInfo (records.model_info), or nil, err.
-- Raises a NotImplementedError where the provider has no such list.
function methods:list_models() return require("koine.call.models").list(self) end

--- Asks the provider about one model (nil: the adapter's own): a ModelInfo, or nil, err. Raises a NotImplementedError
-- where it cannot be asked about one.
function methods:model_info(model) return require("koine.call.models").info(self, model) end

--- Has the provider download a model (nil: the adapter's own), where it runs models itself: true once it is there, or
-- nil, err. opts.on_progress: a function, called with {status, digest, total, completed, delta} at each step;
-- opts.timeout: seconds for all of it, 0 (the default) for no limit.
-- Raises a NotImplementedError where it does not run models.
function methods:pull(model, opts) return require "koine.call.models.pull"(self, model, opts) end

--- Embeds texts: see call/embed. `inputs` is a string or an array of strings, `opts` a table of options (call/options).
-- A
-- table whose `vectors` are as many as the inputs, in their order; or nil, err.
-- Raises an ArgumentError for bad inputs or options, a NotImplementedError where the provider has no embeddings.
function methods:embed(inputs, opts) return require "koine.call.embed"(self, inputs, opts) end

--- The number of input tokens that the provider counts for these messages: an integer, -1 when it does not count, or
-- nil, err. opts: system, tools, tool_choice, thinking, and the options that concern the request.
function methods:count_tokens(messages, opts)
  local state = core.state(self)
  if not state.row.counts then return -1 end
  local settings = options.call(opts, state.settings)
  messages = require("koine.data.check").messages(messages)
  return require("koine.call.models").count(self,
    require("koine.call.adapter.start").request(state, messages, settings, false), settings)
end

--- The model id that goes to the provider.
function methods:model_name() return core.state(self).model end

--- The provider's name for people, e.g. "Anthropic".
function methods:provider_name() return core.state(self).row.title end

--- The size of the model's context in tokens; nil when unknown.
function methods:max_context_tokens() return core.state(self).quirks.context_window end

--- A quota report (records.usage_report), or nil, err; nil where the provider has no quotas to ask for.
function methods:usage_report()
  local login = core.state(self).auth
  if login and login.usage_report then return login.usage_report(self) end
end

--- Logs in where the provider needs it, else makes sure that there is a key: true, or nil, err. May be called again.
function methods:authenticate() return require("koine.provider.credentials").authenticate(self, core.state(self)) end

--- True when there are credentials that may be presumed valid; no network.
function methods:authenticated() return require("koine.provider.credentials").authenticated(self, core.state(self)) end

--- Forgets the credentials that a login left, in memory and on disk; nil, err when that fails on disk. Keys that the
-- caller gave are left alone.
function methods:logout() return require("koine.provider.credentials").logout(self, core.state(self)) end

return adapter
