---@meta _
-- Providers: a constructor for each. It takes one table, and raises an ArgumentError for a bad option.
-- `make generate` writes this file.

---@class koine
local koine = {}

---@alias koine.AuthScheme "bearer"|"x-api-key"|"api-key"|"x-goog-api-key"|"none"

---Keys that sign requests for AWS.
---@class koine.AwsCredentials
---@field access_key string
---@field secret_key string
---@field session_token? string
---@field expires_at? number Unix seconds

---What a person needs for a login: the page to open and the code to enter there.
---@class koine.DeviceCode
---@field verification_uri string
---@field user_code string
---@field expires_in number seconds
---@field interval? number seconds between two questions whether it was entered

---Anthropic. Model by default: `claude-sonnet-4-5`. Key: `ANTHROPIC_API_KEY`.
---@param options koine.AdapterOptions
---@return koine.Adapter adapter
function koine.anthropic(options) end

---Options of koine.openai.
---@class koine.OpenaiOptions: koine.AdapterOptions
---@field api? "responses"|"chat" the wire format

---OpenAI. Model by default: `gpt-4.1`. Key: `OPENAI_API_KEY`.
---@param options koine.OpenaiOptions
---@return koine.Adapter adapter
function koine.openai(options) end

---Gemini. Model by default: `gemini-3.5-flash`. Key: `GEMINI_API_KEY` or `GOOGLE_API_KEY`.
---@param options koine.AdapterOptions
---@return koine.Adapter adapter
function koine.gemini(options) end

---Alibaba Cloud. Model by default: `qwen-plus`. Key: `DASHSCOPE_API_KEY`.
---@param options koine.AdapterOptions
---@return koine.Adapter adapter
function koine.alibaba(options) end

---Options of koine.azure.
---@class koine.AzureOptions: koine.AdapterOptions
---@field model string the model's id
---@field base_url string http or https URL
---@field api? "chat"|"responses" the wire format

---Azure OpenAI. Key: `AZURE_OPENAI_API_KEY`.
---@param options koine.AzureOptions
---@return koine.Adapter adapter
function koine.azure(options) end

---Options of koine.azure_claude.
---@class koine.AzureClaudeOptions: koine.AdapterOptions
---@field model string the model's id
---@field auth? koine.AuthScheme how the key is sent
---@field resource? string default: a variable

---Claude on Azure. Key: `ANTHROPIC_FOUNDRY_API_KEY`.
---@param options koine.AzureClaudeOptions
---@return koine.Adapter adapter
function koine.azure_claude(options) end

---Options of koine.bedrock.
---@class koine.BedrockOptions: koine.AdapterOptions
---@field credentials? koine.AwsCredentials|(fun(): koine.AwsCredentials?, any) what signs; default: variables
---@field region? string default: a variable

---Amazon Bedrock. Model by default: `global.anthropic.claude-sonnet-4-5-20250929-v1:0`. Key: `AWS_BEARER_TOKEN_BEDROCK`.
---@param options koine.BedrockOptions
---@return koine.Adapter adapter
function koine.bedrock(options) end

---Options of koine.bedrock_claude.
---@class koine.BedrockClaudeOptions: koine.AdapterOptions
---@field model string the model's id
---@field api? "anthropic"|"invoke" the wire format
---@field credentials? koine.AwsCredentials|(fun(): koine.AwsCredentials?, any) what signs; default: variables
---@field region? string default: a variable

---Claude on Amazon Bedrock. Key: `AWS_BEARER_TOKEN_BEDROCK`.
---@param options koine.BedrockClaudeOptions
---@return koine.Adapter adapter
function koine.bedrock_claude(options) end

---Options of koine.bedrock_openai.
---@class koine.BedrockOpenaiOptions: koine.AdapterOptions
---@field model string the model's id
---@field api? "responses"|"chat" the wire format
---@field credentials? koine.AwsCredentials|(fun(): koine.AwsCredentials?, any) what signs; default: variables
---@field region? string default: a variable

---OpenAI on Amazon Bedrock. Key: `AWS_BEARER_TOKEN_BEDROCK`.
---@param options koine.BedrockOpenaiOptions
---@return koine.Adapter adapter
function koine.bedrock_openai(options) end

---Cerebras. Model by default: `gpt-oss-120b`. Key: `CEREBRAS_API_KEY`.
---@param options koine.AdapterOptions
---@return koine.Adapter adapter
function koine.cerebras(options) end

---Cohere. Model by default: `command-a-03-2025`. Key: `COHERE_API_KEY`.
---@param options koine.AdapterOptions
---@return koine.Adapter adapter
function koine.cohere(options) end

---Options of koine.copilot.
---@class koine.CopilotOptions: koine.AdapterOptions
---@field api? "chat"|"responses" the wire format
---@field api_base? string URL of the chat host; default: what the token names
---@field client_id? string the app of the login
---@field editor_version? string `"Koine/VERSION"`
---@field github_host? string `"NAME.ghe.com"` of an enterprise, or its https URL; `"github.com"`
---@field github_token? string default: variables, and the token file
---@field integration_id? string `"vscode-chat"`
---@field min_request_interval? number seconds between two requests, 0 for none; 3
---@field on_device_code? fun(login: koine.DeviceCode) shows the code of a login; default: prints it
---@field rate_limit? { requests: integer, period: number } so many in so many seconds
---@field rate_limit_path? string the limiter's file; default: beside the token file
---@field token_path? string path of the token file

---GitHub Copilot. Model by default: `gpt-4.1`. A login: docs/copilot.md.
---@param options koine.CopilotOptions
---@return koine.Adapter adapter
function koine.copilot(options) end

---Options of koine.deepinfra.
---@class koine.DeepinfraOptions: koine.AdapterOptions
---@field model string the model's id

---DeepInfra. Key: `DEEPINFRA_API_KEY` or `DEEPINFRA_TOKEN`.
---@param options koine.DeepinfraOptions
---@return koine.Adapter adapter
function koine.deepinfra(options) end

---Options of koine.deepseek.
---@class koine.DeepseekOptions: koine.AdapterOptions
---@field api? "chat"|"responses" the wire format

---DeepSeek. Model by default: `deepseek-chat`. Key: `DEEPSEEK_API_KEY`.
---@param options koine.DeepseekOptions
---@return koine.Adapter adapter
function koine.deepseek(options) end

---Options of koine.fireworks.
---@class koine.FireworksOptions: koine.AdapterOptions
---@field model string the model's id

---Fireworks AI. Key: `FIREWORKS_API_KEY`.
---@param options koine.FireworksOptions
---@return koine.Adapter adapter
function koine.fireworks(options) end

---Groq. Model by default: `openai/gpt-oss-120b`. Key: `GROQ_API_KEY`.
---@param options koine.AdapterOptions
---@return koine.Adapter adapter
function koine.groq(options) end

---MiniMax. Model by default: `MiniMax-M3`. Key: `MINIMAX_API_KEY`.
---@param options koine.AdapterOptions
---@return koine.Adapter adapter
function koine.minimax(options) end

---Mistral. Model by default: `mistral-large-latest`. Key: `MISTRAL_API_KEY`.
---@param options koine.AdapterOptions
---@return koine.Adapter adapter
function koine.mistral(options) end

---Options of koine.moonshot.
---@class koine.MoonshotOptions: koine.AdapterOptions
---@field model string the model's id

---Moonshot AI. Key: `MOONSHOT_API_KEY`.
---@param options koine.MoonshotOptions
---@return koine.Adapter adapter
function koine.moonshot(options) end

---Options of koine.openrouter.
---@class koine.OpenrouterOptions: koine.AdapterOptions
---@field api? "chat"|"responses" the wire format

---OpenRouter. Model by default: `openrouter/auto`. Key: `OPENROUTER_API_KEY`.
---@param options koine.OpenrouterOptions
---@return koine.Adapter adapter
function koine.openrouter(options) end

---Perplexity. Model by default: `sonar`. Key: `PERPLEXITY_API_KEY`.
---@param options koine.AdapterOptions
---@return koine.Adapter adapter
function koine.perplexity(options) end

---Options of koine.together.
---@class koine.TogetherOptions: koine.AdapterOptions
---@field model string the model's id

---Together AI. Key: `TOGETHER_API_KEY`.
---@param options koine.TogetherOptions
---@return koine.Adapter adapter
function koine.together(options) end

---Options of koine.vertex.
---@class koine.VertexOptions: koine.AdapterOptions
---@field credentials_file? string path; default: `GOOGLE_APPLICATION_CREDENTIALS`
---@field location? string `"global"`, `"us"`, `"eu"` or a region; default: `GOOGLE_CLOUD_LOCATION`
---@field project? string default: `GOOGLE_CLOUD_PROJECT`
---@field token? string|(fun(): string?, any) an access token

---Vertex AI. Model by default: `gemini-3.5-flash`. Key: `GOOGLE_APPLICATION_CREDENTIALS`.
---@param options koine.VertexOptions
---@return koine.Adapter adapter
function koine.vertex(options) end

---Options of koine.vertex_claude.
---@class koine.VertexClaudeOptions: koine.AdapterOptions
---@field credentials_file? string path; default: `GOOGLE_APPLICATION_CREDENTIALS`
---@field location? string `"global"`, `"us"`, `"eu"` or a region; default: `GOOGLE_CLOUD_LOCATION`
---@field project? string default: `GOOGLE_CLOUD_PROJECT`
---@field token? string|(fun(): string?, any) an access token

---Claude on Vertex AI. Model by default: `claude-sonnet-4-5@20250929`. Key: `GOOGLE_APPLICATION_CREDENTIALS`.
---@param options koine.VertexClaudeOptions
---@return koine.Adapter adapter
function koine.vertex_claude(options) end

---Options of koine.voyage.
---@class koine.VoyageOptions: koine.AdapterOptions
---@field model string the model's id

---Voyage AI. Key: `VOYAGE_API_KEY`. Embeddings only.
---@param options koine.VoyageOptions
---@return koine.Adapter adapter
function koine.voyage(options) end

---Options of koine.xai.
---@class koine.XaiOptions: koine.AdapterOptions
---@field api? "chat"|"responses" the wire format

---xAI. Model by default: `grok-4`. Key: `XAI_API_KEY`.
---@param options koine.XaiOptions
---@return koine.Adapter adapter
function koine.xai(options) end

---Options of koine.llamacpp.
---@class koine.LlamacppOptions: koine.AdapterOptions
---@field model string the model's id
---@field api? "chat"|"anthropic"|"responses" the wire format

---llama.cpp. Key: `LLAMA_API_KEY`, not needed.
---@param options koine.LlamacppOptions
---@return koine.Adapter adapter
function koine.llamacpp(options) end

---Options of koine.lmstudio.
---@class koine.LmstudioOptions: koine.AdapterOptions
---@field model string the model's id

---LM Studio. Key: `LMSTUDIO_API_KEY`, not needed.
---@param options koine.LmstudioOptions
---@return koine.Adapter adapter
function koine.lmstudio(options) end

---Options of koine.ollama.
---@class koine.OllamaOptions: koine.AdapterOptions
---@field model string the model's id

---Ollama. Key: `OLLAMA_API_KEY`, not needed.
---@param options koine.OllamaOptions
---@return koine.Adapter adapter
function koine.ollama(options) end

---Options of koine.ollama_compat.
---@class koine.OllamaCompatOptions: koine.AdapterOptions
---@field model string the model's id

---Ollama (OpenAI-compatible). Key: `OLLAMA_API_KEY`, not needed.
---@param options koine.OllamaCompatOptions
---@return koine.Adapter adapter
function koine.ollama_compat(options) end

---Options of koine.sglang.
---@class koine.SglangOptions: koine.AdapterOptions
---@field model string the model's id

---SGLang. Key: `SGLANG_API_KEY`, not needed.
---@param options koine.SglangOptions
---@return koine.Adapter adapter
function koine.sglang(options) end

---Options of koine.vllm.
---@class koine.VllmOptions: koine.AdapterOptions
---@field model string the model's id
---@field api? "chat"|"responses" the wire format

---vLLM. Key: `VLLM_API_KEY`, not needed.
---@param options koine.VllmOptions
---@return koine.Adapter adapter
function koine.vllm(options) end

---Options of koine.compatible.
---@class koine.CompatibleOptions: koine.AdapterOptions
---@field model string the model's id
---@field base_url string http or https URL
---@field api? "chat"|"anthropic"|"responses" the wire format
---@field auth? koine.AuthScheme how the key is sent
---@field name? string the name in errors and replayed blocks; `"compatible"`

---Compatible server.
---@param options koine.CompatibleOptions
---@return koine.Adapter adapter
function koine.compatible(options) end
