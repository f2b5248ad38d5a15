--- `koine logs`: lists and shows what `ask` and `chat` kept.

local failure = require "koine.cli.failure"
local file = require "koine.cli.logs.file"
local json = require "koine.cli.json"
local terminal = require "koine.cli.terminal"

local logs = {}

local LAST = 10  -- exchanges that are listed
local WIDTH = 60 -- characters of a question in a list

local function date_of(entry) return os.date("%Y-%m-%d %H:%M", entry.time // 1000000000) end

local function money(entry) return type(entry.cost) == "number" and ("$%.6f"):format(entry.cost) or "-" end

-- The beginning of a text in one line.
local function shortened(text)
  text = text:gsub("%s+", " "):match "^ ?(.-) ?$"
  if not utf8.len(text) then return text:sub(1, WIDTH) end
  local stop = utf8.offset(text, WIDTH + 1)
  return stop and stop <= #text and text:sub(1, stop - 1) .. "…" or text
end

local function write_line(entry)
  terminal.out(("%s  %s  %s  %s  %s\n"):format(entry.id, date_of(entry), entry.model, money(entry),
    shortened(entry.prompt)))
end

local function write_whole(entry)
  terminal.out(("%s  %s  %s  %s\nconversation %s\n"):format(entry.id, date_of(entry), entry.model, money(entry),
    entry.conversation))
  if entry.system then terminal.out("\nsystem: " .. entry.system .. "\n") end
  terminal.out("\n> " .. entry.prompt:gsub("\n", "\n> ") .. "\n\n" .. entry.answer .. "\n")
end

-- The exchange whose id begins so. Fails for none, and for several.
local function one(log, id)
  if not id then failure.fail(failure.WRONG_USE, "show: an id is required (`koine logs` lists them)") end
  local found = log:find { id = id, last = 2 }
  if #found == 1 then return found end
  failure.fail(failure.WRONG_USE, "show: %s begins with %q", #found == 0 and "no id" or "more than one id", id)
end

--- The command: its exit code.
function logs.command(args)
  local path = file.path_of(args)
  if not path then failure.fail(failure.WRONG_USE, "a log is required (--log FILE or KOINE_LOG)") end
  local log <close> = file.open(path, false)
  local shows = args.action == "show"
  local conversation = args.cid and not shows and file.conversation(log, args.cid)[1].conversation or nil
  local found = shows and one(log, args.id)
    or log:find { model = args.model, search = args.search, conversation = conversation,
      last = args.number ~= 0 and (args.number or LAST) or nil }
  for _, entry in ipairs(found) do
    if args.json then terminal.out(json.encode(entry) .. "\n") else (shows and write_whole or write_line)(entry) end
  end
  return 0
end

return logs
