-- Compares the deltas of a stream with the answer that they tell, and judges their grammar.

local match = require("spec.lua.codec.replay.match").value
local vocabulary = require "koine.data.vocabulary"

local replay_deltas = {}

-- A delta that is misshapen, in words; nil when it is well-formed.
local function misshapen(delta)
  local form = vocabulary.deltas[delta.type]
  if not form then return "unknown type" end
  local known = { type = true }
  for _, field in ipairs(form.fields) do
    known[field] = true
    if type(delta[field]) ~= "string" or delta[field] == "" then return field .. ": non-empty string expected" end
  end
  for field in pairs(delta) do
    if not known[field] then return "unknown field " .. tostring(field) end
  end
end

-- The blocks that the deltas tell, in the order of their starts: {kind, text, id, name, ended}. Adds every breach of
-- the grammar to `problems`: stream := block*, block := start delta* end; text and thinking stand alone, tool calls
-- may interleave.
local function blocks_of(problems, deltas)
  local blocks, calls, open, running = {}, {}, 0, nil
  local function bad(i, text) problems[#problems + 1] = ("deltas[%d] (%s): %s"):format(i, deltas[i].type, text) end
  for i, delta in ipairs(deltas) do
    local wrong = misshapen(delta)
    if wrong then
      bad(i, wrong)
      break
    end
    local kind, what = delta.type:match "^(.*)_(%a+)$"
    local block
    if what == "start" then
      block = { kind = kind, text = {}, id = delta.tool_call_id, name = delta.tool_name }
      if running then bad(i, "a " .. running.kind .. " block is open") end
      if kind == "tool_use" then
        if calls[block.id] then bad(i, "a second start of " .. block.id) end
        calls[block.id], open = block, open + 1
      else
        if open > 0 then bad(i, "a tool call is open") end
        running = block
      end
      blocks[#blocks + 1] = block
    else
      block = kind == "tool_use" and calls[delta.tool_call_id] or kind ~= "tool_use" and running
      if not block or block.kind ~= kind or block.ended then
        bad(i, "no such block is open")
      elseif what == "delta" then
        block.text[#block.text + 1] = delta.text or delta.argument_delta
      elseif kind == "tool_use" then
        block.ended, open = true, open - 1
      else
        block.ended, running = true, nil
      end
    end
  end
  for _, block in ipairs(blocks) do block.text = table.concat(block.text) end
  return blocks
end

local TEXT_OF = { text = "text", thinking = "thinking", tool_use = "arguments_json" }

--- Adds to `problems` where deltas and finished message differ.
-- Compares what the deltas told with the finished message.
function replay_deltas.match(problems, deltas, response)
  local blocks, text = blocks_of(problems, deltas), {}
  local n = 0
  for i, block in ipairs(response.content) do
    local field = TEXT_OF[block.type]
    local silent = block[field] == "" and block.type == "text" -- Gemini's, to carry a signature
    if field and not silent then
      n = n + 1
      local told, path = blocks[n] or { text = "" }, ("deltas of content[%d]"):format(i)
      match(problems, path .. ": kind", block.type, told.kind)
      match(problems, path .. ": ended", true, told.ended)
      if block.type == "tool_use" then
        match(problems, path .. ": tool_call_id", block.id, told.id)
        match(problems, path .. ": tool_name", block.name, told.name)
      end
      if block.type == "text" then text[#text + 1] = told.text end
      local empty = block.type == "tool_use" and told.text == ""
      match(problems, path, block[field], empty and "{}" or told.text)
    end
  end
  match(problems, "blocks told by deltas", n, #blocks)
  match(problems, "text of the deltas", response:text(), table.concat(text))
end

--- Of an answer that failed, the deltas tell what the partial Response holds.
function replay_deltas.match_partial(problems, deltas, partial)
  local told = { text = {}, thinking = {}, tool_use = {} }
  for _, block in ipairs(blocks_of(problems, deltas)) do
    local list = told[block.kind]
    list[#list + 1] = block.text
  end
  match(problems, "text of the deltas", partial and partial:text() or "", table.concat(told.text))
  match(problems, "thinking of the deltas", partial and partial:thinking() or "", table.concat(told.thinking))
end

return replay_deltas
