--- An executor's files and commands for programs that are not models: an agent that asks its client for a file, for
-- one. The same paths and policies as those of the tools read_file, write_file and bash; but texts come whole, and a
-- command can be talked to.

local errors = require "koine.data.errors"
local files = require "koine.system.executor.files"
local process = require "koine.system.process"
local text = require "koine.system.executor.text"

local access = {}

local GRACE = 0.5 -- seconds from the end of a command's input to SIGTERM, and from there to SIGKILL

local function refusal(code, message)
  return errors.new { kind = "executor", code = code, retryable = false, message = message }
end

-- nil, or the error where the tool is not allowed, or a policy refuses the call.
local function refused(machine, name, input)
  if not machine.files then return refusal("unsupported", "a remote executor") end
  if not machine.allowed[name] then return refusal("denied", "tool not allowed: " .. name) end
  local reason = machine.denied(name, input)
  return reason and refusal("denied", reason)
end

-- The lines of a text from `line` on, at most `limit` of them (nil: all).
local function lines(whole, line, limit)
  local from = 1
  for _ = 2, line do
    local at = whole:find("\n", from, true)
    if not at then return "" end
    from = at + 1
  end
  local to = from
  for _ = 1, limit or 0 do
    local at = whole:find("\n", to, true)
    if not at then return whole:sub(from) end
    to = at + 1
  end
  return limit and whole:sub(from, to - 1) or whole:sub(from)
end

--- The text of a file: from `line` (nil: 1) on, at most `limit` lines (nil: all); nil, err.
function access.read(machine, path, line, limit)
  local err = refused(machine, "read_file", { path = path })
  if err then return nil, err end
  local bytes, problem = machine.files:read(path, files.FILE_MAX)
  if not bytes then return nil, refusal(problem.code, problem.message) end
  if text.is_binary(bytes) then return nil, refusal("binary", path .. ": a binary file") end
  return lines(text.repair(bytes), line or 1, limit)
end

--- Replaces a file by a text, or makes it: true, or nil, err.
function access.write(machine, path, content)
  local err = refused(machine, "write_file", { path = path, content = content })
  if err then return nil, err end
  local ok, problem = machine.files:write(path, content)
  if not ok then return nil, refusal(problem.code, problem.message) end
  return true
end

local function quoted(word)
  return word:find "^[%w_./:=@%%+-]+$" and word or "'" .. word:gsub("'", "'\\''") .. "'"
end

-- An argument vector as a line for a shell, as policies judge it.
local function line_of(argv)
  local words = {}
  for i, word in ipairs(argv) do words[i] = quoted(word) end
  return table.concat(words, " ")
end

-- A directory, absolute; nil where it is not below the working directory.
local function directory(machine, path)
  if path == nil then return machine.workdir end
  local names, err = machine.files:list(path, files.ENTRIES_MAX)
  if not names and err.code ~= "limit" then return nil, refusal(err.code, err.message) end
  return path:sub(1, 1) == "/" and path or machine.workdir .. "/" .. path
end

--- Starts a program below the working directory, with its errors in its output: a live program, or nil, err. `argv` is
-- its name and arguments, or one line for the shell; `opts` may have cwd, and env, {NAME = value} over the executor's.
function access.open(machine, argv, opts)
  local command = #argv == 1 and argv[1] or line_of(argv)
  local err = refused(machine, "bash", { command = command })
  if err then return nil, err end
  local there, moved = machine.files:in_place()
  if not there then return nil, refusal(moved.code, moved.message) end
  local cwd, problem = directory(machine, opts.cwd)
  if not cwd then return nil, problem end
  local env = {}
  for name, value in next, machine.env do env[name] = value end
  for name, value in next, opts.env or {} do env[name] = value end
  local whole = #argv == 1 and { "sh", "-c", 'exec 2>&1\n' .. argv[1] }
    or table.move(argv, 1, #argv, 4, { "sh", "-c", 'exec "$0" "$@" 2>&1' })
  return process.open(whole, { cwd = cwd, env = env, grace = GRACE, protect = machine.protect })
end

return access
