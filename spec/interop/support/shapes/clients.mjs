// clients.mjs URL MODULES: has the libraries of others (in the folder MODULES) ask for answers of a shape, in the ways that
// they have for it, against the server at URL. Standard input is a JSON array of steps:
//   {with: a judge's name, below, shape: a name in shapes, stream}
// Prints a JSON object:
//   shapes   array of {name, schema: JSON Schema as text, answer: a value that fits it}
//   results  array, an element a step: {value: what the library made of the answer, partial: the last value that it showed
//            while the answer grew, partials: how many there were}, or {error}; `sent`: false where it did not ask

import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';

const [url, modules] = process.argv.slice(2);
const require = createRequire(modules + '/');
const { z } = require('zod');
const { z: z3 } = require('zod/v3');
const { zodToJsonSchema } = require('zod-to-json-schema');
const { default: OpenAI } = require('openai');
const { zodResponseFormat, zodTextFormat } = require('openai/helpers/zod');
const { default: Anthropic } = require('@anthropic-ai/sdk');
const { zodOutputFormat } = require('@anthropic-ai/sdk/helpers/zod');
const { generateObject, streamObject } = require('ai');
const { createOpenAI } = require('@ai-sdk/openai');
const { createAnthropic } = require('@ai-sdk/anthropic');
const { GoogleGenAI } = require('@google/genai');

// The shapes, in words that both versions of zod have.
function shapes(z) {
  const tree = z.object({ name: z.string(), parts: z.array(z.lazy(() => tree)) });
  const point = z.object({ x: z.number(), y: z.number() });
  return {
    flat: z.object({ name: z.string(), age: z.number().int(), tall: z.boolean() }),
    order: z.object({ why: z.string(), answer: z.string(), b: z.string(), a: z.string() }),
    nested: z.object({ who: z.object({ name: z.string(), home: z.object({ city: z.string() }) }) }),
    arrays: z.object({ names: z.array(z.string()), points: z.array(point), grid: z.array(z.array(z.number())) }),
    counted: z.object({ one: z.array(z.string()).min(1), some: z.array(z.string()).min(2).max(3) }),
    nullable: z.object({ a: z.string().nullable(), b: point.nullable(), c: z.array(z.string()).nullable() }),
    optional: z.object({ a: z.string(), b: z.string().optional(), c: z.number().optional() }),
    nullish: z.object({ a: z.string(), b: z.string().nullish(), c: point.nullish() }),
    words: z.object({ size: z.enum(['small', 'large']), kind: z.literal('shoe'), maybe: z.enum(['x', 'y']).nullable() }),
    either: z.object({ id: z.union([z.string(), z.number()]), list: z.array(z.union([z.number(), z.null()])) }),
    union: z.object({ it: z.union([z.object({ text: z.string() }), z.object({ count: z.number() })]) }),
    told: z.object({ it: z.discriminatedUnion('kind', [z.object({ kind: z.literal('circle'), r: z.number() }),
      z.object({ kind: z.literal('square'), side: z.number() })]) }),
    formats: z.object({ mail: z.string().email(), id: z.string().uuid(), at: z.string().datetime() }),
    links: z.object({ url: z.string().url() }),
    pattern: z.object({ code: z.string().regex(/^[A-Z]{2}[0-9]+$/) }),
    lengths: z.object({ short: z.string().min(1).max(5), exact: z.string().length(2) }),
    limits: z.object({ a: z.number().min(1).max(10), b: z.number().gt(0).lt(1), c: z.number().int().gt(3),
      d: z.number().multipleOf(0.5) }),
    described: z.object({ a: z.string().describe('What is done.'), p: point.describe('Where.') }).describe('A step.'),
    recursive: tree,
    record: z.object({ counts: z.record(z.string(), z.number()) }),
    pair: z.object({ pair: z.tuple([z.string(), z.number()]) }),
    defaults: z.object({ a: z.string().default('x'), b: z.number() }),
    names: z.object({ 'with space': z.string(), 'ü"\\': z.string(), $id: z.string(), type: z.string() }),
    empty: z.object({}),
  };
}

const answers = {
  flat: { name: 'Ada', age: 36, tall: true },
  order: { why: 'so', answer: '4', b: 'b', a: 'a' },
  nested: { who: { name: 'Ada', home: { city: 'London "W"' } } },
  arrays: { names: ['é', '😀'], points: [{ x: 1.5, y: -2e3 }], grid: [[1, 2], [], [3]] },
  counted: { one: ['a'], some: ['b', 'c'] },
  nullable: { a: null, b: null, c: ['x'] },
  optional: { a: 'x', b: 'y' },
  nullish: { a: 'x', b: null, c: { x: 0, y: 0 } },
  words: { size: 'large', kind: 'shoe', maybe: null },
  either: { id: 7, list: [1, null] },
  union: { it: { count: 2 } },
  told: { it: { kind: 'square', side: 2 } },
  formats: { mail: 'a@b.co', id: '123e4567-e89b-42d3-a456-426614174000', at: '2026-01-02T03:04:05Z' },
  links: { url: 'https://a.test/b' },
  pattern: { code: 'AB12' },
  lengths: { short: 'abc', exact: 'ab' },
  limits: { a: 10, b: 0.5, c: 4, d: 2.5 },
  described: { a: 'go', p: { x: 1, y: 2 } },
  recursive: { name: 'a', parts: [{ name: 'b', parts: [] }] },
  record: { counts: { a: 1 } },
  pair: { pair: ['a', 1] },
  defaults: { a: 'y', b: 1 },
  names: { 'with space': 'a', 'ü"\\': 'b', $id: 'c', type: 'd' },
  empty: {},
};

const four = shapes(z), three = shapes(z3);

let sent = false; // whether the step has sent something
const ask = globalThis.fetch;
globalThis.fetch = (...call) => { sent = true; return ask(...call); };

const max_tokens = 4096, prompt = 'Make one.';
const messages = [{ role: 'user', content: prompt }];
const settings = { baseURL: url + '/v1', apiKey: 'interop-key', maxRetries: 0 };
const openai = new OpenAI(settings), anthropic = new Anthropic({ ...settings, baseURL: url });
const vercel = createOpenAI(settings), vercelAnthropic = createAnthropic(settings);
const google = new GoogleGenAI({ apiKey: 'interop-key', apiVersion: 'v1beta', httpOptions: { baseUrl: url } });

// Vercel's two functions.
async function object(model, name, stream, see) {
  const options = { model, schema: four[name], schemaName: 'shape', prompt, maxRetries: 0, maxOutputTokens: max_tokens };
  if (!stream) return (await generateObject(options)).object;
  let failure;
  const answer = streamObject({ ...options, onError: ({ error }) => { failure = error; } });
  for await (const partial of answer.partialObjectStream) see(partial);
  if (failure) throw failure;
  return answer.object;
}

async function content(schema, made, stream, see) {
  const params = { model: 'gemini-3.5-flash', contents: prompt,
    config: { responseMimeType: 'application/json', responseJsonSchema: made } };
  let text = '';
  if (!stream) text = (await google.models.generateContent(params)).text;
  else for await (const chunk of await google.models.generateContentStream(params)) see(text += chunk.text ?? '');
  return schema.parse(JSON.parse(text));
}

const judges = {
  'openai chat': async (name, stream, see) => {
    const params = { model: 'gpt-5', messages, response_format: zodResponseFormat(four[name], 'shape') };
    if (!stream) return (await openai.chat.completions.parse(params)).choices[0].message.parsed;
    const runner = openai.chat.completions.stream(params);
    runner.on('content.delta', ({ parsed }) => see(parsed));
    return (await runner.finalChatCompletion()).choices[0].message.parsed;
  },
  'openai responses': async (name, stream, see) => {
    const params = { model: 'gpt-5', input: prompt, text: { format: zodTextFormat(four[name], 'shape') } };
    if (!stream) return (await openai.responses.parse(params)).output_parsed;
    const runner = openai.responses.stream(params);
    runner.on('response.output_text.delta', ({ snapshot }) => see(snapshot));
    return (await runner.finalResponse()).output_parsed;
  },
  anthropic: async (name, stream, see) => {
    const params = { model: 'claude-sonnet-4-5', max_tokens, messages,
      output_config: { format: zodOutputFormat(four[name]) } };
    if (!stream) return (await anthropic.messages.parse(params)).parsed_output;
    const runner = anthropic.messages.stream(params);
    runner.on('text', (_, snapshot) => see(snapshot));
    return (await runner.finalMessage()).parsed_output;
  },
  'vercel openai chat': (name, stream, see) => object(vercel.chat('gpt-5'), name, stream, see),
  'vercel openai responses': (name, stream, see) => object(vercel.responses('gpt-5'), name, stream, see),
  'vercel anthropic': (name, stream, see) => object(vercelAnthropic('claude-sonnet-4-5'), name, stream, see),
  genai: (name, stream, see) => content(four[name], z.toJSONSchema(four[name]), stream, see),
  'genai with zod 3': (name, stream, see) => content(three[name], zodToJsonSchema(three[name]), stream, see),
};

const results = [];
for (const step of JSON.parse(readFileSync(0, 'utf8'))) {
  let partial, partials = 0;
  const see = (value) => { partial = structuredClone(value); partials += 1; };
  sent = false;
  try {
    results.push({ value: await judges[step.with](step.shape, step.stream, see), partial, partials, sent });
  } catch (e) {
    results.push({ error: e.message, sent });
  }
}
console.log(JSON.stringify({ results, judges: Object.keys(judges),
  shapes: Object.keys(four).map((name) => ({ name, schema: JSON.stringify(z.toJSONSchema(four[name])),
    answer: answers[name] })) }));
