/** What a browser does with redirects and cookies, without pages. Cookies are kept by origin. */
export interface JarBrowser {
  /** Requests an address, and follows redirects until `stop` says so. By default, all are followed. */
  open(url: string, stop?: (next: string) => boolean): Promise<Visited>
  /** The cookies for an origin, as the header has them. */
  cookies(url: string): string
}

export interface Visited {
  /** Of the last request. */
  readonly url: string
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** Where the last response redirects to, if it was not followed. */
  readonly next: string | undefined
}

const MAX_REDIRECTS = 20

export function createJarBrowser(): JarBrowser {
  const jars = new Map<string, Map<string, string>>()

  function jarOf(url: string): Map<string, string> {
    const { origin } = new URL(url)
    const jar = jars.get(origin) ?? new Map<string, string>()
    jars.set(origin, jar)
    return jar
  }

  const cookies = (url: string) => [...jarOf(url)].map(([name, value]) => `${name}=${value}`).join('; ')

  return {
    cookies,
    async open(first, stop = () => false) {
      let url = first
      for (let count = 0; count < MAX_REDIRECTS; count++) {
        const response = await fetch(url, { redirect: 'manual', headers: { cookie: cookies(url) } })
        for (const header of response.headers.getSetCookie()) {
          const [pair = ''] = header.split(';')
          const [name = '', value = ''] = pair.split(/=(.*)/s)
          if (value === '') jarOf(url).delete(name)
          else jarOf(url).set(name, value)
        }
        const { status, headers } = response
        const text = await response.text()
        const location = headers.get('location')
        const next = location === null ? undefined : new URL(location, url).href
        if (next === undefined || stop(next)) return { url, status, headers, text, next }
        url = next
      }
      throw new Error(`more than ${MAX_REDIRECTS} redirects`)
    },
  }
}
