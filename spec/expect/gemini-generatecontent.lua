-- Gemini as recorded, read by hand. A part's signature is kept with its block; the parts of the
-- provider's own tools are kept whole. Counts that are left out where there is a total are 0. Ids that the server did
-- not give are made from the answer's id.

return {
  -- promptTokenCount includes what was cached.
  ["cached-content"] = {
    content = {
      { type = "text", text = "streamed" },
    },
    stop_reason = "end_turn", raw_stop_reason = "STOP",
    usage = { input_tokens = 6, output_tokens = 2, cache_read_tokens = 1081, reasoning_tokens = 0 },
    model = "gemini-2.5-flash", id = "id_REDACTED_1", warnings = {},
  },

  -- The tool's reading counts as input: 85 + 149. The signature belongs to the last text.
  ["code-execution"] = {
    content = {
      { type = "opaque", kind = "executableCode", raw = { length = 617, starts = "{\n            \"executabl",
        ends = "nN/jJnBC1Y=\"\n          }" } },
      { type = "opaque", kind = "codeExecutionResult",
        raw = "{\n            \"codeExecutionResult\": {\n              \"outcome\": \"OUTCOME_OK\",\n          " ..
        "    \"output\": \"result=121932631112635269\\n\",\n              \"id\": \"call_46063\"\n            }" ..
        "\n          }" },
      { type = "text",
        text = "The exact product of $123456789 \\times 987654321$ is **$121,932,631,112,635,269$** (or $1219326" ..
        "31112635269$).", raw = { length = 259, starts = "{\"thoughtSignature\":\"Eq0", ends = "uN68aJbMlP3r/uSm" ..
        "QJLus=\"}" } },
    },
    stop_reason = "end_turn", raw_stop_reason = "STOP",
    usage = { input_tokens = 234, output_tokens = 209, cache_read_tokens = 0, reasoning_tokens = 87 },
    model = "gemini-3.5-flash", id = "Jb-Fao2XNfDFnsEPwdyAyAg", warnings = {},
  },

  -- A program that failed is no error.
  ["code-execution-failed"] = {
    content = {
      { type = "opaque", kind = "executableCode",
        raw = "{\"executableCode\":{\"code\":\"print(1/0)\\n\",\"language\":\"PYTHON\"}}" },
      { type = "opaque", kind = "codeExecutionResult",
        raw = "{\"codeExecutionResult\":{\"outcome\":\"OUTCOME_FAILED\",\"output\":\"Traceback (most recent call" ..
        " last):\\n  File \\\"<string>\\\", line 1, in <module>\\nZeroDivisionError: division by zero\\n\"}}" },
      { type = "text", text = "DIVISIONERROR" },
    },
    stop_reason = "end_turn", raw_stop_reason = "STOP",
    usage = { input_tokens = 164, output_tokens = 72, cache_read_tokens = 0, reasoning_tokens = 64 },
    model = "gemini-2.5-flash", id = "id_REDACTED_1", warnings = {},
  },

  -- A wrong key is a 400; the reason says so.
  ["error-400-key"] = {
    error = { class = "AuthenticationError", kind = "auth", status_code = 400, code = "API_KEY_INVALID",
      message = "API key not valid. Please pass a valid API key.", retryable = false },
  },

  ["error-403-permission-vertex"] = {
    error = { class = "AuthenticationError", kind = "permission", status_code = 403, code = "IAM_PERMISSION_DENIED",
      message = "Permission 'aiplatform.endpoints.predict' denied on resource", retryable = false },
  },

  -- No header says when to come back; the per-minute quota is no matter of billing.
  ["error-429-retry-info"] = {
    error = { class = "RateLimitError", kind = "rate_limit", status_code = 429, code = "RESOURCE_EXHAUSTED",
      message = "You exceeded your current quota", retry_after = 48.0, retryable = true },
  },

  -- Nothing was said: no answer at all.
  ["finish-other-no-content"] = {
    error = { class = "ServerError", kind = "server", code = "OTHER",
      message = "Model failed to generate content due to internal error.", retryable = true },
  },

  -- Ratings stand beside the content; they are kept and never sent back.
  ["finish-safety"] = {
    content = {
      { type = "opaque", kind = "safetyRatings", raw = { length = 310, starts = "{\"safetyRatings\":[{\"bloc",
        ends = "ability\":\"NEGLIGIBLE\"}]}" } },
    },
    stop_reason = "sensitive", raw_stop_reason = "SAFETY",
    usage = { input_tokens = 14, output_tokens = 0, cache_read_tokens = 0, reasoning_tokens = 0 },
    model = "gemini-1.5-flash", id = "5lpeaLOIBf__698Pv8HGgAg", warnings = {},
  },

  ["grounding"] = {
    content = {
      { type = "text", text = "The latest stable version of Ruby is 4.0.6." },
      { type = "opaque", kind = "groundingMetadata", raw = { length = 6666, starts = "{\"groundingMetadata\":{\n ",
        ends = "Ruby\"\n        ]\n      }}" } },
    },
    stop_reason = "end_turn", raw_stop_reason = "STOP",
    usage = { input_tokens = 83, output_tokens = 139, cache_read_tokens = 0, reasoning_tokens = 109 },
    model = "gemini-2.5-flash", id = "_L6Fasi-MPKIvdIPus2M-Qc", warnings = {},
  },

  -- All five tokens went into thinking that is not shown.
  ["max-tokens-empty"] = {
    content = {},
    stop_reason = "max_tokens", raw_stop_reason = "MAX_TOKENS",
    usage = { input_tokens = 15, output_tokens = 2, cache_read_tokens = 0, reasoning_tokens = 2 },
    model = "gemini-2.5-pro", id = "fH8oaunbEbr9qtsPjYGX4A0", warnings = {}, degenerate = true,
  },

  -- No ids; the first of the calls alone is signed.
  ["parallel-calls-gemini-3"] = {
    content = {
      { type = "tool_use", id = "call_de0bcf9547249fa43cc391a2", name = "generate_topic", arguments = {},
        arguments_json = "{}", raw = { length = 987, starts = "{\"thoughtSignature\":\"Es8",
        ends = "4yTeBAT3783UHrkQCEaZs=\"}" } },
      { type = "tool_use", id = "call_bf11088f5403dd4d3f56803b", name = "generate_topic", arguments = {},
        arguments_json = "{}" },
      { type = "tool_use", id = "call_1c015da52d539a5532109211", name = "generate_topic", arguments = {},
        arguments_json = "{}" },
    },
    stop_reason = "tool_use", raw_stop_reason = "STOP",
    usage = { input_tokens = 83, output_tokens = 220, cache_read_tokens = 0, reasoning_tokens = 190 },
    model = "gemini-3-flash-preview", id = "wOd8abGuO5rgz7IP5tLEGA", warnings = {},
  },

  ["parallel-calls-gemini-3-replay"] = {
    content = {
      { type = "tool_use", id = "call_2fcc87949755f9de42c78d69", name = "generate_topic", arguments = {},
        arguments_json = "{}", raw = { length = 319, starts = "{\"thoughtSignature\":\"Etk",
        ends = "Pjw1h63pnfeI9y8HpJCA==\"}" } },
    },
    stop_reason = "tool_use", raw_stop_reason = "STOP",
    usage = { input_tokens = 348, output_tokens = 50, cache_read_tokens = 0, reasoning_tokens = 40 },
    model = "gemini-3-flash-preview", id = "wud8aZm_Lf6tz7IP37eN4A8", warnings = {},
  },

  -- trafficType alone is no usage.
  ["prompt-blocked-model-armor"] = {
    content = {},
    stop_reason = "sensitive", raw_stop_reason = "MODEL_ARMOR",
    usage = {},
    model = "gemini-2.5-flash", id = "mSEXaseKG-P51PIPwv66qQs", warnings = { "prompt_blocked" }, degenerate = true,
  },

  ["stream-code-execution-gemini-3"] = {
    content = {
      { type = "opaque", kind = "executableCode",
        raw = "{\"executableCode\":{\"code\":\"print(17**2)\\n\",\"id\":\"call_207268\",\"language\":\"PYTHON\"}" ..
        ",\"thoughtSignature\":\"signature_REDACTED_1\"}" },
      { type = "opaque", kind = "codeExecutionResult",
        raw = "{\"codeExecutionResult\":{\"id\":\"call_207268\",\"outcome\":\"OUTCOME_OK\",\"output\":\"289\\n\"}}" },
      { type = "text", text = "17 squared is 289." },
      { type = "text", text = "", raw = "{\"thoughtSignature\":\"signature_REDACTED_2\"}" },
    },
    stop_reason = "end_turn", raw_stop_reason = "STOP",
    usage = { input_tokens = 201, output_tokens = 121, cache_read_tokens = 0, reasoning_tokens = 91 },
    model = "gemini-3-flash-preview", id = "id_REDACTED_1", warnings = {},
  },

  -- The error is no event; both events before it said STOP.
  ["stream-error-bare-json"] = {
    error = { class = "ServerError", kind = "server", status_code = 499, code = "CANCELLED",
      message = "The operation was cancelled.", retryable = true, partial_text = "First Second ", partial_usage = {} },
  },

  ["stream-function-call-thought-signature"] = {
    content = {
      { type = "tool_use", id = "call_06e70c1bc555839922cc4d85", name = "get_country", arguments = {},
        arguments_json = "{}", raw = { length = 1431, starts = "{\"thoughtSignature\":\"Epw",
        ends = "oL5owonoBDAXOk15QuFyU=\"}" } },
    },
    stop_reason = "tool_use", raw_stop_reason = "STOP",
    usage = { input_tokens = 29, output_tokens = 212, cache_read_tokens = 0, reasoning_tokens = 202 },
    model = "gemini-3-pro-preview", id = "QUVVadTSNJ6_qtsPvN7J8Q0", warnings = {},
  },

  ["stream-image-output"] = {
    content = {
      { type = "text", text = "Here's a cute cartoon kitten playing with a ball of yarn for you! " },
      { type = "opaque", kind = "inlineData",
        raw = "{\"inlineData\": {\"mimeType\": \"image/png\",\"data\": \"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAAC" ..
        "Qd1PeAAAADElEQVQImWNwav0CAALIAbzDqqRyAAAAAElFTkSuQmCC\"}}" },
    },
    stop_reason = "end_turn", raw_stop_reason = "STOP",
    usage = { input_tokens = 16, output_tokens = 1307, cache_read_tokens = 0, reasoning_tokens = 0 },
    model = "gemini-2.5-flash-image-preview", id = "kLewaKa5ONqI-8YP-c_NuAQ", warnings = {},
  },

  -- The server's ids; the empty text at the end makes no block.
  ["stream-parallel-function-calls"] = {
    content = {
      { type = "tool_use", id = "8hd01vsf", name = "add", arguments = { a = 2, b = 3 },
        arguments_json = "{\"a\": 2,\"b\": 3}", raw = { length = 2368, starts = "{\"thoughtSignature\":\"EsI",
        ends = "Call\":{\"id\":\"8hd01vsf\"}}" } },
      { type = "tool_use", id = "k0srpqrc", name = "multiply", arguments = { a = 2, b = 3 },
        arguments_json = "{\"b\": 3,\"a\": 2}", raw = "{\"functionCall\":{\"id\":\"k0srpqrc\"}}" },
    },
    stop_reason = "tool_use", raw_stop_reason = "STOP",
    usage = { input_tokens = 157, output_tokens = 470, cache_read_tokens = 0, reasoning_tokens = 438 },
    model = "gemini-3.1-pro-preview", id = "UwCzaaGdI_aEz7IPqoinwQM", warnings = {},
  },

  ["stream-prompt-blocked"] = {
    content = {},
    stop_reason = "sensitive", raw_stop_reason = "SAFETY",
    usage = {},
    model = "gemini-2.0-flash", warnings = {}, degenerate = true,
  },

  -- The usage of the last round counts alone: 8 + 1190 in, 122 + 447 out.
  ["stream-server-tool-call"] = {
    content = {
      { type = "opaque", kind = "toolCall", raw = { length = 3189, starts = "{\"thoughtSignature\": \"Ep",
        ends = "ARCH\",\"id\": \"tju3qkc9\"}}" } },
      { type = "opaque", kind = "toolResponse", raw = { length = 1233, starts = "{\"thoughtSignature\": \"Et",
        ends = "ARCH\",\"id\": \"tju3qkc9\"}}" } },
      { type = "text", text = { length = 439, starts = "The capital of France is",
        ends = "ern part of the country." } },
      { type = "text", text = "", raw = { length = 291, starts = "{\"thoughtSignature\":\"EsU",
        ends = "ZLQgRshfYfVrEGbnY+2l8=\"}" } },
      { type = "opaque", kind = "groundingMetadata", raw = { length = 452, starts = "{\"groundingMetadata\":{\"g",
        ends = "ngChunkIndices\": [0]}]}}" } },
    },
    stop_reason = "end_turn", raw_stop_reason = "STOP",
    usage = { input_tokens = 1198, output_tokens = 569, cache_read_tokens = 0, reasoning_tokens = 447 },
    model = "gemini-3-flash-preview", id = "J3dHapyWENS3g8UPyrefuAE", warnings = {},
  },

  -- The signature comes with a text of its own that is empty.
  ["stream-structured-output"] = {
    content = {
      { type = "text", text = { length = 202, starts = "{\"title\":\"Seattle Rust U",
        ends = "s systems programming.\"}" } },
      { type = "text", text = "", raw = "{\"thoughtSignature\":\"signature_REDACTED_1\"}" },
    },
    stop_reason = "end_turn", raw_stop_reason = "STOP",
    usage = { input_tokens = 14, output_tokens = 435, cache_read_tokens = 0, reasoning_tokens = 398 },
    model = "gemini-3-flash-preview", id = "id_REDACTED_1", warnings = {},
  },

  ["stream-text"] = {
    content = {
      { type = "text", text = "Olá!" },
    },
    stop_reason = "end_turn", raw_stop_reason = "STOP",
    usage = { input_tokens = 11, output_tokens = 23, cache_read_tokens = 0, reasoning_tokens = 21 },
    model = "gemini-2.5-flash", id = "VwCzabneCuzPz7IP0aL64A0", warnings = {},
  },

  ["stream-thoughts"] = {
    content = {
      { type = "thinking", thinking = { length = 1604, starts = "**Defining Atmospheric C",
        ends = "light across the sky.\n\n\n" } },
      { type = "text", text = { length = 216, starts = "The sky is blue because ",
        ends = "ue light across the sky." } },
    },
    stop_reason = "end_turn", raw_stop_reason = "STOP",
    usage = { input_tokens = 12, output_tokens = 732, cache_read_tokens = 0, reasoning_tokens = 697 },
    model = "gemini-2.5-flash", id = "nlP5afrgJ6-I-sAPut_z2Ac", warnings = {},
  },

  ["stream-trailing-signature"] = {
    content = {
      { type = "text", text = "289" },
      { type = "text", text = "", raw = "{\"thoughtSignature\":\"signature_REDACTED_1\"}" },
    },
    stop_reason = "end_turn", raw_stop_reason = "STOP",
    usage = { input_tokens = 14, output_tokens = 46, cache_read_tokens = 0, reasoning_tokens = 43 },
    model = "gemini-3-flash-preview", id = "id_REDACTED_1", warnings = {},
  },

  -- The first STOP stands before the result of the second program.
  ["stream-two-finish-reasons"] = {
    content = {
      { type = "opaque", kind = "executableCode",
        raw = "{\"executableCode\":{\"code\":\"print(987654321 * 123456789)\\n\",\"language\":\"PYTHON\"}}" },
      { type = "opaque", kind = "codeExecutionResult",
        raw = "{\"codeExecutionResult\":{\"outcome\":\"OUTCOME_OK\",\"output\":\"121932631112635269\\n\"}}" },
      { type = "opaque", kind = "executableCode",
        raw = "{\"executableCode\":{\"code\":\"N = 121932631112635269\\nprint(sum(int(d) for d in str(N)))\\n\"," ..
        "\"language\":\"PYTHON\"}}" },
      { type = "opaque", kind = "codeExecutionResult",
        raw = "{\"codeExecutionResult\":{\"outcome\":\"OUTCOME_OK\",\"output\":\"63\\n\"}}" },
      { type = "text", text = "The first number is 121932631112635269.\nThe second number is 63." },
    },
    stop_reason = "end_turn", raw_stop_reason = "STOP",
    usage = { input_tokens = 665, output_tokens = 304, cache_read_tokens = 0, reasoning_tokens = 211 },
    model = "gemini-2.5-flash", id = "id_REDACTED_1", warnings = {},
  },

  ["structured-output-json-schema"] = {
    content = {
      { type = "text", text = "{\"name\":\"John\",\"age\":30}", raw = { length = 1283,
        starts = "{\"thoughtSignature\":\"Eq0", ends = "DlIab0ana1jboumHAVA0U=\"}" } },
    },
    stop_reason = "end_turn", raw_stop_reason = "STOP",
    usage = { input_tokens = 13, output_tokens = 268, cache_read_tokens = 0, reasoning_tokens = 258 },
    model = "gemini-3-flash-preview", id = "-76FauLqBrLlkdUP7oK6gQ8", warnings = {},
  },

  -- The call names a tool that was not offered: the caller answers with an error.
  ["unexpected-tool-call"] = {
    content = {
      { type = "tool_use", id = "call_12211ebb4f39797e993046b2", name = "list_files", arguments = {},
        arguments_json = "{}", raw = { length = 819, starts = "{\"thoughtSignature\":\"CtA",
        ends = "p25AQKB8dwMGoSzEEagA==\"}" } },
    },
    stop_reason = "tool_use", raw_stop_reason = "UNEXPECTED_TOOL_CALL",
    usage = { input_tokens = 22, output_tokens = 145, cache_read_tokens = 0, reasoning_tokens = 142 },
    model = "gemini-3-flash-preview", id = "Yu6TaYC3BcuQq7UPp8rOsAY", warnings = { "unexpected_tool_call" },
  },

  ["validated-mode"] = {
    content = {
      { type = "tool_use", id = "call_345c117d6aaa943a8ae25a9f", name = "get_weather", arguments = { city = "Paris" },
        arguments_json = "{\"city\":\"Paris\"}", raw = { length = 475, starts = "{\"thoughtSignature\":\"CtA",
        ends = "kdHw6g4PjjbWnYkpI4+KGq\"}" } },
    },
    stop_reason = "tool_use", raw_stop_reason = "STOP",
    usage = { input_tokens = 79, output_tokens = 84, cache_read_tokens = 0, reasoning_tokens = 69 },
    model = "gemini-2.5-flash", id = "WKNOarSwGpjhz7IP99bVwQU", warnings = {},
  },
}
