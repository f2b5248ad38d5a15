-- What the libraries of OpenAI, Anthropic, Vercel and Google send for a shape, and what Koine sends for the same JSON
-- Schema in the wire's own field: the same in meaning and in order, but for the differences that are listed here, each
-- with its reason. A difference that is not there any more fails, too.

local core = require "koine.core"
local koine = require "koine"
local node = require "spec.interop.support.node"
local same = require "spec.interop.support.shapes.same"
local wires = require "spec.interop.support.shapes.wires"

-- The wire on which a library is compared.
local JUDGES = { { "openai chat", "chat" }, { "openai responses", "responses" }, { "anthropic", "messages" },
  { "vercel openai chat", "chat" }, { "vercel openai responses", "responses" }, { "vercel anthropic", "messages" },
  { "genai", "gemini" }, { "genai with zod 3", "gemini" } }

-- Differences: {pattern of the judge, pattern of the shape, pattern of the line, reason}.
local DELIBERATE = {
  { "openai", "^links$", "format", "OpenAI refuses the format uri, so it is told" },
  { "openai", "^lengths$", "Length", "OpenAI refuses minLength and maxLength, so they are told" },
  { "", "^defaults$", "default", "a default says nothing about a value; OpenAI refuses it" },
  { "vercel", "^defaults$", "required", "Vercel asks for what goes into zod, the schema here is of what comes out" },
  { "zod 3", "^defaults$", "required", "zod-to-json-schema describes what goes into zod" },
  { "^vercel openai", "^optional$", "", "OpenAI refuses optional properties: they are required, or null" },
  { "^vercel openai", "^nullish$", "required", "the same" },
  { "^vercel openai", "^record$", "strict", "OpenAI refuses open objects: they are asked for without strict" },
  { "^vercel openai", "^pair$", "", "OpenAI refuses tuples: they are asked for without strict" },
  { "^anthropic", "^words$", "", "this version tells enum and const; later versions send them" },
  { "^anthropic", "^told$", "const", "the same" },
  { "^vercel anthropic", "", "%.description:", "told in other words" },
  { "^vercel anthropic", "^counted$", "minItems", "the provider takes a minimum of 1" },
  { "^vercel anthropic", "^pair$", "items", "the provider knows no tuples: they are told" },
  { "^genai", "^words$", "enum", "the provider's list of keywords has enum" },
  { "^genai", "^words$", "const", "… and no const" },
  { "^genai", "^told$", "kind", "the same" },
  { "^genai", "^formats$", "format", "the list has formats of times alone; others are told" },
  { "^genai", "^formats$", "pattern", "the list has no pattern: it is told" },
  { "^genai", "^links$", "format", "the same as with other formats" },
  { "^genai", "^pattern$", "pattern", "the list has no pattern" },
  { "^genai", "^lengths$", "Length", "the list has no lengths" },
  { "^genai", "^limits$", "xclusive", "the list has inclusive bounds alone" },
  { "^genai", "^limits$", "%.c%.minimum", "… of which exclusive ones of integers make some" },
  { "^genai", "^limits$", "multipleOf", "the list has no multipleOf" },
  { "^genai$", "^record$", "propertyNames", "names of properties are strings anyway" },
  { "^genai", "^pair$", "[iI]tems", "maxItems says the same; zod 3 writes tuples as older drafts do" },
  { "zod 3", "^flat$", "imum", "zod 4 bounds integers, zod 3 does not" },
  { "zod 3", "^limits$", "%.c%.maximum", "the same" },
}

-- What one side does not send: shape → whose schema there is ("ours", "theirs", "none"), and why.
local OPENAI = { optional = { "ours", "as required, or null; the library refuses it" },
  record = { "ours", "without strict; the library refuses it" },
  pair = { "ours", "without strict; the library refuses it" } }
local ALONE = {
  ["openai chat"] = OPENAI, ["openai responses"] = OPENAI,
  anthropic = { recursive = { "theirs", "the provider refuses recursion" },
    record = { "theirs", "all properties of a closed object have names: this one would always be empty" },
    pair = { "ours", "told; the library refuses it" } },
  ["vercel anthropic"] = { recursive = { "none", "the provider refuses recursion" },
    record = { "none", "the provider refuses open objects" } },
  genai = { recursive = { "theirs", "some models refuse recursion" } },
  ["genai with zod 3"] = { recursive = { "theirs", "some models refuse recursion" } },
}

-- The schema in a request's body, its order of properties kept, its name, and whether it is strict; nil: none.
local function asked(request)
  local body = request and request.body or ""
  local text = body:match '"schema":(%b{})' or body:match '"responseJsonSchema":(%b{})'
  if not text then return nil end
  return { schema = koine.schema.parse(text), strict = body:match '"strict":(%a+)',
    name = body:match '"name":"shape"' }
end

describe("what is sent for a shape", function()
  local server, shapes
  local used, alone = {}, {}

  setup(function()
    server = assert(koine.testing.start())
    shapes = node.run("shapes/clients.mjs", "shapes", core.array {}, server.url).shapes
  end)
  teardown(function() server:stop() end)
  before_each(function() assert(server:reset()) end)

  -- What the library sends for each shape: array of what `asked` makes of it, false for none.
  local function theirs_of(judge)
    local steps, list, sent = core.array {}, {}, 0
    for i, shape in ipairs(shapes) do steps[i] = { with = judge, shape = shape.name, stream = false } end
    assert(server:script "echo")
    local results = node.run("shapes/clients.mjs", "shapes", steps, server.url).results
    local requests = assert(server:requests())
    for i, result in ipairs(results) do
      sent = sent + (result.sent and 1 or 0)
      list[i] = result.sent and asked(requests[sent]) or false
    end
    return list
  end

  local function ours_of(wire, shape)
    assert(server:reset())
    assert(server:script { { content = core.encode(shape.answer) } })
    local adapter <close> = wires.adapter(wire, server.url)
    local response, err = koine.try(adapter.chat, adapter, "Make one.",
      { output = { schema = shape.schema, name = "shape", mode = "native" } })
    if not response then assert.are.equal("ArgumentError", err.class, tostring(err)) end
    return asked(assert(server:requests())[1]) or false
  end

  -- Asserts that a difference is deliberate.
  local function is_listed(judge, shape, line)
    for i, one in ipairs(DELIBERATE) do
      if judge:find(one[1]) and shape:find(one[2]) and line:find(one[3]) then
        used[i] = true
        return
      end
    end
    error(("%s, %s: %s"):format(judge, shape, line), 2)
  end

  for _, pair in ipairs(JUDGES) do
    local judge, wire = table.unpack(pair)
    it(("by %s and by Koine is the same"):format(judge), function()
      local all = theirs_of(judge)
      for i, shape in ipairs(shapes) do
        local theirs, ours = all[i], ours_of(wire, shape)
        local only = theirs and not ours and "theirs" or ours and not theirs and "ours" or not ours and "none" or nil
        local known = (ALONE[judge] or {})[shape.name] or {}
        alone[known] = true
        assert.are.equal(known[1], only, ("%s, %s: who sends a schema"):format(judge, shape.name))
        if not only then
          local lines = same.differences(theirs.schema, ours.schema)
          for _, what in ipairs { "strict", "name" } do
            if theirs[what] ~= ours[what] then lines[#lines + 1] = ("%s: %s, ours %s"):format(what, theirs[what],
              ours[what]) end
          end
          for _, line in ipairs(lines) do is_listed(judge, shape.name, line) end
        end
      end
    end)
  end

  it("differs in nothing that is listed without need", function()
    for i, one in ipairs(DELIBERATE) do assert.is_true(used[i], table.concat(one, " ")) end
    for judge, list in pairs(ALONE) do
      for shape, one in pairs(list) do assert.is_true(alone[one], judge .. " " .. shape) end
    end
  end)
end)
