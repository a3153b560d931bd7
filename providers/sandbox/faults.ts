import { SandboxError } from './format.ts'

/** How one answer goes wrong. Times in milliseconds; `…After` counts the stream records that still come. */
export interface Fault {
  /** Answer with this error status. */
  readonly status: number | undefined
  /** The error's code. */
  readonly code: string | undefined
  /** The `retry-after` header, in seconds. */
  readonly retryAfterSeconds: number | undefined
  readonly firstByteDelayMs: number
  readonly tokenDelayMs: number
  readonly hasComments: boolean
  readonly hasCrlf: boolean
  readonly isMalformed: boolean
  /** The model does not want to answer. */
  readonly isRefusal: boolean
  readonly isHang: boolean
  readonly cutAfter: number | undefined
  readonly endAfter: number | undefined
  readonly errorAfter: number | undefined
  /** How many requests it applies to. */
  readonly maxUses: number
  /** The only model it applies to. */
  readonly model: string | undefined
}

/** A fault that a message asks for, and the text that asks. */
export interface Marker {
  readonly text: string
  readonly fault: Fault
}

const MARKER = /\[\[sandbox:([^\]]{0,500})\]\]/g
const PARAMETER_NAMES = [
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
const MAX_DELAY_MS = 600_000
const DEFAULT_EVENT_COUNT = 2

/** Every `[[sandbox:…]]` in a text. Throws a `Refusal` (400) for one that makes no sense. */
export function parseMarkers(text: string): readonly Marker[] {
  return Array.from(text.matchAll(MARKER), ([marker, words = '']) => ({
    text: marker,
    fault: parseFault(words),
  }))
}

/** The text as the user meant it. */
export function stripMarkers(text: string): string {
  return text.replace(MARKER, '').trim()
}

type FaultParameters = ReadonlyMap<string, string>

/** Reads what a marker holds, such as `status=429 retry-after=2`. Throws a `Refusal` when it makes no sense. */
export function parseFault(text: string): Fault {
  const words = parseParameters(text)
  return {
    status: parseInteger(words, 'status', 400, 599),
    code: words.get('code'),
    retryAfterSeconds: parseInteger(words, 'retry-after', 0, 86_400),
    firstByteDelayMs: parseInteger(words, 'first-byte', 0, MAX_DELAY_MS) ?? 0,
    tokenDelayMs: parseInteger(words, 'token-delay', 0, MAX_DELAY_MS) ?? 0,
    hasComments: words.has('comments'),
    hasCrlf: words.has('crlf'),
    isMalformed: words.has('malformed'),
    isRefusal: words.has('refuse'),
    isHang: words.has('hang'),
    cutAfter: parseEventCount(words, 'cut'),
    endAfter: parseEventCount(words, 'eof'),
    errorAfter: words.has('error-first') ? 0 : parseEventCount(words, 'error-mid'),
    maxUses: parseInteger(words, 'times', 1, 1_000_000) ?? Number.POSITIVE_INFINITY,
    model: words.get('model'),
  }
}

/** An answer that goes well. */
export const NO_FAULT = parseFault('')

function parseParameters(text: string): FaultParameters {
  const words = text.split(/\s+/).filter(Boolean)
  return new Map(words.map(parseParameter))
}

function parseParameter(word: string): [string, string] {
  const [, name = '', value = ''] = /^([^=]*)=?(.*)$/.exec(word) ?? []
  if (!PARAMETER_NAMES.includes(name)) {
    throw new SandboxError(400, `The sandbox knows no fault "${name}", only: ${PARAMETER_NAMES.join(', ')}.`)
  }
  return [name, value]
}

function parseInteger(words: FaultParameters, name: string, min: number, max: number): number | undefined {
  const value = words.get(name)
  if (value === undefined) return undefined
  const number = Number(value)
  if (value !== '' && Number.isInteger(number) && number >= min && number <= max) return number
  throw new SandboxError(400, `The sandbox fault "${name}" takes a whole number from ${min} to ${max}.`)
}

function parseEventCount(words: FaultParameters, name: string): number | undefined {
  return words.get(name) === '' ? DEFAULT_EVENT_COUNT : parseInteger(words, name, 0, 1_000_000)
}
