import type { Route, RoutingDraft, RuleTraceEntry, Warning } from '../../core/contract/index.ts'
import { buildAutomaticRoute, buildFixedRoute, findTarget } from './choose-model.ts'
import type { RuleDecision } from './compile.ts'
import type { RequestedModel } from './requested-model.ts'
import type { RoutingCatalog } from './routing-catalog.ts'

export interface RouteResolution {
  readonly route: Route
  readonly warnings: readonly Warning[]
  readonly trace: readonly RuleTraceEntry[]
}

/** Where the request goes: what the rules ask for, else what it asks for itself (docs/routing.md, "Rules and the requested model"). */
export function resolveRoute(
  requested: RequestedModel,
  { draft, trace }: RuleDecision,
  preferences: readonly string[],
  market: RoutingCatalog,
): RouteResolution {
  const skipped = whyModelIsSkipped(draft, market)
  if (skipped === undefined) {
    const usedTrace =
      draft.model === undefined ? trace : markSkipped(trace, 'set_mode', 'mode_unused_model_pinned')
    return {
      route: findRoute(requested, draft, preferences, market),
      warnings: draft.warnings,
      trace: usedTrace,
    }
  }
  const { model: _, ...rest } = draft
  return {
    route: findRoute(requested, rest, preferences, market),
    warnings: [...draft.warnings, { code: 'routing', message: skipped.message }],
    trace: markSkipped(trace, 'set_model', skipped.reason),
  }
}

function findRoute(
  requested: RequestedModel,
  draft: RoutingDraft,
  preferences: readonly string[],
  market: RoutingCatalog,
): Route {
  const { request, model, provider } = draft
  const requestedMode = requested.type === 'auto' ? requested.mode : 'balance'
  const mode = draft.mode ?? requestedMode
  if (model !== undefined) {
    return buildFixedRoute(
      findTarget(model, provider, market),
      requestedMode,
      `a routing rule set the model ${model}`,
      request,
      market,
    )
  }
  if (provider !== undefined) {
    const why = `a routing rule set the provider ${provider}`
    return buildAutomaticRoute(mode, why, { request, provider, preferences: [] }, market)
  }
  if (draft.mode !== undefined) {
    return buildAutomaticRoute(
      mode,
      `a routing rule set the mode ${mode}`,
      { request, preferences: [] },
      market,
    )
  }
  if (requested.type === 'auto') {
    return buildAutomaticRoute(mode, `best for the mode ${mode}`, { request, preferences }, market)
  }
  const target = findTarget(requested.model, requested.provider, market)
  return buildFixedRoute(target, mode, 'the request named the model', request, market)
}

/** A rule's model that cannot be used: the provider stays, the model is left out, and the caller hears of it. */
function whyModelIsSkipped({ model, provider }: RoutingDraft, { catalog }: RoutingCatalog) {
  if (model === undefined) return undefined
  const entry = catalog.find(model)
  if (provider === undefined && entry === undefined) {
    const message = `The model ${model} that a routing rule sets is not in the catalogue; it was not used.`
    return { reason: 'model_not_found', message }
  }
  if (provider !== undefined && entry !== undefined && catalog.find(model, provider) === undefined) {
    const message = `The model ${model} is not offered by ${provider}; the best model of ${provider} was used.`
    return { reason: 'model_not_offered_by_provider', message }
  }
  return undefined
}

function markSkipped(
  trace: readonly RuleTraceEntry[],
  action: string,
  reason: string,
): readonly RuleTraceEntry[] {
  return trace.map((entry) =>
    entry.action === action && entry.outcome === 'applied' ? { ...entry, outcome: 'skipped', reason } : entry,
  )
}
