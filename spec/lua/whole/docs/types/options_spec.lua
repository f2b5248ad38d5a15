-- The types for editors against the code: the options of every function, which of them are required, their defaults.

local koine = require "koine"
local typed = require "spec.lua.whole.docs.types.typed"

-- File below lua/koine → the classes of its tables of options and records, in order; false: it is for Koine's own code.
local TABLES = {
  ["agent/keeper.lua"] = { "KeeperOptions" }, ["agent/tool.lua"] = { "ToolFields" },
  ["call/models/pull.lua"] = { "PullOptions" },
  ["call/options/values.lua"] = { "Timeouts", "Retry", "Limits", false, false }, -- the last two: see ThinkingOption
  ["call/output/option.lua"] = { "OutputOption" },
  ["data/files/block.lua"] = { "ImageFileOptions", "DocumentFileOptions" },
  ["data/observer/init.lua"] = { "ObserverSettings" },
  ["dispatch/acp/init.lua"] = { false }, -- AcpTargetOptions are these and those of connect
  ["dispatch/packing/init.lua"] = { "PackOptions" }, ["dispatch/packing/metrics.lua"] = { "AlarmOptions" },
  ["dispatch/settings.lua"] = { "DispatcherOptions", "SharedOptions" },
  ["dispatch/shared/init.lua"] = { "SubmitOptions" },
  ["net/connect.lua"] = { false }, ["system/standard.lua"] = { false },
  ["observe/cost.lua"] = { "CostOptions" }, ["observe/jsonl.lua"] = { "JsonlOptions" },
  ["observe/otlp/init.lua"] = { "OtlpOptions" },
  ["protocol/acp/client/options.lua"] = { "AcpTimeouts", "AcpConnectOptions", "AcpSessionOptions", false,
    "AcpTurnOptions" },
  ["protocol/acp/client/servers.lua"] = { "AcpServer" },
  ["protocol/acp/serve/options.lua"] = { "ServedMode", "ServedLogin", "ServedChoice", "ServedOption",
    "AcpServeOptions" },
  ["protocol/mcp/client/init.lua"] = { "McpCallOptions", "McpToolsOptions", "McpRef", "McpArgument",
    "McpListenOptions" },
  ["protocol/mcp/client/options.lua"] = { "McpTimeouts", "McpOptions" },
  ["protocol/mcp/inputs/init.lua"] = { false }, ["protocol/mcp/inputs/roots.lua"] = { false },
  ["protocol/mcp/login/init.lua"] = { "McpLoginTo", "McpLoginOptions" },
  ["protocol/mcp/servers/init.lua"] = { "McpLoadOptions", "McpServersToolsOptions" },
  ["protocol/mcp/transport/http/init.lua"] = { false }, ["protocol/mcp/transport/stdio.lua"] = { false },
  ["protocol/rpc/init.lua"] = { false, false, false },
  ["provider/auth/sigv4.lua"] = { "AwsCredentials" },
  ["session/input.lua"] = { "SessionInput" },
  ["session/types.lua"] = { "EventFields", "SessionUsageFields", "AuditFields", "SessionResultFields" },
  ["store/bucket_limiter.lua"] = { "StoreLimiterOptions" },
  ["store/check.lua"] = { "PutOptions", "DeleteOptions", "ListOptions", "TakeOptions", "PushOptions", "ClaimOptions",
    "UnclaimOptions" },
  ["store/file/init.lua"] = { "FileStoreOptions" }, ["store/memory.lua"] = { "MemoryOptions" },
  ["store/rate_limiter.lua"] = { "FileLimiterOptions" }, ["store/redis/init.lua"] = { "RedisOptions" },
  ["store/sql/init.lua"] = { "SqlOptions" },
  ["system/artifacts/init.lua"] = { "SnapshotOptions", "CompareOptions" },
  ["system/executor/init.lua"] = { "Through", "ExecutorOptions", "CommandOptions" },
  ["system/executor/remote.lua"] = { "RemoteOptions" }, ["system/executor/service.lua"] = { "ServeOptions" },
  ["system/process.lua"] = { "ProcessOptions", "ProgramOptions" },
  ["testing/cassette/init.lua"] = { "CassetteMatch", "CassetteOptions", "CassetteFault" },
  ["testing/contract/init.lua"] = { "ContractFlags" },
  ["testing/playbook/steps.lua"] = { false, false, false, false, false, false, false, false, false }, -- PlaybookStep
  ["testing/store_contract/init.lua"] = { "StoreContractSpec" },
}

-- File → array of {name → "required", "optional" or "default VALUE"}, as the checkers have them.
local function tables_of_code()
  local found = {}
  local lua = os.getenv "KOINE_LUA" or arg[-1] or "lua5.4"
  local program <close> = assert(io.popen(lua .. " spec/lua/whole/docs/types/options.lua"))
  for line in program:lines() do
    local file, n, name, mark = line:match "^(%S+)\t(%d+)\t(%S+)\t(.*)$"
    found[file] = found[file] or {}
    found[file][tonumber(n)] = found[file][tonumber(n)] or {}
    found[file][tonumber(n)][name] = mark
  end
  return found
end

-- How a default value may be written: 262144 is also 256 KiB.
local function ways_to_write(value)
  local ways, number = { value, '"' .. value .. '"' }, tonumber(value)
  for unit, size in pairs { KiB = 1 << 10, MiB = 1 << 20, GiB = 1 << 30 } do
    if number and number % size == 0 and number > 0 then ways[#ways + 1] = ("%d %s"):format(number // size, unit) end
  end
  if value == koine.version then ways[#ways + 1] = "Koine's version" end
  return ways
end

local function tells(text, value)
  for _, way in ipairs(ways_to_write(value)) do
    if (" " .. text .. " "):find(way, 1, true) then return true end
  end
  return false
end

-- Defaults that are nothing need not be told.
local PLAIN = { ["-"] = true, ["false"] = true, [""] = true, ["0"] = true, ["0.0"] = true }

describe("types of options", function()
  it("have the options of every function, those that are required, and the defaults", function()
    local code = tables_of_code()
    typed.assert_same(code, TABLES, "files with options")
    local count = 0
    for file, tables in pairs(code) do
      assert.are.equal(#tables, #TABLES[file], file .. ": the number of its tables of options")
      for n, members in ipairs(tables) do
        local class = TABLES[file][n] and "koine." .. TABLES[file][n]
        local fields = class and typed.fields_of(class)
        if fields then typed.assert_same(members, fields, ("%s (%s)"):format(class, file)) end
        for name, mark in pairs(fields and members or {}) do
          local field, default = fields[name], mark:match "^default (.*)$"
          assert.are.equal(mark ~= "required", field.optional, ("%s.%s: whether it may be missing"):format(class, name))
          assert(not default or PLAIN[default] or tells(field.text, default),
            ("%s.%s: its text does not tell the default %s"):format(class, name, default or ""))
          count = count + 1
        end
      end
    end
    assert.is_true(count > 350)
  end)

  it("have the options of adapters, calls and embeddings", function()
    local options = require "koine.call.options"
    local upvalue = typed.upvalue
    local agents = require "koine.agent.fields"
    for class, members in pairs { AdapterOptions = upvalue(options.constructor, "CONSTRUCTOR"),
      CallOptions = upvalue(options.call, "CALL"), EmbedOptions = upvalue(require "koine.call.options.embed", "EMBED"),
      AgentOptions = upvalue(agents.merged, "FIELDS") } do
      typed.assert_same(members, typed.fields_of("koine." .. class), class)
    end
  end)

  it("have the fields of the loopback provider's answers", function()
    local check = require("koine.testing.loopback.script.answers").check
    local known = typed.upvalue(typed.upvalue(check, "check_answer"), "ANSWER")
    typed.assert_same(known, typed.fields_of "koine.ScriptedAnswer", "ScriptedAnswer")
  end)

  it("have the own options of each provider", function()
    local rows = require "koine.provider"
    local usual = typed.fields_of "koine.AdapterOptions"
    for _, name in ipairs(rows.names) do
      local row, own, written = rows.load(name), {}, {}
      for key, value in pairs(row.options or {}) do own[type(key) == "string" and key or value] = true end
      local class = typed.all.functions["koine." .. name].params[1].type
      for field in pairs(typed.fields_of(class)) do written[field] = not usual[field] or nil end
      typed.assert_same(own, written, class)
      assert.are.equal(row.default_model ~= nil, typed.fields_of(class).model.optional, class .. ".model")
    end
  end)
end)
