-- Random runs of a served agent (agent_program.lua): what it offers, and steps of a playbook with calls, refusals and
-- failures.

local core = require "koine.core"

local random = {}

--- Tools of the program that the calls name, besides those of an executor.
random.TOOLS = { "look", "fails", "picture", "pay", "shout" }

--- Options of koine.acp.serve.
random.SERVE = { executor = "client", modes = { { id = "ask", name = "Ask" }, { id = "go", name = "Go" } },
  options = { { id = "model", name = "Model", category = "model", value = "a", choices = { { value = "a", name = "A" },
    { value = "b", name = "B" } } }, { id = "web", name = "Web", value = false } } }

local CALLS = {
  { "look", { what = "a.txt" } }, { "look", { what = 3 } }, { "fails", {} }, { "nobody", {} }, { "picture", {} },
  { "pay", {} }, { "shout", {} }, { "bash", { command = "make\ntest" } }, { "bash", {} },
  { "write_file", { path = "w.txt", content = "one\ntwo\n" } }, { "read_file", { path = "w.txt", offset = 1 } },
  { "edit_file", { path = "w.txt", old_str = "two", new_str = "2" } }, { "read_file", { path = "none" } },
  { "text_editor", { command = "view", path = "w.txt" } }, { "grep", { pattern = "x" } }, { "list_dir", {} },
  { "write_file", { path = "../out", content = "x" } },
}

local STOPS = { "end_turn", "max_tokens", "stop_sequence" }

-- A random step of a playbook.
local function step()
  local kind = math.random(10)
  if kind <= 5 then
    local calls = {}
    for i = 1, math.random(3) do
      local call = CALLS[math.random(#CALLS)]
      calls[i] = { id = "c" .. i, name = call[1], arguments = call[2] }
    end
    return { type = "tool_calls", tool_calls = calls, thinking = math.random(2) == 1 and "Hm." or nil,
      content = math.random(2) == 1 and "I look." or nil }
  elseif kind == 6 then
    return { type = "error", error = { status = 529, type = "overloaded_error", message = "too busy" } }
  elseif kind == 7 then
    return { type = "answer", content = core.array { { type = "refusal", text = "No." } }, stop_reason = "refusal" }
  end
  return { type = "answer", content = "Text é 😀 of some length.", chunk = math.random(9),
    stop_reason = STOPS[math.random(#STOPS)], usage = { input_tokens = math.random(100), output_tokens = 5 } }
end

--- That many random steps, by the generator of math.random.
function random.steps(count)
  local list = {}
  for i = 1, count do
    list[i] = step()
    list[i].step = i
  end
  return list
end

return random
