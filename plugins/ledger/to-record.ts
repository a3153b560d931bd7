import {
  type Account,
  type EndedExchange,
  GatewayError,
  isJsonObject,
  type Route,
  type RouterChoice,
} from '../../core/contract/index.ts'
import { fromKoaError } from '../../core/http/errors.ts'
import { sessionOf } from '../../core/http/session-header.ts'
import { withoutMedia } from '../../core/inspection/map-request.ts'
import { parseTraceEntry, parseWarning } from '../../core/pipeline/guard-phase.ts'
import { billedTarget, StoredReply } from '../../core/pipeline/usage-recorder.ts'
import { isCost, toNanoUsd } from '../../core/prices/cost.ts'
import { countChars } from '../../core/util/json.ts'
import { assumedCostOf, costOfEnded } from './ended-cost.ts'
import { readPromptChecksum, readSignals } from './read-signals.ts'
import { CopyOf, RecordedFeatures } from './slots.ts'
import type {
  LedgerRecord,
  PromptContent,
  PromptOmission,
  RecordedError,
  RecordedPrompt,
  RecordedReply,
  RecordedTokens,
} from './store/record.ts'

/** The response of a request, as far as it is known. */
export interface RequestOutcome {
  readonly id: string
  readonly traceId: string | undefined
  readonly account: Account
  readonly groups: readonly number[]
  readonly endpoint: string
  readonly status: number
  readonly error: unknown
  readonly isAborted: boolean
  /** `performance.now()`, like `endedAt`. */
  readonly startedAt: number
  readonly endedAt: number
  /** Undefined if the body could not be read or parsed. */
  readonly exchange: EndedExchange | undefined
  readonly prompt: RecordedPrompt | null
}

/** A client disconnected before there was a response to it, as in the logs of other servers. */
const STATUS_DISCONNECTED = 499

const DISCONNECTED: RecordedError = { code: 'client_disconnected', status: STATUS_DISCONNECTED }

/** Returns the record of a request. Only its prompt refers to text of the request, which stays in memory. */
export function toLedgerRecord(outcome: RequestOutcome): LedgerRecord {
  const { id, account, groups, endpoint, isAborted, startedAt, endedAt, exchange, prompt } = outcome
  const isUnanswered = isAborted && exchange?.reply === undefined
  const status = isUnanswered ? STATUS_DISCONNECTED : outcome.status
  const route = exchange?.route
  const target = exchange && billedTarget(exchange)
  const isStream = exchange?.request.stream === true
  const record: RecordDraft = {
    requestId: id,
    userId: account.userId,
    keyId: account.keyId,
    groups,
    endpoint,
    requestedModel: exchange?.request.model ?? null,
    mode: route?.mode ?? null,
    reason: route?.reason ?? null,
    status,
    error: isUnanswered ? DISCONNECTED : toRecordedError(outcome.error, status, exchange),
    provider: target?.provider ?? null,
    model: target?.model ?? null,
    attempts: toAttempts(exchange, startedAt),
    rules: shareRules(exchange?.trace ?? []),
    rulesPosition: exchange?.rulesPosition ?? 0,
    warnings: shareWarnings(exchange?.warnings ?? []),
    tokens: toTokens(exchange),
    cost: toCost(exchange),
    latencyMs: Math.round(endedAt - startedAt),
    firstTokenMs: isStream ? firstTokenMs(exchange, startedAt) : null,
    isStream,
    isCacheHit: exchange !== undefined && StoredReply.of(exchange) === true,
    isAborted,
    traceId: outcome.traceId ?? null,
    prompt,
  }
  if (target?.deployment !== undefined) record.deployment = target.deployment
  if (exchange !== undefined) {
    const times = toTimes(exchange, startedAt)
    if (times !== undefined) record.times = times
    addRouting(record, exchange)
    const sessionId = sessionOf(exchange.headers)
    if (sessionId !== undefined) record.sessionId = sessionId
    addSignals(record, exchange)
    const assumed = assumedCostOf(exchange)
    if (assumed !== undefined) record.assumedCost = assumed
  }
  return record
}

/** A record that is being written. Optional fields are set, because a spread of each takes longer. */
type RecordDraft = { -readonly [Field in keyof LedgerRecord]: LedgerRecord[Field] }

/** Adds what only requests of learned routing, splits and shadows have. */
function addRouting(record: RecordDraft, exchange: EndedExchange): void {
  const { route } = exchange
  if (route?.router) record.router = routerChoiceOf(route, route.router, record.model)
  if (route?.arm !== undefined) record.arm = route.arm
  const copyOf = CopyOf.of(exchange)
  if (copyOf !== undefined) record.shadowOf = copyOf.requestId
  if (copyOf?.isOwn) record.isOwnCopy = true
  const features = RecordedFeatures.of(exchange)
  if (features !== undefined) record.features = features
}

function addSignals(record: RecordDraft, exchange: EndedExchange): void {
  const signals = readSignals(exchange)
  if (signals.length > 0) record.signals = signals
  const checksum = readPromptChecksum(exchange)
  if (checksum !== undefined) record.promptChecksum = checksum
}

/** A router's figures are those of its first choice. They would be wrong for a model that stood in for it. */
function routerChoiceOf({ targets }: Route, router: RouterChoice, model: string | null): RouterChoice {
  if (model === null || model === targets[0].model) return router
  return { version: router.version, probability: null, propensity: null }
}

/** What a request cost, and whose copy it is. A cost that is unknown is null; 0 if nothing was sold. */
export function toRecordedCosts(
  exchange: EndedExchange,
): Pick<LedgerRecord, 'cost' | 'assumedCost' | 'shadowOf' | 'isOwnCopy'> {
  const [cost, assumedCost] = [costOfEnded(exchange), assumedCostOf(exchange)]
  const copyOf = CopyOf.of(exchange)
  return {
    cost: cost === 'unknown' ? null : cost,
    ...(assumedCost !== undefined && { assumedCost }),
    ...(copyOf !== undefined && { shadowOf: copyOf.requestId }),
    ...(copyOf?.isOwn && { isOwnCopy: true }),
  }
}

/** Nano-dollars; null if they are unknown. 0 if no provider replied: nothing was sold then. */
function toCost(exchange: EndedExchange | undefined): number | null {
  const { costUsd = 0 } = exchange ?? {}
  return isCost(costUsd) ? toNanoUsd(costUsd) : null
}

function toTokens(exchange: EndedExchange | undefined): RecordedTokens | null {
  if (exchange?.usage === undefined) return null
  const { input, output, cached = 0, cacheWrite = 0, reasoning = 0 } = exchange.usage
  return { input, cached, cacheWrite, output, reasoning }
}

const NONE: readonly [] = []

function toAttempts(exchange: EndedExchange | undefined, arrivedAt: number): LedgerRecord['attempts'] {
  if (exchange === undefined || exchange.attempts.length === 0) return NONE
  return exchange.attempts.map(({ target: { provider, model, deployment }, outcome, startedAt, ms }) => {
    const startMs = Math.round(startedAt - arrivedAt)
    const attempt = { provider, model, outcome, ms: Math.round(ms), startMs }
    return deployment === undefined ? attempt : { ...attempt, deployment }
  })
}

function toTimes({ admittedAt, readAt, decidedAt }: EndedExchange, arrivedAt: number): LedgerRecord['times'] {
  // Copies for other models are not read.
  if (admittedAt === undefined || readAt === undefined) return undefined
  const [admittedMs, readMs] = [Math.round(admittedAt - arrivedAt), Math.round(readAt - arrivedAt)]
  return decidedAt === undefined
    ? [admittedMs, readMs]
    : [admittedMs, readMs, Math.round(decidedAt - arrivedAt)]
}

/** Milliseconds until the first event of the stream that was sent on. */
function firstTokenMs(exchange: EndedExchange | undefined, startedAt: number): number | null {
  const last = exchange?.attempts.at(-1)
  return last?.outcome === 'ok' ? Math.round(last.startedAt + last.ms - startedAt) : null
}

/** Lists that later records may share. */
const MAX_SHARED_LISTS = 256

/** Entries of one list. */
const MAX_LIST_LENGTH = 100_000

/**
 * Copies a list, whose items are checked. One that is equal to the latest that began with the same item
 * shares its copy: the rules of a user usually produce the same entries for each request. Throws a
 * `TypeError` if a plugin has added what is no such item.
 */
function createListCopier<Item>(parse: (item: unknown) => Item): (items: readonly Item[]) => readonly Item[] {
  const latest = new Map<Item, { readonly items: readonly Item[]; readonly copy: readonly Item[] }>()
  return (items) => {
    if (!Array.isArray(items)) throw new TypeError('a list was replaced by something else')
    if (items.length === 0) return NONE
    // The cast is safe, as `items` is not empty; an item that is undefined is refused below.
    const first = items[0] as Item
    const last = latest.get(first)
    if (last?.items.length === items.length && items.every((item, index) => item === last.items[index]))
      return last.copy
    if (items.length > MAX_LIST_LENGTH) throw new TypeError(`a list has more than ${MAX_LIST_LENGTH} entries`)
    const copy = items.map(parse)
    if (latest.size >= MAX_SHARED_LISTS) latest.clear()
    latest.set(first, { items: items.slice(), copy })
    return copy
  }
}

const shareRules = createListCopier(parseTraceEntry)
const shareWarnings = createListCopier(parseWarning)

/** Returns what the record keeps of an error; null if there was none. */
function toRecordedError(
  thrown: unknown,
  status: number,
  exchange: EndedExchange | undefined,
): RecordedError | null {
  if (thrown === undefined) return status < 400 ? null : { code: 'refused', status }
  const error = fromKoaError(thrown) ?? thrown
  if (!GatewayError.isInstance(error)) return { code: 'internal_error', status: 500 }
  const { code, details } = error
  const ruleId = details.meta?.rule_id
  return {
    code,
    status: error.status,
    message: quotesRequest(error, exchange) ? describeRejection(error) : withoutQuote(error),
    ...(details.param !== undefined && { param: details.param }),
    ...(typeof ruleId === 'number' && { ruleId }),
  }
}

function withoutQuote({ message, details: { quoted } }: GatewayError): string {
  return quoted ? message.replaceAll(quoted, '…') : message
}

/** Of errors that are a provider's if it was asked. */
const QUOTING_CODES: ReadonlySet<string> = new Set(['model_not_found', 'context_length_exceeded'])

/** Providers repeat rejected input in their messages, which are passed on to the caller. */
function quotesRequest({ code }: GatewayError, exchange: EndedExchange | undefined): boolean {
  if (code === 'provider_refused') return true
  return QUOTING_CODES.has(code) && (exchange?.attempts.length ?? 0) > 0
}

function describeRejection({ code, wireCode }: GatewayError): string {
  return `The provider rejected the request${wireCode === code ? '' : ` (${wireCode})`}.`
}

export type RecordPrompts = 'off' | 'masked' | 'full'

export interface PromptSettings {
  readonly recordPrompts: RecordPrompts
  /** Longer prompts are not recorded. */
  readonly maxPromptChars: number
  /** Names of the request headers that are recorded: those that conditions of rules declare. */
  headers(): readonly string[]
}

/**
 * Returns what is recorded of the prompt of a request. `isMasked`: all its text has passed the firewall. See
 * docs/decisions/prompt-recording.md, "Masked means that nothing unmasked is kept".
 */
export function toRecordedPrompt(
  exchange: EndedExchange,
  isMasked: boolean,
  { recordPrompts, maxPromptChars, headers: listHeaders }: PromptSettings,
  reply?: RecordedReply,
): RecordedPrompt | null {
  if (recordPrompts === 'off') return null
  const omit = (omission: PromptOmission) => omitPrompt(recordPrompts, omission)
  if (recordPrompts === 'masked' && !isMasked) return omit('refused')
  const source = recordPrompts === 'full' ? exchange.received : exchange.request
  const leftOut: PromptContent['leftOut'][number][] = []
  let request = withoutMedia(source)
  if (request !== source) leftOut.push('media')
  // The firewall does not inspect headers, nor metadata that is not sent to a provider.
  const found = pickHeaders(exchange.headers, listHeaders())
  const headers = recordPrompts === 'full' ? found : undefined
  if (recordPrompts === 'masked' && isJsonObject(request.metadata) && request.store !== true) {
    const { metadata, ...rest } = request
    request = rest as typeof request
    leftOut.push('metadata')
  }
  if (found !== headers) leftOut.push('headers')
  const promptChars = countChars(headers ? { request, headers } : request, maxPromptChars)
  if (promptChars > maxPromptChars) return omit('too_long')
  const chars = promptChars + (reply ? countChars(reply, maxPromptChars) : 0)
  const { preferences, defaulted } = exchange
  const content = {
    request,
    preferences,
    defaulted,
    leftOut,
    ...(headers && { headers }),
    ...(reply && { reply }),
  }
  return { mode: recordPrompts, content, omission: null, chars }
}

/** Returns the named headers that a request has; undefined if it has none of them. */
function pickHeaders(
  headers: EndedExchange['headers'],
  names: readonly string[],
): PromptContent['headers'] | undefined {
  const found = names.flatMap((name) => {
    const value = headers[name]
    return value === undefined ? [] : [[name, String(value)] as const]
  })
  return found.length === 0 ? undefined : Object.fromEntries(found)
}

/** Returns the record of a prompt that is not recorded. */
export function omitPrompt(mode: RecordedPrompt['mode'], omission: PromptOmission): RecordedPrompt {
  return { mode, content: null, omission, chars: 0 }
}
