--- Helpers of the specs of the loopback provider's Responses endpoint: the provider, small requests to it, and an
-- answer.

local client = require "spec.support.raw_client"
local core = require "koine.core"
local luassert = require "luassert"
local testing = require "koine.testing"

local exchange, events, with, BEARER = client.exchange, client.events, client.with, client.BEARER

local responses_endpoint = {}

local ENCRYPTED = core.array { "reasoning.encrypted_content" }

--- An answer with every usual kind of block.
responses_endpoint.ANSWER = {
  content = {
    { type = "thinking", thinking = "Größe\n\nmatters.", signature = "secret-one" },
    { type = "text", text = "I shall add." },
    { type = "tool_use", id = "call_1", name = "add", arguments = { a = 2, b = 3 } },
    { type = "tool_use", id = "call_2", name = "now", arguments = {} },
  },
  usage = { input_tokens = 60, output_tokens = 20, cache_read_tokens = 40, reasoning_tokens = 5 },
  model = "m-2026", id = "answer_1",
}

--- A kit for the tests of one file.
function responses_endpoint.new()
  local kit, server = {}, nil

  --- Starts the provider and returns it: for setup, with stop for teardown.
  function kit.start()
    server = assert(testing.start())
    return server
  end

  function kit.stop() server:stop() end

  --- Asks with the fields put over a small request; null takes one away.
  function kit.ask(fields, headers)
    local body = { model = "m", input = "Hi", store = false, include = ENCRYPTED }
    return exchange(server, "POST", "/v1/responses", headers or BEARER, client.request_body(body, fields))
  end

  --- The decoded answer to such a request, which must be a good one.
  function kit.answer(fields)
    local got = kit.ask(fields)
    luassert.are.equal(200, got.status, got.body)
    return core.decode(got.body)
  end

  --- The events of the streamed answer.
  function kit.stream(fields) return events(kit.ask(with({ stream = true }, fields or {})).body) end

  return kit
end

return responses_endpoint
