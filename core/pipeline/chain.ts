import type { GatewayMiddleware } from '../contract/index.ts'
import { chain } from '../util/maybe-promise.ts'
import type { PluginStep } from './set-up.ts'

type ChainKind = 'inference' | 'management'

/**
 * Returns the middleware for one kind of request, in the listed order. `readRequest` is placed before the
 * first plugin that needs more than the headers, so no body is read before the caller is authenticated.
 */
export function composeChain(
  kind: ChainKind,
  steps: readonly PluginStep[],
  readRequest: readonly GatewayMiddleware[],
): GatewayMiddleware[] {
  const firstReader = steps.findIndex((step) => needsRequest(kind, step))
  const readIndex = firstReader === -1 ? steps.length : firstReader
  const listMiddleware = (step: PluginStep) => [
    ...listDecideMiddleware(kind, step),
    ...listPluginMiddleware(kind, step),
  ]
  return [
    ...steps.slice(0, readIndex).flatMap(listMiddleware),
    ...readRequest,
    ...steps.slice(readIndex).flatMap(listMiddleware),
  ]
}

function needsRequest(kind: ChainKind, step: PluginStep): boolean {
  if (listDecideMiddleware(kind, step).length > 0) return true
  return listPluginMiddleware(kind, step).length > 0 && step.plugin.needs !== 'headers'
}

function listDecideMiddleware(kind: ChainKind, { parts }: PluginStep): GatewayMiddleware[] {
  if (kind !== 'inference' || parts.decide === undefined) return []
  const { decide } = parts
  const middleware: GatewayMiddleware = ({ exchange }, next) => chain(decide(exchange), next)
  return [middleware]
}

function listPluginMiddleware(kind: ChainKind, { plugin, parts }: PluginStep): GatewayMiddleware[] {
  const applies = [kind, 'all'].includes(plugin.applies ?? 'inference')
  return applies && parts.middleware ? [parts.middleware] : []
}
