--- Text as tools give it to a model: legal UTF-8, capped, and told apart from binary data; lines and their ends.
-- A result is a text and, second, nil or {is_error = true}.

local core = require "koine.core"
local errors = require "koine.data.errors"

local text = {}

local BINARY_LOOK = 8192 -- bytes at the beginning of a file that are searched for a NUL

--- The result of a call that the model got wrong, or that the system refused.
function text.mistake(message) return "Error: " .. message, { is_error = true } end

--- What an error of the file tree becomes: a result for the model, or nil, err (kind "executor") when it is not the
-- path that is to blame.
function text.refused(err)
  if err.code ~= "system" then return text.mistake(err.message) end
  return nil, errors.new { kind = "executor", message = err.message, code = err.code }
end

--- The text with every byte that is no UTF-8 replaced by U+FFFD.
function text.repair(bytes)
  if utf8.len(bytes) then return bytes end
  return core.decode(core.encode(bytes))
end

--- At most so many bytes of a text, not cut inside a UTF-8 sequence, and whether something was left out.
function text.cut(whole, max)
  if #whole <= max then return whole, false end
  while max > 0 and (whole:byte(max + 1) & 0xC0) == 0x80 do max = max - 1 end
  return whole:sub(1, max), true
end

--- True for what no text file holds.
function text.is_binary(bytes) return bytes:sub(1, BINARY_LOOK):find("\0", 1, true) ~= nil end

--- The lines of a text without their "\n" (a "\r" before it stays), and whether the last one had one.
function text.lines(bytes)
  local lines, at = {}, 1
  while at <= #bytes do
    local stop = bytes:find("\n", at, true)
    if not stop then
      lines[#lines + 1] = bytes:sub(at)
      return lines, false
    end
    lines[#lines + 1] = bytes:sub(at, stop - 1)
    at = stop + 1
  end
  return lines, true
end

--- Gives `added` the line ends of `bytes`: "\r\n" when every line of it ends so.
function text.like(bytes, added)
  local _, all = bytes:gsub("\n", "")
  local _, windows = bytes:gsub("\r\n", "")
  if all == 0 or all ~= windows then return added end
  return (added:gsub("\r?\n", "\r\n"))
end

--- How often `part` is in `bytes` without overlap (counted up to two), and where the first one begins.
function text.count(bytes, part)
  local first, last = bytes:find(part, 1, true)
  if not first then return 0 end
  return bytes:find(part, last + 1, true) and 2 or 1, first
end

--- The number of the line that holds the byte at `position`.
function text.line_at(bytes, position)
  local _, n = bytes:sub(1, position - 1):gsub("\n", "")
  return n + 1
end

return text
