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
    provider.play({ chunks: CHUNKS })
    gateway = await startGateway(withProvider(provider))
    key = (await newUser(gateway)).key
  })
  after(async () => {
    await gateway?.stop()
    provider?.close()
  })

  async function readChunks(more: object) {
    const response = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(chatBody('Which track?', { model: 'gpt-4o', stream: true, ...more })),
    })
    return readRecords(await response.text())
  }

  for (const include_usage of [false, true]) {
    it(`keeps every field but the id${include_usage ? '' : ' and the usage, which was not asked for'}`, async () => {
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
    })
  }
})
