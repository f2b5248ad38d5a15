---@meta _
-- Testing: a provider on the loopback interface, a playbook, and the contracts of adapters and stores.

---@class koine
local koine = {}

---Tests of code that talks to providers.
---@class koine.testing
---@field cassette koine.testing.cassette
koine.testing = {}

---Options of koine.testing.start.
---@class koine.LoopbackOptions
---@field script? koine.ScriptedAnswer[]|"echo"
---@field copilot? table settings of GitHub Copilot: docs/testing.md
---@field port? integer a free one

---Starts a loopback provider, a child process on lua-luv.
---@param opts? koine.LoopbackOptions
---@return koine.LoopbackServer? server
---@return koine.Error err
function koine.testing.start(opts) end

---With true every connection to another machine fails at once.
---@param on boolean
function koine.testing.offline(on) end

---An answer of a script. It has exactly one of `content`, `echo`, `embeddings`, `error`, `replay` and `reply`.
---@class koine.ScriptedAnswer
---@field content? string|table[] text, or blocks
---@field echo? true repeats what was said last; as the last answer it answers all further requests
---@field error? table `{status, headers, type, code, message, param}`, or `body`
---@field replay? string path of a cassette or a recording, sent unchanged
---@field exchange? integer the number of the cassette's exchange; 1
---@field embeddings? true made-up vectors
---@field reply? table `{status, headers, body}`, for other paths
---@field stop_reason? string inferred if absent
---@field stop_sequence? string
---@field container? table Messages only
---@field usage? table<string, integer>|false false: no usage
---@field model? string
---@field id? string
---@field headers? table<string, string>
---@field chunk? integer bytes per fragment
---@field interleave? boolean the fragments of neighbouring tool calls alternate
---@field reasoning_field? string of Chat
---@field rotate_ids? boolean of Responses: an item has another id in every event
---@field split_choices? boolean of Chat: tool calls come in a choice of their own
---@field stream_error? table `{type, code, message, status, after}`
---@field path? string only for requests to exactly this path
---@field fault? table<string, any> `{delay_ms, pause_ms, stall_after, reset_after, …}`: docs/testing.md

---A request that the loopback provider received.
---@class koine.LoopbackRequest
---@field method string
---@field path string
---@field target string path with query
---@field headers table<string, string>
---@field body string
---@field problems string[] why a provider would refuse it
---@field status integer as answered
---@field request_id string
---@field connection integer requests with the same one shared a connection
---@field closed_after? integer bytes sent when the peer left before the end

---A loopback provider. `<close>` ends it.
---@class koine.LoopbackServer
---@field url string for `base_url`
---@field port integer
---@field pid integer
local LoopbackServer = {}

---Sets the script. Raises an ArgumentError that names the answer and the field.
---@param answers koine.ScriptedAnswer[]|"echo"
---@return true? ok
---@return koine.Error err
function LoopbackServer:script(answers) end

---With settings: the server is GitHub Copilot too. Without: what was counted.
---@param settings? table
---@return true|table|nil result
---@return koine.Error err
function LoopbackServer:copilot(settings) end

---The requests that were received.
---@return koine.LoopbackRequest[]? requests oldest first
---@return koine.Error err
function LoopbackServer:requests() end

---Forgets the script, the requests and the signatures issued.
---@return true? ok
---@return koine.Error err
function LoopbackServer:reset() end

---Ends the child process.
function LoopbackServer:stop() end

-- Playbook -----------------------------------------------------------------------------------------------------------

---A step of a playbook.
---@class koine.PlaybookStep
---@field step integer an id of its own
---@field type "message"|"tool_calls"|"error"|"answer"
---@field content? string|koine.Block[]
---@field thinking? string
---@field tool_calls? { id: string, name: string, arguments: table }[]
---@field usage? table<string, integer>
---@field stop_reason? koine.StopReason
---@field error? table
---@field fault? { delay_ms?: integer }
---@field model? string
---@field id? string
---@field stop_sequence? string
---@field chunk? integer
---@field interleave? boolean
---@field stream_error? table

---The steps, and options of an adapter's constructor.
---@class koine.PlaybookFields: koine.AdapterOptions
---@field steps string|koine.PlaybookStep[] an array, or its JSON text

---An adapter that plays a script.
---@class koine.Playbook: koine.Adapter
---@field steps koine.PlaybookStep[]
---@field call_log table[] what each call was given
local Playbook = {}

---How far the script is.
---@return integer count steps that were played
function Playbook:current_index() end

---How much of the script is left.
---@return integer count steps that are left
function Playbook:remaining_steps() end

---Whether the script is over.
---@return boolean finished whether no step is left
function Playbook:finished() end

---Raises an UnconsumedStepsError unless every step was played.
---@return true ok
function Playbook:verify_all_consumed() end

---Begins anew.
function Playbook:reset() end

---Makes an adapter that plays a script.
---@class koine.testing.playbook
---@overload fun(given: koine.PlaybookFields|koine.PlaybookStep[]|string): koine.Playbook
---@field scenarios table<string, koine.PlaybookStep[]> canned playbooks
koine.testing.playbook = {}

---Checks one step: a read-only view of it.
---@param step koine.PlaybookStep
---@param path? string begins the field's name in errors
---@return koine.PlaybookStep view
function koine.testing.playbook.step(step, path) end

-- Contracts ----------------------------------------------------------------------------------------------------------

---The test suite that Koine's own adapters pass.
---@class koine.testing.contract
koine.testing.contract = {}

---What an adapter can do; items that it cannot do are left out.
---@class koine.ContractFlags
---@field wire? boolean it speaks HTTP to what `script` scripts; false
---@field errors? boolean answers with `error` and `stream_error` can be played; false
---@field thinking? boolean thinking arrives; true
---@field thinking_option? boolean the option changes the request; true
---@field thinking_levels? boolean low and high differ; true
---@field signatures? boolean signatures go back; false
---@field blocks? boolean an assistant's message goes back as blocks; false
---@field images? boolean true
---@field exact_ids? boolean ids of tool calls go back unchanged; true
---@field system_as_user? boolean false
---@field stream_usage? boolean true
---@field answer_model? boolean true
---@field refusal? boolean a refusal has its own stop reason; true
---@field refusal_words? boolean true
---@field sensitive? boolean a filter has its own stop reason; true
---@field tools? boolean live: tools can be offered; true
---@field output? boolean answers can have a shape; true

---An adapter and what the suite needs to try it.
---@class koine.ContractSpec
---@field new fun(opts: koine.AdapterOptions): koine.Adapter
---@field script? fun(answers: koine.ScriptedAnswer[]) required unless `live`
---@field requests? fun(): { headers: table<string, string>, body: string }[]
---@field unreachable? fun(opts: koine.AdapterOptions): koine.Adapter
---@field refused? fun(opts: koine.AdapterOptions): koine.Adapter with `live`
---@field live? boolean the server answers as it likes
---@field embed? koine.EmbedOptions
---@field supports? koine.ContractFlags
---@field describe? function busted's, as the next three; the globals
---@field it? function
---@field assert? any
---@field teardown? function

---Registers the suite.
---@param name string
---@param spec koine.ContractSpec
function koine.testing.contract.describe(name, spec) end

---The test suite that Koine's own stores pass.
---@class koine.testing.store_contract
koine.testing.store_contract = {}

---An engine and what the suite needs to try it.
---@class koine.StoreContractSpec
---@field open fun(): koine.Store each time another handle onto the same contents
---@field pass? fun(seconds: number) lets time pass; sleeps
---@field restart? function ends the engine and starts it again
---@field unit? number seconds, the shortest ttl; 0.25
---@field value_max? integer bytes of the largest value; 16 MiB
---@field seeds? integer[] of the random items; `{ 1, 2, 3 }`
---@field describe? function busted's; the global
---@field it? function busted's; the global

---Registers the suite.
---@param name string
---@param spec koine.StoreContractSpec
function koine.testing.store_contract.describe(name, spec) end

---The items.
---@param spec koine.StoreContractSpec
---@return { name: string, run: fun() }[] items
function koine.testing.store_contract.items(spec) end

---Runs the items.
---@param spec koine.StoreContractSpec
---@return { passed: integer, failed: integer, failures: { name: string, message: string }[], text: string } report
function koine.testing.store_contract.run(spec) end
