import { Nullable, StringEnum, type TProperties, type TSchema, Type } from '../../core/contract/index.ts'
import { ResponseMetadata, SignalboxSchema } from '../../core/dialects/inference-description.ts'
import {
  AlwaysNull,
  AnyObject,
  Constant,
  EmptyList,
  NullableText,
  OpenObject,
  Text,
  Variants,
} from '../../core/dialects/schema-types.ts'
import {
  CustomTool,
  ListedNamespace,
  SearchTool,
} from '../../providers/shared/responses-format/request-schema.ts'
import { ECHOED_VALUES, RESPONSE_ERROR_CODES } from './response.ts'

// The response object of the Responses API, with its output items.

export const outputTextFields = {
  type: Constant('output_text'),
  text: Text('The text.'),
  annotations: EmptyList('An annotation.'),
  logprobs: EmptyList('A log probability.'),
}

const OutputText = OpenObject(outputTextFields, {
  $id: 'OutputText',
  description: "Text of the model, in OpenAI's form.",
})

const InterfaceText = OpenObject(
  { type: Constant('text'), text: Text('The text.') },
  { $id: 'InterfaceText', description: "Text of the model, in the gateway's own form." },
)

export const refusalFields = { type: Constant('refusal'), refusal: Text('The refusal.') }

const OutputRefusal = OpenObject(refusalFields, {
  $id: 'OutputRefusal',
  description: 'A refusal of the model.',
})

export const SummaryText = OpenObject(
  { type: Constant('summary_text'), text: Text('The text.') },
  { $id: 'SummaryText', description: 'Reasoning that the provider discloses.' },
)

const OutputPart = Variants('type', [OutputText, InterfaceText, OutputRefusal], {
  $id: 'OutputPart',
  description: 'A part of a message of the model.',
})

const id = Text('Id of the item.')

const status = StringEnum(['in_progress', 'completed', 'incomplete'], { description: 'Status of the item.' })

const OutputMessage = OpenObject(
  {
    id,
    type: Constant('message'),
    status,
    role: Constant('assistant'),
    content: Type.Array(OutputPart, { description: 'The parts of the message.' }),
  },
  { $id: 'OutputMessage', description: 'A message of the model.' },
)

/**
 * The calls of functions, of custom tools and of the client's search for tools, under these names: as items
 * of an output, and as items that lists repeat.
 */
export function callSchemas<Status extends TSchema>(names: readonly string[], status: Status) {
  const [functionCall, customCall, searchCall] = names
  const call = { id, status, call_id: Text('Id of the call, which its result refers to.') }
  return [
    OpenObject(
      {
        type: Constant('function_call'),
        ...call,
        name: Text('Name of the function.'),
        arguments: Text('The arguments as JSON text.'),
        namespace: Type.Optional(Text('The namespace of the function.')),
        extra_content: Type.Optional(AnyObject("Provider data to send back with the call's result.")),
      },
      { $id: functionCall, description: 'A call of a function.' },
    ),
    OpenObject(
      {
        type: Constant('custom_tool_call'),
        ...call,
        name: Text('Name of the tool.'),
        namespace: Type.Optional(Text('The namespace of the tool.')),
        input: Text('The input.'),
      },
      { $id: customCall, description: 'A call of a custom tool.' },
    ),
    OpenObject(
      {
        type: Constant('tool_search_call'),
        ...call,
        execution: Type.Literal('client', { description: 'Always client.' }),
        arguments: Type.Unknown({ description: 'The arguments of the search; {} until they are complete.' }),
      },
      { $id: searchCall, description: "A call of the client's search for tools." },
    ),
  ] as const
}

const [OutputFunctionCall, OutputCustomCall, OutputToolSearch] = callSchemas(
  ['OutputFunctionCall', 'OutputCustomCall', 'OutputToolSearch'],
  status,
)

export const EncryptedContent = Type.Optional(
  Text('What the provider wants back with the reasoning in the next request.'),
)

const OutputReasoning = OpenObject(
  {
    id,
    type: Constant('reasoning'),
    status,
    summary: Type.Array(SummaryText, { description: 'The reasoning that the provider discloses.' }),
    encrypted_content: EncryptedContent,
  },
  { $id: 'OutputReasoning', description: 'Reasoning of the model.' },
)

const OutputImage = OpenObject(
  {
    id,
    type: Constant('image_generation_call'),
    status: StringEnum(['in_progress', 'completed'], { description: 'Status of the item.' }),
    result: NullableText('The image in Base64; null until it is complete.'),
    output_format: Text('Such as png.'),
  },
  { $id: 'OutputImage', description: 'An image of the model.' },
)

const OutputItem = Variants(
  'type',
  [OutputMessage, OutputFunctionCall, OutputReasoning, OutputCustomCall, OutputToolSearch, OutputImage],
  { $id: 'OutputItem', description: 'An item of the output.' },
)

const tokens = (description: string) => Type.Integer({ minimum: 0, description })

export const Usage = OpenObject(
  {
    input_tokens: tokens('Tokens of the input.'),
    input_tokens_details: OpenObject(
      {
        cached_tokens: tokens('Tokens that were read from the cache.'),
        cache_write_tokens: tokens('Tokens that were written to the cache.'),
      },
      { $id: 'InputTokensDetails', description: 'Details of the input.' },
    ),
    output_tokens: tokens('Tokens of the output.'),
    output_tokens_details: OpenObject(
      { reasoning_tokens: tokens('Tokens of reasoning.') },
      { $id: 'OutputTokensDetails', description: 'Details of the output.' },
    ),
    total_tokens: tokens('All tokens.'),
  },
  { $id: 'ResponseUsage', description: 'Token usage.' },
)

const time = (description: string) =>
  Type.Integer({ format: 'int64', description: `${description} Unix time in seconds.` })

const ListedTool = OpenObject(
  {
    type: Constant('function'),
    name: Text('Name of the function.'),
    description: Type.Optional(NullableText('What it does.')),
    parameters: Nullable(AnyObject('JSON Schema of the arguments.'), {
      description: 'Schema of the arguments.',
    }),
    strict: Nullable(Type.Boolean(), { description: 'Arguments always match the schema.' }),
  },
  { $id: 'ListedTool', description: 'A function that the model may call.' },
)

/** Tools as responses and lists repeat them. */
export function ListedTools(description: string) {
  const tools = Variants('type', [ListedTool, CustomTool, ListedNamespace, SearchTool])
  return Type.Array(tools, { description })
}

const EchoedTool = OpenObject(
  { type: Constant('function'), name: Text('Name of the function.') },
  { $id: 'EchoedTool', description: 'The function to call.' },
)

const EchoedAllowedTools = OpenObject(
  {
    type: Constant('allowed_tools'),
    mode: StringEnum(['auto', 'required'], { description: 'Whether a tool must be called.' }),
    tools: Type.Array(AnyObject('A tool.'), { description: 'The tools that may be called.' }),
  },
  { $id: 'EchoedAllowedTools', description: 'The tools that the model may call.' },
)

const EchoedSimpleFormat = OpenObject(
  { type: StringEnum(['text', 'json_object'], { description: 'Text, or any JSON object.' }) },
  { $id: 'EchoedSimpleFormat', description: 'A format without a schema.' },
)

const EchoedSchemaFormat = OpenObject(
  {
    type: Constant('json_schema'),
    name: Text('Name of the schema.'),
    schema: AnyObject('The JSON Schema.'),
    strict: Type.Optional(Nullable(Type.Boolean(), { description: 'The reply always matches the schema.' })),
    description: Type.Optional(Text('What the schema is for.')),
  },
  { $id: 'EchoedSchemaFormat', description: 'JSON that matches a schema.' },
)

export const ResponseSchema = OpenObject(
  {
    id: Type.String({ pattern: '^resp_', description: 'Id of the response.' }),
    object: Constant('response'),
    created_at: time('When the response was created.'),
    status: StringEnum(['in_progress', 'completed', 'incomplete', 'failed', 'cancelled'], {
      description: 'Status of the response.',
    }),
    model: Text('The model that answered.'),
    output: Type.Array(OutputItem, { description: 'What the model produced.' }),
    usage: Type.Optional(Usage),
    metadata: ResponseMetadata,
    signalbox: SignalboxSchema,
    error: Nullable(
      OpenObject(
        {
          code: StringEnum(RESPONSE_ERROR_CODES, { description: 'What went wrong.' }),
          message: Text('What went wrong, as a sentence.'),
        },
        { $id: 'ModelResponseError', description: 'Why a response failed.' },
      ),
      { description: 'Why the response failed; null otherwise.' },
    ),
    incomplete_details: Nullable(
      OpenObject(
        {
          reason: StringEnum(['max_output_tokens', 'content_filter'], { description: 'What cut it off.' }),
        },
        { $id: 'IncompleteDetails', description: 'Why a response is incomplete.' },
      ),
      { description: 'Why the response is incomplete; null otherwise.' },
    ),
    completed_at: Nullable(Type.Integer({ format: 'int64' }), {
      description: 'When the model finished. Unix time in seconds; null until then.',
    }),
    instructions: NullableText('The instructions as they were sent to the model.'),
    previous_response_id: NullableText('The response that this one continues.'),
    max_output_tokens: Nullable(Type.Integer(), { description: 'Maximum length of the reply, in tokens.' }),
    temperature: Type.Number({ description: 'Randomness.' }),
    top_p: Type.Number({ description: 'Share of the probability mass that is sampled from.' }),
    tools: ListedTools('The tools of the request.'),
    tool_choice: Type.Union([StringEnum(ECHOED_VALUES.tool_choice), EchoedTool, EchoedAllowedTools], {
      description: 'auto, none, required, or the tool to call.',
    }),
    parallel_tool_calls: Type.Boolean({ description: 'Whether several calls in one reply are allowed.' }),
    reasoning: OpenObject(
      {
        effort: Nullable(StringEnum(ECHOED_VALUES.effort), { description: 'Effort of reasoning.' }),
        summary: Nullable(StringEnum(ECHOED_VALUES.summary), { description: 'Form of the summary.' }),
      },
      { $id: 'ResponseReasoning', description: 'Options of reasoning.' },
    ),
    text: OpenObject(
      {
        format: Variants('type', [EchoedSimpleFormat, EchoedSchemaFormat], {
          $id: 'EchoedFormat',
          description: 'Format of the text.',
        }),
        verbosity: Type.Optional(
          StringEnum(ECHOED_VALUES.verbosity, {
            description: 'Verbosity of the text, if the request has it.',
          }),
        ),
      },
      { $id: 'ResponseText', description: 'Options of the text.' },
    ),
    truncation: StringEnum(['auto', 'disabled'], {
      description: 'Always disabled, or what the request says.',
    }),
    top_logprobs: Type.Integer({ description: 'Always 0.' }),
    service_tier: Nullable(StringEnum(ECHOED_VALUES.service_tier), {
      description: 'The service tier of the request.',
    }),
    background: Type.Boolean({ description: 'Always false.' }),
    store: Type.Boolean({ description: 'Whether the response is stored.' }),
    presence_penalty: Type.Number({ description: 'Penalty for words that occurred.' }),
    frequency_penalty: Type.Number({ description: 'Penalty for words by how often they occurred.' }),
    max_tool_calls: Nullable(Type.Integer(), {
      description: 'Maximum number of calls of hosted tools, of which there are none.',
    }),
    access_programs: AlwaysNull('OpenAI alone has such programs'),
    safety_identifier: NullableText('The safety identifier of the request.'),
    prompt_cache_key: NullableText('The cache key of the request.'),
    user: Type.Optional(Text('The user of the request.')),
    x_request_id: Text('Id of the request.'),
    latency_ms: Type.Optional(
      Type.Integer({ minimum: 0, description: 'Time to the reply, in milliseconds.' }),
    ),
  },
  { $id: 'ModelResponse', description: 'A response of the Responses API.' },
)

// The events of streamed responses.

function eventSchema<const Name extends string, Fields extends TProperties>(
  type: Name,
  description: string,
  fields: Fields,
) {
  const name = type.split(/[._]/).map((word) => word.charAt(0).toUpperCase() + word.slice(1))
  return OpenObject(
    {
      type: Constant(type),
      sequence_number: Type.Integer({ minimum: 0, description: 'Number of the event, from 0.' }),
      ...fields,
    },
    { $id: `${name.join('')}Event`, description },
  )
}

const index = (description: string) => Type.Integer({ minimum: 0, description })

const output_index = index('Index of the item in the output.')

const itemPosition = { item_id: Text('Id of the item.'), output_index }

const partPosition = { ...itemPosition, content_index: index('Index of the part in the message.') }

const summaryPosition = { ...itemPosition, summary_index: index('Index of the summary.') }

const logprobs = EmptyList('A log probability.')

const part = Variants('type', [OutputText, OutputRefusal], {
  $id: 'StreamedPart',
  description: 'A part of a message.',
})

const response = { response: ResponseSchema }

const item = { output_index, item: OutputItem }

/** The event of a stream of the Responses API, by type. */
export const ResponseStreamEvent = Variants(
  'type',
  [
    eventSchema('response.created', 'The response was created.', response),
    eventSchema('response.in_progress', 'The model is working on the response.', response),
    eventSchema('response.output_item.added', 'An item was added.', item),
    eventSchema('response.output_item.done', 'An item is complete.', item),
    eventSchema('response.content_part.added', 'A part was added to a message.', { ...partPosition, part }),
    eventSchema('response.content_part.done', 'A part is complete.', { ...partPosition, part }),
    eventSchema('response.output_text.delta', 'More text.', {
      ...partPosition,
      delta: Text('The text that was added.'),
      logprobs,
    }),
    eventSchema('response.output_text.done', 'A text is complete.', {
      ...partPosition,
      text: Text('The whole text.'),
      logprobs,
    }),
    eventSchema('response.refusal.delta', 'More of a refusal.', {
      ...partPosition,
      delta: Text('The text that was added.'),
    }),
    eventSchema('response.refusal.done', 'A refusal is complete.', {
      ...partPosition,
      refusal: Text('The whole refusal.'),
    }),
    eventSchema('response.reasoning_summary_part.added', 'A summary of reasoning was added.', {
      ...summaryPosition,
      part: SummaryText,
    }),
    eventSchema('response.reasoning_summary_part.done', 'A summary of reasoning is complete.', {
      ...summaryPosition,
      part: SummaryText,
    }),
    eventSchema('response.reasoning_summary_text.delta', 'More of a summary of reasoning.', {
      ...summaryPosition,
      delta: Text('The text that was added.'),
    }),
    eventSchema('response.reasoning_summary_text.done', 'The text of a summary is complete.', {
      ...summaryPosition,
      text: Text('The whole text.'),
    }),
    eventSchema('response.function_call_arguments.delta', 'More arguments of a call.', {
      ...itemPosition,
      delta: Text('The text that was added.'),
    }),
    eventSchema('response.function_call_arguments.done', 'The arguments of a call are complete.', {
      ...itemPosition,
      name: Text('Name of the function.'),
      arguments: Text('All arguments, as JSON text.'),
    }),
    eventSchema('response.custom_tool_call_input.delta', 'More input of a custom tool.', {
      ...itemPosition,
      delta: Text('The text that was added.'),
    }),
    eventSchema('response.custom_tool_call_input.done', 'The input of a custom tool is complete.', {
      ...itemPosition,
      input: Text('The whole input.'),
    }),
    eventSchema('response.image_generation_call.in_progress', 'An image follows.', itemPosition),
    eventSchema('response.image_generation_call.completed', 'An image is complete.', itemPosition),
    eventSchema('response.completed', 'The response is complete. The last event.', response),
    eventSchema('response.incomplete', 'The response was cut off. The last event.', response),
    eventSchema('response.failed', 'The response failed. The last event.', response),
  ],
  { $id: 'ResponseStreamEvent', description: 'An event of a streamed response.' },
)
