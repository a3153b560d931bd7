import { timeOfRequestId } from '../../../core/util/ids.ts'
import type { LedgerRecord } from './record.ts'

/** A prompt that comes again within this time after it was answered has been asked again. */
const REPEAT_MS = 60_000

/** Prompts that are remembered. Beyond it, the oldest are forgotten. */
const MAX_REMEMBERED = 20_000

interface Answered {
  readonly requestId: string
  readonly endedAt: number
}

/** Requests whose prompts came again. */
export interface Repeats {
  /** Of the records themselves. */
  readonly within: ReadonlySet<string>
  /** Of earlier ones. */
  readonly before: readonly string[]
}

/**
 * Finds answered requests whose prompts came again. See docs/decisions/feedback.md, "A repeated prompt is
 * found by a checksum in memory".
 */
export class RepeatWatch {
  /** By caller and prompt, in the order in which they were remembered. */
  #answered = new Map<string, Answered>()

  /** Finds the repeats of records that are about to be written; the same ones if it is called again. */
  find(records: readonly LedgerRecord[]): Repeats {
    const newest = new Map<string, Answered>()
    const own = new Set(records.map(({ requestId }) => requestId))
    const [within, before] = [new Set<string>(), new Set<string>()]
    for (const record of records) {
      const key = keyOf(record)
      if (key === undefined) continue
      const earlier = newest.get(key) ?? this.#answered.get(key)
      if (earlier !== undefined && isAskedAgain(earlier, record))
        (own.has(earlier.requestId) ? within : before).add(earlier.requestId)
      newest.set(key, toAnswered(record))
    }
    return { within, before: [...before] }
  }

  /** Remembers records that were written. */
  remember(records: readonly LedgerRecord[]): void {
    for (const record of records) {
      const key = keyOf(record)
      if (key === undefined) continue
      this.#answered.delete(key)
      this.#answered.set(key, toAnswered(record))
    }
    for (const [key] of this.#answered) {
      if (this.#answered.size <= MAX_REMEMBERED) return
      this.#answered.delete(key)
    }
  }
}

/** Undefined for a request without a prompt, or without an answer. */
function keyOf({ userId, keyId, promptChecksum, error }: LedgerRecord): string | undefined {
  return promptChecksum === undefined || error !== null ? undefined : `${userId} ${keyId} ${promptChecksum}`
}

function toAnswered({ requestId, latencyMs }: LedgerRecord): Answered {
  return { requestId, endedAt: (timeOfRequestId(requestId) ?? 0) + latencyMs }
}

/** Requests that are sent at the same time are not asked again. */
function isAskedAgain(earlier: Answered, { requestId }: LedgerRecord): boolean {
  const waited = (timeOfRequestId(requestId) ?? 0) - earlier.endedAt
  return earlier.requestId !== requestId && waited >= 0 && waited <= REPEAT_MS
}
