import { GatewayError, type Operation, type RoutingDraft, type Warning } from '../../core/contract/index.ts'
import { buildAutomaticRoute, buildFixedRoute, findTarget } from './build-route.ts'
import type { RequestedModel } from './requested-model.ts'
import { operationOf } from './requirements.ts'
import {
  findRequestedModel,
  findUnusableModel,
  markSkipped,
  type RouteCaller,
  type RouteResolution,
  type RuleOutcome,
} from './resolve-route.ts'
import type { RoutingCatalog } from './routing-catalog.ts'

interface OperationCaller extends RouteCaller {
  readonly operation: Exclude<Operation, 'chat'>
}

/**
 * Resolves the route of a request that is not a chat (docs/guides/routing.md, "Embeddings"). The provider of
 * a rule
 * is always kept; a rule's model of another operation is replaced by one of its provider; and the mode of a
 * rule does not replace a named model. Throws a `GatewayError` if there is no route. See
 * docs/decisions/routing.md, "Rules keep the provider of an embedding, and modes keep its model".
 */
export function resolveOperationRoute(
  requested: RequestedModel,
  { draft, trace, chosenBy }: RuleOutcome,
  caller: OperationCaller,
  routingCatalog: RoutingCatalog,
): RouteResolution {
  const unusable = findUnusable(draft, caller, routingCatalog)
  const { model, provider } = unusable ? { ...draft, model: undefined, ...unusable.instead } : draft
  const dimensions = findDimensions(requested, draft, routingCatalog)
  const warnings = [...draft.warnings, ...(unusable ? [toRoutingWarning(unusable.message)] : [])]
  const ruleTrace = unusable ? markSkipped(trace, chosenBy.get('model'), unusable.reason) : trace
  const asked = { ...caller, dimensions }

  const fixed = findFixedModel(requested, { model, provider }, caller, routingCatalog)
  if (fixed?.isRequested !== true && dimensions !== undefined)
    draft.request = { ...draft.request, dimensions }
  if (fixed !== undefined) {
    const route = buildFixedRoute(
      fixed.target,
      modeOf(requested),
      fixed.reason,
      draft.request,
      routingCatalog,
      asked,
    )
    const isArm = draft.isDrawn === true && !fixed.isRequested
    return {
      route: isArm ? { ...route, arm: fixed.target.model } : route,
      warnings,
      trace: markSkipped(ruleTrace, chosenBy.get('mode'), 'mode_unused_model_pinned'),
    }
  }
  if (caller.operation === 'embeddings') {
    if (dimensions === undefined) throw missingDimensionsError()
    warnings.push(toRoutingWarning(AUTOMATIC_VECTORS))
  }
  const mode = draft.mode ?? modeOf(requested)
  const reason =
    provider === undefined ? `best model for the mode ${mode}` : `a routing rule set the provider ${provider}`
  const choice = { ...asked, request: draft.request, preferences: [], ...(provider && { provider }) }
  return { route: buildAutomaticRoute(mode, reason, choice, routingCatalog), warnings, trace: ruleTrace }
}

function modeOf(requested: RequestedModel) {
  return requested.type === 'auto' ? requested.mode : 'balance'
}

/** A model of a rule that is ignored, and the provider that stands in for it. */
interface UnusableModel {
  readonly reason: string
  readonly message: string
  readonly instead?: Pick<RoutingDraft, 'provider'>
}

function findUnusable(
  draft: RoutingDraft,
  { operation }: OperationCaller,
  routingCatalog: RoutingCatalog,
): UnusableModel | undefined {
  const unusable = findUnusableModel(draft, routingCatalog)
  if (unusable !== undefined || draft.model === undefined) return unusable
  const entry = routingCatalog.catalog.find(draft.model, draft.provider)
  if (entry === undefined || operationOf(entry) === operation) return undefined
  const { provider } = entry
  const message =
    `The model ${draft.model}, set by a routing rule, is not for ${operation}; ` +
    `a model of its provider ${provider} was used instead.`
  return { reason: 'model_of_another_operation', message, instead: { provider } }
}

/** The model that a rule or the request names. The request's does not count with another provider. */
function findFixedModel(
  requested: RequestedModel,
  { model, provider }: { readonly [Field in 'model' | 'provider']: string | undefined },
  { operation }: OperationCaller,
  routingCatalog: RoutingCatalog,
) {
  if (model !== undefined) {
    const target = findTarget(model, provider, routingCatalog)
    return { target, reason: `a routing rule set the model ${model}`, isRequested: false }
  }
  const target = findRequestedModel(requested, provider, routingCatalog, operation)
  return target && { target, reason: 'the request named the model', isRequested: true }
}

/** The length of the vectors that the request asks for, or that the model which it names has. */
function findDimensions(
  requested: RequestedModel,
  { request }: RoutingDraft,
  { catalog }: RoutingCatalog,
): number | undefined {
  if (typeof request.dimensions === 'number') return request.dimensions
  if (requested.type === 'auto') return undefined
  return catalog.find(requested.model, requested.provider)?.dimensions?.default
}

const AUTOMATIC_VECTORS =
  'The embedding model was chosen automatically. Vectors of different models cannot be compared: name the ' +
  'model for vectors that you store.'

function toRoutingWarning(message: string): Warning {
  return { code: 'routing', message }
}

function missingDimensionsError(): GatewayError {
  const message =
    'dimensions is required for an automatic choice of the embedding model, because the length of the ' +
    'vectors would depend on it. Set dimensions, or name a model.'
  return new GatewayError('missing_parameter', message, { param: 'dimensions' })
}
