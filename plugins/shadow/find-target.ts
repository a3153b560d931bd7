import type { Exchange, Target } from '../../core/contract/index.ts'
import { isModelAllowed } from '../../providers/shared/allowed-models.ts'
import { meetsRequirement } from '../../providers/shared/attributes.ts'
import { CopyTarget } from '../ledger/index.ts'
import type { RoutingCatalog } from '../routing/index.ts'
import {
  findMissingCapability,
  findTarget,
  markSkipped,
  operationOf,
  requirementsOf,
} from '../routing/index.ts'
import { namedModel } from './action.ts'

/**
 * Sets the target that gets a copy of a routed request, if a rule named a model. A model that cannot have the
 * copy changes nothing for the client: only the trace says why.
 */
export function setShadow(exchange: Exchange, routingCatalog: RoutingCatalog): void {
  const model = namedModel.of(exchange)
  if (typeof model !== 'string') return
  const found = findShadow(exchange, model, routingCatalog)
  if (typeof found !== 'string') {
    CopyTarget.set(exchange, found)
    return
  }
  exchange.trace.splice(0, Number.POSITIVE_INFINITY, ...markSkipped(exchange.trace, 'shadow', found))
}

/** Returns the target, or why the model cannot have a copy. */
function findShadow(
  { account, request, route, requires, operation = 'chat' }: Exchange,
  model: string,
  routingCatalog: RoutingCatalog,
): Target | string {
  const { catalog, capabilitiesOf, meets = meetsRequirement } = routingCatalog
  const entry = catalog.find(model)
  if (entry === undefined) return 'model_not_found'
  const target = findTarget(model, undefined, routingCatalog)
  const capabilities = capabilitiesOf(target.provider)
  if (capabilities === undefined) return 'provider_not_configured'
  // Vectors and categories of different models cannot be compared.
  if (operation !== 'chat' || operationOf(entry) !== 'chat') return 'model_of_another_operation'
  if (!isModelAllowed(account, target)) return 'model_not_allowed'
  if (route?.isFixed && route.targets[0].entry === entry) return 'same_model'
  if (requires !== undefined && !meets(requires, target)) return 'requirement_not_met'
  const missing = findMissingCapability(entry, capabilities, requirementsOf(request))
  return missing === undefined ? target : 'unsupported_by_model'
}
