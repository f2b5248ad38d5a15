// An editor by @agentclientprotocol/sdk, which starts a served agent and asks every method of it. Every message that the
// agent writes is judged by the protocol's JSON schema. Reads its job from standard input: {argv, cwd, dir, runs, seed};
// writes what came of it: {checks: [[name, ok, detail]], messages, problems}.

import { spawn } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { Readable, Writable } from "node:stream";
import { pathToFileURL } from "node:url";

const require = createRequire(process.env.KOINE_INTEROP + "/acp/");
const sdk = await import(pathToFileURL(require.resolve("@agentclientprotocol/sdk")));
const Ajv = require("ajv/dist/2020.js").default;
const folder = require.resolve("@agentclientprotocol/sdk").replace(/dist\/.*$/, "");
const schema = JSON.parse(readFileSync(folder + "schema/v1/schema.json", "utf8"));
const job = JSON.parse(readFileSync(0, "utf8"));

// The judge ---------------------------------------------------------------------------------------------------------

// The schema leaves unknown members free: a misspelt one of ours would pass. Here what is judged whole, and what is not put
// together with something else, may have no others.
const CLOSED = ["SessionUpdate", "ToolCallContent", "ContentBlock", "PermissionOption", "SessionConfigOption", "SessionMode",
  "AgentCapabilities", "SessionCapabilities", "PromptCapabilities", "McpCapabilities", "Implementation", "SessionInfo",
  "ToolCallLocation", "SessionModeState", "Cost"];
for (const [name, def] of Object.entries(schema.$defs))
  if (def["x-method"] || CLOSED.includes(name)) def.unevaluatedProperties = false;
const ajv = new Ajv({ strict: false, allErrors: true, validateFormats: false });
ajv.addSchema({ ...schema, $id: "acp" });
const params = {}, results = {};
for (const [name, def] of Object.entries(schema.$defs)) {
  const method = def["x-method"];
  if (!method) continue;
  if (name.endsWith("Response")) results[method] = name;
  else params[method] = name;
}
const judge = (name) => ajv.getSchema(`acp#/$defs/${name}`);

const problems = [], asked = new Map();
let messages = 0;

function check(message) {
  messages++;
  const name = message.method ? params[message.method]
    : message.error ? "Error" : results[asked.get(JSON.stringify(message.id))];
  const value = message.method ? message.params : message.error ?? message.result;
  if (message.jsonrpc !== "2.0" || !name) return problems.push({ message, why: "no schema" });
  const valid = judge(name);
  if (!valid(value)) problems.push({ message, why: ajv.errorsText(valid.errors) });
}

// The agent ---------------------------------------------------------------------------------------------------------

const agent = spawn(job.argv[0], job.argv.slice(1), { cwd: job.cwd, stdio: ["pipe", "pipe", "inherit"] });
const ended = new Promise((resolve) => agent.on("exit", (code, signal) => resolve(code ?? signal)));

// The agent's output, judged line by line on its way to the SDK.
function judged(readable) {
  const decoder = new TextDecoder();
  let rest = "";
  return readable.pipeThrough(new TransformStream({ transform(chunk, controller) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = lines.pop();
    for (const line of lines) {
      try { check(JSON.parse(line)); } catch (e) { problems.push({ line: line.slice(0, 200), why: String(e) }); }
    }
    controller.enqueue(chunk);
  } }));
}

// What the SDK writes, for the methods of answers.
function noted(writable) {
  const note = new TransformStream({ transform(chunk, controller) {
    for (const line of new TextDecoder().decode(chunk).split("\n")) {
      if (line === "") continue;
      const message = JSON.parse(line);
      if (message.method && message.id !== undefined) asked.set(JSON.stringify(message.id), message.method);
    }
    controller.enqueue(chunk);
  } });
  note.readable.pipeTo(writable).catch(() => {});
  return note.writable;
}

// The editor --------------------------------------------------------------------------------------------------------

let state = job.seed || 1;
const random = (n) => { // xorshift
  state ^= state << 13; state ^= state >>> 17; state ^= state << 5;
  return (state >>> 0) % n;
};

const { methods } = sdk;
const updates = [], checks = [];
let permit = () => "allow", terminals = 0;

const note = (name, ok, detail) => checks.push([name, Boolean(ok), detail ?? null]);
const files = new Map();

const app = sdk.client({ name: "interop" })
  .onNotification(methods.client.session.update, ({ params }) => { updates.push(params); })
  .onRequest(methods.client.session.requestPermission, async ({ params }) => {
    const choice = await permit(params);
    return choice ? { outcome: { outcome: "selected", optionId: choice } } : { outcome: { outcome: "cancelled" } };
  })
  .onRequest(methods.client.fs.readTextFile, ({ params }) => {
    if (!files.has(params.path)) throw sdk.RequestError.resourceNotFound(params.path);
    return { content: files.get(params.path) };
  })
  .onRequest(methods.client.fs.writeTextFile, ({ params }) => {
    files.set(params.path, params.content);
    writeFileSync(params.path, params.content);
    return {};
  })
  .onRequest(methods.client.terminal.create, () => ({ terminalId: "t" + ++terminals }))
  .onRequest(methods.client.terminal.waitForExit, () => ({ exitCode: random(3), signal: null }))
  .onRequest(methods.client.terminal.output, () => ({ output: "in a terminal\n", truncated: random(2) === 1 }))
  .onRequest(methods.client.terminal.kill, () => ({}))
  .onRequest(methods.client.terminal.release, () => ({}));

const said = (kind) => updates.filter((u) => u.update.sessionUpdate === kind)
  .map((u) => u.update.content.text).join("");
const text = (words) => [{ type: "text", text: words }];

async function refused(name, code, promise) {
  try {
    await promise;
    note(name, false, "no error");
  } catch (e) {
    note(name, e.code === code, `${e.code} ${e.message}`);
  }
}

async function drive(ctx) {
  const ask = (method, params) => ctx.request(method, params);
  const on = methods.agent;
  const begun = await ask(on.initialize, { protocolVersion: 1, clientInfo: { name: "interop", version: "1" },
    clientCapabilities: { fs: { readTextFile: true, writeTextFile: true }, terminal: true,
      session: { configOptions: { boolean: {} } } } });
  note("initialize", begun.protocolVersion === 1 && begun.agentCapabilities.loadSession, begun);
  await refused("session/new before a login", -32000, ask(on.session.new, { cwd: job.dir, mcpServers: [] }));
  await ask(on.authenticate, { methodId: begun.authMethods[0].id });
  const made = await ask(on.session.new, { cwd: job.dir, mcpServers: [] });
  const sessionId = made.sessionId;
  note("session/new", made.modes.currentModeId === "ask" && made.configOptions.length === 3, made);

  const first = await ask(on.session.prompt, { sessionId, prompt: text("begin") });
  note("session/prompt", first.stopReason === "end_turn" && said("agent_message_chunk").length > 0, first);
  const set = await ask(on.session.setConfigOption, { sessionId, configId: "web", type: "boolean", value: true });
  note("session/set_config_option", set.configOptions.find((o) => o.id === "web").currentValue === true, set);
  await ask(on.session.setMode, { sessionId, modeId: "go" });
  note("session/set_mode", updates.at(-1).update.sessionUpdate === "config_option_update");
  await refused("a wrong option", -32602, ask(on.session.setConfigOption, { sessionId, configId: "model", value: "x" }));
  await refused("a wrong session", -32002, ask(on.session.prompt, { sessionId: "none", prompt: text("x") }));

  const silent = ask(on.session.prompt, { sessionId, prompt: text("be silent") });
  await ctx.notify(on.session.cancel, { sessionId });
  note("session/cancel", (await silent).stopReason === "cancelled");

  for (let i = 0; i < job.runs; i++) {
    permit = () => [ "allow", "allow", "reject", "allow_always", null ][random(5)];
    try {
      const done = await ask(on.session.prompt, { sessionId, prompt: text("go on " + i) });
      note("run " + i, typeof done.stopReason === "string", done);
    } catch (e) {
      note("run " + i, e.code === -32603, `${e.code} ${e.message}`);
    }
  }

  const listed = await ask(on.session.list, { cwd: job.dir });
  note("session/list", listed.sessions.length === 1 && listed.sessions[0].sessionId === sessionId, listed);
  const before = updates.length;
  await ask(on.session.load, { sessionId, cwd: job.dir, mcpServers: [] });
  note("session/load", updates.length > before);
  await ask(on.session.resume, { sessionId, cwd: job.dir });
  const other = await ask(on.session.new, { cwd: job.dir, mcpServers: [{ name: "none", command: "/none", args: [], env: [] }] });
  await ask(on.session.close, { sessionId: other.sessionId });
  await ask(on.session.delete, { sessionId });
  note("session/delete", (await ask(on.session.list, {})).sessions.length === 0);
  await ask(on.logout, {});
}

await app.connectWith(sdk.ndJsonStream(noted(Writable.toWeb(agent.stdin)), judged(Readable.toWeb(agent.stdout))), drive)
  .catch((e) => note("the whole", false, e.stack ?? JSON.stringify(e)));
agent.stdin.end();
note("the end", await ended === 0, await ended);
const kinds = {};
for (const u of updates) kinds[u.update.sessionUpdate] = (kinds[u.update.sessionUpdate] ?? 0) + 1;
process.stdout.write(JSON.stringify({ checks, messages, problems: problems.slice(0, 20), kinds }));
