// A client of a TypeScript SDK that another program drives: a line of JSON for each request, answer, form and notification.
//
//     node bridge.mjs PACKAGE OPTIONS
//
// PACKAGE is the folder of @modelcontextprotocol/sdk (the earlier SDK) or of @modelcontextprotocol/client (today's). OPTIONS
// say which revision is spoken, to whom, and whether forms are filled in.

import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";

const [folder, options] = [process.argv[2], JSON.parse(process.argv[3])];
const { name } = JSON.parse(readFileSync(`${folder}/package.json`, "utf8"));
const isEarlier = name === "@modelcontextprotocol/sdk";
const load = (path) => import(`${folder}/dist/${path}`);
const INFO = { name: "bridge", version: "1" };
const LISTS = ["tools", "prompts", "resources"];

const say = (message) => process.stdout.write(`${JSON.stringify(message)}\n`);
const open = new Map();

/** Hands a form on, and waits until it is filled in. */
function fillIn(request) {
  const number = open.size + 1;
  say({ form: number, message: request.params.message, fields: request.params.requestedSchema.properties });
  return new Promise((resolve) => open.set(number, resolve));
}

async function earlier() {
  const [{ Client }, { StdioClientTransport }, { StreamableHTTPClientTransport }, types] = await Promise.all(
    ["client/index.js", "client/stdio.js", "client/streamableHttp.js", "types.js"].map((path) => load(`esm/${path}`)),
  );
  const capabilities = options.forms ? { elicitation: {} } : {};
  const client = new Client(INFO, { capabilities });
  if (options.forms) client.setRequestHandler(types.ElicitRequestSchema, fillIn);
  client.fallbackNotificationHandler = async (notification) => say({ heard: notification.method });
  const transport = options.url
    ? new StreamableHTTPClientTransport(new URL(options.url))
    : new StdioClientTransport(options.server);
  const setVersion = transport.setProtocolVersion?.bind(transport);
  let revision;
  transport.setProtocolVersion = (version) => {
    revision = version;
    setVersion?.(version);
  };
  await client.connect(transport);
  return { client, revision, call: (params, progress) => client.callTool(params, undefined, progress) };
}

async function current() {
  const [{ Client, StreamableHTTPClientTransport }, { StdioClientTransport }, { SkillsClient }] = await Promise.all(
    ["index.mjs", "stdio.mjs", "ext/skills/index.mjs"].map(load),
  );
  const capabilities = options.forms ? { elicitation: { form: {} } } : {};
  const mode = options.revision === "2025-11-25" ? "legacy" : "auto";
  const client = new Client(INFO, { capabilities, versionNegotiation: { mode } });
  if (options.forms) client.setRequestHandler("elicitation/create", fillIn);
  client.fallbackNotificationHandler = async (notification) => say({ heard: notification.method });
  await client.connect(
    options.url ? new StreamableHTTPClientTransport(new URL(options.url)) : new StdioClientTransport(options.server),
  );
  if (mode === "auto") {
    await client.listen(Object.fromEntries(LISTS.map((list) => [`${list}ListChanged`, true])));
  }
  const revision = client.getNegotiatedProtocolVersion();
  const skills = new SkillsClient(client);
  return { client, revision, skills, call: (params, progress) => client.callTool(params, progress) };
}

const { client, revision, skills, call } = await (isEarlier ? earlier() : current());

const requests = {
  call: ({ tool, arguments: given }) => {
    const onprogress = (progress) => say({ progress });
    return call({ name: tool, arguments: given }, { onprogress, timeout: 60_000 });
  },
  read: ({ uri }) => client.readResource({ uri }),
  tools: () => client.listTools(),
  templates: () => client.listResourceTemplates(),
  prompt: ({ name, arguments: given }) => client.getPrompt({ name, arguments: given }),
  complete: ({ params }) => client.complete(params),
  // Each file of each skill, with the size and the digest that its entry says.
  skills: async () => {
    const { skills: entries } = await skills.list();
    const files = [];
    for (const entry of entries) {
      for (const { uri } of entry.resources) files.push({ uri, verified: (await skills.read(entry, uri)).verified });
    }
    return { skills: entries.map((entry) => entry.uri), files };
  },
};

async function answer({ id, ask, ...params }) {
  try {
    say({ id, result: await requests[ask](params) });
  } catch (error) {
    say({ id, error: String(error), code: error.code });
  }
}

say({ revision });
for await (const line of createInterface({ input: process.stdin })) {
  const message = JSON.parse(line);
  if (message.form) open.get(message.form)({ action: "accept", content: message.content });
  else answer(message);
}
await client.close();
