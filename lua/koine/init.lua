--- Koine: one API for every LLM provider. `require "koine"` gives constructors of adapters, constructors of the
-- records that go into messages, and the modules around them; each is loaded when it is first used.
--
--   koine.anthropic { model = …, … }, koine.openai, … one per provider, koine.compatible for any server of a known wire
--   koine.adapter("anthropic/claude-sonnet-4-5", opts)   the same by name
--   koine.text, image, document, tool_use, tool_result, thinking, redacted_thinking, refusal, message, tool_definition,
--   server_tool, usage, usage_cost, delta, model_info, … records (data/records)
--   koine.image.file(path), koine.document.file(path)    blocks of files (data/files/block.lua)
--   koine.usage.sum(list)                                what several calls used and cost together (data/usage.lua)
--   koine.response(t)   a real Response from a table, for adapters written in Lua
--   koine.null, koine.array(t)                           JSON's null; marks a table as a JSON array
--   koine.base64(bytes)                                  for the source of images and documents
--   koine.try(f, …)     f's results, or nil and the error where f raises one of Koine's
--   koine.rate_limiter { rate_limit_path = …, … }        for the constructors' option rate_limiter
--   koine.run(f, …), spawn, gather, timeout, sleep       many conversations in one thread (task/scheduler)
--   koine.engine(), koine.pump(seconds), koine.set_host  inside another event loop (task/wait.lua, task/hosts)
--   koine.fallback { a, b }                              an adapter that tries the next one
--   koine.tool {…}, koine.agent {…}                      tools and loops around them
--   koine.executor {…}                                   tools that touch files and run commands
--   koine.dispatcher {…}                                 many people's messages, packed into turns
--   koine.dispatcher.shared { store = …, … }             the same by many processes, on a store
--   koine.park(token, seconds), wake, block              waiting for something of your own (task/wait.lua)
--   koine.custom_adapter {…}                             an adapter of your own
--   koine.testing                                        a provider on the loopback interface, playbook, contract
--   koine.vector                                         lengths and products of vectors, packed or not
--   koine.mcp.connect {…}, koine.mcp.load(path)          tools, resources and prompts of MCP servers
--   koine.store.memory {…}, koine.store.file {…}         state that processes share: values, leases, queues (store)
--   koine.acp.serve {…}                                  an agent in an editor (protocol/acp)
--   koine.observe                                        what begins, happens and ends, in records (observe)
--   koine.errors, files, conversation, pricing, hosts, process, schema, artifacts, session, packing
--                                                        modules
--   koine.providers()   what is known of each provider: name, title, variables of the key, usual model
--   koine.version, koine.libcurl                         versions of Koine and of the libcurl that is running
--
-- pairs(koine) goes over all of these, which loads them. Any other name is nil.

local unfit = require "koine.data.host.interpreter"(_VERSION, rawget(_G, "jit"))
if unfit then error(unfit, 0) end

local core = require "koine.core"
local rows = require "koine.provider"

local koine = { null = core.null, array = core.array, response = core.response, version = require "koine.data.version",
  libcurl = core.libcurl() }

-- Sets the text that print shows for the parts of Responses, and when two costs are equal.
core.block_mt.__tostring = function(block) return require("koine.data.records").show(block) end
core.usage_mt.__tostring = function(usage) return require("koine.data.records").show(usage, "usage") end
core.cost_mt.__tostring = function(cost) return require("koine.data.records").show(cost, "usage_cost") end
core.cost_mt.__eq = function(a, b) return require("koine.data.records").equal(a, b) end

local RECORDS = { "text", "image", "document", "tool_use", "tool_result", "thinking", "redacted_thinking", "refusal",
  "message", "tool_definition", "server_tool", "usage", "usage_cost", "delta", "model_info", "model_pricing",
  "usage_window", "usage_amount", "usage_limit_entry", "usage_report" }
-- Name of a record → what makes the functions beside its constructor.
local BESIDE = {
  image = function() return { file = require("koine.data.files.block").image } end,
  document = function() return { file = require("koine.data.files.block").document } end,
  usage = function() return { sum = require("koine.data.usage").sum } end,
}
-- Public name → the module that it is.
local MODULES = { acp = "protocol.acp", agent = "agent", artifacts = "system.artifacts", base64 = "data.base64",
  conversation = "call.conversation", custom_adapter = "call.custom_adapter", dispatcher = "dispatch",
  errors = "data.errors", executor = "system.executor", fallback = "call.fallback", files = "data.files",
  hosts = "task.hosts", mcp = "protocol.mcp", observe = "observe", packing = "dispatch.packing",
  pricing = "call.pricing", process = "system.process", schema = "data.schema", session = "session",
  store = "store", testing = "testing", tool = "agent.tool", vector = "call.embed.vector" }
local LOOP = { "run", "spawn", "gather", "timeout", "sleep" }
local WAIT = { "set_host", "pump", "engine" }
local WAIT_PUBLIC = { "park", "wake", "block" }

-- name → function that makes the value on first use
local makers = {
  adapter = function() return require("koine.call.adapter").by_name end,
  try = function() return require("koine.data.errors").try end,
  rate_limiter = function() return require("koine.store.rate_limiter").new end,
  providers = function() return require "koine.provider.facts" end,
}

for _, name in ipairs(rows.names) do
  makers[name] = function()
    local new, row = require("koine.call.adapter").new, rows.load(name)
    return function(options) return new(row, options) end
  end
end
for _, name in ipairs(RECORDS) do
  makers[name] = function()
    local record, beside = require("koine.data.records")[name], BESIDE[name]
    return beside and setmetatable(beside(), { __call = function(_, fields) return record(fields) end }) or record
  end
end
for _, name in ipairs(LOOP) do
  makers[name] = function() return require("koine.task.scheduler")[name] end
end
for _, name in ipairs(WAIT) do
  makers[name] = function() return require("koine.task.wait")[name] end
end
for _, name in ipairs(WAIT_PUBLIC) do
  makers[name] = function() return require("koine.task.wait").public[name] end
end
for name, module in pairs(MODULES) do
  makers[name] = function() return require("koine." .. module) end
end

local function index(_, name)
  local make = makers[name]
  if not make then
    require("koine.provider.unknown").check_elsewhere(name)
    return nil
  end
  koine[name] = make()
  return koine[name]
end

-- The value of a name; nil where its module is not there: libkoine.a has no `testing`.
local function value_of(name)
  local ok, value = pcall(index, koine, name)
  if ok then return value end
  if not tostring(value):find("module 'koine%.[%w_.]+' not found") then error(value, 0) end
end

-- All names in order, each with its value.
local function each()
  local names, i = {}, 0
  for name in next, koine do names[#names + 1] = name end
  for name in next, makers do
    if rawget(koine, name) == nil then names[#names + 1] = name end
  end
  table.sort(names, core.before)
  return function()
    local name, value
    repeat
      i = i + 1
      name = names[i]
      value = name and rawget(koine, name)
      if name and value == nil then value = value_of(name) end
    until not name or value ~= nil
    return name, value
  end
end

return setmetatable(koine, { __index = index, __pairs = each })
