import type { InferenceDescription } from '../../contract/index.ts'
import { inferenceHeaders, replyHeaders } from '../inference-description.ts'
import { ResponseStreamEvent } from './event-schemas.ts'
import { responsesRequestSchema } from './request-schema.ts'
import { ResponseSchema } from './response-schemas.ts'

const input = 'Name three signals of a railway.'

/** How `/openapi.json` describes `POST /v1/responses`. */
export const responsesDescription: InferenceDescription = {
  operationId: 'createResponse',
  summary: 'Creates a response and stores it for replay and conversations.',
  tags: ['responses'],
  headers: inferenceHeaders,
  body: responsesRequestSchema,
  examples: {
    automatic: { input },
    instructed: {
      model: 'auto:quality',
      input,
      instructions: 'Answer in one line.',
      max_output_tokens: 200,
      temperature: 0.5,
    },
    continued: {
      input: 'And which is the oldest?',
      previous_response_id: 'resp_gGvBxwr2CTTZ4RYVqXhM0SkL',
    },
    streamed: { input, stream: true },
    not_stored: { input: [{ role: 'user', content: input }], store: false },
  },
  responses: {
    200: {
      description: 'The response, or the events of a stream.',
      headers: replyHeaders,
      body: ResponseSchema,
      events: ResponseStreamEvent,
    },
  },
}
