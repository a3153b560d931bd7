import { Nullable, StringEnum, Type } from '../../contract/index.ts'
import { AnyObject, Constant, NullableText, OpenObject, Text, Variants } from '../schema-types.ts'
import { ToolSchema } from './tool-schemas.ts'

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

export const InputItemSchema = Variants(
  'type',
  [
    ...[Message, FunctionCall, FunctionCallOutput, CustomCall, CustomCallOutput],
    ...[ToolSearchCall, ToolSearchOutput],
    ...[Reasoning, ItemReference, InputCompaction, InputImageCall],
  ],
  { $id: 'InputItem', description: 'An item of the conversation.' },
)
