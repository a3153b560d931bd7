import { expect } from 'chai'
import OpenAI from 'openai'
import { ask, asUser, type Case, callsOf, heard, loose, type Request, read } from './bench.ts'

const tools = ['get_weather', 'get_time'].map((name) => ({
  type: 'function' as const,
  function: {
    name,
    parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  },
}))

const PIXEL =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

const SCHEMA = {
  type: 'object',
  properties: { city: { type: 'string' }, degrees: { type: 'number' } },
  required: ['city', 'degrees'],
  additionalProperties: false,
}

/** Takes a clear 400 for an answer. */
function refused(error: unknown): '400' {
  expect(error).to.be.instanceOf(OpenAI.BadRequestError)
  expect(error).to.include({ code: 'unsupported_parameter', param: 'response_format' })
  return '400'
}

const jsonObject: Request = { ...asUser('Weather in JSON?'), response_format: { type: 'json_object' } }

const jsonSchema: Request = {
  ...asUser('Weather?'),
  response_format: { type: 'json_schema', json_schema: { name: 'weather', strict: true, schema: SCHEMA } },
}

/** What providers can do, tried whole and streamed wherever that makes a difference. */
export const ABILITIES = {
  text: async (bench) => {
    const { message, finish_reason } = await ask(bench, asUser('Grüße, 世界'))
    expect(message.content).to.contain('Grüße, 世界')
    expect(finish_reason).to.equal('stop')
    return 'yes'
  },

  stream: async (bench) => {
    const chunks = await read(bench, asUser('Hello'))
    expect(chunks.length).to.be.greaterThan(4)
    expect(chunks[0]!.choices[0]?.delta.role).to.equal('assistant')
    expect(loose(chunks[0])).to.include({ provider: bench.provider, routing_mode: 'balance' })
    expect(loose(chunks.at(-1)).latency_ms).to.be.a('number')
    expect(new Set(chunks.map(({ id }) => id)).size).to.equal(1)
    expect(chunks.filter(({ choices }) => choices[0]?.finish_reason)).to.have.length(1)
    return 'yes'
  },

  tools: async (bench) => {
    const choice = await ask(bench, { ...asUser('Use get_time.'), tools })
    expect(choice.finish_reason).to.equal('tool_calls')
    expect(callsOf(choice).map(({ name }) => name)).to.deep.equal(['get_time'])
    expect(callsOf(choice)[0]?.arguments).to.have.property('city')
    return 'yes'
  },

  'parallel tools': async (bench) => {
    const choice = await ask(bench, { ...asUser('Use both tools in parallel.'), tools })
    expect(callsOf(choice).map(({ name }) => name)).to.deep.equal(['get_weather', 'get_time'])
    const ids = choice.message.tool_calls?.map(({ id }) => id)
    expect(new Set(ids).size).to.equal(2)
    return 'yes'
  },

  'tool result turn': async (bench) => {
    const { messages } = asUser('Use both tools in parallel.')
    const { message } = await ask(bench, { messages, tools })
    const results = (message.tool_calls ?? []).map(({ id }, index) => ({
      role: 'tool' as const,
      tool_call_id: id,
      content: `result number ${index}`,
    }))
    const { message: answer } = await ask(bench, { messages: [...messages, message, ...results], tools })
    expect(answer.content).to.contain('result number 0').and.contain('result number 1')
    return 'yes'
  },

  'JSON object': async (bench) => {
    const answer = await ask(bench, jsonObject).catch(refused)
    if (answer === '400') return answer
    expect(JSON.parse(answer.message.content ?? '')).to.be.an('object')
    return 'yes'
  },

  'JSON schema': async (bench) => {
    const answer = await ask(bench, jsonSchema).catch(refused)
    if (answer === '400') return answer
    expect(JSON.parse(answer.message.content ?? '')).to.have.all.keys('city', 'degrees')
    return 'yes'
  },

  image: async (bench) => {
    const image_url = { url: `data:image/png;base64,${PIXEL}` }
    const text = `What does ${bench.provider} see?`
    const content = [
      { type: 'text' as const, text },
      { type: 'image_url' as const, image_url },
    ]
    const request = heard(bench, text)
    await ask(bench, { messages: [{ role: 'user', content }] })
    expect(JSON.stringify((await request).body)).to.contain(PIXEL)
    return 'yes'
  },

  reasoning: async (bench) => {
    const request = { ...asUser('Think first.'), reasoning_effort: 'high' as const }
    const { message } = await ask(bench, request)
    const thoughts = loose(message).reasoning_content
    expect(thoughts).to.contain('Think first.')
    const chunks = await read(bench, { ...request, stream_options: { include_usage: true } })
    const deltas = chunks.map(({ choices }) => loose(choices[0]?.delta)?.reasoning_content ?? '')
    expect(deltas.join('')).to.equal(thoughts)
    expect(chunks.at(-1)?.usage?.completion_tokens_details?.reasoning_tokens).to.be.greaterThan(0)
    return 'yes'
  },

  usage: async (bench) => {
    const { usage } = await bench.client.chat.completions.create({ ...asUser('Count.'), model: bench.model })
    const { prompt_tokens, completion_tokens, total_tokens } = usage!
    expect(prompt_tokens).to.be.greaterThan(0)
    expect(completion_tokens).to.be.greaterThan(0)
    expect(total_tokens).to.equal(prompt_tokens + completion_tokens)
    const counted = await read(bench, { ...asUser('Count.'), stream_options: { include_usage: true } })
    expect(counted.at(-1)!.choices).to.deep.equal([])
    expect(counted.at(-1)!.usage).to.include({ prompt_tokens, completion_tokens, total_tokens })
    expect(counted.slice(0, -1).every(({ usage }) => usage == null)).to.equal(true)
    const plain = await read(bench, asUser('Count.'))
    expect(plain.every(({ usage, choices }) => usage === undefined && choices.length === 1)).to.equal(true)
    return 'yes'
  },

  stop: async (bench) => {
    const { message, finish_reason } = await ask(bench, { ...asUser('alpha beta gamma'), stop: ['gamma'] })
    expect(message.content).to.contain('beta').and.not.contain('gamma')
    expect(finish_reason).to.equal('stop')
    return 'yes'
  },

  length: async (bench) => {
    const { message, finish_reason } = await ask(bench, {
      ...asUser('A long story.'),
      max_completion_tokens: 3,
    })
    expect(message.content?.length).to.be.at.most(12)
    expect(finish_reason).to.equal('length')
    return 'yes'
  },

  'content filter': async (bench) => {
    const { finish_reason } = await ask(bench, asUser('Tell me. [[sandbox:refuse]]'))
    expect(finish_reason).to.equal('content_filter')
    return 'yes'
  },
} satisfies Readonly<Record<string, Case>>

/** JSON mode with the capabilities of the published interface. */
export const OF_INTERFACE = {
  'JSON object, `capabilities: interface`': ABILITIES['JSON object'],
  'JSON schema, `capabilities: interface`': ABILITIES['JSON schema'],
} satisfies Readonly<Record<string, Case>>
