--- Servers of MCP from npm, as make interop installs them, and clients of ours on them.

local koine = require "koine"
local program = require "spec.interop.support.program"

local mcp = {}

--- The interpreter, and the folder of the packages.
mcp.node = os.getenv "KOINE_NODE" or "node"
mcp.folder = assert(os.getenv "KOINE_INTEROP", "run by: make interop") .. "/mcp"

--- The path of a file in the npm package `name` of @modelcontextprotocol.
function mcp.file(name, path) return ("%s/node_modules/@modelcontextprotocol/%s/%s"):format(mcp.folder, name, path) end

--- The command and arguments of the reference server `name` ("everything"), as `connect` takes them.
function mcp.reference(name, ...)
  return { command = mcp.node, args = { mcp.file("server-" .. name, "dist/index.js"), ... } }
end

--- Those of our own script on @modelcontextprotocol/server.
function mcp.modern() return { command = mcp.node, args = { "spec/interop/support/mcp/modern.mjs", mcp.folder } } end

--- Starts the reference server everything over HTTP: a program (to be stopped), with its URL in `answer`.
function mcp.everything_http()
  local port = program.free_port()
  local command = ("env PORT=%d %s %s streamableHttp"):format(port, program.quote(mcp.node),
    program.quote(mcp.file("server-everything", "dist/index.js")))
  return program.start(program.folder(), command, function()
    return program.listens(port) and ("http://127.0.0.1:%d/mcp"):format(port)
  end)
end

--- Starts our script over HTTP: a program (to be stopped), with its URL in `answer`.
function mcp.modern_http()
  local here = io.popen("pwd"):read "l"
  local command = ("%s %s/spec/interop/support/mcp/modern.mjs %s 0"):format(program.quote(mcp.node),
    program.quote(here), program.quote(mcp.folder))
  return program.start(program.folder(), command, function(log)
    local port = log:match "listening on (%d+)"
    return port and ("http://127.0.0.1:%s/mcp"):format(port)
  end)
end

--- Connects: `server` has command and args, or url; `opts` (nil: none) goes over it. Raises what goes wrong.
function mcp.connect(server, opts)
  local all = { name = "judge" }
  for name, value in next, server do all[name] = value end
  for name, value in next, opts or {} do all[name] = value end
  return assert(koine.mcp.connect(all))
end

--- The texts of a result's content, joined.
function mcp.text(result)
  local texts = {}
  for _, item in ipairs(result.content) do texts[#texts + 1] = item.text end
  return table.concat(texts, "\n")
end

return mcp
