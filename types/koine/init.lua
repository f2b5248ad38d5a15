---@meta koine
-- Basics: adapters by name, versions, JSON, files, prices and vectors.

---What `require "koine"` returns. Each part is loaded when it is first used; any other name is nil.
---@class koine
---@field version string Koine's version
---@field libcurl string the version of libcurl at run time
---@field null lightuserdata JSON's null, in tables that go out and in values that came in; equal to `cjson.null`
local koine = {}

---Marks a table as a JSON array, so that an empty one is sent as `[]` and not as `{}`.
---@generic T: table
---@param list T
---@return T list the same table
function koine.array(list) end

---Encodes bytes, for the `source` of an image or a document.
---@param bytes string
---@return string base64
function koine.base64(bytes) end

---Calls `f` with the arguments. Raises whatever else `f` raises.
---@param f fun(...): ...
---@param ... any
---@return any result the results of `f`; nil where it raised one of Koine's errors
---@return any ... further results of `f`, or the error
function koine.try(f, ...) end

---Makes the adapter of a provider and a model by name.
---@param name string `"PROVIDER/MODEL"`, or `"PROVIDER"` with `options.model`
---@param options? koine.AdapterOptions those of the provider's constructor
---@return koine.Adapter adapter
function koine.adapter(name, options) end

---What Koine knows of a provider.
---@class koine.ProviderFacts
---@field name string the constructor's name
---@field title string for people
---@field env string[] the environment variables that may hold the key
---@field default_model? string nil: the constructor's `model` is required
---@field base_url? string nil: the constructor's `base_url` is required
---@field key_optional? boolean true where it goes without a key
---@field login? boolean true where a user logs in
---@field rank? integer 1, 2, 3: whose key the command line looks for first
---@field pulls? boolean true where models can be downloaded
---@field embeds? boolean true where texts can be embedded
---@field embeds_only? boolean true where nothing else can be done

---Lists the providers, sorted by name.
---@return koine.ProviderFacts[] providers
function koine.providers() end

-- Files --------------------------------------------------------------------------------------------------------------

---Whole files: a reader never sees half of a written one, and reading never waits.
---@class koine.files
koine.files = {}

---Reads a regular file. `err.kind` is `limit` where it is larger than `max`; `err.code` is `absent` where there is none.
---@param path string
---@param max? integer bytes; 64 MiB
---@return string? bytes
---@return koine.Error err
function koine.files.read(path, max) end

---Replaces a regular file, or makes it, in one step and with mode 0600.
---@param path string
---@param bytes string
---@return true? ok
---@return koine.Error err kind `limit` and code `full` where there is no room
function koine.files.write(path, bytes) end

---The MIME type of a file's bytes.
---@param bytes string
---@param name? string the file's name, which tells kinds of text apart
---@return string? media_type nil where they are neither text nor of a known kind
function koine.files.media_type(bytes, name) end

-- Prices and vectors ------------------------------------------------------------------------------------------------

---Costs of your own counts and prices.
---@class koine.pricing
koine.pricing = {}

---The cost of counts of tokens. Nil, never 0, where a price or a count that has a price is not known.
---@param usage? koine.Usage
---@param model_info? koine.ModelInfo|{ pricing: koine.ModelPricing }
---@return koine.UsageCost? cost in USD
function koine.pricing.calculate(usage, model_info) end

---Vectors, as tables of numbers or as packed strings of little-endian float32, also mixed.
---@class koine.vector
koine.vector = {}

---@alias koine.Vector number[]|string

---The sum of the products.
---@param a koine.Vector
---@param b koine.Vector
---@return number product
function koine.vector.dot(a, b) end

---The length.
---@param a koine.Vector
---@return number length
function koine.vector.norm(a) end

---Packs a vector into a string.
---@param a koine.Vector
---@return string packed four bytes a number
function koine.vector.pack(a) end

---The numbers of a vector.
---@param a koine.Vector
---@return number[] numbers
function koine.vector.unpack(a) end

return koine
