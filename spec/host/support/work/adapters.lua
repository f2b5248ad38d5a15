--- Turns of Koine itself, and of what stands on adapters.

local kit = require "work.kit"
local koine = require "koine"

local same, options, TEXT = kit.same, kit.options, kit.TEXT

local turns = {}

-- Koine --------------------------------------------------------------------------------------------------------------

-- Koine itself, which takes the array marks of a lua-cjson that has some.
function turns.koine()
  local encode = require("koine.core").encode
  local function go()
    local mark = {}
    package.loaded.koine, package.loaded.cjson = nil, { array_mt = mark }
    same(type(require "koine"), "table")
    same(encode(setmetatable({}, mark)), "[]")
    return true
  end
  return go, go
end

-- Every module, as a first use of its name loads it.
function turns.loading()
  local function go()
    local n = 0
    for _ in pairs(koine) do n = n + 1 end
    if n < 60 then error("wrong answer: names missing: " .. n) end
    return true
  end
  return go, go
end

-- Adapters -----------------------------------------------------------------------------------------------------------

function turns.conversation()
  local adapter, talk = koine.anthropic(options "text"), nil
  local make = koine.conversation
  local function asked(one)
    local before = #one.history
    local r, err = one:ask "Hi"
    if not r then return nil, err end
    same(r:text(), TEXT)
    same(#one.history, before + 2)
    same(one.history[before + 2].content[1].text, TEXT)
    return true
  end
  local function go()
    talk = make(adapter)
    local ok, err = asked(talk)
    if not ok then return nil, err end
    return asked(make.load(adapter, talk:dump()))
  end
  return go, function()
    if talk then
      same(#talk.history % 2, 0)
      same(asked(talk), true)
    end
    return go()
  end
end

function turns.fallback()
  local adapter = koine.fallback { koine.anthropic(options "so-busy"), koine.compatible(options "text") }
  local function go()
    local r, err = adapter:chat "Hi"
    if not r then return nil, err end
    same(r:text(), TEXT)
    return true
  end
  return go, go
end

function turns.custom_adapter()
  local make = koine.custom_adapter
  local function go()
    local closed = 0
    local shout = make { name = "Shout", options = { model = "shout-1" }, open = function(_, messages, opts)
      local i, text = 0, messages[#messages].content:upper()
      local deltas = { { type = "text_start" }, { type = "text_delta", text = text }, { type = "text_end" } }
      return {
        next = function()
          i = i + 1
          return deltas[i]
        end,
        response = function() return { content = text, model = opts.model, stop_reason = "end_turn" } end,
        close = function() closed = closed + 1 end,
      }
    end }
    local r, err = shout:chat "hello"
    if not r then return nil, err end
    same(r:text(), "HELLO")
    same(closed, 1)
    local said = ""
    for delta in shout:stream "again" do said = said .. (delta.text or "") end
    same(said, "AGAIN")
    same(closed, 2)
    return true
  end
  return go, go
end

function turns.embedding()
  local good, bad = koine.openai(options "vectors"), koine.openai(options "refused")
  local function go()
    for _, as in ipairs { "packed", "table" } do
      local result, err = good:embed({ "one", "two" }, { model = "m", as = as })
      if not result then return nil, err end
      same(#result.vectors, 2)
      same(result.usage.input_tokens, 7)
      local first = koine.vector.unpack(result.vectors[1])
      same(("%.3f %.3f"):format(first[1], first[2]), "0.600 0.800")
    end
    local result, err = bad:embed("one", { model = "m" })
    same(result, nil)
    if err.status_code ~= 400 then return nil, err end
    same(err.raw:find("no such luck", 1, true) ~= nil, true)
    return true
  end
  return go, go
end

-- A value that does not fit at first, in a stream whose elements are taken, and in a plain call.
function turns.output()
  local schema = { type = "object", required = { "list" }, properties = { list = { type = "array",
    items = { type = "integer" } } } }
  local adapter = koine.custom_adapter { name = "Values", options = { model = "m" }, open = function(_, messages)
    local text = #messages > 1 and '{"list":[1,22,333]}' or '{"list":[1,"two"]}'
    local i = -2
    return {
      next = function()
        i = i + 3
        return i <= #text and { type = "text_delta", text = text:sub(i, i + 2) } or nil
      end,
      response = function() return { content = text, model = "m", stop_reason = "end_turn" } end,
    }
  end }
  local function options_of(check)
    return { output = { schema = schema, repair = 1, check = check, mode = "prompt" } }
  end
  local function go()
    local checked, seen = 0, {}
    local opts = options_of(function(value)
      checked = checked + 1
      return #value.list == 3, "three expected"
    end)
    local value, r = adapter:object("Hi", opts)
    if not value then return nil, r end
    same(#value.list, 3)
    same(value.list[3], 333)
    same(checked, 1)
    local stream <close> = adapter:open("Hi", opts)
    for element in stream:elements "/list" do seen[#seen + 1] = element end
    same(table.concat(seen, " "), "1 two 1 22 333")
    same(stream:response().output.list[2], 22)
    same(stream:output().list[3], 333)
    same(checked, 2)
    return true
  end
  return go, go
end

return turns
