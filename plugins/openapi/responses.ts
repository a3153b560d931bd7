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

const said = 'Name three signals of a railway.'

const stored = pathParameter(
  'id',
  responseId,
  'The id of one of your responses, or the request id of its call.',
)

const eventStream = 'text/event-stream'

export const responsesPaths: JsonObject = {
  '/v1/responses': {
    post: describeOperation({
      id: 'createResponse',
      tag,
      summary: 'Answers an input, and keeps the answer for replay and for conversations.',
      parameters: inferenceParameters,
      body: {
        schema: ref('ResponsesRequest'),
        examples: {
          automatic: { input: said },
          instructed: {
            model: 'auto:quality',
            input: said,
            instructions: 'Answer in one line.',
            max_output_tokens: 200,
            temperature: 0.5,
          },
          continued: { input: 'And which is the oldest?', previous_response_id: responseId },
          streamed: { input: said, stream: true },
          unkept: { input: [{ role: 'user', content: said }], store: false },
        },
      },
      responses: { 200: ref('Response'), ...inferenceErrorResponses('ChatError') },
      alternativeMediaType: eventStream,
    }),
  },
  '/v1/responses/{id}': {
    parameters: [stored],
    post: describeOperation({
      id: 'replayResponse',
      tag,
      summary: 'Answers with a stored response once more; no model is asked.',
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
      summary: 'Shows a stored response.',
      parameters: [
        queryParameter('stream', stringEnum('true', 'false'), 'true', 'true: as the events of a stream.'),
      ],
      responses: { 200: ref('Response'), ...userErrorResponses('ChatError', 404, 409) },
      alternativeMediaType: eventStream,
    }),
    delete: describeOperation({
      id: 'deleteResponse',
      tag,
      summary: 'Removes a stored response.',
      responses: {
        200: closedObject({ id: string, object: { const: 'response' }, deleted: { const: true } }),
        ...userErrorResponses('ChatError', 404, 409, 507),
      },
    }),
  },
  '/v1/responses/{id}/input_items': {
    parameters: [stored],
    get: describeOperation({
      id: 'listInputItems',
      tag,
      summary: 'Lists what a stored response was an answer to.',
      parameters: [
        queryParameter('order', stringEnum('asc', 'desc'), 'asc', 'desc when left out.'),
        queryParameter(
          'limit',
          { type: 'integer', minimum: 1, maximum: 100 },
          20,
          'Items in the answer; 20 when left out.',
        ),
        queryParameter(
          'after',
          string,
          'msg_gGvBxwr2CTTZ4RYVqXhM0SkL0',
          'The id of the item before the first one.',
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
