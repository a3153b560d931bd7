import {
  ApiError,
  type Content,
  FunctionCallingConfigMode,
  type GenerateContentConfig,
  type GenerateContentResponse,
  GoogleGenAI,
} from '@google/genai'
import { expect } from 'chai'
import { type Sandbox, startSandbox } from '../../../../providers/sandbox/server.ts'

const MODEL = 'gemini-4-argon'

const weather = {
  name: 'get_weather',
  parametersJsonSchema: {
    type: 'object',
    required: ['city'],
    properties: { city: { type: 'string' } },
  },
}
const clock = { name: 'get_time' }
const tools = [{ functionDeclarations: [weather, clock] }]

interface ErrorBody {
  code: number
  message: string
  status: string
}

describe("sandbox: Gemini's format", () => {
  let sandbox: Sandbox
  let client: GoogleGenAI

  before(async () => {
    sandbox = await startSandbox({ record: 10 })
    client = connect(sandbox)
  })

  after(() => sandbox.close())

  describe('replies', () => {
    it('quote the last user message and name the model', async () => {
      const response = await ask('Hello, wörld!')
      expect(response.text).to.equal(
        'You said: "Hello, wörld!". This is the sandbox, answering as gemini-4-argon.',
      )
      expect(response).to.include({ modelVersion: MODEL })
      expect(response.responseId).to.match(/^\w+$/)
      expect(response.candidates?.[0]).to.include({ finishReason: 'STOP', index: 0 })
    })

    it('report token usage without zero counts', async () => {
      const { usageMetadata, text } = await ask('Hällo', { systemInstruction: 'Be brief' })
      const output = Math.ceil(Buffer.byteLength(text ?? '') / 4)
      expect(usageMetadata).to.deep.equal({
        promptTokenCount: 4,
        candidatesTokenCount: output,
        totalTokenCount: 4 + output,
      })
    })

    it('are streamed in events, with the finish reason in the last one', async () => {
      const fragments = await collect(await stream('Hi'))
      expect(fragments.length).to.be.greaterThan(4)
      expect(readText(fragments)).to.equal((await ask('Hi')).text)
      const reasons = fragments.map(({ candidates }) => candidates?.[0]?.finishReason)
      expect(reasons.filter(Boolean)).to.deep.equal(['STOP'])
      expect(fragments.at(-1)?.usageMetadata).to.deep.equal((await ask('Hi')).usageMetadata)
    })

    it('end the lines of a stream with \\r\\n', async () => {
      const text = await (await post('streamGenerateContent?alt=sse', buildBody('Hi'))).text()
      expect(text).to.match(/\r\n\r\n$/)
      expect(text.replaceAll('\r\n', '')).not.to.contain('\n')
    })

    it('are truncated at maxOutputTokens and before a stop sequence', async () => {
      const cut = await ask('Hi', { maxOutputTokens: 2 })
      expect(cut.text).to.equal('You said')
      expect(cut.candidates?.[0]?.finishReason).to.equal('MAX_TOKENS')
      expect((await ask('one two', { stopSequences: [' two'] })).text).to.equal('You said: "one')
    })

    it('include thoughts if requested', async () => {
      const config = { thinkingConfig: { includeThoughts: true } }
      const { candidates, text, usageMetadata } = await ask('Hi', config)
      expect(candidates?.[0]?.content?.parts?.[0]).to.deep.equal({
        text: 'The user said: "Hi". I will say so.',
        thought: true,
      })
      expect(text).to.contain('You said: "Hi"')
      const { promptTokenCount = 0, candidatesTokenCount = 0, thoughtsTokenCount = 0 } = usageMetadata ?? {}
      expect(thoughtsTokenCount).to.be.greaterThan(0)
      expect(usageMetadata?.totalTokenCount).to.equal(
        promptTokenCount + candidatesTokenCount + thoughtsTokenCount,
      )
      const fragments = await collect(await stream('Hi', config))
      expect(readText(fragments, true)).to.equal('The user said: "Hi". I will say so.')
    })

    it('are JSON if requested, with or without a schema', async () => {
      const json = await ask('Hi', { responseMimeType: 'application/json' })
      expect(JSON.parse(json.text ?? '')).to.deep.equal({ you_said: 'Hi', model: MODEL })
      const responseJsonSchema = { type: 'object', properties: { done: { type: 'boolean' } } }
      const held = await ask('Hi', { responseMimeType: 'application/json', responseJsonSchema })
      expect(JSON.parse(held.text ?? '')).to.deep.equal({ done: true })
    })

    it('report a blocked prompt', async () => {
      const response = await ask('Hi [[sandbox:refuse]]')
      expect(response.promptFeedback).to.deep.equal({ blockReason: 'PROHIBITED_CONTENT' })
      expect(response.candidates).to.equal(undefined)
      const fragments = await collect(await stream('Hi [[sandbox:refuse]]'))
      expect(fragments.map(({ promptFeedback }) => promptFeedback?.blockReason)).to.deep.equal([
        'PROHIBITED_CONTENT',
      ])
    })
  })

  describe('tool calls', () => {
    it('have an id and a thought signature', async () => {
      const response = await ask('Use a tool', { tools })
      const [part] = response.candidates?.[0]?.content?.parts ?? []
      expect(part?.functionCall).to.deep.include({ name: 'get_weather', args: { city: 'sample city' } })
      expect(part?.functionCall?.id).to.match(/^call_/)
      expect(part?.thoughtSignature).to.be.a('string')
      expect(response.candidates?.[0]?.finishReason).to.equal('STOP')
    })

    it('have a signature only on the first of parallel calls', async () => {
      const { candidates } = await ask('Use tools in parallel', { tools })
      const parts = candidates?.[0]?.content?.parts ?? []
      expect(parts.map(({ functionCall }) => functionCall?.name)).to.deep.equal(['get_weather', 'get_time'])
      expect(parts.map(({ thoughtSignature }) => thoughtSignature !== undefined)).to.deep.equal([true, false])
    })

    it('have neither ids nor signatures on Gemini 2.5', async () => {
      const { candidates } = await ask('Use a tool', { tools }, 'gemini-2.5-flash')
      expect(candidates?.[0]?.content?.parts).to.deep.equal([
        { functionCall: { name: 'get_weather', args: { city: 'sample city' } } },
      ])
    })

    it('are streamed one per event, followed by an event with STOP', async () => {
      const fragments = await collect(await stream('Use tools in parallel', { tools }))
      expect(fragments.flatMap((each) => each.functionCalls ?? []).map(({ name }) => name)).to.deep.equal([
        'get_weather',
        'get_time',
      ])
      expect(fragments).to.have.length(3)
      expect(fragments[1]?.candidates?.[0]?.finishReason).to.equal(undefined)
      expect(fragments[2]?.candidates?.[0]?.finishReason).to.equal('STOP')
      expect(fragments[2]?.functionCalls).to.equal(undefined)
    })

    for (const [mode, calls] of [
      [FunctionCallingConfigMode.NONE, undefined],
      [FunctionCallingConfigMode.AUTO, undefined],
      [FunctionCallingConfigMode.ANY, ['get_weather']],
    ] as const) {
      it(`follow the mode ${mode}`, async () => {
        const { functionCalls } = await ask('Hi', { tools, toolConfig: { functionCallingConfig: { mode } } })
        expect(functionCalls?.map(({ name }) => name)).to.deep.equal(calls)
      })
    }

    it('use allowed functions only', async () => {
      const functionCallingConfig = {
        mode: FunctionCallingConfigMode.ANY,
        allowedFunctionNames: ['get_time'],
      }
      const { functionCalls } = await ask('Hi', { tools, toolConfig: { functionCallingConfig } })
      expect(functionCalls?.map(({ name, args }) => [name, args])).to.deep.equal([['get_time', {}]])
    })

    it('have their results quoted in the next reply', async () => {
      const { text } = await talk(await converse(), { tools })
      expect(text).to.match(/^The tool answered: "21 degrees". The tool answered: "noon". You said: "Use/)
    })

    it('are rejected without their signature since Gemini 3', async () => {
      const [user, model, results] = await converse()
      const parts = model.parts?.map(({ thoughtSignature, ...part }) => part) ?? []
      const unsigned = [user, { ...model, parts }, results]
      const error = await errorOf(talk(unsigned, { tools }))
      expect(error.status).to.equal(400)
      expect(error.message).to.contain('missing a thought_signature')
      expect((await talk(unsigned, { tools }, 'gemini-2.5-flash')).text).to.contain('21 degrees')
    })

    it('are rejected if a result is missing', async () => {
      const [user, model, results] = await converse()
      const lacking = { ...results, parts: results.parts?.slice(1) ?? [] }
      const error = await errorOf(talk([user, model, lacking], { tools }))
      expect(error.message).to.contain('number of function response parts')
    })
  })

  describe('request validation', () => {
    it('lists its models', async () => {
      const names: (string | undefined)[] = []
      for await (const { name } of await client.models.list({ config: { queryBase: true } })) names.push(name)
      expect(names).to.include('models/gemini-4-argon')
    })

    it('accepts any key except "invalid"', async () => {
      const error = await errorOf(ask('Hi', {}, MODEL, connect(sandbox, 'invalid')))
      expect(error.status).to.equal(401)
      expect(JSON.parse(error.message)).to.have.nested.property('error.status', 'UNAUTHENTICATED')
    })

    for (const [body, name] of [
      [{ ...JSON.parse(buildBody('Hi')), model: 'x' }, '"model": Cannot'],
      [{ ...JSON.parse(buildBody('Hi')), generationConfig: { user: 'x' } }, '"user" at \'generationConfig\''],
      [{ contents: [{ parts: [{ text: 'Hi', type: 'text' }] }] }, '"type" at \'contents[0].parts[0]\''],
    ] as const) {
      it(`rejects an unknown field: ${name}`, async () => {
        const response = await post('generateContent', JSON.stringify(body))
        expect(response.status).to.equal(400)
        const { error } = (await response.json()) as { error: ErrorBody }
        expect(error).to.include({ code: 400, status: 'INVALID_ARGUMENT' })
        expect(error.message).to.contain(`Unknown name ${name}`)
      })
    }

    for (const [why, body] of [
      ['no contents', {}],
      ['a role of another provider', { contents: [{ role: 'assistant', parts: [{ text: 'Hi' }] }] }],
      ['no parts', { contents: [{ role: 'user', parts: [] }] }],
      [
        'a function response without a call',
        { contents: [{ parts: [{ functionResponse: { name: 'f', response: {} } }] }] },
      ],
      [
        'a thinking level together with a thinking budget',
        {
          contents: [{ parts: [{ text: 'Hi' }] }],
          generationConfig: { thinkingConfig: { thinkingLevel: 'LOW', thinkingBudget: 1 } },
        },
      ],
      ['a body that is not JSON', '{"contents":'],
    ] as const) {
      it(`rejects ${why}`, async () => {
        const response = await post('generateContent', typeof body === 'string' ? body : JSON.stringify(body))
        expect(response.status).to.equal(400)
        expect(await response.json()).to.have.nested.property('error.status', 'INVALID_ARGUMENT')
      })
    }

    it('returns 404 for unknown paths', async () => {
      const response = await post('countTokens', buildBody('Hi'))
      expect(response.status).to.equal(404)
      expect(await response.json()).to.have.nested.property('error.status', 'NOT_FOUND')
    })
  })

  describe('fault injection', () => {
    for (const [status, name] of [
      [400, 'INVALID_ARGUMENT'],
      [403, 'PERMISSION_DENIED'],
      [404, 'NOT_FOUND'],
      [429, 'RESOURCE_EXHAUSTED'],
      [500, 'INTERNAL'],
      [503, 'UNAVAILABLE'],
      [504, 'DEADLINE_EXCEEDED'],
    ] as const) {
      it(`responds with status ${status} to whole and streamed requests`, async () => {
        for (const error of [
          await errorOf(ask(`[[sandbox:status=${status}]]`)),
          await errorOf(stream(`[[sandbox:status=${status}]]`)),
        ]) {
          expect(error.status).to.equal(status)
          expect(JSON.parse(error.message)).to.have.nested.property('error.status', name)
        }
      })
    }

    it('sends the given code as reason or quota id', async () => {
      const reason = await errorOf(ask('[[sandbox:status=400 code=API_KEY_INVALID]]'))
      expect(JSON.parse(reason.message).error.details[0]).to.include({ reason: 'API_KEY_INVALID' })
      const limit = await errorOf(ask('[[sandbox:status=429 code=RequestsPerDay]]'))
      expect(JSON.parse(limit.message).error.details[0].violations).to.deep.equal([
        { quotaId: 'RequestsPerDay' },
      ])
    })

    it('sends an error as the first event of a stream', async () => {
      const error = await errorOf(stream('[[sandbox:error-first status=503]]').then(collect))
      expect(error.status).to.equal(503)
    })

    it('sends an error in the middle of a stream', async () => {
      const fragments: GenerateContentResponse[] = []
      const error = await errorOf(
        stream('[[sandbox:error-mid=2 token-delay=5]]').then((answer) => collect(answer, fragments)),
      )
      expect(error.status).to.equal(500)
      expect(fragments).to.have.length(2)
    })

    it('ends a stream early but cleanly', async () => {
      const fragments = await collect(await stream('[[sandbox:eof=3]]'))
      expect(fragments).to.have.length(3)
      expect(fragments.at(-1)?.candidates?.[0]?.finishReason).to.equal(undefined)
    })

    it('drops the connection during streams and whole responses', async () => {
      const answer = await stream('[[sandbox:cut=2]]')
      expect(await collect(answer).catch((error: unknown) => error)).to.be.instanceOf(TypeError)
      expect(await ask('[[sandbox:cut]]').catch((error: unknown) => error)).to.be.instanceOf(Error)
    })

    it('sends JSON that does not parse', async () => {
      const whole = await ask('[[sandbox:malformed]]').catch((error: unknown) => error)
      expect(whole).to.be.instanceOf(SyntaxError)
      const streamed = await stream('[[sandbox:malformed]]')
        .then(collect)
        .catch((error: unknown) => error)
      expect(streamed).to.be.instanceOf(Error)
    })

    it('applies a fault to the given model the given number of times', async () => {
      const text = `[[sandbox:status=503 times=1 model=${MODEL}]]`
      expect((await ask(text, {}, 'gemini-3.8-flash')).text).to.be.a('string')
      expect((await errorOf(ask(text))).status).to.equal(503)
      expect((await ask(text)).text).to.be.a('string')
    })

    it('detects client disconnects', async () => {
      const controller = new AbortController()
      const arrival = sandbox.next()
      const answer = ask('[[sandbox:hang]]', { abortSignal: controller.signal }).catch(
        (error: unknown) => error,
      )
      const request = await arrival
      controller.abort()
      expect(await request.closed).to.equal('aborted')
      expect(await answer).to.be.instanceOf(Error)
    })
  })

  function talk(contents: Content[], config: GenerateContentConfig = {}, model = MODEL, by = client) {
    return by.models.generateContent({ model, contents, config })
  }

  function ask(text: string, config: GenerateContentConfig = {}, model = MODEL, by = client) {
    return talk([{ role: 'user', parts: [{ text }] }], config, model, by)
  }

  function stream(text: string, config: GenerateContentConfig = {}) {
    return client.models.generateContentStream({ model: MODEL, contents: text, config })
  }

  /** Returns a conversation that ends with the results of two calls. */
  async function converse(): Promise<[Content, Content, Content]> {
    const user = { role: 'user', parts: [{ text: 'Use tools in parallel' }] }
    const { candidates } = await talk([user], { tools })
    const [first, second] = candidates![0]!.content!.parts!.map((part) => part.functionCall!)
    const results = [
      { functionResponse: { id: first!.id!, name: first!.name!, response: { output: '21 degrees' } } },
      { functionResponse: { id: second!.id!, name: second!.name!, response: { output: 'noon' } } },
    ]
    return [user, candidates![0]!.content!, { role: 'user', parts: results }]
  }

  function post(method: string, body: string): Promise<Response> {
    const headers = { 'x-goog-api-key': 'test', 'content-type': 'application/json' }
    return fetch(`${sandbox.url}/gemini/v1beta/models/${MODEL}:${method}`, { method: 'POST', headers, body })
  }
})

function connect({ url }: Sandbox, apiKey = 'test'): GoogleGenAI {
  return new GoogleGenAI({ apiKey, httpOptions: { baseUrl: `${url}/gemini` } })
}

function buildBody(text: string): string {
  return JSON.stringify({ contents: [{ role: 'user', parts: [{ text }] }] })
}

async function errorOf(request: PromiseLike<unknown>): Promise<ApiError> {
  try {
    await request
  } catch (error) {
    expect(error).to.be.instanceOf(ApiError)
    return error as ApiError
  }
  throw new Error('The request should have failed.')
}

async function collect(
  answer: AsyncIterable<GenerateContentResponse>,
  fragments: GenerateContentResponse[] = [],
): Promise<GenerateContentResponse[]> {
  for await (const fragment of answer) fragments.push(fragment)
  return fragments
}

function readText(fragments: readonly GenerateContentResponse[], thought?: boolean): string {
  const parts = fragments.flatMap(({ candidates }) => candidates?.[0]?.content?.parts ?? [])
  return parts
    .filter((part) => part.thought === thought)
    .map(({ text = '' }) => text)
    .join('')
}
