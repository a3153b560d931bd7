import type { GatewayMiddleware } from '../contract/index.ts'
import { whenThere } from '../soon.ts'
import type { Step } from './set-up.ts'

type Kind = 'inference' | 'management'

/**
 * The middleware for one kind of request, in the listed order. `readRequest` comes before the first plugin that needs more
 * than headers, so nothing of a body is read before the caller is known.
 */
export function chainFor(
  kind: Kind,
  steps: readonly Step[],
  readRequest: readonly GatewayMiddleware[],
): GatewayMiddleware[] {
  const firstReader = steps.findIndex((step) => needsRequest(kind, step))
  const cut = firstReader === -1 ? steps.length : firstReader
  const middlewareOf = (step: Step) => [...decisionOf(kind, step), ...ownMiddlewareOf(kind, step)]
  return [
    ...steps.slice(0, cut).flatMap(middlewareOf),
    ...readRequest,
    ...steps.slice(cut).flatMap(middlewareOf),
  ]
}

function needsRequest(kind: Kind, step: Step): boolean {
  if (decisionOf(kind, step).length > 0) return true
  return ownMiddlewareOf(kind, step).length > 0 && step.plugin.needs !== 'headers'
}

function decisionOf(kind: Kind, { parts }: Step): GatewayMiddleware[] {
  if (kind !== 'inference' || parts.decide === undefined) return []
  const { decide } = parts
  const middleware: GatewayMiddleware = ({ exchange }, next) => whenThere(decide(exchange), next)
  return [middleware]
}

function ownMiddlewareOf(kind: Kind, { plugin, parts }: Step): GatewayMiddleware[] {
  const applies = [kind, 'all'].includes(plugin.applies ?? 'inference')
  return applies && parts.middleware ? [parts.middleware] : []
}
