-- What an agent may ask of its client: files and terminals behind an executor, questions to the user; and the options
-- of a session.

local core = require "koine.core"
local kit = require "spec.lua.protocol.acp.kit"
local koine = require "koine"
local process_kit = require "spec.lua.system.process_kit"

describe("a client", function()
  local bench, executor

  before_each(function()
    bench = kit.bench()
    executor = assert(koine.executor { workdir = bench.dir })
  end)
  after_each(function()
    executor:close()
    bench:close()
  end)

  -- What the agent says after this body, which sees `id`, `at` (the directory) and encode(value).
  local function said(body, given)
    given = given or { executor = executor }
    local _, result, err = bench:turn(("local at, encode = %q, require('koine.core').encode\n")
      :format(bench.dir) .. body .. "\nreturn 'end_turn'", given)
    return assert(result, err).text
  end

  describe("with an executor", function()
    it("reads and writes files for the agent", function()
      assert.equal('{}|{"content":"two\\n"}|{"content":"one\\ntwo\\nthree"}', said [[
        local wrote = ask("fs/write_text_file", { sessionId = id, path = at .. "/a/b", content = "one\ntwo\nthree" })
        local part = ask("fs/read_text_file", { sessionId = id, path = at .. "/a/b", line = 2, limit = 1 })
        local whole = ask("fs/read_text_file", { sessionId = id, path = at .. "/a/b", line = null, limit = null })
        text(id, encode(wrote) .. "|" .. encode(part) .. "|" .. encode(whole))]])
    end)

    it("refuses paths that lead outside, are relative, or are not there", function()
      assert.equal("-32603 -32602 -32002 -32603 -32602 -32602", said [[
        local codes = {}
        for _, path in ipairs { "/etc/passwd", "a", at .. "/none", at .. "/../x", 5, at .. "/\0" } do
          local _, err = ask("fs/read_text_file", { sessionId = id, path = path })
          codes[#codes + 1] = err.code
        end
        text(id, table.concat(codes, " "))]])
      assert.equal("-32603", said [[
        local _, err = ask("fs/write_text_file", { sessionId = id, path = "/tmp/no", content = "x" })
        text(id, tostring(err.code))]])
    end)

    it("runs commands in terminals", function()
      local text = said [[
        local t = ask("terminal/create", { sessionId = id, command = "sh", args = array { "-c",
          "echo $A; echo e >&2; exit 3" },
          env = array { { name = "A", value = "äö" } }, cwd = at }).terminalId
        local status = ask("terminal/wait_for_exit", { sessionId = id, terminalId = t })
        local output = ask("terminal/output", { sessionId = id, terminalId = t })
        update(id, { sessionUpdate = "tool_call_update", toolCallId = "x", status = "completed",
          content = array { { type = "terminal", terminalId = t } } })
        ask("terminal/release", { sessionId = id, terminalId = t })
        local _, gone = ask("terminal/output", { sessionId = id, terminalId = t })
        text(id, encode { status = status, output = output, gone = gone.code })]]
      local seen = core.decode(text)
      assert.same({ 3, "äö\ne\n", false, -32002 }, { seen.status.exitCode, seen.output.output, seen.output.truncated,
        seen.gone })
      assert.equal(3, seen.output.exitStatus.exitCode)
    end)

    it("keeps the end of a terminal's output, cut at a character", function()
      assert.equal('{"output":"ö\\nä\\n","truncated":true}', said([[
        local t = ask("terminal/create", { sessionId = id, command = "printf '%s\\n' xyz äö ä",
          outputByteLimit = 7 }).terminalId
        ask("terminal/wait_for_exit", { sessionId = id, terminalId = t })
        local output = ask("terminal/output", { sessionId = id, terminalId = t })
        output.exitStatus = nil
        text(id, encode(output))]]))
    end)

    it("says that a line beyond the limits ended a command, and that output is missing", function()
      local seen = core.decode(said [[
        local t = ask("terminal/create", { sessionId = id,
          command = "echo first; head -c 33554433 /dev/zero | tr '\\0' x; echo never" }).terminalId
        ask("terminal/wait_for_exit", { sessionId = id, terminalId = t })
        local output = ask("terminal/output", { sessionId = id, terminalId = t })
        update(id, { sessionUpdate = "tool_call_update", toolCallId = "x", status = "completed",
          content = array { { type = "terminal", terminalId = t } } })
        ask("terminal/release", { sessionId = id, terminalId = t })
        text(id, encode { output = output.output, truncated = output.truncated })]])
      assert.is_true(seen.truncated)
      assert.is_truthy(seen.output:find "^first\n%[.*33554432.*%]\n$", seen.output)
    end)

    it("kills what runs, and ends what the agent forgets", function()
      assert.equal("SIGTERM", said([[
        local t = ask("terminal/create", { sessionId = id, command = "sleep", args = array { "60" } }).terminalId
        local first = ask("terminal/output", { sessionId = id, terminalId = t })
        assert(first.exitStatus == nil)
        ask("terminal/kill", { sessionId = id, terminalId = t })
        text(id, ask("terminal/wait_for_exit", { sessionId = id, terminalId = t }).signal)]]))
      local session = bench:session([[prompt(function(_, id)
        ask("terminal/create", { sessionId = id, command = "sleep 60" }) return "end_turn" end)]],
        { executor = executor })
      assert(session:prompt "x")
      session:close()
      bench:close()
      assert.equal(0, process_kit.supervisors())
      bench = kit.bench()
    end)

    it("refuses commands outside, forbidden ones, and terminals of other sessions", function()
      assert.equal("-32603 -32603 -32602 -32002", said [[
        local codes = {}
        for _, params in ipairs { { command = "ls", cwd = "/" }, { command = "cat .env" }, { command = "" } } do
          params.sessionId = id
          local _, err = ask("terminal/create", params)
          codes[#codes + 1] = err.code
        end
        local t = ask("terminal/create", { sessionId = id, command = "true" }).terminalId
        local _, err = ask("terminal/output", { sessionId = "other", terminalId = t })
        text(id, table.concat(codes, " ") .. " " .. err.code)]])
    end)
  end)

  it("has the agent's questions answered", function()
    local asked = {}
    local FORM = [[local function question(params)
        params.sessionId, params.message = id, "Which?"
        local answer, err = ask("elicitation/create", params)
        return encode(answer or err.code)
      end
      local schema = { type = "object", properties = { x = { type = "string" } } }
      text(id, question { mode = "form", requestedSchema = schema } .. question { mode = "url", url = "https://e.org",
        elicitationId = "e1" } .. question { mode = "form", requestedSchema = schema } .. question { mode = "odd" })]]
    local answers = { { action = "accept", content = { x = "1" } }, "decline" }
    assert.equal('{"action":"accept","content":{"x":"1"}}{"action":"decline"}{"action":"cancel"}-32602',
      said(FORM, { on_elicit = function(question)
        asked[#asked + 1] = question.mode .. " " .. (question.url or question.schema.type) .. question.session.id
        return table.remove(answers, 1)
      end }))
    assert.same({ "form objects1", "url https://e.orgs1", "form objects1" }, asked)
  end)

  describe("sets options", function()
    local CONFIG = [[
      local value, mode = "small", false
      local function options()
        return array { { id = "m", name = "Model", category = "model", type = "select", currentValue = value,
          options = array { { group = "g", name = "G", options = array { { value = "small", name = "Small" } } },
            { value = "large", name = "Large" } } },
          { id = "fast", name = "Fast", type = "boolean", currentValue = mode } }
      end
      agent.session.configOptions = options()
      agent.on["session/set_config_option"] = function(params)
        if params.configId == "fast" then mode = params.value else value = params.value end
        return { configOptions = options() }
      end
      prompt(function(_, id)
        value = "small"
        update(id, { sessionUpdate = "config_option_update", configOptions = options() })
        return "end_turn"
      end)]]
    local OLD = [[
      agent.session.modes = { currentModeId = "code", availableModes = array { { id = "code", name = "Code" },
        { id = "plan", name = "Plan" } } }
      agent.session.models = { currentModelId = "a", availableModels = array { { modelId = "a", name = "A" },
        { modelId = "b", name = "B" } } }
      agent.on["session/set_mode"] = function() return null end
      agent.on["session/set_model"] = function() return {} end
      prompt(function(words, id)
        update(id, { sessionUpdate = "current_mode_update", [words] = "code" }) return "end_turn" end)]]

    it("of configOptions, by id, category and name", function()
      local session = bench:session(CONFIG, { model = "Large" })
      assert.equal("large", session.options[1].value)
      assert.is_true(session:set("m", "small"))
      assert.is_true(session:set("fast", true))
      assert.same({ "small", true }, { session.options[1].value, session.options[2].value })
      local sent = bench:heard "session/set_config_option"
      assert.same({ "m", "large", nil }, { sent[1].params.configId, sent[1].params.value, sent[1].params.type })
      assert.same({ "fast", true, "boolean" }, { sent[3].params.configId, sent[3].params.value, sent[3].params.type })
      assert(session:set("model", "large"))
      assert(session:prompt "x")
      assert.equal("small", session.options[1].value)
    end)

    it("of modes and models, the old forms", function()
      local session = bench:session(OLD, { mode = "plan", model = "b" })
      assert.same({ modeId = "plan", sessionId = "s1" }, bench:heard("session/set_mode")[1].params)
      assert.same({ modelId = "b", sessionId = "s1" }, bench:heard("session/set_model")[1].params)
      assert.same({ "plan", "b" }, { session.options[1].value, session.options[2].value })
      assert(session:prompt "currentModeId")
      assert.equal("code", session.options[1].value)
      assert(session:set("mode", "plan"))
      assert(session:prompt "modeId")
      assert.equal("code", session.options[1].value)
    end)

    it("and names those that there are", function()
      local session, connection = bench:session(CONFIG)
      local _, value = session:set("model", "huge")
      assert.same({ "invalid_request", "option" }, { value.kind, value.code })
      assert.is_truthy(value.message:find("small, large", 1, true))
      assert.is_truthy(select(2, session:set("effort", "high")).message:find("m, fast", 1, true))
      assert.is_truthy(select(2, session:set("fast", "yes")).message:find("true or false", 1, true))
      assert.equal("option", select(2, connection:new { model = "none" }).code)
      assert.equal(0, #bench:heard "session/set_config_option")
    end)
  end)
end)
