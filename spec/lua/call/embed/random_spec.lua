-- Answers of embeddings that were changed at random, of every dialect: there are as many vectors as texts, all of one
-- width and of finite numbers, or there is an error of Koine's; nothing else is raised.

local client = require "spec.support.raw_client"
local core = require "koine.core"
local dice = require "spec.chaos.dice"
local embed_kit = require "spec.lua.call.embed.kit"
local errors = require "koine.data.errors"

local ROUNDS = 25 -- of each dialect
local TEXTS = { "one", "two words", "three more words" }

local JUNK = { function() return core.null end, function() return "" end, function() return {} end,
  function() return core.array {} end, function() return -1 end, function() return 1e308 end,
  function() return true end, function() return "AAAA" end, function() return core.array { 1, "1" } end,
  function() return core.array { core.array { 0, 0 } } end, function() return ("A"):rep(1000) end,
  function() return 9007199254740993 end, function() return 0.5 end }

-- Every place in a value: array of {table, key}.
local function places(value, list)
  list = list or {}
  for key, member in pairs(value) do
    list[#list + 1] = { value, key }
    if type(member) == "table" and #list < 400 then places(member, list) end
  end
  table.sort(list, function(a, b) return tostring(a[2]) < tostring(b[2]) end)
  return list
end

local CHANGES = {
  function(die, holder, key) holder[key] = die:pick(JUNK)() end,
  function(_, holder, key)
    if math.type(key) == "integer" then table.remove(holder, key) else holder[key] = nil end
  end,
  function(_, holder, key)
    if math.type(key) == "integer" then table.insert(holder, key, holder[key]) else holder[key .. "x"] = holder[key] end
  end,
  function(die, holder, key)
    local other = die:roll(math.max(1, #holder))
    if math.type(key) == "integer" then holder[key], holder[other] = holder[other], holder[key] end
  end,
}

local TEXT_CHANGES = { function(text) return text end, function(text) return text end, function(text) return text end,
  function(text, die) return text:sub(1, die:roll(#text)) end, function(text) return text .. "}" end,
  function(text) return "\n " .. text end, function(text) return text:gsub("%d%.", "1e400", 1) end,
  function(text) return text:gsub("%d%.", "NaN", 1) end, function() return "" end,
  function() return "<html>no</html>" end, function(text) return text:gsub('"', '"\xFF', 1) end }

-- The body of an answer, changed.
local function changed(die, body)
  local value = core.decode(body)
  for _ = 1, die:pick { 0, 1, 1, 2, 3 } do
    local list = places(value)
    if #list > 0 then
      local place = die:pick(list)
      die:pick(CHANGES)(die, place[1], place[2])
    end
  end
  return (die:pick(TEXT_CHANGES)(core.encode(value), die))
end

describe("embed", function()
  local kit = embed_kit.new()
  setup(kit.start)
  teardown(kit.stop)
  before_each(kit.begin)
  after_each(kit.restore)

  -- What the loopback provider answers to each of the dialect's requests for the texts.
  local function bodies_of(name)
    assert(kit.embed(name, TEXTS))
    local bodies = {}
    for i, request in ipairs(kit.requests()) do
      local headers = request.headers
      headers.host, headers["content-length"], headers["accept-encoding"] = nil, nil, nil
      local answer = client.exchange(kit.server, "POST", request.target, headers, request.body)
      assert.are.equal(200, answer.status, answer.body)
      bodies[i] = answer.body
    end
    return bodies
  end

  local function is_whole(result, as)
    assert.are.equal(#TEXTS, #result.vectors)
    for _, vector in ipairs(result.vectors) do
      local numbers = as == "packed" and core.vector_unpack(vector) or vector
      assert.are.equal(result.dimensions, #numbers)
      for i = 1, #numbers do
        assert.is_true(math.abs(numbers[i]) < math.huge, tostring(numbers[i]))
      end
    end
    assert.are.equal("table", type(result.usage))
    assert.are.equal("table", type(result.warnings))
  end

  local function is_failure(err)
    assert.is_true(errors.is_error(err), tostring(err))
    assert.is_true(#err.message > 0 and #err.message <= 500 and not err.message:find "\n")
    for i, vector in ipairs(err.partial and err.partial.vectors or {}) do
      assert.is_true(i <= #TEXTS and (vector == false or #vector > 0))
    end
  end

  for n, name in ipairs(embed_kit.names) do
    it("gives whole vectors or an error, whatever comes: " .. name, function()
      local bodies = bodies_of(name)
      for round = 1, ROUNDS do
        local die = dice.new(n * 1000 + round)
        local replies, as = {}, die:pick { "table", "packed" }
        for i, body in ipairs(bodies) do replies[i] = changed(die, body) end
        assert(kit.server:reset())
        kit.answer(table.unpack(replies))
        local ok, result, err = pcall(kit.embed, name, TEXTS, { as = as, retry = false,
          normalize = die:chance(2) })
        assert.is_true(ok, ("round %d raised %s: %s"):format(round, tostring(result), replies[1]:sub(1, 300)))
        if result then is_whole(result, as) else is_failure(err) end
      end
    end)
  end
end)
