import { type Loose, type Opened, readRecords } from '../client.ts'
import { must, mustEqual } from '../expect.ts'
import type { Telling } from './answer.ts'

/** A chat stream, assembled from its chunks. */
export interface ChatStream {
  readonly text: string
  readonly first: Loose
  readonly last: Loose
  readonly finishes: readonly string[]
  /** The error record at its end, if any. */
  readonly error: Loose
  /** Whether `[DONE]` ended it. */
  readonly done: boolean
  readonly records: number
}

/** Reads a stream to its end. Calls `pause` after every read from the network. */
export async function readChatStream(
  { bytes }: Pick<Opened, 'bytes'>,
  pause?: () => Promise<void>,
): Promise<ChatStream> {
  let [text, records, done] = ['', 0, false]
  let first: Loose
  let last: Loose
  let error: Loose
  const finishes: string[] = []
  const ids = new Set<string>()
  let isBroken = false
  try {
    for await (const { data } of readRecords(pause ? pausing(bytes, pause) : bytes)) {
      must(!done && error === undefined, () => `a record after the end: ${data}`)
      records++
      done = data === '[DONE]'
      if (done) continue
      const chunk = JSON.parse(data)
      error = chunk.error
      if (error !== undefined) continue
      const choice = chunk.choices?.[0]
      text += choice?.delta?.content ?? ''
      if (choice?.finish_reason) finishes.push(choice.finish_reason)
      first ??= chunk
      last = chunk
      ids.add(chunk.id)
    }
  } catch (thrown) {
    if (error === undefined) throw thrown
    isBroken = true
  }
  must(
    isBroken === (error !== undefined),
    () => 'the body ended as if it were complete behind an error record',
  )
  must(ids.size <= 1, () => `a stream with several ids: ${[...ids]}`)
  return { text, first, last, finishes, error, done, records }
}

/** Returns the metadata of a complete stream. */
export function completed(stream: ChatStream, requestId: string): Telling {
  const { text, first, last, finishes, error, done } = stream
  must(error === undefined, () => `${requestId} ended with ${JSON.stringify(error)}`)
  must(done, () => `${requestId} ended without a word after ${stream.records} records`)
  mustEqual(finishes.join(), 'stop', `the finish of ${requestId}`)
  mustEqual(first.provider, last.provider, `the provider of ${requestId}`)
  mustEqual(first.model, last.model, `the model of ${requestId}`)
  must(typeof last.latency_ms === 'number', () => `${requestId} has no latency on its last chunk`)
  return { text, ...extensions(last) }
}

/** Returns the extension fields of a completion or chunk. */
export function extensions({ model, provider, routing_mode, x_request_id, signalbox }: Loose) {
  return { model, provider, mode: routing_mode, requestId: x_request_id, signalbox }
}

async function* pausing(
  bytes: AsyncIterable<Uint8Array>,
  pause: () => Promise<void>,
): AsyncGenerator<Uint8Array> {
  for await (const piece of bytes) {
    yield piece
    await pause()
  }
}
