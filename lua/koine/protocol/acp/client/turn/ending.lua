--- How a turn ended: the agent's answer to a prompt, with what it used and cost, as a result.

local errors = require "koine.data.errors"
local read = require "koine.protocol.acp.client.read"

local ending = {}

-- Stop reasons of the protocol → status and what stopped it.
local STATUS = { end_turn = "completed", max_tokens = "completed", refusal = "completed",
  max_turn_requests = "stopped", cancelled = "cancelled" }

local function count(value)
  local number = read.number(value)
  return number and math.tointeger(number) or nil
end

-- Tokens of the members of a table, by the names there.
local function tokens(from, names)
  local usage = { input_tokens = count(from[names.input]), output_tokens = count(from[names.output]),
    cache_read_tokens = count(from[names.read]), cache_creation_tokens = count(from[names.written]),
    reasoning_tokens = count(from[names.thought]) }
  if next(usage) == nil then return nil end
  if not (usage.input_tokens and usage.output_tokens) then usage.incomplete = true end
  return usage
end

local PLAIN = { input = "inputTokens", output = "outputTokens", read = "cachedReadTokens",
  written = "cachedWriteTokens", thought = "thoughtTokens" }
local QUOTA = { input = "input_tokens", output = "output_tokens", read = "cached_input_tokens",
  written = "cache_creation_tokens", thought = "reasoning_output_tokens" }

--- What the turn used, as the answer tells it: {input_tokens, output_tokens, …}; {incomplete = true} where it tells
-- nothing.
function ending.usage(reply)
  local plain = read.object(reply.usage)
  local used = plain and tokens(plain, PLAIN)
  if used then return used end
  local quota = read.object(read.at(reply, "_meta", "quota", "token_count"))
  return quota and tokens(quota, QUOTA) or { incomplete = true }
end

--- The dollars of a turn: what the session cost after it less what it cost before; nil where one of them is unknown. An
-- agent that began to count anew counts from 0.
function ending.cost(before, after)
  if not after then return nil end
  if before and after < before then return after end
  return before and after - before or nil
end

--- Enters the answer into a result: status, stop_reason, raw_stop_reason, reason, truncated, usage, and a warning for a
-- word that is not known.
function ending.judge(result, reply)
  local raw = read.text(reply.stopReason) or "none"
  result.status, result.raw_stop_reason = STATUS[raw] or "completed", raw
  result.stop_reason = STATUS[raw] and raw or "end_turn"
  if not STATUS[raw] then
    result.warnings[#result.warnings + 1] = { code = "stop_reason", field = "stopReason",
      message = "an unknown stop reason: " .. errors.describe(raw) }
  end
  result.reason = raw == "max_turn_requests" and "limit:max_rounds" or raw == "cancelled" and "cancelled" or nil
  result.truncated = raw == "max_tokens" or nil
  result.usage = ending.usage(reply)
  return result
end

return ending
