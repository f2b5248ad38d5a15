// modern.mjs MODULES [PORT]: a server of MCP 2026-07-28 alone on @modelcontextprotocol/server, over standard input and
// output, or over HTTP on that port (0: a free one, which it prints). The npm packages are in MODULES/node_modules.
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const [modules, port] = process.argv.slice(2);
const require = createRequire(pathToFileURL(modules + '/node_modules/'));
const { McpServer, createMcpHandler, fromJsonSchema, inputRequired } = require('@modelcontextprotocol/server');
const { serveStdio } = require('@modelcontextprotocol/server/stdio');

const shape = (properties, required = []) => fromJsonSchema({ type: 'object', properties, required });
const say = (text) => ({ content: [{ type: 'text', text: typeof text === 'string' ? text : JSON.stringify(text) }] });
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

let handler; // over HTTP
let given_up = 0; // calls of "slow"

// Input of each kind: the requests by their keys, as that argument asks.
const asked = {
  form: () => inputRequired.elicit({ message: 'Who?', requestedSchema: { type: 'object', properties: {
    name: { type: 'string' }, age: { type: 'integer', default: 30 } } } }),
  url: () => inputRequired.elicitUrl({ message: 'Log in.', url: 'https://login.example/' }),
  model: () => inputRequired.createMessage({ maxTokens: 20, systemPrompt: 'Be brief.',
    messages: [{ role: 'user', content: { type: 'text', text: 'Capital of France?' } }] }),
  roots: () => inputRequired.listRoots(),
};

function make() {
  const server = new McpServer({ name: 'modern', version: '1.0.0' }, { instructions: 'Be careful.',
    capabilities: { tools: { listChanged: true }, resources: { subscribe: true }, prompts: {}, logging: {} } });
  server.registerTool('echo', { description: 'Says it again.', inputSchema: shape({ value: {} }) },
    ({ value }) => say(value));
  server.registerTool('slow', { description: 'Takes its time.', inputSchema: shape({ ms: { type: 'number' } }) },
    async ({ ms }, ctx) => {
      const progressToken = ctx.mcpReq._meta?.progressToken;
      ctx.mcpReq.signal.addEventListener('abort', () => given_up++);
      for (let progress = 1; progress <= 3; progress++) {
        await sleep(ms / 3);
        if (progressToken !== undefined) await ctx.mcpReq.notify({ method: 'notifications/progress',
          params: { progressToken, progress, total: 3 } });
      }
      return say('done');
    });
  server.registerTool('given_up', { description: 'Counts calls of slow that were given up.', inputSchema: shape({}) },
    () => say(given_up));
  server.registerTool('touch', { description: 'Changes everything.', inputSchema: shape({}) }, async () => {
    if (handler) {
      handler.notify.toolsChanged();
      handler.notify.resourceUpdated('memo://page');
    } else {
      server.sendToolListChanged();
      await server.server.sendResourceUpdated({ uri: 'memo://page' });
    }
    return say('touched');
  });
  server.registerTool('mirror', { description: 'Tells the headers.', inputSchema: shape({
    region: { type: 'string', 'x-mcp-header': 'Region' }, level: { type: 'integer', 'x-mcp-header': 'Level' } }) },
    (_, ctx) => say(Object.fromEntries([...(ctx.http?.req?.headers ?? [])].filter(([name]) => name.startsWith('mcp-')))));
  server.registerTool('ask', { description: 'Asks back.', inputSchema: shape({ kinds: { type: 'array' } }) },
    ({ kinds }, ctx) => {
      const answers = ctx.mcpReq.inputResponses;
      if (answers) return say({ answers, state: ctx.mcpReq.requestState() });
      return inputRequired({ inputRequests: Object.fromEntries(kinds.map((kind, i) => [`key/${i}`, asked[kind]()])),
        requestState: 'state of ' + kinds.join() });
    });
  server.registerTool('rounds', { description: 'Asks for ever.', inputSchema: shape({}) },
    (_, ctx) => inputRequired({ requestState: String(Number(ctx.mcpReq.requestState() ?? 0) + 1) }));
  server.registerResource('page', 'memo://page', { mimeType: 'text/plain' },
    (uri) => ({ contents: [{ uri: uri.href, mimeType: 'text/plain', text: 'a page' }] }));
  server.registerPrompt('greet', { description: 'Greets.', argsSchema: shape({ name: { type: 'string' } }) },
    ({ name }) => ({ messages: [{ role: 'user', content: { type: 'text', text: `Greet ${name}.` } }] }));
  return server;
}

if (port === undefined) serveStdio(make, { legacy: 'reject' });
else {
  handler = createMcpHandler(make, { legacy: 'reject' });
  const http = createServer(async (req, res) => {
    const body = [];
    for await (const chunk of req) body.push(chunk);
    const gone = new AbortController();
    res.on('close', () => gone.abort());
    const answer = await handler.fetch(new Request(`http://127.0.0.1${req.url}`, { method: req.method, signal: gone.signal,
      headers: req.headers, body: body.length ? Buffer.concat(body) : undefined }));
    res.writeHead(answer.status, Object.fromEntries(answer.headers));
    if (answer.body) for await (const chunk of answer.body) res.write(chunk);
    res.end();
  });
  http.listen(Number(port), '127.0.0.1', () => console.log(`listening on ${http.address().port}`));
}
