import type { KeptChoice, Mode, Model, Usage } from '../../core/contract/index.ts'
import { costOf, roundUsd } from '../../core/prices/cost.ts'
import type { RankedModel } from './rank-models.ts'
import type { Requirements } from './requirements.ts'

/** What is known of the last turn of a conversation. It is stored as JSON. */
export interface RememberedTurn {
  readonly mode: Mode
  readonly provider: string
  readonly model: string
  readonly deployment?: string
  /** Tokens of the prompt, as the provider counted them and as the gateway had estimated them. */
  readonly input: number
  readonly estimated: number
  /** Tokens of the prompt that its provider is expected to have cached for the next turn. */
  readonly cached: number
  /** Unix time in milliseconds. */
  readonly at: number
}

/** The model of the last turn that comes first again. */
export interface KeptModel {
  readonly ranked: RankedModel
  readonly deployment?: string | undefined
  /** Undefined if it is the best model anyway. */
  readonly kept: KeptChoice | undefined
}

/** Decides whether a conversation stays with its model. */
export interface StickyChoice {
  /** `fitting`: the models that fit the request best, best first. All are allowed, usable and able. */
  choose(mode: Mode, fitting: readonly RankedModel[], requirements: Requirements): KeptModel | undefined
}

/** A conversation, whose last turn is known if there was one. */
export class Conversation implements StickyChoice {
  /** Where the next turn will look for it. */
  readonly nextKeys: readonly string[]
  readonly #last: RememberedTurn | undefined
  #asked: { readonly mode: Mode; readonly estimated: number } | undefined

  constructor(nextKeys: readonly string[], last: RememberedTurn | undefined) {
    this.nextKeys = nextKeys
    this.#last = last
  }

  choose(mode: Mode, fitting: readonly RankedModel[], requirements: Requirements): KeptModel | undefined {
    this.#asked = { mode, estimated: requirements.inputTokens }
    const last = this.#last
    const [best] = fitting
    if (last?.mode !== mode || best === undefined) return undefined
    const ranked = findRanked(fitting, last)
    if (ranked === undefined) return undefined
    const { deployment } = last
    if (ranked === best) return { ranked, deployment, kept: undefined }
    if (isOtherPrompt(last, requirements.inputTokens)) return undefined
    const kept = findSaving(last, ranked.model, best.model, requirements)
    return kept && { ranked, deployment, kept }
  }

  /**
   * Returns what the next turn should know; undefined if this request says nothing about the conversation: it
   * was rerouted, or sent another prompt.
   */
  nextTurn(mode: Mode, { provider, id, price }: Model, usage: Usage): Omit<RememberedTurn, 'at'> | undefined {
    const [last, asked] = [this.#last, this.#asked]
    if (asked?.mode !== mode || (last && isOtherPrompt(last, asked.estimated))) return undefined
    const isSame = last?.provider === provider && last.model === id
    const cached = cachedForNextTurn(price, usage, isSame ? last : undefined)
    return { mode, provider, model: id, input: usage.input, estimated: asked.estimated, cached }
  }
}

/** A request that is decided again: its model is kept as it was then. */
export class RecordedConversation implements StickyChoice {
  readonly #recorded: RecordedKept

  constructor(recorded: RecordedKept) {
    this.#recorded = recorded
  }

  /** In another mode, the choice would have begun anew. */
  choose(mode: Mode, fitting: readonly RankedModel[]): KeptModel | undefined {
    if (mode !== this.#recorded.mode) return undefined
    const ranked = findRanked(fitting, this.#recorded)
    return ranked && { ranked, kept: {} }
  }
}

type RecordedKept = Pick<RememberedTurn, 'provider' | 'model'> & { readonly mode: string | null }

function findRanked(fitting: readonly RankedModel[], { provider, model }: Omit<RecordedKept, 'mode'>) {
  return fitting.find(({ model: { id, provider: own } }) => own === provider && id === model)
}

/**
 * Clients send other prompts in the same session: titles, sub-agents. One of less than half the length does
 * not continue the conversation.
 */
function isOtherPrompt({ estimated }: RememberedTurn, inputTokens: number): boolean {
  return inputTokens < estimated / 2
}

/**
 * Compares what the request costs with its cached prefix and with a model that has none. Undefined if it
 * saves nothing. See docs/guides/prompt-caches.md, "When a model is kept".
 */
function findSaving(
  last: RememberedTurn,
  kept: Model,
  best: Model,
  { inputTokens, outputTokens: output }: Requirements,
): KeptChoice | undefined {
  const input = Math.round(inputTokens * (last.input / Math.max(1, last.estimated)))
  const cached = Math.min(last.cached, input)
  if (cached === 0) return undefined
  const costOfUsage = (model: Model, cached: number) => {
    const cacheWrite = model.price.cache_write === undefined ? 0 : input - cached
    return costOf(model, { input, output, cached, cacheWrite })
  }
  const saving = costOfUsage(best, 0) - costOfUsage(kept, cached)
  if (!(saving > 0)) return undefined
  const { provider, id } = best
  return { insteadOf: `${provider}/${id}`, cachedTokens: cached, savingUsd: roundUsd(saving) }
}

/** The shortest prompt that providers cache by themselves. */
const MIN_CACHED_TOKENS = 1024

/**
 * Returns how many tokens of a prompt its provider has cached for the next turn. Where writing is billed,
 * usage says it. Other providers cache prompts by themselves, but not always: the share of the earlier prompt
 * that they found this time is expected again.
 */
function cachedForNextTurn(price: Model['price'], usage: Usage, earlier: RememberedTurn | undefined): number {
  const { input, cached = 0, cacheWrite = 0 } = usage
  if (price.cache_write !== undefined || cacheWrite > 0) return cached + cacheWrite
  if (price.cached === undefined) return 0
  if (input < MIN_CACHED_TOKENS) return cached
  if (earlier === undefined || earlier.input < MIN_CACHED_TOKENS) return input
  return Math.round(input * Math.min(1, cached / Math.min(earlier.input, input)))
}
