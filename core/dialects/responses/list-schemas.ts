import { StringEnum, Type } from '../../contract/index.ts'
import { AnyObject, NullableText, OpenObject, Text, Variants } from '../schema-types.ts'
import { SummaryText } from './response-schemas.ts'

// The input items of stored responses, as lists return them.

const literal = (value: string) => Type.Literal(value, { description: `Always ${value}.` })

const id = Text('Id of the item.')
const status = Type.Literal('completed', { description: 'Always completed.' })

const ListedInputText = OpenObject(
  { type: literal('input_text'), text: Text('The text.') },
  { $id: 'ListedInputText', description: 'Text of the user or the application.' },
)

const ListedOutputText = OpenObject(
  {
    type: literal('output_text'),
    text: Text('The text.'),
    annotations: Type.Array(AnyObject('An annotation.'), { description: 'Always empty.' }),
    logprobs: Type.Array(AnyObject('A log probability.'), { description: 'Always empty.' }),
  },
  { $id: 'ListedOutputText', description: 'Text of an earlier reply.' },
)

const ListedRefusal = OpenObject(
  { type: literal('refusal'), refusal: Text('The refusal.') },
  { $id: 'ListedRefusal', description: 'A refusal of an earlier reply.' },
)

const ListedImage = OpenObject(
  { type: literal('input_image'), image_url: Text('The URL.'), detail: Text('auto, low or high.') },
  { $id: 'ListedImage', description: 'An image.' },
)

const ListedFile = OpenObject(
  {
    type: literal('input_file'),
    file_data: Type.Optional(NullableText('The file as a data URL.')),
    file_id: Type.Optional(NullableText('Id of a file at the provider.')),
    filename: Type.Optional(NullableText('Name of the file.')),
  },
  { $id: 'ListedFile', description: 'A file.' },
)

const ListedPart = Variants(
  'type',
  [ListedInputText, ListedOutputText, ListedRefusal, ListedImage, ListedFile],
  { $id: 'ListedPart', description: 'A part of an item.' },
)

const parts = Type.Array(ListedPart, { description: 'The parts of the item.' })

const ListedMessage = OpenObject(
  {
    id,
    type: literal('message'),
    status,
    role: StringEnum(['user', 'assistant', 'system', 'developer', 'function'], {
      description: 'The author.',
    }),
    content: parts,
  },
  { $id: 'ListedMessage', description: 'A message.' },
)

const ListedFunctionCall = OpenObject(
  {
    id,
    type: literal('function_call'),
    status,
    call_id: Text('Id of the call.'),
    name: Text('Name of the function.'),
    arguments: Text('The arguments as JSON text.'),
    extra_content: Type.Optional(AnyObject('Provider data of the call.')),
  },
  { $id: 'ListedFunctionCall', description: 'A call of a function.' },
)

const ListedCallOutput = OpenObject(
  {
    id,
    type: literal('function_call_output'),
    status,
    call_id: Text('Id of the call.'),
    output: Type.Union([Type.String(), Type.Array(ListedPart)], { description: 'Text, or a list of parts.' }),
  },
  { $id: 'ListedCallOutput', description: 'The result of a call.' },
)

const ListedReasoning = OpenObject(
  {
    id,
    type: literal('reasoning'),
    summary: Type.Array(SummaryText, { description: 'Summaries of the reasoning.' }),
  },
  { $id: 'ListedReasoning', description: 'Reasoning of an earlier reply.' },
)

/** An input item of a stored response. */
export const ListedItem = Variants(
  'type',
  [ListedMessage, ListedFunctionCall, ListedCallOutput, ListedReasoning],
  { $id: 'ListedItem', description: 'An input item of a stored response.' },
)
