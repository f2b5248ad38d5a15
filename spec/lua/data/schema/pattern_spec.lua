-- Regular expressions of schemas: what they match, what is not supported, and that none takes forever.

local pattern = require "koine.data.schema.pattern"
local schema = require "koine.data.schema"

-- expression → {texts with a match, texts without one}
local CASES = {
  ["^a*$"] = { { "", "aaa" }, { "aab", "b" } },
  ["a+"] = { { "a", "xaax" }, { "", "b" } },
  ["^(a|b)+c?$"] = { { "abac", "b" }, { "d", "c", "" } },
  ["^(?:x|y|)$"] = { { "x", "" }, { "z", "xy" } },
  ["^(?<year>\\d{4})-\\d\\d$"] = { { "2026-01" }, { "26-01", "2026-1" } },
  ["^[^\\d]{2,3}$"] = { { "ab", "äöü" }, { "a1", "abcd", "a" } },
  ["^a{2}$"] = { { "aa" }, { "a", "aaa" } },
  ["^a{2,}?$"] = { { "aa", "aaaa" }, { "a" } },
  ["^.$"] = { { "é", "😀" }, { "", "ab", "\n", "\u{2028}" } },
  ["\\bfoo\\b"] = { { "a foo b", "foo" }, { "afoo", "foot" } },
  ["\\Boo"] = { { "foo" }, { "oo", "a oo" } },
  ["^[\\w-]+@[a-z.]+$"] = { { "x-y@z.de" }, { "@z.de", "x y@z" } },
  ["^[a\\-z\\]]+$"] = { { "a-z]" }, { "b" } },
  ["^[\\d-x]$"] = { { "5", "-", "x" }, { "a" } },
  ["^[a-\\d]$"] = { { "a", "-", "7" }, { "b" } },
  ["^[]$"] = { {}, { "", "a" } },
  ["^[^]$"] = { { "a", "\n" }, { "" } },
  ["^\\u00e9\\xe9\\u{1F600}\\ud83d\\ude00$"] = { { "éé😀😀" }, { "é" } },
  ["^\\t\\n\\v\\f\\r\\0\\cA[\\b]$"] = { { "\t\n\v\f\r\0\1\b" }, { "tn" } },
  ["^\\S\\s\\D\\W$"] = { { "a a-", "a\u{A0}a " }, { "a 1-", "aaa-" } },
  ["^\\^\\$\\.\\/\\{$"] = { { "^$./{" }, { "a" } },
  ["a{x}"] = { { "a{x}" }, { "a" } },
}

describe("a regular expression", function()
  for text, case in pairs(CASES) do
    it("matches as ECMA-262 says: " .. text, function()
      local program = assert(pattern.compile(text))
      for _, value in ipairs(case[1]) do assert.is_true(program.fits(value), value) end
      for _, value in ipairs(case[2]) do assert.is_false(program.fits(value), value) end
    end)
  end

  it("is not compiled when it is none, or has what is not supported", function()
    for _, text in ipairs { "(", ")", "[", "[b-a]", "*", "a{3,2}", "\\", "(?=a)", "(?!a)", "(?<=a)", "(a)\\1", "\\k<a>",
      "\\p{L}", "\\u12", "\\x1", "\\c1", "(?<n", "(a{1000}){1000}", ("("):rep(1000) .. (")"):rep(1000), "\xFF",
      "\\ud83d\\u0041" } do
      local program, why = pattern.compile(text)
      assert.is_nil(program, text)
      assert.is_string(why)
    end
  end)

  it("takes no longer than its length times the text's", function()
    local text = ("a"):rep(2000)
    for _, slow in ipairs { "^(a*)*b$", "^(a|a)*b$", "^(([a-z])+.)+[A-Z]([a-z])+$", "^(a?){50}a{50}b$" } do
      local program, steps = assert(pattern.compile(slow)), 0
      debug.sethook(function() steps = steps + 1 end, "", 1000)
      local fits = program.fits(text)
      debug.sethook()
      assert.is_false(fits)
      assert.is_true(steps < #text * program.size, slow .. ": " .. steps)
    end
  end)

  it("does not match text that is no UTF-8", function()
    assert.is_false(pattern.compile("a").fits "a\xFF")
  end)

  it("is given up where it would take too long for one value", function()
    local fits, why = schema.validate({ pattern = (".*"):rep(500) .. "z" }, ("a"):rep(100000))
    assert.is_nil(fits)
    assert.is_truthy(why:find("judgements", 1, true))
  end)
end)
