import { definePlugin, optional } from '../../core/contract/index.ts'
import { Callers } from '../../projections/callers.ts'
import { RULE_KINDS } from '../../projections/rules.ts'
import { GatewayState } from '../../projections/state.ts'
import { LearnedRouting } from '../learned-routing/index.ts'
import { Ledger } from '../ledger/index.ts'
import { ToolDecisions } from '../mcp/index.ts'
import { Responses } from '../responses/index.ts'
import { RuleScopes } from '../rules/index.ts'
import { createChangedObjectReader } from './audit-entries.ts'
import { createAuditEndpoint, createDiffEndpoint, createHistoryEndpoints } from './endpoints.ts'
import { createEvidenceEndpoints, EVIDENCE_ERROR_CODES } from './evidence-endpoints.ts'
import { createLogEndpoint } from './log-endpoint.ts'
import { createLostRaceFinder } from './lost-races.ts'
import { createLogReader } from './read-log.ts'
import type { AuditServices } from './services.ts'
import { createAdminSimulationEndpoint, createSimulationEndpoint } from './simulation.ts'

/**
 * Gives users access to their event history: audit, diff, revert and simulate (docs/api.md, "History and
 * audit").
 */
export default definePlugin({
  name: 'audit',
  after: ['auth', 'plan', 'firewall', 'routing'],
  uses: {
    state: GatewayState,
    rules: RuleScopes,
    callers: Callers,
    learned: LearnedRouting,
    ledger: Ledger,
    responses: optional(Responses),
    toolDecisions: optional(ToolDecisions),
  },
  setup(_, host) {
    const { state, rules, callers, learned, ledger, responses, toolDecisions } = host.use
    const services: AuditServices = {
      ...state,
      ...rules.own,
      policyCommands: rules.ofPolicies.commands,
      callers,
      replay: learned?.replay,
      toolDecisions,
      findRequest: ledger.lookUp,
      async findToolCall(id) {
        await ledger.settle()
        const [call] = await ledger.listToolCalls({ filter: { id }, limit: 1, withArguments: true })
        return call
      },
      findResponse: async (...of) => responses?.find(...of),
    }
    return {
      errorCodes: EVIDENCE_ERROR_CODES,
      endpoints: [
        ...RULE_KINDS.flatMap((kind) => createHistoryEndpoints(services.kinds[kind], services)),
        createAuditEndpoint(services),
        createLogEndpoint(
          createLogReader(
            host.log,
            services.timeline,
            services.history,
            createLostRaceFinder(services),
            state.identities.identitiesOf,
          ),
          createChangedObjectReader(host.log, services.history, services.kinds),
          services.policies,
        ),
        createDiffEndpoint(services),
        ...createEvidenceEndpoints(services.evidence),
        createSimulationEndpoint(services, host),
        createAdminSimulationEndpoint(services, host),
      ],
    }
  },
})
