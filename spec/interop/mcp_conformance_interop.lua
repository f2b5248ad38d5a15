-- MCP's own conformance suite judges our client, in both of its requirement sets. OAuth is not spoken: its scenarios
-- run too, and have to fail, so that one that we pass is moved to the others.

local mcp = require "spec.interop.support.mcp"
local program = require "spec.interop.support.program"

local CLIENT = "spec/interop/support/mcp/conformance.lua"

-- The scenarios that each revision requires, besides auth/*.
local REQUIRED = {
  ["2025-11-25"] = { "elicitation-sep1034-client-defaults", "initialize", "sse-retry", "tools_call" },
  ["2026-07-28"] = { "http-custom-headers", "http-invalid-tool-headers", "http-standard-headers",
    "json-schema-ref-no-deref", "request-metadata", "sep-2322-client-request-state", "tools_call" },
}

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
      local passed, failed = {}, {}
      for mark, name in log:gmatch "\n(%S+) ([%w_/.-]+): %d+ passed, %d+ failed" do
        (mark == "✓" and passed or failed)[name] = true
      end
      for _, name in ipairs(required) do assert.is_true(passed[name], name .. " failed; the suite said:\n" .. log) end
      local unspoken = 0
      for name in pairs(failed) do
        local is_scored = not log:find(("✗ %s ("):format(name), 1, true)
        assert.is_truthy(not is_scored or name:find "^auth/", name .. " is required, and unknown here:\n" .. log)
        if is_scored then unspoken = unspoken + 1 end
      end
      for name in pairs(passed) do
        assert.is_falsy(name:find "^auth/", name .. " passed; is OAuth spoken now?")
      end
      print(("  %s: %d scenarios of OAuth, which is not spoken"):format(revision, unspoken))
    end)
  end
end)
