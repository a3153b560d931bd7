import type { JsonObject, ReplyEvent } from '../../contract/index.ts'
import type { NativeRecord, RecordPattern, TextRun } from '../../contract/native-records.ts'

/** Stands for a variable string in a chunk that serves as a template. */
const PLACEHOLDER = '\u0000'

/** The text of a chunk around its variable strings; undefined if chunks must be serialized again. */
type ChunkTemplate = readonly [head: string, middle: string, tail: string] | undefined

/**
 * Converts the text of a provider's chunk, with placeholders for its variable strings, to that of the
 * client's. `example` is a chunk of the same form.
 */
type ToText = (source: string, example: JsonObject) => string | undefined

const FIELD = 'data: '
const RECORD_END = '\n\n'

/**
 * Converts the text records of one stream, which is in the client's own format, by inserting their variable
 * strings into the template of their pattern.
 */
export class ChunkTemplates {
  readonly #toText: ToText
  #pattern: RecordPattern | undefined
  #template: ChunkTemplate
  /** What separates two records of a run. */
  #joint = ''

  constructor(toText: ToText) {
    this.#toText = toText
  }

  /** Returns the chunk of a record as JSON text; undefined if it must be serialized again. */
  fill({ source = '' }: NativeRecord, pattern: RecordPattern): string | undefined {
    if (this.#pattern !== pattern) this.#build(pattern)
    if (this.#template === undefined) return undefined
    const { before, between, after } = pattern
    const [head, middle, tail] = this.#template
    const end = source.length - after.length
    if (between === undefined) return head + source.slice(before.length, end) + tail
    // A quotation mark inside of a string is escaped, so the first match is the end of the text.
    const textEnd = source.indexOf(between, before.length)
    const text = source.slice(before.length, textEnd)
    return head + text + middle + source.slice(textEnd + between.length, end) + tail
  }

  /** Returns the SSE records of a run; undefined if they must be serialized again. */
  fillRun(run: TextRun<ReplyEvent>): string | undefined {
    const { pattern, source, bounds } = run
    if (this.#pattern !== pattern) this.#build(pattern)
    if (this.#template === undefined) return undefined
    const [head, middle, tail] = this.#template
    const pieces = [FIELD, head]
    // Joined once: a concatenation of that many pieces takes longer to become one string.
    const step = pattern.between === undefined ? 2 : 4
    for (let index = 0; index < bounds.length; index += step) {
      if (index > 0) pieces.push(this.#joint)
      const start = bounds[index]
      if (middle === pattern.between) pieces.push(source.slice(start, bounds[index + 3]))
      else {
        pieces.push(source.slice(start, bounds[index + 1]))
        if (step === 4) pieces.push(middle, source.slice(bounds[index + 2], bounds[index + 3]))
      }
    }
    pieces.push(tail, RECORD_END)
    return pieces.join('')
  }

  #build(pattern: RecordPattern): void {
    this.#pattern = pattern
    this.#template = buildTemplate(pattern, this.#toText)
    if (this.#template !== undefined) this.#joint = this.#template[2] + RECORD_END + FIELD + this.#template[0]
  }
}

function buildTemplate({ before, between, after, example }: RecordPattern, toText: ToText): ChunkTemplate {
  const texts = between === undefined ? [before, after] : [before, between, after]
  const parts = toText(texts.join(PLACEHOLDER), example)?.split(PLACEHOLDER)
  if (parts?.length !== texts.length) return undefined
  return [parts[0] ?? '', between === undefined ? '' : (parts[1] ?? ''), parts.at(-1) ?? '']
}

const EMPTY_USAGE = ',"usage":null'

/**
 * Replaces the id in the text of a provider's chunk, because serializing objects again is half the work of a
 * stream. Removes an empty usage that the client did not request. Returns undefined if the text does not have
 * the expected form, or if the chunk needs other changes. See docs/decisions/replies.md, "A chunk in the
 * client's own format is passed through as text".
 */
export function spliceChunk(
  source: string,
  record: JsonObject,
  id: string,
  wantsUsage: boolean,
): string | undefined {
  const head = `{"id":"${record.id}",`
  if (!source.startsWith(head) || source.includes('\n')) return undefined
  if (record.usage !== undefined && record.usage !== null) return undefined
  if (record.usage === undefined || wantsUsage) return `{"id":"${id}",${source.slice(head.length)}`
  // Quotation marks inside strings are escaped, so every match is a field. A single one is the chunk's own.
  const index = source.indexOf(EMPTY_USAGE)
  if (index === -1 || index !== source.lastIndexOf(EMPTY_USAGE)) return undefined
  return `{"id":"${id}",${source.slice(head.length, index)}${source.slice(index + EMPTY_USAGE.length)}`
}
