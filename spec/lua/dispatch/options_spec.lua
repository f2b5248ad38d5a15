-- The dispatcher's options and how its arguments are checked. The numbers in names only tell the cases apart.

local chat_lab = require "spec.lua.dispatch.kit"
local koine = require "koine"
local raised = require "spec.support.raised"

local thread, message = chat_lab.thread, chat_lab.message

-- Field and message of what f(…) raises, an ArgumentError.
local function refused(f, ...)
  local err = raised.as("ArgumentError", f, ...)
  return err.field, err.message
end

describe("the dispatcher's options", function()
  local target = { run_turn = function() return true end }

  local function new(options)
    options.target = options.target or target
    return koine.dispatcher(options)
  end

  it("32: three modes, whatever their case and their dashes; per-message unless told", function()
    assert.are.equal("per-message", new {}.mode)
    assert.are.equal("per-lane", new { mode = "Per_Lane" }.mode)
    assert.are.equal("per-thread", new { mode = "PER-THREAD" }.mode)
    for _, mode in ipairs { "batched", "", "per thread", 1 } do
      local field, text = refused(new, { mode = mode })
      assert.are.equal("mode", field)
      for _, name in ipairs { "per-message", "per-thread", "per-lane" } do
        assert.is_truthy(text:find(name, 1, true))
      end
    end
  end)

  it("are checked, each by its name", function()
    assert.are.equal("max_buffered_messages", refused(new, { max_buffered_messages = 0 }))
    assert.are.equal("max_buffered_messages", refused(new, { max_buffered_messages = 1.5 }))
    assert.are.equal("max_batch_tokens", refused(new, { max_batch_tokens = "many" }))
    assert.are.equal("layout", refused(new, { layout = "folded" }))
    assert.are.equal("count_envelope", refused(new, { count_envelope = 1 }))
    assert.are.equal("idle_timeout", refused(new, { idle_timeout = -1 }))
    assert.are.equal("now_ms", refused(new, { now_ms = 5 }))
    assert.are.equal("on_done", refused(new, { on_done = true }))
    assert.are.equal("on_don", refused(new, { on_don = print }))
    assert.are.equal("target", refused(koine.dispatcher, {}))
    assert.are.equal("target.run_turn", refused(new, { target = {} }))
    assert.are.equal("target.cancel", refused(new, { target = { run_turn = print, cancel = 1 } }))
    assert.are.equal("options", refused(koine.dispatcher, nil))
    local _, err = koine.try(koine.dispatcher, { store = koine.store.memory {} })
    assert.are.equal("koine.dispatcher.shared", err.expected)
  end)

  it("checks a message before it keeps a part of it", function()
    local d = new { mode = "per-lane" }
    local good = message("alice", "hello")
    local function submit(at, what) return refused(d.submit, d, at, what) end
    assert.are.equal("thread", submit(nil, good))
    assert.are.equal("thread.platform", submit({ thread_id = "T1" }, good))
    assert.are.equal("thread.platform", submit({ platform = "a:b", thread_id = "T1" }, good))
    assert.are.equal("thread.thread_id", submit({ platform = "slack" }, good))
    assert.are.equal("thread.thread_id", submit({ platform = "slack", thread_id = 7 }, good))
    assert.are.equal("message", submit(thread "T1", "hello"))
    assert.are.equal("message.sender", submit(thread "T1", { prompt = "hello" }))
    assert.are.equal("message.prompt", submit(thread "T1", message("alice", 5)))
    local extras = { { type = "text" } }
    assert.are.equal("message.extras[1].text", submit(thread "T1", message("alice", "", { extras = extras })))
    assert.are.equal("message.estimated_tokens", submit(thread "T1", message("alice", "", { estimated_tokens = -1 })))
    assert.are.equal("message.other_bot_present", submit(thread "T1", message("alice", "", { other_bot_present = 1 })))
    assert.are.equal("message.sender", submit(thread "T1", { sender_json = "{}", sender = 5 }))
    assert.are.equal("message.sender_name", submit(thread "T1", message("alice", "", { sender_name = 5 })))
    assert.are.equal("message.sender_id", submit(thread "T1", { sender_json = "{}", prompt = "hello" }))
    assert.is_true(d:submit(thread "T1", { sender_json = "{}", sender_id = "UA", prompt = "hello" }))
    assert.are.equal(1, d:stats().queued)
  end)

  it("names the same one of several faults, always", function()
    local d, bad = new {}, { estimated_tokens = -1, other_bot_present = 1, sender_name = 5 }
    assert.are.equal("message.sender_name", refused(d.submit, d, thread "T1", message("alice", "", bad)))
    bad.sender_name = nil
    assert.are.equal("message.estimated_tokens", refused(d.submit, d, thread "T1", message("alice", "", bad)))
  end)

  it("estimated tokens are kept as an integer", function()
    local lab = chat_lab.new()
    lab:say("T1", "alice", "hello", { estimated_tokens = 5.0 })
    lab:settle()
    lab:finish()
    assert.are.equal("integer", math.type(lab.records[1].tokens_per_event[1]))
  end)

  it("extras are blocks that a user may send, whole: one bad block would lose its whole batch", function()
    local d = new {}
    local function extra(block)
      local extras = { { type = "text", text = "voice" }, block }
      return refused(d.submit, d, thread "T1", message("alice", "hello", { extras = extras }))
    end
    assert.are.equal("message.extras[2].type", extra { type = "texxt" })
    assert.are.equal("message.extras[2].type", extra { type = "tool_result", tool_use_id = "x", content = "y" })
    assert.are.equal("message.extras[2].source", extra { type = "image" })
    assert.are.equal("message.extras[2].media_type", extra { type = "document", source = "aW1n" })
    assert.are.equal("message.extras[2].cache_control", extra { type = "text", text = "x", cache_control = true })
    assert.are.equal("message.extras[2]", extra { type = "text", text = "x", more = print })
    assert.are.equal(0, d:stats().lanes)
    assert.is_true(d:submit(thread "T1", message("alice", "", { extras = {
      { type = "image", source = "https://example.org/x.png" },
      { type = "document", source = "aW1n", media_type = "application/pdf" } } })))
  end)

  it("the time of a sweep is a number", function()
    local d = new {}
    assert.are.equal("now", refused(d.sweep, d, "x"))
    assert.are.equal("now", refused(d.sweep, d, 0 / 0))
  end)
end)
