-- Pages of the documentation as programs.
--
-- The blocks of a page are one program, run from top to bottom in an environment where the constructors' adapters talk
-- to the loopback provider. A block that begins with `-- sketch` is compiled, not run. An HTML comment `<!-- lua … -->`
-- is code that readers do not see; it scripts the provider (`server`) where a block needs a particular answer, else the
-- provider echoes. Behind `-->` stands what the line prints.
--
-- A block of shell commands behind the comment `<!-- run -->` is run too, with a `koine` that asks the loopback
-- provider. Its lines that begin with `#>` are what the commands print.

local koine = require "koine"
local luassert = require "luassert"
local rows = require "koine.provider"

local pages = {}

--- The lines of a text.
function pages.lines_of(text)
  local lines = {}
  for line in (text .. "\n"):gmatch "(.-)\n" do lines[#lines + 1] = line end
  return lines
end

--- The blocks of a page: array of {from = first line, to = last line, sketch = boolean}.
function pages.blocks_of(lines)
  local blocks, from, fence = {}, nil, nil
  for i, line in ipairs(lines) do
    if from and line == fence then
      blocks[#blocks + 1] = { from = from, to = i - 1, sketch = lines[from]:find "^%-%- sketch" ~= nil }
      from = nil
    elseif not from and (line == "```lua" or line == "<!-- lua") then
      from, fence = i + 1, line == "```lua" and "```" or "-->"
    end
  end
  assert(not from, "a block without an end")
  return blocks
end

--- The blocks as one chunk whose line numbers are the page's.
function pages.program(path, lines, blocks)
  local code = {}
  for i = 1, #lines do code[i] = "" end
  for _, block in ipairs(blocks) do table.move(lines, block.from, block.to, block.from, code) end
  return load(table.concat(code, "\n"), "@" .. path, "t", {})
end

--- The names that a page's headings can be linked by, as keys.
function pages.anchors(text)
  local known = {}
  for heading in text:gmatch "\n#+ ([^\n]*)" do known[heading:lower():gsub("[^%w %-_]", ""):gsub(" ", "-")] = true end
  return known
end

-- Returns the output that a line promises, white space made even; nil for none.
local function promise(line)
  local words = line:match "^.*print.*%-%->%s*(.-)%s*$"
  return words and words:gsub("%s+", " ") or nil
end

-- constructor → the path of its base URL, where the server's root does not do
local BASES = { gemini = "/v1beta", vertex = "/v1/projects/{project}/locations/{location}/publishers/google" }

-- koine, but its adapters talk to `server`, or to a server that the page started itself.
local function on_loopback(server)
  local urls = { server.url }

  local function local_to(url)
    for _, known in ipairs(urls) do
      if type(url) == "string" and url:sub(1, #known) == known then return url end
    end
    return server.url
  end

  local function redirected(given, base_path)
    if type(given) ~= "table" then return given end
    local copy = {}
    for name, value in pairs(given) do copy[name] = value end
    copy.base_url = local_to(given.base_url) .. (base_path or "")
    if not given.token and not given.credentials_file then copy.key = given.key or "docs-key" end
    return copy
  end

  local testing = setmetatable({ start = function(opts)
    local started, err = koine.testing.start(opts)
    if started then urls[#urls + 1] = started.url end
    return started, err
  end }, { __index = koine.testing })

  local function by_name(name, given) return koine.adapter(name, redirected(given or {})) end
  local public = { testing = testing, adapter = by_name }
  for _, name in ipairs(rows.names) do
    public[name] = function(given) return koine[name](redirected(given, BASES[name])) end
  end
  return setmetatable(public, { __index = koine })
end

--- os, but its temporary names are in this folder.
function pages.os_within(directory)
  local n = 0
  return setmetatable({ tmpname = function()
    n = n + 1
    return ("%s/%d"):format(directory, n)
  end }, { __index = os })
end

--- Runs the blocks of the page at `path`, `place` being their os; raises what they raise, and names the promises that
-- were broken or never came up.
function pages.run(path, text, server, place)
  local lines = pages.lines_of(text)
  local blocks, open = {}, {}
  for _, block in ipairs(pages.blocks_of(lines)) do
    if not block.sketch then
      blocks[#blocks + 1] = block
      for i = block.from, block.to do open[i] = promise(lines[i]) end
    end
  end
  local public, sink, env = on_loopback(server), {}, {}
  function sink.write() return sink end
  function sink.flush() return sink end

  function env.print(...)
    local words, i = table.pack(...), debug.getinfo(2, "l").currentline
    for k = 1, words.n do words[k] = tostring(words[k]) end
    local promised = promise(lines[i])
    if promised then
      luassert.are.equal(promised, (table.concat(words, " "):gsub("%s+", " ")), path .. ":" .. i)
      open[i] = nil
    end
  end
  env.os = place
  env.io = setmetatable({ write = sink.write, stdout = sink, stderr = sink }, { __index = io })
  env.server = server
  function env.require(name)
    if name == "koine" then return public end
    if name == "koine.testing" then return public.testing end
    return require(name)
  end
  function env.describe(_, body) body() end
  function env.it() end
  function env.teardown() end
  setmetatable(env, { __index = _G })

  local chunk = assert(pages.program(path, lines, blocks))
  assert(debug.setupvalue(chunk, 1, env) == "_ENV")
  chunk()
  for i, promised in pairs(open) do error(("%s:%d: never printed: %s"):format(path, i, promised), 0) end
end

-- A koine on the PATH of a script: the checkout's, which asks the server. %s: the interpreter, its folder, the URL.
local SHIM = [[
#!/bin/sh
command=$1; shift
exec %s '%s/bin/koine' "$command" -m anthropic/docs --base-url '%s' "$@"
]]

--- Runs the blocks of a page that begin behind `<!-- run -->`, in the directory: an array of {line, output, promised}.
function pages.run_shell(text, server, directory)
  local files, search_path = require "spec.support.files", require "spec.support.search_path"
  local place, found = require("lfs").currentdir(), {}
  files.write(directory .. "/koine", SHIM:format(os.getenv "KOINE_LUA" or "lua5.4", place, server.url))
  local exports = "export LUA_PATH='%s' LUA_CPATH='%s' ANTHROPIC_API_KEY=docs-key PATH='%s':\"$PATH\"\n"
  files.write(directory .. "/paths", exports:format(search_path(package.path), search_path(package.cpath), directory))
  local command = ("cd '%s' && chmod +x koine && . ./paths && sh -e script </dev/null 2>&1"):format(directory)
  for before, block in text:gmatch "()\n<!%-%- run %-%->\n```sh\n(.-)\n```" do
    local promised, _, line = {}, text:sub(1, before):gsub("\n", "")
    for words in block:gmatch "#> ?([^\n]*)" do promised[#promised + 1] = words end
    files.write(directory .. "/script", block .. "\n")
    local pipe = assert(io.popen(command))
    found[#found + 1] = { line = line, output = pipe:read "a", promised = table.concat(promised, "\n") .. "\n" }
    pipe:close()
  end
  return found
end

return pages
