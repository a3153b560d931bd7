import type { ProviderAdapter } from '../../core/contract/provider.ts'

type Headers = Readonly<Record<string, string>>

/** How requests authenticate: not at all, or with the bare API key in a header. */
export type ProviderAuth = 'none' | { readonly header: string }

interface HeaderBuilder {
  build(own: Headers, further: Headers | undefined): Headers
  /** Names and values in turn, which undici reads without an object. */
  list(own: Headers, further: Headers | undefined): string[]
}

/** Adds the headers of a provider to those of the format. */
export function createHeaderBuilder(fixed: Headers): HeaderBuilder {
  // Requests of a format share few sets of headers, which nobody changes.
  const lists = new WeakMap<Headers, string[]>()
  const build = (own: Headers, further: Headers | undefined) => ({ ...further, ...own, ...fixed })
  return {
    build,
    list(own, further) {
      const known = further === undefined ? lists.get(own) : undefined
      if (known !== undefined) return known
      const list = Object.entries(build(own, further)).flat()
      if (further === undefined && Object.isFrozen(own)) lists.set(own, list)
      return list
    },
  }
}

export function buildAuthHeaders(
  adapter: ProviderAdapter,
  apiKey: string | undefined,
  auth?: ProviderAuth,
): Headers {
  if (apiKey === undefined || auth === 'none') return {}
  if (auth !== undefined) return { [auth.header]: apiKey }
  try {
    return adapter.buildAuthHeaders(apiKey)
  } catch {
    // The error is not shown: it may contain the key.
    throw new Error(`The format "${adapter.format}" cannot build headers from the API key. Check the key.`)
  }
}
