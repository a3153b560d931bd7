import type { Reply, ReplyEvent, ReplyPart, Target, ToolStart } from '../../core/contract/index.ts'
import { TEXT_RUN } from '../../core/contract/native-records.ts'
import { ReasoningCollector } from '../../core/dialects/carried-reasoning.ts'
import type { MaybePromise } from '../../core/util/maybe-promise.ts'
import type { RememberedTurn } from './remembered.ts'

/** The reasoning of a reply, and the call that identifies its message. */
export interface WatchedTurn extends RememberedTurn {
  readonly call: ToolStart
}

/**
 * Passes a reply on, and calls `save` with its reasoning before its last events if it has tool calls. Text
 * that is not parsed stays so.
 */
export function watchReply(
  reply: Reply,
  target: Target | undefined,
  save: (turn: WatchedTurn) => Promise<void>,
): MaybePromise<Reply> {
  const watcher = new ReplyWatcher(target)
  if (reply.type === 'stream') return { type: 'stream', batches: new WatchedBatches(reply, watcher, save) }
  watcher.add(reply.event)
  const turn = watcher.take()
  return turn === undefined ? reply : save(turn).then(() => reply)
}

/** Longer reasoning is not remembered, in characters. */
const MAX_TEXT = 200_000

class ReplyWatcher {
  readonly #collector: ReasoningCollector
  readonly #calls: ToolStart[] = []
  readonly #data: RememberedTurn['data'][number][] = []
  #text = ''
  #isTooLong = false
  /** The model has finished, so that the reply is remembered before its client can continue it. */
  isFinished = false

  constructor(target: Target | undefined) {
    this.#collector = new ReasoningCollector(target)
  }

  add(event: ReplyEvent): void {
    if (event[TEXT_RUN] !== undefined) return
    for (const part of event.parts) this.#addPart(part)
  }

  #addPart(part: ReplyPart): void {
    switch (part.type) {
      case 'reasoning':
        this.#isTooLong ||= this.#text.length + part.text.length > MAX_TEXT
        if (this.#isTooLong) return
        // Reasoning after a call is that of no call.
        if (this.#calls.length === 0) this.#text += part.text
        this.#collector.add(part)
        return
      case 'extra':
        this.#collector.add(part)
        return
      case 'tool-start':
        this.#collector.add(part)
        this.#calls.push(part)
        this.#data.push(this.#collector.take())
        return
      case 'finish':
        this.isFinished = true
    }
  }

  /** Returns the turn; undefined if it has no calls. Once, and then undefined. */
  take(): WatchedTurn | undefined {
    const [call] = this.#calls.splice(0)
    if (call === undefined || this.#isTooLong) return undefined
    // Signed or encrypted reasoning replaces its text.
    const isReplaced = this.#data.some((data) => data.some(({ chat }) => chat === undefined))
    return { call, callId: call.id, text: isReplaced ? '' : this.#text, data: this.#data }
  }
}

/** Not a generator, which costs a promise more per batch. */
class WatchedBatches implements AsyncIterable<readonly ReplyEvent[]>, AsyncIterator<readonly ReplyEvent[]> {
  readonly #source: AsyncIterator<readonly ReplyEvent[]>
  readonly #watcher: ReplyWatcher
  readonly #save: (turn: WatchedTurn) => Promise<void>

  constructor(
    { batches }: Extract<Reply, { type: 'stream' }>,
    watcher: ReplyWatcher,
    save: (turn: WatchedTurn) => Promise<void>,
  ) {
    this.#source = batches[Symbol.asyncIterator]()
    this.#watcher = watcher
    this.#save = save
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  next(): Promise<IteratorResult<readonly ReplyEvent[]>> {
    return this.#source.next().then(this.#onResult)
  }

  async return(): Promise<IteratorResult<readonly ReplyEvent[]>> {
    await this.#source.return?.()
    return { done: true, value: undefined }
  }

  readonly #onResult = (
    result: IteratorResult<readonly ReplyEvent[]>,
  ): MaybePromise<IteratorResult<readonly ReplyEvent[]>> => {
    if (!result.done) for (const event of result.value) this.#watcher.add(event)
    const turn = result.done || this.#watcher.isFinished ? this.#watcher.take() : undefined
    return turn === undefined ? result : this.#save(turn).then(() => result)
  }
}
