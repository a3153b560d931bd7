import { GatewayError, type Plugin } from '../../core/contract/index.ts'
import { REQUEST_ID_LENGTH } from '../../core/ids.ts'
import { requestsPaths } from '../openapi/requests.ts'
import { Recent } from './recent.ts'
import { RequestRecord, type RequestSummary } from './record.ts'
import type { SharedRecords } from './shared-records.ts'

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
      const records = new Recent<RequestRecord>(Number(options.kept_requests ?? 10_000), REQUEST_ID_LENGTH)
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
            ctx.body = { data: record.shown }
          })
        },
      }
    },
  }
}

/** As another process can be told it. */
function show(record: RequestRecord | undefined): RequestSummary | undefined {
  return record && { userId: record.userId, shown: record.shown }
}
