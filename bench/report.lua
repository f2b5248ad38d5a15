-- report.lua: reads `name value unit` lines, keeps the best of each name, adds the ratios, prints them in a fixed
-- order.
local best = {}
for line in io.lines() do
  local name, value = line:match "^(%S+)%s+(%S+)%s"
  value = tonumber(value)
  if value and (not best[name] or value < best[name]) then best[name] = value end
end

local function figure(name) return best[name] or error("no figure for " .. name) end

local function print_line(name, value, unit) print(("%s %.4g %s"):format(name, value, unit)) end

-- Prints figures as they are.
local function say(unit, ...)
  for _, name in ipairs { ... } do print_line(name, figure(name), unit) end
end

local function ratio(name, of, to) print_line(name, figure(of) / figure(to), "x") end

for _, format in ipairs { "anthropic", "openai", "responses", "gemini", "ollama" } do
  local name = "delta_" .. format
  say("ns", name .. "_discard_ns", name .. "_lines_ns", name .. "_koine_ns")
  ratio(name .. "_ratio", name .. "_koine_ns", name .. "_lines_ns")
end

say("us", "small_chat_baseline_us", "small_chat_koine_us", "small_chat_fresh_baseline_us", "small_chat_fresh_koine_us")
ratio("small_chat_ratio", "small_chat_koine_us", "small_chat_baseline_us")
ratio("small_chat_fresh_ratio", "small_chat_fresh_koine_us", "small_chat_fresh_baseline_us")
say("us", "observe_record_us", "observe_record_apart_us")
say("MiB", "one_chat_baseline_rss_mb", "one_chat_koine_rss_mb")

say("ms", "start_baseline_ms", "start_lua_ms", "start_koine_ms")
print_line("start_above_baseline_ms", figure "start_koine_ms" - figure "start_baseline_ms", "ms")
print_line("start_above_both_ms", figure "start_koine_ms" - figure "start_baseline_ms" - figure "start_lua_ms", "ms")

say("us", "render_200_messages_us")
say("ns", "growing_string_ns", "growing_elements_ns")
say("ns", "vector_number_skipped_ns", "vector_number_ns", "vector_number_base64_ns")

say("us", "agent_step_3_us", "agent_step_300_us")
ratio("agent_step_ratio", "agent_step_300_us", "agent_step_3_us")
say("us", "limiter_wait_50_us", "limiter_wait_2000_us")
ratio("limiter_wait_ratio", "limiter_wait_2000_us", "limiter_wait_50_us")

say("MiB", "streams_1000_baseline_rss_mb", "streams_1000_koine_rss_mb")
ratio("streams_1000_ratio", "streams_1000_koine_rss_mb", "streams_1000_baseline_rss_mb")
say("KiB", "idle_5000_baseline_each_kb", "idle_5000_koine_each_kb")
for _, count in ipairs { "1", "1000" } do
  for _, who in ipairs { "baseline", "koine" } do
    say("us", ("paced_%s_%s_us"):format(count, who))
    say("MiB", ("paced_%s_%s_peak_mb"):format(count, who))
  end
end
ratio("paced_ratio", "paced_1000_koine_us", "paced_1000_baseline_us")
ratio("paced_peak_ratio", "paced_1000_koine_peak_mb", "paced_1000_baseline_peak_mb")
ratio("paced_many_to_one", "paced_1000_koine_us", "paced_1_koine_us")
say("us", "cancel_median_us", "cancel_most_us")

print_line("dispatcher_events_per_second", 1e6 / figure "dispatcher_us", "1/s")
ratio("dispatcher_scaling_ratio", "dispatcher_us", "dispatcher_few_us")
say("B", "dispatcher_idle_lane_bytes")
for _, engine in ipairs { "memory", "file", "sqlite", "redis", "postgres" } do
  for _, what in ipairs { "take", "claim", "checkpoint", "turn" } do
    local name = ("store_%s_%s_us"):format(engine, what)
    if best[name] then say("us", name) end -- no engine, no figure
  end
end
ratio("store_turns_scaling_ratio", "store_turns_10000_threads_us", "store_turns_100_threads_us")
