-- Item 28 of the contract: adapters whose embed() is wrong on purpose are found out, a right one is not.

local contract = require "koine.testing.contract"
local core = require "koine.core"
local errors = require "koine.data.errors"

local OPTIONS = { as = true, model = true, retry = true }

local function vector_of(text, opts)
  local made = {}
  for i = 1, 8 do made[i] = (text:byte(i) or 0) / 256 end
  return opts.as == "packed" and ("<" .. ("f"):rep(8)):pack(table.unpack(made)) or made
end

-- Refuses texts that are none, and options that there are not.
local function check(inputs, opts)
  for i, text in ipairs(inputs) do
    if type(text) ~= "string" or not text:find "%S" then errors.argument(("inputs[%d]"):format(i), "text", text) end
  end
  for name in pairs(opts) do
    if not OPTIONS[name] then errors.argument(name, "an option of embed", nil) end
  end
end

-- embed() with a defect, by name; nil: none.
local function embedder(defect)
  return function(_, inputs, opts)
    inputs = type(inputs) == "string" and { inputs } or inputs
    if defect ~= "unchecked" then check(inputs, opts) end
    local vectors = {}
    for i, text in ipairs(inputs) do
      vectors[i] = vector_of(tostring(text), defect == "never packed" and {} or opts)
    end
    if defect == "one lost" then table.remove(vectors) end
    if defect == "in another order" then table.sort(vectors, function(a, b) return a[1] < b[1] end) end
    if defect == "all alike" then
      for i = 2, #vectors do vectors[i] = vectors[1] end
    end
    return { vectors = vectors, dimensions = defect == "another width" and 9 or 8, model = "e", usage = {},
      warnings = {} }
  end
end

describe("the contract of embeddings", function()
  -- How many items fail with the defect.
  local function failures(defect)
    local items, failed = {}, 0
    contract.describe("embedding", { describe = function(_, body) body() end, assert = assert,
      it = function(name, test) items[#items + 1] = name:find "^28%." and test or nil end, teardown = function() end,
      script = function() end, new = function() return { embed = embedder(defect) } end, embed = { model = "e" } })
    core.offline(false)
    for _, test in ipairs(items) do failed = failed + (pcall(test) and 0 or 1) end
    return failed, #items
  end

  it("is kept by vectors of the texts", function()
    local failed, all = failures()
    assert.are.equal(0, failed)
    assert.is_true(all >= 5)
  end)

  for _, defect in ipairs { "unchecked", "never packed", "one lost", "in another order", "all alike",
    "another width" } do
    it("finds: " .. defect, function() assert.is_true(failures(defect) > 0) end)
  end
end)
