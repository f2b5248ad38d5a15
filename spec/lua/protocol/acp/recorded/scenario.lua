-- What a real agent is asked while it is recorded, and Koine's client again when the recording is played back: a text,
-- a tool that is denied, the same tool allowed, and a turn that is cancelled as soon as it says something.

local koine = require "koine"

--- Plays it with these options of connect: the turns, array of {events, result, err}; and the session, which is closed.
return function(options)
  local may = false
  function options.permission(request)
    for _, option in ipairs(request.options) do
      if may and option.kind == "allow_once" then return option.id end
    end
    return nil, "not now"
  end
  local connection <close> = assert(koine.acp.connect(options))
  local session = assert(connection:new())

  local function play(words, on_delta)
    local turn <close> = assert(session:start(words, { on_delta = on_delta }))
    local played = { events = {} }
    for event in turn do table.insert(played.events, event) end
    played.result, played.err = turn:result()
    return played
  end

  local turns = { play "SAY-IT", play "CALL-IT" }
  may = true
  turns[3] = play "CALL-IT"
  turns[4] = play("WAIT-IT", function() session:cancel() end)
  session:close()
  return turns, session
end
