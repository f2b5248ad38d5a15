-- Azure's Chat Completions as recorded, read by hand.

return {
  -- retry-after-ms: 0 beside retry-after: 1; the finer header counts.
  ["error-429-retry-after"] = {
    error = { class = "RateLimitError", kind = "rate_limit", status_code = 429, code = "RateLimitReached",
      message = "Your requests to grok-4-1-fast-non-reasoning", retry_after = 0, retryable = true },
  },
}
