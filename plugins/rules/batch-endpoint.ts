import { type EndpointResponse, endpoint, type Static, Type } from '../../core/contract/index.ts'
import { repeatable } from '../../core/http/idempotency.ts'
import { Success, WarningSchema } from '../../core/http/schemas.ts'
import { WRITE_ERRORS } from '../../core/resources/endpoints.ts'
import type { RuleKindName } from '../../projections/rules.ts'
import { RuleBatch, type RuleCommandSet, replayOperations, toRuleChanges } from './batch.ts'
import { readRuleChange } from './replay.ts'
import { executeRuleChanges, type RuleChangeResult, type RuleServices } from './rule-commands.ts'
import type { RuleApi } from './rule-kind.ts'
import type { RuleScope } from './rule-scope.ts'

export type RuleApis = Readonly<Record<RuleKindName, { readonly api: RuleApi }>>

const OperationWarning = Type.Object(
  {
    ...WarningSchema.properties,
    operation: Type.Integer({ minimum: 0, description: 'Index of the operation that the warning is about.' }),
  },
  { $id: 'RuleOperationWarning', description: 'A warning about a rule after its change.' },
)

/** Creates `…/rules/batch`: atomic changes to rules of both kinds. */
export function createBatchEndpoint(
  scope: RuleScope,
  { routing, firewall }: RuleApis,
  commands: RuleCommandSet,
  services: RuleServices,
) {
  const BatchResult = Type.Union([routing.api.schema, firewall.api.schema, Success], {
    $id: 'RuleOperationResult',
    description: 'A rule after its change, or the success of a deletion.',
  })
  const [newRoutingRule] = Object.values(routing.api.examples)
  const [newFirewallRule] = Object.values(firewall.api.examples)
  return repeatable(
    endpoint({
      method: 'POST',
      path: `${scope.path}/rules/batch`,
      params: scope.params,
      access: scope.write,
      operationId: `change${scope.operation}Rules`,
      summary: 'Applies several changes to rules of both kinds atomically.',
      tags: ['rules'],
      body: RuleBatch,
      examples: {
        create: {
          operations: [
            { kind: 'routing', op: 'create', data: newRoutingRule },
            { kind: 'firewall', op: 'create', data: newFirewallRule },
          ],
        },
        change: {
          operations: [
            { kind: 'routing', op: 'update', id: 7, data: { priority: 1 } },
            { kind: 'firewall', op: 'delete', id: 8, revision: 1 },
          ],
        },
      },
      responses: {
        200: {
          description: 'All changes were made.',
          body: Type.Object(
            {
              data: Type.Array(BatchResult, { description: 'One result for each operation, in order.' }),
              warnings: Type.Optional(
                Type.Array(OperationWarning, { description: 'Warnings; missing if there are none.' }),
              ),
            },
            { $id: 'RuleOperationResultList', description: 'The results.' },
          ),
        },
      },
      errors: [...['invalid_rule', 'not_found', 'revision_mismatch', 'validation_error'], ...WRITE_ERRORS],
      async handle(call) {
        const ownerId = scope.ownerOf(call)
        services.writer.checkAvailable()
        const changes = await toRuleChanges(call.body, commands, ownerId)
        return toBatchResponse(await executeRuleChanges(changes, services, ownerId, call.author))
      },
    }),
    async (call, change) => {
      const past = await readRuleChange(change, services.history, scope.ownerOf(call, true))
      // The same body as that of the first request, which was valid.
      return toBatchResponse(await replayOperations(call.body as Static<typeof RuleBatch>, past, commands))
    },
  )
}

function toBatchResponse(results: readonly RuleChangeResult[]): EndpointResponse {
  const data = results.map((result) => (result.type === 'rule' ? result.shown : { success: true }))
  const warnings = results.flatMap((result, operation) =>
    result.type === 'rule' ? result.warnings.map((warning) => ({ ...warning, operation })) : [],
  )
  return { status: 200, body: { data, ...(warnings.length > 0 && { warnings }) } }
}
