import type { GatewayRouter } from '../contract/index.ts'

type Layer = GatewayRouter['stack'][number]

/** Which endpoints there are, in the order in which requests look for theirs. */
export interface Endpoints {
  /** Notes what the owner has added to the router; throws when a request would find somebody else's endpoint first. */
  claim(owner: string, router: GatewayRouter): void
}

export function createEndpoints(): Endpoints {
  const taken: { readonly owner: string; readonly layer: Layer }[] = []

  function findRival(owner: string, method: string, path: string) {
    return taken.find(
      ({ owner: other, layer }) => other !== owner && layer.methods.includes(method) && layer.match(path),
    )
  }

  return {
    claim(owner, router) {
      const added = router.stack.filter((layer) => taken.every((known) => known.layer !== layer))
      for (const layer of added) {
        const { path } = layer
        const method = layer.methods.find((name) => name !== 'HEAD') ?? 'HEAD'
        // A pattern as a path: its parameters are found by the same patterns that would find their values.
        const rival = typeof path === 'string' ? findRival(owner, method, path) : undefined
        if (rival !== undefined) {
          throw new Error(
            `${method} ${path} of ${owner} would never be reached, for ${rival.owner} answers ${method} ${rival.layer.path}. ` +
              'Give one of them another path.',
          )
        }
        if (layer.methods.length > 0) taken.push({ owner, layer })
      }
    },
  }
}
