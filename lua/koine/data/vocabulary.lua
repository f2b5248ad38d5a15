--- The words that histories, answers and errors are made of, as the core lists them. Read only.

local core = require "koine.core"

-- Returns the entries of a list of the core's by name, and the names in their order.
local function by_name(list)
  local map, names = {}, {}
  for i, entry in ipairs(list) do
    map[entry.name], names[i] = entry, entry.name
  end
  return map, names
end

local words = core.vocabulary()
local vocabulary = {}

--- Types of blocks by name: {name, fields = array of the names of its fields besides `type`, required ones first,
-- required = array of those, optional = array of the others, in_user, in_assistant, in_result = boolean: whether it may
-- stand in such a message, in a tool_result}. block_types has the names in order.
vocabulary.blocks, vocabulary.block_types = by_name(words.blocks)
for _, block in ipairs(words.blocks) do
  block.fields = table.move(block.required, 1, #block.required, 1, {})
  table.move(block.optional, 1, #block.optional, #block.fields + 1, block.fields)
end

--- Types of deltas by name: {name, block = the type of the block whose delta it is, step = "start", "delta" or "end",
-- fields = array of the names of its fields besides `type`}. delta_types has the names in order.
vocabulary.deltas, vocabulary.delta_types = by_name(words.deltas)

--- Types of deltas that tell of a value as it grows, where one was asked for (the option output), by name: arrays of
-- their fields besides `type`.
vocabulary.output_deltas = { output_delta = { "value", "path", "complete" }, output_reset = {} }

--- Stop reasons of whole answers, an array; that of a partial one is "error".
vocabulary.stops = words.stops

--- Kinds of errors by name: {name, class (of an error without a status), retryable}. kind_names has the names in order.
vocabulary.kinds, vocabulary.kind_names = by_name(words.kinds)

--- Classes of errors, an array in the order of the documentation.
vocabulary.classes = {}

local listed = { Error = true } -- the last one
for _, kind in ipairs(words.kinds) do
  local class = kind.class
  if not listed[class] then vocabulary.classes[#vocabulary.classes + 1], listed[class] = class, true end
end
vocabulary.classes[#vocabulary.classes + 1] = "Error"

return vocabulary
