import type { JsonObject } from '../../core/contract/index.ts'
import { batchSchema } from '../rules/batch.ts'
import { userErrors } from './errors.ts'
import { describeOperation } from './operation.ts'
import { cheap, mask } from './rules.ts'
import { data, list, ref, success } from './schema.ts'

export const batchPaths: JsonObject = {
  '/v1/rules/batch': {
    post: describeOperation({
      id: 'changeRules',
      tag: 'rules',
      summary: 'Makes several changes to rules of both kinds together, or none.',
      body: {
        schema: ref('RuleBatch'),
        examples: {
          create: {
            operations: [
              { kind: 'routing', op: 'create', data: cheap },
              { kind: 'firewall', op: 'create', data: mask },
            ],
          },
          change: {
            operations: [
              { kind: 'routing', op: 'update', id: 7, data: { priority: 1 } },
              { kind: 'firewall', op: 'delete', id: 8, revision: 1 },
            ],
          },
        },
      },
      answers: {
        200: data(list({ anyOf: [ref('RoutingRule'), ref('FirewallRule'), success] })),
        ...userErrors('Error', 400, 403, 404, 409, 412, 413, 422, 507),
      },
    }),
  },
}

export const batchSchemas: JsonObject = {
  RuleBatch: batchSchema,
}
