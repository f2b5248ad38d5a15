-- resume.lua: an agent that saves its run at every checkpoint. End it at any moment, with Ctrl-C or kill -9, and
-- start it again with the same file: it resumes the run, and no tool runs twice for one call.
--   lua5.4 examples/resume.lua run.json [provider/model [N: kill this process at sheep N]]
local koine = require "koine"

local path, kill_at = arg[1] or "run.json", tonumber(arg[3])
local adapter = koine.adapter(arg[2] or "anthropic/claude-sonnet-4-5", { base_url = os.getenv "KOINE_BASE_URL" })

-- The file is complete at any moment, even if this program is killed while it writes.
local function save(run) assert(koine.files.write(path, run:dump())) end

local count = koine.tool {
  name = "count",
  description = "Counts one sheep, given its number.",
  example = { sheep = 1 },
  run = function(args)
    print("counting sheep " .. args.sheep)
    if args.sheep == kill_at then os.execute "kill -9 $PPID" end
    return "counted"
  end,
}

local agent = koine.agent { adapter = adapter, tools = { count }, checkpoint = save }

-- Returns the run from the file, or a new one.
local function begin()
  local text, err = koine.files.read(path)
  if not text and err.code == "absent" then return agent:start "Count three sheep, one at a time." end
  local run = assert(agent:load(assert(text, err)))
  print(("going on after %d model calls"):format(run:summary().steps))
  return run
end

local result = assert(begin():result())
for _, call in ipairs(result.calls) do
  print(call.arguments_json, call.is_error and "interrupted" or "done")
end
print(result.text)
os.remove(path)
