import {
  isJsonObject,
  type JsonObject,
  type MaybePromise,
  type RepliedExchange,
  type ReplyEvent,
  type ReplyPart,
  type Target,
} from '../../../core/contract/index.ts'
import { IS_ASCII, NATIVE, TEXT_RUN, type TextRun } from '../../../core/contract/native-records.ts'
import { ReasoningCollector } from '../../../core/dialects/carried-reasoning.ts'
import { isAnswerText, streamedReply, warnOfLostPart } from '../../../core/dialects/reply-parts.ts'
import { writeDecorated } from '../../../core/dialects/signalbox-fields.ts'
import { formatError } from '../../../core/http/errors.ts'
import { recordReplyError } from '../../../core/pipeline/read-reply.ts'
import { isAsciiText } from '../../../core/util/ascii.ts'
import { relatedId } from '../../../core/util/ids.ts'
import { parseJson } from '../../../core/util/json.ts'
import { toCompletionImage, toCompletionUsage, withCarriedReasoning } from './completion.ts'
import {
  ChunkTemplates,
  findUsage,
  isRegularChunk,
  spliceChunk,
  toCompletionToolCall,
  toRegularChunk,
  toRegularUsage,
} from './regular-chunks.ts'

/**
 * Streams chat-completion chunks as SSE. The first record carries the extension fields that are already
 * known, the last record carries all of them. Once the finish has arrived, one record is therefore held back
 * until it is certain whether another one follows. If the stream fails, it ends with an error record instead
 * of `[DONE]`. See docs/decisions/replies.md, "After the finish, a stream holds back one record".
 */
export function streamChatChunks(exchange: RepliedExchange): ChatChunks {
  return new ChatChunks(exchange)
}

type Batches = AsyncIterator<readonly ReplyEvent[]>
type Texts = IteratorResult<string, undefined>

const DONE: Texts = { done: true, value: undefined }

/** The records of a stream, a text per batch. Not a generator: that costs promises per batch. */
class ChatChunks implements AsyncIterableIterator<string> {
  [IS_ASCII] = false
  readonly #exchange: RepliedExchange
  readonly #source: Batches
  readonly #converter: ChunkConverter
  #isFirst = true
  #isFinished = false
  #held: Chunk | undefined
  #isEnded = false

  constructor(exchange: RepliedExchange) {
    this.#exchange = exchange
    this.#source = streamedReply(exchange)[Symbol.asyncIterator]()
    const frame = {
      id: relatedId('chatcmpl-', exchange.id),
      created: Math.floor(Date.now() / 1000),
      model: exchange.target?.model ?? '',
      target: exchange.target,
      onLost: (part: ReplyPart) => warnOfLostPart(exchange, part),
    }
    this.#converter = createChunkConverter(frame, exchange.request.stream_options?.include_usage === true)
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  next(): Promise<Texts> {
    return this.#isEnded ? Promise.resolve(DONE) : this.#source.next().then(this.#onResult, this.#onError)
  }

  async return(): Promise<Texts> {
    if (!this.#isEnded) {
      this.#isEnded = true
      await this.#source.return?.()
    }
    return DONE
  }

  readonly #onResult = (result: IteratorResult<readonly ReplyEvent[]>): MaybePromise<Texts> =>
    this.#toTexts(result) ?? this.#readOn()

  /** Reads until there is a record. */
  async #readOn(): Promise<Texts> {
    let texts: Texts | undefined
    while (texts === undefined) texts = await this.#source.next().then(this.#toTexts, this.#onError)
    return texts
  }

  /** Returns undefined if there is no record for these events. */
  readonly #toTexts = (result: IteratorResult<readonly ReplyEvent[]>): Texts | undefined => {
    try {
      if (!result.done) {
        const value = this.#write(result.value)
        return value === '' ? undefined : { done: false, value }
      }
      this.#isEnded = true
      this[IS_ASCII] = false
      return { done: false, value: this.#writeEnd() }
    } catch (error) {
      if (!result.done) this.#source.return?.().catch(() => undefined)
      return this.#onError(error)
    }
  }

  readonly #onError = (error: unknown): Texts => {
    this.#isEnded = true
    this[IS_ASCII] = false
    if (this.#exchange.client.isAborted) return DONE
    const heldRecord = this.#held ? toRecord(this.#held) : ''
    const errorRecord = toSseRecord(formatError(recordReplyError(this.#exchange, error), 'openai'))
    return { done: false, value: heldRecord + errorRecord }
  }

  #write(batch: readonly ReplyEvent[]): string {
    let text = ''
    /** What is not from a run. */
    let others = ''
    let hasRuns = false
    let isAscii = true
    for (const event of batch) {
      const run = event[TEXT_RUN]
      const isBetween = !this.#isFirst && !this.#isFinished
      const records = run && isBetween ? this.#converter.runToRecords(run) : undefined
      if (records !== undefined) {
        hasRuns = true
        isAscii &&= run !== undefined && this.#converter.isAscii(run)
        text += records
      } else
        for (const each of run?.split() ?? [event]) {
          const record = this.#writeEvent(each)
          others += record
          text += record
        }
    }
    this[IS_ASCII] = hasRuns && isAscii && isAsciiText(others)
    return text
  }

  #writeEvent(event: ReplyEvent): string {
    this.#isFinished ||= event.parts.some(({ type }) => type === 'finish')
    let text = ''
    if (!this.#isFirst && !this.#isFinished) {
      for (const chunk of this.#converter.toChunkTexts(event)) text += `data: ${chunk}\n\n`
      return text
    }
    for (const chunk of this.#converter.toChunks(event)) {
      if (this.#held !== undefined) text += toRecord(this.#held)
      const extension = this.#isFirst ? this.#exchange.decoration?.first() : undefined
      this.#isFirst = false
      if (this.#isFinished)
        this.#held = extension === undefined ? chunk : { record: { ...recordOf(chunk), ...extension } }
      else text += toRecord(chunk, extension)
    }
    return text
  }

  #writeEnd(): string {
    const usage = this.#converter.usageChunk()
    const secondLast = this.#held && usage ? toRecord(this.#held) : ''
    const last = usage ? { record: usage } : this.#held
    const lastRecord = last ? toRecord(last, this.#exchange.decoration?.last()) : ''
    return `${secondLast}${lastRecord}data: [DONE]\n\n`
  }
}

function toSseRecord(data: JsonObject): string {
  return `data: ${JSON.stringify(data)}\n\n`
}

/** A chunk for the client. */
interface Chunk {
  /** The chunk; the provider's with the same fields if there is a text. */
  readonly record: JsonObject
  /** The chunk as JSON text, if it is made of that of the provider. */
  readonly text?: string
}

function toRecord({ record, text }: Chunk, extension?: JsonObject): string {
  return `data: ${writeDecorated(record, extension, text)}\n\n`
}

function recordOf({ record, text }: Chunk): JsonObject {
  return text === undefined ? record : JSON.parse(text)
}

/** The fields that all chunks of a stream share. */
interface ChunkFrame {
  readonly id: string
  readonly created: number
  /** The model that was asked for, if the provider does not say which one answered. */
  readonly model: string
  /** The target that answers. */
  readonly target: Target | undefined
  /** Called for parts that chunks may not carry. */
  readonly onLost: (part: ReplyPart) => void
}

interface ChunkConverter {
  toChunks(event: ReplyEvent): readonly Chunk[]
  /** Returns the same chunks as JSON texts. Faster, and sufficient for most of a stream. */
  toChunkTexts(event: ReplyEvent): readonly string[]
  /** Returns the SSE records of a run of text chunks; undefined if they must be converted one by one. */
  runToRecords(run: TextRun<ReplyEvent>): string | undefined
  /** Whether the records of the latest run are ASCII; false is not certain. */
  isAscii(run: TextRun<ReplyEvent>): boolean
  /** Returns the usage chunk, which follows all other chunks; undefined if the client did not request it. */
  usageChunk(): JsonObject | undefined
}

/** Fields of a chunk without choices that tell a client nothing. */
const ENVELOPE = new Set([
  'id',
  'object',
  'created',
  'model',
  'choices',
  'usage',
  'system_fingerprint',
  'service_tier',
  'obfuscation',
])

/** True for a chunk without choices that has another content, such as the results of Azure's filters. */
function hasContent(record: JsonObject): boolean {
  return Object.keys(record).some((name) => !ENVELOPE.has(name))
}

/** True for a chunk that tells nothing but the usage. */
function isUsageOnly({ choices }: JsonObject, parts: readonly ReplyPart[]): boolean {
  return Array.isArray(choices) && choices.length === 0 && parts.length === 1 && parts[0]?.type === 'usage'
}

/** Stands for the variable text in a chunk that serves as a template. */
const PLACEHOLDER = '\u0000'

function splitAtPlaceholder(text: string, placeholder: string): readonly [string, string] {
  const [before = '', after = ''] = text.split(placeholder)
  return [before, after]
}

/**
 * Creates a converter from provider events to chunks, for one stream. Providers report the usage in a
 * separate chunk, in the last one, or in several; the client receives the latest value, once. See
 * docs/decisions/replies.md, "Usage is sent once, at the very end".
 */
function createChunkConverter(frame: ChunkFrame, wantsUsage: boolean): ChunkConverter {
  let model = ''
  let { created } = frame
  let usageChunk: JsonObject | undefined
  const customCalls = new Set<number>()
  let imageCount = 0
  const collector = new ReasoningCollector(frame.target)

  function buildChunk(delta: JsonObject, finishReason: string | null = null): JsonObject {
    return {
      id: frame.id,
      object: 'chat.completion.chunk',
      created,
      model,
      choices: [{ index: 0, delta, logprobs: null, finish_reason: finishReason }],
      ...(wantsUsage && { usage: null }),
    }
  }

  function partToChunk(part: ReplyPart): JsonObject | undefined {
    switch (part.type) {
      case 'start':
        model = part.model || frame.model
        return buildChunk({ role: 'assistant', content: '' })
      case 'text':
        return buildChunk({ content: part.text })
      case 'reasoning':
        collector.add(part)
        return buildChunk({ reasoning_content: part.text })
      case 'refusal':
        return buildChunk({ refusal: part.text })
      case 'image':
        return buildChunk({ images: [toCompletionImage(part.url, imageCount++)] })
      case 'tool-start':
        if (part.custom) customCalls.add(part.index)
        return buildChunk({
          tool_calls: [{ index: part.index, ...toCompletionToolCall(withCarriedReasoning(part, collector)) }],
        })
      case 'tool-json': {
        const { index, json } = part
        const delta = customCalls.has(index) ? { custom: { input: json } } : { function: { arguments: json } }
        return buildChunk({ tool_calls: [{ index, ...delta }] })
      }
      case 'finish':
        return buildChunk({}, part.reason)
      case 'usage':
        usageChunk = { ...buildChunk({}), choices: [], usage: toCompletionUsage(part.usage) }
        return undefined
      case 'extra':
        collector.add(part)
        frame.onLost(part)
        return undefined
      case 'unread':
        frame.onLost(part)
        return undefined
      case 'embedding':
      case 'moderation':
        return undefined
      default:
        part satisfies never
        return undefined
    }
  }

  /**
   * Converts a provider's chunk of the same format: sets this stream's id, corrects what is irregular, and
   * moves the usage to the usage chunk. Returns undefined if the chunk held nothing else.
   */
  function nativeToChunk(record: JsonObject, parts: readonly ReplyPart[]): JsonObject | undefined {
    if (!wantsUsage && isUsageOnly(record, parts)) return undefined
    const fields = { created, model: model || frame.model }
    const regular = isRegularChunk(record, parts)
      ? record
      : toRegularChunk(record, parts, fields, customCalls)
    // Chunks that a plugin changes later are built from these fields.
    model = String(regular.model)
    created = Number(regular.created)
    const hasChoice = Array.isArray(regular.choices) && regular.choices.length > 0
    const counted = findUsage(parts)
    if (regular.usage === undefined && counted === undefined)
      return hasChoice || hasContent(regular) ? { ...regular, id: frame.id } : undefined
    const { usage, ...rest } = regular
    const chunk = { ...rest, id: frame.id, ...(wantsUsage && { usage: null }) }
    if (wantsUsage && counted !== undefined)
      usageChunk = {
        ...chunk,
        choices: [],
        usage: toRegularUsage(usage, toCompletionUsage(counted), counted),
      }
    return hasChoice || (counted === undefined && hasContent(regular)) ? chunk : undefined
  }

  /** Returns the text of a provider's chunk if nothing but its id differs. */
  function spliceEvent({ [NATIVE]: native, parts }: ReplyEvent): string | undefined {
    return native?.source ? splice(native.source, native.record, parts) : undefined
  }

  function buildChunks({ [NATIVE]: native, parts }: ReplyEvent): readonly Chunk[] {
    const records = native ? [nativeToChunk(native.record, parts)] : parts.map(partToChunk)
    return records.flatMap((record) => (record === undefined ? [] : { record }))
  }

  function toChunks(event: ReplyEvent): readonly Chunk[] {
    const text = spliceEvent(event)
    const record = event[NATIVE]?.record
    if (text === undefined || record === undefined) return buildChunks(event)
    model = String(record.model)
    created = Number(record.created)
    return [{ record, text }]
  }

  /** Template of a text chunk, which is the same for the whole stream. */
  let textTemplate: readonly [string, string] | undefined

  function toTextChunk(text: string): string {
    textTemplate ??= splitAtPlaceholder(
      JSON.stringify(buildChunk({ content: PLACEHOLDER })),
      JSON.stringify(PLACEHOLDER),
    )
    return textTemplate[0] + JSON.stringify(text) + textTemplate[1]
  }

  function splice(source: string, record: JsonObject, parts: readonly ReplyPart[]): string | undefined {
    // Usage that is elsewhere in the record must be moved.
    if (findUsage(parts) !== undefined) return undefined
    return isRegularChunk(record, parts) ? spliceChunk(source, record, frame.id, wantsUsage) : undefined
  }

  const templates = new ChunkTemplates((source, example) => {
    const spliced = splice(source, example, [])
    // A placeholder is not valid in JSON, but its escape is.
    const record = spliced === undefined ? parseJson(source.replaceAll(PLACEHOLDER, '\\u0000')) : undefined
    const chunk = isJsonObject(record) ? nativeToChunk(record, []) : undefined
    return spliced ?? (chunk && JSON.stringify(chunk).replaceAll('\\u0000', PLACEHOLDER))
  })

  return {
    toChunks,
    toChunkTexts(event) {
      const native = event[NATIVE]
      if (native === undefined) {
        if (event.parts.every(isAnswerText)) return event.parts.map(({ text }) => toTextChunk(text))
      } else if (native.pattern !== undefined) {
        const text = templates.fill(native, native.pattern)
        if (text !== undefined) return [text]
      }
      const spliced = spliceEvent(event)
      return spliced ? [spliced] : buildChunks(event).map(({ record }) => JSON.stringify(record))
    },
    runToRecords: (run) => templates.fillRun(run),
    isAscii: (run) => templates.isAscii(run),
    usageChunk: () => (wantsUsage ? usageChunk : undefined),
  }
}
