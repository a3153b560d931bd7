import { expect } from 'chai'
import { chatBody } from '../support/bodies.ts'
import { type RunningGateway, startGateway } from '../support/gateway.ts'
import { sample } from '../support/rounds.ts'

describe('requests that would keep the sandbox busy', () => {
  let gateway: RunningGateway
  before(async () => {
    gateway = await startGateway()
  })
  after(() => gateway.stop())

  const embed = (body: object) => gateway.call('POST', '/v1/embeddings', { input: 'Track 9', ...body })

  for (const model of ['openai:new-embedding', 'mistral:new-embedding', 'gemini:new-embedding']) {
    it(`are refused for the length of vectors (${model})`, async () => {
      for (const dimensions of [2_000_000, 3073]) {
        const { status, body } = await embed({ model, dimensions })
        expect(status).to.equal(400)
        expect(body.error.message).to.contain("'dimensions': must be an integer from 1 to 3072")
      }
      expect((await embed({ model, dimensions: 3072 })).body.data[0].embedding).to.have.length(3072)
    })
  }

  it('are refused for the number of vectors', async () => {
    const input = Array.from({ length: 2048 }, (_, index) => `Track ${index}`)
    for (const count of [2048, 342]) {
      const { status, body } = await embed({ model: 'openai:new-embedding', input: input.slice(0, count) })
      expect(status).to.equal(400)
      expect(body.error.message).to.contain('at most 524288 numbers. Send fewer texts')
    }
    expect((await embed({ model: 'openai:new-embedding', input: input.slice(0, 341) })).status).to.equal(200)
  })

  const replies = Object.entries({
    text: {},
    JSON: { response_format: { type: 'json_object' } },
    reasoning: { model: 'openai:o3', reasoning_effort: 'high' },
    results: {},
  })
  for (const [name, fields] of sample(replies, 1))
    it(`get a reply of limited size (${name})`, async () => {
      const long = 'json é '.repeat(1_000_000)
      const said = chatBody(long, { model: 'openai:gpt-4o', ...fields })
      const tool_calls = [{ id: 'call_1', type: 'function', function: { name: 'look_up', arguments: '{}' } }]
      const results = [
        { role: 'assistant', content: null, tool_calls },
        { role: 'tool', tool_call_id: 'call_1', content: long },
      ]
      const asked =
        name === 'results' ? { ...said, messages: [{ role: 'user', content: long }, ...results] } : said
      const { status, body } = await gateway.call('POST', '/v1/chat/completions', asked)
      expect([status, body.choices[0].finish_reason]).to.deep.equal([200, 'length'])
      const { content, reasoning_content } = body.choices[0].message
      expect(Buffer.byteLength(content + (reasoning_content ?? ''))).to.be.within(
        4 * 131_000,
        4 * 131_072 + 3,
      )
      expect(body.usage.completion_tokens).to.equal(131_072)
    })

  it('are refused for the number of faults', async () => {
    const ask = (markers: number) =>
      gateway.call('POST', '/v1/chat/completions', chatBody('[[sandbox:crlf]]'.repeat(markers)))
    expect((await ask(100)).status).to.equal(200)
    const { status, body } = await ask(101)
    expect(status).to.equal(400)
    expect(body.error.message).to.contain('at most 100 markers')
  })

  const nested = (depth: number): object =>
    depth === 0 ? { type: 'string' } : { type: 'array', minItems: 100, items: nested(depth - 1) }
  const level = (index: number) => {
    const $ref = `#/$defs/level${index + 1}`
    return [
      `level${index}`,
      { type: 'object', properties: index < 30 ? { one: { $ref }, two: { $ref } } : { leaf: nested(0) } },
    ]
  }
  const doubling = {
    $ref: '#/$defs/level0',
    $defs: Object.fromEntries(Array.from({ length: 31 }, (_, i) => level(i))),
  }
  const given = { type: 'array', minItems: 100, items: { const: 'x'.repeat(50_000) } }
  for (const [name, value] of Object.entries({ nested: nested(6), doubling, given })) {
    it(`get no arguments where a schema has values of any size (${name})`, async () => {
      const schema = {
        type: 'object',
        properties: { value },
        ...('$defs' in value && { $defs: value.$defs }),
      }
      const tools = [{ type: 'function', function: { name: 'look_up', parameters: schema } }]
      const { status, body } = await gateway.call('POST', '/v1/chat/completions', {
        ...chatBody('Use look_up', { model: 'openai:gpt-4o' }),
        tools,
      })
      expect(status, JSON.stringify(body)).to.equal(200)
      expect(body.choices[0].message.tool_calls[0].function.arguments).to.equal('{}')
    })
  }
})
