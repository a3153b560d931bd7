import { type TProperties, Type } from '../../contract/index.ts'
import { Constant, EmptyList, OpenObject, Text, Variants } from '../schema-types.ts'
import { OutputItem, OutputRefusal, OutputText, ResponseSchema, SummaryText } from './response-schemas.ts'

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
