import type { ReplyPart } from '../../core/contract/chat.ts'
import type { JsonObject } from '../../core/contract/json.ts'
import type { RecordPattern } from '../../core/contract/native-records.ts'
import { asObject } from '../shared/fields.ts'
import { TextPattern } from '../shared/record-pattern.ts'

/** How chunks begin; the rest is the same for many streams of a model. */
const HEAD =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: JSON has none in strings
  /^\{"id":"([^"\\\u0000-\u001f]*)","object":"chat\.completion\.chunk","created":(0|[1-9]\d{0,14}),/
const PADDING = '"obfuscation":"'

/** The text chunks of streams without their heads. Holds nothing that a model or a user wrote. */
interface TextForm {
  readonly before: string
  readonly between: string | undefined
  readonly after: string
  readonly example: JsonObject
}

/** By what follows the head of the first chunk. */
const forms = new Map<string, TextForm>()

const MAX_FORMS = 100
const MAX_TEXT = 1000

/**
 * The beginning of a stream. Streams with equal first chunks have text chunks of the same form: what is known
 * of earlier streams saves parsing the first text of this one. A text that has another form is parsed.
 */
export class StreamStart {
  readonly #head: string
  readonly #id: string
  readonly #created: number
  readonly #key: string
  readonly #tier: unknown

  /** Returns undefined unless the first chunk is nothing but a start, in the order of OpenAI's fields. */
  static read(source: string, chunk: JsonObject, parts: readonly ReplyPart[]): StreamStart | undefined {
    if (parts.length !== 1 || parts[0]?.type !== 'start' || !isPlain(chunk)) return undefined
    const head = HEAD.exec(source)
    return head === null ? undefined : new StreamStart(source, head, chunk.service_tier)
  }

  private constructor(source: string, [head, id = '', created]: RegExpExecArray, tier: unknown) {
    this.#head = head
    this.#id = id
    this.#created = Number(created)
    const padding = source.lastIndexOf(PADDING)
    this.#key = source.slice(head.length, padding === -1 ? source.length : padding)
    this.#tier = tier
  }

  /** Returns the pattern that text chunks of this stream are expected to have. */
  get expected(): RecordPattern | undefined {
    const form = forms.get(this.#key)
    if (form === undefined) return undefined
    const { before, between, after, example } = form
    const own = { ...example, id: this.#id, created: this.#created }
    return new TextPattern(this.#head + before, between, after, own)
  }

  /** Remembers the form of the text chunks for later streams. */
  remember({ before, between = '', after, example }: RecordPattern): void {
    if (example.service_tier !== this.#tier || !before.startsWith(this.#head) || !isPlain(example)) return
    const texts = [this.#key, before.slice(this.#head.length), between, after]
    if (texts.some((text) => text.length > MAX_TEXT || HEAD_FIELDS.test(text) || !isAscii(text))) return
    const [key = '', ...own] = texts.map(copyText)
    const [oldest] = forms.size >= MAX_FORMS ? forms.keys() : []
    if (oldest !== undefined) forms.delete(oldest)
    forms.set(key, {
      before: own[0] ?? '',
      between: between === '' ? undefined : own[1],
      after: own[2] ?? '',
      example: withoutTexts(example),
    })
  }
}

/** Fields of the head that occur again: the last ones count. */
const HEAD_FIELDS = /"(?:id|created)"/

const CHUNK_FIELDS = new Set([
  'id',
  'object',
  'created',
  'model',
  'service_tier',
  'system_fingerprint',
  'choices',
  'usage',
  'obfuscation',
])
const CHOICE_FIELDS = new Set(['index', 'delta', 'logprobs', 'finish_reason'])
const DELTA_FIELDS = new Set(['role', 'content', 'refusal'])

/** True if a chunk has only these fields, and no text of a model or a user but its content. */
function isPlain(chunk: JsonObject): boolean {
  const { choices } = chunk
  if (!Array.isArray(choices) || choices.length !== 1) return false
  const choice = asObject(choices[0])
  const delta = asObject(choice.delta)
  return (
    chunk.usage == null &&
    choice.logprobs == null &&
    choice.finish_reason == null &&
    delta.refusal == null &&
    hasOnly(chunk, CHUNK_FIELDS) &&
    hasOnly(choice, CHOICE_FIELDS) &&
    hasOnly(delta, DELTA_FIELDS)
  )
}

function hasOnly(object: JsonObject, names: ReadonlySet<string>): boolean {
  for (const name in object) if (!names.has(name)) return false
  return true
}

function isAscii(text: string): boolean {
  return Buffer.byteLength(text) === text.length
}

/** A slice would keep the packet that it comes from. */
function copyText(text: string): string {
  return Buffer.from(text).toString('latin1')
}

function withoutTexts(chunk: JsonObject): JsonObject {
  const [choice] = chunk.choices as readonly JsonObject[]
  const { obfuscation } = chunk
  const choices = [{ ...choice, delta: { ...asObject(choice?.delta), content: '' } }]
  return { ...chunk, choices, ...(obfuscation !== undefined && { obfuscation: '' }) }
}
