import type { Admission } from '../contract/index.ts'
import { middlewareStage, type Stage } from '../http/steps.ts'
import type { PluginStep } from './load.ts'

/**
 * Returns the stages of the phase `admit` in the listed order: the plugins' `admit` functions, and
 * third-party middleware, which also sees the response.
 */
export function composeAdmission(steps: readonly PluginStep[]): readonly Stage[] {
  return steps.flatMap(({ parts: { admit, middleware } }) => [
    ...(admit ? [{ before: admit }] : []),
    ...(middleware ? [middlewareStage(middleware)] : []),
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

/** True if code outside this repository may observe or change responses. */
export function hasThirdPartyMiddleware(steps: readonly PluginStep[]): boolean {
  return steps.some(({ isBuiltIn, parts }) => !isBuiltIn && parts.middleware !== undefined)
}
