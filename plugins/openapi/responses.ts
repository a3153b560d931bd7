import type { JsonObject } from '../../core/contract/index.ts'
import { responsesRequestSchema } from '../../core/dialects/responses/request-schema.ts'
import { replaySchema } from '../responses/endpoints.ts'
import {
  anyObject,
  arrayOf,
  boolean,
  closedObject,
  describeOperation,
  inferenceErrorResponses,
  integer,
  nullable,
  number,
  object,
  pathParameter,
  queryParameter,
  ref,
  string,
  stringEnum,
  userErrorResponses,
} from './builders.ts'
import { inferenceParameters } from './inference.ts'

const tag = 'responses'

const responseId = 'resp_gGvBxwr2CTTZ4RYVqXhM0SkL'

const input = 'Name three signals of a railway.'

const responseIdParameter = pathParameter(
  'id',
  responseId,
  'The id of one of your responses, or the id of the request that created it.',
)

const eventStream = 'text/event-stream'

export const responsesPaths: JsonObject = {
  '/v1/responses': {
    post: describeOperation({
      id: 'createResponse',
      tag,
      summary: 'Creates a response and stores it for replay and conversations.',
      parameters: inferenceParameters,
      body: {
        schema: ref('ResponsesRequest'),
        examples: {
          automatic: { input },
          instructed: {
            model: 'auto:quality',
            input,
            instructions: 'Answer in one line.',
            max_output_tokens: 200,
            temperature: 0.5,
          },
          continued: { input: 'And which is the oldest?', previous_response_id: responseId },
          streamed: { input, stream: true },
          not_stored: { input: [{ role: 'user', content: input }], store: false },
        },
      },
      responses: { 200: ref('Response'), ...inferenceErrorResponses('ChatError') },
      alternativeMediaType: eventStream,
    }),
  },
  '/v1/responses/{id}': {
    parameters: [responseIdParameter],
    post: describeOperation({
      id: 'replayResponse',
      tag,
      summary: 'Replays a stored response without calling a model.',
      body: {
        schema: ref('Replay'),
        required: false,
        examples: { whole: {}, streamed: { stream: true } },
      },
      responses: { 200: ref('Response'), ...userErrorResponses('ChatError', 400, 404, 409, 413) },
      alternativeMediaType: eventStream,
    }),
    get: describeOperation({
      id: 'readResponse',
      tag,
      summary: 'Returns a stored response.',
      parameters: [
        queryParameter(
          'stream',
          stringEnum('true', 'false'),
          'true',
          'If true, the response is streamed as events.',
        ),
      ],
      responses: { 200: ref('Response'), ...userErrorResponses('ChatError', 404, 409) },
      alternativeMediaType: eventStream,
    }),
    delete: describeOperation({
      id: 'deleteResponse',
      tag,
      summary: 'Deletes a stored response.',
      responses: {
        200: closedObject({ id: string, object: { const: 'response' }, deleted: { const: true } }),
        ...userErrorResponses('ChatError', 404, 409, 507),
      },
    }),
  },
  '/v1/responses/{id}/input_items': {
    parameters: [responseIdParameter],
    get: describeOperation({
      id: 'listInputItems',
      tag,
      summary: 'Lists the input items of a stored response.',
      parameters: [
        queryParameter('order', stringEnum('asc', 'desc'), 'asc', 'Default: desc.'),
        queryParameter(
          'limit',
          { type: 'integer', minimum: 1, maximum: 100 },
          20,
          'Maximum number of items. Default: 20.',
        ),
        queryParameter(
          'after',
          string,
          'msg_gGvBxwr2CTTZ4RYVqXhM0SkL0',
          'Returns items after the item with this id.',
        ),
      ],
      responses: { 200: ref('InputItems'), ...userErrorResponses('ChatError', 400, 404, 409) },
    }),
  },
}

export const responsesSchemas: JsonObject = {
  ResponsesRequest: responsesRequestSchema,
  Replay: replaySchema,
  Response: object({
    id: { type: 'string', pattern: '^resp_' },
    object: { const: 'response' },
    created_at: integer,
    status: stringEnum('completed', 'incomplete', 'failed', 'cancelled'),
    model: string,
    output: arrayOf(
      object({ 'type?': string, 'role?': string, 'content?': arrayOf(object({ type: string })) }),
    ),
    usage: nullable(object({ input_tokens: integer, output_tokens: integer, total_tokens: integer })),
    metadata: object({ provider: nullable(string), routing_mode: nullable(string) }),
    error: nullable(closedObject({ code: string, message: string })),
    incomplete_details: nullable(closedObject({ reason: string })),
    completed_at: nullable(integer),
    instructions: nullable(string),
    previous_response_id: nullable(string),
    max_output_tokens: nullable(integer),
    temperature: number,
    store: boolean,
    x_request_id: string,
    'latency_ms?': integer,
  }),
  InputItems: closedObject({
    object: { const: 'list' },
    data: arrayOf(anyObject),
    first_id: nullable(string),
    last_id: nullable(string),
    has_more: boolean,
  }),
}
