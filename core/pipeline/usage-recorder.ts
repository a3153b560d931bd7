import {
  type Attempt,
  type EndedExchange,
  GatewayError,
  type Host,
  type RepliedExchange,
  type ReplyEvent,
  slot,
  type Target,
  type Usage,
} from '../contract/index.ts'
import { NATIVE, TEXT_RUN } from '../contract/native-records.ts'
import { textOfPart } from '../inspection/reply-request.ts'
import { roundUsd } from '../prices/cost.ts'
import { askedTerms } from '../prices/price-terms.ts'
import { estimateInputTokens } from '../tokens/prompt-tokens.ts'
import { estimateTextTokens, tokenizerOf } from '../tokens/text-tokens.ts'
import { type AnswerCheck, createAnswerCheck } from './answer-check.ts'

/** The reply is one that was stored before: it costs nothing. Set by the plugin that answers with it. */
export const StoredReply = slot<true>('stored-reply')

/** The fields of an exchange that reading its reply sets. */
type UsageState = {
  -readonly [Field in 'usage' | 'finishReason' | 'costUsd' | 'answerIssues']?: RepliedExchange[Field]
}

type CostOf = Host['costOf']

/** Types of parts with content of the reply other than text. */
const OTHER_CONTENT: ReadonlySet<string> = new Set([
  'image',
  'extra',
  'tool-start',
  'embedding',
  'moderation',
])

/**
 * Records the usage, the finish reason and the cost of one reply on its exchange. See docs/decisions/cost.md,
 * "The cost is computed once, in core, and rounded to billionths of a dollar".
 */
export class UsageRecorder {
  readonly #exchange: EndedExchange
  readonly #costOf: CostOf
  /** UTF-8 bytes of what the model has produced so far. */
  #replyBytes = 0
  /** The first text, up to `SAMPLE_CHARACTERS`: it tells how many bytes a token has. */
  #sample = ''
  /** The first run, whose text is read only if it is needed. */
  #firstRun: ReplyEvent | undefined
  #hasEnded = false
  /** Content that is not counted as text. */
  #hasOtherContent = false
  #unread: string | undefined
  readonly #check: AnswerCheck | undefined

  constructor(exchange: EndedExchange, costOf: CostOf) {
    this.#exchange = exchange
    this.#costOf = costOf
    this.#check = createAnswerCheck(exchange.request)
  }

  record(event: ReplyEvent): void {
    const run = event[TEXT_RUN]
    if (run !== undefined && this.#check === undefined) {
      this.#replyBytes += run.textBytes
      this.#firstRun ??= event
      return
    }
    const state: UsageState = this.#exchange
    for (const part of event.parts) {
      if (part.type === 'usage') state.usage = part.usage
      else if (part.type === 'finish') state.finishReason = part.reason
      else if (part.type === 'unread') this.#addUnread(part.name, event)
      else {
        if (OTHER_CONTENT.has(part.type)) this.#hasOtherContent = true
        const text = textOfPart(part)
        this.#replyBytes += Buffer.byteLength(text)
        if (this.#sample.length < SAMPLE_CHARACTERS) this.#sample += text
        this.#check?.add(part)
      }
    }
  }

  /** Clients of the same format get a record as it is. */
  #addUnread(name: string, event: ReplyEvent): void {
    if (event[NATIVE] !== undefined) this.#hasOtherContent = true
    this.#unread ??= name
  }

  /**
   * Returns the error for a complete reply of which nothing could be read: an empty success would hide that
   * it was paid for.
   */
  unreadError(): GatewayError | undefined {
    if (this.#unread === undefined || this.#replyBytes > 0 || this.#hasOtherContent) return undefined
    const message = `The provider's reply holds nothing but ${this.#unread}, which cannot be read.`
    return new GatewayError('provider_error', message, { headers: { 'x-should-retry': 'false' } })
  }

  /** The reply is complete. Records its cost. */
  complete(): void {
    if (this.#hasEnded) return
    this.#hasEnded = true
    const check = this.#check
    if (check !== undefined) (this.#exchange as UsageState).answerIssues = () => check.issues()
    recordCost(this.#exchange, this.#exchange.target, this.#costOf)
  }

  /**
   * The reply failed or its client disconnected. Estimates the usage if the provider has not reported it
   * (docs/decisions/cost.md, "A reply that ends early is estimated").
   */
  endEarly(): void {
    if (this.#hasEnded) return
    this.#hasEnded = true
    if (hasCalledProvider(this.#exchange)) this.#estimateUsage()
    recordCost(this.#exchange, this.#exchange.target, this.#costOf)
  }

  #estimateUsage(): void {
    const { usage, finishReason, target } = this.#exchange
    // Some providers report a usage with every record; the last one that arrived may lag behind the text.
    const output = Math.max(usage?.output ?? 0, this.#estimateOutput())
    if (usage === undefined) setEstimate(this.#exchange, estimateUsage(this.#exchange, target, output))
    else if (finishReason === undefined) setEstimate(this.#exchange, { ...usage, output })
  }

  #estimateOutput(): number {
    const run = this.#firstRun?.parts.map(textOfPart).join('') ?? ''
    const text = this.#sample + run.slice(0, SAMPLE_CHARACTERS)
    const tokens = estimateTextTokens(text, tokenizerOf(this.#exchange.target?.model ?? ''))
    return text === '' ? 0 : Math.ceil((tokens * this.#replyBytes) / Buffer.byteLength(text))
  }
}

const SAMPLE_CHARACTERS = 2048

/**
 * Estimates what a request used of a target that has got it, and reports no usage: `costOf` returns what that
 * costs at most.
 */
function estimateUsage(
  { request, operation }: Pick<EndedExchange, 'request' | 'operation'>,
  target: Target | undefined,
  output = 0,
): Usage {
  const input = estimateInputTokens(request, target, operation)
  return { input, output, ...askedTerms(request), isEstimated: true }
}

/**
 * Records the cost of a request that failed before its reply was read, if a provider may have worked for it.
 * See docs/decisions/cost.md, "What may have been executed is counted".
 */
export function recordUnreadCost(exchange: EndedExchange, costOf: CostOf): void {
  const { costUsd, reply } = exchange
  if (costUsd !== undefined) return
  if (reply !== undefined) {
    const recorder = new UsageRecorder(exchange, costOf)
    if (reply.type === 'whole') recorder.record(reply.event)
    recorder.endEarly()
    return
  }
  const unanswered = unansweredAttempt(exchange)
  if (unanswered === undefined) return
  setEstimate(exchange, estimateUsage(exchange, unanswered.target))
  recordCost(exchange, unanswered.target, costOf)
}

/** The target whose usage the exchange has: the one that replied, or the last one that may bill its call. */
export function billedTarget(exchange: EndedExchange): Target | undefined {
  return exchange.target ?? unansweredAttempt(exchange)?.target
}

/** The last provider call that failed or was cancelled, and may be billed. */
function unansweredAttempt({ attempts }: EndedExchange): Attempt | undefined {
  return attempts.findLast(({ mayBeBilled }) => mayBeBilled)
}

/**
 * False if a plugin answered without a provider. A plugin that calls one of its own sets the target. See
 * docs/decisions/cache.md, "A hit costs nothing and has the usage of the first reply".
 */
function hasCalledProvider(exchange: EndedExchange): boolean {
  if (StoredReply.of(exchange)) return false
  return exchange.target !== undefined || exchange.attempts.length > 0
}

function setEstimate(state: UsageState, usage: Usage): void {
  state.usage = { ...usage, isEstimated: true }
}

function recordCost(exchange: EndedExchange, target: Target | undefined, costOf: CostOf): void {
  const state: UsageState = exchange
  state.costUsd = findCost(exchange, target, costOf)
}

/** See docs/decisions/cost.md, "An unknown cost is null". */
function findCost(exchange: EndedExchange, target: Target | undefined, costOf: CostOf): number | null {
  if (!hasCalledProvider(exchange)) return 0
  const { usage, attempts } = exchange
  const cost = target === undefined || usage === undefined ? null : (costOf(usage, target) ?? null)
  return attempts.length > 1 && cost !== null ? addFailedCalls(cost, exchange, costOf) : cost
}

/** Adds the costs of the other calls that may be billed; null if one is unknown. */
function addFailedCalls(cost: number, exchange: EndedExchange, costOf: CostOf): number | null {
  const counted = exchange.target === undefined ? unansweredAttempt(exchange) : undefined
  let sum = cost
  for (const attempt of exchange.attempts) {
    if (!attempt.mayBeBilled || attempt === counted) continue
    const added = costOf(estimateUsage(exchange, attempt.target), attempt.target)
    if (added === undefined) return null
    sum += added
  }
  return roundUsd(sum)
}

/**
 * What a request used at providers: nothing, the tokens that were reported, or unknown. A reply that came
 * without a provider call, such as a cached one, used nothing; so did failed calls that are not billed.
 */
type ProviderUse = 'nothing' | 'unknown' | Usage

export function providerUseOf({ attempts, usage }: Pick<EndedExchange, 'attempts' | 'usage'>): ProviderUse {
  // A client that disconnects does not stop the provider's work at once.
  if (attempts.some(({ mayBeBilled }) => mayBeBilled)) return 'unknown'
  if (!attempts.some(({ outcome }) => outcome === 'ok')) return 'nothing'
  return usage ?? 'unknown'
}
