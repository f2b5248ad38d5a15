--- Where the contract's answers go when playbooks play them, and what these were asked: {book, script, requests}, the
-- last two as contract.describe wants them. `book(opts)` makes a playbook of the current script.

local core = require "koine.core"
local playbook = require "koine.testing.playbook"

return function()
  local steps, books, on = {}, {}, {}

  function on.book(opts)
    local given = { steps = steps }
    for name, value in pairs(opts or {}) do given[name] = value end
    books[#books + 1] = playbook(given)
    return books[#books]
  end

  function on.script(answers)
    steps = {}
    for i, answer in ipairs(answers) do
      steps[i] = { step = i, type = "answer" }
      for name, value in pairs(answer) do steps[i][name] = value end
    end
  end

  -- The requests of a playbook are its log of calls.
  function on.requests()
    local list = {}
    for _, book in ipairs(books) do
      for _, entry in ipairs(book.call_log) do
        for _, tool in ipairs(entry.tools or {}) do tool.run = nil end
        list[#list + 1] = { headers = {}, body = core.encode(entry) }
      end
    end
    return list
  end

  return on
end
