-- koine.observe.follow: what was added to a log, however it is written, renamed and cut.

local folder = require "spec.support.folder"
local koine = require "koine"
local raised = require "spec.support.raised"

local function line(n) return ('{"v":1,"type":"chat","phase":"end","id":"%d"}\n'):format(n) end

describe("koine.observe.follow", function()
  local dir, path, log
  before_each(function()
    dir = folder.new()
    path = dir .. "/log"
    log = koine.observe.follow(path)
  end)
  after_each(function()
    log:close()
    folder.remove(dir)
  end)

  local function append(text, to)
    local file <close> = assert(io.open(to or path, "a"))
    assert(file:write(text))
  end
  local function rewrite(text)
    local file <close> = assert(io.open(path, "w"))
    assert(file:write(text))
  end

  -- The ids of the records that are new, and how many lines held none.
  local function new()
    local ids, lost = {}, 0
    repeat
      local records, broken, more = log:read()
      lost = lost + assert(records and broken, broken)
      for _, record in ipairs(records) do ids[#ids + 1] = tonumber(record.id) end
    until not more
    return ids, lost
  end

  it("reads what was added, in whatever pieces, from a file that comes later", function()
    assert.are.same({}, new())
    assert.is_false(log:is_there())
    append ""
    assert.are.same({}, new())
    assert.is_true(log:is_there())
    local text = line(1) .. "no record\n" .. line(2) .. "\n" .. line(3)
    local seen, lost = {}, 0
    for i = 1, #text do
      append(text:sub(i, i))
      local ids, broken = new()
      table.move(ids, 1, #ids, #seen + 1, seen)
      lost = lost + broken
    end
    assert.are.same({ 1, 2, 3 }, seen)
    assert.are.equal(1, lost)
    assert.are.same({}, new())
  end)

  it("reads a renamed file to its end, then the new one", function()
    append(line(1))
    assert.are.same({ 1 }, new())
    append(line(2))
    assert(os.rename(path, path .. ".1"))
    assert.are.same({ 2 }, new())
    append(line(3), path .. ".1")
    append(line(4) .. line(5) .. line(6)) -- longer than what was read
    assert.are.same({ 3, 4, 5, 6 }, new())
    append(line(7))
    assert.are.same({ 7 }, new())
  end)

  it("notices a new file of the same length, a cut one, and one that was empty", function()
    append(line(1))
    assert.are.same({ 1 }, new())
    rewrite(line(2))
    assert.are.same({ 2 }, new())
    rewrite ""
    assert.are.same({}, new())
    assert(os.remove(path))
    append(line(3))
    assert.are.same({ 3 }, new())
    assert(os.remove(path))
    assert.are.same({}, new())
    append(line(4) .. line(5))
    assert.are.same({ 4, 5 }, new())
    append '{"v":1,' -- what its writer never ended
    assert.are.same({}, new())
    rewrite(line(6))
    local ids, broken = new()
    assert.are.same({ 6, 1 }, { ids[1], broken })
  end)

  it("follows a log with rotation, while it is written", function()
    local writer <close> = assert(koine.observe.jsonl(path, { rotate = 500 }))
    local seen = {}
    for n = 1, 200 do
      writer:record { v = 1, type = "chat", phase = "end", id = tostring(n), time = n }
      if n % 3 == 0 then
        local ids = new()
        table.move(ids, 1, #ids, #seen + 1, seen)
      end
    end
    local ids = new()
    table.move(ids, 1, #ids, #seen + 1, seen)
    assert.are.equal(200, #seen)
    for i, n in ipairs(seen) do assert.are.equal(i, n) end
  end)

  it("reads a long log a piece at a time, and drops a line without an end", function()
    local text = {}
    for n = 1, 60000 do text[n] = line(n) end
    append(table.concat(text))
    local records = assert(log:read())
    assert.is_true(#records > 1 and #records < 60000)
    assert.are.equal(60000 - #records, #new())
    local file <close> = assert(io.open(path, "a"))
    assert.is_true(os.execute(("truncate -s +70M '%s'"):format(path)))
    collectgarbage()
    local before = collectgarbage "count"
    assert.are.same({}, new())
    collectgarbage()
    assert.is_true(collectgarbage "count" - before < 16384) -- KiB; none of it is kept
    file:write("\n", line(60001))
    file:close()
    local ids, broken = new()
    assert.are.same({ 60001, 1 }, { ids[1], broken })
  end)

  it("says why a file cannot be read, and refuses wrong use", function()
    local records, err = koine.observe.follow(dir):read()
    assert.is_nil(records)
    assert.is_truthy(tostring(err):find "directory")
    log:close()
    log:close()
    assert.are.equal("log", raised.as("ArgumentError", function() log:read() end).field)
    assert.are.equal("path", raised.as("ArgumentError", koine.observe.follow, 5).field)
  end)
end)
