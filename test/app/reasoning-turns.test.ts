import { expect } from 'chai'
import { readRecords } from '../support/dialects.ts'
import { type RunningGateway, startGateway } from '../support/gateway.ts'
import { pairs } from '../support/rounds.ts'
import { writeSettings } from '../support/settings-file.ts'

// biome-ignore lint/suspicious/noExplicitAny: bodies of any dialect
type Loose = any

const SETTINGS = `
rate_limits:
  requests_per_minute: { free: null, paid: null }
providers:
  acme:
    format: openai
    base_url: http://127.0.0.1:1
models:
  - id: loco-1
    provider: acme
    context: 128000
    max_output: 8192
    price: { input: 0.4, output: 1.6 }
    quality: 70
    latency_ms: 1500
    capabilities: { tools: true, images: true, json: schema }
`

/** Each model, and what the sandbox is told: it answers 400 when the reasoning before calls is missing. */
const MODELS = {
  responses: { model: 'openai:gpt-5.6-terra', fault: 'reasoning=required' },
  'responses on request': { model: 'openai:gpt-5-mini', fault: 'reasoning=required' },
  anthropic: { model: 'anthropic:claude-sonnet-5-5', fault: 'reasoning=required' },
  'anthropic with a budget': { model: 'anthropic:claude-haiku-4-5', fault: 'reasoning=required' },
  gemini: { model: 'gemini:gemini-3.8-flash', fault: 'reasoning=required' },
  mistral: { model: 'mistral:mistral-large-4', fault: 'reasoning=required' },
  deepseek: { model: 'deepseek:deepseek-flash', fault: 'reasoning=required' },
  compatible: { model: 'acme:loco-1', fault: 'reasoning=required' },
  'compatible with the field reasoning': { model: 'acme:loco-1', fault: 'reasoning=renamed' },
} as const

type Format = keyof typeof MODELS

const PARAMETERS = { type: 'object', properties: { city: { type: 'string' } } }

/** A client: how it asks, what it keeps of an answer, and how it sends results. */
interface Client {
  readonly path: string
  bodyOf(history: readonly Loose[]): object
  ask(text: string): Loose
  /** Returns the items of the history that the answer adds, with results of its calls. */
  keep(answer: Loose): { readonly added: readonly Loose[]; readonly calls: number }
  fromStream(records: readonly Loose[]): Loose
}

const tool = { name: 'weather', description: 'The weather.' }

function chatClient(keepMessage: (message: Loose) => Loose): Client {
  return {
    path: '/v1/chat/completions',
    bodyOf: (messages) => ({
      messages,
      reasoning_effort: 'low',
      tools: [{ type: 'function', function: { ...tool, parameters: PARAMETERS } }],
    }),
    ask: (content) => ({ role: 'user', content }),
    keep({ choices: [{ message }] }) {
      const calls = message.tool_calls ?? []
      const results = calls.map(({ id }: Loose) => ({ role: 'tool', tool_call_id: id, content: 'sunny' }))
      return { added: [keepMessage(message), ...results], calls: calls.length }
    },
    fromStream(records) {
      const message: Loose = { role: 'assistant', content: null }
      for (const { choices } of records) {
        const { tool_calls = [], ...delta } = choices?.[0]?.delta ?? {}
        for (const [name, value] of Object.entries<Loose>(delta))
          if (typeof value === 'string' && name !== 'role') message[name] = (message[name] ?? '') + value
        for (const { index, function: called, ...call } of tool_calls) {
          message.tool_calls ??= []
          message.tool_calls[index] ??= { function: { name: '', arguments: '' } }
          const open = message.tool_calls[index]
          Object.assign(open, call)
          open.function.name += called?.name ?? ''
          open.function.arguments += called?.arguments ?? ''
        }
      }
      return { choices: [{ message }] }
    },
  }
}

function messagesClient(fields: object, keepBlock: (block: Loose) => readonly Loose[]): Client {
  return {
    path: '/v1/messages',
    bodyOf: (messages) => ({
      messages,
      max_tokens: 8000,
      tools: [{ ...tool, input_schema: PARAMETERS }],
      ...fields,
    }),
    ask: (content) => ({ role: 'user', content }),
    keep({ content }) {
      const calls = content.filter(({ type }: Loose) => type === 'tool_use')
      const results = calls.map(({ id }: Loose) => ({
        type: 'tool_result',
        tool_use_id: id,
        content: 'sunny',
      }))
      const assistant = { role: 'assistant', content: content.flatMap(keepBlock) }
      const added = results.length > 0 ? [assistant, { role: 'user', content: results }] : [assistant]
      return { added, calls: calls.length }
    },
    fromStream(records) {
      const content: Loose[] = []
      for (const { type, index, content_block, delta } of records) {
        if (type === 'content_block_start') content[index] = { ...content_block, json: '' }
        const block = content[index]
        if (type === 'content_block_delta') {
          if (delta.text) block.text += delta.text
          if (delta.thinking) block.thinking += delta.thinking
          if (delta.signature) block.signature = delta.signature
          if (delta.partial_json) block.json += delta.partial_json
        }
        if (type !== 'content_block_stop') continue
        const { json, ...kept } = block
        content[index] = kept.type === 'tool_use' ? { ...kept, input: JSON.parse(json || '{}') } : kept
      }
      return { content }
    },
  }
}

function responsesClient(fields: object, keepItem: (item: Loose) => readonly Loose[]): Client {
  return {
    path: '/v1/responses',
    bodyOf: (input) => ({
      input,
      reasoning: { effort: 'low' },
      tools: [{ type: 'function', ...tool, parameters: PARAMETERS }],
      include: ['reasoning.encrypted_content'],
      ...fields,
    }),
    ask: (content) => ({ role: 'user', content }),
    keep({ output }) {
      const calls = output.filter(({ type }: Loose) => type === 'function_call')
      const results = calls.map(({ call_id }: Loose) => ({
        type: 'function_call_output',
        call_id,
        output: 'sunny',
      }))
      return { added: [...output.flatMap(keepItem), ...results], calls: calls.length }
    },
    fromStream: (records) => records.find(({ type }) => type === 'response.completed').response,
  }
}

const pick = (value: Loose, ...names: readonly string[]) =>
  Object.fromEntries(names.flatMap((name) => (value[name] == null ? [] : [[name, value[name]]])))

/** Keeps the fields of OpenAI's own reference. */
const documentedMessage = (message: Loose) => ({
  role: 'assistant',
  content: message.content ?? null,
  ...(message.tool_calls && {
    tool_calls: message.tool_calls.map((call: Loose) => pick(call, 'id', 'type', 'function')),
  }),
})

const THINKING = { thinking: { type: 'enabled', budget_tokens: 2000 } }
const documentedBlock = ({ type, ...block }: Loose) => [
  { type, ...pick(block, 'text', 'thinking', 'signature', 'data', 'id', 'name', 'input') },
]
const withoutThinking = (block: Loose) => (block.type === 'thinking' ? [] : documentedBlock(block))
const ITEM_FIELDS = ['summary', 'encrypted_content', 'role', 'content', 'call_id', 'name', 'arguments']
const documentedItem = ({ type, ...item }: Loose) => [{ type, ...pick(item, ...ITEM_FIELDS) }]

const CLIENTS: Readonly<Record<string, Client>> = {
  'chat, everything kept': chatClient((message) => message),
  'chat, documented fields kept': chatClient(documentedMessage),
  'chat, texts kept': chatClient((message) => ({
    ...documentedMessage(message),
    ...pick(message, 'reasoning_content', 'reasoning'),
  })),
  'messages with thinking': messagesClient(THINKING, documentedBlock),
  'messages with thinking, not kept': messagesClient(THINKING, withoutThinking),
  'messages without thinking': messagesClient({}, withoutThinking),
  'responses, stateless': responsesClient({ store: false }, (item) => [item]),
  'responses, documented fields kept': responsesClient({ store: false }, documentedItem),
  'responses, reasoning not kept': responsesClient({ store: false }, (item) =>
    item.type === 'reasoning' ? [] : documentedItem(item),
  ),
}

/** Clients that send back what the gateway gave them, so that it has to remember nothing. */
const KEEPING = ['chat, everything kept', 'messages with thinking', 'responses, documented fields kept']

describe('reasoning between turns', () => {
  let gateway: RunningGateway
  let forgetful: RunningGateway

  before(async () => {
    gateway = await startGateway({ CONFIG: await writeSettings(SETTINGS) })
    const settings = `${SETTINGS}plugins: { remove: [reasoning] }\n`
    forgetful = await startGateway({ CONFIG: await writeSettings(settings) })
  })
  after(() => Promise.all([gateway.stop(), forgetful.stop()]))

  async function send(
    { url, demoKey }: RunningGateway,
    client: Client,
    history: readonly Loose[],
    fields: object,
  ): Promise<Loose> {
    const response = await fetch(url + client.path, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${demoKey}`,
        'content-type': 'application/json',
        'x-response-form': 'openai',
      },
      body: JSON.stringify({ ...client.bodyOf(history), ...fields }),
    })
    const raw = await response.text()
    expect(response.status, raw).to.equal(200)
    return response.headers.get('content-type')?.startsWith('text/event-stream')
      ? client.fromStream(readRecords(raw))
      : JSON.parse(raw)
  }

  async function converse(to: RunningGateway, client: Client, format: Format, fields: object): Promise<void> {
    const { model, fault } = MODELS[format]
    const history: Loose[] = []
    for (const question of ['first', 'second']) {
      history.push(client.ask(`The ${question} question: use the tool [[sandbox:${fault} rounds=2]]`))
      for (const calls of [1, 1, 0]) {
        const answer = client.keep(await send(to, client, history, { model, ...fields }))
        expect(answer.calls).to.equal(calls)
        history.push(...answer.added)
      }
    }
  }

  for (const [[name, client], format] of pairs(Object.entries(CLIENTS), Object.keys(MODELS) as Format[]))
    for (const stream of [false, true]) {
      it(`reaches its provider: ${name} × ${format}, ${stream ? 'stream' : 'whole'}`, () =>
        converse(gateway, client, format, stream ? { stream } : {}))
      if (KEEPING.includes(name))
        it(`needs no memory: ${name} × ${format}, ${stream ? 'stream' : 'whole'}`, () =>
          converse(forgetful, client, format, stream ? { stream } : {}))
    }

  it('is missing if neither the client nor the gateway keeps it', async () => {
    const client = CLIENTS['chat, documented fields kept'] as Client
    for (const format of ['responses', 'anthropic', 'gemini', 'compatible'] as const) {
      const error = await converse(forgetful, client, format, {}).catch((thrown: Error) => thrown)
      expect(String(error)).to.contain('rejected the request')
    }
  })
})
