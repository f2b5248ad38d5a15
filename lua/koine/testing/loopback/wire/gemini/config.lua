--- Strict validation of the member generationConfig of Gemini requests: sampling, thinking, the form of the answer.

local schema = require "koine.testing.loopback.wire.gemini.schema"

local set = require("koine.testing.loopback.check").set

local CONFIG = set [[maxOutputTokens temperature topP topK stopSequences seed presencePenalty frequencyPenalty
  thinkingConfig responseMimeType responseJsonSchema responseSchema responseModalities candidateCount speechConfig
  imageConfig mediaResolution responseLogprobs logprobs]]

local function check_thinking(ctx, thinking)
  if thinking == nil or not ctx.check:object("generationConfig.thinkingConfig", thinking,
    set "includeThoughts thinkingBudget thinkingLevel") then
    return
  end
  ctx.check:boolean("generationConfig.thinkingConfig.includeThoughts", thinking.includeThoughts)
  ctx.check:integer("generationConfig.thinkingConfig.thinkingBudget", thinking.thinkingBudget, -1, 32768)
  ctx.check:word("generationConfig.thinkingConfig.thinkingLevel", thinking.thinkingLevel, "MINIMAL LOW MEDIUM HIGH")
  if thinking.thinkingBudget ~= nil and thinking.thinkingLevel ~= nil then
    ctx.check:add("generationConfig.thinkingConfig", "thinking_budget and thinking_level are not supported together")
  end
  if thinking.thinkingLevel ~= nil and ctx.model:find("gemini%-[12]%.") then
    ctx.check:add("generationConfig.thinkingConfig", "Thinking level is not supported for this model.")
  end
end

--- Adds the problems of a request's generationConfig (nil: none) to those of ctx.check. ctx.names are the functions
-- that the request declares, ctx.model is its model.
return function(ctx, config)
  if config == nil or not ctx.check:object("generationConfig", config, CONFIG) then
    return
  end
  ctx.check:integer("generationConfig.maxOutputTokens", config.maxOutputTokens, 1)
  ctx.check:number("generationConfig.temperature", config.temperature, 0, 2)
  ctx.check:number("generationConfig.topP", config.topP, 0, 1)
  ctx.check:integer("generationConfig.topK", config.topK, 1)
  ctx.check:integer("generationConfig.seed", config.seed, -0x80000000, 0x7fffffff)
  ctx.check:boolean("generationConfig.responseLogprobs", config.responseLogprobs)
  ctx.check:integer("generationConfig.logprobs", config.logprobs, 0, 20)
  if config.logprobs ~= nil and config.responseLogprobs ~= true then
    ctx.check:add("generationConfig.logprobs", "logprobs is only for requests with responseLogprobs")
  end
  ctx.check:strings("generationConfig.stopSequences", config.stopSequences, 5)
  check_thinking(ctx, config.thinkingConfig)
  if config.responseSchema ~= nil and config.responseJsonSchema ~= nil then
    ctx.check:add("generationConfig", "responseSchema and responseJsonSchema must not both be set")
  end
  schema.check_subset(ctx.check, "generationConfig.responseSchema", config.responseSchema)
  schema.check(ctx.check, "generationConfig.responseJsonSchema", config.responseJsonSchema)
  if (config.responseSchema or config.responseJsonSchema) and config.responseMimeType ~= "application/json" then
    ctx.check:add("generationConfig.responseMimeType", "application/json expected beside a schema")
  end
  if config.responseMimeType == "application/json" and next(ctx.names) and ctx.model:find "gemini%-[12]%." then
    local problems = ctx.check.problems
    problems[#problems + 1] = "Function calling with a response mime type: 'application/json' is unsupported"
  end
end
