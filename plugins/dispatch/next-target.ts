import type { Route, Target } from '../../core/contract/index.ts'

/**
 * The maximum number of provider calls for one request, including the first (docs/guides/failover.md,
 * "Failover").
 */
const MAX_ATTEMPTS = 3

/** The maximum number of calls if the model is fixed. */
const MAX_FIXED_ATTEMPTS = 2

/**
 * Returns the next target to try; undefined when there are no more attempts. Targets that honour the
 * parameters of the request best come first, and among these, those of providers that have not been tried.
 */
export function nextTarget(
  { isFixed, targets, bestTargets }: Route,
  tried: readonly Target[],
): Target | undefined {
  if (isFixed) return tried.length < MAX_FIXED_ATTEMPTS ? targets[0] : undefined
  if (tried.length === MAX_ATTEMPTS) return undefined
  const best = targets.slice(0, bestTargets).filter((target) => !tried.includes(target))
  const untried = best.length > 0 ? best : targets.filter((target) => !tried.includes(target))
  return untried.find(({ provider }) => !tried.some((target) => target.provider === provider)) ?? untried[0]
}

/** Returns every target that a request may be sent to, the first one first. */
export function targetsToTry(route: Route): readonly Target[] {
  if (route.isFixed) return [route.targets[0]]
  const tried: Target[] = []
  for (let target = nextTarget(route, tried); target !== undefined; target = nextTarget(route, tried))
    tried.push(target)
  return tried
}
