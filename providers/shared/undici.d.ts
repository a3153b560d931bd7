declare module 'undici/lib/dispatcher/client.js' {
  import { Client } from 'undici'

  export = Client
}
declare module 'undici/lib/dispatcher/pool.js' {
  import { Pool } from 'undici'

  export = Pool
}
