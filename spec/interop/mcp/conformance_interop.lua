-- MCP's own conformance suite judges our client, in both of its requirement sets: every scenario that it scores has to
-- pass. It runs extensions of OAuth, too, which Koine does not speak, and does not score them.

local mcp = require "spec.interop.support.mcp"
local program = require "spec.interop.support.program"

local CLIENT = "spec/interop/support/mcp/conformance.lua"

-- How many scenarios each revision requires.
local REQUIRED = { ["2025-11-25"] = 18, ["2026-07-28"] = 32 }

-- The output of the suite's command `client` with these arguments.
local function suite(arguments)
  local folder = program.folder()
  local command = ("%s %s client --command '%s %s' %s >%s/log 2>&1"):format(program.quote(mcp.node),
    program.quote(mcp.file("conformance", "dist/index.js")), os.getenv "KOINE_LUA" or "lua5.4", CLIENT, arguments,
    program.quote(folder))
  os.execute(command)
  local log = program.read(folder .. "/log")
  os.execute("rm -rf " .. program.quote(folder))
  return log
end

describe("the conformance suite", function()
  for revision, required in pairs(REQUIRED) do
    it("passes the client at " .. revision, function()
      local log = suite("--timeout 60000 --verbose --requirements " .. revision)
      local passed = 0
      for mark, name, warnings in log:gmatch "\n(%S+) ([%w_/.-]+): %d+ passed, %d+ failed([^\n]*)" do
        local is_scored = not log:find(("%s %s ("):format(mark, name), 1, true)
        assert.is_truthy(not is_scored or mark == "✓", name .. " failed; the suite said:\n" .. log)
        assert.is_truthy(not is_scored or warnings == "", name .. warnings)
        if is_scored then passed = passed + 1 end
      end
      assert.are.equal(required, passed)
    end)
  end
end)
