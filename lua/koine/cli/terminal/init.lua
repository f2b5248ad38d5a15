--- Writes the command line's output: answers to the standard output, everything else to the standard error
-- output, a line each. Only a terminal gets styles, and lines that are drawn over.

local failure = require "koine.cli.failure"
local json = require "koine.cli.json"
local markdown = require "koine.cli.terminal.markdown"

local terminal = {}

local EPIPE = 32
local DIM, PLAIN = "\27[2m", "\27[0m"
local CLEAR = "\r\27[K"
local NO_WRAP, WRAP = "\27[?7l", "\27[?7h" -- what is drawn over has to stay in one row of a narrow terminal

local function is_set(name) return (os.getenv(name) or "") ~= "" end

-- A sum of bits, one for each descriptor that is a terminal: Lua cannot tell, the shell can.
local _, _, bits = os.execute "n=0; test -t 0 && n=1; test -t 1 && n=$((n+2)); test -t 2 && n=$((n+4)); exit $n"

--- Whether the standard input, output and error output are terminals.
terminal.input, terminal.output, terminal.errors = bits & 1 > 0, bits & 2 > 0, bits & 4 > 0

local function quoted(word) return "'" .. word:gsub("'", "'\\''") .. "'" end

--- Whether two paths lead to the same file, which is there: the shell can tell this, too.
function terminal.is_same_file(path, other)
  return os.execute(("test %s -ef %s"):format(quoted(path), quoted(other))) == true
end

--- Whether a terminal of this kind obeys escape sequences at all.
terminal.obeys = is_set "TERM" and os.getenv "TERM" ~= "dumb"

--- Whether answers are shown with styles.
terminal.styled = terminal.output and terminal.obeys and not is_set "NO_COLOR"

local waiting, line_open, thinking, answer = false, false, false, nil

--- The text without what a terminal would obey, or would show something else by: C0 but for tab and line feed, DEL, C1
-- (U+0080 to U+009F), bytes that are no UTF-8, some of which a terminal of 8 bits obeys, and the characters that turn
-- the direction of the text around them (U+202A to U+202E, U+2066 to U+2069). Marks of direction, joiners and variation
-- selectors stay: scripts and emoji need them.
function terminal.harmless(text)
  return (json.legal(text):gsub("[\0-\8\11-\31\127]", ""):gsub("\xC2[\x80-\x9F]", "")
    :gsub("\xE2\x80[\xAA-\xAE]", ""):gsub("\xE2\x81[\xA6-\xA9]", ""))
end

--- Shows on a terminal what the program waits for; nil removes it.
function terminal.progress(text)
  local draws = terminal.errors and terminal.obeys
  if draws and (text or waiting) then
    io.stderr:write(CLEAR, text and NO_WRAP .. terminal.harmless(text:gsub("%c+", " ")) .. WRAP or "")
  end
  waiting = text ~= nil
end

--- Writes a line to the standard error output: a format and its arguments.
function terminal.say(format, ...)
  terminal.progress()
  io.stderr:write("koine: ", terminal.harmless((format:format(...):gsub("%c+", " "))), "\n")
end

--- Writes a text of several lines to the standard error output, as it is.
function terminal.show(text) io.stderr:write(terminal.harmless(text), text:sub(-1) == "\n" and "" or "\n") end

-- Writes to the standard output at once. Fails when the reader is gone (CLOSED_PIPE) or it cannot be written.
local function write(text)
  local done, why, number = io.stdout:write(text)
  if done then done, why, number = io.stdout:flush() end
  if done then return end
  line_open = false
  if number == EPIPE then error({ exit = failure.CLOSED_PIPE }, 0) end
  failure.fail(failure.FAILED, "cannot write: %s", why)
end

--- Writes to the standard output at once; leaves out what a terminal would obey. Fails when the reader is gone
-- (CLOSED_PIPE) or it cannot be written.
function terminal.out(text)
  terminal.progress()
  if text ~= "" then line_open = text:sub(-1) ~= "\n" end
  write(terminal.output and terminal.harmless(text) or text)
end

--- The same for a piece of an answer, whose Markdown a terminal shows with styles until end_line.
function terminal.answer(text)
  if not terminal.styled then
    terminal.out(text)
    return
  end
  if thinking then terminal.end_line() end
  terminal.progress()
  answer = answer or markdown.new()
  if text ~= "" then line_open = text:sub(-1) ~= "\n" end
  write(answer:feed(terminal.harmless(text)))
end

--- Shows a piece of what the model thinks, dim, where a person sees both outputs on a terminal that can: true if so.
function terminal.thought(text)
  if not (terminal.styled and terminal.errors) then return false end
  if text == "" then return true end
  terminal.progress()
  thinking, line_open = true, text:sub(-1) ~= "\n"
  io.stderr:write(DIM, terminal.harmless(text), PLAIN)
  return true
end

--- Ends the line that an answer is in the middle of, if it is, and its styles.
function terminal.end_line()
  local rest = answer and answer:finish() or ""
  answer, thinking = nil, false
  if line_open then rest = rest .. "\n" end
  if rest == "" then return end
  terminal.progress()
  line_open = false
  write(rest)
end

return terminal
