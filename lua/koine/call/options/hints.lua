--- What is meant by options that have these names elsewhere: only errors need it.

-- The names that providers and other libraries give these options, or have in their place.
local HINTS = { url = "base_url", endpoint = "base_url", host = "base_url", baseURL = "base_url", api_key = "key",
  apiKey = "key", stop = "stop_sequences", reasoning = "thinking", reasoning_effort = "thinking", effort = "thinking",
  max_completion_tokens = "max_tokens", max_output_tokens = "max_tokens", max_new_tokens = "max_tokens",
  max_retries = "retry = {max = n}", retries = "retry = {max = n}", system_prompt = "system", instructions = "system",
  functions = "tools", callback = "on_delta", on_token = "on_delta", on_chunk = "on_delta",
  schema = "output = {schema = …}", json_schema = "output = {schema = …}", output_schema = "output = {schema = …}",
  response_schema = "output = {schema = …}", response_format = "output = {schema = …}",
  format = "output = {schema = …}", top_logprobs = "logprobs = n", random_seed = "seed",
  max_steps = "koine.agent with stop = koine.agent.steps(n)" }
for _, name in ipairs { "n", "frequency_penalty", "presence_penalty", "repetition_penalty", "logit_bias",
  "parallel_tool_calls", "service_tier", "prompt_cache_key", "verbosity", "user" } do
  HINTS[name] = ("extra = {%s = …}, which goes to the provider as it is"):format(name)
end

for _, name in ipairs { "num_ctx", "num_predict", "repeat_penalty" } do
  HINTS[name] = ("extra = {options = {%s = …}} with Ollama"):format(name)
end
for _, name in ipairs { "keep_alive", "options" } do
  HINTS[name] = ("extra = {%s = …} with Ollama"):format(name)
end

-- The same where the provider has the option that is meant.
local OWN_HINTS = { credentials = "credentials_file", region = "location", access_key = "credentials",
  secret_key = "credentials", session_token = "credentials", aws_access_key_id = "credentials",
  aws_secret_access_key = "credentials", aws_region = "region", task = "purpose", task_type = "purpose",
  input_type = "purpose", output_dimensionality = "dimensions", output_dimension = "dimensions", packed = "as",
  encoding_format = "as" }

--- The hint for an unknown option, as check.unknown takes hints, with the place of the option that it names where that
-- differs; nil: no hint. `known` has the options that there are, `elsewhere` those of `where` (in words).
return function(name, known, elsewhere, where)
  local hint = HINTS[name] or known[OWN_HINTS[name]] and OWN_HINTS[name]
  if not hint then return nil end
  local option = hint:match "^[%w_]+"
  local misplaced = not known[option] and elsewhere[option]
  return { [name] = misplaced and ("%s, an option of %s"):format(hint, where) or hint }
end
