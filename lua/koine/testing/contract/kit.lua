--- The functions that the contract's items use: playing an answer in either mode, looking at what was sent.

local core = require "koine.core"
local errors = require "koine.data.errors"
local records = require "koine.data.records"

local kit = {}
local metatable = { __index = kit, __name = "koine.testing.contract" }

local MODES = { { name = "plain", streamed = false }, { name = "streamed", streamed = true } }

--- A kit of the spec's hooks: new, script, requests, unreachable, supports, describe, it, assert, teardown.
function kit.make(spec) return setmetatable(spec, metatable) end

--- Registers an item for both modes: test(self) finds `self.streamed` set. Nothing when `wanted` is false.
function kit:item(number, text, wanted, test)
  if not wanted then return end
  for _, mode in ipairs(MODES) do
    local own = setmetatable({ streamed = mode.streamed }, { __index = self })
    self.it(("%d. %s (%s)"):format(number, text, mode.name), function() test(own) end)
  end
end

--- Registers an item that knows no modes.
function kit:single(number, text, wanted, test)
  if not wanted then return end
  self.it(("%d. %s"):format(number, text), function() test(self) end)
end

-- Playing --------------------------------------------------------------------------------------------------------

--- chat in the mode of the item: the Response or nil, then the error or nil, then the deltas (empty when plain).
function kit:ask(adapter, messages, opts)
  local all, deltas = {}, {}
  for name, value in pairs(opts or {}) do all[name] = value end
  if self.streamed then
    all.stream, all.on_delta = true, function(delta) deltas[#deltas + 1] = records.to_table(delta) end
  end
  local response, err = adapter:chat(messages, all)
  return response, err, deltas
end

--- Scripts one answer and asks a new adapter for it: what ask returns. `given` are the constructor's options.
function kit:play(answer, messages, opts, given)
  self.script { answer }
  return self:ask(self.new(given), messages or "Hello?", opts)
end

--- The same for an answer that has to succeed: the Response and the deltas.
function kit:answer(answer, messages, opts, given)
  local response, err, deltas = self:play(answer, messages, opts, given)
  self.assert.is_nil(err, err and tostring(err))
  return response, deltas
end

--- The same for an answer that has to fail: the error.
function kit:failure(answer, messages, opts, given)
  local response, err = self:play(answer, messages, opts, given)
  self.assert.is_nil(response, "response: nil, err expected")
  self.assert.is_true(errors.is_error(err), "one of Koine's errors expected, got " .. tostring(err))
  return err
end

--- The error that f(...) raises, which has to be of the class. How many requests went out meanwhile has to be none.
function kit:raised(class, f, ...)
  local before = self:count()
  local ok, err = pcall(f, ...)
  self.assert.is_false(ok, "nothing was raised, an " .. class .. " was expected")
  self.assert.is_true(errors.is_error(err), tostring(err))
  self.assert.are.equal(class, err.class, tostring(err))
  self.assert.are.equal(before, self:count(), "a request went out before the error")
  return err
end

-- Requests -------------------------------------------------------------------------------------------------------

--- How many requests there were; 0 where they cannot be seen.
function kit:count() return self.requests and #self.requests() or 0 end

--- The body of the last request: as bytes and decoded.
function kit:last_body()
  local list = self.requests()
  local body = list[#list].body
  local decoded, err = core.decode(body)
  self.assert.is_not_nil(decoded, err and tostring(err))
  return body, decoded
end

--- The body that a call sends, as bytes and decoded.
function kit:sent(messages, opts, given)
  self:answer({ content = "ok" }, messages, opts, given)
  return self:last_body()
end

-- Calls visit(leaf, objects around it, innermost last) for every string and number in a JSON value.
local function walk(value, visit, around)
  if type(value) ~= "table" then
    if type(value) == "string" or type(value) == "number" then visit(value, around) end
    return
  end
  around[#around + 1] = value
  for _, member in pairs(value) do walk(member, visit, around) end
  around[#around] = nil
end

--- How many strings of a decoded body contain the text, or how many numbers equal the number.
function kit.found(_, body, wanted)
  local n = 0
  walk(body, function(leaf)
    if leaf == wanted or (type(leaf) == "string" and type(wanted) == "string" and leaf:find(wanted, 1, true)) then
      n = n + 1
    end
  end, {})
  return n
end

--- How many strings of a decoded body are exactly this one.
function kit.exactly(_, body, wanted)
  local n = 0
  walk(body, function(leaf) if leaf == wanted then n = n + 1 end end, {})
  return n
end

--- The role of the message that holds the text, nil when no object around it has one.
function kit.role_of(_, body, wanted)
  local role
  walk(body, function(leaf, around)
    if type(leaf) ~= "string" or not leaf:find(wanted, 1, true) then return end
    for _, object in ipairs(around) do role = role or object.role end
  end, {})
  return role
end

--- Asserts that a decoded body contains each of the texts or numbers.
function kit:carries(body, ...)
  for _, wanted in ipairs { ... } do
    self.assert.is_true(self:found(body, wanted) > 0, ("the request does not carry %q"):format(wanted))
  end
end

--- The tools that the items offer, by name.
function kit.tool(name)
  return { name = name, description = "Adds two numbers.", parameters = { type = "object", required = { "a", "b" },
    properties = { a = { type = "integer" }, b = { type = "integer" } } } }
end

return kit
