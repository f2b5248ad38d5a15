-- The types for editors as the specs beside this file look at them.

local types = dofile "tools/types.lua"

local typed = {}

--- What the files define: see tools/types.lua.
typed.files, typed.all = types.all()

--- The names of classes and aliases in a type.
typed.names = types.names

--- Asserts that two sets of names are the same: what the code has, and what is written. `what` names them.
function typed.assert_same(code, written, what)
  local missing, extra = {}, {}
  for name in pairs(code) do if not written[name] then missing[#missing + 1] = name end end
  for name in pairs(written) do if not code[name] then extra[#extra + 1] = name end end
  table.sort(missing)
  table.sort(extra)
  assert(#missing == 0, ("%s: no type has %s"):format(what, table.concat(missing, ", ")))
  assert(#extra == 0, ("%s: the code does not have %s"):format(what, table.concat(extra, ", ")))
end

--- A local of the file of a function f that f uses: its value. Raises where f uses none of this name.
function typed.upvalue(f, wanted)
  for i = 1, 250 do
    local name, value = debug.getupvalue(f, i)
    if name == wanted then return value end
  end
  error("there is no " .. wanted)
end

--- The set of an array.
function typed.set_of(list)
  local set = {}
  for _, name in ipairs(list) do set[name] = true end
  return set
end

--- The fields of a class and its parents by name; a field of its own stands for its parent's.
function typed.fields_of(name)
  local item = assert(typed.all.classes[name], "there is no class " .. name)
  local fields = {}
  for _, parent in ipairs(item.class.parents) do
    for field, value in pairs(typed.fields_of(parent)) do fields[field] = value end
  end
  for _, field in ipairs(item.class.fields) do
    if not field.key then fields[field.name] = field end
  end
  return fields
end

--- The methods of a class and its parents, a set.
function typed.methods_of(name)
  local methods = {}
  for _, parent in ipairs(assert(typed.all.classes[name], name).class.parents) do
    for method in pairs(typed.methods_of(parent)) do methods[method] = true end
  end
  for _, item in pairs(typed.all.functions) do
    if item.holder == name then methods[item.name] = true end
  end
  return methods
end

--- The words of an alias, or the types of a union's members, an array.
function typed.members_of(name)
  local words = {}
  for _, member in ipairs(typed.all.aliases[name].alias.members) do words[#words + 1] = (member.type:gsub('"', "")) end
  return words
end

--- The types of an alias, an array.
function typed.members_of_types(name)
  local list = {}
  for i, member in ipairs(typed.all.aliases[name].alias.members) do list[i] = member.type end
  return list
end

return typed
