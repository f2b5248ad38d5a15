// cassettes.mjs URL MODULES: has OpenAI's and Anthropic's own clients (in the folder MODULES) read the answers of a server
// at URL. Standard input is a JSON array of steps: {with: "chat", "responses" or "messages", model, prompt, stream}
// Prints a JSON array, an element a step: {text, calls: [{id, name, arguments}], stop, input, output} or {error}.

import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';

const [url, modules] = process.argv.slice(2);
const require = createRequire(modules + '/');
const { default: OpenAI } = require('openai');
const { default: Anthropic } = require('@anthropic-ai/sdk');

const openai = new OpenAI({ baseURL: url + '/v1', apiKey: 'k', maxRetries: 0 });
const anthropic = new Anthropic({ baseURL: url, apiKey: 'k', maxRetries: 0 });

const clients = {
  async chat({ model, prompt, stream }) {
    const asked = { model, messages: [{ role: 'user', content: prompt }] };
    const answer = stream
      ? await openai.chat.completions.stream({ ...asked, stream_options: { include_usage: true } }).finalChatCompletion()
      : await openai.chat.completions.create(asked);
    const { message, finish_reason: stop } = answer.choices[0];
    return { text: message.content ?? '', stop, input: answer.usage?.prompt_tokens, output: answer.usage?.completion_tokens,
      calls: (message.tool_calls ?? []).map((c) => ({ id: c.id, name: c.function.name, arguments: c.function.arguments })) };
  },
  async responses({ model, prompt, stream }) {
    const asked = { model, input: [{ role: 'user', content: prompt }] };
    const answer = stream ? await openai.responses.stream(asked).finalResponse() : await openai.responses.create(asked);
    const calls = answer.output.filter((item) => item.type === 'function_call');
    const text = answer.output.filter((item) => item.type === 'message')
      .flatMap((item) => item.content).map((part) => part.text ?? '').join('');
    return { text, stop: answer.status, input: answer.usage?.input_tokens, output: answer.usage?.output_tokens,
      calls: calls.map((c) => ({ id: c.call_id, name: c.name, arguments: c.arguments })) };
  },
  async messages({ model, prompt, stream }) {
    const asked = { model, max_tokens: 100, messages: [{ role: 'user', content: prompt }] };
    const answer = stream ? await anthropic.messages.stream(asked).finalMessage() : await anthropic.messages.create(asked);
    return { text: answer.content.filter((b) => b.type === 'text').map((b) => b.text).join(''), stop: answer.stop_reason,
      input: answer.usage?.input_tokens, output: answer.usage?.output_tokens,
      calls: answer.content.filter((b) => b.type === 'tool_use')
        .map((b) => ({ id: b.id, name: b.name, arguments: JSON.stringify(b.input) })) };
  },
};

const results = [];
for (const step of JSON.parse(readFileSync(0, 'utf8'))) {
  try {
    results.push(await clients[step.with](step));
  } catch (e) {
    results.push({ error: String(e.status ?? '') + ' ' + e.message });
  }
}
console.log(JSON.stringify(results));
