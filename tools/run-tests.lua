-- run-tests.lua WHAT…: runs tests in processes of their own, several at once. WHAT is a test program, a spec file, or
-- a folder, which stands for the files below it whose names end in _spec.lua. Each spec file gets a busted of its own,
-- which this Lua runs. TEST_JOBS says how many run at once; without it, two for each core, because many tests wait.
--
-- Prints a line for each process that ended: its seconds, its name, and what it wrote besides busted's report. At the
-- end come all texts of those that failed, and the sums. Fails when a test fails, when a process does not end by itself
-- with status 0, when it leaves something in its temporary folder, and when a spec file runs no test. A spec file may
-- take TEST_SECONDS (600); programs have limits of their own. When a test has ended, its process group is killed;
-- SIGINT (Ctrl-C), SIGTERM, SIGHUP and a closed output kill those of all tests, after the texts of those that failed or
-- did not end. Each test has a TMPDIR of its own, which is removed in any case.

local uv = require "luv"

local REPORT = "\n(%d+) success%l* / (%d+) failures? / (%d+) errors? / (%d+) pendings? : [%d.]+ seconds\n"

local SECONDS = tonumber(os.getenv "TEST_SECONDS" or 600)
if not SECONDS or SECONDS < 1 then error("run-tests: TEST_SECONDS is to be a number of at least 1", 0) end

local TEMPORARY = os.getenv "TMPDIR" or "/tmp"

-- {{{ what to run

local function busted()
  for folder in os.getenv "PATH":gmatch "[^:]+" do
    if uv.fs_access(folder .. "/busted", "R") then return folder .. "/busted" end
  end
  error("run-tests: there is no busted in PATH", 0)
end

local function add_specs(list, path)
  if assert(uv.fs_stat(path)).type == "directory" then
    for name, kind in uv.fs_scandir_next, assert(uv.fs_scandir(path)) do
      if kind == "directory" or name:find "_spec%.lua$" then add_specs(list, path .. "/" .. name) end
    end
  else -- the report once, at the end, and no dots
    list[#list + 1] = { spec = path, size = uv.fs_stat(path).size, file = uv.exepath(),
      args = { busted(), "--output=plainTerminal", "--defer-print", path } }
  end
end

-- The programs in their order, then the spec files, larger ones first: they tend to last longer, and what lasts long is
-- not to start last.
local function tests(given)
  local list, specs = {}, {}
  for _, path in ipairs(given) do
    if not path:find "%.lua$" and assert(uv.fs_stat(path)).type == "file" then
      list[#list + 1] = { program = path, file = path, args = {} }
    else
      add_specs(specs, path)
    end
  end
  table.sort(specs, function(a, b)
    if a.size ~= b.size then return a.size > b.size end
    return a.spec < b.spec
  end)
  return table.move(specs, 1, #specs, #list + 1, list)
end

-- }}}

-- {{{ what became of it

local sums = { 0, 0, 0, 0, programs = 0, failed = 0 } -- the first four as in REPORT

-- What busted's last report in this text says, and the text without it; nil when there is none.
local function split_report(text)
  local first, last, counts = nil, 0, nil
  repeat
    local found = table.pack(text:find(REPORT, last + 1))
    if found[1] then first, last, counts = found[1], found[2], { table.unpack(found, 3) } end
  until not found[1]
  if not first then return nil end
  for i, count in ipairs(counts) do counts[i] = math.tointeger(tonumber(count)) end
  return counts, text:sub(1, first - 1) .. text:sub(last)
end

-- Removes a test's folder, and what has its name in the system's folder for memory. Returns the names of all that was
-- there; nil when there was nothing.
local function remove_folder(path)
  local left, name = {}, path:match "[^/]+$"
  local function remove(inner)
    left[#left + 1] = inner
    os.execute(("chmod -R u+rwx '%s' && rm -rf '%s'"):format(inner, inner))
  end
  local function each(folder, f)
    local listing = uv.fs_scandir(folder)
    while listing do
      local entry = uv.fs_scandir_next(listing)
      if not entry then return end
      f(folder .. "/" .. entry)
    end
  end
  each(path, remove)
  each("/dev/shm", function(inner)
    if inner:find(name, 1, true) then remove(inner) end
  end)
  uv.fs_rmdir(path)
  table.sort(left)
  return left[1] and table.concat(left, ", ")
end

-- Adds it to the sums. Returns what went wrong (nil: nothing), and what it wrote besides a report.
local function judge(test, code, signal, text, left)
  local wrong = signal ~= 0 and "ended by signal " .. signal or code ~= 0 and "ended with status " .. code
    or left and "left in its temporary folder: " .. left or nil
  if test.program then
    sums.programs = sums.programs + 1
    sums.failed = sums.failed + (wrong and 1 or 0)
    return wrong, text
  end
  local counts, rest = split_report(text)
  local bad = counts and counts[2] + counts[3] or 0
  if not counts then
    wrong = (wrong or "ended") .. " without a report"
  elseif bad > 0 then
    wrong = ("%d failures, %d errors"):format(counts[2], counts[3])
  elseif counts[1] + counts[4] == 0 then
    wrong = "ran no test"
  end
  if wrong and bad == 0 then sums[3] = sums[3] + 1 end -- which no test tells of
  for i, count in ipairs(counts or {}) do sums[i] = sums[i] + count end
  return wrong, rest or text
end

-- }}}

-- {{{ running

local running, failures = {}, {} -- tests by their handles; texts

local function kill(pid)
  uv.kill(-pid, "sigkill") -- fails where the group is empty
end

local function tell(test, code, signal)
  local text = uv.fs_read(test.log, uv.fs_fstat(test.log).size, 0)
  uv.fs_close(test.log)
  local wrong, rest = judge(test, code, signal, text, remove_folder(test.folder))
  if test.late then wrong = ("did not end within %d seconds"):format(SECONDS) end
  local line = test.spec or test.program
  rest = rest:match "^%s*(.-)%s*$"
  if wrong then
    line = line .. ": " .. wrong
    failures[#failures + 1] = ("--- %s\n%s"):format(line, text)
  elseif rest ~= "" then -- a program names itself
    line = test.program and rest or line .. ": " .. rest
  end
  print(("%5.1f s  %s"):format((uv.hrtime() - test.start) / 1e9, line))
  io.stdout:flush()
end

-- Ours, with this folder as TMPDIR.
local function environment(folder)
  local list = { "TMPDIR=" .. folder }
  for name, value in pairs(uv.os_environ()) do
    if name ~= "TMPDIR" then list[#list + 1] = name .. "=" .. value end
  end
  return list
end

-- Starts it in a session of its own, which is one group of processes, and calls `done` after its end. What it writes
-- goes to a file without a name: a pipe would end only when its last holder closes it.
local function start(test, done)
  local path
  test.log, path = assert(uv.fs_mkstemp(TEMPORARY .. "/koine-tests-XXXXXX"))
  os.remove(path)
  test.folder = assert(uv.fs_mkdtemp(TEMPORARY .. "/koine-tests-XXXXXX"))
  test.start = uv.hrtime()
  local handle, pid
  handle, pid = uv.spawn(test.file, { args = test.args, stdio = { nil, test.log, test.log }, detached = true,
    env = environment(test.folder) },
    function(code, signal)
      running[handle] = nil
      handle:close()
      kill(pid)
      if test.timer then test.timer:close() end
      tell(test, code, signal)
      done()
    end)
  running[assert(handle, pid)] = test
  if test.spec then
    test.timer = uv.new_timer()
    test.timer:start(SECONDS * 1000, 0, function()
      test.late = true
      kill(pid)
    end)
  end
end

local function tell_failures()
  for _, text in ipairs(failures) do print("\n" .. text) end
end

local function on_signal(name)
  for handle, test in pairs(running) do
    kill(handle:get_pid())
    remove_folder(test.folder)
    failures[#failures + 1] = ("--- %s: ended by run-tests, after %s\n%s"):format(test.spec or test.program, name,
      uv.fs_read(test.log, uv.fs_fstat(test.log).size, 0))
  end
  if name ~= "sigpipe" then tell_failures() end
  os.exit(128 + uv.constants[name:upper()])
end

local function run(list, jobs)
  local next_one = 1
  local function fill()
    while next_one <= #list and jobs > 0 do
      local test = list[next_one]
      next_one, jobs = next_one + 1, jobs - 1
      start(test, function()
        jobs = jobs + 1
        fill()
      end)
    end
  end
  for _, name in ipairs { "sigint", "sigterm", "sighup", "sigpipe" } do
    local watcher = uv.new_signal()
    watcher:start(name, function() on_signal(name) end)
    watcher:unref()
  end
  fill()
  uv.run()
end

local began = uv.hrtime()
local list = tests(arg)
local jobs = math.tointeger(tonumber(os.getenv "TEST_JOBS" or 2 * uv.available_parallelism()))
if not jobs or jobs < 1 then error("run-tests: TEST_JOBS is to be an integer of at least 1", 0) end
if #list == 0 then error("run-tests: there is nothing to run", 0) end
run(list, jobs)
tell_failures()
print(("\n%d successes / %d failures / %d errors / %d pending, %d programs / %d failed : %.1f seconds, %d at once")
  :format(sums[1], sums[2], sums[3], sums[4], sums.programs, sums.failed, (uv.hrtime() - began) / 1e9, jobs))
os.exit(#failures == 0)

-- }}}
