import { type EndpointResponse, GatewayError } from '../../core/contract/index.ts'
import { showSimulatedError } from '../audit/index.ts'
import type { WhatIfProgress } from './job.ts'

/** In place of the message of an error that is not meant for callers, which is logged. */
const FAILED = 'The gateway failed to evaluate the drafts. The reason is in its log.'

/**
 * Streams the progress of an evaluation, and then its result. Issues of the file, and a ledger that is away,
 * are ordinary errors: the stream begins with a record. `onFailure` gets errors that callers may not see.
 */
export async function streamProgress(
  run: (onProgress: (progress: WhatIfProgress) => void) => Promise<object>,
  onFailure: (error: unknown) => void,
): Promise<EndpointResponse> {
  const records = new RecordQueue()
  const ended = run((progress) => records.push('progress', progress)).then((result) =>
    records.push('result', result),
  )
  // A stream whose client has left is not read.
  ended.catch(() => undefined)
  await Promise.race([ended, records.first])
  return { status: 200, stream: records.readUntil(ended, onFailure) }
}

/** SSE records that are written as they come. */
class RecordQueue {
  #records: string[] = []
  #notify: () => void = () => undefined
  /** Resolves with the first record. */
  readonly first = new Promise<void>((resolve) => {
    this.#notify = resolve
  })

  push(event: string, content: object): void {
    this.#records.push(`event: ${event}\ndata: ${JSON.stringify(content)}\n\n`)
    this.#notify()
  }

  async *readUntil(ended: Promise<void>, onFailure: (error: unknown) => void): AsyncGenerator<string> {
    let isOver = false
    const end = ended
      .catch((error: unknown) => {
        if (!GatewayError.isInstance(error)) onFailure(error)
        this.push('error', { error: { message: FAILED, ...showSimulatedError(error) } })
      })
      .finally(() => {
        isOver = true
      })
    while (true) {
      if (this.#records.length > 0) yield this.#records.splice(0).join('')
      else if (isOver) return
      else
        await Promise.race([
          end,
          new Promise<void>((resolve) => {
            this.#notify = resolve
          }),
        ])
    }
  }
}
