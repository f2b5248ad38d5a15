--- Writes the command line's output: answers to the standard output, everything else to the standard error
-- output, a line each.

local failure = require "koine.cli.failure"

local terminal = {}

local EPIPE = 32

-- descriptor → whether it is a terminal: Lua cannot tell, the shell can.
local is = {}
for fd = 0, 2 do is[fd] = os.execute("test -t " .. fd) == true end

--- Whether the standard input, output and error output are terminals.
terminal.input, terminal.output, terminal.errors = is[0], is[1], is[2]

local waiting, line_open = false, false

-- The text with U+FFFD for each byte that is no UTF-8: a terminal of 8 bits obeys some of those.
local function legal(text)
  local parts, at = {}, 1
  while true do
    local fine, bad = utf8.len(text, at)
    parts[#parts + 1] = text:sub(at, fine and -1 or bad - 1)
    if fine then return table.concat(parts) end
    parts[#parts + 1], at = "\u{FFFD}", bad + 1
  end
end

--- The text without what a terminal would obey, or would show something else by: C0 but for tab and line feed, DEL, C1
-- (U+0080 to U+009F), and the characters that turn the direction of the text around them (U+202A to U+202E, U+2066 to
-- U+2069). Marks of direction, joiners and variation selectors stay: scripts and emoji need them.
function terminal.harmless(text)
  return (legal(text):gsub("[\0-\8\11-\31\127]", ""):gsub("\xC2[\x80-\x9F]", "")
    :gsub("\xE2\x80[\xAA-\xAE]", ""):gsub("\xE2\x81[\xA6-\xA9]", ""))
end

--- Shows on a terminal what the program waits for; nil removes it.
function terminal.progress(text)
  if (text or waiting) and terminal.errors then io.stderr:write("\r\27[K", terminal.harmless(text or "")) end
  waiting = text ~= nil
end

--- Writes a line to the standard error output: a format and its arguments.
function terminal.say(format, ...)
  terminal.progress()
  io.stderr:write("koine: ", terminal.harmless((format:format(...):gsub("%c+", " "))), "\n")
end

--- Writes to the standard output at once; leaves out what a terminal would obey. Fails when the reader is gone
-- (CLOSED_PIPE) or it cannot be written.
function terminal.out(text)
  terminal.progress()
  if terminal.output then text = terminal.harmless(text) end
  local done, why, number = io.stdout:write(text)
  if done then done, why, number = io.stdout:flush() end
  if text ~= "" then line_open = done and text:sub(-1) ~= "\n" end
  if done then return end
  if number == EPIPE then error({ exit = failure.CLOSED_PIPE }, 0) end
  failure.fail(failure.FAILED, "cannot write: %s", why)
end

--- Ends the line that `out` is in the middle of, if it is.
function terminal.end_line()
  if line_open then terminal.out "\n" end
end

return terminal
