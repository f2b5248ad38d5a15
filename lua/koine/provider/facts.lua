--- koine.providers.

local rows = require "koine.provider"

--- The facts about each provider, for programs that let their users choose: an array, sorted by name, of new tables
-- {name, title, env = array of the variables that may hold the key, default_model, base_url (nil where it has none),
-- key_optional (true where it goes without a key), login (true where a user logs in), rank (1, 2, …: whose key is
-- looked for first; nil: after these), pulls (true where models can be downloaded), embeds (true where texts can be
-- embedded), embeds_only (true where nothing else can be done)}.
return function()
  local list = {}
  for i, name in ipairs(rows.names) do
    local row = rows.load(name)
    list[i] = { name = name, title = row.title, env = table.move(row.env or {}, 1, #(row.env or {}), 1, {}),
      default_model = row.default_model, base_url = row.base_url, key_optional = row.key_optional,
      login = row.login and true or nil, rank = row.rank, pulls = row.pull and true or nil,
      embeds = row.embed and true or nil, embeds_only = row.chat == false or nil }
  end
  return list
end
