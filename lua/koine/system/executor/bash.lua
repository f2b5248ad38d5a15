--- The tool bash: one command in a shell of its own, in the working directory, with a clean environment. No process
-- that it started outlives the call. A command may do whatever the user may do: this is no boundary.

local errors = require "koine.data.errors"
local process = require "koine.system.process"
local cut = require("koine.data.text").cut
local text = require "koine.system.executor.text"

local bash = {}

--- Bytes of a command: what Linux takes for one argument of a program, but for its end.
bash.COMMAND_MAX = (128 << 10) - 1
--- The advice to a model about a longer one.
bash.ADVICE = "; put it into a file"

local GRACE = 2  -- seconds between asking a command to end and killing it
local OURS = 1 << 10 -- bytes of a command that is not to blame when a system finds all arguments too long
local BEYOND = 3 -- bytes that are kept and not shown, so that a character is never half there

-- The shell's path.
local function shell()
  for _, path in ipairs { "/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash" } do
    local file = io.open(path)
    if file then
      file:close()
      return path
    end
  end
  return "/bin/sh"
end

-- How many bytes of each stream are shown, of `max` in all: a long one takes the room that a short one leaves.
local function shares(out, err, max)
  local half = max // 2
  if #err <= half then return max - #err, #err end
  if #out <= half then return #out, max - #out end
  return max - half, half
end

-- One stream's text, at most `max` bytes, with a word about what was left out.
local function shown(bytes, max, dropped, name)
  local kept = cut(bytes, max)
  dropped = dropped + #bytes - #kept
  if dropped == 0 then return kept end
  local gap = (kept == "" or kept:sub(-1) == "\n") and "" or "\n"
  return ("%s%s[%d more bytes of %s left out]\n"):format(kept, gap, dropped, name)
end

-- How the command ended, in words; nil when all is well.
local function ending(done, timeout)
  if done.timed_out then
    return ("[timed out after %g seconds; the command and all it started were killed]"):format(timeout)
  end
  if done.signal then return ("[killed by signal %s]"):format(done.signal) end
  if done.code ~= 0 then return ("[exit code %d]"):format(done.code) end
end

-- Reports a finished command: text, info. `max` bytes of output are shown.
local function report(done, timeout, max)
  local out, err = text.repair(done.stdout), text.repair(done.stderr)
  local for_out, for_err = shares(out, err, max)
  local parts = {}
  for _, part in ipairs { shown(out, for_out, done.dropped.stdout, "stdout"),
    shown(err, for_err, done.dropped.stderr, "stderr"), ending(done, timeout) or "" } do
    local before = parts[#parts]
    if part ~= "" and before and before:sub(-1) ~= "\n" then parts[#parts] = before .. "\n" end
    if part ~= "" then parts[#parts + 1] = part end
  end
  if #parts == 0 then parts[1] = "(no output)" end
  return table.concat(parts), { is_error = (done.timed_out or done.signal) and true or nil, exit_code = done.code }
end

-- An error as calls give it: nil, err.
local function failed(err) return nil, errors.new { kind = "executor", message = err.message, code = err.code } end

local function run(machine, input, ctx)
  if input.restart then return "Every command has a new shell: there is nothing to restart." end
  if not input.command then return text.mistake "command: string expected, got nothing" end
  if input.command:find("\0", 1, true) then return text.mistake "a command cannot hold a NUL byte" end
  local there, moved = machine.files:in_place() -- else commands and the file tools would be in two directories
  if not there then return failed(moved) end
  local timeout = machine.timeout
  if input.timeout and input.timeout > 0 then timeout = math.min(timeout, input.timeout) end
  local argv, opts = { shell(), "-c", input.command }, { cwd = machine.workdir, env = machine.env, timeout = timeout,
    grace = GRACE, output_max = machine.output_max + BEYOND, protect = machine.protect }
  local done, err
  if machine.command then
    opts.env = machine.set_env -- whoever runs it has an environment of his own
    done, err = machine.command(argv, opts, ctx)
  else
    done, err = process.run(argv, opts)
  end
  if done then return report(done, timeout, machine.output_max) end
  if err.kind == "cancelled" then return nil, err end
  if err.code == "too_large" and #input.command > OURS then
    return text.mistake("command: too long for this system" .. bash.ADVICE)
  end
  return failed(err)
end

--- The tool, as init.lua takes it.
bash.tool = {
  name = "bash", mutates = true, capped = true, run = run,
  description = "Runs a command in bash, in the working directory. Returns what it wrote to stdout, then what it wrote "
    .. "to stderr, and its exit code unless that is 0. Every command has a new shell without a terminal: no directory, "
    .. "variable or background process is left for the next one. Long output is cut.",
  parameters = { type = "object", properties = {
    command = { type = "string", description = "The command." },
    timeout = { type = "number", exclusiveMinimum = 0,
      description = "Seconds until the command is killed; at most, and by default, the time limit of all commands." },
    restart = { type = "boolean", description = "Instead of a command: starts afresh." },
  } },
}

return bash
