-- Adapters in Lua whose functions give something else than they promise.

local custom_adapter = require "koine.call.custom_adapter"

describe("a primitive that breaks its word", function()
  local function nothing() end
  local function answer() return { content = "x", model = "m", stop_reason = "end_turn" } end

  -- An adapter whose primitive returns these values.
  local function opening(...)
    local values = table.pack(...)
    return custom_adapter { name = "Toy", options = { model = "m" },
      open = function() return table.unpack(values, 1, values.n) end }
  end

  -- Returns the error of chat and stream, which is the same.
  local function said(adapter)
    local response, err = adapter:chat "hi"
    assert.is_nil(response)
    assert.are.same({ "Error", "other" }, { err.class, err.kind })
    local ok, raised_err = pcall(function() for _ in adapter:stream "hi" do nothing() end end)
    if not ok then assert.are.equal(err.message, raised_err.message) end
    return err.message, ok
  end

  it("is named where it gives nothing, or no stream", function()
    assert.are.equal("Toy: open gave neither a stream nor an error", (said(opening())))
    assert.are.equal("Toy: open gave no stream (next, response), but \"str\"", (said(opening "str")))
    assert.are.equal("Toy: open gave no stream (next, response), but false", (said(opening(false))))
    assert.are.equal("Toy: open gave no stream (next, response), but a table", (said(opening {})))
    assert.are.equal("Toy: open gave no stream (next, response), but a table", (said(opening { next = nothing })))
  end)

  it("is named with the words of an error that is no table", function()
    assert.are.equal("Toy: open: out of order", (said(opening(nil, "out of order"))))
    local stream = assert(opening({ next = function() return nil, "cut" end, response = answer }):open "hi")
    for _ = 1, 2 do
      local delta, err = stream:next()
      assert.is_nil(delta)
      assert.are.same({ "other", "Toy: next: cut" }, { err.kind, err.message })
      assert.is_true(rawequal(err, select(2, stream:response())))
    end
    assert.are.equal("Toy: response: lost",
      (said(opening { next = nothing, response = function() return nil, "lost" end })))
  end)

  it("is named where next gives no delta; the answer is over and closed", function()
    for given, words in pairs { ["x"] = '"x"', [7] = "7", [{ type = "txt" }] = 'one of type "txt"',
      [{ text = "x" }] = "one of type nothing" } do
      local closed = 0
      local adapter = opening { next = function() return given end, response = answer,
        close = function() closed = closed + 1 end }
      assert.are.same({ "Toy: next gave no delta, but " .. words, false }, { said(adapter) })
      assert.are.equal(2, closed) -- chat's answer, and stream's
    end
  end)

  it("is named where response gives neither a response nor an error", function()
    assert.are.same({ "Toy: response gave neither a response nor an error", true },
      { said(opening { next = nothing, response = nothing }) })
    assert.are.equal('Toy: response gave no response, but "x"',
      (said(opening { next = nothing, response = function() return "x" end })))
  end)

  it("may hand on an answer, its deltas and its Response of another adapter", function()
    local left = { "a", "b" }
    local inner = custom_adapter { name = "Inner", options = { model = "m" }, open = function()
      return { response = function() return { content = "ab", model = "m", stop_reason = "end_turn" } end,
        next = function() return left[1] and { type = "text_delta", text = table.remove(left, 1) } end }
    end }
    local outer = custom_adapter { name = "Outer", options = { model = "m" }, open = function(_, messages, opts)
      opts.model = nil
      return inner:open(messages, opts)
    end }
    assert.are.equal("ab", assert(outer:chat "hi"):text())
  end)
end)
