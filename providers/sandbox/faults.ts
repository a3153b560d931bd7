import { Refusal } from './format.ts'

/** How one answer goes wrong. Times in milliseconds; `…After` counts the stream records that still come. */
export interface Fault {
  /** Answer with this error status. */
  readonly status: number | undefined
  /** The error's code. */
  readonly code: string | undefined
  /** The `retry-after` header, in seconds. */
  readonly retryAfter: number | undefined
  readonly firstByteDelay: number
  readonly tokenDelay: number
  readonly hasComments: boolean
  readonly hasCrlf: boolean
  readonly isMalformed: boolean
  /** The model does not want to answer. */
  readonly refuses: boolean
  readonly hangs: boolean
  readonly cutAfter: number | undefined
  readonly endAfter: number | undefined
  readonly errorAfter: number | undefined
  /** How many requests it applies to. */
  readonly times: number
  /** The only model it applies to. */
  readonly model: string | undefined
}

/** A fault that a message asks for, and the text that asks. */
export interface Marker {
  readonly text: string
  readonly fault: Fault
}

const MARKER = /\[\[sandbox:([^\]]{0,500})\]\]/g
const WORDS = [
  'status',
  'code',
  'retry-after',
  'first-byte',
  'token-delay',
  'comments',
  'crlf',
  'malformed',
  'refuse',
  'hang',
  'cut',
  'eof',
  'error-first',
  'error-mid',
  'times',
  'model',
]
const LONGEST_DELAY = 600_000
const DEFAULT_RECORDS = 2

/** Every `[[sandbox:…]]` in a text. Throws a `Refusal` (400) for one that makes no sense. */
export function readMarkers(text: string): readonly Marker[] {
  return Array.from(text.matchAll(MARKER), ([marker, words = '']) => ({
    text: marker,
    fault: readFault(words),
  }))
}

/** The text as the user meant it. */
export function withoutMarkers(text: string): string {
  return text.replace(MARKER, '').trim()
}

type Words = ReadonlyMap<string, string>

/** Reads what a marker holds, such as `status=429 retry-after=2`. Throws a `Refusal` when it makes no sense. */
export function readFault(text: string): Fault {
  const words = readWords(text)
  return {
    status: readNumber(words, 'status', 400, 599),
    code: words.get('code'),
    retryAfter: readNumber(words, 'retry-after', 0, 86_400),
    firstByteDelay: readNumber(words, 'first-byte', 0, LONGEST_DELAY) ?? 0,
    tokenDelay: readNumber(words, 'token-delay', 0, LONGEST_DELAY) ?? 0,
    hasComments: words.has('comments'),
    hasCrlf: words.has('crlf'),
    isMalformed: words.has('malformed'),
    refuses: words.has('refuse'),
    hangs: words.has('hang'),
    cutAfter: readRecords(words, 'cut'),
    endAfter: readRecords(words, 'eof'),
    errorAfter: words.has('error-first') ? 0 : readRecords(words, 'error-mid'),
    times: readNumber(words, 'times', 1, 1_000_000) ?? Number.POSITIVE_INFINITY,
    model: words.get('model'),
  }
}

/** An answer that goes well. */
export const NO_FAULT = readFault('')

function readWords(text: string): Words {
  const words = text.split(/\s+/).filter(Boolean)
  return new Map(words.map(readWord))
}

function readWord(word: string): [string, string] {
  const [, name = '', value = ''] = /^([^=]*)=?(.*)$/.exec(word) ?? []
  if (!WORDS.includes(name)) {
    throw new Refusal(400, `The sandbox knows no fault "${name}", only: ${WORDS.join(', ')}.`)
  }
  return [name, value]
}

function readNumber(words: Words, name: string, min: number, max: number): number | undefined {
  const value = words.get(name)
  if (value === undefined) return undefined
  const number = Number(value)
  if (value !== '' && Number.isInteger(number) && number >= min && number <= max) return number
  throw new Refusal(400, `The sandbox fault "${name}" takes a whole number from ${min} to ${max}.`)
}

function readRecords(words: Words, name: string): number | undefined {
  return words.get(name) === '' ? DEFAULT_RECORDS : readNumber(words, name, 0, 1_000_000)
}
