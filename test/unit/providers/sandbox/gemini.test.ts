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

interface ApiFault {
  code: number
  message: string
  status: string
}

describe('the sandbox, to the SDK of Google', () => {
  let sandbox: Sandbox
  let client: GoogleGenAI

  before(async () => {
    sandbox = await startSandbox({ record: 10 })
    client = connect(sandbox)
  })

  after(() => sandbox.close())

  describe('answering in text', () => {
    it('quotes the last user message and names the model', async () => {
      const response = await ask('Hello, wörld!')
      expect(response.text).to.equal(
        'You said: "Hello, wörld!". This is the sandbox, answering as gemini-4-argon.',
      )
      expect(response).to.include({ modelVersion: MODEL })
      expect(response.responseId).to.match(/^\w+$/)
      expect(response.candidates?.[0]).to.include({ finishReason: 'STOP', index: 0 })
    })

    it('counts tokens, and leaves zeros out', async () => {
      const { usageMetadata, text } = await ask('Hällo', { systemInstruction: 'Be brief' })
      const output = Math.ceil(Buffer.byteLength(text ?? '') / 4)
      expect(usageMetadata).to.deep.equal({
        promptTokenCount: 4,
        candidatesTokenCount: output,
        totalTokenCount: 4 + output,
      })
    })

    it('streams in fragments, the reason for the end in the last', async () => {
      const fragments = await collect(await stream('Hi'))
      expect(fragments.length).to.be.greaterThan(4)
      expect(readText(fragments)).to.equal((await ask('Hi')).text)
      const reasons = fragments.map(({ candidates }) => candidates?.[0]?.finishReason)
      expect(reasons.filter(Boolean)).to.deep.equal(['STOP'])
      expect(fragments.at(-1)?.usageMetadata).to.deep.equal((await ask('Hi')).usageMetadata)
    })

    it('ends the lines of a stream in \\r\\n', async () => {
      const text = await (await post('streamGenerateContent?alt=sse', writeBody('Hi'))).text()
      expect(text).to.match(/\r\n\r\n$/)
      expect(text.replaceAll('\r\n', '')).not.to.contain('\n')
    })

    it('cuts the answer at maxOutputTokens and before a stop sequence', async () => {
      const cut = await ask('Hi', { maxOutputTokens: 2 })
      expect(cut.text).to.equal('You said')
      expect(cut.candidates?.[0]?.finishReason).to.equal('MAX_TOKENS')
      expect((await ask('one two', { stopSequences: [' two'] })).text).to.equal('You said: "one')
    })

    it('shows its thoughts when asked', async () => {
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

    it('answers in JSON, of a schema too', async () => {
      const json = await ask('Hi', { responseMimeType: 'application/json' })
      expect(JSON.parse(json.text ?? '')).to.deep.equal({ you_said: 'Hi', model: MODEL })
      const responseJsonSchema = { type: 'object', properties: { done: { type: 'boolean' } } }
      const held = await ask('Hi', { responseMimeType: 'application/json', responseJsonSchema })
      expect(JSON.parse(held.text ?? '')).to.deep.equal({ done: true })
    })

    it('blocks a prompt', async () => {
      const response = await ask('Hi [[sandbox:refuse]]')
      expect(response.promptFeedback).to.deep.equal({ blockReason: 'PROHIBITED_CONTENT' })
      expect(response.candidates).to.equal(undefined)
      const fragments = await collect(await stream('Hi [[sandbox:refuse]]'))
      expect(fragments.map(({ promptFeedback }) => promptFeedback?.blockReason)).to.deep.equal([
        'PROHIBITED_CONTENT',
      ])
    })
  })

  describe('calling tools', () => {
    it('calls a function when the user asks, with an id and a signature', async () => {
      const response = await ask('Use a tool', { tools })
      const [part] = response.candidates?.[0]?.content?.parts ?? []
      expect(part?.functionCall).to.deep.include({ name: 'get_weather', args: { city: 'sample city' } })
      expect(part?.functionCall?.id).to.match(/^call_/)
      expect(part?.thoughtSignature).to.be.a('string')
      expect(response.candidates?.[0]?.finishReason).to.equal('STOP')
    })

    it('signs the first of parallel calls only', async () => {
      const { candidates } = await ask('Use tools in parallel', { tools })
      const parts = candidates?.[0]?.content?.parts ?? []
      expect(parts.map(({ functionCall }) => functionCall?.name)).to.deep.equal(['get_weather', 'get_time'])
      expect(parts.map(({ thoughtSignature }) => thoughtSignature !== undefined)).to.deep.equal([true, false])
    })

    it('gives neither ids nor signatures on 2.5', async () => {
      const { candidates } = await ask('Use a tool', { tools }, 'gemini-2.5-flash')
      expect(candidates?.[0]?.content?.parts).to.deep.equal([
        { functionCall: { name: 'get_weather', args: { city: 'sample city' } } },
      ])
    })

    it('streams each call in a fragment, and STOP in another', async () => {
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
      it(`keeps to the mode ${mode}`, async () => {
        const { functionCalls } = await ask('Hi', { tools, toolConfig: { functionCallingConfig: { mode } } })
        expect(functionCalls?.map(({ name }) => name)).to.deep.equal(calls)
      })
    }

    it('keeps to the functions that are allowed', async () => {
      const functionCallingConfig = {
        mode: FunctionCallingConfigMode.ANY,
        allowedFunctionNames: ['get_time'],
      }
      const { functionCalls } = await ask('Hi', { tools, toolConfig: { functionCallingConfig } })
      expect(functionCalls?.map(({ name, args }) => [name, args])).to.deep.equal([['get_time', {}]])
    })

    it('quotes the results of a whole turn', async () => {
      const { text } = await talk(await converse(), { tools })
      expect(text).to.match(/^The tool answered: "21 degrees". The tool answered: "noon". You said: "Use/)
    })

    it('refuses a call that comes back without its signature, from Gemini 3 on', async () => {
      const [user, model, results] = await converse()
      const parts = model.parts?.map(({ thoughtSignature, ...part }) => part) ?? []
      const unsigned = [user, { ...model, parts }, results]
      const error = await fail(talk(unsigned, { tools }))
      expect(error.status).to.equal(400)
      expect(error.message).to.contain('missing a thought_signature')
      expect((await talk(unsigned, { tools }, 'gemini-2.5-flash')).text).to.contain('21 degrees')
    })

    it('refuses a turn that lacks a result', async () => {
      const [user, model, results] = await converse()
      const lacking = { ...results, parts: results.parts?.slice(1) ?? [] }
      const error = await fail(talk([user, model, lacking], { tools }))
      expect(error.message).to.contain('number of function response parts')
    })
  })

  describe('refusing', () => {
    it('lists its models', async () => {
      const names: (string | undefined)[] = []
      for await (const { name } of await client.models.list({ config: { queryBase: true } })) names.push(name)
      expect(names).to.include('models/gemini-4-argon')
    })

    it('takes any key but "invalid"', async () => {
      const error = await fail(ask('Hi', {}, MODEL, connect(sandbox, 'invalid')))
      expect(error.status).to.equal(401)
      expect(JSON.parse(error.message)).to.have.nested.property('error.status', 'UNAUTHENTICATED')
    })

    for (const [body, name] of [
      [{ ...JSON.parse(writeBody('Hi')), model: 'x' }, '"model": Cannot'],
      [{ ...JSON.parse(writeBody('Hi')), generationConfig: { user: 'x' } }, '"user" at \'generationConfig\''],
      [{ contents: [{ parts: [{ text: 'Hi', type: 'text' }] }] }, '"type" at \'contents[0].parts[0]\''],
    ] as const) {
      it(`refuses a field that Gemini does not know: ${name}`, async () => {
        const response = await post('generateContent', JSON.stringify(body))
        expect(response.status).to.equal(400)
        const { error } = (await response.json()) as { error: ApiFault }
        expect(error).to.include({ code: 400, status: 'INVALID_ARGUMENT' })
        expect(error.message).to.contain(`Unknown name ${name}`)
      })
    }

    for (const [why, body] of [
      ['no contents', {}],
      ['a role of another provider', { contents: [{ role: 'assistant', parts: [{ text: 'Hi' }] }] }],
      ['no parts', { contents: [{ role: 'user', parts: [] }] }],
      ['a result of no call', { contents: [{ parts: [{ functionResponse: { name: 'f', response: {} } }] }] }],
      [
        'a level and a budget of thoughts',
        {
          contents: [{ parts: [{ text: 'Hi' }] }],
          generationConfig: { thinkingConfig: { thinkingLevel: 'LOW', thinkingBudget: 1 } },
        },
      ],
      ['no JSON', '{"contents":'],
    ] as const) {
      it(`refuses ${why}`, async () => {
        const response = await post('generateContent', typeof body === 'string' ? body : JSON.stringify(body))
        expect(response.status).to.equal(400)
        expect(await response.json()).to.have.nested.property('error.status', 'INVALID_ARGUMENT')
      })
    }

    it('has no other paths', async () => {
      const response = await post('countTokens', writeBody('Hi'))
      expect(response.status).to.equal(404)
      expect(await response.json()).to.have.nested.property('error.status', 'NOT_FOUND')
    })
  })

  describe('failing on request', () => {
    for (const [status, name] of [
      [400, 'INVALID_ARGUMENT'],
      [403, 'PERMISSION_DENIED'],
      [404, 'NOT_FOUND'],
      [429, 'RESOURCE_EXHAUSTED'],
      [500, 'INTERNAL'],
      [503, 'UNAVAILABLE'],
      [504, 'DEADLINE_EXCEEDED'],
    ] as const) {
      it(`answers with status ${status}, whole and streamed`, async () => {
        for (const error of [
          await fail(ask(`[[sandbox:status=${status}]]`)),
          await fail(stream(`[[sandbox:status=${status}]]`)),
        ]) {
          expect(error.status).to.equal(status)
          expect(JSON.parse(error.message)).to.have.nested.property('error.status', name)
        }
      })
    }

    it('names the reason, or the limit, that it is told', async () => {
      const reason = await fail(ask('[[sandbox:status=400 code=API_KEY_INVALID]]'))
      expect(JSON.parse(reason.message).error.details[0]).to.include({ reason: 'API_KEY_INVALID' })
      const limit = await fail(ask('[[sandbox:status=429 code=RequestsPerDay]]'))
      expect(JSON.parse(limit.message).error.details[0].violations).to.deep.equal([
        { quotaId: 'RequestsPerDay' },
      ])
    })

    it('begins a stream with an error', async () => {
      const error = await fail(stream('[[sandbox:error-first status=503]]').then(collect))
      expect(error.status).to.equal(503)
    })

    it('sends an error in the middle of a stream', async () => {
      const fragments: GenerateContentResponse[] = []
      const error = await fail(
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

    it('cuts a stream, and a whole answer', async () => {
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

    it('fails as many times as it is told, for the model that it is told', async () => {
      const text = `[[sandbox:status=503 times=1 model=${MODEL}]]`
      expect((await ask(text, {}, 'gemini-3.8-flash')).text).to.be.a('string')
      expect((await fail(ask(text))).status).to.equal(503)
      expect((await ask(text)).text).to.be.a('string')
    })

    it('notices a client that leaves', async () => {
      const leaving = new AbortController()
      const arrival = sandbox.next()
      const answer = ask('[[sandbox:hang]]', { abortSignal: leaving.signal }).catch((error: unknown) => error)
      const request = await arrival
      leaving.abort()
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

  /** A conversation that ends in the results of two calls. */
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

function writeBody(text: string): string {
  return JSON.stringify({ contents: [{ role: 'user', parts: [{ text }] }] })
}

async function fail(request: PromiseLike<unknown>): Promise<ApiError> {
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
