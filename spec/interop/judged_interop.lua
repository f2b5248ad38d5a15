-- Random schemas, random answers, every wire: what Koine gives as a value, ajv must accept by the caller's schema; what
-- the model wrote that ajv accepts, Koine must give; a stream's last value is the Response's; and nothing raises. The
-- seed is printed; KOINE_SEED sets it, KOINE_CASES their number.

local core = require "koine.core"
local dice = require "spec.chaos.dice"
local koine = require "koine"
local node = require "spec.interop.support.node"
local random = require "spec.interop.support.shapes.random"
local records = require "koine.data.records"
local wires = require "spec.interop.support.shapes.wires"

local SEED = tonumber(os.getenv "KOINE_SEED") or os.time()
local CASES = tonumber(os.getenv "KOINE_CASES") or 2000
local SHOWN = 10 -- failures in a message

-- Whether a text is JSON.
local function is_value(text) return core.decode(text) ~= nil end

describe("random answers of random shapes", function()
  local server, adapters = nil, {}

  setup(function()
    server = assert(koine.testing.start())
    for _, wire in ipairs(wires.NAMES) do adapters[wire] = wires.adapter(wire, server.url) end
  end)
  teardown(function()
    for _, adapter in pairs(adapters) do adapter:close() end
    server:stop()
  end)

  -- The script that plays a text: as text, or as the arguments of the call in which the answer comes.
  local function answer(mode, text, chunk)
    if mode ~= "tool" then return { content = text, chunk = chunk } end
    local arguments = core.decode(text)
    local is_object = type(arguments) == "table" and getmetatable(arguments) ~= core.array_mt
    return { content = { { type = "tool_use", name = "response", arguments = is_object and arguments or {} } },
      chunk = chunk }, is_object and core.encode(arguments) or "{}"
  end

  -- Asks for one answer: the Response, and the last value of its stream.
  local function ask(case, text)
    local adapter, last = adapters[case.wire], nil
    local played, said = answer(case.mode, text, case.chunk)
    assert(server:reset())
    assert(server:script { played })
    local opts = { output = { schema = case.schema, mode = case.asked }, retry = false }
    local response, err
    if case.streamed then
      local stream <close> = assert(adapter:open("Make one.", opts))
      for delta in stream:deltas() do
        if delta.type == "output_delta" then last = delta end
      end
      response, err = stream:response()
    else
      response, err = adapter:chat("Make one.", opts)
    end
    assert(response, err)
    for _, request in ipairs(assert(server:requests())) do
      assert(#request.problems == 0, table.concat(request.problems, "; "))
    end
    return response, last, said or text
  end

  -- One case with what came of it: {number, wire, schema, text, mode, output = JSON text, code, …}.
  local function play(number)
    local die = dice.new(SEED * 100003 + number)
    local case = { number = number, schema = random.schema(die), wire = die:pick(wires.NAMES),
      streamed = die:chance(2), chunk = die:between(1, 9),
      asked = die:pick { "auto", "auto", "auto", "tool", "prompt" } }
    case.text = random.text(die, random.value(die, case.schema))
    local ok, failure = pcall(function()
      local response, last, said = ask(case, case.text)
      if response.output_mode ~= case.mode then -- now known: the answer as it comes there
        case.mode = response.output_mode
        response, last, said = ask(case, case.text)
      end
      if response.output == nil and is_value(said) and case.schema.type ~= "object" then -- the root may be wrapped
        local wrapped, its_last = ask(case, '{"value":' .. said .. "}")
        if wrapped.output ~= nil then response, last = wrapped, its_last end
      end
      case.said, case.code = said, response.output_error and response.output_error.code
      case.message = response.output_error and response.output_error.message
      if response.output ~= nil then case.output = core.encode(response.output) end
      if last and response.output ~= nil then
        assert(records.equal(last.value, response.output), "the stream's last value is another: "
          .. core.encode(last.value))
      end
    end)
    case.failure = not ok and tostring(failure) or nil
    return case
  end

  local function shown(case, what)
    return ("case %d (%s, %s%s): %s\n  schema %s\n  answer %s\n  output %s, %s %s"):format(case.number, case.wire,
      case.mode, case.streamed and ", streamed" or "", what, core.encode(case.schema), case.said or case.text,
      case.output, case.code, case.message)
  end

  it(("are judged as ajv does: %d cases of seed %d"):format(CASES, SEED), function()
    print(("\nseed %d"):format(SEED))
    local cases, asked, of = {}, core.array {}, {}
    local counts = { output = 0, refused = 0, unjudged = 0 }
    for i = 1, CASES do
      local case = play(i)
      cases[i] = case
      if case.failure then goto next end
      counts[case.output and "output" or "refused"] = counts[case.output and "output" or "refused"] + 1
      asked[#asked + 1] = { schema = case.schema, text = case.output or case.said }
      of[#of + 1] = case
      ::next::
    end
    local verdicts, failures = node.run("shapes/ajv.mjs", "shapes", asked), {}
    for i, verdict in ipairs(verdicts) do
      local case = of[i]
      if type(verdict) == "string" and verdict:find "^schema" then
        counts.unjudged = counts.unjudged + 1
      elseif case.output and verdict ~= true then
        failures[#failures + 1] = shown(case, "ajv refuses the value")
      elseif not case.output and verdict == true and case.code ~= nil then
        failures[#failures + 1] = shown(case, "ajv accepts the answer")
      end
    end
    for _, case in ipairs(cases) do
      if case.failure then failures[#failures + 1] = shown(case, case.failure) end
    end
    print(("%d values, %d refused, %d schemas that ajv refuses"):format(counts.output, counts.refused, counts.unjudged))
    assert(#failures == 0, ("%d of %d, seed %d:\n%s"):format(#failures, CASES, SEED,
      table.concat(failures, "\n", 1, math.min(#failures, SHOWN))))
  end)
end)
