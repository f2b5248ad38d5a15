--- RESP2, the wire of Redis, without I/O: commands into bytes, bytes into replies, wherever they are cut.
-- A reply is a string (a status or a bulk string), an integer, an array of replies, core.null (a nil of either kind) or
-- an error, which is a value, too: {code = "NOSCRIPT", message = "NOSCRIPT No matching script"}. What a reader holds is
-- no more than the bytes of the reply that is coming; reading takes time that grows with them alone.
-- Source: https://redis.io/docs/latest/develop/reference/protocol-spec/

local core = require "koine.core"
local errors = require "koine.data.errors"

local resp = {}

--- The most bytes of a bulk string: a value, and its key beside it.
resp.BULK_MAX = (16 << 20) + 1024
--- The most bytes of a reply.
resp.REPLY_MAX = 64 << 20
--- The most elements of a reply's arrays, all of them together.
resp.ELEMENTS_MAX = 1 << 20
--- The most levels of arrays.
resp.DEPTH_MAX = 8
--- The most bytes of a status or an error.
resp.LINE_MAX = 64 << 10

local NUMBER_MAX = 22 -- bytes of a line that holds a number: its type, a sign, 19 digits, CR

local error_mt = { __name = "koine.store.redis.error" }

--- Whether a reply is an error.
function resp.is_error(reply) return getmetatable(reply) == error_mt end

--- A command, an array of strings and integers, as bytes.
function resp.encode(command)
  local parts = { "*" .. #command .. "\r\n" }
  for i, part in ipairs(command) do
    local text = tostring(part)
    parts[i + 1] = "$" .. #text .. "\r\n" .. text .. "\r\n"
  end
  return table.concat(parts)
end

local methods = {}
local reader_mt = { __index = methods, __name = "koine.store.redis.reader" }

-- Fails the reader, for good: nil, err.
local function fail(self, message, ...)
  self.failure = errors.new { kind = "protocol", message = "redis: " .. message:format(...) }
  self.parts, self.chunk, self.chunks, self.stack = nil, nil, nil, nil
  return nil, self.failure
end

-- Makes the next chunk the one that is read: true when there is one.
local function advance(self)
  if self.at <= #self.chunk then return true end
  if self.first > self.last then return false end
  self.chunk, self.at = self.chunks[self.first], 1
  self.chunks[self.first] = nil
  self.first = self.first + 1
  return true
end

-- Puts the chunk's bytes up to j behind those that were held.
local function hold(self, j)
  self.parts[#self.parts + 1] = self.chunk:sub(self.at, j)
  self.held, self.read = self.held + j + 1 - self.at, self.read + j + 1 - self.at
  self.at = j + 1
end

-- What was held, as one string.
local function release(self)
  local text = #self.parts == 1 and self.parts[1] or table.concat(self.parts)
  self.parts, self.held = {}, 0
  return text
end

-- The bytes that may follow a type in its line.
local LINE = { ["+"] = resp.LINE_MAX, ["-"] = resp.LINE_MAX, [":"] = NUMBER_MAX, ["$"] = NUMBER_MAX,
  ["*"] = NUMBER_MAX }

-- The next line, without its type and CR LF; nil when its end is not there yet; nil, err.
local function line(self)
  while advance(self) do
    if self.held == 0 then
      self.type = self.chunk:sub(self.at, self.at)
      if not LINE[self.type] then return fail(self, "a reply begins with byte %d", self.type:byte()) end
    end
    local lf = self.chunk:find("\n", self.at, true)
    if self.held + (lf or #self.chunk) - self.at > LINE[self.type] then
      return fail(self, "the line of a reply exceeds %d bytes", LINE[self.type])
    end
    hold(self, lf or #self.chunk)
    if lf then
      local text = release(self)
      if text:find "\r" ~= #text - 1 then return fail(self, "the line of a reply does not end with CR LF") end
      return text:sub(2, -3)
    end
  end
end

-- The bulk string that is coming; nil when its end is not there yet; nil, err.
local function bulk(self)
  local whole = self.bulk + 2
  while advance(self) do
    hold(self, math.min(#self.chunk, self.at + whole - self.held - 1))
    if self.held == whole then
      local text = release(self)
      if text:sub(-2) ~= "\r\n" then return fail(self, "a bulk string does not end with CR LF") end
      self.bulk = nil
      return text:sub(1, -3)
    end
  end
end

-- The number of a line, exactly; nil when it is none, or none of 64 bits.
local function number(text)
  local n = text:find "^[+-]?%d+$" and tonumber(text)
  return math.type(n) == "integer" and n or nil
end

-- By type: function(self, text of the line) → the reply; false where it only begins; nil, err.
local kinds = {
  ["+"] = function(_, text) return text end,
  ["-"] = function(_, text)
    return setmetatable({ code = text:match "^%u[%u%d_]*" or "ERR", message = text }, error_mt)
  end,
  [":"] = function(self, text)
    local n = number(text)
    if not n then return fail(self, "an integer that is none of 64 bits") end
    return n
  end,
  ["$"] = function(self, text)
    local n = number(text)
    if n == -1 then return core.null end
    if not n or n < 0 then return fail(self, "a bulk string without a length") end
    if n > resp.BULK_MAX then return fail(self, "a bulk string of %d bytes exceeds %d", n, resp.BULK_MAX) end
    self.bulk = n
    return false
  end,
  ["*"] = function(self, text)
    local n = number(text)
    if n == -1 then return core.null end
    if not n or n < 0 then return fail(self, "an array without a length") end
    if #self.stack == resp.DEPTH_MAX then return fail(self, "arrays exceed %d levels", resp.DEPTH_MAX) end
    self.elements = self.elements + n
    if n > resp.ELEMENTS_MAX or self.elements > resp.ELEMENTS_MAX then
      return fail(self, "a reply exceeds %d elements", resp.ELEMENTS_MAX)
    end
    if n == 0 then return {} end
    self.stack[#self.stack + 1] = { array = {}, left = n }
    return false
  end,
}

-- Reads a line: the reply that it is; false where the reply only begins; nil when more bytes are needed; nil, err.
local function begin(self)
  local text, err = line(self)
  if not text then return nil, err end
  return kinds[self.type](self, text)
end

-- Puts a reply into the array that waits for it, and that into its own when it is full: the whole reply, or nil.
local function place(self, reply)
  local stack = self.stack
  for level = #stack, 1, -1 do
    local top = stack[level]
    top.array[#top.array + 1] = reply
    top.left = top.left - 1
    if top.left > 0 then return nil end
    stack[level], reply = nil, top.array
  end
  self.read, self.elements = 0, 0
  return reply
end

--- Takes bytes in, for next.
function methods:feed(bytes)
  if self.failure or bytes == "" then return end
  self.last = self.last + 1
  self.chunks[self.last] = bytes
end

--- The next reply; nil when more bytes are needed; nil, err (protocol) when this is no reply, then and from then on.
function methods:next()
  while not self.failure do
    local reply, err
    if self.bulk then reply, err = bulk(self) else reply, err = begin(self) end
    if self.failure then return nil, err end
    if self.read > resp.REPLY_MAX then return fail(self, "a reply exceeds %d bytes", resp.REPLY_MAX) end
    if reply == nil then return nil end
    if reply ~= false then
      reply = place(self, reply)
      if reply ~= nil then return reply end
    end
  end
  return nil, self.failure
end

--- A reader of replies, for one connection.
function resp.reader()
  return setmetatable({ chunk = "", at = 1, chunks = {}, first = 1, last = 0, parts = {}, held = 0, read = 0,
    elements = 0, stack = {} }, reader_mt)
end

return resp
