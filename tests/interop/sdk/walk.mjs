// OpenAI's own client for Node, once around the API. BASE_URL and API_KEY say where; what it saw is printed as one JSON object.

import OpenAI from "openai";

const options = { baseURL: process.env.BASE_URL, apiKey: process.env.API_KEY, timeout: 5000, maxRetries: 0 };
const openai = new OpenAI(options);
const model = "scripted";
const messages = [
  { role: "developer", content: "Be brief." },
  { role: "user", content: [{ type: "text", text: "Grüße 👋" }] },
];
const tools = [{ type: "function", function: { name: "weather", parameters: { type: "object", properties: {} } } }];

async function all(stream) {
  const seen = [];
  for await (const each of stream) seen.push(each);
  return seen;
}

async function refusal(asking) {
  try {
    await asking;
  } catch (error) {
    const after = error.headers?.get?.("retry-after") ?? null;
    return { kind: error.constructor.name, status: error.status ?? null, code: error.code ?? null, after };
  }
  return null;
}

async function toolRound() {
  const stream = openai.chat.completions.stream({ model, messages, tools });
  const first = (await stream.finalChatCompletion()).choices[0].message;
  const call = first.tool_calls[0];
  const told = { role: "tool", tool_call_id: call.id, content: "rain" };
  const said = { role: "assistant", content: null, tool_calls: [{ id: call.id, type: call.type, function: call.function }] };
  const second = await openai.chat.completions.create({ model, messages: [...messages, said, told], tools });
  return { name: call.function.name, arguments: call.function.arguments, answer: second.choices[0].message.content };
}

async function leave() {
  const stream = await openai.chat.completions.create({ model, messages, stream: true });
  for await (const chunk of stream) {
    stream.controller.abort();
    return chunk.object;
  }
}

const ask = (name, more = {}) => openai.chat.completions.create({ model: name, messages, ...more });

console.log(
  JSON.stringify({
    whole: await ask(model, { max_completion_tokens: 99, x_new: [1.5] }),
    streamed: await all(await ask(model, { stream: true, stream_options: { include_usage: true } })),
    tools: await toolRound(),
    response: (await openai.responses.create({ model, input: "hi" })).output_text,
    events: await all(await openai.responses.create({ model, input: "hi", stream: true })),
    embeddings: (await openai.embeddings.create({ model, input: ["a", "abc"] })).data,
    models: (await all(await openai.models.list())).map((each) => each.id),
    refused: {
      400: await refusal(ask("refuses")),
      404: await refusal(ask("unknown")),
      429: await refusal(ask("busy")),
      500: await refusal(ask("fails")),
    },
    broken: (await refusal(ask("breaks", { stream: true }).then(all))) !== null,
    left: await leave(),
  }),
);
