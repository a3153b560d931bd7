import { GatewayError, type Plugin } from '../../core/contract/index.ts'
import { REQUEST_ID_LENGTH } from '../../core/util/ids.ts'
import { requestsPaths } from '../openapi/inference.ts'
import { RequestRecord, type RequestSummary, type SharedRecords } from './request-record.ts'

/**
 * Keeps what became of the last requests, and shows it to their owners at `GET /v1/requests/{x_request_id}`, also of those that
 * other processes have served.
 */
export function createTrace(shared?: SharedRecords): Plugin {
  return {
    name: 'trace',
    after: ['auth'],
    options: {
      type: 'object',
      additionalProperties: false,
      properties: { kept_requests: { type: 'integer', minimum: 1, default: 10_000 } },
    },
    setup(options) {
      const records = new RecentEntries<RequestRecord>(
        Number(options.kept_requests ?? 10_000),
        REQUEST_ID_LENGTH,
      )
      shared?.offer((requestId) => show(records.find(requestId)))
      return {
        middleware({ exchange }, next) {
          const keep = (error?: unknown) =>
            records.keep(exchange.id, new RequestRecord(exchange, Date.now(), error))
          return next().then(
            () => void keep(),
            (error) => {
              keep(error)
              throw error
            },
          )
        },
        openapi: requestsPaths,
        routes(router) {
          router.get('/v1/requests/:id', async (ctx) => {
            const id = ctx.params.id ?? ''
            const record: RequestSummary | undefined = records.find(id) ?? (await shared?.find(id))
            if (record?.userId !== ctx.account.userId) {
              throw new GatewayError('not_found', 'There is no such request of yours, or it is too long ago.')
            }
            ctx.body = { data: record.view }
          })
        },
      }
    },
  }
}

/** As another process can be told it. */
function show(record: RequestRecord | undefined): RequestSummary | undefined {
  return record && { userId: record.userId, view: record.view }
}

/**
 * The last so many values by their keys, which are ASCII and of one length; the oldest goes for each one that is too many. Keys lie side by
 * side in a buffer: thousands of values are kept for each one that is ever looked for, so to keep one is to cost little.
 */
export class RecentEntries<Value> {
  readonly #keyLength: number
  /** Both are rings: what was kept as many values ago as there is room for lies where the next one goes. */
  readonly #keys: Buffer
  readonly #values: (Value | undefined)[]
  #next = 0

  constructor(most: number, keyLength: number) {
    this.#keyLength = keyLength
    this.#keys = Buffer.alloc(most * keyLength)
    this.#values = Array.from({ length: most }, () => undefined)
  }

  keep(key: string, value: Value): void {
    if (key.length !== this.#keyLength) throw new Error(`a key of ${key.length} characters cannot be kept`)
    this.#keys.write(key, this.#next * this.#keyLength, 'latin1')
    this.#values[this.#next] = value
    this.#next = (this.#next + 1) % this.#values.length
  }

  find(key: string): Value | undefined {
    if (key.length !== this.#keyLength) return undefined
    let at = this.#keys.indexOf(key, 0, 'latin1')
    // Not the end of one key and the beginning of the next.
    while (at % this.#keyLength > 0) at = this.#keys.indexOf(key, at + 1, 'latin1')
    return at === -1 ? undefined : this.#values[at / this.#keyLength]
  }
}
