import {
  isJsonObject,
  type MaybePromise,
  type Reply,
  type ReplyEvent,
  type ReplyPart,
  type Usage,
} from '../contract/index.ts'
import { NATIVE, TEXT_RUN } from '../contract/native-records.ts'
import { isPromiseLike } from '../util/maybe-promise.ts'

/** Calls `next` of a stream and waits for its result. */
type WaitForBatch = <Value>(next: () => Promise<Value>) => MaybePromise<Value>

/**
 * Passes the batches of a stream through a function when they arrive. Not a generator: one that was not
 * started would not pass `return` on to the source.
 */
function mapBatches<Value>(
  batches: AsyncIterable<Value>,
  map: (batch: Value) => readonly ReplyEvent[],
  wait: WaitForBatch = (next) => next(),
): AsyncIterable<readonly ReplyEvent[]> {
  return {
    [Symbol.asyncIterator]() {
      const source = batches[Symbol.asyncIterator]()
      return {
        async next() {
          const result = await wait(() => source.next())
          return result.done ? { done: true, value: undefined } : { done: false, value: map(result.value) }
        },
        async return() {
          await source.return?.()
          return { done: true, value: undefined }
        },
      }
    },
  }
}

/**
 * Returns a reply whose events are checked: those of a stream when they arrive, for which `wait` waits.
 * Throws a `TypeError` if it is no reply. `title` names it in messages, none of which contains its text.
 */
export function checkReply(value: unknown, title: string, wait?: WaitForBatch): Reply {
  if (!isJsonObject(value)) throw new TypeError(`${title} is ${describeType(value)} in place of a reply`)
  if (value.type === 'whole') return { type: 'whole', event: checkEvent(value.event, title) }
  if (value.type !== 'stream') throw new TypeError(`${title} is neither of type "whole" nor "stream"`)
  const { batches } = value
  let emptyCount = 0
  const check = (batch: unknown) => {
    const events = checkEvents(batch, title)
    emptyCount = events.every(isEmpty) ? emptyCount + 1 : 0
    if (emptyCount <= MAX_EMPTY_BATCHES) return events
    throw new TypeError(`${title} has ${emptyCount} lists without a part of a reply in a row`)
  }
  if (isAsyncIterable(batches)) return { type: 'stream', batches: mapBatches(batches, check, wait) }
  throw new TypeError(`${title} is a stream whose batches are not an async iterable`)
}

/** A generator that yields nothing for ever would occupy the thread, so that no timer ends it. */
const MAX_EMPTY_BATCHES = 10_000

const isEmpty = (event: ReplyEvent) => event[TEXT_RUN] === undefined && event.parts.length === 0

function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof (value as Partial<AsyncIterable<unknown>> | undefined)?.[Symbol.asyncIterator] === 'function'
}

/**
 * Returns a list of events. Throws a `TypeError` if it is none. `title` says where the list comes from; the
 * event `known` is not checked.
 */
export function checkEvents(value: unknown, title: string, known?: ReplyEvent): readonly ReplyEvent[] {
  if (!Array.isArray(value))
    throw new TypeError(`${title} has ${describeType(value)} in place of a list of events`)
  for (const event of value) if (event !== known) checkEvent(event, title)
  return value
}

/** Accepts events of another copy of the contract, which a plugin may have bundled. */
function checkEvent(value: unknown, title: string): ReplyEvent {
  const event = value as Partial<ReplyEvent> | undefined | null
  if (event?.[NATIVE] !== undefined || event?.[TEXT_RUN] !== undefined) return event as ReplyEvent
  if (!Array.isArray(event?.parts) || typeof event.withParts !== 'function')
    throw new TypeError(`${title} has ${describeType(value)} in place of a ReplyEvent`)
  event.parts.forEach((part: unknown, index) => {
    const issue = findPartIssue(part)
    if (issue !== undefined) throw new TypeError(`${title} has an invalid part: parts[${index}]${issue}`)
  })
  return event as ReplyEvent
}

const isString = (value: unknown) => typeof value === 'string'
const isCount = (value: unknown) => Number.isSafeInteger(value) && (value as number) >= 0

/** The required fields of each type of part, and what their values are. */
const FIELDS: Readonly<Record<ReplyPart['type'], Readonly<Record<string, Check>>>> = {
  start: { id: isString, model: isString },
  text: { text: isString },
  reasoning: { text: isString },
  refusal: { text: isString },
  image: { url: isString },
  unread: { name: isString },
  'tool-start': { index: isCount, id: isString, name: isString },
  'tool-json': { index: isCount, json: isString },
  usage: { usage: isUsage },
  finish: { reason: (value) => FINISH_REASONS.has(value) },
  extra: { place: isString, content: isJsonObject },
  embedding: { index: isCount, vector: (value) => isString(value) || Array.isArray(value) },
  moderation: { result: isJsonObject },
}

type Check = (value: unknown) => boolean

const OPTIONAL_COUNTS = [
  'cached',
  'cacheWrite',
  'cacheWriteHour',
  'reasoning',
] as const satisfies readonly (keyof Usage)[]

/** Costs are computed from it, and added to what budgets count: all of it must be numbers. */
function isUsage(value: unknown): boolean {
  if (!isJsonObject(value) || !isCount(value.input) || !isCount(value.output)) return false
  const { priceFactor = 1, tier = '', toolCalls = {} } = value
  return (
    OPTIONAL_COUNTS.every((name) => value[name] === undefined || isCount(value[name])) &&
    Number.isFinite(priceFactor) &&
    Number(priceFactor) >= 0 &&
    isString(tier) &&
    isJsonObject(toolCalls) &&
    Object.values(toolCalls).every(isCount)
  )
}

const FINISH_REASONS: ReadonlySet<unknown> = new Set(['stop', 'length', 'tool_calls', 'content_filter'])

function findPartIssue(part: unknown): string | undefined {
  if (!isJsonObject(part)) return ` is ${describeType(part)}`
  const { type } = part
  if (typeof type !== 'string' || !Object.hasOwn(FIELDS, type)) return '.type is not a type of reply parts'
  for (const [name, isValid] of Object.entries(FIELDS[type as ReplyPart['type']]))
    if (!isValid(part[name])) return `.${name} is not valid for the type ${type}`
  return undefined
}

/** Marks a promise that nobody may wait for: its rejection must not end the process. */
export function handled<Value>(promise: Promise<Value>): Promise<Value> {
  promise.catch(() => undefined)
  return promise
}

/** Names the type of a value, and nothing of its content. A promise is not waited for. */
export function describeType(value: unknown): string {
  if (value === undefined || value === null) return String(value)
  if (Array.isArray(value)) return 'a list'
  try {
    if (isPromiseLike(value)) {
      handled(Promise.resolve(value))
      return 'a promise'
    }
  } catch {
    return 'an object that cannot be read'
  }
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`
}

/**
 * Freezes an event for a plugin package. Clients of the provider's format get its own record as long as an
 * event is unchanged, so parts that were changed in place would not reach them. Runs freeze their parts
 * themselves.
 */
export function freezeEvent(event: ReplyEvent): ReplyEvent {
  if (event[TEXT_RUN] !== undefined) return event
  for (const part of event.parts) Object.freeze(part)
  Object.freeze(event.parts)
  return Object.freeze(event)
}

/** Freezes the events of a reply; those of a stream when they arrive, for which `wait` waits. */
export function freezeReply(reply: Reply, wait: WaitForBatch): Reply {
  if (reply.type === 'whole') return { type: 'whole', event: freezeEvent(reply.event) }
  const freezeBatch = (batch: readonly ReplyEvent[]) => {
    for (const event of batch) freezeEvent(event)
    return batch
  }
  return { type: 'stream', batches: mapBatches(reply.batches, freezeBatch, wait) }
}
