import { parse as parseJson } from '@hapi/bourne'
import { isJsonObject, type JsonObject } from '../../core/contract/index.ts'
import type { ImportedRating } from '../ledger/index.ts'
import { readLines } from './read-lines.ts'

/** Characters of a line. */
const MAX_LINE_CHARS = 1_000_000

/** Ratings that are stored at once. Extracting their features takes a few milliseconds. */
const BATCH = 200

/** Lines whose errors are told. */
const MAX_ERRORS = 100

export interface ImportServices {
  /** Returns the encoded features of a prompt. */
  readonly extract: (prompt: {
    readonly lastUserMessage: string
    readonly systemPrompt?: string
  }) => Uint8Array
  /** Returns 48 bits that are the same for the same parts, and from which nobody finds the parts. */
  readonly identify: (parts: readonly string[]) => number
  /** Returns the name of a model as the catalogue writes it; undefined if it does not have it. */
  readonly findModel: (name: string) => string | undefined
  readonly store: (ratings: readonly ImportedRating[]) => Promise<void>
  /** Called once at the end, also if the client disconnected before. */
  readonly report: (counts: { readonly ratings: number; readonly rejected: number }) => Promise<void>
}

export interface ImportResult {
  readonly imported: number
  readonly rejected: number
  readonly errors: readonly { readonly line: number; readonly message: string }[]
}

/**
 * Stores the ratings of a text in JSON lines as they arrive: `{prompt, model, score}`, and `system`. Lines
 * with errors are left out. What was stored before the client disconnected stays; the same lines again
 * change nothing.
 */
export async function importRatingLines(
  text: AsyncIterable<string>,
  { extract, identify, findModel, store, report }: ImportServices,
): Promise<ImportResult> {
  let [imported, rejected] = [0, 0]
  const errors: { line: number; message: string }[] = []
  let batch: ImportedRating[] = []
  const flush = async () => {
    if (batch.length > 0) await store(batch)
    imported += batch.length
    batch = []
  }
  try {
    for await (const { number, text: line } of readLines(text, MAX_LINE_CHARS)) {
      if (line?.trim() === '') continue
      const rating = line === undefined ? 'The line is longer than 1,000,000 characters.' : parseRating(line)
      const model = typeof rating === 'string' ? undefined : findModel(rating.model)
      if (typeof rating === 'string' || model === undefined) {
        rejected += 1
        const message =
          typeof rating === 'string' ? rating : `model is not in the catalogue: ${rating.model}.`
        if (errors.length < MAX_ERRORS) errors.push({ line: number, message })
        continue
      }
      const { prompt, system, score } = rating
      const features = extract({
        lastUserMessage: prompt,
        ...(system !== undefined && { systemPrompt: system }),
      })
      // See docs/decisions/feedback.md, "Imported prompts have ids of their own content".
      batch.push({
        id: -1 - identify([model, system ?? '', prompt]),
        model,
        score,
        features: Buffer.from(features).toString('base64'),
      })
      if (batch.length >= BATCH) await flush()
    }
    await flush()
  } finally {
    await report({ ratings: imported, rejected })
  }
  return { imported, rejected, errors }
}

interface RatingLine {
  readonly prompt: string
  readonly system: string | undefined
  readonly model: string
  readonly score: number
}

const FIELDS = ['prompt', 'model', 'score', 'system']

/** Returns the content of a line, or what is wrong with it, without its text. */
function parseRating(line: string): RatingLine | string {
  const value = parseObject(line)
  if (value === undefined) return 'The line is not a JSON object.'
  const { prompt, model, score, system } = value
  if (typeof prompt !== 'string' || prompt === '') return 'prompt must be a text that is not empty.'
  if (typeof model !== 'string' || model === '' || model.length > 200)
    return 'model must be a text of 1 to 200 characters.'
  const number = typeof score === 'boolean' ? Number(score) : score
  if (typeof number !== 'number' || !(number >= 0 && number <= 1))
    return 'score must be a number from 0 to 1, or true or false.'
  if (system !== undefined && typeof system !== 'string') return 'system must be a text.'
  if (Object.keys(value).some((name) => !FIELDS.includes(name)))
    return `Fields other than ${FIELDS.join(', ')} are not known.`
  return { prompt, model, score: Math.round(number * 1e6) / 1e6, system }
}

function parseObject(line: string): JsonObject | undefined {
  try {
    const value: unknown = parseJson(line)
    return isJsonObject(value) ? value : undefined
  } catch {
    return undefined
  }
}
