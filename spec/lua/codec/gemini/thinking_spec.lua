-- How much Gemini's models are told to think, by family: what the caller asks for, what goes out, what Koine warns of.
local loopback = require "spec.support.loopback"

local NONE = "nothing"

local function level(word) return { thinkingLevel = word, includeThoughts = true } end
local function budget(tokens) return { thinkingBudget = tokens, includeThoughts = true } end

-- Both families take the option: from 3 on a level, of 2.5 a budget.
local LEVELS = { low = level "LOW", medium = level "MEDIUM", high = level "HIGH" }
local BUDGETS = { low = budget(2048), medium = budget(8192), high = budget(24576) }

-- Per case: models; words → what goes out; `off`: for false; `warned`: whether that warns; `fits`: budgets in tokens →
-- what goes out, and true where that warns.
local FAMILIES = {
  { { "gemini-2.5-flash", "gemini-2.5-flash-preview-09-2025", "models/gemini-2.5-flash" }, BUDGETS,
    off = { thinkingBudget = 0 }, warned = false,
    fits = { [300] = { budget(300) }, [24576] = { budget(24576) }, [30000] = { budget(24576), true } } },
  { { "gemini-2.5-flash-lite" }, BUDGETS, off = { thinkingBudget = 0 }, warned = false,
    fits = { [300] = { budget(512), true }, [512] = { budget(512) } } },
  { { "gemini-2.5-pro" }, { low = budget(2048), medium = budget(8192), high = budget(32768) },
    off = { thinkingBudget = 128 }, warned = true,
    fits = { [100] = { budget(128), true }, [32768] = { budget(32768) }, [40000] = { budget(32768), true } } },
  { { "gemini-3-flash-preview", "gemini-3.1-flash-lite", "gemini-3.5-flash" }, LEVELS,
    off = { thinkingLevel = "MINIMAL" }, warned = true,
    fits = { [4096] = { level "LOW", true }, [4097] = { level "MEDIUM", true }, [12289] = { level "HIGH", true } } },
  { { "gemini-3-pro-preview", "gemini-3.1-pro-preview", "gemini-3.7-flash", "gemini-9-ultra" }, LEVELS,
    off = { thinkingLevel = "LOW" }, warned = true,
    fits = { [4096] = { level "LOW", true }, [12288] = { level "MEDIUM", true }, [12289] = { level "HIGH", true } } },
  { { "gemini-2.0-flash", "gemini-1.5-pro", "gemma-4-31b-it", "gemini-2.5-flash-image", "gemini-3-pro-image" },
    { low = NONE, medium = NONE, high = NONE }, off = NONE, warned = false, dropped = true,
    fits = { [2048] = { NONE, true } } },
}

describe("thinking on Gemini's wire", function()
  local kit = loopback.new "echo"
  local gemini = kit.maker("gemini", { key = "test-key" }, "/v1beta")

  setup(kit.start)
  teardown(kit.stop)
  before_each(kit.reset)

  -- Asks; checks what went out, and whether one warning came.
  local function check(model, thinking, expected, warned)
    local response = assert(gemini { model = model }:chat("Hi.", { thinking = thinking }))
    local _, body = kit.last()
    local config = (body.generationConfig or {}).thinkingConfig
    assert.are.same(expected, config or NONE)
    assert.are.equal(warned and 1 or 0, #response.warnings)
    if warned then assert.are.equal("thinking", response.warnings[1].field) end
  end

  for _, family in ipairs(FAMILIES) do
    for _, model in ipairs(family[1]) do
      it("is what was asked for, as far as the model can: " .. model, function()
        check(model, nil, NONE, false)
        check(model, false, family.off, family.warned)
        for word, expected in pairs(family[2]) do check(model, word, expected, family.dropped) end
        for tokens, expected in pairs(family.fits) do
          check(model, { budget_tokens = tokens }, expected[1], expected[2])
        end
      end)
    end
  end
end)
