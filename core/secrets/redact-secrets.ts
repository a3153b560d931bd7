import { GatewayError } from '../contract/errors.ts'
import { isJsonObject } from '../contract/json.ts'
import { parseJson } from '../util/json.ts'

/** Replaces the configured secrets by `[redacted]`, in whatever another service says. */
export interface SecretRedactor {
  text(text: string): string
  /** Redacts the strings of a JSON text, and any other text as a whole. Its syntax stays intact. */
  json(text: string): string
  /**
   * Returns the error itself if it holds no secret, otherwise a copy. Redacts the message, the stack, the
   * causes and all details. Of an error other than a `GatewayError`, other fields are dropped.
   */
  error(error: unknown): unknown
}

const REDACTED = '[redacted]'

/**
 * `secrets` are keys and passwords; empty ones are ignored. They are also found as JSON, a URL or base64
 * writes them, and where the end of a text cuts them off. See docs/decisions/replies.md, "Secrets are
 * removed from errors, at one point".
 */
export function createSecretRedactor(secrets: readonly (string | undefined)[]): SecretRedactor {
  const known = [...new Set(secrets.flatMap((secret) => secret || []))]
  const words = known.filter(isOrdinary)
  const forms = [...new Set(known.filter((secret) => !isOrdinary(secret)).flatMap(formsOf))]
  const pattern = compile([...toAlternatives(forms), ...toAlternatives(words).map(toValuePattern)])

  function redactText(text: string): string {
    if (pattern === undefined) return text
    if (words.includes(text)) return REDACTED
    return redactCutOff(text.replace(pattern, REDACTED), forms)
  }

  function redactValue(value: unknown, depth = 0): unknown {
    if (typeof value === 'string') return redactText(value)
    if (value instanceof Error) return redactError(value, depth)
    if (typeof value !== 'object' || value === null) return value
    if (depth > MAX_DEPTH) return REDACTED
    if (Array.isArray(value))
      return keepIfEqual(
        value,
        value.map((item) => redactValue(item, depth + 1)),
      )
    if (!isJsonObject(value)) return value
    const entries = Object.entries(value).map(([name, item]) => [name, redactValue(item, depth + 1)])
    return entries.every(([name, item]) => item === value[String(name)]) ? value : Object.fromEntries(entries)
  }

  function redactError(error: unknown, depth = 0): unknown {
    if (!(error instanceof Error)) return redactValue(error, depth)
    if (depth > MAX_DEPTH) return new Error(REDACTED)
    const message = redactText(error.message)
    const stack = redactText(error.stack ?? '')
    if (GatewayError.isInstance(error)) {
      const details = redactValue(error.details, depth + 1) as GatewayError['details']
      if (message === error.message && details === error.details && stack === (error.stack ?? ''))
        return error
      const { code, status, type } = error
      return withStack(new GatewayError({ ...details, code, status, type, message }), stack)
    }
    const cause = redactValue(error.cause, depth + 1)
    const isSame = message === error.message && stack === (error.stack ?? '') && cause === error.cause
    if (isSame && Object.getOwnPropertyNames(error).every((name) => ERROR_FIELDS.has(name))) return error
    const copy = new Error(message, cause === undefined ? {} : { cause })
    // Errors are told apart by their class and code.
    Object.setPrototypeOf(copy, Object.getPrototypeOf(error))
    if ('code' in error) Object.assign(copy, { code: redactValue(error.code, depth + 1) })
    copy.name = redactText(error.name)
    return withStack(copy, stack)
  }

  return {
    text: redactText,
    json(text) {
      const body = parseJson(text)
      if (body === undefined) return redactText(text)
      const redacted = redactValue(body)
      return redacted === body ? text : JSON.stringify(redacted)
    },
    error: redactError,
  }
}

/** Causes and details are not nested deeper. */
const MAX_DEPTH = 8

const ERROR_FIELDS: ReadonlySet<string> = new Set(['message', 'stack', 'cause', 'name'])

function keepIfEqual(list: readonly unknown[], copy: readonly unknown[]): readonly unknown[] {
  return copy.every((item, index) => item === list[index]) ? list : copy
}

function withStack<E extends Error>(error: E, stack: string): E {
  return Object.defineProperty(error, 'stack', { value: stack, configurable: true, writable: true })
}

/**
 * True for a secret that any text may contain: a word such as `token`, `sandbox` or `provider-key`, a number
 * or a name such as `gpt-4`, or a few characters.
 */
function isOrdinary(secret: string): boolean {
  const { length } = secret
  return length < 5 || (length < 8 && NAME.test(secret)) || (length < 16 && WORDS.test(secret))
}

const NAME = /^(?:[a-z]+|\d+)(?:[-_.](?:[a-z]+|\d+))*$/i
const WORDS = /^[a-z]+(?:[-_.][a-z]+)*$/

/**
 * A word is a secret where it stands as a value of its own: in quotation marks, behind a colon or an equals
 * sign at the end of a sentence, or behind `Bearer`, `Basic`, `key` or `password`.
 */
function toValuePattern(word: string): string {
  return (
    `(?<=["'\`])${word}(?=["'\`])` +
    `|(?<=[:=]\\s?)${word}(?=[.,;!?)\\]}"'\`]*(?:&|\\s*$|\\s*\\n|[.,;)]\\s))` +
    `|(?<=\\b(?:[Bb]earer|[Bb]asic|[Kk]ey|[Pp]assword)\\s)${word}(?![\\w-])`
  )
}

function formsOf(secret: string): readonly string[] {
  const inUrl = encodeURIComponent(secret.toWellFormed())
  return [
    secret,
    JSON.stringify(secret).slice(1, -1),
    inUrl,
    inUrl.replace(/%../g, (escaped) => escaped.toLowerCase()),
    ...[0, 1, 2].flatMap((skipped) => base64At(secret, skipped)),
  ]
}

/** The base64 of a secret behind other bytes, without the characters that depend on its neighbours. */
function base64At(secret: string, before: number): readonly string[] {
  const bytes = Buffer.concat([Buffer.alloc(before), Buffer.from(secret)])
  const end = Math.floor((bytes.length * 8) / 6)
  const text = bytes.toString('base64').slice(Math.ceil((before * 8) / 6), end)
  return [text, text.replaceAll('+', '-').replaceAll('/', '_')]
}

/** Longer texts come first: a secret may contain another one. */
function toAlternatives(texts: readonly string[]): readonly string[] {
  return texts
    .toSorted((a, b) => b.length - a.length)
    .map((text) => text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&'))
}

function compile(alternatives: readonly string[]): RegExp | undefined {
  return alternatives.length === 0 ? undefined : new RegExp(alternatives.join('|'), 'g')
}

const MIN_CUT_OFF = 8

/** Long error texts are cut off, perhaps within a secret. */
function redactCutOff(text: string, forms: readonly string[]): string {
  for (const form of forms) {
    const prefix = form.slice(0, MIN_CUT_OFF)
    let start = text.indexOf(prefix, Math.max(0, text.length - form.length))
    while (start !== -1 && !form.startsWith(text.slice(start))) start = text.indexOf(prefix, start + 1)
    if (start !== -1) return text.slice(0, start) + REDACTED
  }
  return text
}
