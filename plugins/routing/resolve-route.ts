import type {
  Operation,
  Route,
  RoutingDraft,
  RuleTraceEntry,
  Target,
  Warning,
} from '../../core/contract/index.ts'
import { isRetired } from '../../providers/shared/catalog.ts'
import type { PromptAssessment } from '../learned-routing/index.ts'
import { buildAutomaticRoute, buildFixedRoute, findFamilyProvider, findTarget } from './build-route.ts'
import type { RuleDecision } from './evaluate.ts'
import type { StickyChoice } from './kept-model.ts'
import type { RequestedModel } from './requested-model.ts'
import type { Demand } from './require-action.ts'
import { operationOf } from './requirements.ts'
import type { RoutingCatalog } from './routing-catalog.ts'

export interface RouteResolution {
  readonly route: Route
  readonly warnings: readonly Warning[]
  readonly trace: readonly RuleTraceEntry[]
}

/** What the rules decided. */
export type RuleOutcome = Pick<RuleDecision, 'draft' | 'trace' | 'chosenBy'>

/** What the route depends on besides the request and the rules. */
export interface RouteCaller {
  readonly userId: number
  /** The models that the key is restricted to. */
  readonly models?: readonly string[]
  /** Names of preferred models, most preferred first. */
  readonly preferences: readonly string[]
  /** See `Exchange`. */
  readonly parameterNames?: Readonly<Record<string, string>>
  /** What the learned router knows about the prompt; undefined while it is off. */
  readonly assessment?: PromptAssessment | undefined
  /** What the rules require of the target. */
  readonly demand?: Demand | undefined
  /** See `AutomaticChoice`. */
  readonly conversation?: StickyChoice | undefined
}

/**
 * Resolves the route of a request (docs/guides/routing.md, "Rules and the requested model"): rules take
 * precedence
 * over the requested model. Throws a `GatewayError` if there is no route.
 */
export function resolveRoute(
  requested: RequestedModel,
  { draft, trace, chosenBy }: RuleOutcome,
  caller: RouteCaller,
  routingCatalog: RoutingCatalog,
): RouteResolution {
  const unusable = findUnusableModel(draft, routingCatalog)
  if (unusable === undefined) {
    const isModeUnused = draft.model !== undefined
    const route = findRoute(requested, draft, caller, routingCatalog)
    return {
      route,
      warnings: addRetirementWarning(draft.warnings, route),
      trace: isModeUnused ? markSkipped(trace, chosenBy.get('mode'), 'mode_unused_model_pinned') : trace,
    }
  }
  const { model: _, ...draftWithoutModel } = draft
  return {
    route: findRoute(requested, draftWithoutModel, caller, routingCatalog),
    warnings: [...draft.warnings, { code: 'routing', message: unusable.message }],
    trace: markSkipped(trace, chosenBy.get('model'), unusable.reason),
  }
}

/** The provider has the last word about a retired model: it may still serve some accounts. */
function addRetirementWarning(warnings: readonly Warning[], { targets }: Route): readonly Warning[] {
  const [{ provider, model, entry }] = targets
  if (entry === undefined || !isRetired(entry)) return warnings
  const message =
    `By the catalogue, ${provider} retired ${model} on ${entry.retires}. ` +
    'Name another model, or a routing mode such as auto:balance.'
  return [...warnings, { code: 'model_retired', message }]
}

function findRoute(
  requested: RequestedModel,
  { request, model, provider, mode, isDrawn = false }: RoutingDraft,
  caller: RouteCaller,
  routingCatalog: RoutingCatalog,
): Route {
  const requestedMode = requested.type === 'auto' ? requested.mode : 'balance'
  if (model !== undefined) {
    const target = findTarget(model, provider, routingCatalog)
    if (isDrawn) {
      const reason = `a split of a routing rule drew the model ${model}`
      const route = buildFixedRoute(target, requestedMode, reason, request, routingCatalog, caller)
      return { ...route, arm: target.model }
    }
    const reason = `a routing rule set the model ${model}`
    return buildFixedRoute(target, requestedMode, reason, request, routingCatalog, caller)
  }
  const isKept = provider !== undefined && mode === undefined
  const kept = isKept ? findRequestedModel(requested, provider, routingCatalog) : undefined
  if (kept !== undefined) {
    const reason = `the request named the model, and a routing rule set the provider ${provider}`
    return buildFixedRoute(kept, requestedMode, reason, request, routingCatalog, caller)
  }
  if (provider !== undefined) {
    const reason = `a routing rule set the provider ${provider}`
    const choice = { ...caller, request, provider, preferences: [] }
    return buildAutomaticRoute(mode ?? requestedMode, reason, choice, routingCatalog)
  }
  if (mode !== undefined) {
    const reason = `a routing rule set the mode ${mode}`
    return buildAutomaticRoute(mode, reason, { ...caller, request, preferences: [] }, routingCatalog)
  }
  if (requested.type === 'auto') {
    const reason = `best model for the mode ${requestedMode}`
    return buildAutomaticRoute(requestedMode, reason, { request, ...caller }, routingCatalog)
  }
  const target = findTarget(requested.model, requested.provider, routingCatalog)
  const reason = 'the request named the model'
  return buildFixedRoute(target, requestedMode, reason, request, routingCatalog, caller)
}

/**
 * The model that the request names, at the provider that a rule sets, if any. Undefined if that provider does
 * not offer it, or only for another operation.
 */
export function findRequestedModel(
  requested: RequestedModel,
  provider: string | undefined,
  routingCatalog: RoutingCatalog,
  operation?: Operation,
): Target | undefined {
  if (requested.type === 'auto') return undefined
  const { model } = requested
  if (provider === undefined) return findTarget(model, requested.provider, routingCatalog)
  const entry = routingCatalog.catalog.find(model, provider)
  const isOffered =
    entry === undefined
      ? (requested.provider ?? findFamilyProvider(model)) === provider
      : operation === undefined || operationOf(entry) === operation
  return isOffered ? findTarget(model, provider, routingCatalog) : undefined
}

/**
 * Returns why the model set by a rule cannot be used, undefined if it can. It is then ignored, with a
 * warning.
 */
export function findUnusableModel({ model, provider }: RoutingDraft, { catalog }: RoutingCatalog) {
  if (model === undefined) return undefined
  const entry = catalog.find(model)
  if (provider === undefined && entry === undefined) {
    const message = `The model ${model}, set by a routing rule, is not in the catalogue and was ignored.`
    return { reason: 'model_not_found', message }
  }
  if (provider !== undefined && entry !== undefined && catalog.find(model, provider) === undefined) {
    const message = `Provider ${provider} does not offer the model ${model}; its best model was used instead.`
    return { reason: 'model_not_offered_by_provider', message }
  }
  return undefined
}

/** Returns the trace with an action as skipped that was applied. */
export function markSkipped(
  trace: readonly RuleTraceEntry[],
  action: string | undefined,
  reason: string,
): readonly RuleTraceEntry[] {
  return trace.map((entry) =>
    entry.action === action && entry.outcome === 'applied' ? { ...entry, outcome: 'skipped', reason } : entry,
  )
}
