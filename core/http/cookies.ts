/** Returns the value of a cookie of a request. */
export function readCookie(header: string | undefined, name: string): string | undefined {
  const start = `${name}=`
  const cookie = header?.split('; ').find((pair) => pair.startsWith(start))
  return cookie?.slice(start.length)
}

interface Cookie {
  readonly name: string
  readonly value: string
  readonly path: string
  readonly maxAgeSeconds: number
  /** `Lax` cookies are also sent when another site sends the browser here. */
  readonly sameSite: 'Strict' | 'Lax'
  /** Whether it is sent over TLS only. */
  readonly isSecure: boolean
}

/** Returns the header `set-cookie` of a cookie that scripts cannot read. */
export function formatCookie({ name, value, path, maxAgeSeconds, sameSite, isSecure }: Cookie): string {
  const secure = isSecure ? '; Secure' : ''
  return `${name}=${value}; Path=${path}; Max-Age=${maxAgeSeconds}; HttpOnly; SameSite=${sameSite}${secure}`
}
