import type { Logger } from 'pino'
import {
  type Account,
  type ClientConnection,
  type Exchange,
  type MaybePromise,
  NAMED_SCOPES,
  type ReplyingExchange,
  type RuleTraceEntry,
  type Warning,
} from '../contract/index.ts'
import { checkHeader } from '../http/server/default-headers.ts'
import { freezeJson } from '../util/json.ts'
import { isPromiseLike } from '../util/maybe-promise.ts'
import { noteThrower, runAsPlugin } from '../util/plugin-context.ts'
import { describeType } from './check-reply.ts'

/** Traces and warnings that one phase of a plugin may add. */
const MAX_ADDED = 1000

/** Characters of a text of an entry. */
const MAX_TEXT_LENGTH = 20_000

/**
 * Returns a plain copy of a trace entry, which cannot change any more. Throws a `TypeError` that says what is
 * wrong, and shows nothing of the entry.
 */
export function parseTraceEntry(value: unknown): RuleTraceEntry {
  const { kind, rule_id, name, action, outcome, origin, scope, reason, arm, excluded, excluded_count } =
    readFields(value)
  return {
    kind: checkText('kind', kind),
    rule_id: checkId('rule_id', rule_id),
    name: checkText('name', name),
    action: checkText('action', action),
    outcome: checkWord('outcome', outcome, ['applied', 'skipped']),
    ...(origin !== undefined && { origin: parseOrigin(origin) }),
    ...(scope !== undefined && { scope: checkWord('scope', scope, NAMED_SCOPES) }),
    ...(reason !== undefined && { reason: checkText('reason', reason) }),
    ...(arm !== undefined && { arm: checkText('arm', arm) }),
    ...(excluded !== undefined && { excluded: parseExcluded(excluded) }),
    ...(excluded_count !== undefined && { excluded_count: checkId('excluded_count', excluded_count) }),
  }
}

function parseExcluded(value: unknown): string[] {
  if (!Array.isArray(value) || value.length > MAX_ADDED) throw new TypeError('excluded is not a short list')
  return value.map((name) => checkText('excluded', name))
}

function parseOrigin(value: unknown): NonNullable<RuleTraceEntry['origin']> {
  const { type, id, name } = readFields(value)
  return {
    type: checkWord('origin.type', type, ['policy']),
    id: checkId('origin.id', id),
    name: checkText('origin.name', name),
  }
}

/** As `parseTraceEntry`, for a warning. */
export function parseWarning(value: unknown): Warning {
  const { code, message, scope } = readFields(value)
  return {
    code: checkText('code', code),
    message: checkText('message', message),
    ...(scope !== undefined && { scope: checkWord('scope', scope, NAMED_SCOPES) }),
  }
}

/** The fields of an object of a plugin, which may have getters that throw. */
function readFields(value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null) throw new TypeError('it is not an object')
  return value as Readonly<Record<string, unknown>>
}

function checkText(name: string, value: unknown): string {
  if (typeof value !== 'string') throw new TypeError(`${name} is not a text`)
  if (value.length > MAX_TEXT_LENGTH)
    throw new TypeError(`${name} has more than ${MAX_TEXT_LENGTH} characters`)
  return value
}

function checkId(name: string, value: unknown): number {
  if (!Number.isSafeInteger(value)) throw new TypeError(`${name} is not a whole number`)
  return value as number
}

function checkWord<Word extends string>(name: string, value: unknown, words: readonly Word[]): Word {
  if (!words.includes(value as Word)) throw new TypeError(`${name} is not ${words.join(' or ')}`)
  return value as Word
}

/** Fields that no phase sets, because the gateway relies on them until the request is recorded. */
const FIXED = [
  ...([
    'id',
    'traceId',
    'endpoint',
    'operation',
    'account',
    'client',
    'headers',
    'state',
    'startedAt',
  ] as const),
  ...(['policies', 'rulesPosition', 'received', 'preferences', 'defaulted'] as const),
  ...(['requires', 'sentDefaults', 'parameterNames', 'warnings', 'trace', 'attempts', 'res'] as const),
] satisfies readonly (keyof ReplyingExchange)[]

/**
 * Notes what an exchange has, and returns a function that checks what a plugin has added since. What it
 * replaced in place of that is put back.
 */
function watchAnnotations(exchange: ReplyingExchange): () => void {
  const { trace, warnings } = exchange
  const [traceLength, warningsLength] = [trace.length, warnings.length]
  const fixed = FIXED.map((name) => exchange[name])
  return () => {
    const replaced = FIXED.filter((name, index) => exchange[name] !== fixed[index])
    if (replaced.length > 0) {
      for (const name of replaced) Object.assign(exchange, { [name]: fixed[FIXED.indexOf(name)] })
      throw new TypeError(`it replaced ${replaced.map((name) => `exchange.${name}`).join(' and ')}`)
    }
    if (trace.length > traceLength) takeAdded('trace', trace, traceLength, parseTraceEntry)
    if (warnings.length > warningsLength) takeAdded('warnings', warnings, warningsLength, parseWarning)
  }
}

/** Replaces new entries by plain copies. Removes all of them if one is not valid. */
function takeAdded<Entry>(
  title: string,
  list: Entry[],
  start: number,
  parse: (value: unknown) => Entry,
): void {
  const added = list.splice(start)
  if (added.length > MAX_ADDED) throw new TypeError(`it added more than ${MAX_ADDED} entries to ${title}`)
  const parsed = added.map((entry, index) => {
    try {
      return parse(entry)
    } catch (thrown) {
      // What a getter throws could be anything.
      const reason = thrown instanceof TypeError ? thrown.message : 'it cannot be read'
      throw new TypeError(`it added an invalid entry: ${title}[${start + index}]: ${reason}`)
    }
  })
  list.push(...parsed)
}

/** How long a phase may still run once its client has disconnected, to clean up, in milliseconds. */
const MAX_ABORTED_MS = 1000

/** Bounds how long a request waits for one phase of a plugin package. */
class PhaseTimer {
  readonly #client: Pick<ClientConnection, 'onAbort'>
  readonly #createError: () => Error
  #limitMs: number
  #timer: NodeJS.Timeout | undefined
  #expire: (() => void) | undefined
  /** How many promises are pending whose time does not count. */
  #excluded = 0

  constructor(client: Pick<ClientConnection, 'onAbort'>, limitMs: number, createError: () => Error) {
    this.#client = client
    this.#limitMs = limitMs
    this.#createError = createError
  }

  /** Stops the clock while a promise is pending, and then starts it anew. */
  async exclude<Value>(call: () => Promise<Value>): Promise<Value> {
    this.#excluded += 1
    clearTimeout(this.#timer)
    try {
      return await call()
    } finally {
      this.#excluded -= 1
      this.#start()
    }
  }

  /**
   * Resolves or rejects like the promise. Rejects if it is still pending when the time is over, which is
   * shorter if the client disconnects. The phase is not cancelled; its later result is ignored.
   */
  async watch<Value>(promise: PromiseLike<Value>): Promise<Value> {
    const expired = new Promise<never>((_, reject) => {
      this.#expire = () => reject(this.#createError())
    })
    const unsubscribe = this.#client.onAbort(() => {
      this.#limitMs = Math.min(this.#limitMs, MAX_ABORTED_MS)
      this.#start()
    })
    this.#start()
    try {
      return await Promise.race([promise, expired])
    } finally {
      this.#expire = undefined
      clearTimeout(this.#timer)
      unsubscribe()
    }
  }

  #start(): void {
    clearTimeout(this.#timer)
    if (this.#expire !== undefined && this.#excluded === 0)
      this.#timer = setTimeout(this.#expire, this.#limitMs)
  }
}

/** What the guards of a plugin package know of it. */
export interface PluginGuard {
  /** The plugin's name in error messages. */
  readonly title: string
  /** Maximum time of one phase, in milliseconds, without that of `next()`. */
  readonly timeoutMs: number
  readonly logger: Logger
}

type Client = Pick<ClientConnection, 'isAborted' | 'onAbort'>

/** Calls the code of a plugin in a phase, and waits for its result until the time is over. */
export function runPhase<Value>(
  guard: PluginGuard,
  phase: string,
  client: Client,
  call: () => MaybePromise<Value>,
  timer?: PhaseTimer,
): MaybePromise<Value> {
  const fail = (thrown: unknown): never => {
    throw toError(thrown, guard, phase)
  }
  let result: MaybePromise<Value>
  try {
    result = runAsPlugin(guard.title, call)
    // A getter of the plugin's may throw.
    if (!isPromiseLike(result)) return result
  } catch (thrown) {
    return fail(thrown)
  }
  return (timer ?? createPhaseTimer(guard, phase, client)).watch(result).catch(fail)
}

/** Calls the code of a plugin that must not wait. A promise would count as true, or as one without fields. */
export function runSync<Value>(guard: PluginGuard, phase: string, call: () => Value): Value {
  try {
    const result = runAsPlugin(guard.title, call)
    if (!isPromiseLike(result)) return result
    throw new TypeError(`${guard.title} returned ${describeType(result)} in ${phase}, which must not wait`)
  } catch (thrown) {
    throw toError(thrown, guard, phase)
  }
}

/**
 * As `runPhase`. What the plugin adds to the trace and the warnings of the exchange is checked, too, and so
 * are its headers for calls to providers. The request is frozen: guards recognise a change by another object.
 */
export function runExchangePhase<Value>(
  guard: PluginGuard,
  phase: string,
  exchange: ReplyingExchange,
  call: () => MaybePromise<Value>,
  timer?: PhaseTimer,
): MaybePromise<Value> {
  const check = watchAnnotations(exchange)
  const checkHeaders = watchCallHeaders(exchange, guard)
  freezeJson(exchange.request)
  const finish = (value: Value): Value => {
    checkHeaders()
    try {
      check()
      freezeJson(exchange.request)
    } catch (issue) {
      const { message } = issue as TypeError
      throw toError(new TypeError(`${guard.title} failed in ${phase}: ${message}`), guard, phase)
    }
    return value
  }
  /** The error of the plugin goes first. */
  const fail = (thrown: unknown): never => {
    try {
      check()
    } catch {}
    throw thrown
  }
  let result: MaybePromise<Value>
  try {
    result = runPhase(guard, phase, exchange.client, call, timer)
  } catch (thrown) {
    return fail(thrown)
  }
  return isPromiseLike(result) ? result.then(finish, fail) : finish(result)
}

/**
 * Returns a function that wraps `headersOfCall`, if the plugin has set it since: a header that cannot be sent
 * would count as a failure of the provider.
 */
export function watchCallHeaders(exchange: ReplyingExchange, guard: PluginGuard): () => void {
  const known = exchange.headersOfCall
  return () => {
    const own = exchange.headersOfCall
    if (own === known || own === undefined) return
    exchange.headersOfCall = (target) =>
      runSync(guard, 'headersOfCall', () => {
        const headers = own(target)
        if (isPromiseLike(headers)) return headers
        for (const [name, value] of Object.entries(headers)) checkHeader(name, value)
        return headers
      })
  }
}

export function createPhaseTimer(
  { title, timeoutMs }: PluginGuard,
  phase: string,
  client: Client,
): PhaseTimer {
  return new PhaseTimer(client, timeoutMs, () => {
    const limit = client.isAborted ? 'when its client disconnected' : `within ${timeoutMs} ms`
    return new Error(`${title} did not end ${phase} ${limit} (timeouts.plugin_ms)`)
  })
}

/**
 * Returns what can be logged, and who has thrown it. What was thrown in place of an error could be a text of
 * the request, so it is not shown.
 */
export function toError(thrown: unknown, { title }: Pick<PluginGuard, 'title'>, phase: string): Error {
  const isError = isReadableError(thrown)
  const error = isError
    ? thrown
    : new TypeError(`${title} threw ${describeType(thrown)} in place of an error, in ${phase}`)
  noteThrower(error, title)
  return error
}

/** The logger reads all fields of an error, whose getters must not throw. */
function isReadableError(thrown: unknown): thrown is Error {
  try {
    if (!(thrown instanceof Error)) return false
    const { message, name } = thrown
    const stack: unknown = thrown.stack ?? ''
    for (const key in thrown) void (thrown as unknown as Record<string, unknown>)[key]
    return [message, name, stack].every((text) => typeof text === 'string')
  } catch {
    return false
  }
}

/** What requests of a user, or of everybody, have in common. */
export interface SharedFields extends Partial<Pick<Exchange, 'policies' | 'rules' | 'route'>> {
  readonly account?: Account | undefined
  /** Of requests that have ended. */
  readonly exchange?: SharedFields | undefined
}

/**
 * Freezes the account, the rules and the targets before a plugin package sees them: what it changed in them
 * would hold for later requests, too. It may replace them on its exchange.
 */
export function freezeShared({ account, policies, rules, route, exchange }: SharedFields): void {
  for (const shared of [account, policies, rules, route?.targets]) freezeJson(shared)
  if (exchange !== undefined) freezeShared(exchange)
}
