import type { JsonObject } from '../../core/contract/index.ts'
import { userErrors } from './errors.ts'
import { describeOperation } from './operation.ts'
import { inPath } from './parameters.ts'
import { closed, data, integer, list, object, oneOf, orNull, ref, text, time } from './schema.ts'

export const requestsPaths: JsonObject = {
  '/v1/requests/{id}': {
    parameters: [
      inPath('id', 'req_gGvBxwr2CTTZ4RYVqXhM0SkL', 'The x_request_id of one of your last requests.'),
    ],
    get: describeOperation({
      id: 'readRequest',
      tag: 'inference',
      summary: 'Shows what became of a request: the rules, the route, the calls to providers.',
      answers: { 200: data(ref('RequestRecord')), ...userErrors('Error', 404) },
    }),
  },
}

export const requestsSchemas: JsonObject = {
  RequestRecord: closed({
    x_request_id: text,
    time,
    outcome: oneOf('answered', 'failed'),
    'error?': ref('RecordedError'),
    requested_model: orNull(text),
    routing_mode: orNull(text),
    routing_reason: orNull(text),
    provider: orNull(text),
    model: orNull(text),
    attempts: list(closed({ provider: text, model: text, outcome: text, ms: integer })),
    rules_position: integer,
    rule_trace: list(ref('RuleTraceEntry')),
    warnings: list(ref('Warning')),
  }),
  RecordedError: object({ code: text, http_status: integer, 'message?': text }),
}
