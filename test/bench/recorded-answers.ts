import { startSandbox } from '../../providers/sandbox/server.ts'
import { PROVIDERS, type ProviderName } from './providers.ts'

/** The responses of one provider, as bytes to be sent unchanged. */
export interface Answers {
  readonly whole: Buffer
  /** Head and chunks of a stream, including the terminating chunk. */
  readonly stream: readonly Buffer[]
}

/** The number of records of each stream. */
export const STREAM_RECORDS = 100

type WriteBody = (text: string, stream: boolean) => object

const chat: WriteBody = (content, stream) => ({ messages: [{ role: 'user', content }], stream })
const withUsage: WriteBody = (text, stream) => ({
  ...chat(text, stream),
  ...(stream && { stream_options: { include_usage: true } }),
})

/** The request body of each provider. */
const BODIES: Readonly<Record<ProviderName, WriteBody>> = {
  openai: withUsage,
  anthropic: (text, stream) => ({ ...chat(text, stream), max_tokens: 1000 }),
  gemini: (text) => ({ contents: [{ role: 'user', parts: [{ text }] }] }),
  mistral: chat,
  deepseek: (text, stream) => ({ ...withUsage(text, stream), thinking: { type: 'disabled' } }),
}

/**
 * Records the responses of the sandbox, whole and streamed, for each provider: it already implements their
 * formats.
 */
export async function recordAnswers(): Promise<ReadonlyMap<string, Answers>> {
  const sandbox = await startSandbox()
  try {
    const providers = PROVIDERS.map(async ({ name, model, wholePath, streamPath }) => {
      const ask = async (path: string, text: string, streams: boolean) => {
        const body = BODIES[name](text, streams)
        return post(sandbox.url + path, path.startsWith('/gemini') ? body : { model, ...body })
      }
      const whole = await ask(wholePath, 'Hello there', false)
      return [
        name,
        { whole: wholeOf(whole), stream: await streamOf((text) => ask(streamPath, text, true)) },
      ] as const
    })
    return new Map(await Promise.all(providers))
  } finally {
    await sandbox.close()
  }
}

async function post(url: string, body: object): Promise<string> {
  const headers = {
    'content-type': 'application/json',
    authorization: 'Bearer x',
    'x-api-key': 'x',
    'x-goog-api-key': 'x',
    'anthropic-version': '2023-06-01',
  }
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })
  const answer = await response.text()
  if (!response.ok) throw new Error(`The sandbox answered ${url} with ${answer}`)
  return answer
}

function wholeOf(json: string): Buffer {
  const length = Buffer.byteLength(json)
  return Buffer.from(
    `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${length}\r\n\r\n${json}`,
  )
}

/** The sandbox repeats the prompt, one word per record, so the number of words sets that of records. */
async function streamOf(ask: (text: string) => Promise<string>): Promise<readonly Buffer[]> {
  for (let words = 60; words < STREAM_RECORDS; words++) {
    const records = (await ask(Array(words).fill('word').join(' '))).match(/.+?\r?\n\r?\n/gs) ?? []
    if (records.length !== STREAM_RECORDS) continue
    return [
      Buffer.from('HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n'),
      ...records.map((record) => Buffer.from(`${Buffer.byteLength(record).toString(16)}\r\n${record}\r\n`)),
      Buffer.from('0\r\n\r\n'),
    ]
  }
  throw new Error(`The sandbox cannot be made to stream ${STREAM_RECORDS} records.`)
}
