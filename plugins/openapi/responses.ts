import type { JsonObject } from '../../core/contract/index.ts'
import { responsesRequestSchema } from '../../core/dialects/responses/request-schema.ts'
import { replaySchema } from '../responses/endpoints.ts'
import {
  anyObject,
  closed,
  describeOperation,
  flag,
  inferenceErrors,
  inPath,
  inQuery,
  integer,
  list,
  number,
  object,
  oneOf,
  orNull,
  ref,
  text,
  userErrors,
} from './builders.ts'
import { inferenceParameters } from './inference.ts'

const tag = 'responses'

const responseId = 'resp_gGvBxwr2CTTZ4RYVqXhM0SkL'

const said = 'Name three signals of a railway.'

const stored = inPath('id', responseId, 'The id of one of your responses, or the request id of its call.')

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
      answers: { 200: ref('Response'), ...inferenceErrors('ChatError') },
      alsoAs: eventStream,
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
      answers: { 200: ref('Response'), ...userErrors('ChatError', 400, 404, 409, 413) },
      alsoAs: eventStream,
    }),
    get: describeOperation({
      id: 'readResponse',
      tag,
      summary: 'Shows a stored response.',
      parameters: [inQuery('stream', oneOf('true', 'false'), 'true', 'true: as the events of a stream.')],
      answers: { 200: ref('Response'), ...userErrors('ChatError', 404, 409) },
      alsoAs: eventStream,
    }),
    delete: describeOperation({
      id: 'deleteResponse',
      tag,
      summary: 'Removes a stored response.',
      answers: {
        200: closed({ id: text, object: { const: 'response' }, deleted: { const: true } }),
        ...userErrors('ChatError', 404, 409, 507),
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
        inQuery('order', oneOf('asc', 'desc'), 'asc', 'desc when left out.'),
        inQuery(
          'limit',
          { type: 'integer', minimum: 1, maximum: 100 },
          20,
          'Items in the answer; 20 when left out.',
        ),
        inQuery('after', text, 'msg_gGvBxwr2CTTZ4RYVqXhM0SkL0', 'The id of the item before the first one.'),
      ],
      answers: { 200: ref('InputItems'), ...userErrors('ChatError', 400, 404, 409) },
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
    status: oneOf('completed', 'incomplete', 'failed', 'cancelled'),
    model: text,
    output: list(object({ 'type?': text, 'role?': text, 'content?': list(object({ type: text })) })),
    usage: orNull(object({ input_tokens: integer, output_tokens: integer, total_tokens: integer })),
    metadata: object({ provider: orNull(text), routing_mode: orNull(text) }),
    error: orNull(closed({ code: text, message: text })),
    incomplete_details: orNull(closed({ reason: text })),
    completed_at: orNull(integer),
    instructions: orNull(text),
    previous_response_id: orNull(text),
    max_output_tokens: orNull(integer),
    temperature: number,
    store: flag,
    x_request_id: text,
    'latency_ms?': integer,
  }),
  InputItems: closed({
    object: { const: 'list' },
    data: list(anyObject),
    first_id: orNull(text),
    last_id: orNull(text),
    has_more: flag,
  }),
}
