import { GatewayError, type Plugin, type Static, StrictObject, Type } from '../../core/contract/index.ts'
import { REQUEST_ID_LENGTH } from '../../core/util/ids.ts'
import { requestsPaths } from '../openapi/inference.ts'
import { RecentEntries } from './recent-entries.ts'
import { RequestRecord, type RequestSummary, type SharedRecords } from './request-record.ts'

const traceOptions = StrictObject({ kept_requests: Type.Integer({ minimum: 1, default: 10_000 }) })

/**
 * Keeps records of the most recent requests. `GET /v1/requests/{x_request_id}` returns them to the owners of
 * the requests, including records that other processes keep.
 */
export function createTrace(shared?: SharedRecords): Plugin {
  return {
    name: 'trace',
    after: ['auth'],
    options: traceOptions,
    setup({ kept_requests }: Static<typeof traceOptions>) {
      const records = new RecentEntries<RequestRecord>(kept_requests, REQUEST_ID_LENGTH)
      shared?.offer((requestId) => toSummary(records.find(requestId)))
      return {
        middleware({ exchange }, next) {
          const record = (error?: unknown) =>
            records.add(exchange.id, new RequestRecord(exchange, Date.now(), error))
          return next().then(
            () => record(),
            (error) => {
              record(error)
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
              const message = `Request ${id} was not found or is no longer recorded.`
              throw new GatewayError('not_found', message)
            }
            ctx.body = { data: record.view }
          })
        },
      }
    },
  }
}

/** Converts a record to a plain object that can be sent to another process. */
function toSummary(record: RequestRecord | undefined): RequestSummary | undefined {
  return record && { userId: record.userId, view: record.view }
}
