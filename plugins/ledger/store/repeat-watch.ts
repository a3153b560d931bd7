import { FIGURES, type RecordBatch } from './record-batch.ts'
import { timeOfRecordId } from './record-id.ts'

/** A prompt that comes again within this time after it was answered has been asked again. */
const REPEAT_MS = 60_000

/** Prompts that are remembered. Beyond it, the oldest are forgotten. */
const MAX_REMEMBERED = 20_000

/** Places for prompts. More than are remembered, so that a batch can be forgotten again. */
const PLACES = 32_768

/** Callers above which all are numbered anew. */
const MAX_CALLERS = 20_000

const NONE = -1

/** Requests whose prompts came again. */
export interface Repeats {
  /** Of the batch itself. */
  readonly within: ReadonlySet<string>
  /** Of earlier ones. */
  readonly before: readonly string[]
}

/**
 * Finds answered requests whose prompts came again. Remembers prompts in arrays of numbers, which cost the
 * garbage collector nothing. See docs/decisions/feedback.md, "A repeated prompt is found by a checksum in
 * memory".
 */
export class RepeatWatch {
  /** Prompts so far. Each is at the place of its number. */
  #count = 0
  /** Those of the latest batch. */
  #added = 0
  readonly #callers = new Float64Array(PLACES)
  readonly #checksums = new Float64Array(PLACES)
  readonly #endedAt = new Float64Array(PLACES)
  readonly #requestIds: string[] = new Array(PLACES).fill('')
  /** By hash, the number of the latest prompt, and by place, that of the one before with the same hash. */
  readonly #latest = new Float64Array(PLACES).fill(NONE)
  readonly #before = new Float64Array(PLACES)
  #callerNumbers = new Map<string, number>()
  #lastCaller = 0

  /**
   * Remembers the prompts of a batch that is about to be written, and finds those that came again. `ids`
   * encode the times of its requests.
   */
  add(batch: RecordBatch, ids: Float64Array): Repeats {
    const [within, before] = [new Set<string>(), new Set<string>()]
    const first = this.#count
    const callers = this.#numberCallers(batch)
    for (let index = 0; index < batch.count; index++) {
      const caller = callers[batch.sharedNumber(index)] ?? NONE
      const checksum = batch.figure(index, FIGURES.promptChecksum)
      if (caller === NONE || checksum === null) continue
      const requestId = batch.requestIds[index] ?? ''
      const time = timeOfRecordId(ids[index] ?? 0)
      const hash = hashOf(caller, checksum)
      const earlier = this.#find(hash, caller, checksum)
      if (earlier !== NONE && this.#isAskedAgain(earlier % PLACES, requestId, time))
        (earlier >= first ? within : before).add(this.#requestIds[earlier % PLACES] ?? '')
      const place = this.#count % PLACES
      this.#callers[place] = caller
      this.#checksums[place] = checksum
      this.#endedAt[place] = time + (batch.figure(index, FIGURES.latencyMs) ?? 0)
      this.#requestIds[place] = requestId
      this.#before[place] = this.#latest[hash] ?? NONE
      this.#latest[hash] = this.#count
      this.#count += 1
    }
    this.#added = this.#count - first
    return { within, before: [...before] }
  }

  /** Forgets the batch that was added last, which was not written. */
  undo(): void {
    for (; this.#added > 0; this.#added--) {
      this.#count -= 1
      const place = this.#count % PLACES
      const hash = hashOf(this.#callers[place] ?? 0, this.#checksums[place] ?? 0)
      this.#latest[hash] = this.#before[place] ?? NONE
    }
  }

  /** By number of the shared fields; `NONE` for requests without an answer. */
  #numberCallers({ shared }: RecordBatch): readonly number[] {
    if (this.#callerNumbers.size > MAX_CALLERS) this.#callerNumbers = new Map()
    return shared.map(({ userId, keyId, error }) => {
      if (error !== null) return NONE
      const name = `${userId} ${keyId}`
      const number = this.#callerNumbers.get(name) ?? ++this.#lastCaller
      this.#callerNumbers.set(name, number)
      return number
    })
  }

  /** Returns the number of the latest prompt of a caller with this checksum. */
  #find(hash: number, caller: number, checksum: number): number {
    let number = this.#latest[hash] ?? NONE
    while (number > NONE && this.#count - number <= MAX_REMEMBERED) {
      const place = number % PLACES
      if (this.#checksums[place] === checksum && this.#callers[place] === caller) return number
      number = this.#before[place] ?? NONE
    }
    return NONE
  }

  /** Requests that are sent at the same time are not asked again. */
  #isAskedAgain(place: number, requestId: string, time: number): boolean {
    const waited = time - (this.#endedAt[place] ?? 0)
    return this.#requestIds[place] !== requestId && waited >= 0 && waited <= REPEAT_MS
  }
}

/** Both halves of the 53 bits of a checksum, and the caller. */
function hashOf(caller: number, checksum: number): number {
  const mixed =
    (checksum / 2 ** 21) ^ Math.imul(checksum % 2 ** 21, 0x9e3779b1) ^ Math.imul(caller, 0x85ebca6b)
  return (mixed ^ (mixed >>> 15)) & (PLACES - 1)
}
