import { expect } from 'chai'
import { type Sandbox, startSandbox } from '../../providers/sandbox/server.ts'
import { type RunningGateway, startGateway } from '../support/gateway.ts'
import { providersAt } from '../support/providers.ts'

const messages = [{ role: 'user', content: 'Which track?' }]
const parameters = { type: 'object', properties: {} }
const tool = { type: 'function', function: { name: 'look', parameters } }
const flatTool = { type: 'function', name: 'look', parameters }
const claudeTool = { name: 'look', input_schema: parameters }

/** Title, path, body, and the `param` of the error. */
const REFUSED: readonly (readonly [string, string, object, string])[] = [
  [
    'a forced tool call without tools',
    '/v1/chat/completions',
    { messages, tool_choice: 'required' },
    'tool_choice',
  ],
  [
    'a named tool without tools',
    '/v1/chat/completions',
    { messages, tool_choice: { type: 'function', function: { name: 'look' } } },
    'tool_choice',
  ],
  [
    'a named tool that is not in tools',
    '/v1/chat/completions',
    { messages, tools: [tool], tool_choice: { type: 'function', function: { name: 'listen' } } },
    'tool_choice',
  ],
  [
    'allowed tools that are not in tools',
    '/v1/chat/completions',
    {
      messages,
      tools: [tool],
      tool_choice: {
        type: 'allowed_tools',
        allowed_tools: { mode: 'auto', tools: [{ type: 'function', function: { name: 'listen' } }] },
      },
    },
    'tool_choice',
  ],
  [
    'an unknown tool choice',
    '/v1/chat/completions',
    { messages, tools: [tool], tool_choice: 'maybe' },
    'tool_choice',
  ],
  [
    'a forced tool call without tools',
    '/v1/responses',
    { input: 'Hi', tool_choice: 'required' },
    'tool_choice',
  ],
  [
    'a named tool that is not in tools',
    '/v1/responses',
    { input: 'Hi', tools: [flatTool], tool_choice: { type: 'function', name: 'listen' } },
    'tool_choice',
  ],
  [
    'a forced tool call without tools',
    '/v1/messages',
    { messages, max_tokens: 10, tool_choice: { type: 'any' } },
    'tool_choice',
  ],
  [
    'a named tool that is not in tools',
    '/v1/messages',
    { messages, max_tokens: 10, tools: [claudeTool], tool_choice: { type: 'tool', name: 'listen' } },
    'tool_choice',
  ],
  ['a forced tool call without tools', '/route', { prompt: 'Hi', tool_choice: 'required' }, 'tool_choice'],
  [
    'a tool that is not in tools',
    '/route',
    { prompt: 'Hi', tools: [tool], tool_choice: 'listen' },
    'tool_choice',
  ],
  [
    'json_schema without a schema',
    '/v1/chat/completions',
    { messages, response_format: { type: 'json_schema', json_schema: { name: 'x' } } },
    'response_format.json_schema.schema',
  ],
  [
    'json_schema without json_schema',
    '/v1/chat/completions',
    { messages, response_format: { type: 'json_schema' } },
    'response_format.json_schema.schema',
  ],
  [
    'json_schema without a schema',
    '/v1/responses',
    { input: 'Hi', text: { format: { type: 'json_schema', name: 'x' } } },
    'text.format.schema',
  ],
  [
    'json_schema without a schema',
    '/v1/messages',
    { messages, max_tokens: 10, output_config: { format: { type: 'json_schema' } } },
    'output_config.format.schema',
  ],
  [
    'json_schema without a schema',
    '/route',
    { prompt: 'Hi', response_format: { type: 'json_schema' } },
    'response_format.json_schema.schema',
  ],
  [
    'an unknown format',
    '/v1/chat/completions',
    { messages, response_format: { type: 'yaml' } },
    'response_format.type',
  ],
  [
    'an unknown format',
    '/v1/responses',
    { input: 'Hi', text: { format: { type: 'yaml' } } },
    'text.format.type',
  ],
  [
    'an unknown format',
    '/v1/messages',
    { messages, max_tokens: 10, output_config: { format: { type: 'yaml' } } },
    'output_config.format.type',
  ],
  [
    'an unknown format',
    '/route',
    { prompt: 'Hi', response_format: { type: 'yaml' } },
    'response_format.type',
  ],
]

describe('parameters that no provider can be sent', () => {
  let sandbox: Sandbox
  let gateway: RunningGateway

  before(async () => {
    sandbox = await startSandbox({ record: 10 })
    gateway = await startGateway(providersAt(sandbox))
  })
  after(async () => {
    await gateway?.stop()
    await sandbox.close()
  })

  async function post(path: string, body: object) {
    const { url, routeUrl, demoKey } = gateway
    const response = await fetch((path === '/route' ? routeUrl : url) + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${demoKey}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    // biome-ignore lint/suspicious/noExplicitAny: a body of any dialect
    return { status: response.status, body: (await response.json()) as any }
  }

  for (const [title, path, body, param] of REFUSED) {
    it(`${path} refuses ${title}`, async () => {
      const before = sandbox.requests.length
      for (const model of ['auto', 'gemini-3.6-flash', 'claude-haiku-4-5']) {
        const answer = await post(path, { model, ...body })
        expect(answer.status, JSON.stringify(answer.body)).to.equal(400)
        expect(answer.body.error.param, JSON.stringify(answer.body)).to.equal(param)
        expect(answer.body.error.message).to.contain(param)
      }
      expect(sandbox.requests.length).to.equal(before)
    })
  }

  for (const content of ['', ' ', [{ type: 'text', text: '' }]]) {
    it(`refuses ${JSON.stringify(content)} as the only content for Claude and Gemini, without a call`, async () => {
      for (const [path, model, provider] of [
        ['/v1/chat/completions', 'claude-haiku-4-5', 'anthropic'],
        ['/v1/messages', 'claude-haiku-4-5', 'anthropic'],
        ['/v1/chat/completions', 'gemini-3.6-flash', 'gemini'],
      ] as const) {
        // Gemini accepts white space.
        if (provider === 'gemini' && content === ' ') continue
        const body = { model, max_tokens: 10, messages: [{ role: 'user', content }] }
        const before = sandbox.requests.length
        const answer = await post(path, body)
        expect(answer.status, JSON.stringify(answer.body)).to.equal(400)
        expect(answer.body.error.param).to.equal('messages')
        expect(answer.body.error.message).to.contain(provider)
        expect(sandbox.requests.length).to.equal(before)
      }
    })
  }

  it('still sends a choice of none without tools', async () => {
    const answer = await post('/v1/chat/completions', { model: 'gpt-4o', messages, tool_choice: 'none' })
    expect(answer.status).to.equal(200)
  })
})
