--- Which provider and model the command line speaks to, and the adapter for it.

local failure = require "koine.cli.failure"
local koine = require "koine"
local terminal = require "koine.cli.terminal"

local adapters = {}

--- Name, variable of the key, and the model where none is named: the first with credentials and a model is the default.
adapters.PROVIDERS = {
  { "anthropic", "ANTHROPIC_API_KEY", "claude-sonnet-4-5" }, { "openai", "OPENAI_API_KEY", "gpt-4.1" },
  { "copilot", "GH_COPILOT_TOKEN", "gpt-4.1", login = true }, { "deepseek", "DEEPSEEK_API_KEY", "deepseek-chat" },
  { "mistral", "MISTRAL_API_KEY", "mistral-large-latest" }, { "groq", "GROQ_API_KEY", "openai/gpt-oss-120b" },
  { "openrouter", "OPENROUTER_API_KEY", "openrouter/auto" }, { "xai", "XAI_API_KEY", "grok-4" },
  { "perplexity", "PERPLEXITY_API_KEY", "sonar" }, { "cerebras", "CEREBRAS_API_KEY" },
  { "fireworks", "FIREWORKS_API_KEY" }, { "moonshot", "MOONSHOT_API_KEY" }, { "together", "TOGETHER_API_KEY" },
  { "azure", "AZURE_OPENAI_API_KEY" }, { "llamacpp", "LLAMA_API_KEY" }, { "lmstudio", "LMSTUDIO_API_KEY" },
  { "ollama_compat", "OLLAMA_API_KEY" }, { "vllm", "VLLM_API_KEY" },
}

--- Whether a variable of the environment is set, and not empty.
function adapters.is_set(name) return (os.getenv(name) or "") ~= "" end

--- Whether there is something to go in with at a provider (an entry of PROVIDERS): true or false; asks nobody.
function adapters.has_credentials(provider)
  if adapters.is_set(provider[2]) then return true end
  return provider.login and koine.adapter(provider[1], { model = "any" }):authenticated() or false
end

--- "provider/model": the one named, KOINE_MODEL, or the default model of the first provider with credentials. Fails
-- when there is none.
function adapters.model_of(args)
  if args.model or adapters.is_set "KOINE_MODEL" then return args.model or os.getenv "KOINE_MODEL" end
  for _, provider in ipairs(adapters.PROVIDERS) do
    if adapters.has_credentials(provider) then
      local name, model = provider[1], provider[3]
      if not model then failure.fail(failure.WRONG_USE, "which model? give -m %s/MODEL or set KOINE_MODEL", name) end
      terminal.say("%s/%s (-m or KOINE_MODEL chooses another)", name, model)
      return name .. "/" .. model
    end
  end
  failure.fail(failure.NO_CREDENTIALS,
    "no key is set (ANTHROPIC_API_KEY, OPENAI_API_KEY, …: `koine doctor` names them all)")
end

-- What is wrong with an option, in the words of the command line where a flag stands for it: `flag` says so. An address
-- is not shown.
local function by_flag(err, flags)
  local name = err.expected and err.field:match "^[^.]*"
  local option = flags[name] or name == "base_url" and { flag = "--base-url" }
  if not (option and option.flag) then return err end
  local expected = err.expected:gsub(", or a table.*", ""):gsub("{.*", "a number of tokens or off"):gsub('"', "")
  local got = name ~= "base_url" and (", got %q"):format(option.word) or ""
  err.flag, err.message = option.flag, ("%s: %s expected%s"):format(option.flag, expected, got)
  return err
end

--- The adapter of "provider/model" with the options that the command line gave. Raises the ArgumentError, in the words
-- of the flag that is to blame.
function adapters.adapter_of(args, name)
  local given, flags = {}, {}
  function given.on_retry(attempt) terminal.progress(attempt.kind .. ": trying again") end
  for _, option in ipairs(args.given) do given[option[1]], flags[option[1]] = option[2], option end
  local adapter, err = koine.try(koine.adapter, name, given)
  return adapter or error(by_flag(err, flags), 0)
end

return adapters
