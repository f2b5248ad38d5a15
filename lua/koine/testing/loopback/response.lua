--- The forms of the loopback provider's responses: {status, headers, pieces, stream}, as fault.send sends them.

local response = {}

--- The header of an answer in JSON.
response.JSON = { "content-type", "application/json" }

--- A response of one piece, in JSON; `...` are further headers, {name, value}.
function response.plain(status, body, ...)
  return { status = status, headers = { response.JSON, ... }, pieces = { body } }
end

--- Sets headers, a map of names, in a response; returns it.
function response.add_headers(given, headers)
  for name, value in pairs(headers or {}) do
    for i = #given.headers, 1, -1 do
      if given.headers[i][1]:lower() == name:lower() then
        table.remove(given.headers, i)
      end
    end
    given.headers[#given.headers + 1] = { name, value }
  end
  return given
end

--- An error in the form of an endpoint's wire; `err` is {type, code, message, …}, as the script says it.
function response.error(endpoint, status, err, record)
  local id = record.request_id
  return response.plain(status, endpoint.error_body(status, err, id), endpoint.id_header(id),
    endpoint.error_header and endpoint.error_header(status, err))
end

--- The answer where the script is at fault. No client shall retry it: the next answer is for another call.
function response.script_error(endpoint, message, record)
  local made = response.error(endpoint, 500, { message = message }, record)
  return response.add_headers(made, { ["x-should-retry"] = "false" })
end

return response
