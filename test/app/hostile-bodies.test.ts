import { expect } from 'chai'
import { type Sandbox, startSandbox } from '../../providers/sandbox/server.ts'
import { firewallRuleBody } from '../support/bodies.ts'
import { type RunningGateway, startGateway } from '../support/gateway.ts'
import { MODELS, providersAt } from '../support/providers.ts'
import { ROUNDS, sample } from '../support/rounds.ts'

const user = { role: 'user', content: 'hello' }
const FIELD_NAMES = [
  'constructor',
  'toString',
  'valueOf',
  'hasOwnProperty',
  'isPrototypeOf',
  '__defineGetter__',
]

describe('hostile bodies', function () {
  this.timeout(180_000)
  let sandbox: Sandbox
  let gateway: RunningGateway

  before(async () => {
    sandbox = await startSandbox({ record: 5 })
    gateway = await startGateway(providersAt(sandbox))
    await gateway.call('POST', '/v1/firewall-rules', firewallRuleBody({ pattern: 'never found' }))
  })
  after(async () => {
    await gateway?.stop()
    await sandbox?.close()
  })

  const send = (path: string, body: unknown) => gateway.call('POST', path, body)

  const cases = ROUNDS.separateFieldNames ? FIELD_NAMES.map((name) => [name]) : [FIELD_NAMES]
  for (const names of cases) {
    it(`have fields named ${names.join(', ')} without failing`, async () => {
      const [name = ''] = names
      const fields = (value: unknown) => Object.fromEntries(names.map((each) => [each, value]))
      const sendChat = async (body: object) => {
        const { status, body: answer } = await send('/v1/chat/completions', body)
        expect(status, JSON.stringify({ body, answer })).to.be.below(500)
      }
      for (const model of Object.values(MODELS)) {
        await sendChat({ model, messages: [{ role: name, content: 'x' }] })
        await sendChat({ model, messages: [user], tools: [{ type: name }], tool_choice: name })
        for (const value of ['x', 1, null, { a: 1 }, [name]]) {
          const field = fields(value)
          for (const body of [
            { model, messages: [user], ...field },
            { model, messages: [{ ...user, ...field }] },
            { model, messages: [{ ...user, content: [{ type: 'text', text: 'x', ...field }] }] },
            { model, messages: [{ ...user, content: [{ type: name, ...field }] }] },
            { model, messages: [user], tools: [{ type: 'function', function: { name: 'f', ...field } }] },
            { model, messages: [user], response_format: { type: name, ...field } },
            { model, messages: [user], metadata: field, reasoning_effort: name },
          ])
            await sendChat(body)
        }
      }
      for (const body of [
        { input: 'x', ...fields('x') },
        { input: [{ type: name }] },
        { input: 'x', text: fields(1) },
      ])
        expect((await send('/v1/responses', body)).status, JSON.stringify(body)).to.be.below(500)
      for (const model of ['text-embedding-3-small', 'mistral-embed', 'gemini-embedding-001', ...names]) {
        for (const body of [{ input: 'x', ...fields('x') }, { input: names }, { input: fields(1) }])
          expect((await send('/v1/embeddings', { model, ...body })).status).to.be.below(500)
      }
      for (const input of ['x', names, fields(1), [{ type: name, ...fields(1) }], [fields(name)]]) {
        for (const model of ['omni-moderation-latest', 'mistral-moderation-latest'])
          expect((await send('/v1/moderations', { model, input, ...fields(1) })).status).to.be.below(500)
        expect((await send('/v1/completions', { prompt: input, ...fields(1) })).status).to.be.below(500)
      }
      for (const part of names)
        for (const path of [`/openai/deployments/${part}/chat/completions`, `/openai/${part}`])
          expect((await send(path, { messages: [user] })).status).to.be.below(500)
      // Anthropic gets these as they are, others converted.
      for (const model of [MODELS.anthropic, MODELS.openai]) {
        for (const body of messageBodies(name, fields)) {
          const { status, body: answer } = await send('/v1/messages', { model, max_tokens: 5, ...body })
          expect(status, JSON.stringify({ model, body, answer })).to.be.below(500)
        }
        for (const extra_content of [
          name,
          { anthropic: name },
          { anthropic: { fields: name, betas: [name, 1] } },
        ]) {
          const body = { model, messages: [{ ...user, extra_content }], extra_content }
          expect((await send('/v1/chat/completions', body)).status, JSON.stringify(body)).to.be.below(500)
        }
      }
      for (const path of [
        ...['/v1/routing-rules', '/v1/firewall-rules', '/v1/tool-rules'],
        ...['/v1/rules/batch', '/v1/simulate'],
      ]) {
        for (const body of [fields(1), { match_json: fields(1) }, { operations: [fields(1)] }])
          expect((await send(path, body)).status, path).to.be.below(500)
      }
    })
  }

  const nested = (depth: number, open: string, close: string) => open.repeat(depth) + close.repeat(depth)

  for (const depth of sample([20_000, 1000, 200_000], 1)) {
    it(`nested ${depth} levels deep are refused with 400`, async () => {
      for (const inner of [nested(depth, '[', ']'), `${nested(depth, '{"a":', '}').replace(':}', ':1}')}`]) {
        for (const [path, body] of [
          ['/v1/chat/completions', `{"messages":[{"role":"user","content":"x"}],"x":${inner}}`],
          ['/v1/chat/completions', `{"messages":[{"role":"user","content":${inner}}]}`],
          ['/v1/responses', `{"input":"x","metadata":{"a":${inner}}}`],
          ['/v1/messages', `{"max_tokens":1,"messages":[{"role":"user","content":"x"}],"x":${inner}}`],
          ['/v1/routing-rules', `{"match_json":${inner}}`],
          ['/v1/firewall-rules', `{"name":${inner}}`],
          ['/v1/rules/batch', `{"operations":${inner}}`],
          ['/v1/simulate', `{"messages":${inner}}`],
        ] as const) {
          const { status, body: answer } = await send(path, body)
          expect(status, path).to.equal(400)
          expect(answer.error.message, path).to.match(/nested/)
        }
      }
    })
  }

  it('with deeply nested tool arguments are refused with 400', async () => {
    for (const model of Object.values(MODELS)) {
      const call = (json: string) => ({
        model,
        messages: [
          user,
          {
            role: 'assistant',
            content: null,
            tool_calls: [{ id: 'c1', type: 'function', function: { name: 'f', arguments: json } }],
          },
          { role: 'tool', tool_call_id: 'c1', content: json },
        ],
      })
      const { status, body } = await send('/v1/chat/completions', call(`{"a":${nested(20_000, '[', ']')}}`))
      expect(status, `${model} ${JSON.stringify(body)}`).to.be.below(500)
    }
  })
})

/** Messages that hold a name, and fields with values of wrong types, in unexpected places. */
function messageBodies(name: string, fields: (value: unknown) => object): readonly object[] {
  const messages = [user]
  const content = (block: object) => ({ messages: [{ role: 'user', content: [block] }] })
  return [
    { messages, ...fields({ a: 1 }) },
    { messages: [{ ...user, ...fields('x') }] },
    { messages, tools: [{ name, type: name, ...fields(1) }], tool_choice: { type: 'tool', name } },
    { messages, tools: [{ name, input_schema: fields(name) }], tool_choice: { type: 'any' } },
    { messages, thinking: { type: name }, output_config: { effort: name, format: { type: name } } },
    { messages, metadata: fields(name), service_tier: name, stop_sequences: [name] },
    content({ type: name, ...fields({ type: name }) }),
    content({ type: 'image', source: { type: name, ...fields(1) } }),
    content({ type: 'document', source: { type: 'content', content: name } }),
    content({ type: 'search_result', content: fields(1) }),
    content({ type: 'tool_result', tool_use_id: name, content: [{ type: name }] }),
    { messages: [user, { role: 'assistant', content: [{ type: 'tool_use', id: name, name, input: {} }] }] },
    { messages: [{ role: 'assistant', content: [] }, user, { role: 'system', content: name }] },
  ]
}
