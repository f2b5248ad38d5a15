---@meta _
-- Usage and models: what calls used and cost, what models are, how much of a quota is left.

---@class koine
local koine = {}

---Counts of tokens. A count is nil, never 0, where the provider did not tell it.
---@class koine.Usage
---@field input_tokens? integer the prompt, without tokens read from or written to a cache
---@field output_tokens? integer the answer, with reasoning
---@field cache_read_tokens? integer
---@field cache_creation_tokens? integer
---@field reasoning_tokens? integer the part of `output_tokens` that was reasoning
---@field cache_creation_1h_tokens? integer the part of `cache_creation_tokens` that is kept for an hour
---@field incomplete? boolean of a sum: the tokens in and out are not all known
---@field uncounted? table<string, true> of a sum: names of other counts that a summand did not have
---@field premium_requests? number
---@field unpriced? string why the counts do not make a cost
---@field cost? koine.UsageCost USD; nil, never 0, unless all parts of it are known
---@field cost_source? "provider"|"prices"|"mixed"

---The sum of several calls.
---@class koine.UsageSum: koine.Usage
---@field input_tokens integer
---@field output_tokens integer
---@field cache_read_tokens integer
---@field cache_creation_tokens integer
---@field reasoning_tokens integer
---@field model_calls integer

---USD.
---@class koine.UsageCost
---@field input? number
---@field output? number
---@field cache_read? number
---@field cache_write? number
---@field total number

---What koine.usage takes.
---@class koine.UsageFields
---@field input_tokens integer
---@field output_tokens integer
---@field cache_read_tokens? integer default 0
---@field cache_creation_tokens? integer default 0
---@field reasoning_tokens? integer default 0
---@field cache_creation_1h_tokens? integer
---@field incomplete? boolean
---@field uncounted? table<string, true>
---@field premium_requests? number
---@field unpriced? string
---@field cost? koine.UsageCost
---@field cost_source? string

---Makes a record of counts.
---@class koine.usage
---@overload fun(fields: koine.UsageFields): koine.Usage
koine.usage = {}

---Adds up what calls used. A nil in the list counts as a call of which nothing is known; the field `n` of the list then
---says how many members there are.
---@param list (koine.Response|koine.AgentResult|koine.Embeddings|koine.Usage|nil)[]
---@return koine.UsageSum sum
function koine.usage.sum(list) end

---What koine.usage_cost takes.
---@class koine.UsageCostFields
---@field input? number default 0.0, as the others
---@field output? number
---@field cache_read? number
---@field cache_write? number
---@field total? number

---A cost, as koine.pricing.calculate makes it.
---@param fields koine.UsageCostFields
---@return koine.UsageCost cost
function koine.usage_cost(fields) end

---A model, as list_models and model_info tell it.
---@class koine.ModelInfo
---@field id string
---@field name string
---@field max_context_tokens integer 0: not known
---@field supports_vision boolean
---@field supports_tool_use boolean
---@field supports_streaming boolean
---@field premium_request_multiplier? number Copilot: premium requests for one request
---@field pricing? koine.ModelPricing
---@field extra? table<string, any> other facts

---A model, for adapters written in Lua.
---@param fields koine.ModelInfo
---@return koine.ModelInfo model
function koine.model_info(fields) end

---USD per 1,000,000 tokens; nil where a price is not known.
---@class koine.ModelPricing
---@field input_per_mtok number
---@field output_per_mtok number
---@field cache_read_per_mtok? number
---@field cache_write_per_mtok? number
---@field cache_write_1h_per_mtok? number

---The prices of a model.
---@param fields koine.ModelPricing
---@return koine.ModelPricing pricing
function koine.model_pricing(fields) end

---The quotas of an account.
---@class koine.UsageReport
---@field provider string
---@field limits koine.UsageLimitEntry[]
---@field fetched_at? number Unix seconds; default: now
---@field metadata? table
---@field raw? any

---The quotas of an account, for adapters written in Lua.
---@param fields koine.UsageReport
---@return koine.UsageReport report
function koine.usage_report(fields) end

---One quota.
---@class koine.UsageLimitEntry
---@field id string
---@field label string
---@field scope any what it applies to, in the provider's own form
---@field amount koine.UsageAmount
---@field window? koine.UsageWindow
---@field status? "ok"|"warning"|"exhausted"|"unknown" default `"unknown"`
---@field notes? string[]

---One quota of a report.
---@param fields koine.UsageLimitEntry
---@return koine.UsageLimitEntry entry
function koine.usage_limit_entry(fields) end

---The time that a quota is for.
---@class koine.UsageWindow
---@field id string
---@field label string
---@field duration_ms? number milliseconds
---@field resets_at? number Unix seconds

---The time that a quota is for.
---@param fields koine.UsageWindow
---@return koine.UsageWindow window
function koine.usage_window(fields) end

---How much of a quota is used and left.
---@class koine.UsageAmount
---@field unit "percent"|"tokens"|"requests"|"usd"|"minutes"|"bytes"|"unknown"
---@field used? number
---@field limit? number
---@field remaining? number
---@field used_fraction? number from 0 to 1
---@field remaining_fraction? number from 0 to 1

---How much of a quota is used and left.
---@param fields koine.UsageAmount
---@return koine.UsageAmount amount
function koine.usage_amount(fields) end
