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

addEventListener('hashchange', () => {
  route.value = parseHash()
})

export function href(path: string, query: Readonly<Record<string, unknown>> = {}): string {
  const entries = Object.entries(query).filter(([, value]) => value !== undefined && value !== '')
  const text = new URLSearchParams(entries.map(([name, value]) => [name, String(value)])).toString()
  return `#${path}${text === '' ? '' : `?${text}`}`
}

export function navigate(path: string, query: Readonly<Record<string, unknown>> = {}): void {
  location.hash = href(path, query)
}

/** Changes parameters of the current page. Filters do not fill the history of the browser. */
export function setQuery(changes: Readonly<Record<string, string | undefined>>): void {
  const { path, query } = route.value
  const target = href(`/${path.map(encodeURIComponent).join('/')}`, {
    ...Object.fromEntries(query),
    ...changes,
  })
  history.replaceState(null, '', target)
  route.value = parseHash()
}
