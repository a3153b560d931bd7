import { expect } from 'chai'
import type OpenAI from 'openai'
import { type Sandbox, startSandbox } from '../../providers/sandbox/server.ts'
import { firewallRuleBody } from '../support/bodies.ts'
import { type RunningGateway, startGateway } from '../support/gateway.ts'
import { newUser } from '../support/new-user.ts'
import { MODELS, PROVIDERS, providersAt } from '../support/providers.ts'

const parameters = { type: 'object', properties: { query: { type: 'string' } }, required: ['query'] }
const search = { type: 'tool_search', execution: 'client', description: 'Finds tools.', parameters }
const lookup = {
  type: 'function',
  name: 'lookup',
  description: 'Looks up a page.',
  strict: false,
  defer_loading: true,
  parameters: { type: 'object', properties: { page: { type: 'string' } }, required: ['page'] },
}
const handbook = { type: 'namespace', name: 'mcp__handbook', description: 'The handbook.', tools: [lookup] }
const found = (call_id: string, more: object = {}) => ({
  type: 'tool_search_output',
  call_id,
  status: 'completed',
  execution: 'client',
  tools: [handbook],
  ...more,
})
const call = { type: 'tool_search_call', call_id: 'c1', execution: 'client', arguments: { query: 'pages' } }
const hi = { type: 'message', role: 'user', content: 'Hi' }

type Create = OpenAI.Responses.ResponseCreateParamsNonStreaming

describe('the tool search of a client', () => {
  let sandbox: Sandbox
  let gateway: RunningGateway
  let client: OpenAI

  before(async () => {
    sandbox = await startSandbox({ record: 50 })
    gateway = await startGateway(providersAt(sandbox))
    client = gateway.openai()
  })
  after(async () => {
    await gateway?.stop()
    await sandbox?.close()
  })

  const post = (body: object) => gateway.call('POST', '/v1/responses', { model: 'gpt-4o', ...body })
  const ask = (body: object) => client.responses.create({ model: 'gpt-4o', ...body } as Create)
  const sentTools = () => Object(sandbox.requests.at(-1)?.body).tools

  for (const provider of PROVIDERS) {
    const model = MODELS[provider] as string

    it(`is called by the model, which then calls what was found: ${provider}`, async () => {
      const user = { role: 'user', content: 'Use tool_search' }
      const first = await ask({ model, input: [user], tools: [search] })
      const searched = first.output.find(({ type }) => type === 'tool_search_call')
      expect(searched).to.include({ execution: 'client', status: 'completed' })
      expect(searched).to.have.nested.property('arguments.query').that.is.a('string')
      expect(Object(searched).id).to.match(/^tsc_/)

      const result = found(Object(searched).call_id)
      const again = { role: 'user', content: 'Use mcp__handbook__lookup' }
      const input = [user, ...first.output, result, again]
      const second = await ask({ model, input, tools: [search] })
      const called = second.output.find(({ type }) => type === 'function_call')
      expect(called).to.include({ name: 'lookup', namespace: 'mcp__handbook' })
      expect(second.tools).to.have.length(1)

      const chained = await ask({
        model,
        input: [result],
        tools: [search],
        previous_response_id: first.id,
      })
      expect(chained.output_text).to.contain('The tool answered')
      const third = await ask({ model, input: [again], tools: [search], previous_response_id: chained.id })
      const calledLater = third.output.find(({ type }) => type === 'function_call')
      expect(calledLater).to.include({ name: 'lookup', namespace: 'mcp__handbook' })
    })
  }

  it('is a function for models, and so is what it found, once', async () => {
    await ask({ input: [hi, call, found('c1'), { ...call, call_id: 'c2' }, found('c2')], tools: [search] })
    const functions = sentTools().map((tool: { function: object }) => tool.function)
    expect(functions.map(({ name }: { name: string }) => name)).to.deep.equal([
      'tool_search',
      'mcp__handbook__lookup',
    ])
    expect(functions[0]).to.deep.equal({ name: 'tool_search', description: 'Finds tools.', parameters })
    await ask({ input: [hi, call, found('c1')], tools: [search, handbook] })
    expect(sentTools()).to.have.length(2)
    await ask({ input: [hi, call, found('c1', { tools: [] })], tools: [search] })
    expect(sentTools()).to.have.length(1)
    const allowed = { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'tool_search' }] }
    await ask({ input: [hi, call, found('c1')], tools: [search], tool_choice: allowed })
    expect(sentTools()).to.have.length(1)
  })

  it('is streamed, replayed byte for byte, and listed among the input items', async () => {
    const headers = { authorization: `Bearer ${gateway.demoKey}`, 'content-type': 'application/json' }
    const stream = async (path: string, body: object) =>
      await (await fetch(gateway.url + path, { method: 'POST', headers, body: JSON.stringify(body) })).text()
    const again = { role: 'user', content: 'Use a tool, parallel: tool_search mcp__handbook__lookup' }
    const input = [hi, call, found('c1'), again]
    const text = await stream('/v1/responses', { model: 'gpt-4o', input, tools: [search], stream: true })
    const last = JSON.parse(text.trimEnd().split('\n').at(-1)?.slice('data: '.length) ?? '').response
    const types = last.output.map(({ type }: { type: string }) => type)
    expect(types).to.deep.equal(['tool_search_call', 'function_call'])
    expect(last.output[1]).to.include({ name: 'lookup', namespace: 'mcp__handbook' })
    const withoutRequest = (records: string) => records.replace(/"x_request_id":"\w+"/g, '')
    const replayed = await stream(`/v1/responses/${last.id}`, { stream: true })
    expect(withoutRequest(replayed)).to.equal(withoutRequest(text))

    const items: object[] = []
    for await (const item of client.responses.inputItems.list(last.id, { order: 'asc' })) items.push(item)
    expect(items[1]).to.deep.include(call)
    expect(items[2]).to.deep.include(found('c1'))
  })

  it('is inspected by rules, with what it found', async () => {
    const user = await newUser(gateway)
    await user.call('POST', '/v1/firewall-rules', firewallRuleBody({ action: 'block' }))
    const secret = { ...lookup, description: 'A secret' }
    const leaks = [
      { tools: [{ ...search, description: 'A secret' }] },
      { input: [{ ...call, arguments: { query: 'secret' } }, found('c1')] },
      { input: [call, found('c1', { tools: [secret] })] },
    ]
    for (const leak of leaks) {
      const body = { model: 'gpt-4o', input: 'Hi', tools: [search], ...leak }
      const { status } = await user.call('POST', '/v1/responses', body)
      expect(status, JSON.stringify(leak)).to.equal(403)
    }
  })

  it('is left out with a warning if it runs at OpenAI, and all tools are sent', async () => {
    const { status, body } = await post({ input: 'Hi', tools: [{ type: 'tool_search' }, handbook] })
    expect(status).to.equal(200)
    expect(body.signalbox.warnings[0].message).to.match(/^tool tool_search was omitted/)
    expect(sentTools()).to.have.length(1)
  })

  it('names the item and the tool that are invalid', async () => {
    const invalid: readonly [object, RegExp][] = [
      [found('c1', { tools: [{ type: 'funktion' }] }), /^input\[2\]\.tools\[0\]/],
      [found('c1', { tools: [{ ...handbook, tools: [handbook] }] }), /^input\[2\]\.tools\[0\]\.tools\[0\]/],
      [found('c1', { tools: 'all' }), /^input\[2\]\.tools/],
      [found('c1', { call_id: null }), /^input\[2\]\.call_id/],
    ]
    for (const [item, param] of invalid) {
      const { status, body } = await post({ input: [hi, call, item], tools: [search] })
      expect([status, body.error.param], JSON.stringify(body)).to.satisfy(
        ([code, name]: [number, string]) => code === 400 && param.test(name),
      )
    }
  })
})
