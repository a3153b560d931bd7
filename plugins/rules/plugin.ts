import type { Endpoint, Plugin } from '../../core/contract/index.ts'
import type { RuleCommandSet } from './batch.ts'
import { createBatchEndpoint, type RuleApis } from './batch-endpoint.ts'
import type { RuleServices } from './rule-commands.ts'
import { OWN_RULES } from './rule-scope.ts'

/** Serves `POST /v1/rules/batch`, atomic changes to rules of both kinds, and rules as a file. */
export function createRules(
  kinds: RuleApis,
  commands: RuleCommandSet,
  services: RuleServices,
  fileEndpoints: readonly Endpoint[],
): Plugin {
  return {
    name: 'rules',
    after: ['auth', 'plan'],
    setup: () => ({
      endpoints: [createBatchEndpoint(OWN_RULES, kinds, commands, services), ...fileEndpoints],
    }),
  }
}
