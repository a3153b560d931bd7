import { StrictObject, StringEnum, Type } from '../../core/contract/index.ts'
import { BALANCES } from '../../providers/shared/deployments.ts'
import { attributeFields } from './attribute-schema.ts'

const Limit = (description: string) => Type.Optional(Type.Integer({ minimum: 1, description }))

/** An entry of `deployments` of a provider. */
const Deployment = StrictObject({
  id: Type.String({
    pattern: '^[a-z0-9][a-z0-9._-]{0,63}$',
    description: 'Name of the deployment: header x-deployment, records and metrics say it.',
  }),
  base_url: Type.Optional(
    Type.String({ pattern: '^https?://', description: 'Default: base_url of the provider.' }),
  ),
  key: Type.Optional(
    Type.String({
      pattern: '^[A-Z][A-Z0-9_]*$',
      description: 'Environment variable that holds the API key. Default: the key of the provider.',
    }),
  ),
  model: Type.Optional(
    Type.String({
      minLength: 1,
      description: 'Model name in requests, such as the name of an Azure deployment. Default: as routed.',
    }),
  ),
  weight: Type.Optional(
    Type.Number({ exclusiveMinimum: 0, maximum: 1000, default: 1, description: 'Share of the requests.' }),
  ),
  ...attributeFields,
  requests_per_minute: Limit('Requests per minute, over all processes.'),
  tokens_per_minute: Limit('Tokens per minute, over all processes.'),
  max_concurrent: Limit('Requests at the same time, over all processes.'),
})

/** The fields of a provider that has several deployments (docs/guides/deployments.md). */
export const deploymentFields = {
  deployments: Type.Optional(
    Type.Array(Deployment, {
      minItems: 1,
      maxItems: 100,
      description: 'Endpoints or keys that serve the same models, with limits of their own.',
    }),
  ),
  balance: Type.Optional(
    StringEnum(BALANCES, {
      default: 'weighted',
      description:
        'How requests are divided among the deployments: by weight, to the one with the least in flight, ' +
        'or to the fastest.',
    }),
  ),
}
