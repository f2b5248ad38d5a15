--- The beginning of a connection: which era the server is of, and what it says of itself. On a program that does not
-- answer the probe in time, initialize is sent behind it, and both are awaited.

local core = require "koine.core"
local era = require "koine.protocol.mcp.client.era"
local errors = require "koine.data.errors"
local meta = require "koine.protocol.mcp.client.meta"
local scheduler = require "koine.task.scheduler"
local wait = require "koine.task.wait"

local handshake = {}

local NOTHING = setmetatable({}, { __newindex = function() error "read only" end })

local function left_until(latest) return math.max(latest - wait.now(), 0) end

local function table_or(value, other)
  return type(value) == "table" and getmetatable(value) ~= core.array_mt and value or other
end

local function text_or_nil(value) return type(value) == "string" and value or nil end

-- What is known of a server: {era, version, server, capabilities, instructions}.
local function agreed(name, version, said, server)
  return { era = name, version = version, server = table_or(server, nil),
    capabilities = table_or(said.capabilities, nil), instructions = text_or_nil(said.instructions) }
end

-- Asks server/discover: as transport:request.
local function probe(transport, opts, seconds)
  transport:set_version("modern", era.MODERN[1])
  return transport:request("server/discover",
    { _meta = meta.of_request(era.MODERN[1], opts.capabilities) }, { timeout = seconds })
end

local function initialize(transport, opts, seconds)
  transport:set_version("legacy", nil)
  return transport:request("initialize", { protocolVersion = era.LEGACY[1], capabilities = opts.capabilities,
    clientInfo = meta.CLIENT }, { timeout = seconds })
end

-- The session that an answer to initialize begins: what is known of the server, or nil, err.
local function begin_session(transport, opts, result, latest)
  result = table_or(result, NOTHING)
  local version = result.protocolVersion
  if not era.is_legacy(version) then
    return nil, errors.new { kind = "protocol", message = ("the server answered initialize with the version %s; "
      .. "Koine speaks %s"):format(errors.describe(version), table.concat(era.LEGACY, ", ")) }
  end
  transport:set_version("legacy", version)
  opts.on_session()
  local ok, err = transport:notify("notifications/initialized", nil, left_until(latest))
  if not ok then return nil, err end
  return agreed("legacy", version, result, result.serverInfo)
end

local function legacy(transport, opts, latest)
  local result, err = initialize(transport, opts, left_until(latest))
  if result == nil then return nil, err end
  return begin_session(transport, opts, result, latest)
end

-- What is known after the probe said modern.
local function modern(transport, version, result)
  transport:set_version("modern", version)
  result = table_or(result, NOTHING)
  return agreed("modern", version, result, meta.field(result, "serverInfo") or result.serverInfo)
end

-- Starts f(…) as a task; `entry` gets its results as result and err, and `done`; then the token is woken.
local function start(token, f, ...)
  local entry = { done = false }
  entry.task = scheduler.spawn(function(...)
    entry.result, entry.err = f(...)
    entry.done = true
    wait.wake(token)
  end, ...)
  return entry
end

local function await(token, is_done, seconds)
  local deadline = wait.now() + seconds
  while not is_done() do
    local left = deadline - wait.now()
    if left <= 0 then return end
    wait.park(token, left)
  end
end

-- Both requests are on their way: the answer that decides, as {era, version, result} or nil, err. A server that answers
-- initialize is in a session from then on, whatever it says to the probe.
local function settle(token, asked, begun, seconds, grace)
  await(token, function() return begun.done or asked.done and era.of_answer(asked.result, asked.err) == "modern" end,
    seconds)
  if not begun.done then await(token, function() return begun.done end, grace) end
  if begun.result ~= nil then return { era = "legacy", result = begun.result } end
  if not asked.done then await(token, function() return asked.done end, grace) end
  local name, version = "legacy", nil
  if asked.done then name, version = era.of_answer(asked.result, asked.err) end
  if name == "modern" then return { era = name, version = version, result = asked.result } end
  return nil, begun.err or asked.err
end

-- Probes, and sends initialize where no answer comes within probe_timeout.
local function race(transport, opts, latest)
  local token = {}
  local asked = start(token, probe, transport, opts, latest - wait.now())
  await(token, function() return asked.done end, opts.probe_timeout)
  if asked.done then
    local name, version = era.of_answer(asked.result, asked.err)
    if not name then return nil, version end
    return { era = name, version = version, result = asked.result }
  end
  local begun = start(token, initialize, transport, opts, latest - wait.now())
  local answer, err = settle(token, asked, begun, latest - wait.now(), opts.probe_timeout)
  asked.task:dismiss()
  begun.task:dismiss()
  if answer and answer.era == "legacy" then answer.begun = true end
  return answer, err
end

-- The same for a transport where the answer to the probe comes on its own connection.
local function ask(transport, opts, latest)
  local result, err = probe(transport, opts, latest - wait.now())
  local name, version = era.of_answer(result, err)
  if not name then return nil, version end
  return { era = name, version = version, result = result }
end

--- Agrees with the server on an era and a version: {era, version, server (its serverInfo, or nil), capabilities,
-- instructions (or nil)}, or nil, err. `opts`: era ("legacy" or "modern": no probe), capabilities (ours), probe_timeout
-- (seconds), latest (a time of the monotonic clock, at which all ends), on_session (called when a session of the legacy
-- era begins).
function handshake.begin(transport, opts)
  local latest = opts.latest
  if opts.era == "legacy" then return legacy(transport, opts, latest) end
  if opts.era == "modern" then return modern(transport, era.MODERN[1], nil) end
  local answer, err
  if transport.kind == "stdio" then
    answer, err = scheduler.run(race, transport, opts, latest)
  else
    answer, err = ask(transport, opts, latest)
  end
  if not answer then return nil, err end
  if answer.era == "modern" then return modern(transport, answer.version, answer.result) end
  if answer.begun then return begin_session(transport, opts, answer.result, latest) end
  return legacy(transport, opts, latest)
end

return handshake
