import {
  type EndedExchange,
  type Message,
  type RepliedExchange,
  type ReplyEvent,
  type ReplyPart,
  type ReplyTransform,
  slot,
} from '../../core/contract/index.ts'
import { isTextPart, textOfPart, toReplyRequest } from '../../core/inspection/reply-request.ts'
import type { MaskMessages, MasksOf } from '../firewall/index.ts'
import type { RecordedReply } from './store/record.ts'

type LeftOut = Extract<RecordedReply, { readonly message: Message }>['leftOut'][number]

/** Collects a reply as it is sent. */
class ReplyCollector implements ReplyTransform {
  readonly #exchange: EndedExchange
  readonly #maxChars: number
  /** Undefined if there is nothing to mask. */
  readonly #mask: MaskMessages | undefined
  readonly #leftOut = new Set<LeftOut>()
  /** Texts that follow each other are one part. */
  #parts: ReplyPart[] = []
  #chars = 0
  /** The reply after the masks. */
  #message: Message | undefined
  #isComplete = false

  constructor(exchange: EndedExchange, maxChars: number, mask: MaskMessages | undefined) {
    this.#exchange = exchange
    this.#maxChars = maxChars
    this.#mask = mask
  }

  transform(event: ReplyEvent): readonly ReplyEvent[] {
    for (const part of event.parts) this.#add(part)
    return [event]
  }

  async flush(): Promise<readonly ReplyEvent[]> {
    this.#isComplete = true
    if (this.#chars <= this.#maxChars && this.#mask !== undefined) {
      const masked = await this.#mask([this.#toMessage()]).catch(() => [])
      this.#message = masked[0]
    }
    return []
  }

  #add(part: ReplyPart): void {
    if (part.type === 'image') this.#leftOut.add('media')
    if (part.type === 'extra' || part.type === 'unread') this.#leftOut.add('provider_data')
    const isRecorded = isTextPart(part) || part.type === 'tool-start' || part.type === 'tool-json'
    if (!isRecorded || this.#chars > this.#maxChars) return
    this.#chars += textOfPart(part).length
    if (this.#chars > this.#maxChars) this.#parts = []
    else this.#append(part)
  }

  #append(part: ReplyPart): void {
    const last = this.#parts.at(-1)
    const at = this.#parts.length - 1
    if (isTextPart(part) && last?.type === part.type)
      this.#parts[at] = { ...part, text: last.text + part.text }
    else if (part.type === 'tool-json' && last?.type === part.type && last.index === part.index)
      this.#parts[at] = { ...part, json: last.json + part.json }
    else this.#parts.push(part)
  }

  #toMessage(): Message {
    const {
      messages: [message = { role: 'assistant' }],
    } = toReplyRequest(this.#parts)
    const { tool_calls, ...rest } = message
    return tool_calls?.length ? message : rest
  }

  /** Returns what was collected until now. Without the masks of the request, nothing is recorded. */
  toRecord(isRefused: boolean): RecordedReply {
    if (isRefused) return { omission: 'refused' }
    if (this.#chars > this.#maxChars) return { omission: 'too_long' }
    const message = this.#mask === undefined ? this.#toMessage() : this.#message
    if (message === undefined) return { omission: 'unmasked' }
    return {
      message,
      finishReason: this.#exchange.finishReason ?? null,
      isComplete: this.#isComplete,
      leftOut: [...this.#leftOut],
    }
  }
}

const collected = slot<ReplyCollector>('ledger.reply')

/** Returns the transform that collects a reply for its record. Vectors and the like are no text. */
export function collectReply(
  exchange: RepliedExchange,
  maxChars: number,
  masksOf: MasksOf | undefined,
): ReplyTransform | undefined {
  if ((exchange.operation ?? 'chat') !== 'chat') return undefined
  const collector = new ReplyCollector(exchange, maxChars, masksOf?.(exchange))
  collected.set(exchange, collector)
  return collector
}

/** Returns what is recorded of a reply; undefined if there was none, or if replies are not recorded. */
export function toRecordedReply(exchange: EndedExchange, isRefused: boolean): RecordedReply | undefined {
  return collected.of(exchange)?.toRecord(isRefused)
}
