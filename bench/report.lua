-- report.lua: reads `name value unit` lines, keeps the best of each name, adds the ratios, prints them in a fixed
-- order.
local best = {}
for line in io.lines() do
  local name, value = line:match "^(%S+) (%S+) "
  value = tonumber(value)
  if value and (not best[name] or value < best[name]) then best[name] = value end
end

local function say(name, value, unit) print(("%s %.4g %s"):format(name, value, unit)) end

local function us_as_ns(name)
  local value = assert(best[name], "no figure for " .. name) * 1000
  say(name, value, "ns")
  return value
end

for _, shape in ipairs { "anthropic", "openai", "gemini", "ollama" } do
  us_as_ns(("delta_%s_discard_ns"):format(shape))
  local lines = us_as_ns(("delta_%s_lines_ns"):format(shape))
  local koine = us_as_ns(("delta_%s_koine_ns"):format(shape))
  say(("delta_%s_ratio"):format(shape), koine / lines, "x")
end
say("small_chat_baseline_us", best.small_chat_baseline_cpu, "us")
say("small_chat_koine_us", best.small_chat_koine_us, "us")
say("small_chat_ratio", best.small_chat_koine_us / best.small_chat_baseline_cpu, "x")
say("render_200_messages_us", best.render_200_messages_us, "us")
say("growing_string_ns", best.growing_string * 1000, "ns")
say("growing_elements_ns", best.growing_elements * 1000, "ns")
say("vector_number_skipped_ns", best.vector_number_skipped_ns, "ns")
say("vector_number_ns", best.vector_number_ns, "ns")
say("vector_number_base64_ns", best.vector_number_base64_ns, "ns")
say("one_chat_baseline_rss_mb", best.one_chat_baseline_rss, "MiB")
say("one_chat_koine_rss_mb", best.one_chat_koine_rss_mb, "MiB")
say("start_baseline_ms", best.start_baseline_ms, "ms")
say("start_koine_ms", best.start_koine_ms, "ms")
say("streams_1000_baseline_rss_mb", best.streams_1000_baseline, "MiB")
say("streams_1000_koine_rss_mb", best.streams_1000_koine_rss_mb, "MiB")
say("idle_5000_baseline_each_kb", best.idle_5000_baseline, "KiB")
say("idle_5000_koine_each_kb", best.idle_5000_koine, "KiB")
for _, count in ipairs { "1", "1000" } do
  for _, who in ipairs { "baseline", "koine" } do
    local name = ("paced_%s_%s"):format(count, who)
    say(name .. "_us", best[name .. "_us"], "us")
    say(name .. "_peak_mb", best[name .. "_peak_mb"], "MiB")
  end
end
say("paced_ratio", best.paced_1000_koine_us / best.paced_1000_baseline_us, "x")
say("paced_many_to_one", best.paced_1000_koine_us / best.paced_1_koine_us, "x")
say("cancel_median_us", best.cancel_median_us, "us")
say("cancel_most_us", best.cancel_most_us, "us")
say("dispatcher_events_per_second", 1e6 / best.dispatcher_us, "1/s")
say("dispatcher_scaling_ratio", best.dispatcher_us / best.dispatcher_few_us, "x")
say("dispatcher_idle_lane_bytes", best.dispatcher_idle_lane_bytes, "B")
for _, engine in ipairs { "memory", "file", "sqlite", "redis", "postgres" } do
  for _, what in ipairs { "take", "claim", "checkpoint", "turn" } do
    local name = ("store_%s_%s_us"):format(engine, what)
    if best[name] then say(name, best[name], "us") end -- no engine, no figure
  end
end
say("store_turns_scaling_ratio", best.store_turns_10000_threads_us / best.store_turns_100_threads_us, "x")
