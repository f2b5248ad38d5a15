-- What no session of a program may do: told by the words of its tool calls.

local koine = require "koine"
local prohibited = require "koine.session.prohibited"

describe("prohibited operations", function()
  it("101: forced pushes, pushes to main and dev, .env, workflows", function()
    for _, words in ipairs { "git push --force", "git push -f origin topic", "git push origin topic --force",
      "git push --force-with-lease", "git push -uf origin topic", "git push origin +topic", "git push origin main",
      "git push -u origin main", "git push origin dev", "git push origin HEAD:main", "git push origin x:refs/heads/dev",
      "cd repo && git push origin main", "git -C repo push origin main", "/usr/bin/git push -f",
      "git push origin 'main'", "cat .env", "cp .env .env.example", "config/.env", ".env.local",
      "vi .github/workflows/ci.yml", "cat .ENV", "cat .envrc", "ls .github//workflows", "cat .env_file",
      "cat prod.env" } do
      assert.is_string(prohibited.reason(words), words)
    end
  end)

  it("101: files are judged as the policy of the executor judges them", function()
    local ctx = { workdir = "/home/ann/repo" }
    for _, name in ipairs { ".env", ".ENV", ".envrc", ".env.example", ".env.examples", ".env_file", ".environment",
      "a.env", ".github/workflows", ".github//./workflows/x", ".GitHub/workflows", ".github/x" } do
      local words = "cat " .. name
      assert.are.equal(koine.executor.policies.cautious("bash", { command = words }, ctx),
        (prohibited.reason(words)))
    end
  end)

  it("101: and what is none", function()
    for _, words in ipairs { "cat .env.example", "git push origin feature", "git push -u origin feature/main-menu",
      "git push", "git push origin maintenance", "git push --follow-tags origin topic", "git pull origin main",
      "git commit -m 'push origin main'", "echo main", ".github/CODEOWNERS", ".environment",
      "git status; echo push main", "" } do
      assert.is_nil(prohibited.reason(words), words)
    end
  end)

  it("101: wherever they stand in the arguments", function()
    assert.is_string(prohibited.within { command = { "git", "push", "--force" } })
    assert.is_string(prohibited.within { args = { { path = "x/.env" } } })
    assert.is_string(prohibited.within "cat .env")
    assert.is_nil(prohibited.within { n = 5, ok = true, path = "x" })
    assert.is_nil(prohibited.within(nil))
  end)
end)
