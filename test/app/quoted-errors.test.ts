import { expect } from 'chai'
import { type Sandbox, startSandbox } from '../../providers/sandbox/server.ts'
import { AS_ADMIN, type RunningGateway, startGateway } from '../support/gateway.ts'
import { providersAt } from '../support/providers.ts'
import { sample } from '../support/rounds.ts'
import { UNLIMITED, withSettings } from '../support/settings.ts'

const CANARY = 'canary-7f3a90'

const parameters = { type: 'object', properties: { q: { type: 'string', enum: ['a'] } }, required: ['q'] }

const image = { type: 'image_url', image_url: { url: 'https://example.com/a.png', detail: 'low' } }

const call = { id: 'call_1', type: 'function', function: { name: 'look', arguments: '{"q":"a"}' } }

/** Requests that fail if a part of them is replaced. */
const BODIES: Readonly<Record<string, object>> = {
  '/v1/chat/completions': {
    model: 'gpt-4o',
    messages: [
      { role: 'system', content: 'Hi' },
      { role: 'user', content: [{ type: 'text', text: 'Hi' }, image] },
      { role: 'assistant', content: null, tool_calls: [call] },
      { role: 'tool', tool_call_id: 'call_1', content: 'ok' },
      { role: 'user', content: [{ type: 'file', file: { file_data: 'aGk=', filename: 'a.pdf' } }] },
    ],
    tools: [{ type: 'function', function: { name: 'look', description: 'x', parameters } }],
    tool_choice: { type: 'function', function: { name: 'look' } },
    response_format: { type: 'json_schema', json_schema: { name: 'x', schema: parameters } },
    reasoning_effort: 'low',
    service_tier: 'auto',
    metadata: { a: 'b' },
    stop: ['x'],
    user: 'u',
    temperature: 1,
    stream_options: { include_usage: true },
    modalities: ['text'],
  },
  '/v1/responses': {
    model: 'gpt-4o',
    instructions: 'Hi',
    input: [
      { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Hi' }] },
      { role: 'user', content: [{ type: 'input_image', image_url: 'https://example.com/a.png' }] },
      { type: 'function_call', call_id: 'call_1', name: 'look', arguments: '{"q":"a"}' },
      { type: 'function_call_output', call_id: 'call_1', output: 'ok' },
      { type: 'item_reference', id: 'msg_1' },
    ],
    tools: [{ type: 'function', name: 'look', parameters, strict: false }],
    tool_choice: { type: 'function', name: 'look' },
    text: { format: { type: 'json_schema', name: 'x', schema: parameters } },
    reasoning: { effort: 'low', summary: 'auto' },
    previous_response_id: 'resp_1',
    include: ['reasoning.encrypted_content'],
    truncation: 'auto',
    metadata: { a: 'b' },
  },
  '/v1/messages': {
    model: 'claude-sonnet-4-5',
    max_tokens: 9,
    system: [{ type: 'text', text: 'Hi' }],
    messages: [
      { role: 'user', content: [{ type: 'text', text: 'Hi', cache_control: { type: 'ephemeral' } }] },
      { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_1', name: 'look', input: { q: 'a' } }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'ok' }] },
    ],
    tools: [{ name: 'look', input_schema: parameters }],
    tool_choice: { type: 'tool', name: 'look' },
    thinking: { type: 'disabled' },
    metadata: { user_id: 'u' },
    stop_sequences: ['x'],
  },
  '/v1/completions': { model: 'gpt-4o', prompt: 'Hi', suffix: 'x', stop: 'x', user: 'u' },
  '/v1/embeddings': { model: 'text-embedding-3-small', input: ['Hi'], encoding_format: 'float', user: 'u' },
  '/v1/moderations': { model: 'omni-moderation-latest', input: [{ type: 'text', text: 'Hi' }] },
}

/** Copies of a value in each of which one value, or the name of one field, is replaced by the canary. */
function* replaced(value: unknown): Generator<unknown> {
  yield CANARY
  yield { [CANARY]: CANARY, type: CANARY }
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries())
      for (const each of replaced(item)) yield value.with(index, each)
    yield [...value, CANARY]
  } else if (typeof value === 'object' && value !== null) {
    for (const [name, field] of Object.entries(value)) {
      for (const each of replaced(field)) yield { ...value, [name]: each }
      const { [name]: _, ...rest } = value as Record<string, unknown>
      yield { ...rest, [CANARY]: field }
    }
  }
}

describe('a refused request is not quoted', function () {
  this.timeout(300_000)
  let sandbox: Sandbox
  let gateway: RunningGateway

  before(async () => {
    sandbox = await startSandbox()
    gateway = await startGateway({ ...providersAt(sandbox), ...(await withSettings(UNLIMITED)) })
  })
  after(async () => {
    await gateway?.stop()
    await sandbox?.close()
  })

  for (const [path, body] of Object.entries(BODIES))
    it(`in its record or the log: POST ${path}`, async () => {
      let refused = 0
      const quoting = new Set<string>()
      const models = path === '/v1/chat/completions' ? ['claude-sonnet-4-5', 'gemini-2.5-flash'] : []
      const bodies = [body, ...models.map((model) => ({ ...body, model }))]
      const changes = bodies.flatMap((each) => [...replaced(each)])
      for (const changed of sample(changes, 60)) {
        const { status, headers } = await gateway.call('POST', path, changed)
        expect(status).to.be.below(600)
        if (status < 400) continue
        refused += 1
        const id = headers.get('x-request-id')
        const { status: found, body: record } = await gateway.call(
          'GET',
          `/admin/requests/${id}`,
          undefined,
          AS_ADMIN,
        )
        // Records name the model that was asked for.
        const error = found === 200 ? record.data.error : undefined
        if (error?.code !== 'model_not_found' && JSON.stringify(record).includes(CANARY))
          quoting.add(JSON.stringify(error))
      }
      expect([...quoting]).to.deep.equal([])
      expect(refused).to.be.above(5)
      expect(gateway.stderr()).not.to.contain(CANARY)
    })
})
