--- Vectors of numbers, as embeddings are: tables of numbers, or packed into strings of little-endian float32, four
-- bytes a number, which is what sqlite-vec, pgvector's binary format and numpy read. Every function takes either form.

local core = require "koine.core"

local vector = {}

--- The sum of the products of `a` and `b`; of two vectors with length 1 the cosine of the angle between them. Raises an
-- ArgumentError for what is no vector, and for two that differ in width.
function vector.dot(a, b) return core.vector_dot(a, b) end

--- The length of `a`: the root of the sum of its squares. Raises an ArgumentError for what is no vector.
function vector.norm(a) return core.vector_norm(a) end

--- `a` packed: a string. Numbers are rounded to float32. Raises an ArgumentError for what is no vector, and for numbers
-- that do not fit.
function vector.pack(a) return core.vector_pack(a) end

--- `a` as a table of numbers, the same table where it is one. Raises an ArgumentError for what is no vector.
function vector.unpack(a) return core.vector_unpack(a) end

return vector
