import type { Admission, GatewayMiddleware, PluginParts } from '../contract/index.ts'
import { chain } from '../util/maybe-promise.ts'
import type { PluginStep } from './load.ts'

/**
 * Returns the middleware of the phase `admit` in the listed order: the plugins' `admit` functions, and
 * third-party middleware, which also sees the response.
 */
export function composeAdmission(steps: readonly PluginStep[]): readonly GatewayMiddleware[] {
  return steps.flatMap(({ parts: { admit, middleware } }) => [
    ...(admit ? [toAdmitMiddleware(admit)] : []),
    ...(middleware ? [middleware] : []),
  ])
}

/** Returns the plugins' `admit` functions as one, for requests without a route. Middleware sees none. */
export function composeUnmatchedAdmission(
  steps: readonly PluginStep[],
): (request: Admission) => Promise<void> {
  const admits = steps.flatMap(({ parts: { admit } }) => admit ?? [])
  return async (request) => {
    for (const admit of admits) await admit(request)
  }
}

function toAdmitMiddleware(admit: NonNullable<PluginParts['admit']>): GatewayMiddleware {
  return (ctx, next) => chain(admit(ctx), next)
}

/** True if code outside this repository may observe or change responses. */
export function hasThirdPartyMiddleware(steps: readonly PluginStep[]): boolean {
  return steps.some(({ isBuiltIn, parts }) => !isBuiltIn && parts.middleware !== undefined)
}
