--- One call: which provider's endpoint, in which way, what happens to it, under which options; and what came of it.

local koine = require "koine"

local answers = require "spec.chaos.answers"
local faults = require "spec.chaos.faults"

local calls = {}

local ENDPOINTS = {
  { name = "anthropic", wire = "anthropic", path = "/v1/messages", new = koine.anthropic, model = "claude-sonnet-4-5" },
  { name = "openai chat", wire = "chat", path = "/chat/completions", new = koine.openai, model = "gpt-4.1",
    options = { api = "chat" } },
  { name = "openai responses", path = "/responses", new = koine.openai, model = "gpt-4.1",
    options = { api = "responses" } },
  { name = "compatible", wire = "chat", path = "/chat/completions", new = koine.compatible, model = "m" },
  { name = "deepseek", wire = "chat", path = "/chat/completions", new = koine.deepseek, model = "deepseek-chat" },
}

-- The caller's ways with a stream: {streamed = whether the provider is asked for one}.
local WAYS = {
  { name = "chat" },
  { name = "chat, streamed", streamed = true },
  { name = "next", streamed = true },
  { name = "for", streamed = true },
  { name = "leave", streamed = true, short = true },   -- the stream after a few deltas, which is an outcome of its own
  { name = "cancel", short = true },                   -- by a timeout of the caller's
}

local WAIT_MAX, HASTE = 60, 0.8 -- seconds, of timeouts that must not be reached, and of those that must
local SLACK = 30 -- seconds beyond them that only a hang explains

-- The options of a call.
local function options_of(die, fault)
  local seconds = fault.hangs and HASTE or WAIT_MAX
  local retry = die:pick { false, { max = 1, max_delay = 1 }, { max = 2, max_delay = 1 } }
  local options = { max_tokens = 1000, retry = retry,
    timeout = die:pick { { connect = WAIT_MAX, first_byte = WAIT_MAX, idle = WAIT_MAX, total = seconds },
      { connect = seconds, first_byte = seconds, idle = seconds, total = seconds } } }
  for name, value in pairs(fault.options or {}) do options[name] = value end
  return options, seconds
end

local function key_of(die)
  local letters = {}
  for i = 1, 30 do letters[i] = die:pick { "k", "Q", "7", "z", "_", "X", "3", "/", "+" } end
  return "sk-chaos-" .. table.concat(letters)
end

--- A call of this number; `where` = {raw, tls, closed = ports, ca = path, loopback = URL}. Fields: endpoint, way,
-- fault, key, text (the right answer), options, seconds (that it may take), adapter, answers (of the loopback provider;
-- may be absent), recovers (true: a further attempt gets the right answer).
function calls.new(die, number, where)
  local fault
  repeat fault = die:pick(faults) until not calls.only or fault.name:find(calls.only, 1, true)
  local call = { number = number, fault = fault, key = key_of(die), text = answers.text(number) }
  repeat call.endpoint = die:pick(ENDPOINTS) until fault.script or call.endpoint.wire
  repeat call.way = die:pick(WAYS) until fault.only ~= "streamed" or call.way.streamed
  call.options, call.seconds = options_of(die, fault)
  local base = fault.url and fault.url(where):format(number)
    or fault.act and ("http://127.0.0.1:%d/%s/%d"):format(where.raw, fault.act, number)
    or ("%s/call%d"):format(where.loopback, number)
  if fault.script then
    call.path = ("/call%d%s"):format(number, call.endpoint.path)
    call.answers = { fault.script(die, number) }
    call.recovers = die:chance(2)
    for i = 2, 3 do call.answers[i] = call.recovers and { content = call.text } or call.answers[1] end
    for i, answer in ipairs(call.answers) do
      local copy = { path = call.path }
      for name, value in pairs(answer) do copy[name] = value end
      call.answers[i] = copy
    end
  end
  local given = { model = call.endpoint.model, base_url = base, key = call.key, ca_file = fault.ca and where.ca or nil }
  for name, value in pairs(call.endpoint.options or {}) do given[name] = value end
  call.adapter = call.endpoint.new(given)
  return call
end

-- Ways ----------------------------------------------------------------------------------------------------------------

local ways = {}

function ways.chat(call) return call.adapter:chat("Hi", call.options) end

ways["chat, streamed"] = function(call)
  call.options.stream = true
  return call.adapter:chat("Hi", call.options)
end

-- Notes the text of a delta.
local function note(call, delta)
  if delta.type == "text_delta" then call.heard = (call.heard or "") .. delta.text end
end

function ways.next(call)
  local stream <close>, err = call.adapter:open("Hi", call.options)
  if not stream then return nil, err end
  while true do
    local delta, failed = stream:next()
    if failed then return nil, failed end
    if not delta then return stream:response() end
    note(call, delta)
  end
end

ways["for"] = function(call)
  local ok, err = pcall(function()
    for delta in call.adapter:stream("Hi", call.options) do note(call, delta) end
  end)
  if not ok then return nil, err end
  call.over = true
end

function ways.leave(call)
  local stream <close>, err = call.adapter:open("Hi", call.options)
  if not stream then return nil, err end
  for _ = 1, 3 do
    local delta, failed = stream:next()
    if failed then return nil, failed end
    if not delta then return stream:response() end
    note(call, delta)
  end
  call.over = true
end

function ways.cancel(call)
  local _, err = koine.timeout(0.02, function()
    call.response, call.err = call.adapter:chat("Hi", call.options)
  end)
  call.over = not call.response and not call.err
  if call.over and not koine.errors.is_error(err) then call.raised = "cancelled without an error" end
  return call.response, call.err
end

--- Makes the call. Its result is in response, err, over (true: the caller left it, or read it to the end), heard
-- (the text of all deltas), raised (what must not be raised), hung (true: it was not over long after its time).
function calls.play(call)
  local _, late = koine.timeout(call.seconds + SLACK, function()
    local ok, response, err = pcall(ways[call.way.name], call)
    if ok then call.response, call.err = response, err else call.raised = response end
    call.ended = true
  end)
  call.hung = late ~= nil and not call.ended
  call.adapter:close()
end

return calls
