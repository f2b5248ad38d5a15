-- The core's words against the pages that explain them, and against what the core takes and gives.

local core = require "koine.core"
local koine = require "koine"
local records = require "koine.data.records"
local raised = require "spec.support.raised"
local vocabulary = require "koine.data.vocabulary"

local function page(name)
  local file <close> = assert(io.open("docs/" .. name .. ".md", "rb"))
  return file:read "a"
end

-- The columns of each row of the last table in the section below a heading, without its head.
local function rows(name, heading)
  local text = page(name)
  local first = assert(select(2, text:find("\n## " .. heading .. "\n", 1, true)), heading)
  local section = text:sub(first, (text:find("\n## ", first, true)))
  local list = {}
  for line in section:gmatch "\n(|[^\n]*)|" do
    local columns = {}
    for column in line:gmatch "|([^|]*)" do columns[#columns + 1] = column end
    list[#list + 1] = columns
    if columns[1]:find "^%-+$" then list = {} end
  end
  return list
end

-- The names in backquotes, in their order.
local function names(text)
  local list = {}
  for name in text:gmatch "`([%a_]+)`" do list[#list + 1] = name end
  return list
end

local function set(list)
  local keys = {}
  for _, name in ipairs(list) do keys[name] = true end
  return keys
end

-- A value that fits a field of a block.
local FITS = { arguments = {}, content = "x", provider_data = { provider = "p", model = "m", raw = {} },
  cache_control = { type = "ephemeral" }, citations = { enabled = true }, is_error = true,
  media_type = "image/png", source = "eA==", output = true }

-- A block of this type with these fields.
local function block_of(type, fields)
  local block = { type = type }
  for _, name in ipairs(fields) do block[name] = FITS[name] or "x" end
  return block
end

-- A block that the core has read, where the assistant may say it; else the body of a request that has it. Raises what
-- the core's check does.
local function through(form, block)
  if form.in_assistant then
    return core.response({ model = "m", stop_reason = "end_turn", content = { block } }).content[1]
  end
  local call = { type = "tool_use", id = "x", name = "f", arguments = {} }
  local messages = { { role = "user", content = "a" }, { role = "assistant", content = { call } },
    { role = "user", content = { { type = "tool_result", tool_use_id = "x", content = "y" } } },
    { role = "user", content = { block } } }
  if block.type == "tool_result" then table.remove(messages, 3) end
  return (koine.anthropic { model = "m", key = "k" }:render({ model = "m", messages = messages }, "chat"))
end

local ONLY_NAMED = { provider_data = true } -- the core checks it in blocks of the user, and sends nothing of it

describe("vocabulary.blocks", function()
  it("are those of docs/messages.md, with the same fields and places", function()
    local seen = {}
    for _, row in ipairs(rows("messages", "Blocks")) do
      local type = row[1]:match "`koine%.([%a_]+)`" or row[1]:match "`(opaque)`"
      local form = vocabulary.blocks[type]
      if type then
        seen[#seen + 1] = type
        local required, optional = row[2]:match "^([^;]*);?(.*)$"
        local own = {} -- besides provider_data, which any block may have
        for _, name in ipairs(form.optional) do own[#own + 1] = name ~= "provider_data" and name or nil end
        if type == "opaque" then required, optional = "`provider_data`", "`kind`" end
        assert.are.same(form.required, names(required))
        assert.are.same(own, names(optional))
        if type ~= "opaque" then
          assert.are.equal(form.in_user, row[3]:find("user", 1, true) ~= nil, type)
          assert.are.equal(form.in_assistant, row[3]:find("assistant", 1, true) ~= nil, type)
          assert.are.equal(form.in_result, row[3]:find("tool_result", 1, true) ~= nil, type)
        end
      end
    end
    assert.are.same(vocabulary.block_types, seen)
  end)

  it("have the fields that the core reads, and need those that it needs", function()
    for type, form in pairs(vocabulary.blocks) do
      local whole = block_of(type, form.fields)
      local read = through(form, whole)
      if form.in_assistant then
        for name in pairs(read) do assert.is_not_nil(whole[name], type .. "." .. name) end
        for name, value in pairs(whole) do assert.is_true(records.equal(value, read[name]), type .. "." .. name) end
      else
        for _, name in ipairs(form.optional) do
          local lacking = block_of(type, form.fields)
          lacking[name] = nil
          local fits, without = pcall(through, form, lacking)
          assert.is_true(ONLY_NAMED[name] or not fits or read ~= without, type .. "." .. name)
        end
      end
      for _, name in ipairs(form.required) do
        local lacking = block_of(type, form.required)
        lacking[name] = nil
        local err = raised(through, form, lacking)
        assert.are.equal("ArgumentError", err.class)
        assert.is_truthy(err.field:find("content%[1%]%." .. name .. "$"), type .. ": " .. err.field)
      end
    end
  end)

  it("have constructors with the same fields", function()
    for type, form in pairs(vocabulary.blocks) do
      if type ~= "opaque" then
        local fields = block_of(type, form.fields)
        fields.type = nil
        local made = records[type](fields)
        for _, name in ipairs(form.fields) do assert.is_not_nil(made[name], type .. "." .. name) end
        for _, name in ipairs(form.required) do
          local lacking = block_of(type, form.fields)
          lacking[name] = nil
          assert.are.equal(type .. "." .. name, raised(records[type], lacking).field)
        end
      end
    end
  end)

  it("stand where the core lets them", function()
    for type, form in pairs(vocabulary.blocks) do
      local block = block_of(type, form.fields)
      local function fits(role, content)
        return (pcall(core.check, { model = "m", messages = { { role = role, content = content },
          { role = "user", content = { { type = "tool_result", tool_use_id = "x", content = "x" } } } } }))
      end
      assert.are.equal(form.in_user, fits("user", { block }), type)
      assert.are.equal(form.in_assistant, fits("assistant", { block }), type)
      assert.are.equal(form.in_result, fits("user", { { type = "tool_result", tool_use_id = "x",
        content = { block } } }), type)
    end
  end)
end)

describe("vocabulary.deltas", function()
  it("are those of docs/stream.md, with the same fields", function()
    local seen = {}
    for _, row in ipairs(rows("stream", "Deltas")) do
      for _, name in ipairs(names(row[1])) do
        seen[name] = true
        local known = vocabulary.deltas[name]
        assert.are.same(known and known.fields or vocabulary.output_deltas[name], names(row[2]))
      end
    end
    local all = set(vocabulary.delta_types)
    for name in pairs(vocabulary.output_deltas) do all[name] = true end
    assert.are.same(all, seen)
  end)

  it("are named after their block and their step", function()
    for name, form in pairs(vocabulary.deltas) do
      assert.are.equal(name, form.block .. "_" .. form.step)
      assert.is_not_nil(vocabulary.blocks[form.block])
      assert.is_truthy(form.step == "start" or form.step == "delta" or form.step == "end")
    end
  end)
end)

describe("vocabulary.stops", function()
  it("are those of docs/response.md", function()
    local section, tables = page "response":match "\n## Stop reasons\n(.-)\n## ", 0
    for lines in section:gmatch "\n|%-%-%-[^\n]*(\n|.-)\n\n" do
      local seen = {}
      for stop in lines:gmatch "\n| `([%a_]+)` |" do seen[#seen + 1] = stop ~= "error" and stop or nil end
      assert.are.same(vocabulary.stops, seen)
      tables = tables + 1
    end
    assert.are.equal(2, tables)
  end)

  it("are those that a Response may have", function()
    for _, stop in ipairs(vocabulary.stops) do
      assert.are.equal(stop, core.response { model = "m", stop_reason = stop }.stop_reason)
    end
    local err = raised(core.response, { model = "m", stop_reason = "done" })
    assert.are.equal((table.concat(vocabulary.stops, ", "):gsub(", ([%a_]+)$", " or %1")), err.expected)
  end)
end)

describe("vocabulary.kinds", function()
  it("are those of docs/errors.md, by class", function()
    local seen = {}
    for _, row in ipairs(rows("errors", "Classes and kinds")) do
      local class = row[1]:match "%a+"
      for _, kind in ipairs(names((row[2]:gsub("%b()", "")))) do
        local form = assert(vocabulary.kinds[kind], kind)
        if kind ~= "timeout" or class ~= "ServerError" then assert.are.equal(form.class, class, kind) end
        seen[kind] = true
      end
    end
    assert.are.same(set(vocabulary.kind_names), seen)
  end)

  it("are those that the core's errors have", function()
    for name, form in pairs(vocabulary.kinds) do
      assert.are.equal(form.class, core.error_class(name))
      assert.are.equal(form.retryable, core.error_retryable(name))
    end
  end)
end)
