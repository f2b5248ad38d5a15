// An agent by @agentclientprotocol/sdk, which Koine starts: it asks its client all that an agent may ask. Every message that
// the client writes is judged by the protocol's JSON schema; what does not fit is written to the file of the first argument,
// one JSON a line.

import { appendFileSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { Readable, Writable } from "node:stream";
import { pathToFileURL } from "node:url";

const require = createRequire(process.argv[3] + "/acp/");
const sdk = await import(pathToFileURL(require.resolve("@agentclientprotocol/sdk")));
const Ajv = require("ajv/dist/2020.js").default;
const folder = require.resolve("@agentclientprotocol/sdk").replace(/dist\/.*$/, "");
const schema = JSON.parse(readFileSync(folder + "schema/v1/schema.json", "utf8"));

// The judge: members that the schema does not know are problems, too.
for (const def of Object.values(schema.$defs)) if (def["x-method"]) def.unevaluatedProperties = false;
const ajv = new Ajv({ strict: false, allErrors: true, validateFormats: false });
ajv.addSchema({ ...schema, $id: "acp" });
const params = { "$/cancel_request": "CancelRequestNotification" }, results = {};
for (const [name, def] of Object.entries(schema.$defs)) {
  if (!def["x-method"]) continue;
  if (name.endsWith("Response")) results[def["x-method"]] = name;
  else params[def["x-method"]] = name;
}
const asked = new Map();
function check(message) {
  const name = message.method ? params[message.method] : message.error ? "Error" : results[asked.get(message.id)];
  const valid = name && ajv.getSchema(`acp#/$defs/${name}`);
  if (message.jsonrpc !== "2.0" || !valid || !valid(message.method ? message.params : message.error ?? message.result))
    appendFileSync(process.argv[2], JSON.stringify({ message, why: valid ? ajv.errorsText(valid.errors) : "no schema" }) + "\n");
}

function tapped(look) {
  const decoder = new TextDecoder();
  let rest = "";
  return new TransformStream({ transform(chunk, controller) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = lines.pop();
    for (const line of lines) look(JSON.parse(line));
    controller.enqueue(chunk);
  } });
}

const OPTIONS = [{ optionId: "y", name: "Yes", kind: "allow_once" }, { optionId: "n", name: "No", kind: "reject_once" }];
const config = (value, fast) => [{ id: "model", name: "Model", category: "model", type: "select", currentValue: value,
  options: [{ value: "a", name: "A" }, { value: "b", name: "B" }] }, { id: "fast", name: "Fast", type: "boolean", currentValue: fast }];
let model = "a", fast = false, cwd, stop;

let isIn = false;

async function prompt({ params: p, client }) {
  const sessionId = p.sessionId;
  const update = (update) => client.notify("session/update", { sessionId, update });
  const say = (text) => update({ sessionUpdate: "agent_message_chunk", content: { type: "text", text } });
  const ask = (method, params) => client.request(method, { sessionId, ...params });
  if (p.prompt[0].text === "wait") {
    const stopped = new Promise((resolve) => { stop = resolve; });
    await say("waiting");
    await stopped;
    return { stopReason: "cancelled" };
  }
  await say("types " + p.prompt.map((b) => b.type).join(" "));
  await update({ sessionUpdate: "tool_call", toolCallId: "t", title: "Write", kind: "edit", rawInput: { path: "a" } });
  const { outcome } = await ask("session/request_permission", { toolCall: { toolCallId: "t" }, options: OPTIONS });
  await ask("fs/write_text_file", { path: cwd + "/a.txt", content: "one\ntwo\n" });
  const { content } = await ask("fs/read_text_file", { path: cwd + "/a.txt", line: 2, limit: 1 });
  const refused = await ask("fs/read_text_file", { path: "/etc/passwd" }).catch((e) => e.code);
  const { terminalId } = await ask("terminal/create", { command: "echo", args: ["hi"], outputByteLimit: 100 });
  const exit = await ask("terminal/wait_for_exit", { terminalId });
  const { output } = await ask("terminal/output", { terminalId });
  await ask("terminal/kill", { terminalId });
  await ask("terminal/release", { terminalId });
  await update({ sessionUpdate: "tool_call_update", toolCallId: "t", status: "completed",
    content: [{ type: "diff", path: cwd + "/a.txt", oldText: null, newText: content }] });
  await update({ sessionUpdate: "usage_update", used: 1, size: 10, cost: { amount: 0.5, currency: "USD" } });
  await say(JSON.stringify([outcome.optionId ?? outcome.outcome, content, refused, exit.exitCode, output]));
  return { stopReason: "end_turn" };
}

const agent = sdk.agent({ name: "judge" })
  .onRequest("initialize", () => ({ protocolVersion: 1, agentInfo: { name: "judge", version: "1" },
    authMethods: [{ id: "key", name: "Key" }], agentCapabilities: { loadSession: true,
      promptCapabilities: { image: true, embeddedContext: true }, mcpCapabilities: { http: true, sse: true },
      sessionCapabilities: { list: {}, resume: {}, close: {} } } }))
  .onRequest("authenticate", () => { isIn = true; return {}; })
  .onRequest("session/new", ({ params }) => {
    if (!isIn) throw new sdk.RequestError(-32000, "Authentication required");
    cwd = params.cwd;
    return { sessionId: "s1", configOptions: config(model, fast) };
  })
  .onRequest("session/load", () => ({ configOptions: config(model, fast) }))
  .onRequest("session/resume", () => ({ configOptions: config(model, fast) }))
  .onRequest("session/close", () => ({}))
  .onRequest("session/list", () => ({ sessions: [{ sessionId: "s1", cwd: "/" }] }))
  .onRequest("session/set_config_option", ({ params }) => {
    if (params.configId === "fast") fast = params.value; else model = params.value;
    return { configOptions: config(model, fast) };
  })
  .onRequest("session/prompt", prompt)
  .onNotification("session/cancel", () => { if (stop) stop(); });

const input = Readable.toWeb(process.stdin).pipeThrough(tapped(check));
const tap = tapped((message) => { if (message.method && message.id !== undefined) asked.set(message.id, message.method); });
tap.readable.pipeTo(Writable.toWeb(process.stdout));
agent.connect(sdk.ndJsonStream(tap.writable, input));
