import { expect } from 'chai'
import { chatBody } from '../support/bodies.ts'
import { withProvider } from '../support/chat-storm.ts'
import { readRecords } from '../support/dialects.ts'
import { type RunningGateway, startGateway } from '../support/gateway.ts'
import { newUser } from '../support/new-user.ts'
import { type ScriptedProvider, startScriptedProvider } from '../support/scripted-provider.ts'

const TEXTS = ['Track', ' nine', ' "quoted"', ' \\"},"usage":null', '\n', '', ' 漢 😀', '.']

/** Chunks as OpenAI sends them, with an empty usage and padding. */
const frame = {
  id: 'chatcmpl-upstream',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'gpt-4o-2024-08-06',
}
const toChunk = (delta: object, finish_reason: string | null = null, padding = 'ab') => ({
  ...frame,
  choices: [{ index: 0, delta, logprobs: null, finish_reason }],
  usage: null,
  obfuscation: padding,
})
const USAGE = { prompt_tokens: 3, completion_tokens: 8, total_tokens: 11 }
const CHUNKS = [
  toChunk({ role: 'assistant', content: '' }),
  ...TEXTS.map((content, index) => toChunk({ content }, null, 'x'.repeat(index))),
  toChunk({}, 'stop'),
  { ...frame, choices: [], usage: USAGE },
]

describe('chunks that a provider sends in the format of the client', () => {
  let provider: ScriptedProvider
  let gateway: RunningGateway
  let key: string
  before(async () => {
    provider = await startScriptedProvider()
    gateway = await startGateway(withProvider(provider))
    key = (await newUser(gateway)).key
  })
  after(async () => {
    await gateway?.stop()
    provider?.close()
  })

  async function read(path: string, body: object) {
    const response = await fetch(gateway.url + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ ...body, model: 'gpt-4o', stream: true }),
    })
    return readRecords(await response.text())
  }

  const readChunks = (more: object) => read('/v1/chat/completions', chatBody('Which track?', more))

  const arrivals = { 'in one packet': 0, 'one by one': 2 }
  for (const [arrival, delayMs] of Object.entries(arrivals)) {
    for (const include_usage of [false, true]) {
      const kept = include_usage ? 'the id' : 'the id and the usage, which was not asked for'
      it(`keeps every field but ${kept}, ${arrival}`, async () => {
        provider.play({ chunks: CHUNKS, delayMs })
        await expectSameFields(include_usage)
      })
    }
  }

  it('are one record each in other forms', async () => {
    provider.play({ chunks: CHUNKS })
    const sent = TEXTS.filter((text) => text !== '')
    const completions = await read('/v1/completions', { prompt: 'Which track?' })
    const texts = completions.flatMap(({ choices }) => choices?.[0]?.text || [])
    expect(texts).to.deep.equal(sent)
    const messages = await read('/v1/messages', { ...chatBody('Which track?'), max_tokens: 9 })
    const deltas = messages.flatMap(({ delta }) => delta?.text || [])
    expect(deltas).to.deep.equal(sent)
  })

  async function expectSameFields(include_usage: boolean): Promise<void> {
    const records = await readChunks({ stream_options: { include_usage } })
    const [first] = records
    expect(first.id).to.match(/^chatcmpl-\w{24}$/)
    const expected = CHUNKS.slice(1, -2).map(({ usage, ...rest }) => ({
      ...rest,
      id: first.id,
      ...(include_usage && { usage }),
    }))
    expect(records.slice(1, 1 + expected.length)).to.deep.equal(expected)
    const usages = records.map(({ usage }) => usage).filter((usage) => usage)
    expect(usages).to.deep.equal(include_usage ? [USAGE] : [])
  }
})
