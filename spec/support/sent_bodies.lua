--- The bodies of all requests to a koine.testing server, decoded; fails where it had something to say against one.
local core = require "koine.core"

return function(server)
  local list = {}
  for i, request in ipairs(assert(server:requests())) do
    assert(#request.problems == 0, table.concat(request.problems, "\n"))
    list[i] = core.decode(request.body)
  end
  return list
end
