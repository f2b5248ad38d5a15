-- Sends the sample on all wires to 127.0.0.1:PORT, every table built anew with its keys put in at random.
-- Usage: lua5.4 spec/lua/codec/stability/send_sample.lua PORT [LOCALE]. Prints the order of a table's keys, then
-- "sent".

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
for key in pairs(shuffled(sample.options "chat")) do order[#order + 1] = key end
print(table.concat(order, " "))

for _, entry in ipairs(sample.adapters) do
  local adapter = sample.adapter(entry, "http://127.0.0.1:" .. arg[1])
  local history = shuffled(sample.history(entry[1], adapter:model_name()))
  assert(assert(adapter:chat(history, shuffled(sample.options(entry[3])))):text() == "ok")
  assert(assert(adapter:chat("Judge.", shuffled(sample.shaped(entry[3])))):text() == "ok")
end
print "sent"
