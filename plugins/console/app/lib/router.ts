import { signal } from '@preact/signals'

/** A page of the console: `#/policies/15?tab=history`. */
export interface Route {
  readonly path: readonly string[]
  readonly query: URLSearchParams
}

export interface PageProps {
  /** The segments of the address after that of the page. */
  readonly path: readonly string[]
}

function parseHash(): Route {
  const [path = '', query = ''] = location.hash.replace(/^#\/?/, '').split('?')
  return {
    path: path.split('/').filter(Boolean).map(decodeURIComponent),
    query: new URLSearchParams(query),
  }
}

export const route = signal<Route>(parseHash())

/** Marks the entries of the history that were shown: the browser scrolls to where they were left. */
const SHOWN = 'shown'

history.replaceState(SHOWN, '')

addEventListener('hashchange', () => {
  const before = route.value.path.join('/')
  route.value = parseHash()
  if (history.state === SHOWN) return
  history.replaceState(SHOWN, '')
  // A page that is opened starts at its top, not where the one before was left.
  if (route.value.path.join('/') !== before) scrollTo(0, 0)
})

/** What all pages share: the range of time and its zone. Links keep them. */
const SHARED = ['from', 'to', 'zone']

/** Returns the address of a page. A range in the query replaces the one that is shared. */
export function href(path: string, query: Readonly<Record<string, unknown>> = {}): string {
  const names = 'from' in query ? ['zone'] : SHARED
  const shared = names.map((name) => [name, route.value.query.get(name) ?? ''])
  return toHash(path, { ...Object.fromEntries(shared), ...query })
}

/** Returns the address of a model of the catalogue. */
export function modelHref({ provider, id }: { readonly provider: string; readonly id: string }): string {
  return href(`/models/${encodeURIComponent(provider)}/${encodeURIComponent(id)}`)
}

function toHash(path: string, query: Readonly<Record<string, unknown>>): string {
  const entries = Object.entries(query).filter(([, value]) => value !== undefined && value !== '')
  const text = new URLSearchParams(entries.map(([name, value]) => [name, String(value)])).toString()
  return `#${path}${text === '' ? '' : `?${text}`}`
}

export function navigate(path: string, query: Readonly<Record<string, unknown>> = {}): void {
  location.hash = href(path, query)
}

type QueryChanges = Readonly<Record<string, string | undefined>>

function withQuery(changes: QueryChanges): string {
  const { path, query } = route.value
  return toHash(`/${path.map(encodeURIComponent).join('/')}`, { ...Object.fromEntries(query), ...changes })
}

/** Changes parameters of the current page. Filters do not fill the history of the browser. */
export function setQuery(changes: QueryChanges): void {
  history.replaceState(SHOWN, '', withQuery(changes))
  route.value = parseHash()
}

/** Changes parameters of the current page. The browser can go back to the ones before. */
export function pushQuery(changes: QueryChanges): void {
  location.hash = withQuery(changes)
}
