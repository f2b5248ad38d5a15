-- Returns the options, as a new table, that a row's constructor needs besides the model to know where it is.

local VALUES = { region = "eu-west-1", project = "my-project", location = "europe-west4",
  resource = "ours" }

return function(row)
  local options = { base_url = not row.base_url and "http://127.0.0.1:1" or nil }
  for name, value in pairs(VALUES) do options[name] = (row.options or {})[name] and value end
  return options
end
