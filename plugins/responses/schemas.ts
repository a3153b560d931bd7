import { Nullable, StrictObject, StringEnum, Type } from '../../core/contract/index.ts'
import { Constant, OpenObject, Text, Variants } from '../../core/dialects/schema-types.ts'
import { IMAGE_DETAILS } from '../../providers/shared/responses-format/input-items.ts'
import {
  callSchemas,
  EncryptedContent,
  ListedTools,
  outputTextFields,
  ResponseSchema,
  ResponseStreamEvent,
  refusalFields,
  SummaryText,
} from './response-schemas.ts'

// The input items of stored responses, as lists return them.

const id = Text('Id of the item.')
const status = Type.Literal('completed', { description: 'Always completed.' })

const ListedInputText = OpenObject(
  { type: Constant('input_text'), text: Text('The text.') },
  { $id: 'ListedInputText', description: 'Text of the user or the application.' },
)

const ListedOutputText = OpenObject(outputTextFields, {
  $id: 'ListedOutputText',
  description: 'Text of an earlier reply.',
})

const ListedRefusal = OpenObject(refusalFields, {
  $id: 'ListedRefusal',
  description: 'A refusal of an earlier reply.',
})

const ListedImage = OpenObject(
  {
    type: Constant('input_image'),
    image_url: Text('The URL.'),
    detail: StringEnum(IMAGE_DETAILS, { description: 'Resolution of the image.' }),
  },
  { $id: 'ListedImage', description: 'An image.' },
)

const ListedFile = OpenObject(
  {
    type: Constant('input_file'),
    file_data: Type.Optional(Text('The file as a data URL.')),
    file_id: Type.Optional(Text('Id of a file at the provider.')),
    filename: Type.Optional(Text('Name of the file.')),
  },
  { $id: 'ListedFile', description: 'A file.' },
)

const ListedInputPart = Variants('type', [ListedInputText, ListedImage, ListedFile], {
  $id: 'ListedInputPart',
  description: 'A part of the input.',
})

const ListedOutputPart = Variants('type', [ListedOutputText, ListedRefusal], {
  $id: 'ListedOutputPart',
  description: 'A part of an earlier reply.',
})

const ListedInputMessage = OpenObject(
  {
    id,
    type: Constant('message'),
    status,
    role: StringEnum(['user', 'system', 'developer'], { description: 'The author.' }),
    content: Type.Array(ListedInputPart, { description: 'The parts of the message.' }),
  },
  { $id: 'ListedInputMessage', description: 'A message of the user or the application.' },
)

const ListedOutputMessage = OpenObject(
  {
    id,
    type: Constant('message'),
    status,
    role: Constant('assistant'),
    content: Type.Array(ListedOutputPart, { description: 'The parts of the message.' }),
  },
  { $id: 'ListedOutputMessage', description: 'A message of an earlier reply.' },
)

const [ListedFunctionCall, ListedCustomCall, ListedSearchCall] = callSchemas(
  ['ListedFunctionCall', 'ListedCustomCall', 'ListedSearchCall'],
  status,
)

function callOutput<const Name extends string>(type: Name, $id: string, description: string) {
  return OpenObject(
    {
      id,
      type: Constant(type),
      status,
      call_id: Text('Id of the call.'),
      output: Type.Union([Type.String(), Type.Array(ListedInputPart)], {
        description: 'Text, or a list of parts.',
      }),
    },
    { $id, description },
  )
}

const ListedCallOutput = callOutput('function_call_output', 'ListedCallOutput', 'The result of a call.')

const ListedCustomOutput = callOutput(
  'custom_tool_call_output',
  'ListedCustomOutput',
  'The result of a call of a custom tool.',
)

const ListedSearchOutput = OpenObject(
  {
    id,
    type: Constant('tool_search_output'),
    status,
    call_id: Text('Id of the call.'),
    execution: Type.Literal('client', { description: 'Always client.' }),
    tools: ListedTools('The tools that were found.'),
  },
  { $id: 'ListedSearchOutput', description: "The result of the client's search for tools." },
)

const ListedReasoning = OpenObject(
  {
    id,
    type: Constant('reasoning'),
    summary: Type.Array(SummaryText, { description: 'Summaries of the reasoning.' }),
    encrypted_content: EncryptedContent,
  },
  { $id: 'ListedReasoning', description: 'Reasoning of an earlier reply.' },
)

/** An input item of a stored response. Messages have one type, and differ by role. */
export const ListedItem = Type.Union(
  [
    ...[ListedInputMessage, ListedOutputMessage, ListedFunctionCall, ListedCallOutput, ListedReasoning],
    ...[ListedCustomCall, ListedCustomOutput, ListedSearchCall, ListedSearchOutput],
  ],
  { $id: 'ListedItem', description: 'An input item of a stored response.' },
)

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
