// peers.mjs PEER WHAT LABEL URL N: what Koine's programs beside it do, with an SDK of others. PEER: openai, anthropic,
// ai-openai or ai-anthropic (Vercel's ai). WHAT: chat (N small ones, one after the other) or delta (a stream of N events).
// Prints `LABEL value unit`. CPU is the process's own, of all its threads. Only the named SDK is loaded.
const [, , peer, what, label, url, count] = process.argv;
const n = Number(count);
const base = `${url}/${what === 'chat' ? 'chat' : `stream/${n}`}`;
const messages = [{ role: 'user', content: 'Why is the sky blue?' }];
const model = 'bench-1', apiKey = 'bench-key';

async function openai() {
  const { default: OpenAI } = await import('openai');
  const api = new OpenAI({ apiKey, baseURL: `${base}/v1`, maxRetries: 0 }).chat.completions;
  return {
    chat: async () => (await api.create({ model, messages })).choices[0].message.content,
    async *texts() {
      for await (const e of await api.create({ model, messages, stream: true })) yield e.choices[0]?.delta?.content;
    },
  };
}

async function anthropic() {
  const { default: Anthropic } = await import('@anthropic-ai/sdk');
  const api = new Anthropic({ apiKey, baseURL: base, maxRetries: 0 }).messages;
  const request = { model, messages, max_tokens: 8192 };
  return {
    chat: async () => (await api.create(request)).content[0].text,
    async *texts() {
      for await (const e of await api.create({ ...request, stream: true }))
        if (e.type === 'content_block_delta') yield e.delta.text;
    },
  };
}

async function vercel(make) {
  globalThis.AI_SDK_LOG_WARNINGS = false;
  const { streamText, generateText } = await import('ai');
  const request = { model: (await make())(model), messages, maxOutputTokens: 8192, maxRetries: 0 };
  return {
    chat: async () => (await generateText(request)).text,
    texts: () => streamText({ ...request, onError: (e) => { throw e.error; } }).textStream,
  };
}

const peers = {
  openai,
  anthropic,
  'ai-openai': () => vercel(async () => {
    const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible');
    return createOpenAICompatible({ name: 'bench', apiKey, baseURL: `${base}/v1` });
  }),
  'ai-anthropic': () => vercel(async () => {
    const { createAnthropic } = await import('@ai-sdk/anthropic');
    return createAnthropic({ apiKey, baseURL: `${base}/v1` });
  }),
};

const cpu = () => { const c = process.cpuUsage(); return c.user + c.system; };
const client = await peers[peer]();
const runs = {
  async chat() {
    for (let i = 0; i < 50; i++) await client.chat();
    const before = cpu();
    for (let i = 0; i < n; i++) if (!(await client.chat())) throw new Error('no text');
    console.log(`${label} ${((cpu() - before) / n).toPrecision(4)} us`);
  },
  async delta() {
    let seen = 0;
    const before = cpu();
    for await (const text of client.texts()) if (text) seen++;
    if (seen !== n) throw new Error(`${seen} of ${n} deltas`);
    console.log(`${label} ${((cpu() - before) * 1000 / n).toPrecision(4)} ns`);
  },
};
await runs[what]();
