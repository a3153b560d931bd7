import {
  type GatewayError,
  isJsonObject,
  type MaybePromise,
  ReplyEvent,
  type ReplyPart,
  type ReplyTransform,
  type ToolStart,
} from '../../core/contract/index.ts'
import { NATIVE } from '../../core/contract/native-records.ts'

/** A call of a tool in a reply, with its whole arguments or input. */
export interface CompleteCall {
  readonly start: ToolStart
  readonly json: string
}

/** What becomes of a call. */
export type CallVerdict = { readonly refusal: GatewayError } | { readonly json: string }

/** Decides about the calls of one reply. */
export interface CallDecider {
  /** Undefined if the arguments are needed. */
  byName(start: ToolStart): MaybePromise<'pass' | GatewayError | undefined>
  /** Decides about all that were held back, in order. */
  complete(calls: readonly CompleteCall[]): Promise<readonly CallVerdict[]>
  tooLong(start: ToolStart): GatewayError
  /** Records that a call is removed. */
  removed(start: ToolStart, refusal: GatewayError): void
}

/** Longer arguments are refused: until they are complete, they are held in memory. */
export const MAX_HELD_LENGTH = 1_000_000

/**
 * Creates the transform that applies tool rules to the calls of a reply, whole or streamed: a call is decided
 * at its name, or held back until its arguments are complete. All calls after one that is held are held, too,
 * because a call that is removed changes their numbers.
 */
export function ruleReplyCalls(decider: CallDecider, mode: 'refuse' | 'remove'): ReplyTransform {
  return new ReplyCalls(decider, mode)
}

class ReplyCalls implements ReplyTransform {
  readonly #decider: CallDecider
  readonly #mode: 'refuse' | 'remove'
  readonly #held = new Map<number, CompleteCall>()
  /** The numbers under which calls are sent, by their own. */
  readonly #sent = new Map<number, number>()
  /** Those that were held and decided about. What follows of them was not, and is dropped. */
  readonly #decided = new Set<number>()
  readonly #refusals: GatewayError[] = []
  #heldLength = 0
  #hasCalls = false
  #hasText = false
  #isFinished = false

  constructor(decider: CallDecider, mode: 'refuse' | 'remove') {
    this.#decider = decider
    this.#mode = mode
  }

  transform(event: ReplyEvent): MaybePromise<readonly ReplyEvent[]> {
    const { parts } = event
    for (const { type } of parts) {
      if (type === 'text' || type === 'refusal') this.#hasText = true
      else if (type === 'tool-start' || type === 'tool-json') this.#hasCalls = true
    }
    const ruled = hasUnreadCall(event) ? event.withParts(parts) : event
    // Most events: they keep the provider's own record.
    return this.#hasCalls ? this.#transformCalls(ruled) : [ruled]
  }

  async #transformCalls(event: ReplyEvent): Promise<readonly ReplyEvent[]> {
    const { parts } = event
    const sent: ReplyPart[] = []
    for (const part of parts) sent.push(...(await this.#transformPart(part)))
    if (sent.length === parts.length && sent.every((part, index) => part === parts[index])) return [event]
    return sent.length === 0 ? [] : [event.withParts(sent)]
  }

  async flush(): Promise<readonly ReplyEvent[]> {
    if (!this.#hasCalls || (this.#isFinished && this.#held.size === 0)) return []
    const parts = await this.#release()
    return parts.length === 0 ? [] : [new ReplyEvent(parts)]
  }

  async #transformPart(part: ReplyPart): Promise<readonly ReplyPart[]> {
    switch (part.type) {
      case 'tool-start':
        return this.#start(part)
      case 'tool-json':
        return this.#add(part)
      case 'finish': {
        const released = await this.#release()
        this.#isFinished = true
        const isWithout = part.reason === 'tool_calls' && this.#refusals.length > 0 && this.#sent.size === 0
        return [...released, isWithout ? { ...part, reason: 'stop' } : part]
      }
      default:
        return [part]
    }
  }

  async #start(start: ToolStart): Promise<readonly ReplyPart[]> {
    const decided = await this.#decider.byName(start)
    if (decided === undefined || (decided === 'pass' && this.#held.size > 0)) {
      this.#held.set(start.index, { start, json: '' })
      return []
    }
    if (decided === 'pass') return [this.#number(start)]
    this.#refuse(start, decided)
    return []
  }

  #add(part: Extract<ReplyPart, { readonly type: 'tool-json' }>): readonly ReplyPart[] {
    const held = this.#held.get(part.index)
    if (held === undefined) {
      const index = this.#sent.get(part.index)
      if (index === undefined || this.#decided.has(part.index)) return []
      return [index === part.index ? part : { ...part, index }]
    }
    this.#heldLength += part.json.length
    if (this.#heldLength > MAX_HELD_LENGTH) throw this.#decider.tooLong(held.start)
    this.#held.set(part.index, { start: held.start, json: held.json + part.json })
    return []
  }

  /** Returns the calls that were held, as far as they pass. */
  async #release(): Promise<readonly ReplyPart[]> {
    const calls = [...this.#held.values()]
    this.#held.clear()
    for (const { start } of calls) this.#decided.add(start.index)
    const verdicts = calls.length === 0 ? [] : await this.#decider.complete(calls)
    const parts: ReplyPart[] = []
    for (const [position, { start }] of calls.entries()) {
      const verdict = verdicts[position]
      if (verdict === undefined) throw new Error('A call was not decided about.')
      if ('refusal' in verdict) this.#refuse(start, verdict.refusal)
      else {
        const numbered = this.#number(start)
        parts.push(numbered)
        if (verdict.json !== '') parts.push({ type: 'tool-json', index: numbered.index, json: verdict.json })
      }
    }
    // An empty reply would tell neither the model nor its user why.
    const isEmpty = this.#refusals.length > 0 && this.#sent.size === 0 && !this.#hasText
    if (isEmpty) parts.push({ type: 'text', text: this.#refusals.map(({ message }) => message).join('\n') })
    return parts
  }

  #number(start: ToolStart): ToolStart {
    const index = this.#sent.size
    this.#sent.set(start.index, index)
    return index === start.index ? start : { ...start, index }
  }

  #refuse(start: ToolStart, refusal: GatewayError): void {
    if (this.#mode === 'refuse') throw refusal
    this.#refusals.push(refusal)
    this.#decider.removed(start, refusal)
  }
}

/** Whether the provider has sent a call in the form of 2023, which no part describes and clients may read. */
function hasUnreadCall(event: ReplyEvent): boolean {
  const native = event[NATIVE]
  if (native === undefined) return false
  const { choices } = (native.pattern ?? native.reply)?.example ?? native.record
  const choice: unknown = Array.isArray(choices) ? choices[0] : undefined
  if (!isJsonObject(choice)) return false
  const message = choice.message ?? choice.delta
  return isJsonObject(message) && message.function_call != null
}
