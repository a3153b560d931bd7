import { StrictObject, StringEnum, Type } from '../../core/contract/index.ts'

/** Learned routing (docs/guides/learned-routing.md). */
export const RoutingSettings = StrictObject({
  learned: StringEnum(['off', 'shadow', 'on'], {
    description:
      'Whether features of prompts are kept and the active version of the router is evaluated (shadow), ' +
      'and decides about the quality of models as well (on).',
  }),
  explore: Type.Number({
    minimum: 0,
    maximum: 0.2,
    description:
      'The share of automatic choices that are drawn from all models within the price cap of the mode, so ' +
      'that versions can be judged. Requires learned: on.',
  }),
  activate: StringEnum(['manual', 'when_better', 'when_better_on_known_kinds'], {
    description:
      'Whether operators activate versions, or a new version is activated if its interval is above the ' +
      'baselines and it is not below them on kinds of prompts that it has not seen (when_better), or only ' +
      'if its interval is above them (when_better_on_known_kinds).',
  }),
  train_every_hours: Type.Integer({
    minimum: 0,
    maximum: 8760,
    description: 'Hours after which a new version is trained for everyone. 0: only on demand.',
  }),
  train_days: Type.Integer({
    minimum: 1,
    maximum: 3650,
    description: 'Ratings of this many days are trained from.',
  }),
  min_ratings: Type.Integer({
    minimum: 20,
    maximum: 1_000_000,
    description: 'Ratings below which no version is trained.',
  }),
  min_model_ratings: Type.Integer({
    minimum: 20,
    maximum: 1_000_000,
    description: 'Ratings of a model below which its constant of the catalogue counts.',
  }),
})
