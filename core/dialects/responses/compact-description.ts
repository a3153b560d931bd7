import { type InferenceDescription, Nullable, Type } from '../../contract/index.ts'
import { SignalboxSchema } from '../chat/response-schemas.ts'
import { inferenceHeaders, replyHeaders } from '../inference-description.ts'
import { Constant, ModelName, NullableText, OpenObject, Text } from '../schema-types.ts'
import { ListedItem } from './list-schemas.ts'
import { responsesRequestSchema } from './request-schema.ts'
import { Usage } from './response-schemas.ts'

const { input, previous_response_id, user } = responsesRequestSchema.properties

const CompactRequest = OpenObject(
  {
    model: ModelName,
    input: Type.Optional(Nullable(input, { description: 'The conversation.' })),
    previous_response_id,
    instructions: Type.Optional(
      NullableText('Instructions of the application, for the model that summarizes.'),
    ),
    prompt_cache_key: Type.Optional(NullableText('Accepted for compatibility; has no effect.')),
    user,
  },
  { $id: 'CompactRequest', description: 'A conversation to compact.' },
)

const CompactionItem = OpenObject(
  {
    id: Text('Id of the item.'),
    type: Constant('compaction'),
    encrypted_content: Text('The summary, encoded. Send the item back in the input.'),
  },
  { $id: 'CompactionItem', description: 'The summary of a conversation.' },
)

const CompactedResponse = OpenObject(
  {
    id: Text('Id of the compaction.'),
    object: Constant('response.compaction'),
    created_at: Type.Integer({ format: 'int64', description: 'Unix time in seconds.' }),
    output: Type.Array(Type.Union([CompactionItem, ListedItem], { description: 'An item.' }), {
      description: 'The input of the next response: system messages, the compaction, unanswered messages.',
    }),
    usage: Usage,
    signalbox: SignalboxSchema,
    x_request_id: Text('Id of the request.'),
  },
  { $id: 'CompactedResponse', description: 'A compacted conversation.' },
)

/** How `/openapi.json` describes `POST /v1/responses/compact`. */
export const compactDescription: InferenceDescription = {
  operationId: 'compactResponse',
  summary: 'Compacts a conversation: a model summarizes it.',
  tags: ['responses'],
  headers: inferenceHeaders,
  body: CompactRequest,
  examples: {
    conversation: {
      model: 'auto:cost',
      input: [
        { role: 'user', content: 'We launch on Tuesday.' },
        { role: 'assistant', content: 'Noted.' },
      ],
    },
  },
  responses: {
    200: { description: 'The compacted conversation.', headers: replyHeaders, body: CompactedResponse },
  },
}
