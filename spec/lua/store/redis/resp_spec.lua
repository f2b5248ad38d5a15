-- RESP2 without a server: every type, wherever the bytes are cut; what is no reply; mutated replies; work.

local core = require "koine.core"
local resp = require "koine.store.redis.resp"

local NIL = core.null

-- All replies in the pieces: an array, and the error that ended it.
local function replies(...)
  local reader, all = resp.reader(), {}
  for _, piece in ipairs { ... } do
    reader:feed(piece)
    while true do
      local reply, err = reader:next()
      if err then return all, err end
      if reply == nil then break end
      all[#all + 1] = reply
    end
  end
  return all
end

-- A reply with its errors as tables of their own.
local function plain(reply)
  if resp.is_error(reply) then return { failed = reply.code, message = reply.message } end
  if type(reply) ~= "table" then return reply end
  local copy = {}
  for i, element in ipairs(reply) do copy[i] = plain(element) end
  return copy
end

local NESTED = ("*1\r\n"):rep(resp.DEPTH_MAX)

local GOOD = {
  { "+OK\r\n", "OK" }, { "+\r\n", "" }, { "+a b:c\r\n", "a b:c" },
  { ":0\r\n", 0 }, { ":-1\r\n", -1 }, { ":+7\r\n", 7 },
  { ":9223372036854775807\r\n", math.maxinteger }, { ":-9223372036854775808\r\n", math.mininteger },
  { ":9007199254740993\r\n", 9007199254740993 },
  { "$0\r\n\r\n", "" }, { "$5\r\nhello\r\n", "hello" }, { "$6\r\n\r\n$-1\n\r\n", "\r\n$-1\n" },
  { "$3\r\n\0\xFF\r\r\n", "\0\xFF\r" },
  { "$-1\r\n", NIL }, { "*-1\r\n", NIL }, { "*0\r\n", {} },
  { "*2\r\n$1\r\na\r\n:1\r\n", { "a", 1 } }, { "*3\r\n$-1\r\n*-1\r\n+x\r\n", { NIL, NIL, "x" } },
  { "*3\r\n*2\r\n:1\r\n*0\r\n$1\r\nb\r\n*1\r\n*1\r\n:2\r\n", { { 1, {} }, "b", { { 2 } } } },
  { "-ERR no\r\n", { failed = "ERR", message = "ERR no" } },
  { "-NOSCRIPT No matching script.\r\n", { failed = "NOSCRIPT", message = "NOSCRIPT No matching script." } },
  { "-lower case\r\n", { failed = "ERR", message = "lower case" } },
  { "*2\r\n-WRONGTYPE x\r\n:1\r\n", { { failed = "WRONGTYPE", message = "WRONGTYPE x" }, 1 } },
  { NESTED .. ":1\r\n", { { { { { { { { 1 } } } } } } } } },
}

local BAD = {
  "x", "\r\n", "\n", "%1\r\n", "_\r\n", "#t\r\n", "(1\r\n", "OK\r\n",
  "+a\n", "+a\rb\r\n", "+\n", "-\n", "+" .. ("x"):rep(resp.LINE_MAX + 1),
  ":\r\n", ":x\r\n", ":1.0\r\n", ":1e3\r\n", ":0x10\r\n", ": 1\r\n", ":1 \r\n", ":--1\r\n", ":9223372036854775808\r\n",
  ":-9223372036854775809\r\n", ":" .. ("1"):rep(30), ":1\n",
  "$\r\n", "$-2\r\n", "$x\r\n", "$1\r\nab\r\n", "$1\r\na\n\n", "$1\r\na\r\r", "$99999999999999999999\r\n",
  "$" .. (resp.BULK_MAX + 1) .. "\r\n", "$1.5\r\n", "*\r\n", "*-2\r\n", "*x\r\n", "*9999999999\r\n",
  "*" .. (resp.ELEMENTS_MAX + 1) .. "\r\n", "*9223372036854775807\r\n", NESTED .. "*1\r\n", "*2\r\n:1\r\n!\r\n",
  "*2\r\n*1048576\r\n", "*1\r\n:9223372036854775808\r\n",
}

describe("replies", function()
  it("are values, of every type", function()
    for _, case in ipairs(GOOD) do
      local all, err = replies(case[1])
      assert.is_nil(err)
      assert.are.equal(1, #all)
      assert.are.same(case[2], plain(all[1]))
      assert.are.equal(math.type(case[2]), math.type(all[1]))
    end
  end)

  it("are the same wherever they are cut", function()
    for _, case in ipairs(GOOD) do
      local bytes = case[1]
      for cut = 1, #bytes - 1 do
        local all, err = replies(bytes:sub(1, cut), bytes:sub(cut + 1))
        assert.is_nil(err)
        assert.are.same({ case[2] }, { plain(all[1]) })
      end
      local pieces = {}
      for byte in bytes:gmatch "." do pieces[#pieces + 1] = byte end
      assert.are.same({ case[2] }, { plain(replies(table.unpack(pieces))[1]) })
    end
  end)

  it("come in order, several in one piece or across pieces", function()
    local bytes, expected = {}, {}
    for i, case in ipairs(GOOD) do bytes[i], expected[i] = case[1], case[2] end
    bytes = table.concat(bytes)
    for size = 1, 64 do
      local pieces = {}
      for at = 1, #bytes, size do pieces[#pieces + 1] = bytes:sub(at, at + size - 1) end
      local all, err = replies(table.unpack(pieces))
      assert.is_nil(err)
      for i, reply in ipairs(all) do all[i] = plain(reply) end
      assert.are.same(expected, all)
    end
  end)

  it("that are none are protocol errors, and stay so", function()
    for _, bytes in ipairs(BAD) do
      for _, pieces in ipairs { { bytes }, { bytes:sub(1, 1), bytes:sub(2) } } do
        local reader = resp.reader()
        local err
        for _, piece in ipairs(pieces) do
          reader:feed(piece)
          local reply
          reply, err = reader:next()
          assert.is_nil(reply, bytes:sub(1, 40))
        end
        assert.is_not_nil(err, bytes:sub(1, 40))
        assert.are.equal("protocol", err.kind)
        reader:feed "+OK\r\n"
        assert.are.same({ nil, err }, { reader:next() })
      end
    end
  end)

  it("need more where they are not whole", function()
    for _, bytes in ipairs { "", "+", "+OK\r", ":1", "$5\r\nhell", "$5\r\nhello\r", "*2\r\n:1\r\n", "*2\r\n$1\r\n",
      "$16777216\r\n" } do
      local all, err = replies(bytes)
      assert.are.same({}, all)
      assert.is_nil(err)
    end
  end)

  it("may have every byte, and as many as a value may have", function()
    local value = ("\0\r\n$\xFF"):rep((16 << 20) // 5) .. "abc"
    local reply = replies("$" .. #value .. "\r\n", value, "\r\n")[1]
    assert.is_true(reply == value)
  end)

  it("are bounded in all", function()
    local reader = resp.reader()
    local piece = "$" .. (16 << 20) .. "\r\n" .. ("x"):rep(16 << 20) .. "\r\n"
    reader:feed "*100\r\n"
    local failed
    for _ = 1, 5 do
      reader:feed(piece)
      failed = select(2, reader:next())
    end
    assert.are.equal("protocol", failed.kind)
    assert.are.equal("redis: a reply exceeds 67108864 bytes", failed.message)
  end)

  -- What any bytes give: replies, nothing, or an error, but nothing raised.
  it("that are mutated raise nothing", function()
    math.randomseed(17)
    local seeds = {}
    for i, case in ipairs(GOOD) do seeds[i] = case[1] end
    local MARKS = { "\r\n", "\n", "\r", "$", "*", ":", "-", "+", "-1", "9223372036854775808", "\0", "", "*1\r\n",
      "$3\r\n" }
    local counts = { reply = 0, err = 0 }
    for _ = 1, 5000 do
      local bytes = seeds[math.random(#seeds)] .. seeds[math.random(#seeds)]
      for _ = 1, math.random(4) do
        local at = math.random(#bytes + 1)
        bytes = bytes:sub(1, at - 1) .. MARKS[math.random(#MARKS)] .. bytes:sub(at + math.random(0, 3))
      end
      local cut = math.random(0, #bytes)
      local whole, err = replies(bytes)
      local split, again = replies(bytes:sub(1, cut), bytes:sub(cut + 1))
      assert.are.equal(#whole, #split)
      for i, reply in ipairs(whole) do assert.are.same(plain(reply), plain(split[i])) end
      assert.are.equal(err and err.message, again and again.message)
      if err then assert.are.equal("protocol", err.kind) end
      counts.reply, counts.err = counts.reply + #whole, counts.err + (err and 1 or 0)
    end
    assert.is_true(counts.reply > 1000 and counts.err > 1000)
  end)

  -- Bytes that were allocated, and instructions, for a reply in pieces.
  local function work(bytes, size)
    local pieces, instructions = {}, 0
    for at = 1, #bytes, size do pieces[#pieces + 1] = bytes:sub(at, at + size - 1) end
    collectgarbage()
    collectgarbage "stop"
    local before = collectgarbage "count"
    debug.sethook(function() instructions = instructions + 1 end, "", 1000)
    local reader, found = resp.reader(), false
    for _, piece in ipairs(pieces) do
      reader:feed(piece)
      found = reader:next() ~= nil
    end
    debug.sethook()
    local allocated = (collectgarbage "count" - before) * 1024
    collectgarbage "restart"
    assert.is_true(found)
    return allocated, instructions
  end

  it("cost no more than their length, in small pieces too", function()
    local function bulk(n) return "$" .. n .. "\r\n" .. ("x"):rep(n) .. "\r\n" end
    local MAKERS = { bulk = bulk, array = function(n) return "*" .. n // 4 .. "\r\n" .. (":1\r\n"):rep(n // 4) end,
      nested = function(n) return "*" .. n // 12 .. "\r\n" .. ("*1\r\n$1\r\nx\r\n"):rep(n // 12) end }
    for name, make in pairs(MAKERS) do
      for _, size in ipairs { 7, 1000, 1 << 20 } do
        local bytes, steps = work(make(1 << 17), size)
        local twice, more = work(make(1 << 18), size)
        assert.is_true(twice < 2.3 * bytes, name .. size)
        assert.is_true(more < 2.3 * steps + 5, name .. size)
      end
    end
    assert.is_true(work(bulk(16 << 20), 4096) < 5 * (16 << 20))
  end)
end)

describe("commands", function()
  it("are arrays of bulk strings", function()
    assert.are.equal("*1\r\n$4\r\nPING\r\n", resp.encode { "PING" })
    assert.are.equal("*3\r\n$3\r\nSET\r\n$0\r\n\r\n$4\r\n\r\n\0\xFF\r\n", resp.encode { "SET", "", "\r\n\0\xFF" })
    assert.are.equal("*2\r\n$19\r\n9223372036854775807\r\n$2\r\n-1\r\n", resp.encode { math.maxinteger, -1 })
  end)
end)
