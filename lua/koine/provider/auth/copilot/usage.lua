--- Copilot's quotas as a usage report.

local calendar = require "koine.data.calendar"
local service = require "koine.provider.login_service"
local records = require "koine.data.records"

local usage = {}

local PATH = "/copilot_internal/user"
local WARNING = 0.1 -- share left from which on a quota is nearly spent

-- As the report shows them: id, label, name on the wire
local QUOTAS = {
  { "copilot:premium", "Premium requests", "premium_interactions" },
  { "copilot:chat", "Chat", "chat" },
  { "copilot:completions", "Completions", "completions" },
}

local function object(value) return type(value) == "table" and value or {} end
-- A number, whole ones as integers.
local function number(value) return type(value) == "number" and (math.tointeger(value) or value) or nil end
local function text(value) return type(value) == "string" and value ~= "" and value or nil end

-- Unix seconds of the beginning of a day "YYYY-MM-DD" in UTC; nil when it is not one.
local function day(value)
  local y, m, d = (text(value) or ""):match "^(%d%d%d%d)%-(%d%d)%-(%d%d)"
  if not y then return nil end
  return calendar.days(math.tointeger(y), math.tointeger(m), math.tointeger(d)) * 86400
end

local function status(left)
  if not left then return "unknown" end
  return left <= 0 and "exhausted" or left <= WARNING and "warning" or "ok"
end

-- Reads a quota of a paid plan: limit, remaining, the fraction left, status, notes.
local function paid(snapshot)
  local limit, remaining = number(snapshot.entitlement), number(snapshot.remaining)
  local left = number(snapshot.percent_remaining)
  left = left and left / 100 or limit and remaining and limit > 0 and remaining / limit or nil
  if not left and remaining and remaining <= 0 then left = 0 end
  local notes, over = {}, number(snapshot.overage_count)
  if snapshot.overage_permitted == true then notes[1] = "requests over the limit are permitted" end
  if over and over > 0 then notes[#notes + 1] = ("%g requests over the limit"):format(over) end
  if snapshot.unlimited == true then return nil, nil, nil, "ok", notes end
  return limit, remaining, left and math.max(left, 0), status(left), notes
end

-- The same for a quota of a free plan, given as the month's number and what is left of it.
local function free(limit, remaining)
  local left = limit and remaining and limit > 0 and remaining / limit or remaining == 0 and 0 or nil
  return limit, remaining, left, status(left), {}
end

local function entry(quota, scope, window, limit, remaining, left, state, notes)
  return records.usage_limit_entry { id = quota[1], label = quota[2], scope = scope, status = state, notes = notes,
    window = window, amount = records.usage_amount { unit = "requests", limit = limit, remaining = remaining,
      used = limit and remaining and math.max(limit - remaining, 0), used_fraction = left and 1 - left,
      remaining_fraction = left } }
end

--- The report that GitHub's answer makes. Quotas that it does not name are left out.
function usage.read(row, value)
  local snapshots, monthly, left = object(value.quota_snapshots), object(value.monthly_quotas),
    object(value.limited_user_quotas)
  local scope, limits = text(value.copilot_plan) or "account", {}
  local window = records.usage_window { id = "monthly", label = "Month",
    resets_at = day(value.quota_reset_date) or day(value.limited_user_reset_date) }
  for _, quota in ipairs(QUOTAS) do
    local name = quota[3]
    if type(snapshots[name]) == "table" then
      limits[#limits + 1] = entry(quota, scope, window, paid(snapshots[name]))
    elseif number(monthly[name]) or number(left[name]) then
      limits[#limits + 1] = entry(quota, scope, window, free(number(monthly[name]), number(left[name])))
    end
  end
  return records.usage_report { provider = row.title, limits = limits, raw = value,
    metadata = { plan = text(value.copilot_plan), sku = text(value.access_type_sku) } }
end

--- Asks GitHub for the quotas of a GitHub token: a usage report, or nil, err.
function usage.report(state, token)
  local secrets = { token }
  local code, value, answer = service.call(state, { method = "GET", url = state.login.host.api .. PATH,
    headers = { authorization = "Bearer " .. token, accept = "*/*" }, secrets = secrets })
  if not code then return nil, value end
  if code < 200 or code > 299 then return nil, service.from_answer(state, answer, secrets) end
  if value then return usage.read(state.row, value) end
  return nil, service.failure(state.row, { kind = "protocol", status_code = code,
    message = "the answer about quotas is no JSON object" })
end

return usage
