// One session of the official TypeScript client with `server-everything`: node session.mjs HOME everything|blocked COMMAND ARG...
//
// HOME is where the SDK is installed, 1.x (`sdk`) or 2.x (`client`). Prints what became of each step, a JSON line each:
// [step, result] or [step, {"error": …}].
import { createRequire } from "node:module";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [home, script, command, ...args] = process.argv.slice(2);
const resolve = createRequire(join(home, "package.json")).resolve;
const load = (name) => import(pathToFileURL(resolve(name)).href);
const isOld = existsSync(join(home, "node_modules/@modelcontextprotocol/sdk"));
const root = isOld ? "@modelcontextprotocol/sdk/client/index.js" : "@modelcontextprotocol/client";
const { Client } = await load(root);
const { StdioClientTransport } = await load(isOld ? "@modelcontextprotocol/sdk/client/stdio.js" : `${root}/stdio`);
const types = isOld ? await load("@modelcontextprotocol/sdk/types.js") : {};

// 1.x names what is handled by a schema, 2.x by the method
const named = (method, schema) => (isOld ? types[schema] : method);
const call = (client, params, options) => (isOld ? client.callTool(params, undefined, options) : client.callTool(params, options));

const waiting = new Map();
const seen = (event) => {
  if (!waiting.has(event)) {
    let happens;
    const happened = new Promise((done) => (happens = done));
    waiting.set(event, { happened, happens });
  }
  return waiting.get(event);
};

function prepared() {
  const capabilities = { sampling: {}, elicitation: { form: {}, url: {} }, roots: { listChanged: true } };
  const client = new Client({ name: "interop", version: "1.0.0" }, { capabilities, versionNegotiation: { mode: "auto" } });
  client.setRequestHandler(named("sampling/createMessage", "CreateMessageRequestSchema"), async () => ({
    role: "assistant", model: "none", stopReason: "endTurn", content: { type: "text", text: "sampled" },
  }));
  client.setRequestHandler(named("elicitation/create", "ElicitRequestSchema"), async ({ params }) =>
    params.mode === "url" ? { action: "accept" } : { action: "accept", content: { name: "Ada", check: true, integer: 7 } },
  );
  client.setRequestHandler(named("roots/list", "ListRootsRequestSchema"), async () => {
    seen("roots").happens();
    return { roots: [{ uri: "file:///interop", name: "interop" }] };
  });
  for (const [method, schema] of [
    ["notifications/resources/updated", "ResourceUpdatedNotificationSchema"],
    ["notifications/message", "LoggingMessageNotificationSchema"],
  ]) {
    client.setNotificationHandler(named(method, schema), async () => seen(method).happens());
  }
  return client;
}

async function cancelled(client) {
  const stop = new AbortController();
  const params = { name: "trigger-long-running-operation", arguments: { duration: 0.4, steps: 4 } };
  await call(client, params, { signal: stop.signal, onprogress: () => stop.abort("enough") });
}

const tool = (name, given = {}, options = undefined) => (client) => call(client, { name, arguments: given }, options);
const URI = "demo://resource/dynamic/text/1";

const everything = {
  roots: async () => seen("roots").happened,
  logged: async () => seen("notifications/message").happened,
  ping: (client) => client.ping(),
  level: (client) => client.setLoggingLevel("info"),
  tools: (client) => client.listTools(),
  echo: tool("echo", { message: "héllo \u2028 \ud83e\udd5a" }),
  sum: tool("get-sum", { a: 1.5, b: 2 }),
  "wrong arguments": tool("get-sum", { a: "one" }),
  structured: tool("get-structured-content", { location: "Chicago" }),
  image: tool("get-tiny-image"),
  annotated: tool("get-annotated-message", { messageType: "error", includeImage: true }),
  links: tool("get-resource-links", { count: 4 }),
  reference: tool("get-resource-reference", { resourceType: "Blob", resourceId: 2 }),
  environment: tool("get-env"),
  "known roots": tool("get-roots-list"),
  sampling: tool("trigger-sampling-request", { prompt: "say it", maxTokens: 5 }),
  elicitation: tool("trigger-elicitation-request"),
  "url elicitation": tool("trigger-url-elicitation", { url: "https://example.com/", elicitationId: "one" }),
  "url elicitation as an error": tool("trigger-url-elicitation", { url: "https://example.org/", elicitationId: "two", errorPath: true }),
  cancelled,
  "longer than that": tool("trigger-long-running-operation", { duration: 0.5, steps: 5 }, { onprogress: () => {} }),
  "after that": tool("echo", { message: "still here" }),
  prompts: (client) => client.listPrompts(),
  prompt: (client) => client.getPrompt({ name: "simple-prompt" }),
  "prompt with arguments": (client) => client.getPrompt({ name: "args-prompt", arguments: { city: "Oslo", state: "none" } }),
  "prompt with a resource": (client) => client.getPrompt({ name: "resource-prompt", arguments: { resourceType: "Text", resourceId: "3" } }),
  "no such prompt": (client) => client.getPrompt({ name: "args-prompt" }),
  completion: (client) => client.complete({
    ref: { type: "ref/prompt", name: "completable-prompt" }, argument: { name: "department", value: "S" },
  }),
  "completion in context": (client) => client.complete({
    ref: { type: "ref/prompt", name: "completable-prompt" }, argument: { name: "name", value: "" },
    context: { arguments: { department: "Sales" } },
  }),
  resources: (client) => client.listResources(),
  templates: (client) => client.listResourceTemplates(),
  read: (client) => client.readResource({ uri: URI }),
  "read a blob": (client) => client.readResource({ uri: "demo://resource/dynamic/blob/1" }),
  "read a document": (client) => client.readResource({ uri: "demo://resource/static/document/architecture.md" }),
  "no such resource": (client) => client.readResource({ uri: "demo://nothing" }),
  subscribe: (client) => client.subscribeResource({ uri: URI }),
  updates: tool("toggle-subscriber-updates"),
  updated: async () => seen("notifications/resources/updated").happened,
  "no updates": tool("toggle-subscriber-updates"),
  unsubscribe: (client) => client.unsubscribeResource({ uri: URI }),
  zipped: tool("gzip-file-as-resource", { name: "a.gz", data: "data:text/plain,interop", outputType: "resourceLink" }),
  "read what was zipped": (client) => client.readResource({ uri: "demo://resource/session/a.gz" }),
};
const blocked = { roots: everything.roots, tools: everything.tools, structured: everything.structured };

const client = prepared();
await client.connect(new StdioClientTransport({ command, args, env: process.env, stderr: "ignore" }));
for (const [step, act] of Object.entries({ everything, blocked }[script])) {
  const result = await act(client).then((value) => value ?? null, (error) => ({ error: String(error.message ?? error) }));
  console.log(JSON.stringify([step, result]));
}
await client.close();
