--- Text as tools give it to a model: legal UTF-8, capped, and told apart from binary data; lines and their ends.
-- A result is a text and, second, nil or {is_error = true}.

local core = require "koine.core"
local cut = require("koine.data.text").cut
local errors = require "koine.data.errors"

local text = {}

local BINARY_LOOK = 8192 -- bytes at the beginning of a file that are searched for a NUL

--- The result of a call that the model got wrong, or that the system refused.
function text.mistake(message) return "Error: " .. message, { is_error = true } end

--- Converts an error of the workdir: a result for the model where the path caused it, else nil, err (kind
-- "executor").
function text.refused(err)
  if err.code ~= "system" then return text.mistake(err.message) end
  return nil, errors.new { kind = "executor", message = err.message, code = err.code }
end

--- The text with every byte that is no UTF-8 replaced by U+FFFD.
function text.repair(bytes)
  if utf8.len(bytes) then return bytes end
  return core.decode(core.encode(bytes))
end

--- True for bytes that no text file holds.
function text.is_binary(bytes) return bytes:sub(1, BINARY_LOOK):find("\0", 1, true) ~= nil end

--- How many lines a text has; what comes after the last "\n" is one too.
function text.count_lines(bytes)
  local n = core.text_ends(bytes)
  if #bytes > 0 and bytes:byte(-1) ~= 10 then n = n + 1 end
  return n
end

--- At most `most` lines of a text, from `from` on, which is there, as far as `max` bytes reach, of which each line
-- takes `extra` ones besides its own; one at least, cut where it is longer. An array of them without their "\n";
-- whether none was cut; and whether bytes had to be repaired.
function text.excerpt(bytes, from, most, max, extra)
  local lines, size, at, is_whole, is_repaired = {}, 0, core.text_after(bytes, from - 1), true, false
  while #lines < most and at <= #bytes do
    local stop = bytes:find("\n", at, true) or #bytes + 1
    local raw = bytes:sub(at, math.min(stop - 1, at + max + 2)) -- with the end of a character that begins before max
    local line, is_cut = cut(text.repair(raw), max)
    size = size + #line + extra
    if #lines > 0 and (is_cut or size >= max) then break end
    lines[#lines + 1], size, at = line, size + 1, stop + 1
    is_whole, is_repaired = is_whole and not is_cut, is_repaired or raw:sub(1, #line) ~= line
  end
  return lines, is_whole, is_repaired
end

--- Gives `added` the line ends of `bytes`: "\r\n" when every line of it ends so.
function text.like(bytes, added)
  local all, windows = core.text_ends(bytes)
  if all == 0 or all ~= windows then return added end
  return (added:gsub("\r?\n", "\r\n"))
end

--- How often `part`, which is not empty, is in `bytes` without overlap (counted up to two), and where the first one
-- begins.
function text.count(bytes, part)
  local first = core.text_find(bytes, part, 1)
  if not first then return 0 end
  return core.text_find(bytes, part, first + #part) and 2 or 1, first
end

--- The number of the line that holds the byte at `position`.
function text.line_at(bytes, position) return (core.text_ends(bytes, position - 1)) + 1 end

--- At most `max` bytes of a result, with a word about those that are left out.
function text.capped(said, max)
  local kept, was_cut = cut(said, max)
  if not was_cut then return said end
  return ("%s\n[%d more bytes left out]"):format(kept, #said - #kept)
end

return text
