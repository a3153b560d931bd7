import type { JsonObject } from '../../core/contract/index.ts'

/** The methods of endpoints for operators. */
export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** The body of a response. */
export interface Answer<Result> {
  readonly data: Result
  readonly next_cursor?: string | null
  readonly warnings?: readonly { readonly code: string; readonly message: string }[]
}

/** The endpoints for operators of a gateway. All calls reject with the gateway's error. */
export interface AdminApi {
  send<Result>(method: Method, path: string, body?: JsonObject): Promise<Answer<Result>>
  /** Returns the data. Sends a POST request if there is a body. */
  call<Result>(path: string, body?: JsonObject): Promise<Result>
  /** Reads all pages of a list. The path has a query. */
  list<Item>(path: string): Promise<readonly Item[]>
}

export function createAdminApi(send: AdminApi['send']): AdminApi {
  return {
    send,
    async call<Result>(path: string, body?: JsonObject) {
      return (await send<Result>(body ? 'POST' : 'GET', path, body)).data
    },
    async list<Item>(path: string) {
      const items: Item[] = []
      let cursor: string | null | undefined = ''
      while (typeof cursor === 'string') {
        const more: string = cursor && `&cursor=${encodeURIComponent(cursor)}`
        const page: Answer<readonly Item[]> = await send('GET', path + more)
        items.push(...page.data)
        cursor = page.next_cursor
      }
      return items
    },
  }
}
