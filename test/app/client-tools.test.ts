import { expect } from 'chai'
import type OpenAI from 'openai'
import { type Sandbox, startSandbox } from '../../providers/sandbox/server.ts'
import { firewallRuleBody } from '../support/bodies.ts'
import { type RunningGateway, startGateway } from '../support/gateway.ts'
import { newUser } from '../support/new-user.ts'
import { MODELS, PROVIDERS, providersAt } from '../support/providers.ts'

const search = {
  type: 'function' as const,
  name: 'search',
  parameters: { type: 'object', properties: { q: { type: 'string' } }, required: ['q'] },
  strict: false,
}
const docs = { type: 'namespace' as const, name: 'mcp__docs__', description: 'The docs', tools: [search] }
const patch = {
  type: 'custom' as const,
  name: 'apply_patch',
  description: 'Edits files.',
  format: { type: 'grammar' as const, syntax: 'lark' as const, definition: 'start: "patch"' },
}

type Create = OpenAI.Responses.ResponseCreateParamsNonStreaming

describe('tools of responses', () => {
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

  const post = (body: object) => gateway.call('POST', '/v1/responses', body)
  const ask = (input: Create['input'], more: object = {}) =>
    client.responses.create({ model: 'gpt-4o', input, ...more } as Create)

  for (const provider of PROVIDERS) {
    const model = MODELS[provider] as string

    it(`calls a custom tool and reads its result: ${provider}`, async () => {
      const first = await ask('Use apply_patch', { model, tools: [patch] })
      const call = first.output.find((item) => item.type === 'custom_tool_call')
      expect(call).to.include({ name: 'apply_patch' })
      // The sandbox fills strings of schemas with its own text.
      expect(call?.input).to.be.a('string').and.not.to.contain('{')
      const result = {
        type: 'custom_tool_call_output' as const,
        call_id: call?.call_id ?? '',
        output: 'Done: 1 file',
      }
      const input = [{ role: 'user' as const, content: 'Use apply_patch' }, ...first.output, result]
      const second = await ask(input as Create['input'], { model, tools: [patch] })
      expect(second.output_text).to.contain('Done: 1 file')
      const chained = await ask([result], { model, tools: [patch], previous_response_id: first.id })
      expect(chained.output_text).to.contain('Done: 1 file')
    })

    it(`calls a function of a namespace: ${provider}`, async () => {
      const first = await ask('Use a tool', { model, tools: [docs] })
      const call = first.output.find((item) => item.type === 'function_call')
      expect(call).to.include({ name: 'search', namespace: 'mcp__docs__' })
      const result = { type: 'function_call_output' as const, call_id: call?.call_id ?? '', output: 'Page 7' }
      const input = [{ role: 'user' as const, content: 'Use a tool' }, ...first.output, result]
      const second = await ask(input as Create['input'], { model, tools: [docs] })
      expect(second.output_text).to.contain('Page 7')
    })
  }

  it('of the kind custom have a known form of input, also in a namespace', async () => {
    const wrong = { ...patch, format: { ...patch.format, type: 'song' } }
    for (const tools of [[wrong], [{ ...docs, tools: [wrong] }]]) {
      const { status, body } = await post({ input: 'Hi', tools })
      expect(status).to.equal(400)
      expect(body.error.param).to.match(/^tools\[0\].*format\.type$/)
    }
  })

  it('are functions for models, with the grammar in the description', async () => {
    await ask('Hi', { tools: [patch, docs], tool_choice: { type: 'custom', name: 'apply_patch' } })
    const { tools, tool_choice } = Object(sandbox.requests.at(-1)?.body)
    const [custom, namespaced] = tools.map((tool: { function: object }) => tool.function)
    expect(custom.name).to.equal('apply_patch')
    expect(custom.description).to.equal(
      'Edits files.\n\nThe input must match this lark grammar:\nstart: "patch"',
    )
    expect(custom.parameters.required).to.deep.equal(['input'])
    expect(namespaced).to.include({ name: 'mcp__docs__search' })
    expect(tool_choice).to.deep.equal({ type: 'function', function: { name: 'apply_patch' } })
  })

  it('are streamed with the events of custom tools, and replayed byte for byte', async () => {
    const headers = { authorization: `Bearer ${gateway.demoKey}`, 'content-type': 'application/json' }
    const stream = async (path: string, body: object) =>
      await (await fetch(gateway.url + path, { method: 'POST', headers, body: JSON.stringify(body) })).text()
    const text = await stream('/v1/responses', {
      model: 'gpt-4o',
      input: 'Use apply_patch, parallel',
      tools: [patch, docs],
      stream: true,
    })
    const events = text
      .split('\n')
      .filter((line) => line.startsWith('data: {'))
      .map((line) => JSON.parse(line.slice('data: '.length)))
    const done = events.find(({ type }) => type === 'response.custom_tool_call_input.done')
    const deltas = events.filter(({ type }) => type === 'response.custom_tool_call_input.delta')
    expect(deltas.map(({ delta }) => delta).join('')).to.equal(done.input)
    const { id, output } = events.at(-1).response
    expect(output.map(({ type }: { type: string }) => type)).to.include('custom_tool_call')
    const withoutRequest = (records: string) => records.replace(/"x_request_id":"\w+"/g, '')
    const replayed = await stream(`/v1/responses/${id}`, { stream: true })
    expect(withoutRequest(replayed)).to.equal(withoutRequest(text))
  })

  it('are listed among the input items', async () => {
    const call = { type: 'custom_tool_call', call_id: 'c1', name: 'apply_patch', input: 'patch' }
    const result = { type: 'custom_tool_call_output', call_id: 'c1', output: 'ok' }
    const named = { type: 'function_call', call_id: 'c2', namespace: 'mcp__docs__', name: 'search' }
    const found = { type: 'function_call_output', call_id: 'c2', output: 'Page 7' }
    const input = [{ role: 'user', content: 'Hi' }, call, result, { ...named, arguments: '{}' }, found]
    const { id } = await ask(input as Create['input'], { tools: [patch, docs] })
    const items: object[] = []
    for await (const item of client.responses.inputItems.list(id, { order: 'asc' })) items.push(item)
    expect(items.slice(1)).to.have.length(4)
    for (const [index, item] of [call, result, named, found].entries())
      expect(items[index + 1]).to.deep.include(item)
  })

  it('leave out hosted tools that the client can do without, with a warning', async () => {
    const web = { type: 'web_search', external_web_access: true }
    const { status, body } = await post({ model: 'gpt-4o', input: 'Hi', tools: [search, web] })
    expect(status).to.equal(200)
    expect(body.signalbox.warnings).to.deep.equal([
      {
        code: 'parameter',
        message: 'tool web_search was omitted because hosted tools run only at OpenAI.',
      },
    ])
    expect(Object(sandbox.requests.at(-1)?.body).tools).to.have.length(1)
    const optional = await post({ model: 'gpt-4o', input: 'Hi', tools: [{ ...web, optional: true }] })
    expect(optional.status).to.equal(200)
    for (const more of [{ tools: [web] }, { tools: [search, web], tool_choice: { type: 'web_search' } }]) {
      const refused = await post({ model: 'gpt-4o', input: 'Hi', ...more })
      expect([refused.status, refused.body.error.code]).to.deep.equal([400, 'unsupported_parameter'])
    }
    const misspelt = await post({ model: 'gpt-4o', input: 'Hi', tools: [search, { type: 'funktion' }] })
    expect([misspelt.status, misspelt.body.error.param]).to.deep.equal([400, 'tools[1]'])
  })

  it('are inspected by rules', async () => {
    const { call } = await newUser(gateway)
    await call('POST', '/v1/firewall-rules', firewallRuleBody({ action: 'block' }))
    const patching = { type: 'custom_tool_call', call_id: 'c', name: 'apply_patch', input: 'a' }
    const leaks = [
      { tools: [{ ...patch, description: 'A secret' }] },
      { tools: [{ ...patch, format: { ...patch.format, definition: 'start: "secret"' } }] },
      { tools: [{ ...docs, tools: [{ ...search, description: 'A secret' }] }] },
      { input: [{ ...patching, input: 'secret' }] },
      { input: [patching, { type: 'custom_tool_call_output', call_id: 'c', output: 'secret' }] },
    ]
    for (const leak of leaks) {
      const { status } = await call('POST', '/v1/responses', { model: 'gpt-4o', input: 'Hi', ...leak })
      expect(status, JSON.stringify(leak)).to.equal(403)
    }
  })

  it("may be nested as in chat completions, like schemas, and TokenRouter's items are read", async () => {
    const { name, parameters } = search
    const nested = { type: 'function', function: { name, parameters } }
    const called = await post({
      model: 'gpt-4o',
      input: 'Hi',
      tools: [nested],
      tool_choice: { type: 'function', function: { name } },
    })
    expect(called.body.output[0]).to.include({ type: 'function_call', name: 'search' })
    expect(called.body.tools).to.deep.equal([{ type: 'function', name, parameters, strict: null }])

    const schema = { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] }
    for (const json_schema of [{ name: 'count', schema, strict: true }, schema]) {
      const text = { format: { type: 'json_schema', json_schema } }
      const { status, body } = await post({ model: 'gpt-4o', input: 'Hi', text })
      expect(status, JSON.stringify(body)).to.equal(200)
      expect(JSON.parse(body.output[0].content[0].text)).to.deep.equal({ n: 1 })
      expect(body.text.format).to.deep.include({ type: 'json_schema', schema })
    }

    const { call_id } = called.body.output[0]
    const result = { type: 'tool_result', tool_call_id: call_id, output: 'Page 7' }
    const image = { type: 'input_image', image_url: { url: 'data:image/png;base64,AAAA', detail: 'low' } }
    const text = { type: 'input_text', text: 'Hm' }
    const messages = [
      { type: 'message', role: 'user', content: [image, text] },
      called.body.output[0],
      result,
    ]
    const { body } = await post({ model: 'gpt-4o', input: messages, tools: [nested] })
    expect(JSON.stringify(body.output)).to.contain('Page 7')
    const sent = Object(sandbox.requests.at(-1)?.body).messages
    expect(sent[0].content[0]).to.deep.equal({
      type: 'image_url',
      image_url: { url: 'data:image/png;base64,AAAA', detail: 'low' },
    })
  })

  it('get audio in either form, and refuse a part without data', async () => {
    const audio = { data: 'AAAA', format: 'wav' }
    const send = (part: object) =>
      post({
        model: 'gpt-4o',
        input: [{ type: 'message', role: 'user', content: [{ type: 'input_audio', ...part }] }],
      })
    for (const part of [{ audio }, { input_audio: audio }]) {
      await send(part)
      const [message] = Object(sandbox.requests.at(-1)?.body).messages
      expect(message.content).to.deep.equal([{ type: 'input_audio', input_audio: audio }])
    }
    const { status, body } = await send({})
    expect([status, body.error.param]).to.deep.equal([400, 'input[0].content[0]'])
  })
})
