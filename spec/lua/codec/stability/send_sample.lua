-- Sends the sample on three wires to 127.0.0.1:PORT, every table built anew with its keys put in at random.
-- Usage: lua5.4 spec/lua/codec/stability/send_sample.lua PORT [LOCALE]. Prints the order of a table's keys, then
-- "sent".

local koine = require "koine"
local sample = require "spec.lua.codec.stability.sample"

if arg[2] then assert(os.setlocale(arg[2]), "no such locale") end

local function shuffled(value)
  if type(value) ~= "table" then return value end
  local keys, copy = {}, {}
  for key in next, value do table.insert(keys, math.random(#keys + 1), key) end
  for _, key in ipairs(keys) do copy[key] = shuffled(value[key]) end
  return setmetatable(copy, getmetatable(value))
end

local order = {}
for key in pairs(shuffled(sample.options(true))) do order[#order + 1] = key end
print(table.concat(order, " "))

local base_url = "http://127.0.0.1:" .. arg[1]
local claude = koine.anthropic { model = "claude-sonnet-4-5", key = "test-key", base_url = base_url }
local gpt = koine.openai { model = "gpt-4.1", key = "test-key", base_url = base_url, api = "chat" }
local qwen = koine.ollama { model = "qwen3:4b", key = "test-key", base_url = base_url }
for _, wire in ipairs { { claude, "anthropic", false }, { gpt, "openai", true }, { qwen, "ollama", true } } do
  local adapter, name, chat = table.unpack(wire)
  local history = shuffled(sample.history(name, adapter:model_name()))
  assert(assert(adapter:chat(history, shuffled(sample.options(chat)))):text() == "ok")
end
print "sent"
