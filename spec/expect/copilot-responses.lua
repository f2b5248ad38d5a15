-- Copilot's Responses as recorded, read by hand. Every event has new ids: the first response id counts,
-- items are known by their place, and the item that is kept is the one of output_item.done.

return {
  ["reasoning-function-call"] = {
    content = {
      { type = "thinking", thinking = "", raw = '{"content":[],"encrypted_content":"encrypted_content_REDACTED_1",'
        .. '"id":"id_REDACTED_1","summary":[],"type":"reasoning"}' },
      { type = "tool_use", id = "call_REDACTED_1", name = "get_weather", arguments = { city = "Tokyo, Japan" },
        arguments_json = '{"city":"Tokyo, Japan"}', raw = '{"id":"fc_REDACTED_1"}' },
    },
    stop_reason = "tool_use", raw_stop_reason = "completed",
    usage = { input_tokens = 148, output_tokens = 65, cache_read_tokens = 0, cache_creation_tokens = 0,
      reasoning_tokens = 43 },
    model = "gpt-5.3-codex", id = "resp_REDACTED_1", warnings = {},
  },

  ["stream-id-rotation"] = {
    content = {
      { type = "thinking", thinking = "**Counting character occurrences**",
        raw = '{"content":[],"encrypted_content":null,"id":"capture-id-8","summary":[{"text":'
        .. '"**Counting character occurrences**","type":"summary_text"}],"type":"reasoning"}' },
      { type = "text", text = "There are **3** letter **“r”**s in **“strawberry.”**\n\n"
        .. "Breakdown: **s t r a w b e r r y**  \nYou can see **r** at positions **3, 8, and 9**.",
        raw = '{"phase":"final_answer"}' },
    },
    stop_reason = "end_turn", raw_stop_reason = "completed",
    usage = { input_tokens = 19, output_tokens = 105, cache_read_tokens = 0, cache_creation_tokens = 0,
      reasoning_tokens = 44 },
    model = "gpt-5.3-codex", id = "capture-id-1", warnings = {},
  },
}
