--- Turns of programs, files and the tools of an executor.

local kit = require "work.kit"
local koine = require "koine"

local path, same, put, get, check_whole, OLD, NEW =
  kit.path, kit.same, kit.put, kit.get, kit.check_whole, kit.OLD, kit.NEW

local turns = {}

-- Programs -----------------------------------------------------------------------------------------------------------

function turns.program()
  local process = koine.process
  local function go()
    local done, err = process.run({ "/bin/cat" }, { stdin = NEW, env = { PATH = "/bin" }, timeout = 60 })
    if not done then return nil, err end
    same(done.code, 0)
    same(done.stdout, NEW)
    return true
  end
  return go, go
end

function turns.no_program()
  local process = koine.process
  local function go()
    local done, err = process.run { "no-such-program" }
    same(done, nil)
    if err.code ~= "absent" then return nil, err end
    return true
  end
  return go, go
end

-- A program that is talked to. Where memory is short, lines of its standard error are lost.
function turns.live_program()
  local process = koine.process
  local function go()
    local last
    local p <close>, err = process.open({ "/bin/sh", "-c", "while read -r x; do echo $x; done; echo bye >&2; exit 3" },
      { env = {}, grace = 60, on_stderr = function(line) last = line end })
    if not p then return nil, err end
    local ok, line, done
    ok, err = p:write "one\ntwo\n"
    if not ok then return nil, err end
    for _, expected in ipairs { "one", "two" } do
      line, err = p:line()
      if not line then return nil, err end
      same(line, expected)
    end
    p:close_input()
    line, err = p:line()
    if err then return nil, err end
    same(line, nil)
    done, err = p:result()
    if not done then return nil, err end
    same(done.code, 3)
    same(last or "bye", "bye")
    return true
  end
  return go, go
end

-- Files --------------------------------------------------------------------------------------------------------------

function turns.files()
  local files = koine.files
  put("file", OLD)
  local function go()
    local ok, err = files.write(path "file", NEW)
    if not ok then return nil, err end
    local bytes
    bytes, err = files.read(path "file")
    if not bytes then return nil, err end
    same(bytes, NEW)
    return true
  end
  return go, function()
    check_whole("file", OLD, NEW)
    return go() and os.remove(path "file")
  end
end

-- Executors ----------------------------------------------------------------------------------------------------------

-- A turn of one tool, which says `expected`. The directory holds a file with the bytes `before` (nil: OLD); they are
-- `after` then (nil: the same).
local function tool_turn(name, input, expected, before, after)
  local make = koine.executor
  before = before or OLD
  after = after or before
  local function go()
    local executor <close>, err = make { workdir = kit.folder }
    if not executor then return nil, err end
    local said, info = executor.run(name, input)
    if said == nil then return nil, info end
    if info and info.is_error then return nil, said end
    same(said, expected)
    return true
  end
  put("file", before)
  return go, function()
    check_whole("file", before, after)
    put("file", before)
    local ok, err = go()
    if not ok then return nil, err end
    same(get "file", after)
    return os.remove(path "file")
  end
end

function turns.write_file()
  return tool_turn("write_file", { path = "file", content = NEW }, ("Wrote %d bytes to file."):format(#NEW), OLD, NEW)
end

function turns.edit_file()
  return tool_turn("edit_file", { path = "file", old_str = "here", new_str = "there" }, "Edited file at line 1001.",
    OLD .. "here", OLD .. "there")
end

function turns.read_file() return tool_turn("read_file", { path = "file" }, OLD) end

function turns.list_dir() return tool_turn("list_dir", {}, "file") end

function turns.glob() return tool_turn("glob", { pattern = "**/f*" }, "file") end

function turns.grep()
  return tool_turn("grep", { text = "here", glob = "f*" }, "file:1001:here", OLD .. "here")
end

function turns.bash()
  return tool_turn("bash", { command = "echo out; echo err >&2; exit 3" }, "out\nerr\n[exit code 3]")
end

return turns
