-- Helpers of the specs of an executor's tools: a working directory of its own for every test, files in it, and calls.
--
--   local place = require("spec.lua.system.executor.kit").place()
--   before_each(place.open)
--   after_each(place.close)

local assert = require "luassert"
local folder = require "spec.support.folder"
local koine = require "koine"

local kit = {}

--- How many thousands of Lua's instructions f takes.
function kit.steps_of(f)
  local steps = 0
  debug.sethook(function() steps = steps + 1 end, "", 1000)
  local ok, err = pcall(f)
  debug.sethook()
  if not ok then error(err, 0) end
  return steps
end

--- A working directory and its executor, which `open` makes and `close` removes: a table of functions.
function kit.place()
  local place, directory, ex = {}, nil, nil

  --- Takes an executor with these options (nil: none) in the place of the one that is there.
  function place.renew(opts)
    if ex then ex:close() end
    opts = opts or {}
    opts.workdir = directory
    ex = assert(koine.executor(opts))
  end

  function place.open()
    directory = folder.new()
    place.renew()
  end

  function place.close()
    ex:close()
    ex = nil
    folder.remove(directory)
  end

  --- The path of a name in the working directory.
  function place.path(name) return directory .. "/" .. name end

  --- Writes a file.
  function place.put(name, bytes)
    local file <close> = assert(io.open(place.path(name), "wb"))
    assert(file:write(bytes))
  end

  --- A file's bytes, nil when there is none.
  function place.get(name)
    local file <close> = io.open(place.path(name), "rb")
    return file and file:read "a"
  end

  --- A call: what run returns.
  function place.run(name, input) return ex.run(name, input) end

  --- The text of a call that is not an error; fails for one that is.
  function place.good(name, input)
    local text, info = ex.run(name, input)
    assert.is_nil(info and info.is_error, text)
    return text
  end

  --- The text of a call that is an error, with nothing else to say; fails for any other.
  function place.bad(name, input)
    local text, info = ex.run(name, input)
    assert.are.same({ is_error = true }, info)
    return text
  end

  return place
end

return kit
