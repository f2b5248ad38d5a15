-- Anthropic's Messages API as recorded, read by hand.

local DIRECT = { caller = { type = "direct" } } -- a field of tool_use without a canonical name: must go back

return {
  ["empty-end-turn"] = {
    content = {},
    stop_reason = "end_turn", raw_stop_reason = "end_turn",
    usage = { input_tokens = 139, output_tokens = 2, cache_read_tokens = 0, cache_creation_tokens = 0 },
    model = "claude-sonnet-4-6", id = "msg_REDACTED_2", warnings = {}, degenerate = true,
  },

  ["error-400-context"] = {
    error = { class = "RequestError", kind = "context_overflow", status_code = 400, code = "invalid_request_error",
      message = "prompt is too long: 3333404 tokens > 200000 maximum", retryable = false },
  },

  ["error-400-strict-optional-limit"] = {
    error = { class = "RequestError", kind = "invalid_request", status_code = 400, code = "invalid_request_error",
      message = "Schemas contains too many optional parameters (25), which would make grammar compilation inefficient.",
      retryable = false },
  },

  ["error-400-strict-recursive"] = {
    error = { class = "RequestError", kind = "invalid_request", status_code = 400, code = "invalid_request_error",
      message = "tools.0.custom: Invalid schema: Circular reference detected in schema definitions: Node -> Node.",
      retryable = false },
  },

  ["error-401"] = {
    error = { class = "AuthenticationError", kind = "auth", status_code = 401, code = "authentication_error",
      message = "invalid x-api-key", retryable = false },
  },

  ["image-input-stream"] = {
    content = { { type = "text", text = "Red square, green square." } },
    stop_reason = "end_turn", raw_stop_reason = "end_turn",
    usage = { input_tokens = 83, output_tokens = 9, cache_read_tokens = 0, cache_creation_tokens = 0 },
    model = "claude-sonnet-4-5-20250929", id = "msg_015uV9WrrY9nhNRUqWuTcEtm", warnings = {},
  },

  ["max-tokens-after-thinking"] = {
    content = {
      { type = "thinking", thinking = "The user wants me to list integers from 1 to 2000, one per line.",
        signature = "signature_REDACTED_1" },
      { type = "text", text = { length = 1887, starts = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n",
        ends = "\n494\n495\n496\n497\n498\n499" } },
    },
    stop_reason = "max_tokens", raw_stop_reason = "max_tokens",
    usage = { input_tokens = 61, output_tokens = 1025, cache_read_tokens = 0, cache_creation_tokens = 0,
      reasoning_tokens = 25 },
    model = "claude-sonnet-4-6", id = "msg_REDACTED_1", warnings = {},
  },

  ["redacted-thinking"] = {
    content = {
      { type = "redacted_thinking", data = { length = 976, starts = "EtUFCkYIBxgCKkAE46qlfUcG",
        ends = "BBGPwtw3kct4D3I1a/UYAQ==" } },
      { type = "text", text = { length = 500, starts = "That message appeared to",
        ends = "lly help you with today?" } },
    },
    stop_reason = "end_turn", raw_stop_reason = "end_turn",
    usage = { input_tokens = 168, output_tokens = 232, cache_read_tokens = 0, cache_creation_tokens = 0 },
    model = "claude-sonnet-4-5-20250929", id = "msg_012oSSVsQdwoGH6b2fryM4fF", warnings = {},
  },

  ["stream-cached-usage"] = {
    content = { { type = "text", text = "OK." } },
    stop_reason = "end_turn", raw_stop_reason = "end_turn",
    usage = { input_tokens = 9, output_tokens = 5, cache_read_tokens = 4202, cache_creation_tokens = 0 },
    model = "claude-haiku-4-5-20251001", id = "msg_011CdoBy7hf5Rc9bbdE4nbDa", warnings = {},
  },

  -- The input of a server's tool grows like that of any tool, but belongs into the block that goes back.
  ["stream-code-execution"] = {
    content = {
      { type = "thinking", thinking = "Let me calculate this mathematical expression.",
        signature = { length = 320, starts = "EusBClsIDRgCKkBpzetW9oKO", ends = "CPHT6QRNK5dDomrp4RcinBgB" } },
      { type = "text", text = "I'll calculate that expression for you right away!" },
      { type = "opaque", kind = "server_tool_use", raw = { type = "server_tool_use",
        id = "srvtoolu_01MwXaweAHve88x6s3Fc8x6Q", name = "bash_code_execution",
        input = { command = 'echo "65465-6544 * 65464-6+1.02255" | bc -l' } } },
      { type = "opaque", kind = "bash_code_execution_tool_result",
        raw = { length = 211, starts = '{"type":"bash_code_execu', ends = 'n_code":0,"content":[]}}' } },
      { type = "text", text = { length = 474, starts = "Following the standard *",
        ends = ": **-428,330,955.97745**" } },
    },
    stop_reason = "end_turn", raw_stop_reason = "end_turn",
    usage = { input_tokens = 4714, output_tokens = 304, cache_read_tokens = 0, cache_creation_tokens = 0 },
    model = "claude-sonnet-4-6", id = "msg_01Js8aWE7YbmiaUPneGiCskE", warnings = {},
  },

  ["stream-document-citations"] = {
    content = {
      { type = "text", text = "The Ruby programming language was created by Yukihiro Matsumoto in 1993.",
        raw = { citations = { { type = "char_location",
          cited_text = "The Ruby programming language was created by Yukihiro Matsumoto in 1993. ",
          document_index = 0, document_title = "facts.txt", start_char_index = 0, end_char_index = 73 } } } },
    },
    stop_reason = "end_turn", raw_stop_reason = "end_turn",
    usage = { input_tokens = 672, output_tokens = 39, cache_read_tokens = 0, cache_creation_tokens = 0 },
    model = "claude-haiku-4-5-20251001", id = "msg_011CeCGmnUdBeAXErTKPb4sn", warnings = {},
  },

  ["stream-parallel-tool-use"] = {
    content = {
      { type = "text", text = "I'll add and multiply the numbers 2 and 3 for you." },
      { type = "tool_use", id = "toolu_01UYxUYC2zRPY8wiutnF48eP", name = "add", arguments = { a = 2, b = 3 },
        arguments_json = '{"a": 2, "b": 3}', raw = DIRECT },
      { type = "tool_use", id = "toolu_01VaRx1jpWCvPhi7L4kywAcd", name = "multiply", arguments = { a = 2, b = 3 },
        arguments_json = '{"a": 2, "b": 3}', raw = DIRECT },
    },
    stop_reason = "tool_use", raw_stop_reason = "tool_use",
    usage = { input_tokens = 502, output_tokens = 137, cache_read_tokens = 0, cache_creation_tokens = 0 },
    model = "claude-sonnet-4-20250514", id = "msg_01PSvJdjd5keNSD63VHjYzex", warnings = {},
  },

  ["stream-redacted-thinking"] = {
    content = {
      { type = "redacted_thinking", data = { length = 744, starts = "EqkECkYIBxgCKkA8AZ4noDfV",
        ends = "AhDIXXjpot45vnBd4ewJ/hgB" } },
      { type = "redacted_thinking", data = { length = 296, starts = "EtgBCkYIBxgCKkDQfGkwzflE",
        ends = "jRRFuab/DBV3yRYdZ1J0GAE=" } },
      { type = "text", text = { length = 359, starts = "I notice that you've sen",
        ends = "timate task or question?" } },
    },
    stop_reason = "end_turn", raw_stop_reason = "end_turn",
    usage = { input_tokens = 92, output_tokens = 189, cache_read_tokens = 0, cache_creation_tokens = 0 },
    model = "claude-sonnet-4-5-20250929", id = "msg_018XZkwvj9asBiffg3fXt88s", warnings = {},
  },

  -- Refused before a single block: an empty turn all the same, and no error. stop_details has no field in a Response;
  -- its explanation comes as a warning.
  ["stream-refusal"] = {
    content = {},
    stop_reason = "refusal", raw_stop_reason = "refusal",
    usage = { input_tokens = 97, output_tokens = 0, cache_read_tokens = 0, cache_creation_tokens = 0,
      reasoning_tokens = 0 },
    model = "claude-fable-5-1", id = "msg_011Cef1BfCEZn512shRMGG4q", warnings = { "refusal" }, degenerate = true,
  },

  ["stream-stop-sequence"] = {
    content = { { type = "text", text = "\ndef pelican():\n    return \"A large waterbird with a long bill and a " ..
      "throat pouch for catching fish.\"\n" } },
    stop_reason = "stop_sequence", raw_stop_reason = "stop_sequence", stop_sequence = "```",
    usage = { input_tokens = 16, output_tokens = 28, cache_read_tokens = 0, cache_creation_tokens = 0 },
    model = "claude-haiku-4-5-20251001", id = "msg_01KozUDYHvRtgs3NLgG7jzN9", warnings = {},
  },

  ["stream-text"] = {
    content = { { type = "text", text = "**Pete** or **Scoop**" } },
    stop_reason = "end_turn", raw_stop_reason = "end_turn",
    usage = { input_tokens = 17, output_tokens = 12, cache_read_tokens = 0, cache_creation_tokens = 0 },
    model = "claude-sonnet-4-6", id = "msg_01BCgDjb5HqsydH2BtaUkzpX", warnings = {},
  },

  -- Blank text stands before the thinking: it came, so it is kept (and dropped when it would go back).
  ["stream-thinking-signature"] = {
    content = {
      { type = "text", text = "\n\n" },
      { type = "thinking", thinking = "Brief answer with two pet pelican names.",
        signature = { length = 284, starts = "EtABCkYICxgCKkCVRmhlD4SU", ends = "MKik41tZsSGAoENhIz4SWxgB" } },
      { type = "text", text = "1. **Captain Scoop**\n2. **Gullet**" },
    },
    stop_reason = "end_turn", raw_stop_reason = "end_turn",
    usage = { input_tokens = 34, output_tokens = 44, cache_read_tokens = 0, cache_creation_tokens = 0 },
    model = "claude-opus-4-6", id = "msg_016xaB3rMXQHTBuAJvtvxaQx", warnings = {},
  },

  ["stream-thinking-then-tool-use"] = {
    content = {
      { type = "thinking", thinking = "The user wants me to:\n1. Use the fixed_version tool\n2. Tell them the " ..
        "version\n3. Make a short joke about it\n\nLet me first call the fixed_version tool to see what version it " ..
        "returns.",
        signature = { length = 524, starts = "EoQDCm0IDhgCKkCDzGs2kL2P", ends = "QQtUVgzhVGhhANWRjSBwUxgB" } },
      { type = "tool_use", id = "toolu_01825dXWLSoJwCst1qTsiWdb", name = "fixed_version", arguments = {},
        arguments_json = "{}", raw = DIRECT },
    },
    stop_reason = "tool_use", raw_stop_reason = "tool_use",
    usage = { input_tokens = 598, output_tokens = 92, cache_read_tokens = 0, cache_creation_tokens = 0,
      reasoning_tokens = 53 },
    model = "claude-haiku-4-5-20251001", id = "msg_01JdU4xqNHXL9QCFWkwCDKGr", warnings = {},
  },

  ["stream-web-search-citations"] = {
    content = {
      { type = "opaque", kind = "server_tool_use", raw = { type = "server_tool_use",
        id = "srvtoolu_01P3mJaBNTYcRrtoaqGRmxVg", name = "web_search",
        input = { query = "latest stable Ruby version" } } },
      { type = "opaque", kind = "web_search_tool_result",
        raw = { length = 16009, starts = '{"type":"web_search_tool', ends = 'ller":{"type":"direct"}}' } },
      { type = "text", text = "The latest stable Ruby version is 4.0.6",
        raw = { citations = { { type = "web_search_result_location",
          cited_text = "The current stable version is 4.0.6. ", url = "https://www.ruby-lang.org/en/downloads/",
          title = "Download Ruby | Ruby", encrypted_index = { length = 200, starts = "Eo8BCioIEhgCIiQwMTM3YjE1",
            ends = "uWKHdcV0twWqci7/h98YBA==" } } } } },
      { type = "text", text = ", which " },
      { type = "text", text = "was released in July 2026",
        raw = { citations = { { type = "web_search_result_location", cited_text = "Ruby 4.0.6 has been released.\n\n",
          url = "https://www.ruby-lang.org/en/news/2026/07/14/ruby-4-0-6-released/",
          title = "Ruby 4.0.6 Released | Ruby", encrypted_index = { length = 200, starts = "Eo8BCioIEhgCIiQwMTM3YjE1",
            ends = "R3rdeFHsvdUuA4Y+VbkYBA==" } } } } },
      { type = "text", text = "." },
    },
    stop_reason = "end_turn", raw_stop_reason = "end_turn",
    usage = { input_tokens = 9447, output_tokens = 114, cache_read_tokens = 0, cache_creation_tokens = 0 },
    model = "claude-haiku-4-5-20251001", id = "msg_011CeCGmhWyMqVM1fWyYYKrQ", warnings = {},
  },

  ["stream-zero-argument-tool"] = {
    content = { { type = "tool_use", id = "toolu_REDACTED_1", name = "ping", arguments = {}, arguments_json = "{}",
      raw = DIRECT } },
    stop_reason = "tool_use", raw_stop_reason = "tool_use",
    usage = { input_tokens = 575, output_tokens = 35, cache_read_tokens = 0, cache_creation_tokens = 0 },
    model = "claude-sonnet-4-6", id = "msg_REDACTED_1", warnings = {},
  },

  -- With a schema for the answer: it is text like any other.
  ["structured-output"] = {
    content = { { type = "text", text = '{"name":"John","age":30}' } },
    stop_reason = "end_turn", raw_stop_reason = "end_turn",
    usage = { input_tokens = 181, output_tokens = 12, cache_read_tokens = 0, cache_creation_tokens = 0 },
    model = "claude-haiku-4-5-20251001", id = "msg_011CeCGmPcD3kbd2aPesBpjq", warnings = {},
  },

  -- A schema for the answer and a strict tool: the call comes first, so there is no answer yet.
  ["structured-output-with-strict-tool"] = {
    content = { { type = "tool_use", id = "toolu_REDACTED_1", name = "combined_strict",
      arguments = { value = "combined" }, arguments_json = '{"value":"combined"}', raw = DIRECT } },
    stop_reason = "tool_use", raw_stop_reason = "tool_use",
    usage = { input_tokens = 806, output_tokens = 38, cache_read_tokens = 0, cache_creation_tokens = 0 },
    model = "claude-sonnet-4-6", id = "msg_REDACTED_1", warnings = {},
  },
}
