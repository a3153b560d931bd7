import { createBoundedCache } from '../../core/util/bounded-cache.ts'
import { PROVIDER_ERROR_NAMES } from './shared/provider-errors.ts'
import { SandboxError } from './shared/wire-format.ts'

/** The faults of one response. `…After` is the number of stream events sent before the fault. */
export interface Fault {
  /** Respond with this error status. */
  readonly status: number | undefined
  /** The provider's error code. */
  readonly code: string | undefined
  /** An error of `PROVIDER_ERROR_NAMES`, in the provider's own words. */
  readonly error: string | undefined
  /** The error message. */
  readonly message?: string
  /** The value of the `retry-after` header. */
  readonly retryAfterSeconds: number | undefined
  /** The delay before the response headers. */
  readonly firstByteDelayMs: number
  /** The delay between two stream events. */
  readonly tokenDelayMs: number
  /** Send an SSE comment before every event. */
  readonly hasComments: boolean
  /** End the lines of a stream with CRLF. */
  readonly hasCrlf: boolean
  /** Send JSON that does not parse. */
  readonly isMalformed: boolean
  /** Reply with a refusal of the model. */
  readonly isRefusal: boolean
  /** Reply with an image behind the text, or with nothing but content of an unknown type. */
  readonly media: 'image' | 'unknown' | undefined
  /**
   * `required`: reason, and reject requests whose replies with tool calls lack their reasoning. `renamed`:
   * the same, in the field `reasoning` of chat completions.
   */
  readonly reasoning: 'required' | 'renamed' | undefined
  /** The arguments of tool calls, as JSON text, instead of sample values; empty: none. */
  readonly callArguments: string | undefined
  /** How many replies to one user message call tools. */
  readonly callRounds: number
  /** The service tier that the reply names; by default, the usual one. */
  readonly tier: string | undefined
  /** Web searches that the reply reports. */
  readonly searches: number
  /** Never respond. */
  readonly isHanging: boolean
  /** Send nothing more, and keep the connection open. */
  readonly silentAfter: number | undefined
  /** Drop the connection. */
  readonly cutAfter: number | undefined
  /** End the stream cleanly, without its closing events. */
  readonly endAfter: number | undefined
  /** Send an error event and end the stream. */
  readonly errorAfter: number | undefined
  /** Reply as careless compatible providers do. */
  readonly isIrregular: boolean
  /** Send the error as the body of a whole response with status 200. */
  readonly isErrorBody: boolean
  /** Quote the API key of the request in the error. */
  readonly quotesKey: boolean
  /** How many requests get the fault; infinite by default. */
  readonly maxUses: number
  /** The only model that gets the fault; undefined means all models. */
  readonly model: string | undefined
}

interface FaultPicker {
  pick: PickFault
  /**
   * Sets the fault for requests without an applicable marker. `text` has the syntax of a marker's content; an
   * empty text removes the fault. Throws a `SandboxError` if `text` is invalid.
   */
  setFault(text: string): void
}

/** Picks the fault of a request. Throws a `SandboxError` (400) if the user text has an invalid marker. */
export type PickFault = (userText: string, model: string) => Fault

/**
 * Picks the fault of the first marker that matches the model and is not used up. Markers with `times` are
 * counted by their exact text, so tests that count should use a unique marker.
 */
export function createFaultPicker(): FaultPicker {
  const useCounts = createBoundedCache<string, number>(10_000)
  let defaultFault = NO_FAULT

  function applies({ text, fault }: Marker, model: string): boolean {
    if (fault.model !== undefined && fault.model !== model) return false
    if (fault.maxUses === Number.POSITIVE_INFINITY) return true
    const uses = useCounts.get(text) ?? 0
    useCounts.set(text, uses + 1)
    return uses < fault.maxUses
  }

  return {
    pick: (userText, model) =>
      parseMarkers(userText).find((marker) => applies(marker, model))?.fault ?? defaultFault,
    setFault(text) {
      defaultFault = parseFault(text)
    },
  }
}

interface Marker {
  /** The marker as it appears in the message. */
  readonly text: string
  readonly fault: Fault
}

const MARKER = /\[\[sandbox:([^\]]{0,500})\]\]/g

/** Parsing more of them would hold the event loop. */
const MAX_MARKERS = 100

/** Parses every `[[sandbox:…]]` in a text. Throws a `SandboxError` (400) for invalid and too many ones. */
function parseMarkers(text: string): readonly Marker[] {
  const markers: Marker[] = []
  for (const [marker, content = ''] of text.matchAll(MARKER)) {
    if (markers.length === MAX_MARKERS)
      throw new SandboxError(400, `A request can have at most ${MAX_MARKERS} markers of faults.`)
    markers.push({ text: marker, fault: parseFault(content) })
  }
  return markers
}

/** Removes all markers from a text. */
export function stripMarkers(text: string): string {
  return text.replace(MARKER, '').trim()
}

const PARAMETER_NAMES = [
  'status',
  'code',
  'error',
  'retry-after',
  'first-byte',
  'token-delay',
  'comments',
  'crlf',
  'malformed',
  'refuse',
  'media',
  'reasoning',
  'arguments',
  'rounds',
  'tier',
  'searches',
  'hang',
  'silent',
  'cut',
  'eof',
  'error-first',
  'error-mid',
  'error-body',
  'irregular',
  'quote-key',
  'times',
  'model',
]
const MAX_DELAY_MS = 600_000
const DEFAULT_EVENT_COUNT = 2

type FaultParameters = ReadonlyMap<string, string>

/** Parses a marker's content, such as `status=429 times=1`. Throws a `SandboxError` (400) if invalid. */
function parseFault(text: string): Fault {
  const parameters = parseParameters(text)
  return {
    status: parseInteger(parameters, 'status', 400, 599),
    code: parameters.get('code'),
    error: parseErrorName(parameters),
    retryAfterSeconds: parseInteger(parameters, 'retry-after', 0, 86_400),
    firstByteDelayMs: parseInteger(parameters, 'first-byte', 0, MAX_DELAY_MS) ?? 0,
    tokenDelayMs: parseInteger(parameters, 'token-delay', 0, MAX_DELAY_MS) ?? 0,
    hasComments: parameters.has('comments'),
    hasCrlf: parameters.has('crlf'),
    isMalformed: parameters.has('malformed'),
    isRefusal: parameters.has('refuse'),
    media: parseMedia(parameters),
    reasoning: parseReasoning(parameters),
    callArguments: parseArguments(parameters),
    callRounds: parseInteger(parameters, 'rounds', 0, 1000) ?? 1,
    tier: parameters.get('tier'),
    searches: parseInteger(parameters, 'searches', 0, 1000) ?? 0,
    isHanging: parameters.has('hang'),
    silentAfter: parseEventCount(parameters, 'silent'),
    cutAfter: parseEventCount(parameters, 'cut'),
    endAfter: parseEventCount(parameters, 'eof'),
    errorAfter: parameters.has('error-first') ? 0 : parseEventCount(parameters, 'error-mid'),
    isIrregular: parameters.has('irregular'),
    isErrorBody: parameters.has('error-body'),
    quotesKey: parameters.has('quote-key'),
    maxUses: parseInteger(parameters, 'times', 1, 1_000_000) ?? Number.POSITIVE_INFINITY,
    model: parameters.get('model'),
  }
}

export const NO_FAULT = parseFault('')

function parseParameters(text: string): FaultParameters {
  return new Map(text.split(/\s+/).filter(Boolean).map(parseParameter))
}

function parseParameter(parameter: string): [string, string] {
  const [, name = '', value = ''] = /^([^=]*)=?(.*)$/.exec(parameter) ?? []
  if (!PARAMETER_NAMES.includes(name)) {
    throw new SandboxError(400, `Unknown fault "${name}". Use one of: ${PARAMETER_NAMES.join(', ')}.`)
  }
  return [name, value]
}

function parseInteger(
  parameters: FaultParameters,
  name: string,
  min: number,
  max: number,
): number | undefined {
  const value = parameters.get(name)
  if (value === undefined) return undefined
  const number = Number(value)
  if (value !== '' && Number.isInteger(number) && number >= min && number <= max) return number
  throw new SandboxError(400, `The fault "${name}" must be an integer from ${min} to ${max}.`)
}

function parseErrorName(parameters: FaultParameters): string | undefined {
  const name = parameters.get('error')
  if (name === undefined || PROVIDER_ERROR_NAMES.includes(name)) return name
  throw new SandboxError(400, `The fault "error" must be one of: ${PROVIDER_ERROR_NAMES.join(', ')}.`)
}

function parseEventCount(parameters: FaultParameters, name: string): number | undefined {
  return parameters.get(name) === '' ? DEFAULT_EVENT_COUNT : parseInteger(parameters, name, 0, 1_000_000)
}

function parseReasoning(parameters: FaultParameters): Fault['reasoning'] {
  const value = parameters.get('reasoning')
  if (value === undefined || value === 'required' || value === 'renamed') return value
  throw new SandboxError(400, 'The fault "reasoning" must be required or renamed.')
}

function parseMedia(parameters: FaultParameters): Fault['media'] {
  const value = parameters.get('media')
  if (value === undefined || value === 'image' || value === 'unknown') return value
  throw new SandboxError(400, 'The fault "media" must be image or unknown.')
}

/** The arguments are in base64url, because a marker cannot contain spaces and brackets. */
function parseArguments(parameters: FaultParameters): string | undefined {
  const value = parameters.get('arguments')
  if (value === undefined || value === '') return value
  const json = Buffer.from(value, 'base64url').toString()
  try {
    JSON.parse(json)
    return json
  } catch {
    throw new SandboxError(400, 'The fault "arguments" must be JSON in base64url.')
  }
}
