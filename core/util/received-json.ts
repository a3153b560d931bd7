import { isUtf8 } from 'node:buffer'
import type { JsonObject } from '../contract/json.ts'
import { countNames, endOfString } from './json.ts'

/** The JSON in UTF-8 of the lists and objects of a body. */
type ReceivedFields = ReadonlyMap<unknown, Buffer>

interface KeptBody {
  /** Undefined once the request has ended: something that stays may hold one of the fields. */
  content: { readonly body: JsonObject; readonly bytes: Buffer } | undefined
  /** Found when they are needed. */
  fields?: ReceivedFields
}

/** By the values of their fields. */
const received = new WeakMap<object, KeptBody>()

/** Writing a smaller body takes less time than looking for its fields. */
const MIN_BYTES = 2048

/** Larger bodies are not kept twice while a request waits. */
const MAX_BYTES = 1024 * 1024

/**
 * Keeps the bytes of a body, so that a field that nobody has changed is sent on as it came: see
 * docs/decisions/http.md, "Fields that nobody changed are sent on as they came". Returns a function that
 * releases the bytes, if they are kept.
 */
export function keepReceived(body: JsonObject, bytes: Buffer): (() => void) | undefined {
  if (bytes.length < MIN_BYTES || bytes.length > MAX_BYTES) return undefined
  const kept: KeptBody = { content: { body, bytes } }
  for (const name in body) {
    const value = body[name]
    if (typeof value === 'object' && value !== null) received.set(value, kept)
  }
  return () => {
    kept.content = undefined
    kept.fields = NO_FIELDS
  }
}

const NO_FIELDS: ReceivedFields = new Map()

/**
 * Returns the fields of the received body that an object has a list or an object of. Undefined if none is
 * known, or if other readers could understand all of them differently.
 */
export function findReceived(object: JsonObject): ReceivedFields | undefined {
  for (const name in object) {
    const value = object[name]
    const kept = typeof value === 'object' && value !== null ? received.get(value) : undefined
    if (kept === undefined) continue
    const { content } = kept
    kept.fields ??= content ? findFields(content.body, content.bytes) : NO_FIELDS
    return kept.fields.size === 0 ? undefined : kept.fields
  }
  return undefined
}

/**
 * Empty for a name that an object has twice, a byte order mark, and text that is not well-formed. Without
 * fields with numbers that rules do not see as they are: they see what is left once a number is parsed.
 */
function findFields(body: JsonObject, bytes: Buffer): ReceivedFields {
  const found = new Map<unknown, Buffer>()
  if (!isUtf8(bytes) || bytes[0] === BYTE_ORDER_MARK || bytes.includes('\\ud') || bytes.includes('\\uD'))
    return found
  let names = 0
  let depth = 0
  let textStart = 0
  let textEnd = 0
  let field: { readonly name: string; readonly start: number } | undefined
  const endField = (end: number) => {
    const value = field && body[field.name]
    if (field && typeof value === 'object') found.set(value, bytes.subarray(field.start, end))
    field = undefined
  }
  for (let index = 0; index < bytes.length; index++) {
    const byte = bytes[index]
    switch (byte) {
      case QUOTE:
        textStart = index + 1
        textEnd = endOfString(bytes, textStart)
        index = textEnd
        break
      case COLON:
        names++
        if (depth === 1) field = { name: bytes.toString('utf8', textStart, textEnd), start: index + 1 }
        // Escapes would have to be read.
        if (field?.name.includes('\\')) field = undefined
        break
      case COMMA:
        if (depth === 1) endField(index)
        break
      case OPEN_BRACE:
      case OPEN_BRACKET:
        depth++
        break
      case CLOSE_BRACE:
      case CLOSE_BRACKET:
        depth--
        if (depth === 0) endField(index)
        break
      default: {
        if (byte !== MINUS && !isDigit(byte)) break
        const start = index
        while (isDigit(bytes[index + 1])) index++
        if (byte === MINUS || index - start >= MAX_DIGITS || isDotOrE(bytes[index + 1])) field = undefined
      }
    }
  }
  return names === countNames(body) ? found : new Map()
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= ZERO && byte <= NINE
}

function isDotOrE(byte: number | undefined): boolean {
  return byte === DOT || byte === E || byte === SMALL_E
}

/** Integers of so many digits lose none when they are parsed. */
const MAX_DIGITS = 15

/** The first of its three bytes. */
const BYTE_ORDER_MARK = 0xef
const QUOTE = 0x22
const COLON = 0x3a
const COMMA = 0x2c
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d
const OPEN_BRACKET = 0x5b
const CLOSE_BRACKET = 0x5d
const MINUS = 0x2d
const DOT = 0x2e
const E = 0x45
const SMALL_E = 0x65
const ZERO = 0x30
const NINE = 0x39
