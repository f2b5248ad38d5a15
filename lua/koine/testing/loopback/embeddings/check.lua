--- Strict validation of requests for embeddings, by dialect: what the servers refuse, and what they would misread
-- without a word. A checker returns the texts. Pure.

local check = require "koine.testing.loopback.check"
local json = require "koine.testing.loopback.json"

local set = check.set

local checkers = {}

local PURPOSES = "search_query search_document classification clustering"
local TASKS = "RETRIEVAL_QUERY RETRIEVAL_DOCUMENT SEMANTIC_SIMILARITY CLASSIFICATION CLUSTERING CODE_RETRIEVAL_QUERY"
local NOVA = "GENERIC_INDEX TEXT_RETRIEVAL CLASSIFICATION CLUSTERING"

-- An array of at most `max` texts.
local function texts(ctx, path, list, max)
  if not ctx:array(path, list) then
    return {}
  end
  if #list > max then
    ctx:add(path, "at most %d inputs can be in one batch", max)
  end
  for i, text in ipairs(list) do
    ctx:text(("%s.%d"):format(path, i - 1), text)
  end
  return list
end

-- The one text of a content of Google's: several parts would become one vector.
local function part(ctx, path, content)
  if not ctx:object(path, content, set "parts", "parts") or not ctx:array(path .. ".parts", content.parts) then
    return ""
  end
  if #content.parts > 1 then
    ctx:add(path .. ".parts", "several parts become one vector")
  end
  local first = content.parts[1]
  if ctx:object(path .. ".parts.0", first, set "text", "text") then
    ctx:text(path .. ".parts.0.text", first.text)
    return tostring(first.text)
  end
  return ""
end

-- A model of Google's that ignores what it is told of a purpose.
local function check_task(ctx, path, model, task, title)
  ctx:word(path, task, TASKS)
  if task and model:find("gemini-embedding-2", 1, true) then
    ctx:add(path, "the model ignores it")
  end
  if title ~= nil and task ~= "RETRIEVAL_DOCUMENT" then
    ctx:add(path, "a title goes with RETRIEVAL_DOCUMENT only")
  end
end

function checkers.openai(ctx, body)
  ctx:object("request", body, set [[model input dimensions encoding_format user input_type truncation output_dimension
    output_dtype]], "model input")
  ctx:string("model", body.model)
  ctx:integer("dimensions", body.dimensions, 1)
  ctx:integer("output_dimension", body.output_dimension, 1)
  if body.dimensions and body.output_dimension then
    ctx:add("dimensions", "one of dimensions and output_dimension expected")
  end
  ctx:word("encoding_format", body.encoding_format, "base64 float")
  ctx:word("input_type", body.input_type, "query document")
  ctx:boolean("truncation", body.truncation)
  return texts(ctx, "input", body.input, 2048)
end

function checkers.cohere(ctx, body, path)
  local in_path = path:find("^/model/") ~= nil
  ctx:object("request", body, set("texts input_type truncate output_dimension embedding_types"
    .. (in_path and "" or " model max_tokens")), "texts input_type" .. (in_path and "" or " model embedding_types"))
  ctx:word("input_type", body.input_type, PURPOSES)
  ctx:word("truncate", body.truncate, "NONE START END")
  ctx:integer("output_dimension", body.output_dimension, 1)
  ctx:strings("embedding_types", body.embedding_types, 5)
  return texts(ctx, "texts", body.texts, 96)
end

function checkers.gemini(ctx, body, path)
  local model, found = path:match "([^/:]+):%a+$", {}
  ctx:object("request", body, set "requests", "requests")
  if not ctx:array("requests", body.requests) then
    return found
  end
  if #body.requests > 100 then
    ctx:add("requests", "at most 100 requests can be in one batch")
  end
  for i, request in ipairs(body.requests) do
    local at = ("requests.%d"):format(i - 1)
    if ctx:object(at, request, set "model content taskType title outputDimensionality", "model content") then
      if request.model ~= "models/" .. model then
        ctx:add(at .. ".model", "models/%s expected, as in the path", model)
      end
      check_task(ctx, at .. ".taskType", model, request.taskType, request.title)
      ctx:integer(at .. ".outputDimensionality", request.outputDimensionality, 1)
    end
    found[i] = json.is_object(request) and part(ctx, at .. ".content", request.content) or ""
  end
  return found
end

function checkers.vertex_predict(ctx, body, path)
  local model, found = path:match "([^/:]+):%a+$", {}
  ctx:object("request", body, set "instances parameters", "instances")
  if json.is_object(body.parameters) then
    ctx:object("parameters", body.parameters, set "outputDimensionality autoTruncate")
    ctx:boolean("parameters.autoTruncate", body.parameters.autoTruncate)
  end
  if not ctx:array("instances", body.instances) then
    return found
  end
  if #body.instances > (model == "gemini-embedding-001" and 1 or 250) then
    ctx:add("instances", "the model takes fewer instances at most")
  end
  for i, instance in ipairs(body.instances) do
    local at = ("instances.%d"):format(i - 1)
    if ctx:object(at, instance, set "content task_type title", "content") then
      ctx:text(at .. ".content", instance.content)
      check_task(ctx, at .. ".task_type", model, instance.task_type, instance.title)
    end
    found[i] = json.is_object(instance) and tostring(instance.content) or ""
  end
  return found
end

function checkers.vertex_content(ctx, body, path)
  ctx:object("request", body, set "content embedContentConfig", "content")
  local config = body.embedContentConfig
  if config ~= nil and ctx:object("embedContentConfig", config,
    set "taskType title outputDimensionality autoTruncate") then
    check_task(ctx, "embedContentConfig.taskType", path:match "([^/:]+):%a+$", config.taskType, config.title)
    ctx:boolean("embedContentConfig.autoTruncate", config.autoTruncate)
  end
  return { part(ctx, "content", body.content) }
end

function checkers.ollama(ctx, body)
  ctx:object("request", body, set "model input truncate dimensions keep_alive options", "model input")
  ctx:string("model", body.model)
  ctx:boolean("truncate", body.truncate)
  ctx:integer("dimensions", body.dimensions, 1)
  return texts(ctx, "input", body.input, 100000)
end

function checkers.titan(ctx, body)
  ctx:object("request", body, set "inputText dimensions normalize", "inputText")
  ctx:word("dimensions", tostring(body.dimensions or 1024), "256 512 1024")
  ctx:boolean("normalize", body.normalize)
  ctx:text("inputText", body.inputText)
  return { tostring(body.inputText) }
end

function checkers.nova(ctx, body)
  ctx:object("request", body, set "taskType singleEmbeddingParams", "taskType singleEmbeddingParams")
  ctx:word("taskType", body.taskType, "SINGLE_EMBEDDING")
  local params = body.singleEmbeddingParams
  if not ctx:object("singleEmbeddingParams", params, set "embeddingPurpose embeddingDimension text",
    "embeddingPurpose text") then
    return { "" }
  end
  ctx:word("singleEmbeddingParams.embeddingPurpose", params.embeddingPurpose, NOVA)
  ctx:integer("singleEmbeddingParams.embeddingDimension", params.embeddingDimension, 1)
  local at = "singleEmbeddingParams.text"
  if ctx:object(at, params.text, set "truncationMode value", "truncationMode value") then
    ctx:word(at .. ".truncationMode", params.text.truncationMode, "NONE START END")
    ctx:text(at .. ".value", params.text.value)
  end
  return { json.is_object(params.text) and tostring(params.text.value) or "" }
end

--- Checks a request of a dialect. Returns the decoded body (nil when it is no object), an array of problems and the
-- texts.
return function(dialect, request)
  local ctx = check.new()
  local body = ctx:body(request)
  if not body then
    return nil, ctx.problems, {}
  end
  local found = checkers[dialect](ctx, body, request.path)
  return body, ctx.problems, found
end
