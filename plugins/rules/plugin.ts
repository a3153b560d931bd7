import { definePlugin, type Endpoint, service } from '../../core/contract/index.ts'
import { createBatchEndpoint } from './batch.ts'
import { OWN_RULES, RuleScopes } from './rule-scopes.ts'

/** The endpoints for rules as a file. The gateway creates them: a file has what several plugins declare. */
export type RulesFileEndpoints = readonly Endpoint[]

const RulesFile = service<RulesFileEndpoints>('rules.file')

/** Serves `POST /v1/rules/batch`, atomic changes to rules of all kinds, and rules as a file. */
export default definePlugin({
  name: 'rules',
  after: ['auth', 'plan'],
  uses: { rules: RuleScopes, file: RulesFile },
  setup: (_, { use: { rules, file } }) => ({
    endpoints: [createBatchEndpoint(OWN_RULES, rules.kinds, rules.own.commands, rules.own), ...file],
  }),
})
