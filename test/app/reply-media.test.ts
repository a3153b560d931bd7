import { deepEqual, equal, match, ok } from 'node:assert/strict'
import {
  type Asked,
  combinations,
  encodeReply,
  type ProviderAnswer,
  type ProviderCall,
  startTranslationBench,
  type TranslationBench,
} from '../support/translation.ts'
import { waitUntil } from '../support/wait.ts'

// biome-ignore lint/suspicious/noExplicitAny: bodies of any dialect and format
type Loose = any

const PNG = Buffer.from('\x89PNG\r\n\x1a\n and more', 'latin1').toString('base64')
const DATA_URL = `data:image/png;base64,${PNG}`
const DIALECTS = ['chat', 'messages', 'responses', 'completions'] as const

/** Adds to what a format's provider replies. */
type Change = (call: ProviderCall, answer: ProviderAnswer) => ProviderAnswer

const geminiParts =
  (...parts: readonly object[]): Change =>
  ({ stream }) => {
    const candidate = { content: { role: 'model', parts }, finishReason: 'STOP', index: 0 }
    const usageMetadata = { promptTokenCount: 10, candidatesTokenCount: 1120 }
    const body = { candidates: [candidate], usageMetadata, modelVersion: 'm', responseId: 'r1' }
    return stream ? { records: [{ event: '', data: JSON.stringify(body) }] } : { body }
  }

/** Changes the message of a chat completion, or adds a delta before the others of a stream. */
const chatMessage =
  (fields: object): Change =>
  ({ stream }, { body, records = [] }) => {
    if (stream) {
      const [first, ...others] = records
      const chunk = JSON.parse(first!.data)
      const delta = { ...chunk, choices: [{ index: 0, delta: fields, finish_reason: null }] }
      return { records: [first!, { event: '', data: JSON.stringify(delta) }, ...others] }
    }
    const completion = JSON.parse(body as string)
    Object.assign(completion.choices[0].message, fields)
    return { body: completion }
  }

/** A response with an item before the others. */
const responseItem =
  (item: object): Change =>
  ({ stream }, { body, records = [] }) => {
    if (!stream) {
      const response = JSON.parse(body as string)
      return { body: { ...response, output: [item, ...response.output] } }
    }
    const data = JSON.stringify({ type: 'response.output_item.done', output_index: 0, item })
    const [created, ...others] = records
    return { records: [created!, { event: 'response.output_item.done', data }, ...others] }
  }

const image = { type: 'image_url', image_url: { url: DATA_URL } }

/** How each format replies with an image. */
const IMAGES = {
  gemini: geminiParts({ text: 'Look: ' }, { inlineData: { mimeType: 'image/png', data: PNG } }),
  compatible: chatMessage({ images: [image] }),
  mistral: chatMessage({ content: [{ type: 'text', text: 'Look: ' }, image] }),
  responses: responseItem({ type: 'image_generation_call', id: 'ig_1', status: 'completed', result: PNG }),
} as const

type ImageFormat = keyof typeof IMAGES

function imagesOf(dialect: string, { body, records }: Asked): readonly string[] {
  if (dialect === 'responses') {
    const output: Loose[] = body?.output ?? records.at(-1)?.response.output
    const items = output.filter(({ type }) => type === 'image_generation_call')
    return items.map(({ result, output_format }) => `data:image/${output_format};base64,${result}`)
  }
  const messages = body ? [body.choices[0].message] : records.map(({ choices }) => choices[0]?.delta ?? {})
  return messages.flatMap(({ images = [] }) => images.map(({ image_url }: Loose) => image_url.url))
}

describe('media in replies', () => {
  let bench: TranslationBench
  before(async () => {
    bench = await startTranslationBench()
  })
  after(() => bench.close())

  const play = (change: Change) => bench.respond((call) => change(call, encodeReply(call, {})))

  for (const { title, ...combination } of combinations(DIALECTS, Object.keys(IMAGES) as ImageFormat[])) {
    const { dialect, format } = combination
    const carries = dialect === 'chat' || dialect === 'responses'

    it(`delivers an image, or says that it cannot: ${title}`, async () => {
      play(IMAGES[format as ImageFormat])
      const asked = await bench.ask(combination)
      equal(asked.status, 200, asked.raw)
      ok(!asked.text.includes(PNG), 'base64 is not text')
      if (carries) {
        deepEqual(imagesOf(dialect, asked), [DATA_URL], asked.raw)
        deepEqual(asked.warnings, [])
      } else {
        match(asked.text, /\[The model replied with an image \(image\/png\)/)
        equal(
          asked.warnings.filter((message) => message.includes('an image (image/png)')).length,
          1,
          asked.raw,
        )
      }
    })
  }

  for (const { title, ...combination } of combinations(DIALECTS, ['gemini'])) {
    it(`fails with a name if nothing of the reply can be read, and records what it cost: ${title}`, async () => {
      play(geminiParts({ hologram: { depth: 3 } }))
      bench.calls.length = 0
      const asked = await bench.ask(combination)
      const error = JSON.stringify(asked.error)
      match(error, /nothing but hologram/, asked.raw)
      if (!combination.stream) {
        equal(asked.status, 502)
        equal(asked.headers.get('x-should-retry'), 'false')
      }
      equal(bench.calls.length, 1, 'not asked again')
      const id = asked.headers.get('x-request-id')
      const record = await waitUntil(async () => {
        const { body } = await bench.gateway.call('GET', '/v1/requests?limit=1')
        return body.data.find(({ x_request_id }: Loose) => x_request_id === id)
      })
      equal(record.tokens.output, 1120)
      ok(record.cost_usd > 0)
    })

    it(`warns of what it cannot read beside a text: $title`, async () => {
      play(geminiParts({ text: 'Listen: ' }, { inlineData: { mimeType: 'audio/L16', data: 'AAAA' } }))
      const asked = await bench.ask(combination)
      equal(asked.text, 'Listen: ', asked.raw)
      ok(
        asked.warnings.some((message) => message.includes('inlineData (audio/L16)')),
        asked.raw,
      )
    })

    it(`shows code that the provider ran, and its output, as text: $title`, async () => {
      const code = { language: 'PYTHON', code: 'print(6 * 7)' }
      const output = { outcome: 'OUTCOME_OK', output: '42\n' }
      play(geminiParts({ executableCode: code }, { codeExecutionResult: output }, { text: 'It is 42.' }))
      const asked = await bench.ask(combination)
      equal(asked.text, '\n```python\nprint(6 * 7)\n```\n\n```\n42\n```\nIt is 42.', asked.raw)
    })
  }

  it('leaves out images of thoughts, and keeps the URL of an image', async () => {
    const fileUri = 'https://files.test/cat.png'
    play(
      geminiParts(
        { inlineData: { mimeType: 'image/png', data: PNG }, thought: true },
        { fileData: { mimeType: 'image/png', fileUri } },
      ),
    )
    const chat = await bench.ask({ dialect: 'chat', format: 'gemini', stream: false })
    deepEqual(imagesOf('chat', chat), [fileUri])
    const messages = await bench.ask({ dialect: 'messages', format: 'gemini', stream: false })
    equal(messages.text, `![image](${fileUri})`)
    deepEqual(messages.warnings, [])
  })

  for (const { title, ...combination } of combinations(
    ['messages', 'responses', 'completions'],
    ['compatible'],
  ))
    it(`has what was said in audio as text, with a warning: ${title}`, async () => {
      play(chatMessage({ content: null, audio: { id: 'a', data: 'AAAA', transcript: 'Spoken.' } }))
      const asked = await bench.ask(combination)
      match(asked.text, /^Spoken\./)
      ok(
        asked.warnings.some((message) => message.includes('audio')),
        asked.raw,
      )
    })

  for (const { title, ...combination } of combinations(['chat', 'messages', 'responses'], ['responses']))
    it(`names items of OpenAI that it does not read: ${title}`, async () => {
      play(responseItem({ type: 'web_search_call', id: 'ws_1', status: 'completed' }))
      const asked = await bench.ask(combination)
      equal(asked.text, 'Hello.')
      ok(
        asked.warnings.some((message) => message.includes('web_search_call')),
        asked.raw,
      )
    })

  it('is described in the OpenAPI document', async () => {
    const { body } = await bench.gateway.call('GET', '/openapi.json')
    for (const name of ['ChatReply', 'ChatDelta'])
      equal(body.components.schemas[name].properties.images.items.$ref, '#/components/schemas/ChatReplyImage')
  })

  describe('sent back', () => {
    const targets = [
      'openai',
      'responses',
      'anthropic',
      'gemini',
      'mistral',
      'deepseek',
      'compatible',
    ] as const

    for (const { title, ...combination } of combinations(['chat', 'responses'], targets).filter(
      (each) => !each.stream,
    ))
      it(`is an image for the next model: ${title}`, async () => {
        bench.respond((call) => encodeReply(call, {}))
        bench.calls.length = 0
        const body =
          combination.dialect === 'chat'
            ? {
                messages: [
                  { role: 'user', content: 'Draw.' },
                  { role: 'assistant', content: 'Here.', images: [{ index: 0, ...image }] },
                  { role: 'user', content: 'Bigger.' },
                ],
              }
            : {
                input: [
                  { role: 'user', content: 'Draw.' },
                  { type: 'image_generation_call', id: 'ig_1', status: 'completed', result: PNG },
                  { role: 'user', content: 'Bigger.' },
                ],
              }
        const asked = await bench.ask(combination, { body })
        equal(asked.status, 200, asked.raw)
        deepEqual(asked.warnings, [])
        const sent = JSON.stringify(bench.calls[0]?.body)
        equal(sent.split(PNG).length, 2, sent)
        ok(sent.indexOf(PNG) < sent.indexOf('Bigger.'))
      })

    it('continues a stored response, and is replayed', async () => {
      play(IMAGES.gemini)
      const first = await bench.ask({ dialect: 'responses', format: 'gemini', stream: true })
      const { id, output } = first.records.at(-1).response
      const stored = await bench.gateway.call('GET', `/v1/responses/${id}`, undefined, {
        'x-response-form': 'openai',
      })
      deepEqual(stored.body.output, output)
      bench.respond((call) => encodeReply(call, {}))
      bench.calls.length = 0
      const asked = await bench.ask(
        { dialect: 'responses', format: 'openai', stream: false },
        { body: { previous_response_id: id, input: 'Bigger.' } },
      )
      equal(asked.status, 200, asked.raw)
      match(JSON.stringify(bench.calls[0]?.body), new RegExp(`image_url.*${PNG.slice(0, 8)}`))
    })
  })
})
