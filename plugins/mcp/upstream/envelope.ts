import { customAlphabet } from 'nanoid'
import { isJsonObject, type JsonObject } from '../../../core/contract/index.ts'
import { countValues, endOfString, MAX_JSON_DEPTH } from '../../../core/util/json.ts'
import { mcpError } from '../errors.ts'
import { isRpcId, objectOf, type RpcErrorObject, type RpcId } from '../protocol.ts'

const random = customAlphabet('0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz', 22)

/** Returns an id for a request to a server. It is unguessable, so that no text of a result can hold it. */
export function newUpstreamId(): string {
  return `sb-${random()}`
}

/** Whether a value has the form of such an id. */
export function isUpstreamId(value: unknown): value is string {
  return typeof value === 'string' && /^sb-[0-9A-Za-z]{22}$/.test(value)
}

const OWN_ID = /"id"\s*:\s*"(sb-[0-9A-Za-z]{22})"/

/** How much of a message is looked at to tell what it is, and how much of its end may follow the result. */
const MAX_HEAD_BYTES = 4096
const TAIL_BYTES = 512

/** Messages that are not results: notifications, requests and errors. */
const MAX_SMALL_BYTES = 1024 * 1024

/** A part of a message at a time, such as of a line on stdout or of an HTTP response. */
export type Bytes = AsyncGenerator<Buffer, void, undefined>

/**
 * The result of a request, which is not parsed unless somebody asks for its text. See
 * docs/decisions/mcp.md, "Results that nobody inspects are not parsed".
 */
export interface ResultBody {
  /** Reads the result as JSON text. Rejects with `tool_result_too_large`. */
  text(maxBytes: number): Promise<string>
  /** Waits until the result is complete, or has more bytes. Nothing of it is lost. */
  isShort(maxBytes: number): Promise<boolean>
  /**
   * Yields the message for the client: with `id`, given as JSON, and with `members` in front of those of the
   * result, given as JSON without braces. Nothing else of the message is changed.
   */
  message(id: string, members: string): Bytes
}

/** How a server answered a request. */
export type Outcome = { readonly result: ResultBody } | { readonly error: RpcErrorObject }

/** Calls `onEnd` once the result has been read, or immediately for an error. */
export function withEnd(outcome: Outcome, onEnd: () => void): Outcome {
  if ('error' in outcome) {
    onEnd()
    return outcome
  }
  const { result } = outcome
  return {
    result: {
      text: (maxBytes) => result.text(maxBytes).finally(onEnd),
      isShort: (maxBytes) => result.isShort(maxBytes),
      message: (id, members) => untilEnd(result.message(id, members), onEnd),
    },
  }
}

async function* untilEnd(bytes: Bytes, onEnd: () => void): Bytes {
  try {
    yield* bytes
  } finally {
    onEnd()
  }
}

/** A message of a server. */
export type ServerMessage =
  | { readonly type: 'reply'; readonly id: string | undefined; readonly outcome: Outcome }
  | { readonly type: 'request'; readonly id: RpcId; readonly method: string; readonly params: JsonObject }
  | { readonly type: 'notification'; readonly method: string; readonly params: JsonObject }

/** Reads a message. The bytes of a result are read when the result is. */
export async function readMessage(bytes: Bytes, maxBytes: number): Promise<ServerMessage | undefined> {
  let head: Buffer = EMPTY
  for (;;) {
    const found = head.length === 0 ? 'incomplete' : findResult(head)
    if (typeof found === 'number') {
      const id = findOwnId(head.subarray(0, found))
      return { type: 'reply', id, outcome: { result: new StreamedResult(head, found, bytes, maxBytes) } }
    }
    const isWhole = found === 'other' || head.length > MAX_HEAD_BYTES
    const next = await bytes.next()
    if (next.done) break
    head = head.length === 0 ? next.value : Buffer.concat([head, next.value])
    if (!isWhole) continue
    const chunks = [head]
    let size = head.length
    for await (const chunk of bytes) {
      size += chunk.length
      if (size > MAX_SMALL_BYTES) throw invalidMessage('a message that is too large')
      chunks.push(chunk)
    }
    head = Buffer.concat(chunks)
    break
  }
  return head.length === 0 ? undefined : parseMessage(head)
}

const EMPTY = Buffer.alloc(0)

/** Reads a message that is complete, such as a line. A result is not parsed. */
export function readWholeMessage(bytes: Buffer): ServerMessage {
  const found = findResult(bytes)
  if (typeof found !== 'number') return parseMessage(bytes)
  const id = findOwnId(bytes.subarray(0, found)) ?? findOwnId(bytes.subarray(-TAIL_BYTES))
  return { type: 'reply', id, outcome: { result: new StreamedResult(bytes, found, noBytes(), bytes.length) } }
}

/** Returns the id of a request of ours in a part of a message. */
export function findOwnId(bytes: Buffer): string | undefined {
  return OWN_ID.exec(bytes.toString('latin1'))?.[1]
}

async function* noBytes(): Bytes {}

/** Parses a message that is complete. A result is kept as text. */
function parseMessage(bytes: Buffer): ServerMessage {
  const message = parseDeepEnough(bytes.toString())
  if (message === undefined) throw invalidMessage('a message that is not a JSON object')
  const { id, method, params, error, result } = message
  if (typeof method === 'string') {
    const values = { method, params: objectOf(params) }
    return isRpcId(id) ? { type: 'request', id, ...values } : { type: 'notification', ...values }
  }
  const replyTo = typeof id === 'string' ? id : undefined
  if (isJsonObject(error)) {
    const { code, message: text, data } = error
    const described = {
      code: typeof code === 'number' ? code : -32603,
      message: typeof text === 'string' ? text : 'The tool server answered with an error.',
    }
    return {
      type: 'reply',
      id: replyTo,
      outcome: { error: data === undefined ? described : { ...described, data } },
    }
  }
  if (result === undefined) throw invalidMessage('a message without method, result and error')
  return { type: 'reply', id: replyTo, outcome: { result: textResult(JSON.stringify(result)) } }
}

function parseDeepEnough(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text)
    if (isJsonObject(value) && countValues(value, MAX_JSON_DEPTH) !== Number.POSITIVE_INFINITY) return value
  } catch {
    return undefined
  }
  return undefined
}

/** A result whose text is known. */
export function textResult(json: string): ResultBody {
  return {
    async text(maxBytes) {
      if (json.length > maxBytes) throw tooLargeError(maxBytes)
      return json
    },
    isShort: async (maxBytes) => json.length <= maxBytes,
    async *message(id, members) {
      yield Buffer.from(toMessage(json, id, members))
    },
  }
}

/** The message for a result whose text is known; see `ResultBody.message`. */
export function toMessage(json: string, id: string, members: string): string {
  return `{"jsonrpc":"2.0","id":${id},"result":${insertMembers(json, members)}}`
}

function insertMembers(json: string, members: string): string {
  const start = json.indexOf('{') + 1
  if (members === '' || start === 0) return json
  const separator = /^\s*\}/.test(json.slice(start, start + 64)) ? '' : ','
  return json.slice(0, start) + members + separator + json.slice(start)
}

/** A result that is read while it arrives. */
class StreamedResult implements ResultBody {
  #start: Buffer
  readonly #valueStart: number
  readonly #rest: Bytes
  readonly #maxBytes: number
  #whole: Promise<string> | undefined

  /** `start`: the beginning of the message, in which the value of `result` begins at `valueStart`. */
  constructor(start: Buffer, valueStart: number, rest: Bytes, maxBytes: number) {
    this.#start = start
    this.#valueStart = valueStart
    this.#rest = rest
    this.#maxBytes = maxBytes
  }

  async isShort(maxBytes: number): Promise<boolean> {
    while (this.#start.length <= maxBytes) {
      const { value } = await this.#rest.next()
      if (!value) return true
      this.#start = Buffer.concat([this.#start, value])
    }
    return false
  }

  text(maxBytes: number): Promise<string> {
    this.#whole ??= this.#readText(Math.min(maxBytes, this.#maxBytes))
    return this.#whole
  }

  async #readText(maxBytes: number): Promise<string> {
    const chunks = [this.#start]
    let size = this.#start.length
    if (size > maxBytes + TAIL_BYTES) throw tooLargeError(maxBytes)
    for await (const chunk of this.#rest) {
      size += chunk.length
      if (size > maxBytes) throw tooLargeError(maxBytes)
      chunks.push(chunk)
    }
    const value = Buffer.concat(chunks).subarray(this.#valueStart)
    const end = new ValueEnd().find(value)
    this.#checkTail(end === -1 ? EMPTY : value.subarray(end))
    return value.toString('utf8', 0, end)
  }

  /**
   * What follows the result may only be the brace of the message, behind its other members: a second result,
   * or the id of another request, would reach the client.
   */
  #checkTail(bytes: Buffer): void {
    const tail = bytes.length > TAIL_BYTES ? '' : bytes.toString('latin1')
    if (!TAIL.test(tail)) throw invalidMessage('a message that is incomplete, or has more than a result')
    const isKnown = OWN_ID.test(this.#start.toString('latin1', 0, this.#valueStart)) || OWN_ID.test(tail)
    if (!isKnown) throw invalidMessage('a response to another request')
  }

  async *message(id: string, members: string): Bytes {
    if (this.#whole !== undefined) {
      yield* textResult(await this.#whole).message(id, members)
      return
    }
    let held = this.#start
    let size = held.length
    const pull = async () => {
      const { value } = await this.#rest.next()
      if (!value) return undefined
      size += value.length
      if (size > this.#maxBytes) throw tooLargeError(this.#maxBytes)
      return value
    }
    // The first member of the result must be there, because a comma depends on it.
    while (held.length < this.#valueStart + 64) {
      const chunk = await pull()
      if (chunk === undefined) break
      held = Buffer.concat([held, chunk])
    }
    yield Buffer.from(`{"jsonrpc":"2.0","id":${id},"result":`)
    const value = held.subarray(this.#valueStart)
    const brace = members === '' ? -1 : (/^\s*\{/.exec(value.toString('latin1', 0, 64))?.[0].length ?? -1)
    if (brace > 0) {
      const isEmpty = /^\s*\}/.test(value.toString('latin1', brace, brace + 64))
      yield Buffer.from(`{${members}${isEmpty ? '' : ','}`)
    }
    const valueEnd = new ValueEnd()
    let start = Math.max(brace, 0)
    let tail: Buffer = EMPTY
    for (let chunk: Buffer | undefined = value; chunk !== undefined; chunk = await pull()) {
      const end = tail.length > 0 ? 0 : valueEnd.find(chunk)
      const part = chunk.subarray(start, end === -1 ? chunk.length : end)
      if (part.length > 0) yield part
      if (end !== -1) tail = Buffer.concat([tail, chunk.subarray(end)])
      if (tail.length > TAIL_BYTES) break
      start = 0
    }
    this.#checkTail(tail)
    yield Buffer.from('}')
  }
}

/** Finds where a JSON value ends whose bytes come in chunks: at the comma or bracket behind it. */
class ValueEnd {
  #depth = 0
  #isInString = false
  /** The next byte belongs to an escape. */
  #isEscaped = false

  /** Returns -1 if the value goes on behind the chunk. */
  find(chunk: Buffer): number {
    let index = 0
    while (index < chunk.length) {
      if (this.#isInString) {
        const start = index + (this.#isEscaped ? 1 : 0)
        const quote = endOfString(chunk, start)
        this.#isInString = quote === -1
        this.#isEscaped = quote === -1 && endsInEscape(chunk, start)
        if (quote === -1) return -1
        index = quote + 1
        continue
      }
      const byte = chunk[index] as number
      if (byte === QUOTE) this.#isInString = true
      else if (byte === BRACE || byte === BRACKET) this.#depth++
      else if (byte === END_BRACE || byte === END_BRACKET) {
        if (this.#depth === 0) return index
        this.#depth--
      } else if (byte === COMMA && this.#depth === 0) return index
      index++
    }
    return -1
  }
}

function endsInEscape(chunk: Buffer, start: number): boolean {
  let backslashes = 0
  while (chunk.length - 1 - backslashes >= start && chunk[chunk.length - 1 - backslashes] === BACKSLASH)
    backslashes++
  return backslashes % 2 === 1
}

/** Members with plain values, then the end of the message. */
const TAIL = /^(?:,\s*"(?:jsonrpc|id)"\s*:\s*"[^"\\]*"\s*)*\}\s*$/

/**
 * Finds where the value of `result` begins in the beginning of a message. `other`: the message must be read
 * as a whole to tell what it is.
 */
function findResult(bytes: Buffer): number | 'incomplete' | 'other' {
  let index = skipSpace(bytes, 0)
  if (index === bytes.length) return 'incomplete'
  if (bytes[index] !== BRACE) return 'other'
  index = skipSpace(bytes, index + 1)
  while (index < bytes.length) {
    if (bytes[index] !== QUOTE) return 'other'
    const nameEnd = endOfString(bytes, index + 1)
    if (nameEnd === -1) return 'incomplete'
    const name = bytes.toString('latin1', index + 1, nameEnd)
    index = skipSpace(bytes, nameEnd + 1)
    if (index === bytes.length) return 'incomplete'
    if (bytes[index] !== COLON) return 'other'
    index = skipSpace(bytes, index + 1)
    if (index === bytes.length) return 'incomplete'
    if (name === 'result') return index
    if (name !== 'jsonrpc' && name !== 'id') return 'other'
    index = bytes[index] === QUOTE ? endOfString(bytes, index + 1) + 1 : endOfPlainValue(bytes, index)
    if (index <= 0) return 'incomplete'
    index = skipSpace(bytes, index)
    if (index === bytes.length) return 'incomplete'
    if (bytes[index] !== COMMA) return 'other'
    index = skipSpace(bytes, index + 1)
  }
  return 'incomplete'
}

function skipSpace(bytes: Buffer, start: number): number {
  let index = start
  while (index < bytes.length && SPACES.includes(bytes[index] as number)) index++
  return index
}

/** Returns 0 if the value may go on. */
function endOfPlainValue(bytes: Buffer, start: number): number {
  let index = start
  while (index < bytes.length && !ENDS.includes(bytes[index] as number)) index++
  return index === bytes.length ? 0 : index
}

const SPACES = [0x20, 0x0a, 0x0d, 0x09]
const BRACE = 0x7b
const QUOTE = 0x22
const COLON = 0x3a
const COMMA = 0x2c
const BACKSLASH = 0x5c
const BRACKET = 0x5b
const END_BRACKET = 0x5d
const END_BRACE = 0x7d
const ENDS = [...SPACES, COMMA, END_BRACE]

function tooLargeError(maxBytes: number) {
  const message = `The result of the tool server has more than ${maxBytes} bytes. Ask for less.`
  return mcpError('tool_result_too_large', message)
}

/** The error for a server that does not keep to the protocol. */
export function invalidMessage(what: string) {
  return mcpError('tool_server_unavailable', `The tool server sent ${what}.`)
}
