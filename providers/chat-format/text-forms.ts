import type { JsonObject } from '../../core/contract/json.ts'
import type { RecordPattern } from '../../core/contract/native-records.ts'
import { isAsciiText } from '../../core/util/ascii.ts'
import { asObject } from '../shared/fields.ts'
import { endOfString } from '../shared/json-string.ts'
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
  readonly first: JsonObject
}

/** By what follows the head of the first chunk. */
const forms = new Map<string, TextForm>()

const MAX_FORMS = 100
const MAX_TEXT = 1000

/**
 * The beginning of a stream. Streams with equal first chunks have text chunks of the same form: what is known
 * of earlier streams saves parsing the first chunk and the first text. A text of another form is parsed.
 */
export class StreamStart {
  readonly #head: string
  readonly #id: string
  readonly #created: number
  readonly #key: string
  readonly #padding: string | undefined
  readonly #form: TextForm | undefined

  /** Returns undefined unless the first chunk begins, and ends, in the order of OpenAI's fields. */
  static read(source: string): StreamStart | undefined {
    const head = HEAD.exec(source)
    if (head === null) return undefined
    const end = source.lastIndexOf(PADDING)
    if (end === -1) return new StreamStart(head, source.slice(head[0].length))
    const start = end + PADDING.length
    const close = endOfString(source, start)
    const padding = source.slice(start, close)
    if (padding.includes('\\') || source.slice(close) !== '"}') return undefined
    return new StreamStart(head, source.slice(head[0].length, start), padding)
  }

  private constructor([head, id = '', created]: RegExpExecArray, key: string, padding?: string) {
    this.#head = head
    this.#id = id
    this.#created = Number(created)
    this.#key = key
    this.#padding = padding
    this.#form = forms.get(key)
  }

  /** The first chunk, if it is known. */
  get chunk(): JsonObject | undefined {
    return this.#form && this.#withOwnFields(this.#form.first, this.#padding)
  }

  /** The pattern that text chunks of this stream are expected to have. */
  get expected(): RecordPattern | undefined {
    if (this.#form === undefined) return undefined
    const { before, between, after, example } = this.#form
    return new TextPattern(this.#head + before, between, after, this.#withOwnFields(example))
  }

  #withOwnFields(chunk: JsonObject, obfuscation?: string): JsonObject {
    const own = { ...chunk, id: this.#id, created: this.#created }
    return obfuscation === undefined ? own : { ...own, obfuscation }
  }

  /** Remembers the first chunk, which has no part but the start, and the form of the text chunks. */
  remember(first: JsonObject, { before, between = '', after, example }: RecordPattern): void {
    if (example.service_tier !== first.service_tier || !before.startsWith(this.#head)) return
    if (!isPlain(first) || !isPlain(example)) return
    const texts = [this.#key, before.slice(this.#head.length), between, after]
    if (texts.some((text) => text.length > MAX_TEXT || HEAD_FIELDS.test(text) || !isAsciiText(text))) return
    const [key = '', ...own] = texts.map(copyText)
    const [oldest] = forms.size >= MAX_FORMS ? forms.keys() : []
    if (oldest !== undefined) forms.delete(oldest)
    forms.set(key, {
      before: own[0] ?? '',
      between: between === '' ? undefined : own[1],
      after: own[2] ?? '',
      first: withoutTexts(first),
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

/** A slice would keep the packet that it comes from. */
function copyText(text: string): string {
  return Buffer.from(text).toString('latin1')
}

/** Returns a chunk for all streams that have it. Only a content that is no empty text is left out. */
function withoutTexts(chunk: JsonObject): JsonObject {
  const [choice] = chunk.choices as readonly JsonObject[]
  const delta = { ...asObject(choice?.delta) }
  if (typeof delta.content === 'string') delta.content = ''
  const choices = Object.freeze([Object.freeze({ ...choice, delta: Object.freeze(delta) })])
  const { obfuscation } = chunk
  return { ...chunk, choices, ...(obfuscation !== undefined && { obfuscation: '' }) }
}
