-- The types for editors against the code: the fields of records, blocks, deltas and Responses; stop reasons, kinds and
-- classes of errors.

local koine = require "koine"
local records = require "koine.data.records"
local typed = require "spec.lua.whole.docs.types.typed"
local vocabulary = require "koine.data.vocabulary"

-- The class of the fields that the constructor of a record takes.
local FIELDS = { text = "TextFields", image = "ImageFields", document = "DocumentFields", tool_use = "ToolUseFields",
  tool_result = "ToolResultFields", thinking = "ThinkingFields", redacted_thinking = "RedactedThinkingFields",
  refusal = "RefusalFields", message = "Message", tool_definition = "ToolDefinitionFields", usage = "UsageFields",
  usage_cost = "UsageCostFields", delta = "DeltaFields", model_info = "ModelInfo", model_pricing = "ModelPricing",
  usage_window = "UsageWindow", usage_amount = "UsageAmount", usage_limit_entry = "UsageLimitEntry",
  usage_report = "UsageReport" }

-- The classes of a union by the word that their field `type` is.
local function union_of(alias)
  local by_type = {}
  for _, class in ipairs(typed.members_of(alias)) do by_type[typed.fields_of(class).type.type:gsub('"', "")] = class end
  return by_type
end

describe("types of records", function()
  it("have the fields of every record, those that are required", function()
    local specs = typed.upvalue(records.show, "specs")
    typed.assert_same(specs, FIELDS, "records")
    for name, spec in pairs(specs) do
      local class, there = "koine." .. FIELDS[name], { type = spec.type and true or nil }
      local fields = typed.fields_of(class)
      for _, field in ipairs(spec) do
        there[field.name] = true
        assert(fields[field.name], ("%s: no type has %s"):format(class, field.name))
        assert.are.equal(field.required ~= true, fields[field.name].optional, class .. "." .. field.name)
      end
      typed.assert_same(there, fields, class)
    end
  end)

  it("have the types of blocks and their fields", function()
    local union = union_of "koine.Block"
    typed.assert_same(vocabulary.blocks, union, "koine.Block")
    for type, block in pairs(vocabulary.blocks) do
      local there = typed.set_of(block.fields)
      there.type = true
      typed.assert_same(there, typed.fields_of(union[type]), union[type])
    end
  end)

  it("have the types of deltas and their fields", function()
    local union, all = union_of "koine.Delta", {}
    for type, delta in pairs(vocabulary.deltas) do all[type] = delta.fields end
    for type, fields in pairs(vocabulary.output_deltas) do all[type] = fields end
    typed.assert_same(all, union, "koine.Delta")
    for type, fields in pairs(all) do
      local there = typed.set_of(fields)
      there.type = true
      typed.assert_same(there, typed.fields_of(union[type]), union[type])
    end
  end)

  it("have the stop reasons, the kinds and the classes of errors", function()
    local stops = typed.set_of(vocabulary.stops)
    stops.error = true
    typed.assert_same(stops, typed.set_of(typed.members_of "koine.StopReason"), "koine.StopReason")
    local kinds, names = typed.set_of(vocabulary.kind_names), typed.set_of(koine.errors.classes)
    typed.assert_same(kinds, typed.set_of(typed.members_of "koine.ErrorKind"), "koine.ErrorKind")
    typed.assert_same(names, typed.set_of(typed.members_of "koine.ErrorClass"), "koine.ErrorClass")
  end)

  it("have the fields of a Response", function()
    local made = koine.response { content = "Hi.", model = "m", stop_reason = "end_turn" }
    local fields = typed.fields_of "koine.Response"
    for name in pairs(made:to_table()) do assert(fields[name], "koine.Response has no type of " .. name) end
    local given = typed.fields_of "koine.ResponseFields"
    for name in pairs(given) do
      assert(fields[name], "koine.Response has no type of " .. name)
      local _, err = koine.try(koine.response, { content = "", model = "m", stop_reason = "end_turn", [name] = print })
      assert(not err or err.field == "response." .. name or err.field == name or err.field:find(name, 1, true),
        ("koine.response takes no %s: %s"):format(name, tostring(err)))
      assert(not tostring(err):find "unknown", ("koine.response takes no %s: %s"):format(name, tostring(err)))
    end
  end)
end)
