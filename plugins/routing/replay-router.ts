import { type Mode, type Model, parseMode } from '../../core/contract/index.ts'
import { costOf } from '../../core/prices/cost.ts'
import type { LoadedRouter, RouterWhatIf } from '../learned-routing/index.ts'
import { assessFeatures, decodeFeatures } from '../learned-routing/index.ts'
import type { RequestPage, RequestQuery, StoredRecord } from '../ledger/index.ts'
import { promptQuality, rankModels } from './rank-models.ts'
import type { ModeWeights } from './routing-catalog.ts'

/** What recorded requests are decided with again. */
export interface RouterReplay {
  readonly router: LoadedRouter
  /** The models that are chosen from. */
  readonly candidates: readonly Model[]
  readonly weights: ModeWeights
  /** Unix times in milliseconds. */
  readonly since: number
  readonly until: number
  readonly limit: number
}

interface RecordedRequests {
  list(query: RequestQuery): Promise<RequestPage>
  featuresOf(ids: readonly number[]): Promise<ReadonlyMap<number, Uint8Array>>
}

const PAGE_SIZE = 250

/**
 * Decides recorded automatic choices again with a version of the router, as far as their features say what
 * was asked. See docs/decisions/routing.md, "What-if decides from features".
 */
export async function replayRouter(replay: RouterReplay, ledger: RecordedRequests): Promise<RouterWhatIf> {
  const { since, until, limit, router } = replay
  const [recorded, candidate] = [new Side(), new Side()]
  let requests = 0
  let changed = 0
  let before: number | undefined
  do {
    const query = { filter: { since, until }, limit: PAGE_SIZE, ...(before !== undefined && { before }) }
    const page = await ledger.list(query)
    const chosen = page.records.filter(wasChosenAutomatically)
    const features = await ledger.featuresOf(chosen.map(({ id }) => id))
    for (const record of chosen) {
      const bytes = features.get(record.id)
      const mode = parseMode(record.mode ?? '')
      if (bytes === undefined || mode === undefined || requests === limit) continue
      const decided = decideAgain(record, mode, bytes, replay)
      requests += 1
      if (decided.model !== record.model) changed += 1
      recorded.add(record.model ?? '', (record.cost ?? 0) / 1e9, decided.recordedProbability)
      candidate.add(decided.model, decided.cost, decided.probability)
    }
    before = requests === limit ? undefined : page.next
  } while (before !== undefined)
  const { version } = router
  return { version, requests, changed, recorded: recorded.show(), candidate: candidate.show() }
}

/** Returns the best model by the version, what the request would have cost, and how good it would be. */
export function decideAgain(
  { model, tokens }: Pick<StoredRecord, 'model' | 'tokens'>,
  mode: Mode,
  features: Uint8Array,
  { router, candidates, weights }: Pick<RouterReplay, 'router' | 'candidates' | 'weights'>,
) {
  const assessment = assessFeatures(decodeFeatures(features), router)
  const { input = 0, output = 0 } = tokens ?? {}
  const requirements = { inputTokens: input, outputTokens: output, tools: false, images: false, json: 0 }
  const [best] = rankModels(
    candidates,
    requirements,
    weights[mode],
    ({ latency_ms }) => latency_ms,
    promptQuality(assessment),
  )
  return {
    model: best?.model.id ?? '',
    cost: best ? costOf(best.model, { input, output }) : 0,
    probability: best && assessment.probabilityOf(best.model.id),
    recordedProbability: assessment.probabilityOf(model ?? ''),
  }
}

/** A model that the caller names or prefers, a rule sets, a split draws or a cache keeps is no choice. */
function wasChosenAutomatically({ model, reason, status, tokens, arm }: StoredRecord): boolean {
  if (arm !== undefined || model === null || tokens === null || status !== 200) return false
  return !FIXED.test(reason ?? '')
}

const FIXED = /^(The request named|The caller prefers|A routing rule set the model|Kept for)/

/** The models that requests get, with their cost and quality. */
class Side {
  readonly #requests = new Map<string, number>()
  #total = 0
  #cost = 0
  #quality = 0
  #judged = 0

  add(model: string, cost: number, probability: number | undefined): void {
    this.#requests.set(model, (this.#requests.get(model) ?? 0) + 1)
    this.#total += 1
    this.#cost += cost
    if (probability === undefined) return
    this.#quality += probability
    this.#judged += 1
  }

  show(): RouterWhatIf['recorded'] {
    return {
      models: [...this.#requests]
        .map(([model, requests]) => ({ model, requests, share: requests / this.#total }))
        .sort((a, b) => b.requests - a.requests),
      cost_usd: Math.round(this.#cost * 1e9) / 1e9,
      quality: this.#judged === 0 ? null : this.#quality / this.#judged,
    }
  }
}
