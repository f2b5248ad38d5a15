--- The file of a log: a database of SQLite where its name ends in .db or .sqlite, else lines of JSON. Both have add,
-- find and close. What is no log of ours fails, and stays as it is.

local data_file = require "koine.cli.settings.data_file"
local database = require "koine.cli.logs.database"
local failure = require "koine.cli.failure"
local koine = require "koine"
local lines = require "koine.cli.logs.lines"
local settings = require "koine.cli.settings"

local file = {}

local function is_database(path) return path:find "%.db$" ~= nil or path:find "%.sqlite3?$" ~= nil end

-- Makes an empty file for its owner alone, unless there is one.
local function make(path)
  local made, err = koine.observe.jsonl(path)
  if not made then failure.cannot(path, err.message) end
  made:close()
end

--- Opens the log at `path` for adding to it (`writes`): made where it is missing, unless it is `needed` as it is; else
-- for reading alone. Fails as wrong use where there is none.
function file.open(path, writes, needed)
  if path == "" then failure.fail(failure.WRONG_USE, "--log: a file name is required") end
  local there, err = data_file.is_there(path)
  if there and err then failure.cannot(path, err.message) end
  if not there then
    if needed or not writes then failure.fail(failure.WRONG_USE, "%s: there is no such log", path) end
    make(path)
  end
  return (is_database(path) and database or lines).open(path, writes)
end

--- The exchanges of the conversation of a log whose id begins with `id` (nil: of the last one): an array, the oldest
-- first. Fails as wrong use for none, and for several.
function file.conversation(log, id)
  local last = log:find({ conversation = id, last = 1 })[1]
  if not last then
    failure.fail(failure.WRONG_USE,
      id and "--cid: no conversation begins with %q" or "--continue: the log is empty", id)
  end
  local found = log:find { conversation = last.conversation }
  if id and #log:find { conversation = id } ~= #found then
    failure.fail(failure.WRONG_USE, "--cid: several conversations begin with %q", id)
  end
  return found
end

--- The path of the log: that of --log, else KOINE_LOG, else that of the settings; nil for none, and with --no-log.
function file.path_of(args)
  if args.no_log then return nil end
  local variable = os.getenv "KOINE_LOG"
  return args.log or variable ~= "" and variable or settings.get().log
end

return file
