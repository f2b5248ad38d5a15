local core = require "koine.core"
local records = require "koine.data.records"

-- The ArgumentError that f(...) raises.
local function argument_error(f, ...)
  local ok, err = pcall(f, ...)
  assert.is_false(ok, "an ArgumentError was expected")
  assert.are.equal("ArgumentError", err.class)
  return err
end

local EPHEMERAL = { { type = "ephemeral" }, { type = "ephemeral", ttl = "5m" }, { type = "ephemeral", ttl = "1h" } }

-- Per record: the required fields with a legal value each.
local REQUIRED = {
  text = { text = "hi" },
  image = { source = "aGk=", media_type = "image/png" },
  document = { source = "aGk=", media_type = "application/pdf" },
  tool_use = { id = "call_1", name = "add", arguments = { a = 2 } },
  tool_result = { tool_use_id = "call_1", content = "5" },
  thinking = { thinking = "hm" },
  redacted_thinking = { data = "EuYB" },
  refusal = { text = "No." },
  message = { role = "user", content = "hi" },
  tool_definition = { name = "add", description = "Adds.", parameters = { type = "object" } },
  usage = { input_tokens = 1, output_tokens = 2 },
  usage_cost = {},
  delta = { type = "text_start" },
  model_info = { id = "m", name = "M", max_context_tokens = 0, supports_vision = false, supports_tool_use = true,
    supports_streaming = true },
  model_pricing = { input_per_mtok = 3, output_per_mtok = 15 },
  usage_window = { id = "5h", label = "Five hours" },
  usage_amount = { unit = "tokens" },
  usage_limit_entry = { id = "anthropic:5h", label = "Session", scope = "account", amount = { unit = "percent" } },
  usage_report = { provider = "anthropic", limits = {} },
}

local BLOCKS = { "text", "image", "document", "tool_use", "tool_result", "thinking", "redacted_thinking", "refusal" }

describe("every record", function()
  for name, fields in pairs(REQUIRED) do
    local make = records[name]

    it(name .. " takes its required fields alone", function()
      local made = make(fields)
      for field, value in pairs(fields) do assert.are.same(value, made[field]) end
      assert.is_false(rawequal(made, fields))
    end)

    it(name .. " prints its name and its fields on one line", function()
      local text = tostring(make(fields))
      assert.is_truthy(text:find("^koine%." .. name .. " {.*}$"), text)
      assert.is_nil(text:find "%c")
      for field in pairs(fields) do
        if name == "delta" or field ~= "type" then assert.is_truthy(text:find(field .. " = ", 1, true), text) end
      end
    end)

    it(name .. " rejects each missing required field", function()
      for field in pairs(fields) do
        if field ~= "media_type" then
          local rest = {}
          for k, v in pairs(fields) do if k ~= field then rest[k] = v end end
          local err = argument_error(make, rest)
          assert.are.equal(name .. "." .. field, err.field)
          assert.is_string(err.expected)
        end
      end
    end)

    it(name .. " rejects an unknown field and anything but a table", function()
      local more = { colour = "red" }
      for k, v in pairs(fields) do more[k] = v end
      local err = argument_error(make, more)
      assert.are.equal(name .. ".colour", err.field)
      assert.is_truthy(tostring(err):find("colour", 1, true))
      assert.are.equal(name, argument_error(make, "text").field)
      assert.are.equal(name, argument_error(make).field)
    end)

    it(name .. " is equal by value, also to a hand-written table", function()
      local made = make(fields)
      local copy = records.to_table(made)
      assert.is_nil(getmetatable(copy))
      assert.is_true(made == copy)
      assert.is_true(copy == made)
      copy.extra = 1
      assert.is_false(made == copy)
    end)

    it(name .. " may be made again from itself", function()
      local made = make(fields)
      assert.is_true(make(made) == made)
    end)
  end

  it("is made by the public module", function()
    local koine = require "koine"
    for name, f in pairs(REQUIRED) do assert.are.equal(getmetatable(records[name](f)), getmetatable(koine[name](f))) end
    assert.are.equal(records.response, koine.response)
  end)

  it("carries its type when it is a block", function()
    for _, name in ipairs(BLOCKS) do
      assert.are.equal(name, records[name](REQUIRED[name]).type)
      local fields = { type = "video" }
      for k, v in pairs(REQUIRED[name]) do fields[k] = v end
      assert.are.equal(name .. ".type", argument_error(records[name], fields).field)
    end
  end)

  it("does not touch the table that it is made from", function()
    local fields = { tool_use_id = "a", content = "x" }
    records.tool_result(fields)
    assert.are.same({ tool_use_id = "a", content = "x" }, fields)
  end)
end)

describe("messages and blocks", function()
  it("refuse a media_type that is no MIME type", function()
    for _, type in ipairs { "png", "image/", "/png", "", "a\nb/c" } do
      for _, name in ipairs { "image", "document" } do
        local given = { source = "AAAA", media_type = type }
        assert.are.equal(name .. ".media_type", argument_error(records[name], given).field)
      end
    end
  end)

  it("take nothing for an array whose keys are not 1..n", function()
    local hello = { type = "text", text = "Hello" }
    for _, content in ipairs { { [2] = hello, [-1] = hello }, { hello, [3] = hello }, { [0] = hello }, { hello, n = 1 },
      { [1.5] = hello } } do
      assert.are.equal("message.content", argument_error(records.message, { role = "user", content = content }).field)
    end
  end)

  it("take a string or an array of blocks as content", function()
    local blocks = { records.text { text = "a" }, { type = "image", source = "https://x.test/a.png" } }
    assert.are.same(blocks, records.message { role = "user", content = blocks }.content)
    assert.are.equal("hi", records.message { role = "assistant", content = "hi" }.content)
  end)

  it("reject other roles and other content", function()
    assert.are.equal("message.role", argument_error(records.message, { role = "system", content = "x" }).field)
    assert.are.equal("message.content", argument_error(records.message, { role = "user", content = 5 }).field)
    assert.are.equal("message.content", argument_error(records.message, { role = "user", content = { a = 1 } }).field)
  end)

  it("name the path of what is wrong inside", function()
    local function content(block) return { role = "user", content = { { type = "text", text = "a" }, block } } end
    assert.are.equal("message.content[2].text", argument_error(records.message, content { type = "text" }).field)
    assert.are.equal("message.content[2].type", argument_error(records.message, content { type = "video" }).field)
    assert.are.equal("message.content[2].type", argument_error(records.message, content {}).field)
    assert.are.equal("message.content[2]", argument_error(records.message, content "text").field)
    local nested = content { type = "tool_result", tool_use_id = "a", content = { { type = "text", text = 1 } } }
    assert.are.equal("message.content[2].content[1].text", argument_error(records.message, nested).field)
  end)

  it("take a tool's name of white space, which a model may have said and a dump may hold", function()
    assert.are.equal(" ", records.tool_use { id = "i", name = " ", arguments = {} }.name)
    assert.are.equal("\t", records.server_tool { type = "\t" }.type)
  end)

  it("accept what a provider sent without a canonical name", function()
    local opaque = { type = "opaque", kind = "server_tool_use", provider_data = { provider = "p", model = "m" } }
    assert.are.same(opaque, records.message { role = "assistant", content = { opaque } }.content[1])
  end)

  it("carry cache_control on text and tool definitions only, absent by default", function()
    local tool = REQUIRED.tool_definition
    assert.is_nil(records.text { text = "a" }.cache_control)
    assert.is_nil(records.tool_definition(tool).cache_control)
    for _, control in ipairs(EPHEMERAL) do
      assert.are.same(control, records.text { text = "a", cache_control = control }.cache_control)
      local cached = records.tool_definition { name = "add", description = "", parameters = {},
        cache_control = control }
      assert.are.same(control, records.to_table(cached).cache_control)
    end
    argument_error(records.text, { text = "a", cache_control = { type = "forever" } })
    argument_error(records.text, { text = "a", cache_control = { type = "ephemeral", ttl = "2h" } })
    argument_error(records.thinking, { thinking = "a", cache_control = EPHEMERAL[1] })
  end)

  it("tool_definition: takes its schema as JSON text, and keeps the order", function()
    local made = records.tool_definition { name = "add", description = "",
      parameters = '{"type":"object","properties":{"b":{},"a":{}}}' }
    assert.are.same({ "b", "a" }, made.parameters.propertyOrdering)
    for _, text in ipairs { "{", "true", "a int" } do
      argument_error(records.tool_definition, { name = "add", description = "", parameters = text })
    end
  end)

  it("tool_result: is_error is false by default and takes true", function()
    assert.is_false(records.tool_result { tool_use_id = "a", content = "x" }.is_error)
    assert.is_true(records.tool_result { tool_use_id = "a", content = "x", is_error = true }.is_error)
    argument_error(records.tool_result, { tool_use_id = "a", content = "x", is_error = "yes" })
  end)

  it("thinking: the signature is absent by default, kept byte for byte, and part of the plain table", function()
    assert.is_nil(records.to_table(records.thinking { thinking = "a" }).signature)
    local signed = records.to_table(records.thinking { thinking = "a", signature = "Eq\0+/=" })
    assert.are.same({ type = "thinking", thinking = "a", signature = "Eq\0+/=" }, signed)
    assert.are.same({ type = "redacted_thinking", data = "EuYB" },
      records.to_table(records.redacted_thinking { data = "EuYB" }))
  end)

  it("image and document: bare base64 needs a media_type, a URL says its own", function()
    for _, name in ipairs { "image", "document" } do
      assert.are.equal(name .. ".media_type", argument_error(records[name], { source = "aGk=" }).field)
      for _, bad in ipairs { "image/png\0x", "image/png\r\nx: y", "\127", "" } do
        local err = argument_error(records[name], { source = "aGk=", media_type = bad })
        assert.are.equal(name .. ".media_type", err.field)
      end
      for _, url in ipairs { "https://x.test/a", "http://x.test/a", "data:image/png;base64,aGk=" } do
        assert.are.equal(url, records[name] { source = url }.source)
      end
    end
  end)

  it("image and document: what no call would send is refused by name", function()
    for name, type in pairs { image = "image/png", document = "application/pdf" } do
      for _, bad in ipairs { "/home/me/picture.png", "no base64!", "two words", "\0aGk=", "aGk=aGk=", "abcde",
        "data:image/png,abc", "data:image/png;base64,!", "data:x" } do
        local err = argument_error(records[name], { source = bad, media_type = type })
        assert.are.equal(name .. ".source", err.field)
        assert.is_truthy(err.expected:find "base64 data", err.expected)
        err = argument_error(records.message, { role = "user", content = { { type = name, source = bad,
          media_type = type } } })
        assert.are.equal("message.content[1].source", err.field)
      end
      for _, good in ipairs { "aGk=", "aGk", "aG\r\nk=\n", "-_==", ("A"):rep(4096), "s3://bucket/key",
        "gs://bucket/a b" } do
        assert.are.equal(good, records[name] { source = good, media_type = type }.source)
      end
    end
    local late = ("A"):rep(4096) .. "!"  -- wires read all of a text, and hand on what is none
    assert.are.equal("document.source",
      argument_error(records.document, { source = late, media_type = "text/plain" }).field)
    assert.are.equal(late, records.document { source = late, media_type = "application/pdf" }.source)
  end)
end)

describe("usage, deltas, models", function()
  it("usage: cache and reasoning counts default to 0, premium_requests and cost are absent", function()
    local usage = records.usage { input_tokens = 10, output_tokens = 20.0 }
    assert.are.equal("integer", math.type(usage.output_tokens))
    assert.are.same({ input_tokens = 10, output_tokens = 20, cache_read_tokens = 0, cache_creation_tokens = 0,
      reasoning_tokens = 0 }, records.to_table(usage))
    argument_error(records.usage, { input_tokens = -1, output_tokens = 0 })
    argument_error(records.usage, { input_tokens = 1.5, output_tokens = 0 })
  end)

  it("usage: takes fractional premium_requests and a cost", function()
    local cost = records.usage_cost { input = 0.5 }
    local usage = records.usage { input_tokens = 1, output_tokens = 1, premium_requests = 2.5, cost = cost }
    assert.are.equal(2.5, usage.premium_requests)
    assert.are.equal(cost, usage.cost)
    assert.are.equal("usage.cost.total",
      argument_error(records.usage, { input_tokens = 1, output_tokens = 1, cost = { total = "1" } }).field)
  end)

  it("usage_cost: 0.0 everywhere unless given", function()
    assert.are.same({ input = 0.0, output = 0.0, cache_read = 0.0, cache_write = 0.0, total = 0.0 },
      records.to_table(records.usage_cost {}))
    assert.are.equal(1.5, records.usage_cost { total = 1.5 }.total)
  end)

  it("delta: every type, unset fields absent", function()
    for _, kind in ipairs { "text", "thinking", "tool_use" } do
      for _, step in ipairs { "start", "delta", "end" } do
        assert.are.same({ type = kind .. "_" .. step }, records.to_table(records.delta { type = kind .. "_" .. step }))
      end
    end
    local start = records.delta { type = "tool_use_start", tool_call_id = "a", tool_name = "add" }
    assert.is_nil(start.text)
    assert.are.equal("add", start.tool_name)
    assert.are.equal("delta.type", argument_error(records.delta, { type = "audio_delta" }).field)
  end)

  it("model_info: multiplier and pricing are absent unless given", function()
    local info = records.model_info(REQUIRED.model_info)
    assert.is_nil(info.premium_request_multiplier)
    assert.is_nil(info.pricing)
    local fields = { premium_request_multiplier = 30.0, pricing = records.model_pricing(REQUIRED.model_pricing) }
    for k, v in pairs(REQUIRED.model_info) do fields[k] = v end
    info = records.model_info(fields)
    assert.are.equal(30.0, info.premium_request_multiplier)
    assert.is_nil(info.pricing.cache_read_per_mtok) -- unknown, not free
    assert.is_nil(info.pricing.cache_write_per_mtok)
  end)
end)

describe("quota reports", function()
  it("take every unit and every status, and nothing else", function()
    for _, unit in ipairs { "percent", "tokens", "requests", "usd", "minutes", "bytes", "unknown" } do
      assert.are.equal(unit, records.usage_amount { unit = unit, used = 1, limit = 4, remaining = 3,
        used_fraction = 0.25, remaining_fraction = 0.75 }.unit)
    end
    for _, status in ipairs { "ok", "warning", "exhausted", "unknown" } do
      local entry = { id = "a", label = "A", scope = { kind = "account" }, amount = { unit = "usd" }, status = status,
        window = { id = "5h", label = "5 h", duration_ms = 18000000, resets_at = 1700000000.5 }, notes = { "n" } }
      assert.are.equal(status, records.usage_limit_entry(entry).status)
    end
    argument_error(records.usage_amount, { unit = "bananas" })
    local entry = { id = "a", label = "A", scope = "s", amount = { unit = "usd" }, status = "fine" }
    assert.are.equal("usage_limit_entry.status", argument_error(records.usage_limit_entry, entry).field)
  end)

  it("have defaults", function()
    local entry = records.usage_limit_entry(REQUIRED.usage_limit_entry)
    assert.are.equal("unknown", entry.status)
    assert.are.same({}, entry.notes)
    assert.is_nil(entry.window)
    local before = core.wall()
    local report = records.usage_report { provider = "p", limits = { entry } }
    assert.is_true(report.fetched_at >= before and report.fetched_at <= core.wall())
    assert.are.same({}, report.metadata)
    assert.is_nil(report.raw)
  end)

  it("never share a default table", function()
    local function entry() return records.usage_limit_entry(REQUIRED.usage_limit_entry) end
    entry().notes[1] = "mine"
    assert.are.same({}, entry().notes)
    local function report() return records.usage_report { provider = "p", limits = {} } end
    report().metadata.mine = true
    assert.are.same({}, report().metadata)
  end)

  it("are equal by value, all the way down", function()
    local function report(unit)
      return records.usage_report { provider = "p", fetched_at = 1, limits = { { id = "a", label = "A", scope = "s",
        amount = { unit = unit } } } }
    end
    assert.is_true(report "usd" == report "usd")
    assert.is_false(report "usd" == report "bytes")
  end)

  it("name the path of a bad member", function()
    local err = argument_error(records.usage_report, { provider = "p", limits = { { id = "a" } } })
    assert.are.equal("usage_report.limits[1].label", err.field)
  end)
end)

describe("responses", function()
  local function response(fields)
    fields.model, fields.stop_reason = fields.model or "m", fields.stop_reason or "end_turn"
    fields.usage = fields.usage or { input_tokens = 1, output_tokens = 2 }
    return records.response(fields)
  end

  it("have content and tool_calls as empty arrays by default", function()
    local r = response {}
    assert.are.same({}, r.content)
    assert.are.same({}, r.tool_calls)
    assert.are.equal("", r:text())
  end)

  it("hold every block in order and the same tool_use tables in tool_calls", function()
    local r = response { stop_reason = "tool_use", content = { { type = "text", text = "a" },
      { type = "tool_use", id = "c1", name = "add", arguments = { a = 2 } }, { type = "text", text = "b" } } }
    assert.are.equal("ab", r:text())
    assert.are.equal(3, #r.content)
    assert.is_true(rawequal(r.content[2], r.tool_calls[1]))
    assert.is_true(rawequal(r.content, r:message().content))
    assert.are.equal("assistant", r:message().role)
  end)
end)

describe("to_table", function()
  it("keeps the mark of arrays and nothing else", function()
    local entry = records.to_table(records.usage_limit_entry(REQUIRED.usage_limit_entry))
    assert.is_nil(getmetatable(entry))
    assert.are.equal(core.array_mt, getmetatable(entry.notes))
    assert.is_truthy(core.encode(entry):find('"notes":[]', 1, true))
  end)

  it("copies deeply and leaves null and plain values alone", function()
    local inner = { 1 }
    local copy = records.to_table { inner = inner, null = core.null }
    assert.are.same(inner, copy.inner)
    assert.is_false(rawequal(inner, copy.inner))
    assert.are.equal(core.null, copy.null)
    assert.are.equal(5, records.to_table(5))
  end)
end)
