import { type Action, type Static, StrictObject, StringEnum, Type } from '../../core/contract/index.ts'
import { ModelName } from '../../core/dialects/schema-types.ts'
import type { Catalog } from '../../providers/shared/catalog.ts'
import { drawArm } from './draw.ts'
import { STICKINESS, splitSubject } from './split-subject.ts'

const MAX_ARMS = 20
const MAX_WEIGHT = 1_000_000

const Arms = Type.Array(
  StrictObject({
    model: ModelName,
    weight: Type.Number({
      minimum: 0,
      maximum: MAX_WEIGHT,
      description: 'Its share, compared with the others.',
    }),
  }),
  { minItems: 2, maxItems: MAX_ARMS, description: 'The models to choose from.' },
)

const StickySplit = StrictObject({
  arms: Arms,
  sticky_by: Type.Optional(StringEnum(STICKINESS, { description: 'What always gets the same model.' })),
})

type SplitValue = Static<typeof Arms> | Static<typeof StickySplit>

function toSplit(value: SplitValue): Static<typeof StickySplit> {
  return 'arms' in value ? value : { arms: value }
}

/**
 * The action that sends shares of the requests to different models (docs/guides/rules.md, "Splits"). `seed`
 * makes
 * the draws of this gateway differ from those of others; all its processes must have the same.
 */
export function createSplitAction(catalog: Pick<Catalog, 'find'>, seed: string): Action {
  return {
    name: 'split',
    schema: Type.Union([Arms, StickySplit]),
    description:
      `a list of 2 to ${MAX_ARMS} models such as [{"model": "gpt-4o", "weight": 90}, …], ` +
      'or an object such as {"arms": […], "sticky_by": "user"}',
    combine: 'first',
    chooses: 'model',
    findIssue(value) {
      const { arms } = toSplit(value as SplitValue)
      const entries = arms.map(({ model }) => catalog.find(model))
      const unknown = arms.find((_, index) => entries[index] === undefined)
      if (unknown !== undefined) return unknownModelIssue('split', unknown.model)
      const repeated = arms.find((_, index) => entries.indexOf(entries[index]) !== index)
      if (repeated !== undefined) return `split names the model ${repeated.model} twice. Name it once.`
      if (arms.every(({ weight }) => weight === 0)) return 'split must have a weight above 0.'
    },
    choose(value, input, ruleId) {
      // Rules are checked when they are written.
      const { arms, sticky_by } = toSplit(value as SplitValue)
      const { model } = drawArm(arms, [seed, String(ruleId)], splitSubject(input, sticky_by))
      return { value: model, arm: model }
    },
    apply(value, draft) {
      draft.model = String(value)
      draft.isDrawn = true
    },
  }
}

/** The issue of an action that names a model which does not exist. */
export function unknownModelIssue(action: string, model: string): string {
  return `${action} names the model ${model}, which is not in the catalogue. GET /v1/models lists the models.`
}
