import type { ChatRequest, Mode, Model, RoutingRule } from '../../core/contract/index.ts'
import { createOperatorRegistry } from '../../core/pipeline/registries.ts'
import { compileRouting } from '../../plugins/routing/compile.ts'
import { evaluateRouting } from '../../plugins/routing/evaluate.ts'
import { builtInConditions, createBuiltInActions } from '../../plugins/routing/operators.ts'
import { buildRoutingInput, parseRequestedModel } from '../../plugins/routing/requested-model.ts'
import { type RouteResolution, resolveRoute } from '../../plugins/routing/resolve-route.ts'
import type { ModeWeights, RoutingCatalog } from '../../plugins/routing/routing-catalog.ts'
import { type Capabilities, createCatalog } from '../../providers/shared/catalog.ts'
import { patternRun } from './pattern-run.ts'

/** As shipped (docs/guides/routing.md, "Automatic choice"). */
export const WEIGHTS: ModeWeights = {
  balance: { cost: 40, quality: 40, latency: 20 },
  cost: { cost: 80, quality: 10, latency: 10 },
  quality: { cost: 10, quality: 80, latency: 10 },
  latency: { cost: 10, quality: 10, latency: 80 },
}

/** A market of these models, all well, of configured providers that take everything, but for what is said. */
export function market(models: readonly Model[], said: Partial<RoutingCatalog> = {}): RoutingCatalog {
  const everything: Capabilities = { json: 'schema', logit_bias: true, seed: true }
  return {
    catalog: createCatalog(models),
    weights: WEIGHTS,
    latencyOf: ({ latency_ms }) => latency_ms,
    capabilitiesOf: (provider) => (provider === 'away' ? undefined : everything),
    isUsable: () => true,
    ...said,
  }
}

export function buildChatRequest(said: Partial<ChatRequest> = {}): ChatRequest {
  return { messages: [{ role: 'user', content: 'Which track?' }], ...said }
}

/** Every provider that tests may name; `away` is not configured. */
const PROVIDERS: ReadonlySet<string> = new Set(['acme', 'other', 'away'])

/** Sends a request through the rules and on to a route, as the routing plugin does. */
export async function routeFor(
  from: RoutingCatalog,
  request: ChatRequest,
  rules: readonly { match?: object; action: object }[] = [],
  preferences: readonly string[] = [],
): Promise<RouteResolution> {
  const vocabulary = createOperatorRegistry()
  vocabulary.add('routing', { conditions: builtInConditions, actions: createBuiltInActions(PROVIDERS) })
  const routing = rules.map(({ match = {}, action }, index) => rule(index + 1, match, action))
  const compiled = await compileRouting(
    { ownerId: 1, position: 0, routing, firewall: [], tool: [] },
    vocabulary,
  )
  const requested = parseRequestedModel(request.model, { providers: PROVIDERS })
  const mode: Mode = requested.type === 'auto' ? requested.mode : 'balance'
  const account = { userId: 1, name: 'demo', plan: 'paid' as const, keyId: 'key', position: 0 }
  const input = buildRoutingInput(account, request, mode, 'req_1')
  const decision = await evaluateRouting(compiled, input, patternRun)
  return resolveRoute(requested, decision, { userId: 1, preferences }, from)
}

function rule(id: number, match: object, action: object): RoutingRule {
  return {
    id,
    user_id: 1,
    name: `rule ${id}`,
    is_enabled: true,
    priority: 0,
    match_json: { ...match },
    action_json: { ...action },
    created_at: '',
    updated_at: '',
    revision: 1,
  }
}
