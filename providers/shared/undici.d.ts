declare module 'undici/lib/core/util.js' {
  import type { IncomingHttpHeaders } from 'node:http'

  export function parseHeaders(raw: readonly Buffer[]): IncomingHttpHeaders
}
declare module 'undici/lib/dispatcher/client.js' {
  import { Client } from 'undici'

  export = Client
}
declare module 'undici/lib/dispatcher/pool.js' {
  import { Pool } from 'undici'

  export = Pool
}
