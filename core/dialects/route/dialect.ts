import { type Dialect, GatewayError } from '../../contract/index.ts'
import { routeErrorBody } from './error-body.ts'
import { readPreferences, readRouteRequest } from './read-request.ts'
import { writeRouteResult } from './write-result.ts'

/** `POST /route`, on its own address. It does not stream. */
export const routeDialect: Dialect = {
  parseRequest: readRouteRequest,
  parsePreferences: readPreferences,
  defaults: ['temperature', 'max_tokens'],
  writeWhole: writeRouteResult,
  writeStream() {
    throw new GatewayError('internal_error', 'Direct routing does not stream.')
  },
  errorBody: routeErrorBody,
}
