--- Ollama's native endpoint of the loopback provider: plans become the wire's own answers and lines, errors take its
-- own shape; lists of models, what it says of one, and downloads. Pure.

local json = require "koine.testing.loopback.json"
local logprobs = require "koine.testing.loopback.wire.logprobs"
local pieces = require "koine.testing.loopback.wire.pieces"

local object, array = json.object, json.array

local ollama = {
  check = require "koine.testing.loopback.wire.ollama.check", tool_prefix = "call_", id_prefix = "",
  paths = { "/api/chat" }, stream_type = "application/x-ndjson",
}

local CREATED = "2026-01-01T00:00:00Z" -- fixed, so that the same request gets the same bytes
local CONTEXT = 40960                  -- of every model
local SIZE = 1000000                   -- of every download

local STOPS = { end_turn = "stop", stop_sequence = "stop", pause_turn = "stop", tool_use = "stop", refusal = "stop",
  sensitive = "stop", max_tokens = "length", context_overflow = "length" }

-- Words that scripts use for errors on other wires → status.
local STATUSES = { invalid_request_error = 400, invalid_value = 400, authentication_error = 401, invalid_api_key = 401,
  permission_error = 403, not_found_error = 404, model_not_found = 404, rate_limit_error = 429,
  rate_limit_exceeded = 429, overloaded_error = 503 }

--- The schema of the value that a request asks for, or nil.
function ollama.schema(body) return body.format ~= "json" and body.format or nil end

--- The status that an error type or code stands for (500 when unknown).
function ollama.status(word) return STATUSES[word] or 500 end

--- An error body: the message, and no more.
function ollama.error_body(_, err) return json.encode(object("error", err.message or "scripted error")) end

--- This server gives its requests no ids.
function ollama.id_header() return nil end

--- The message when the request carries a malformed key, else nil. No key at all is fine.
function ollama.missing_key(headers)
  if headers["authorization"] and not headers["authorization"]:find("^Bearer %S+$") then
    return "unauthorized"
  end
end

--- Why this wire cannot carry the plan, or nil.
local function unfit(plan)
  for _, block in ipairs(plan.blocks) do
    if block.type == "opaque" or block.type == "redacted_thinking" then
      return ("Ollama's wire has no %s blocks"):format(block.type)
    elseif block.type == "tool_use" and block.json ~= "" and json.decode(block.json) == nil then
      return "Ollama's wire cannot carry arguments that are not JSON"
    end
  end
end

local function call_object(block, index)
  return object("id", block.id, "function", object("index", index, "name", block.name,
    "arguments", json.raw(block.json == "" and "{}" or block.json)))
end

-- A count of zero is left out, as Go does.
local function count(n)
  return n and n > 0 and n or nil
end

-- The last line's members behind `done`.
local function ending(plan)
  local usage = plan.usage
  if not usage then
    return "done_reason", STOPS[plan.stop] or plan.stop
  end
  return "done_reason", STOPS[plan.stop] or plan.stop, "total_duration", 5000000, "load_duration", 1000000,
    "prompt_eval_count", count(usage.input + usage.cache_read + (usage.cache_creation or 0)),
    "prompt_eval_duration", 2000000, "eval_count", count(usage.output), "eval_duration", 2000000
end

local function line(plan, message, done, ...)
  return object("model", plan.model, "created_at", CREATED, "message", message, "done", done, ...)
end

-- The line with how likely the tokens of text are (blocks, or a piece of it), where the request asks for it.
local function with_logprobs(made, body, text)
  if body.logprobs then
    json.put(made, "logprobs", logprobs.tokens(text, body.top_logprobs or 0))
  end
  return made
end

--- The body of the plain answer. nil and the reason when the wire cannot carry it.
function ollama.plain(plan, body)
  local why = unfit(plan)
  if why then
    return nil, why
  end
  local text, thoughts, calls = {}, {}, array {}
  for _, block in ipairs(plan.blocks) do
    if block.type == "tool_use" then
      calls[#calls + 1] = call_object(block, #calls)
    else
      local list = block.type == "thinking" and thoughts or text
      list[#list + 1] = block.text
    end
  end
  local message = object("role", "assistant", "content", table.concat(text),
    "thinking", #thoughts > 0 and table.concat(thoughts) or nil, "tool_calls", #calls > 0 and calls or nil)
  return json.encode(with_logprobs(line(plan, message, true, ending(plan)), body, plan.blocks))
end

local function class_of(block)
  return block.type
end

-- A line's field at one step, or nil, and its value: a call is told whole, at its end. `index` counts the calls.
local function step_fields(kind, block, fragment, index)
  if block.type == "tool_use" then
    return kind == "end" and "tool_calls" or nil, array { call_object(block, index) }
  end
  return kind == "delta" and (block.type == "thinking" and "thinking" or "content") or nil, fragment
end

--- The pieces of the streamed answer, one per line; nil and the reason when the wire cannot carry it.
function ollama.stream(plan, body)
  local why = unfit(plan)
  if why then
    return nil, why
  end
  local failure = plan.stream_error
  local out = pieces.new(failure)
  for kind, block, fragment, index in pieces.steps(plan, class_of) do
    local field, value = step_fields(kind, block, fragment, index)
    if kind == "delta" then
      out:count()
    end
    if field then
      local message = object("role", "assistant", "content", field == "content" and value or "")
      json.put(message, field, field ~= "content" and value or nil)
      local made = line(plan, message, false)
      out:add(json.encode(block.type == "text" and with_logprobs(made, body, fragment) or made) .. "\n")
    end
  end
  if failure then
    return out:fail(json.encode(object("error", failure.message or "scripted error",
      "status", failure.status or ollama.status(failure.code or failure.type))) .. "\n")
  end
  out:add(json.encode(line(plan, object("role", "assistant", "content", ""), true, ending(plan))) .. "\n")
  return out.list
end

--- Nothing that this wire hands out is looked at again.
function ollama.remember() end

local function details(context)
  return object("parent_model", "", "format", "gguf", "family", "koine", "families", array { "koine" },
    "parameter_size", "4.0B", "quantization_level", "Q4_K_M", "context_length", context)
end

local function tags(ids)
  local models = array {}
  for i, id in ipairs(ids) do
    models[i] = object("name", id, "model", id, "modified_at", CREATED, "size", SIZE, "digest", ("%064x"):format(i),
      "details", details())
  end
  return 200, json.encode(object("models", models))
end

-- The model that a request names, or nil and the answer that refuses it.
local function named(ids, request)
  local body = json.decode(request.body)
  local wanted = type(body) == "table" and body.model
  for _, id in ipairs(ids) do
    if id == wanted then return id end
  end
  return nil, 404, json.encode(object("error", ("model '%s' not found"):format(tostring(wanted))))
end

local function show(ids, request)
  local id, status, refusal = named(ids, request)
  if not id then
    return status, refusal
  end
  return 200, json.encode(object("parameters", "num_ctx 8192", "template", "{{ .Prompt }}", "details", details(),
    "model_info", object("general.architecture", "koine", "koine.context_length", CONTEXT),
    "capabilities", array { "completion", "tools", "thinking" }, "modified_at", CREATED))
end

-- The first model is loaded, with a smaller context than it can have.
local function ps(ids)
  return 200, json.encode(object("models", array { object("name", ids[1], "model", ids[1], "size", SIZE,
    "digest", ("%064x"):format(1), "details", details(), "expires_at", CREATED, "size_vram", SIZE,
    "context_length", 4096) }))
end

local function pull(ids, request)
  local id = named(ids, request)
  local digest, out = "sha256:" .. ("%064x"):format(1), {}
  local function add(...)
    out[#out + 1] = json.encode(object(...)) .. "\n"
  end
  add("status", "pulling manifest")
  if not id then
    add("error", "pull model manifest: file does not exist")
    return 200, table.concat(out), ollama.stream_type
  end
  for _, completed in ipairs { false, SIZE // 2, SIZE } do
    add("status", "pulling " .. digest:sub(8, 19), "digest", digest, "total", SIZE, "completed", completed or nil)
  end
  for _, status in ipairs { "verifying sha256 digest", "writing manifest", "success" } do
    add("status", status)
  end
  return 200, table.concat(out), ollama.stream_type
end

--- The answers of this server beside chats, by method and path: function(ids of its models, request) → status, body,
-- and its content type where it is not JSON.
ollama.beside = { ["GET /api/tags"] = tags, ["GET /api/ps"] = ps, ["POST /api/show"] = show,
  ["POST /api/pull"] = pull }

return ollama
