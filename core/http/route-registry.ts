import type { GatewayRouter } from '../contract/index.ts'

type Layer = GatewayRouter['stack'][number]

/** Which endpoints there are, in the order in which requests look for theirs. */
export interface RouteRegistry {
  /** Notes what the owner has added to the router; throws when a request would find somebody else's endpoint first. */
  register(owner: string, router: GatewayRouter): void
}

export function createRouteRegistry(): RouteRegistry {
  const taken: { readonly owner: string; readonly layer: Layer }[] = []

  function refuseHidden(owner: string, { path, methods }: Layer): void {
    // A pattern as a path: its parameters are found by the same patterns that would find their values.
    if (typeof path !== 'string') return
    for (const rival of taken) {
      const method = rival.layer.methods.find((name) => name !== 'HEAD' && methods.includes(name))
      if (rival.owner === owner || method === undefined || !rival.layer.match(path)) continue
      throw new Error(
        `${method} ${path} of ${owner} would never be reached, for ${rival.owner} answers ${method} ${rival.layer.path}. ` +
          'Give one of them another path.',
      )
    }
  }

  return {
    register(owner, router) {
      const known = new Set(taken.map(({ layer }) => layer))
      for (const layer of router.stack) {
        if (layer.methods.length === 0 || known.has(layer)) continue
        refuseHidden(owner, layer)
        taken.push({ owner, layer })
      }
    },
  }
}
