import { type ChatRequest, isJsonObject, type JsonObject } from '../../core/contract/index.ts'
import { requestTexts } from '../../core/inspection/request-texts.ts'
import { chain, type MaybePromise } from '../../core/util/maybe-promise.ts'
import type { CompiledFirewall, CompiledFirewallRule } from './compile.ts'
import {
  type EvaluationOptions,
  evaluateFirewall,
  type FirewallOutcome,
  type RequestTexts,
  type WrittenByRules,
} from './evaluate.ts'
import { refuseBy } from './refusal.ts'

/** A request that still changes after this many further looks is refused: masks undo each other. */
export const MAX_LOOKS = 6

/** Adds what rules did to the record of the request, and throws their refusal. */
type ReportOutcome = (outcome: FirewallOutcome, isAgain: boolean) => void

/**
 * One walk of a request over sets of rules, which then look again at the texts that changed since, until all
 * of them hold for what is sent. See docs/decisions/firewall.md, "What rules forbid is not sent".
 */
export class RuleWalk {
  readonly #evaluation: EvaluationOptions
  readonly #report: ReportOutcome
  readonly #isAgain: boolean
  readonly #looks: Look[] = []

  /** `isAgain`: the rules have looked at the request before others changed it. */
  constructor(evaluation: EvaluationOptions, report: ReportOutcome, isAgain = false) {
    this.#evaluation = evaluation
    this.#report = report
    this.#isAgain = isAgain
  }

  /** No set has rules to evaluate. */
  get isEmpty(): boolean {
    return this.#looks.length === 0
  }

  /**
   * Returns the metadata that a response repeats after the masks of the sets that were visited. Metadata that
   * is not sent is not inspected otherwise.
   */
  async maskUnsent(metadata: JsonObject): Promise<JsonObject> {
    const settled = await this.#maskOther({ messages: [], store: true, metadata }, this.#evaluation)
    return isJsonObject(settled.metadata) ? settled.metadata : {}
  }

  /** The same for messages that are recorded with the request. Rejects if a mask does not finish. */
  async maskRecorded(messages: ChatRequest['messages']): Promise<ChatRequest['messages']> {
    const masked = await this.#maskOther({ messages }, { ...this.#evaluation, onTimeout: 'refuse' })
    return masked.messages
  }

  async #maskOther(other: ChatRequest, evaluation: EvaluationOptions): Promise<ChatRequest> {
    const reportRefusal: ReportOutcome = (outcome, isAgain) =>
      this.#report({ ...outcome, warnings: [], trace: [] }, isAgain)
    const walk = new RuleWalk({ ...evaluation, shared: undefined, onlyMasks: true }, reportRefusal)
    let request = other
    for (const { firewall } of this.#looks)
      if (firewall.hasMasks) request = await walk.visit(firewall, request)
    return walk.settle(request)
  }

  get hasMasks(): boolean {
    return this.#looks.some(({ firewall }) => firewall.hasMasks)
  }

  /** Evaluates the next set. Returns the request after its masks. */
  visit(firewall: CompiledFirewall, request: ChatRequest): MaybePromise<ChatRequest> {
    if (firewall.rules.length === 0) return request
    return chain(this.#evaluate(firewall, request), (outcome) => {
      this.#report(outcome, this.#isAgain)
      this.#looks.push(new Look(firewall, request, outcome))
      return outcome.request
    })
  }

  #evaluate(firewall: CompiledFirewall, request: ChatRequest): MaybePromise<FirewallOutcome> {
    if (!this.#isAgain) return evaluateFirewall(firewall, request, this.#evaluation)
    return chain(requestTexts(request), (texts) => {
      const earlier = { texts, known: NONE, written: new Map() }
      return evaluateFirewall(firewall, request, { ...this.#evaluation, earlier })
    })
  }

  /** Returns the request in which no set finds anything more. Throws if it is refused. */
  settle(request: ChatRequest): MaybePromise<ChatRequest> {
    return this.#looks.every((look) => look.holdsFor(request)) ? request : this.#lookAgain(request)
  }

  async #lookAgain(request: ChatRequest): Promise<ChatRequest> {
    let current = request
    let masking: CompiledFirewallRule | undefined
    const texts = new CollectedTexts(this.#evaluation.shared)
    for (const { collected } of this.#looks) texts.add(collected)
    for (let looks = 0; looks < MAX_LOOKS; looks++) {
      const before = await texts.of(current)
      for (const [index, look] of this.#looks.entries()) {
        if (look.holdsFor(current)) continue
        const { firewall } = look
        const earlier = {
          texts: await texts.of(current),
          known: await look.knownTexts(texts),
          written: look.written,
        }
        const outcome = await evaluateFirewall(firewall, current, { ...this.#evaluation, earlier })
        this.#report(outcome, true)
        this.#looks[index] = new Look(firewall, current, outcome, look.written)
        if (outcome.request !== current) masking = outcome.masking ?? masking
        current = outcome.request
      }
      if (this.#looks.every((look) => look.holdsFor(current))) return current
      const after = await texts.of(current)
      // Masks that have undone each other would do so again.
      if (after.length === before.length && after.every((text, index) => text === before[index])) break
    }
    if (masking !== undefined) this.#report(refusedOutcome(current, masking), true)
    throw new Error('The request was changed without a mask.')
  }
}

/** What a set of rules has seen of a request. */
class Look {
  readonly firewall: CompiledFirewall
  /** See `EarlierLook`. */
  readonly written: WrittenByRules
  /** The texts of the request after the masks, if they are known. */
  readonly collected: RequestTexts | undefined
  readonly #before: ChatRequest
  readonly #after: ChatRequest

  constructor(
    firewall: CompiledFirewall,
    before: ChatRequest,
    { request, written, texts }: FirewallOutcome,
    earlier: WrittenByRules = new Map(),
  ) {
    this.firewall = firewall
    this.#before = before
    this.#after = request
    this.written = written ?? earlier
    this.collected = texts && { request, texts }
  }

  /**
   * Whether the rules need not look at a request. Those of a policy look again at what their own masks wrote;
   * among the rules of a user, the order decides.
   */
  holdsFor(request: ChatRequest): boolean {
    return request === (this.firewall.isPolicy ? this.#before : this.#after)
  }

  /** The texts that the rules have seen, and that they left as they were. */
  async knownTexts(texts: CollectedTexts): Promise<ReadonlySet<string>> {
    const after = await texts.setOf(this.#after)
    if (!this.firewall.isPolicy || this.#before === this.#after) return after
    const before = await texts.of(this.#before)
    return new Set(before.filter((text) => after.has(text)))
  }
}

/** The texts of requests, collected once for all sets of rules. */
class CollectedTexts {
  readonly #lists = new Map<ChatRequest, readonly string[]>()
  readonly #sets = new Map<ChatRequest, ReadonlySet<string>>()

  constructor(known: Partial<RequestTexts> | undefined) {
    this.add(known)
  }

  add({ request, texts }: Partial<RequestTexts> = {}): void {
    if (request !== undefined && texts !== undefined) this.#lists.set(request, texts)
  }

  async of(request: ChatRequest): Promise<readonly string[]> {
    const texts = this.#lists.get(request) ?? (await requestTexts(request))
    this.#lists.set(request, texts)
    return texts
  }

  async setOf(request: ChatRequest): Promise<ReadonlySet<string>> {
    const set = this.#sets.get(request) ?? new Set(await this.of(request))
    this.#sets.set(request, set)
    return set
  }
}

const NONE: ReadonlySet<string> = new Set()

function refusedOutcome(request: ChatRequest, masking: CompiledFirewallRule): FirewallOutcome {
  return { request, refusal: refuseBy(masking, 'unsettled'), warnings: [], trace: [], unfinished: [] }
}
