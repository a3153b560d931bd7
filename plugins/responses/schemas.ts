import { Nullable, StrictObject, StringEnum, Type } from '../../core/contract/index.ts'
import { ResponseStreamEvent } from '../../core/dialects/responses/event-schemas.ts'
import { ListedItem } from '../../core/dialects/responses/list-schemas.ts'
import { ResponseSchema } from '../../core/dialects/responses/response-schemas.ts'

export const responseId = Type.String({
  minLength: 1,
  description: 'The id of one of your responses, or the id of the request that created it.',
  examples: ['resp_gGvBxwr2CTTZ4RYVqXhM0SkL'],
})

/** The body of `POST /v1/responses/{id}`, which is optional. */
export const Replay = Type.Optional(
  StrictObject(
    { stream: Type.Optional(Nullable(Type.Boolean(), { description: 'Streams the response as events.' })) },
    { $id: 'Replay', description: 'How to replay a response.' },
  ),
)

/** OpenAI's SDKs may send it. Stored responses always contain everything. */
const include = Type.Optional(
  Type.Array(Type.String(), {
    description: 'Accepted for compatibility; has no effect.',
    examples: [['message.output_text.logprobs']],
  }),
)

/** The query of `GET /v1/responses/{id}`. */
export const readQuery = {
  stream: Type.Optional(Type.Boolean({ description: 'Streams the response as events.' })),
  starting_after: Type.Optional(
    Type.Integer({
      minimum: 0,
      description: 'The sequence_number of an event: a stream begins behind it. For streams only.',
      examples: [12],
    }),
  ),
  include,
}

/** The query of `GET /v1/responses/{id}/input_items`. */
export const inputItemsQuery = {
  order: Type.Optional(StringEnum(['asc', 'desc'], { default: 'desc', description: 'Order of the items.' })),
  limit: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 100, default: 20, description: 'Maximum number of items.' }),
  ),
  after: Type.Optional(
    Type.String({
      minLength: 1,
      description: 'Returns items after the item with this id.',
      examples: ['msg_gGvBxwr2CTTZ4RYVqXhM0SkLi00'],
    }),
  ),
  include,
}

export const DeletedResponse = Type.Object(
  {
    id: Type.String({ description: 'Id of the response.' }),
    object: Type.Literal('response', { description: 'Always response.' }),
    deleted: Type.Boolean({ description: 'Always true.' }),
  },
  { $id: 'DeletedResponse', description: 'A response was deleted.' },
)

export const InputItemList = Type.Object(
  {
    object: Type.Literal('list', { description: 'Always list.' }),
    data: Type.Array(ListedItem, { description: 'The items.' }),
    first_id: Type.String({ description: 'Id of the first item; empty if there is none.' }),
    last_id: Type.String({ description: 'Id of the last item; empty if there is none.' }),
    has_more: Type.Boolean({ description: 'Whether there are more items.' }),
  },
  { $id: 'InputItemList', description: 'A page of input items.' },
)

export const storedResponse = {
  description: 'The response, or the events of a stream.',
  body: ResponseSchema,
  events: ResponseStreamEvent,
}
