--- Embeddings: texts to vectors, as many as there are texts and in their order. The inputs go out in batches, each with
-- retries of its own; what a provider's body looks like says its dialect, what it can do says its row.
--
-- A dialect (dialects/NAME.lua) is two pure functions and two lists:
--   render(ask, texts)  the body of a request for these texts; ask: see check.lua
--   read(answer, n)     {vectors = array of n in the order of the texts, tokens, model, cost (USD), truncated = array
--                       of positions}, of which all but the first may be nil; or nil and what is wrong
--   paths, keep         where vectors are in the answer, and the other members that `read` looks at: core.vectors
-- The row's `embed` has the facts: koine.provider.

local core = require "koine.core"
local answers = require "koine.call.embed.answer"
local attempt = require "koine.call.attempt"
local batches = require "koine.call.embed.batches"
local checks = require "koine.call.embed.check"
local errors = require "koine.data.errors"
local observe = require "koine.call.observe"
local options = require "koine.call.options.embed"
local refusal = require "koine.call.embed.refusal"
local percent = require("koine.data.text").percent
local results = require "koine.call.embed.result"
local scheduler = require "koine.task.scheduler"
local wait = require "koine.task.wait"

local INPUTS = 256           -- of a request, where the row says nothing
local IN_TASKS = 4           -- requests in flight at once within koine.run
local BODY = 64 << 20        -- bytes of an answer, where the option limits says nothing

-- The request for a login module that looks at a chat's messages: the user asks.
local REQUEST = { messages = { { role = "user", content = "" } } }

-- The path behind the base URL.
local function path_of(facts, model)
  if model == "." or model == ".." then core.raise_argument("model", "a name without . or ..", "one with") end
  return (facts.path:gsub("{model}", (percent(model):gsub("%%", "%%%%"))))
end

-- The value in an answer of 2xx: what the dialect reads of it, checked; or nil and a problem. Its body is no string.
local function read(job, answer, n)
  local ask, settings = job.ask, job.settings
  local cut = settings.truncate_client and settings.dimensions or nil
  local value, zeros, was_cut = core.vectors(answer.body, { paths = job.dialect.paths, keep = job.keep,
    packing = ask.packing, packed = settings.as == "packed", whole = ask.integers or ask.packing and not ask.normalize,
    normalise = ask.normalize, cut = cut })
  if value == nil then return nil, zeros end
  if type(value) ~= "table" then return nil, { message = "the answer is no JSON object" } end
  if type(value.error) == "table" then return nil, { refusal = true } end
  local found, why = job.dialect.read(value, n)
  if not found then return nil, { message = why } end
  why = results.problem(job, found)
  if why then return nil, { message = why } end
  local counted = ask.facts.tokens_header and answers.count(tonumber(answer.headers[ask.facts.tokens_header]))
  found.tokens = found.tokens or counted
  found.zeros, found.was_cut = zeros > 0, was_cut
  found.request_id = results.request_id(job.state.row, answer.headers)
  return found
end

-- Waits as long as a refusal for too many requests holds for all requests of the call: true, or nil, err.
local function hold(job)
  while job.not_before and wait.now() < job.not_before do
    local slept, err = wait.sleep(job.not_before - wait.now())
    if not slept then return nil, err end
  end
  return true
end

-- The request for a batch, with a ledger of its own.
local function call_for(job)
  local state, settings = job.state, job.settings
  local call = attempt.call(job.adapter, state, job.settings)
  call.request, call.judge = REQUEST, function(err) refusal.judge(err, job.ask.facts) end
  call.hold = function() return hold(job) end
  call.hold_body = true
  call.ledger.deadline = job.deadline
  if job.span then observe.join(call, job.span) end
  if not settings.base_url then call.base_url = job.ask.facts.base_url end
  return call
end

-- Sends a batch: true where it came back, or was split; nil, err.
local function send(job, first, last)
  local texts = table.move(job.texts, first, last, 1, {})
  local call = call_for(job)
  call.asked = { texts = texts }
  local found, err = attempt.fetch(call, "POST", job.path, job.dialect.render(job.ask, texts), function(answer)
    return read(job, answer, #texts)
  end)
  local entries = call.ledger.attempts
  table.move(entries, 1, #entries, #job.attempts + 1, job.attempts)
  if found then
    results.add(job, found, first)
    return true
  end
  local too_large, by_tokens = refusal.is_size(err)
  if too_large and job.queue:split(first, last, by_tokens) then
    job.attempts[#job.attempts].class = "split"
    return true
  end
  if too_large and first == last then refusal.overflow(err) end
  if err.class == "RequestError" then refusal.name_inputs(err, first, last) end
  return nil, err
end

-- Sends batches until there is none, or one has failed for good.
local function work(job)
  while not job.failure do
    local first, last = job.queue:next()
    if not first then return end
    local sent, err
    if job.adapter:closed() then
      err = errors.new { kind = "cancelled", provider = job.state.row.name, message = "the adapter was closed" }
    else
      sent, err = send(job, first, last)
    end
    if not sent and not job.failure then job.failure, job.failed = err, { first = first, last = last } end
  end
end

-- How many requests are in flight at once, where the caller does not say.
local function usual_parallel()
  local task = wait.task()
  return task and task:yields() and IN_TASKS or 1
end

local function run(job)
  local parallel = job.settings.parallel or usual_parallel()
  if parallel == 1 or #job.texts == 1 then return work(job) end
  local workers = {}
  for i = 1, parallel do workers[i] = function() work(job) end end
  scheduler.gather(table.unpack(workers))
end

-- The settings of a call for its requests: embedding twice does no harm, so that also those are made again that may
-- have arrived; a refusal for too many requests holds for all.
local function with_retries(job, settings)
  local policy = {}
  for name, value in pairs(settings.retry) do policy[name] = value end
  policy.on_ambiguous = true
  local given = settings.on_retry
  settings.retry = policy
  function settings.on_retry(entry)
    if entry.kind == "rate_limit" then job.not_before = wait.now() + entry.waited end
    if given then given(entry) end
  end
end

-- The limits of a request: the row's, what was learnt of the model, the caller's.
local function limits_of(job)
  local facts, settings, learnt = job.ask.facts, job.settings, job.learnt
  local inputs = math.min(facts.batch or INPUTS, learnt.batch or math.maxinteger, settings.batch or math.maxinteger)
  return { batch = inputs, tokens = learnt.tokens or facts.tokens, floats = not facts.base64,
    body = settings.limits and settings.limits.body or BODY, width = settings.dimensions or learnt.width }
end

-- Returns the facts that an adapter learnt of a model: {batch, tokens, width}.
local function learnt_of(state, model)
  state.embeddings = state.embeddings or {}
  state.embeddings[model] = state.embeddings[model] or {}
  return state.embeddings[model]
end

--- Embeds `inputs` (a string, or an array of strings) with an adapter; options: see call/options. A table {vectors =
-- array of arrays of numbers, or of packed strings (koine.vector); usage = {input_tokens, requests, incomplete, cost,
-- cost_source}; model; dimensions; request_ids; warnings; attempts}; or nil, err, all or nothing: err.partial is then
-- {vectors = array with false for each that is missing, failed = {first, last}}. Raises an ArgumentError for what is
-- wrong with inputs and options, a NotImplementedError where the provider has no embeddings.
return function(adapter, inputs, opts)
  local state = core.state(adapter)
  local settings = options(opts, state.settings)
  local model = checks.model(state, settings.model or nil)
  local facts = checks.facts(state.row, model)
  local texts = checks.texts(inputs, state.row)
  if adapter:closed() then core.raise_argument("adapter", "an open adapter", "a closed one") end
  local job = { adapter = adapter, state = state, settings = settings, vectors = {}, attempts = core.array {},
    request_ids = core.array {}, usage = { input_tokens = 0, requests = 0 }, path = path_of(facts, model),
    dialect = require("koine.call.embed.dialects." .. facts.dialect), learnt = learnt_of(state, model) }
  job.keep = table.move(job.dialect.keep, 1, #job.dialect.keep, 2, { "error" })
  job.ask, job.texts = checks.ask(model, settings, facts, texts)
  job.width = not job.ask.integers and settings.dimensions or nil
  job.limits = limits_of(job)
  job.queue = batches.new(job.texts, job.limits)
  with_retries(job, settings)
  local total = settings.timeout.total
  job.deadline = total and total > 0 and wait.now() + total or nil
  local span <close> = (settings.observer or settings.parent) and observe.embed(job)
  job.span = span
  run(job)
  if job.failure then
    local err = results.partial(job)
    if span then observe.embed_over(job, nil, err) end
    return nil, err
  end
  local result = results.whole(job)
  if span then observe.embed_over(job, result) end
  return result
end
