--- Results of embeddings: checks what came back for a batch, puts it together with the rest by position.

local core = require "koine.core"
local rows = require "koine.provider"

local results = {}

local FLOAT = 4 -- bytes of a packed number

local function width_of(vector) return type(vector) == "string" and #vector // FLOAT or #vector end

--- Returns the problem of an answer's vectors: one of another width than was asked for, or than those before; nil
-- where there is none. Integers, of which eight may be packed into one, have any width.
function results.problem(job, found)
  for _, vector in ipairs(found.vectors) do
    local width = width_of(vector)
    if width == 0 then return "an empty vector" end
    if not job.ask.integers then
      job.width = job.width or width
      if width ~= job.width then
        return ("a vector of %d numbers, where %d were expected"):format(width, job.width)
      end
    end
  end
end

--- The id of a request among its answer's headers; nil where there is none.
function results.request_id(row, headers)
  return headers["request-id"] or headers["x-request-id"] or row.id_header and headers[row.id_header]
end

-- The name of a model without case, tag and what stands before it.
local function plain(name) return name:lower():gsub(":[^:/]*$", "") end

-- Warns where a server answered with another model than was asked.
local function check_model(job, answered)
  local asked = job.ask.model
  if not job.ask.facts.substitutes or type(answered) ~= "string" or plain(answered) == plain(asked) then return end
  job.ask.warn("model_substituted", "model", ("the server answered with %s"):format(answered))
end

local function add_usage(usage, found)
  if found.tokens and usage.input_tokens then usage.input_tokens = usage.input_tokens + found.tokens end
  if not found.tokens then usage.input_tokens, usage.incomplete = nil, true end
  usage.cost_of = (usage.requests == 0 or usage.cost_of) and found.cost and (usage.cost_of or 0) + found.cost or nil
  usage.requests = usage.requests + 1
end

-- "input 3" or "3 inputs, the first is input 7": of the positions of a batch that begins at `first`.
local function places(positions, first)
  local at = first + positions[1] - 1
  return positions[2] and ("%d inputs, the first is input %d"):format(#positions, at) or "input " .. at
end

--- Puts what came back for the batch that begins at input `first` into place, with what it says beside the vectors.
function results.add(job, found, first)
  local ask = job.ask
  table.move(found.vectors, 1, #found.vectors, first, job.vectors)
  add_usage(job.usage, found)
  table.insert(job.request_ids, found.request_id)
  job.model = job.model or type(found.model) == "string" and rows.model_id(job.state.row, found.model) or nil
  check_model(job, found.model)
  if found.truncated and found.truncated[1] then
    ask.warn("truncated", "truncate", "the provider cut " .. places(found.truncated, first))
  end
  if found.zeros then ask.warn("zero_vector", "inputs", "a vector has nothing but zeros") end
  if found.was_cut then
    ask.warn("dimensions_by_client", "dimensions", "the provider gave wider vectors: cut here, and their length made 1")
  end
  job.limits.width = job.limits.width or job.width
  if not ask.integers and not ask.dimensions then job.learnt.width = job.width end
  for name, limit in pairs(job.queue.learnt) do job.learnt[name] = limit end
end

local function usage_of(job)
  local usage = { input_tokens = job.usage.input_tokens, requests = job.usage.requests,
    incomplete = job.usage.incomplete }
  if job.usage.cost_of then usage.cost, usage.cost_source = { total = job.usage.cost_of }, "provider" end
  return setmetatable(usage, core.usage_mt)
end

--- The result of a call whose batches all came back.
function results.whole(job)
  local first = job.vectors[1]
  return { vectors = job.vectors, usage = usage_of(job), model = job.model or job.ask.model,
    dimensions = first and width_of(first) or nil, request_ids = job.request_ids, warnings = job.ask.warnings,
    attempts = job.attempts }
end

--- The error of a call of which a batch did not come back, with what did as err.partial.
function results.partial(job)
  local vectors = {}
  for i = 1, #job.texts do vectors[i] = job.vectors[i] or false end
  job.failure.attempts = job.attempts
  job.failure.partial = { vectors = vectors, failed = job.failed }
  return job.failure
end

return results
