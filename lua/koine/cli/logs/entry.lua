--- What an exchange of a log has to have. Logs may be damaged, and others may write into them.

local TEXTS = { "id", "model", "conversation", "prompt", "answer" }

--- Whether a value is the record of an exchange whose fields can be used as such.
return function(value)
  if type(value) ~= "table" or value.type ~= "exchange" then return false end
  for _, name in ipairs(TEXTS) do
    if type(value[name]) ~= "string" then return false end
  end
  return type(value.messages) == "table" and math.type(value.time) == "integer"
    and (value.system == nil or type(value.system) == "string")
    and (value.base_url == nil or type(value.base_url) == "string")
end
