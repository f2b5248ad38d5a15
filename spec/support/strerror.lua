--- Returns this system's words for an error, by its number's name: strerror "ENOENT" is "No such file or directory"
-- with glibc.
local errno = require "cqueues.errno"

return function(name) return errno.strerror(assert(errno[name], name)) end
