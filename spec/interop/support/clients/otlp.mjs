// otlp.mjs "" MODULES: judges bodies of OTLP in JSON by OpenTelemetry's own libraries (in the folder MODULES). Standard
// input is {traces: [body], metrics: [body]}, bodies as text. Prints {spans, points (how many there were), unread (what
// the definitions of the protocol do not know or write otherwise), differences (from what the official exporters send
// for the same spans and measurements), shapes (places where its JSON has other types than ours), names (attributes
// and metrics that the conventions do not have), request (of the official exporter: method, path, content type)}.

import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';

const require = createRequire(process.argv[3] + '/');
const api = require('@opentelemetry/api');
const conventions = require('@opentelemetry/semantic-conventions/incubating');
const { OTLPMetricExporter } = require('@opentelemetry/exporter-metrics-otlp-http');
const { OTLPTraceExporter } = require('@opentelemetry/exporter-trace-otlp-http');
const { resourceFromAttributes } = require('@opentelemetry/resources');
const root = require('@opentelemetry/otlp-transformer/build/src/generated/root');
const { MeterProvider, PeriodicExportingMetricReader } = require('@opentelemetry/sdk-metrics');
const { BasicTracerProvider, SimpleSpanProcessor } = require('@opentelemetry/sdk-trace-node');

const proto = root.opentelemetry.proto.collector;
const MESSAGES = {
  traces: proto.trace.v1.ExportTraceServiceRequest, metrics: proto.metrics.v1.ExportMetricsServiceRequest,
};

// What the protocol makes of a body: ids of JSON are hex, those of protobuf bytes. Fields of default values go.
const IDS = new Set(['traceId', 'spanId', 'parentSpanId']);
function withIds(value, change) {
  if (Array.isArray(value)) return value.map((member) => withIds(member, change));
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) =>
    [key, IDS.has(key) && typeof member === 'string' ? change(member) : withIds(member, change)]));
}
const toBytes = (body) => withIds(body, (hex) => Buffer.from(hex, 'hex').toString('base64'));
const toHex = (body) => withIds(body, (text) => Buffer.from(text, 'base64').toString('hex'));

function decoded(kind, body) {
  const type = MESSAGES[kind];
  const message = type.fromObject(toBytes(body));
  const problem = type.verify(message);
  if (problem) throw new Error(problem);
  const again = type.decode(type.encode(message).finish());
  return toHex(type.toObject(again, { longs: String, bytes: String, arrays: false }));
}

// Says where two values differ. What protobuf leaves out is as good as nothing; `text`: a number is as good as its text.
const isNothing = (value) => value === undefined || value === 0 || value === '' || (Array.isArray(value) && !value.length);
function compare(where, a, b, say, text) {
  if (a && b && typeof a === 'object' && typeof b === 'object') {
    for (const key of new Set([...Object.keys(a), ...Object.keys(b)])) compare(`${where}.${key}`, a[key], b[key], say, text);
  } else if (a !== b && !(isNothing(a) && isNothing(b)) && !(text && String(a) === String(b))) {
    say(`${where}: ${JSON.stringify(a)}, ${JSON.stringify(b)}`);
  }
}

// The official exporters ------------------------------------------------------------------------------------------

// A server that keeps what it is sent.
const received = [];
const server = createServer((request, response) => {
  const chunks = [];
  request.on('data', (chunk) => chunks.push(chunk));
  request.on('end', () => {
    received.push({ method: request.method, path: request.url, type: request.headers['content-type'],
      body: JSON.parse(Buffer.concat(chunks)) });
    response.setHeader('content-type', 'application/json').end('{}');
  });
});
await new Promise((done) => server.listen(0, '127.0.0.1', done));
const url = `http://127.0.0.1:${server.address().port}`;

const plain = (value) => value.stringValue ?? value.boolValue ?? value.doubleValue
  ?? (value.intValue === undefined ? value.arrayValue.values.map(plain) : Number(value.intValue));
const attributesOf = (list) => Object.fromEntries(list.map((one) => [one.key, plain(one.value)]));
const timeOf = (text) => [Number(BigInt(text) / 1000000000n), Number(BigInt(text) % 1000000000n)];

// What the official exporter sends for the spans of a body.
async function officialTraces(body) {
  const [{ resource, scopeSpans: [{ scope, spans }] }] = body.resourceSpans;
  let current;
  const provider = new BasicTracerProvider({ resource: resourceFromAttributes(attributesOf(resource.attributes)),
    idGenerator: { generateTraceId: () => current.traceId, generateSpanId: () => current.spanId },
    spanProcessors: [new SimpleSpanProcessor(new OTLPTraceExporter({ url: `${url}/v1/traces` }))] });
  const tracer = provider.getTracer(scope.name, scope.version);
  const sent = [];
  for (current of spans) {
    let context = api.ROOT_CONTEXT;
    if (current.parentSpanId) {
      context = api.trace.setSpanContext(context, { traceId: current.traceId, spanId: current.parentSpanId, traceFlags: 1 });
    }
    const span = tracer.startSpan(current.name, { kind: current.kind - 1, startTime: timeOf(current.startTimeUnixNano),
      attributes: attributesOf(current.attributes) }, context);
    for (const event of current.events) span.addEvent(event.name, attributesOf(event.attributes), timeOf(event.timeUnixNano));
    if (current.status.code) span.setStatus(current.status);
    span.end(timeOf(current.endTimeUnixNano));
    await provider.forceFlush();
    sent.push(received.pop());
  }
  const whole = sent[0].body;
  whole.resourceSpans[0].scopeSpans[0].spans = sent.map((one) => one.body.resourceSpans[0].scopeSpans[0].spans[0]);
  return { request: sent[0], body: whole };
}

// The same for measurements: of a point, its least, its greatest, and what is left of its sum between them.
async function officialMetrics(body) {
  const [{ resource, scopeMetrics: [{ scope, metrics }] }] = body.resourceMetrics;
  const exporter = new OTLPMetricExporter({ url: `${url}/v1/metrics` });
  const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 3600000 });
  const provider = new MeterProvider({ resource: resourceFromAttributes(attributesOf(resource.attributes)), readers: [reader] });
  const meter = provider.getMeter(scope.name, scope.version);
  for (const metric of metrics) {
    const { dataPoints } = metric.histogram;
    const histogram = meter.createHistogram(metric.name, { unit: metric.unit, description: metric.description,
      advice: { explicitBucketBoundaries: dataPoints[0].explicitBounds } });
    for (const point of dataPoints) {
      const values = point.count === '1' ? [point.sum] : [point.min, point.max];
      for (const value of values) histogram.record(value, attributesOf(point.attributes));
    }
  }
  await provider.forceFlush();
  const request = received.pop();
  await provider.shutdown();
  return { request, body: request.body };
}

// Judging ---------------------------------------------------------------------------------------------------------

// The order of attributes means nothing, nor when measurements were made.
function canonical(value) {
  if (Array.isArray(value)) return value.map(canonical);
  if (value === null || typeof value !== 'object') return value;
  const copy = Object.fromEntries(Object.entries(value).map(([key, member]) => [key, canonical(member)]));
  if (Array.isArray(copy.attributes)) copy.attributes.sort((a, b) => (a.key < b.key ? -1 : 1));
  return copy;
}
function withoutTimes(body) {
  for (const metric of body.resourceMetrics[0].scopeMetrics[0].metrics) {
    for (const point of metric.histogram.dataPoints) point.startTimeUnixNano = point.timeUnixNano = '1';
  }
  return body;
}

// The types of a body's JSON by their places; a place in an array has no number.
function shapes(value, where, into) {
  const type = Array.isArray(value) ? 'array' : typeof value;
  (into[where] ??= new Set()).add(type);
  if (type === 'array') value.forEach((member) => shapes(member, `${where}[]`, into));
  else if (type === 'object') Object.entries(value).forEach(([key, member]) => shapes(member, `${where}.${key}`, into));
  return into;
}

const known = new Set(Object.values(conventions).filter((value) => typeof value === 'string'));
const result = { spans: 0, points: 0, unread: [], differences: [], shapes: [], names: [], request: {} };
const once = (list) => (text) => { if (!list.includes(text)) list.push(text); };

function judgeNames(value) {
  if (Array.isArray(value)) return value.forEach(judgeNames);
  if (value === null || typeof value !== 'object') return undefined;
  for (const one of value.attributes ?? []) if (!known.has(one.key)) once(result.names)(one.key);
  if (value.histogram && !known.has(value.name)) once(result.names)(value.name);
  return Object.values(value).forEach(judgeNames);
}

async function judge(kind, text) {
  const body = JSON.parse(text);
  compare(kind, body, decoded(kind, body), once(result.unread), true);
  judgeNames(body);
  const official = await (kind === 'traces' ? officialTraces(body) : officialMetrics(body));
  result.request[kind] = { method: official.request.method, path: official.request.path, type: official.request.type };
  const [ours, theirs] = [body, official.body].map((one) => {
    const read = canonical(decoded(kind, one));
    return kind === 'metrics' ? withoutTimes(read) : read;
  });
  compare(kind, ours, theirs, once(result.differences), false);
  const [mine, other] = [shapes(body, kind, {}), shapes(official.body, kind, {})];
  for (const where of new Set([...Object.keys(mine), ...Object.keys(other)])) {
    const [a, b] = [mine, other].map((all) => [...(all[where] ?? ['nothing'])].sort().join(' or '));
    if (a !== b) once(result.shapes)(`${where}: ${a}, ${b}`);
  }
  if (kind === 'traces') result.spans += body.resourceSpans[0].scopeSpans[0].spans.length;
  else for (const metric of body.resourceMetrics[0].scopeMetrics[0].metrics) result.points += metric.histogram.dataPoints.length;
}

const input = JSON.parse(readFileSync(0, 'utf8'));
for (const kind of ['traces', 'metrics']) for (const text of input[kind] ?? []) await judge(kind, text);
server.close();
for (const name of ['unread', 'differences', 'shapes', 'names']) result[name].sort();
console.log(JSON.stringify(result));
