-- Whether the libcurl that is running may speak HTTP/2, for specs that want it.

local core = require "koine.core"
local koine = require "koine"
local luassert = require "luassert"

local http2 = { offered = not core.http2_problem }

--- The values of the option http2 to try, by the protocol's name as `names` = {[true] = …, [false] = …} has it.
function http2.protocols(names)
  local list = { [names[false]] = false }
  if http2.offered then list[names[true]] = true end
  return list
end

--- busted's `it` for what only HTTP/2 has; where that is refused it registers nothing.
function http2.only(it)
  return http2.offered and it or function() end
end

--- Registers the test that HTTP/2 is refused, where it is.
function http2.refused(it)
  if http2.offered then return end
  it("is not spoken to in HTTP/2 by this libcurl", function()
    local ok, err = pcall(koine.anthropic, { model = "m", key = "key", http2 = true })
    luassert.is_false(ok)
    luassert.are.equal("http2", err.field)
    luassert(err.message:find(core.http2_problem, 1, true), err.message)
  end)
end

return http2
