import type { GatewayMiddleware } from '../contract/index.ts'
import type { Step } from './set-up.ts'

/**
 * The middleware for one kind of request, in the listed order. `readRequest` comes before the first plugin that needs more
 * than headers, so nothing of a body is read before the caller is known.
 */
export function chainFor(
  kind: 'inference' | 'management',
  steps: readonly Step[],
  readRequest: readonly GatewayMiddleware[],
): GatewayMiddleware[] {
  const concerned = steps.filter(({ plugin }) => [kind, 'all'].includes(plugin.applies ?? 'inference'))
  const firstReader = concerned.findIndex(({ plugin }) => plugin.needs !== 'headers')
  const cut = firstReader === -1 ? concerned.length : firstReader
  return [
    ...concerned.slice(0, cut).flatMap(middlewareOf),
    ...readRequest,
    ...concerned.slice(cut).flatMap(middlewareOf),
  ]
}

function middlewareOf({ parts }: Step): GatewayMiddleware[] {
  return parts.middleware ? [parts.middleware] : []
}
