--- Downloads of models to a server that runs them itself, with their progress.

local core = require "koine.core"
local attempt = require "koine.call.attempt"
local check = require "koine.data.check"
local errors = require "koine.data.errors"
local options = require "koine.call.options"
local stream = require "koine.call.stream"

local OPTIONS = check.options { on_progress = check.func,
  timeout = check.default(check.number(0, 1e9, "number of seconds, at most 1e9, 0 for no limit"), 0) }

local function text(value) return type(value) == "string" and value or nil end
local function bytes(value) return math.type(value) and math.tointeger(value) end

-- Reads a line of progress: {status, digest, total, completed}, and `delta`, the bytes that came since the last line
-- about the same digest. `seen`: digest → bytes.
local function progress_of(line, seen)
  local said = core.decode(line)
  local progress = { status = text(said.status), digest = text(said.digest), total = bytes(said.total),
    completed = bytes(said.completed) }
  if progress.digest and progress.completed then
    progress.delta = progress.completed - (seen[progress.digest] or 0)
    seen[progress.digest] = progress.completed
  end
  return progress
end

--- Has the adapter's server download a model (nil: the adapter's own): true once it is there, or nil, err.
-- opts.on_progress is called with each step; what it raises ends the download and goes on unchanged. opts.timeout:
-- seconds for all of it, 0 (the default) for no limit; of the adapter's timeouts only `total` does not hold. Raises a
-- NotImplementedError where the provider's models cannot be downloaded.
return function(adapter, model, opts)
  local state = core.state(adapter)
  if not state.row.pull then errors.not_implemented(state.row.title, "pull") end
  if model ~= nil then check.name(model, "model") end
  local given = OPTIONS(opts == nil and {} or opts)
  local on_progress = given.on_progress
  local call = attempt.call(adapter, state, options.call({ timeout = given.timeout }, state.settings))
  call.codec, call.request, call.limited = state.row.pull, { model = model or state.model }, true
  call.outgoing = { method = "POST", stream = true, request_messages = 0 }
  attempt.render(call)
  local opened <close>, err = stream.open(call)
  if not opened then return nil, err end
  local seen = {}
  while true do
    local delta
    delta, err = opened:next()
    if err then return nil, err end
    if not delta then return true end
    if delta.text and on_progress then on_progress(progress_of(delta.text, seen)) end
  end
end
