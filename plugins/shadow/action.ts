import { type Action, type Static, StrictObject, slot, Type } from '../../core/contract/index.ts'
import { ModelName } from '../../core/dialects/schema-types.ts'
import type { Catalog } from '../../providers/shared/catalog.ts'
import { drawNumber, unknownModelIssue } from '../routing/index.ts'

/** The model that an action named. */
export const namedModel = slot<unknown>('shadow.model')

const Shadow = StrictObject({
  model: ModelName,
  sample: Type.Number({
    exclusiveMinimum: 0,
    maximum: 1,
    description: 'The share of the requests that are copied.',
  }),
})

type ShadowValue = Static<typeof Shadow>

/** The action that sends copies of requests to another model. `seed`: see `createSplitAction`. */
export function createShadowAction(catalog: Pick<Catalog, 'find'>, seed: string): Action {
  return {
    name: 'shadow',
    schema: Shadow,
    description: 'an object such as {"model": "gpt-4o", "sample": 0.1}, with a sample above 0 and at most 1',
    combine: 'first',
    chooses: 'copy',
    findIssue(value) {
      const { model } = value as ShadowValue
      return catalog.find(model) === undefined ? unknownModelIssue('shadow', model) : undefined
    },
    choose(value, { requestId }, ruleId) {
      const { model, sample } = value as ShadowValue
      const isSampled = sample === 1 || drawNumber([seed, 'shadow', String(ruleId), requestId]) < sample
      return isSampled ? { value: model, arm: model } : { skipped: 'not_sampled' }
    },
    apply(value, draft) {
      namedModel.set(draft, value)
    },
  }
}
