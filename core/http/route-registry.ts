import type { GatewayRouter } from '../contract/index.ts'

type Layer = GatewayRouter['stack'][number]

/** All routes of an application, in matching order. */
export interface RouteRegistry {
  /**
   * Registers the routes that `owner` has added to the router since the last call. Throws if one of them can
   * never match because an earlier route of another owner matches the same requests.
   */
  register(owner: string, router: GatewayRouter): void
}

export function createRouteRegistry(): RouteRegistry {
  const registered: { readonly owner: string; readonly layer: Layer }[] = []

  function checkReachable(owner: string, { path, methods }: Layer): void {
    // Tests the pattern as if it were a path: what matches a parameter's value also matches its name (`:id`).
    if (typeof path !== 'string') return
    for (const earlier of registered) {
      const method = earlier.layer.methods.find((name) => name !== 'HEAD' && methods.includes(name))
      if (earlier.owner === owner || method === undefined || !earlier.layer.match(path)) continue
      throw new Error(
        `${method} ${path} of ${owner} is unreachable, because ${earlier.owner} already serves ` +
          `${method} ${earlier.layer.path}. Change one of the paths.`,
      )
    }
  }

  return {
    register(owner, router) {
      const known = new Set(registered.map(({ layer }) => layer))
      for (const layer of router.stack) {
        if (layer.methods.length === 0 || known.has(layer)) continue
        checkReachable(owner, layer)
        registered.push({ owner, layer })
      }
    },
  }
}
