-- A conversation of an agent, changed at random: by a seed, so that each is the same each time. Lines are dropped,
-- doubled, exchanged and cut, members get values of wrong types, and what is no message comes in between.

local core = require "koine.core"

local mutator = {}

local function update(fields)
  return '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":' .. fields .. "}}\n"
end

local function answer(result) return '{"jsonrpc":"2.0","id":$ID,"result":' .. result .. "}\n" end

local function ask(id, method, fields)
  return ('{"jsonrpc":"2.0","id":%s,"method":"%s","params":{"sessionId":"s1",%s}}\n'):format(id, method, fields)
end

local MODEL = '{"id":"model","name":"Model","category":"model","type":"select","currentValue":"a",'
  .. '"options":[{"group":"g","options":[{"value":"a","name":"A"},{"value":"b"}]}]}'

-- What it says to each method.
local function conversation()
  return {
    initialize = { answer('{"protocolVersion":1,"agentCapabilities":{"loadSession":true,"sessionCapabilities":'
      .. '{"close":{},"list":{},"resume":{}}},"agentInfo":{"name":"a"},"authMethods":[{"id":"k","name":"K"}]}') },
    ["session/list"] = { answer '{"sessions":[{"sessionId":"s0","cwd":"/","title":"t"}],"nextCursor":null}' },
    ["session/new"] = { update '{"sessionUpdate":"available_commands_update","availableCommands":[{"name":"x"}]}',
      answer('{"sessionId":"s1","modes":{"currentModeId":"m","availableModes":[{"id":"m"}]},"models":{"currentModelId":'
        .. '"b","availableModels":[{"modelId":"b"}]},"configOptions":[' .. MODEL .. "]}") },
    ["session/load"] = { update '{"sessionUpdate":"user_message_chunk","content":{"type":"text","text":"old"}}',
      answer "null" },
    ["session/resume"] = { answer('{"configOptions":[' .. MODEL .. "]}") },
    ["session/set_config_option"] = { answer('{"configOptions":[' .. MODEL .. "]}") },
    ["session/close"] = { answer "null" },
    ["session/prompt"] = {
      update '{"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"hm"}}',
      update '{"sessionUpdate":"agent_message_chunk","messageId":"m","content":{"type":"text","text":"Hello"}}',
      update '{"sessionUpdate":"plan","entries":[{"content":"c","status":"pending"}]}',
      update('{"sessionUpdate":"tool_call","toolCallId":"t","title":"Write","kind":"edit","rawInput":{},'
        .. '"locations":[{"path":"/a","line":3}],"content":[]}'),
      ask(0, "session/request_permission", '"toolCall":{"toolCallId":"t","rawInput":{"n":[1,{"x":null}]}},"options":'
        .. '[{"optionId":"a","name":"A","kind":"allow_once"},{"optionId":"r","kind":"reject_once"}]'),
      ask('"f"', "fs/read_text_file", '"path":"/etc/passwd","line":1,"limit":2'),
      ask(8, "terminal/create", '"command":"true","args":["-c"],"env":[{"name":"A","value":"b"}],'
        .. '"outputByteLimit":9'),
      ask(9, "terminal/output", '"terminalId":"term_1"'),
      ask(10, "terminal/wait_for_exit", '"terminalId":"term_1"'),
      ask(11, "elicitation/create", '"mode":"form","message":"q","requestedSchema":{"type":"object"}'),
      '{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":10}}\n',
      update('{"sessionUpdate":"tool_call_update","toolCallId":"t","status":"completed","content":[{"type":"diff",'
        .. '"path":"/a","oldText":null,"newText":"n"},'
        .. '{"type":"terminal","terminalId":"term_1"}],"rawOutput":{"a":[1]}}'),
      update '{"sessionUpdate":"usage_update","used":1,"size":9,"cost":{"amount":0.5,"currency":"USD"}}',
      update '{"sessionUpdate":"current_mode_update","currentModeId":"n"}',
      update('{"sessionUpdate":"config_option_update","configOptions":[{"id":"z","type":"boolean",'
        .. '"currentValue":true}]}'),
      update '{"sessionUpdate":"session_info_update","title":"T"}',
      answer '{"stopReason":"end_turn","usage":{"inputTokens":3},"_meta":{"quota":{"token_count":{"input_tokens":1}}}}',
    },
  }
end

local function deep(n) return ("["):rep(n) .. ("]"):rep(n) end

local VALUES = { core.null, true, false, 0, -1, 0.5, 1e308, math.maxinteger, "", "x", ("y"):rep(70000), "s1", "t", "\0",
  "../../etc/passwd", "plan", core.array {}, {}, core.array { 1, core.null, {} }, core.decode(deep(60)),
  { sessionUpdate = "plan" } }

local STRAYS = { "Welcome!\n", "\n", "\r\n", "[]\n", "null\n", "{}\n", '"x"\n', '{"id":99,"result":{}}\n',
  '{"id":null,"result":{}}\n', '{"id":"1","result":{}}\n', '{"id":1.5,"result":{}}\n', '{"id":{},"method":"x"}\n',
  '{"id":5,"method":"no/such"}\n', '{"id":5,"method":"session/request_permission"}\n', '{"method":5}\n', "\255\254\n",
  '{"id":5,"method":"session/request_permission","params":[]}\n', '{"method":"session/update"}\n', "\0\0\n",
  '{"id":5,"method":"session/request_permission","params":{"sessionId":"dead"}}\n', deep(100) .. "\n",
  '{"method":"session/update","params":[1]}\n', '{"method":"session/update","params":{"sessionId":"zz"}}\n',
  '{"id":1,"method":"terminal/kill","params":{"sessionId":"s1","terminalId":"term_1"}}\n', deep(5000) .. "\n",
  '{"id":1,"method":"terminal/create"}\n', '{"method":"$/cancel_request","params":{"requestId":{}}}\n',
  update '{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"\255\195"}}' }

-- The members of a value and of what is in it: array of {table, key}, in the same order in every process.
local function members(value, list)
  local keys = {}
  for key in next, value do keys[#keys + 1] = key end
  table.sort(keys)
  for _, key in ipairs(keys) do
    list[#list + 1] = { value, key }
    if type(value[key]) == "table" then members(value[key], list) end
  end
  return list
end

-- A line with a member changed, renamed or left out.
local function changed(line, random)
  local value = core.decode((line:gsub("%$ID", "987654321")))
  if type(value) ~= "table" then return line end
  local list = members(value, {})
  if #list == 0 then return line end
  local at, key = table.unpack(list[random(#list)])
  local member, how = at[key], random(8)
  if how <= 6 or type(key) ~= "string" then
    at[key] = VALUES[random(#VALUES)]
  else
    at[key] = nil
    if how == 7 then at[key .. "_"] = member end
  end
  return (core.encode(value):gsub("987654321", "$ID")) .. "\n"
end

local changes = {}

changes[1] = function(list, i, random) list[i] = changed(list[i], random) end
changes[2] = function(list, i) table.remove(list, i) end
changes[3] = function(list, i) table.insert(list, i, list[i]) end
changes[4] = function(list, i, random)
  local j = random(#list)
  list[i], list[j] = list[j], list[i]
end
changes[5] = function(list, i, random) list[i] = list[i]:sub(1, random(#list[i])) .. (random(2) == 1 and "\n" or "") end
changes[6] = function(list, i, random) table.insert(list, i, STRAYS[random(#STRAYS)]) end

-- What is changed; not session/close, whose answer is awaited for five seconds.
local METHODS = { "initialize", "session/list", "session/new", "session/load", "session/resume",
  "session/set_config_option", "session/prompt", "session/prompt", "session/prompt", "session/prompt" }

--- The conversation of a seed: {method = array of texts}.
function mutator.plan(seed)
  math.randomseed(seed)
  local random, plan = math.random, conversation()
  for _ = 1, random(4) do
    local list = plan[METHODS[random(#METHODS)]]
    local how = random(10)
    if #list > 0 then (changes[how] or changes[1])(list, random(#list), random) end
  end
  return plan
end

--- The plan as Lua source.
function mutator.source(plan)
  local parts = { "return {" }
  for method, list in pairs(plan) do
    parts[#parts + 1] = ("[%q] = {"):format(method)
    for _, text in ipairs(list) do parts[#parts + 1] = ("%q,"):format(text) end
    parts[#parts + 1] = "},"
  end
  parts[#parts + 1] = "}"
  return table.concat(parts, "\n")
end

return mutator
