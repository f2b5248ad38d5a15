--- Helpers of the specs of the option output, on top of the kit of adapters: a schema, an answer that fits, and asking
-- for it.

local adapter_kit = require "spec.lua.call.adapter.kit"
local assert = require "luassert"
local core = require "koine.core"

local output_kit = {}

--- A kit for the tests of one file: that of adapters (claude, gpt, …), and
--   PERSON, ADA       a schema; JSON text that fits it
--   LOOK_UP           a tool
--   ask(adapter, answers, output, opts)  scripts the answers and asks for a PERSON: the Response. `output` and `opts`
--                     (nil: none) are further fields of the option, and further options
--   requests(), body(i)  what was sent; the body of one request, decoded, in which the server found nothing wrong
--   codes(response)   the codes of its warnings
function output_kit.new()
  local kit = adapter_kit.new()
  local start = kit.start

  kit.PERSON = { type = "object", properties = { name = { type = "string" }, age = { type = "integer" } },
    required = { "name", "age" }, additionalProperties = false }
  kit.ADA = '{"name":"Ada","age":36}'
  kit.LOOK_UP = { name = "look_up", description = "d", parameters = { type = "object", properties = {} } }

  function kit.start()
    kit.server = start()
    return kit.server
  end

  function kit.requests() return assert(kit.server:requests()) end

  function kit.body(i)
    local request = kit.requests()[i]
    assert.are.same({}, request.problems)
    return (core.decode(request.body))
  end

  function kit.ask(adapter, answers, output, opts)
    kit.server:script(answers)
    local all = { output = { schema = kit.PERSON, name = "person" } }
    for name, value in pairs(output or {}) do all.output[name] = value end
    for name, value in pairs(opts or {}) do all[name] = value end
    return assert(adapter:chat("Who?", all))
  end

  function kit.codes(response)
    local list = {}
    for _, warning in ipairs(response.warnings) do list[#list + 1] = warning.code end
    return list
  end

  return kit
end

return output_kit
