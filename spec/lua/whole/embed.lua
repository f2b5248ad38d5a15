--- Builds the C program of examples/embed beside the module that is under test, where it is not there yet: its path.
return function()
  local build = assert(package.searchpath("koine.core", package.cpath)):match "^(.*)/koine/core%.so$"
  local program = build .. "/examples/embed"
  assert(os.execute(("env -u MAKEFLAGS -u MAKELEVEL make --silent BUILD=%s %s >/dev/null"):format(build, program)))
  return program
end
