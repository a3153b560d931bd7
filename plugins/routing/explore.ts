import type { Mode, Model, RouterChoice } from '../../core/contract/index.ts'
import { costOf } from '../../core/prices/cost.ts'
import type { PromptAssessment } from '../learned-routing/index.ts'
import { compareIds, type RankedModel } from './rank-models.ts'
import type { Requirements } from './requirements.ts'

/** What a model that is drawn may cost at most, as a multiple of the best one's cost in the mode. */
const PRICE_CAPS: Readonly<Record<Mode, number>> = {
  cost: 2,
  balance: 5,
  latency: 5,
  quality: Number.POSITIVE_INFINITY,
}

export interface DrawnModel {
  readonly chosen: RankedModel
  readonly propensity: number
}

/**
 * Draws a model in the share `explore` of choices, each within the price cap of the mode with the same
 * probability. Returns the best one otherwise, with the probability of this choice. See
 * docs/decisions/routing.md, "A draw follows from the request id".
 */
export function drawModel(
  best: RankedModel,
  ranked: readonly RankedModel[],
  mode: Mode,
  { inputTokens, outputTokens }: Requirements,
  { explore, draws: [whether, which] }: PromptAssessment,
): DrawnModel {
  const usage = { input: inputTokens, output: outputTokens }
  const cap = PRICE_CAPS[mode] * costOf(best.model, usage)
  // Not <=: without a cap, that of a free model is not a number.
  const isDrawable = ({ model }: RankedModel) => model === best.model || !(costOf(model, usage) > cap)
  // Measured latencies are part of the rank, and gone when the decision is made again.
  const drawable = ranked.filter(isDrawable).sort((a, b) => compareIds(a.model.id, b.model.id))
  const share = explore / drawable.length
  const drawn = whether < explore ? drawable[Math.floor(which * drawable.length)] : undefined
  if (drawn === undefined || drawn.model === best.model)
    return { chosen: best, propensity: 1 - explore + share }
  return { chosen: drawn, propensity: share }
}

/** Returns what the router contributed to the choice; undefined if there was nothing to contribute. */
export function toRouterChoice(
  assessment: PromptAssessment | undefined,
  { id }: Model,
  propensity: number | null,
): RouterChoice | undefined {
  if (assessment === undefined) return undefined
  const { version } = assessment
  if (version === 0 && propensity === null) return undefined
  return { version, probability: assessment.probabilityOf(id) ?? null, propensity }
}
