// genai.mjs URL MODULES: has @google/genai (in the folder MODULES) carry out the steps on standard input, a JSON array,
// against the server at URL; prints what it read of the answers as a JSON array, an element a step.
//   {do: "generate" | "stream", params}                          one request
//   {do: "chat", params, messages: [{message, stream}]}           a conversation whose history the library keeps
//   {do: "calls", params, tools: [declaration], results: {name: response}}  calls that the library answers by itself
//   {do: "count" | "list" | "get", params}
// An answer is {chunks: [view]}, or {error: {name, status, message}, chunks: those before it}.

import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';

const [url, modules] = process.argv.slice(2);
const { GoogleGenAI } = createRequire(modules + '/')('@google/genai');
const ai = new GoogleGenAI({ apiKey: 'interop-key', apiVersion: 'v1beta', httpOptions: { baseUrl: url } });

// What the library's own accessors say, besides what it passes on.
function view(answer) {
  const candidate = answer.candidates?.[0];
  const parts = candidate?.content?.parts ?? [];
  return {
    text: answer.text, data: answer.data, functionCalls: answer.functionCalls,
    executableCode: answer.executableCode, codeExecutionResult: answer.codeExecutionResult,
    thoughts: parts.filter((part) => part.thought).map((part) => part.text),
    signatures: parts.map((part) => part.thoughtSignature).filter((signature) => signature !== undefined),
    finishReason: candidate?.finishReason, grounding: candidate?.groundingMetadata,
    blockReason: answer.promptFeedback?.blockReason, usage: answer.usageMetadata, id: answer.responseId,
    model: answer.modelVersion,
  };
}

async function read(answer, chunks) {
  if (typeof answer[Symbol.asyncIterator] !== 'function') return chunks.push(view(answer));
  for await (const chunk of answer) chunks.push(view(chunk));
}

const actions = {
  generate: async (step, chunks) => read(await ai.models.generateContent(step.params), chunks),
  stream: async (step, chunks) => read(await ai.models.generateContentStream(step.params), chunks),
  chat: async (step, chunks) => {
    const chat = ai.chats.create(step.params);
    for (const { message, stream } of step.messages)
      await read(await (stream ? chat.sendMessageStream({ message }) : chat.sendMessage({ message })), chunks);
  },
  calls: async (step, chunks) => {
    const tool = {
      tool: async () => ({ functionDeclarations: step.tools }),
      callTool: async (calls) => calls.map((call) => ({
        functionResponse: { id: call.id, name: call.name, response: step.results[call.name] },
      })),
    };
    const params = { ...step.params, config: { ...step.params.config, tools: [tool] } };
    await read(await (step.stream ? ai.models.generateContentStream(params) : ai.models.generateContent(params)), chunks);
  },
  count: async (step, chunks) => chunks.push((await ai.models.countTokens(step.params)).totalTokens),
  get: async (step, chunks) => chunks.push(await ai.models.get(step.params)),
  list: async (step, chunks) => {
    for await (const model of await ai.models.list(step.params)) chunks.push(model);
  },
};

const results = [];
for (const step of JSON.parse(readFileSync(0, 'utf8'))) {
  const chunks = [];
  try {
    await actions[step.do](step, chunks);
    results.push({ chunks });
  } catch (e) {
    results.push({ chunks, error: { name: e.name, status: e.status, message: e.message } });
  }
}
console.log(JSON.stringify(results));
