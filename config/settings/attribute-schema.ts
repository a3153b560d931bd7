import { Type } from '../../core/contract/index.ts'

export const REGION = { pattern: '^[A-Za-z0-9][A-Za-z0-9-]{0,63}$' }

/** Attributes of a model, a provider or a deployment (docs/guides/data-residency.md). */
export const attributeFields = {
  region: Type.Optional(
    Type.String({
      ...REGION,
      description: 'Where requests are processed, such as eu or eu-west-1.',
    }),
  ),
  zdr: Type.Optional(
    Type.Boolean({ description: 'Whether zero data retention is agreed with the provider.' }),
  ),
  retention_days: Type.Optional(
    Type.Number({ minimum: 0, description: 'Days for which the provider keeps requests and replies.' }),
  ),
  trains_on_data: Type.Optional(
    Type.Boolean({ description: 'Whether the provider trains models on requests and replies.' }),
  ),
}
