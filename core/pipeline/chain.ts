import type { GatewayMiddleware } from '../contract/index.ts'
import { chain } from '../util/maybe-promise.ts'
import type { PluginStep } from './set-up.ts'

type Kind = 'inference' | 'management'

/**
 * The middleware for one kind of request, in the listed order. `readRequest` comes before the first plugin that needs more
 * than headers, so nothing of a body is read before the caller is known.
 */
export function composeChain(
  kind: Kind,
  steps: readonly PluginStep[],
  readRequest: readonly GatewayMiddleware[],
): GatewayMiddleware[] {
  const firstReader = steps.findIndex((step) => needsRequest(kind, step))
  const cut = firstReader === -1 ? steps.length : firstReader
  const middlewareOf = (step: PluginStep) => [...decisionOf(kind, step), ...ownMiddlewareOf(kind, step)]
  return [
    ...steps.slice(0, cut).flatMap(middlewareOf),
    ...readRequest,
    ...steps.slice(cut).flatMap(middlewareOf),
  ]
}

function needsRequest(kind: Kind, step: PluginStep): boolean {
  if (decisionOf(kind, step).length > 0) return true
  return ownMiddlewareOf(kind, step).length > 0 && step.plugin.needs !== 'headers'
}

function decisionOf(kind: Kind, { parts }: PluginStep): GatewayMiddleware[] {
  if (kind !== 'inference' || parts.decide === undefined) return []
  const { decide } = parts
  const middleware: GatewayMiddleware = ({ exchange }, next) => chain(decide(exchange), next)
  return [middleware]
}

function ownMiddlewareOf(kind: Kind, { plugin, parts }: PluginStep): GatewayMiddleware[] {
  const applies = [kind, 'all'].includes(plugin.applies ?? 'inference')
  return applies && parts.middleware ? [parts.middleware] : []
}
