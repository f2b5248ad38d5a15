-- What `luacheck lua spec examples tools bench` checks; `make lint` runs it.
std = "lua54"
max_line_length = 120
cache = false
files["spec"].std = "lua54+busted"
