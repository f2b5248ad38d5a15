-- core.vectors: answers with vectors in them, read without a tree.

local bodies = require "spec.lua.binding.bodies"
local core = require "koine.core"

local server

local DATA = { paths = { "data[].embedding" } }

-- What core.vectors returns for the text, which is the same for a body with it.
local function read(text, options, more)
  local copy = {}
  for name, value in pairs(options) do copy[name] = value end
  for name, value in pairs(more or {}) do copy[name] = value end
  local results = table.pack(core.vectors(text, copy))
  local body <close> = server.body(text)
  assert.are.same(results, table.pack(core.vectors(body, copy)))
  return table.unpack(results, 1, results.n)
end

describe("core.vectors", function()
  setup(function() server = bodies.start() end)
  teardown(function() server.stop() end)

  it("puts a vector where a path says, and keeps no other members than asked for", function()
    local text = [=[ {"object":"list","data":[{"embedding":[1,-2.5e0],"index":7},{"embedding":"AACAPwAAIMA="}],
      "model":"m\u00e9","usage":{"n":[1,null,true,2.5,99999999999999999999]},"rest":[[1,2]]} ]=]
    local value = read(text, DATA, { keep = { "usage", "model" } })
    assert.are.same({ 1, -2.5 }, value.data[1].embedding)
    assert.are.equal("float", math.type(value.data[1].embedding[1]))
    assert.are.equal(7, value.data[1].index)
    assert.are.same({ 1, -2.5 }, value.data[2].embedding)
    assert.are.equal("mé", value.model)
    assert.are.same({ 1, core.null, true, 2.5, "99999999999999999999" }, { table.unpack(value.usage.n) })
    assert.is_nil(value.object)
    assert.is_nil(value.rest)
  end)

  it("follows paths through arrays, objects and any name", function()
    local both = { paths = { "embeddings[]", "embeddings.*[]" } }
    assert.are.same({ 3 }, read('{"embeddings":[[1],[3]]}', both).embeddings[2])
    assert.are.same({ 3 }, read('{"embeddings":{"float":[[1],[3]],"int8":[[5]]}}', both).embeddings.float[2])
    assert.are.same({ 4 }, read('{"p":[{"e":{"values":[4],"s":{}}}]}', { paths = { "p[].e.values" } }).p[1].e.values)
    assert.are.same({ 4 }, read('{"embedding":[4]}', { paths = { "embedding" } }).embedding)
    assert.are.same({ 4 }, read('{"emb\\u0065dding":[4]}', { paths = { "embedding" } }).embedding)
  end)

  -- 16: packed and table agree within float32
  it("packs, as the table has it", function()
    local text = '{"data":[{"embedding":[0.1,-2,1e-8]}]}'
    local packed = read(text, DATA, { packed = true }).data[1].embedding
    assert.are.equal(string.pack("<fff", 0.1, -2, 1e-8), packed)
  end)

  it("makes the length 1 where it is not, and leaves what is near as it came", function()
    local text = '{"data":[{"embedding":[3,4]},{"embedding":[0.6003,0.8]},{"embedding":[0,0]}]}'
    local value, zeros, was_cut = read(text, DATA, { normalise = true })
    assert.are.same({ 0.6, 0.8 }, value.data[1].embedding)
    assert.are.same({ 0.6003, 0.8 }, value.data[2].embedding)
    assert.are.same({ 0, 0 }, value.data[3].embedding)
    assert.are.equal(1, zeros)
    assert.is_false(was_cut)
    assert.are.same({ 3, 4 }, read(text, DATA).data[1].embedding)
  end)

  it("cuts, and makes the length 1", function()
    local value, _, was_cut = read('{"data":[{"embedding":[3,4,5]},{"embedding":[1]}]}', DATA, { cut = 2 })
    assert.are.same({ 0.6, 0.8 }, value.data[1].embedding)
    assert.are.same({ 1 }, value.data[2].embedding)
    assert.is_true(was_cut)
  end)

  it("reads integers as what they are", function()
    local value = read('{"data":[{"embedding":"fwGA"},{"embedding":[1,-2,0.5]}]}', DATA, { packing = "int8",
      whole = true })
    assert.are.same({ 127, 1, -128 }, value.data[1].embedding)
    assert.are.equal("integer", math.type(value.data[1].embedding[1]))
    assert.are.same({ "integer", "float" }, { math.type(value.data[2].embedding[2]),
      math.type(value.data[2].embedding[3]) })
    assert.are.same({ 127, 1, 128 },
      read('{"data":[{"embedding":"fwGA"}]}', DATA, { packing = "uint8" }).data[1].embedding)
  end)

  it("says what is wrong, and whether the text was cut", function()
    local cases = {
      { '{"data":[{"embedding":[1,null]}]}', "a number expected at byte 25, found null" },
      { '{"data":[{"embedding":null}]}', "an array of numbers or base64 expected" },
      { '{"data":[{"embedding":"AAAA"}]}', "no whole float32" },
      { '{"data":[{"embedding":[NaN]}]}', "JSON" },
      { '{"data":[{"embedding":[1]}]} x', "nothing more" },
      { '{"data":[{"embedding":[1e39]}]}', "beyond 32 bits", { packed = true } },
      { '{"data":[{"embedding":[1,2', "the text ends", nil, "cut" },
      { '{"usage":[1', "the text ends", nil, "cut" },
      { "", "the text ends" },
    }
    for _, case in ipairs(cases) do
      local value, err = read(case[1], DATA, case[3])
      assert.is_nil(value)
      assert.are.equal("protocol", err.kind)
      assert.are.equal(case[4], err.code)
      assert.is_truthy(err.message:find(case[2], 1, true), err.message)
    end
  end)

  it("bounds what stands beside the vectors", function()
    local value, err = read('{"usage":[' .. ("0,"):rep(1000001) .. "0]}", DATA, { keep = { "usage" } })
    assert.is_nil(value)
    assert.are.equal("limit", err.kind)
    value, err = read(('{"usage":' .. ("["):rep(300)), DATA, { keep = { "usage" } })
    assert.is_nil(value)
    assert.are.equal("limit", err.kind)
  end)

  -- 18: an answer of 65 MB; with the collector stopped all that was ever made counts
  it("needs no more memory than 1.3 times its result", function()
    local numbers = {}
    for i = 1, 1536 do numbers[i] = ("%.17f"):format(math.sin(i) / 25) end
    local one = '{"object":"embedding","embedding":[' .. table.concat(numbers, ",") .. '],"index":0}'
    local count = 65000000 // #one + 1
    local text = '{"data":[' .. (one .. ","):rep(count - 1) .. one .. "]}"
    assert.is_true(#text >= 65000000)
    for _, packed in ipairs { true, false } do
      collectgarbage()
      collectgarbage "stop"
      local before = collectgarbage "count"
      local value = core.vectors(text, { paths = DATA.paths, packed = packed, normalise = true })
      local taken = (collectgarbage "count" - before) * 1024
      collectgarbage "restart"
      assert.are.equal(count, #value.data)
      local result = count * 1536 * (packed and 4 or 16)
      assert.is_true(taken <= 1.3 * result, ("%d bytes for a result of %d"):format(taken, result))
    end
  end)
end)
