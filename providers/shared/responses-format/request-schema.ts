import { type JsonObject, Nullable, type Static, StringEnum, Type } from '../../../core/contract/index.ts'
import {
  AnyObject,
  Constant,
  ModelName,
  NullableBoolean,
  NullableNumber,
  NullableText,
  OpenObject,
  Text,
  ToolChoice,
  Variants,
} from '../../../core/dialects/schema-types.ts'

// The tools of the Responses API, in requests and in responses.

const FunctionTool = OpenObject(
  {
    type: Type.Literal('function', { description: 'Always function.' }),
    name: Type.String({ minLength: 1, description: 'Name of the function.' }),
    description: Type.Optional(NullableText('What it does.')),
    parameters: Type.Optional(
      Nullable(AnyObject('JSON Schema of the arguments.'), { description: 'JSON Schema of the arguments.' }),
    ),
    strict: Type.Optional(NullableBoolean('Arguments always match the schema.')),
  },
  { $id: 'FunctionTool', description: 'A function that the model may call.' },
)

const InputFormat = Variants(
  'type',
  [
    OpenObject(
      { type: Type.Literal('text', { description: 'Always text.' }) },
      { $id: 'TextInput', description: 'Any text.' },
    ),
    OpenObject(
      {
        type: Type.Literal('grammar', { description: 'Always grammar.' }),
        syntax: StringEnum(['lark', 'regex'], { description: 'What the grammar is written in.' }),
        definition: Text('The grammar.'),
      },
      { $id: 'GrammarInput', description: 'Text that matches a grammar, which models read.' },
    ),
  ],
  { isClosed: true, $id: 'CustomToolInput', description: 'Form of the input.' },
)

export const CustomTool = OpenObject(
  {
    type: Type.Literal('custom', { description: 'Always custom.' }),
    name: Type.String({ minLength: 1, description: 'Name of the tool.' }),
    description: Type.Optional(Text('What it does.')),
    format: Type.Optional(InputFormat),
  },
  { $id: 'CustomTool', description: 'A tool whose input is any text.' },
)

const namespaceFields = {
  type: Type.Literal('namespace', { description: 'Always namespace.' }),
  name: Type.String({ minLength: 1, description: 'Name of the namespace.' }),
  tools: Type.Array(Variants('type', [FunctionTool, CustomTool]), {
    description: 'Functions and custom tools.',
  }),
}

const NamespaceTool = OpenObject(
  { ...namespaceFields, description: Type.Optional(NullableText('What its tools are for.')) },
  { $id: 'NamespaceTool', description: 'Tools under a common name.' },
)

/** A namespace as responses repeat it. */
export const ListedNamespace = OpenObject(
  { ...namespaceFields, description: Text('What its tools are for.') },
  { $id: 'ListedNamespace', description: 'Tools under a common name.' },
)

export const SearchTool = OpenObject(
  {
    type: Type.Literal('tool_search', { description: 'Always tool_search.' }),
    execution: Type.Optional(
      StringEnum(['client', 'server'], {
        description: 'Who searches. Models get a search of the client only.',
      }),
    ),
    description: Type.Optional(NullableText('What it finds.')),
    parameters: Type.Optional(
      Nullable(AnyObject('JSON Schema of the arguments.'), { description: 'JSON Schema of the arguments.' }),
    ),
  },
  { $id: 'ToolSearch', description: 'A search for tools that the request does not list.' },
)

/** `{type:"function", name, parameters}`. Chat completions nest these fields in `function`. */
export interface FlatTool extends JsonObject {
  readonly type: string
}

const ToolSchema = Type.Unsafe<FlatTool>(
  Variants('type', [FunctionTool, CustomTool, NamespaceTool, SearchTool], {
    $id: 'Tool',
    description: 'A tool that the model may call.',
  }),
)

// The input items of the Responses API, in requests and in lists.

function textPart<const Name extends string>(type: Name, $id: string, description: string) {
  return OpenObject({ type: Constant(type), text: Text('The text.') }, { $id, description })
}

const InputText = textPart('input_text', 'InputText', 'Text of the user or the application.')
const OutputText = textPart('output_text', 'EarlierText', 'Text of an earlier reply.')
const PlainText = textPart('text', 'PlainText', 'Text.')

const Refusal = OpenObject(
  { type: Constant('refusal'), refusal: Text('The refusal.') },
  { $id: 'EarlierRefusal', description: 'A refusal of an earlier reply.' },
)

const InputImage = OpenObject(
  {
    type: Constant('input_image'),
    image_url: Type.Optional(NullableText('An https or data URL.')),
    detail: Type.Optional(NullableText('auto, low or high.')),
    file_id: Type.Optional(NullableText('Id of a file at the provider.')),
  },
  { $id: 'InputImage', description: 'An image.' },
)

const InputFile = OpenObject(
  {
    type: Constant('input_file'),
    file_data: Type.Optional(NullableText('The file as a data URL, or in Base64.')),
    file_url: Type.Optional(NullableText('An https URL.')),
    file_id: Type.Optional(NullableText('Id of a file at the provider.')),
    filename: Type.Optional(NullableText('Name of the file.')),
  },
  { $id: 'InputFile', description: 'A file.' },
)

const InputPart = Variants('type', [InputText, OutputText, PlainText, Refusal, InputImage, InputFile], {
  $id: 'InputPart',
  description: 'A part of an item.',
})

const content = Type.Union([Type.String(), Type.Array(InputPart)], {
  description: 'Text, or a list of parts.',
})

/** `type` is optional: an item without it is a message. */
const Message = OpenObject(
  {
    type: Type.Optional(Constant('message')),
    role: StringEnum(['user', 'assistant', 'system', 'developer'], { description: 'The author.' }),
    content,
  },
  { $id: 'InputMessage', description: 'A message.' },
)

const FunctionCall = OpenObject(
  {
    type: Constant('function_call'),
    call_id: Text('Id of the call, which its result refers to.'),
    name: Text('Name of the function.'),
    arguments: Type.Optional(NullableText('The arguments as JSON text. Default: {}.')),
    namespace: Type.Optional(NullableText('The namespace of the function.')),
    extra_content: Type.Optional(
      Nullable(AnyObject('Provider data'), { description: 'Provider data of the call.' }),
    ),
  },
  { $id: 'InputFunctionCall', description: 'A call of a function in an earlier reply.' },
)

const FunctionCallOutput = OpenObject(
  {
    type: Constant('function_call_output'),
    call_id: Text('Id of the call.'),
    output: content,
  },
  { $id: 'InputFunctionCallOutput', description: 'The result of a call.' },
)

const CustomCall = OpenObject(
  {
    type: Constant('custom_tool_call'),
    call_id: Text('Id of the call, which its result refers to.'),
    name: Text('Name of the tool.'),
    namespace: Type.Optional(NullableText('The namespace of the tool.')),
    input: Text('The input.'),
  },
  { $id: 'InputCustomCall', description: 'A call of a custom tool in an earlier reply.' },
)

const CustomCallOutput = OpenObject(
  { type: Constant('custom_tool_call_output'), call_id: Text('Id of the call.'), output: content },
  { $id: 'InputCustomCallOutput', description: 'The result of a call of a custom tool.' },
)

const ToolSearchCall = OpenObject(
  {
    type: Constant('tool_search_call'),
    call_id: Type.Optional(NullableText('Id of the call, which its result refers to.')),
    arguments: Type.Unknown({ description: 'The arguments of the search.' }),
  },
  { $id: 'InputToolSearchCall', description: "A call of the client's search for tools in an earlier reply." },
)

const ToolSearchOutput = OpenObject(
  {
    type: Constant('tool_search_output'),
    call_id: Type.Optional(NullableText('Id of the call.')),
    tools: Type.Array(ToolSchema, { description: 'The tools that were found, which the model may call.' }),
  },
  { $id: 'InputToolSearchOutput', description: "The result of the client's search for tools." },
)

function reasoningText($id: string) {
  return OpenObject(
    { type: Type.Optional(Text('Kind of the text.')), text: Text('The text.') },
    { $id, description: 'A text of reasoning.' },
  )
}

const Reasoning = OpenObject(
  {
    type: Constant('reasoning'),
    summary: Type.Optional(
      Type.Array(reasoningText('InputReasoningSummary'), { description: 'Summaries of the reasoning.' }),
    ),
    content: Type.Optional(
      Nullable(Type.Array(reasoningText('InputReasoningText')), { description: 'The reasoning.' }),
    ),
    encrypted_content: Type.Optional(
      NullableText('What the provider wants back with the reasoning, as the response had it.'),
    ),
  },
  { $id: 'InputReasoning', description: 'Reasoning of an earlier reply.' },
)

const ItemReference = OpenObject(
  { type: Constant('item_reference'), id: Text('Id of the item.') },
  { $id: 'ItemReference', description: 'An item of a stored response.' },
)

const InputCompaction = OpenObject(
  {
    type: Constant('compaction'),
    encrypted_content: Text('The summary, as POST /v1/responses/compact returned it.'),
  },
  { $id: 'InputCompaction', description: 'The summary of a conversation.' },
)

const InputImageCall = OpenObject(
  {
    type: Constant('image_generation_call'),
    result: Type.Optional(NullableText('The image in Base64.')),
    output_format: Type.Optional(NullableText('Such as png, the default.')),
  },
  { $id: 'InputImageCall', description: 'An image of an earlier reply.' },
)

const InputItemSchema = Variants(
  'type',
  [
    ...[Message, FunctionCall, FunctionCallOutput, CustomCall, CustomCallOutput],
    ...[ToolSearchCall, ToolSearchOutput],
    ...[Reasoning, ItemReference, InputCompaction, InputImageCall],
  ],
  { $id: 'InputItem', description: 'An item of the conversation.' },
)

const nullableObject = (description: string) => Nullable(AnyObject(description), { description })

const simpleFormat = OpenObject(
  { type: StringEnum(['text', 'json_object'], { description: 'Text, or any JSON object.' }) },
  { $id: 'SimpleFormat', description: 'A format without a schema.' },
)

const schemaFormat = OpenObject(
  {
    type: Type.Literal('json_schema', { description: 'Always json_schema.' }),
    name: Text('Name of the schema.'),
    schema: AnyObject('The JSON Schema.'),
    strict: Type.Optional(NullableBoolean('The reply always matches the schema.')),
    description: Type.Optional(NullableText('What the schema is for.')),
  },
  { $id: 'SchemaFormat', description: 'JSON that matches a schema.' },
)

/** The format of the text, as validated requests hold it. */
export interface TextFormat extends JsonObject {
  readonly type: 'text' | 'json_object' | 'json_schema'
}

const format = Type.Unsafe<TextFormat>(
  Variants('type', [simpleFormat, schemaFormat], {
    isClosed: true,
    $id: 'TextFormat',
    description: 'Format of the text.',
  }),
)

const input = Type.Unsafe<string | readonly InputItem[]>(
  Type.Union([Type.String(), Type.Array(InputItemSchema, { 'x-documented': { minItems: 1 } })], {
    description: 'The text of the user, or a list of items.',
  }),
)

const text = OpenObject(
  {
    format: Type.Optional(Nullable(format, { description: 'Format of the text.' })),
    verbosity: Type.Optional(NullableText('low, medium or high.')),
  },
  { description: 'Options of the text.' },
)

const reasoning = OpenObject(
  {
    effort: Type.Optional(NullableText('none, minimal, low, medium or high.')),
    summary: Type.Optional(NullableText('auto, concise or detailed.')),
  },
  { description: 'Options of reasoning.' },
)

/** The body of `POST /v1/responses` (docs/api.md, "Responses"). Unknown fields are ignored. */
export const responsesRequestSchema = OpenObject(
  {
    model: Type.Optional(Nullable(ModelName, { description: ModelName.description })),
    input,
    generate: Type.Optional(
      NullableBoolean('false stores the input for a following request, without calling a model.'),
    ),
    instructions: Type.Optional(NullableText('Instructions of the application.')),
    max_output_tokens: Type.Optional(
      Nullable(Type.Integer({ minimum: 1 }), { description: 'Maximum length of the reply, in tokens.' }),
    ),
    max_tool_calls: Type.Optional(
      Nullable(Type.Integer({ minimum: 1 }), {
        description: 'Maximum number of calls of hosted tools. There are none, so it has no effect.',
      }),
    ),
    temperature: Type.Optional(NullableNumber(0, 2, 'Randomness.')),
    top_p: Type.Optional(NullableNumber(0, 1, 'Share of the probability mass that is sampled from.')),
    presence_penalty: Type.Optional(NullableNumber(-2, 2, 'Penalty for words that occurred.')),
    frequency_penalty: Type.Optional(NullableNumber(-2, 2, 'Penalty for words by how often they occurred.')),
    service_tier: Type.Optional(NullableText('The service tier, for providers that have some.')),
    safety_identifier: Type.Optional(NullableText('A stable id of your user.')),
    prompt_cache_key: Type.Optional(NullableText('A key for the cache of the provider.')),
    include: Type.Optional(
      Nullable(Type.Array(Type.String()), {
        description:
          'reasoning.encrypted_content asks for it from models that otherwise do not return it. Other ' +
          'values have no effect.',
      }),
    ),
    stream: Type.Optional(NullableBoolean('Streams the response as events.')),
    store: Type.Optional(NullableBoolean('Stores the response. Default: true.')),
    metadata: Type.Optional(nullableObject('Metadata for routing rules.')),
    user: Type.Optional(NullableText('An id of your user, or metadata as JSON text.')),
    previous_response_id: Type.Optional(NullableText('The response to continue.')),
    parallel_tool_calls: Type.Optional(NullableBoolean('Allows several calls in one reply.')),
    tools: Type.Optional(Nullable(Type.Array(ToolSchema), { description: 'Tools that the model may call.' })),
    tool_choice: Type.Optional(ToolChoice),
    text: Type.Optional(Nullable(text, { description: 'Options of the text.' })),
    reasoning: Type.Optional(Nullable(reasoning, { description: 'Options of reasoning.' })),
    truncation: Type.Optional(
      Nullable(StringEnum(['auto', 'disabled']), { description: 'Accepted for compatibility.' }),
    ),
    top_logprobs: Type.Optional(
      Nullable(Type.Integer(), {
        description: 'Only 0 is supported.',
        'x-documented': { minimum: 0, maximum: 0 },
      }),
    ),
  },
  { $id: 'ModelResponseRequest', description: 'A request for a response.' },
)

/** A valid body of `POST /v1/responses`. Unknown fields are of unknown type. */
export type ResponsesBody = Static<typeof responsesRequestSchema>

/** A message, function call, call output or reasoning, according to `type`, which defaults to `message`. */
export interface InputItem extends JsonObject {
  readonly type?: string
}
