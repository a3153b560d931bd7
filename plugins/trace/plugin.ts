import {
  data,
  type EndedExchange,
  endpoint,
  GatewayError,
  type Plugin,
  type Static,
  StrictObject,
  Type,
  user,
} from '../../core/contract/index.ts'
import { REQUEST_ID_LENGTH } from '../../core/util/ids.ts'
import { RecentEntries } from './recent-entries.ts'
import { RequestRecord, type RequestSummary, type SharedRecords } from './request-record.ts'
import { RequestRecordSchema } from './schemas.ts'

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
      const record = (exchange: EndedExchange, error?: unknown) =>
        records.add(exchange.id, new RequestRecord(exchange, Date.now(), error))
      const recordAgain = (exchange: EndedExchange, error: unknown) =>
        records.replace(exchange.id, new RequestRecord(exchange, Date.now(), error))
      shared?.offer((requestId) => toSummary(records.find(requestId)))
      return {
        // Before the response is sent, so that its recipient can look the request up immediately.
        inspect(exchange) {
          record(exchange)
          return undefined
        },
        rejected: (exchange, error) => (exchange.reply === undefined ? record : recordAgain)(exchange, error),
        observe({ exchange }) {
          if (exchange?.reply !== undefined && hasChangedSinceStart(exchange))
            recordAgain(exchange, exchange.error)
        },
        endpoints: [
          endpoint({
            method: 'GET',
            path: '/v1/requests/{id}',
            access: user(),
            operationId: 'readRequest',
            summary: 'Returns the record of a request: applied rules, route and provider calls.',
            tags: ['inference'],
            params: { id: requestId },
            responses: { 200: { description: 'The record.', body: data(RequestRecordSchema) } },
            async handle({ params: { id }, account }) {
              const record: RequestSummary | undefined = records.find(id) ?? (await shared?.find(id))
              if (record?.userId !== account.userId) {
                const message = `Request ${id} was not found or is no longer recorded.`
                throw new GatewayError('not_found', message)
              }
              return { status: 200, body: { data: record.view } }
            },
          }),
        ],
      }
    },
  }
}

/** Whether the reply failed, or rules that inspect replies did something. */
function hasChangedSinceStart({ error, trace }: EndedExchange): boolean {
  return error !== undefined || trace.at(-1)?.scope === 'response'
}

const requestId = Type.String({
  minLength: 1,
  description: 'The x_request_id of one of your recent requests.',
  examples: ['req_gGvBxwr2CTTZ4RYVqXhM0SkL'],
})

/** Converts a record to a plain object that can be sent to another process. */
function toSummary(record: RequestRecord | undefined): RequestSummary | undefined {
  return record && { userId: record.userId, view: record.view }
}
