import { type InferenceDescription, Nullable, StringEnum, Type } from '../../contract/index.ts'
import { errorBodySchema } from '../../http/errors.ts'
import { completionFields, logprobs, optionalFields, replyExtensions } from '../chat/response-schemas.ts'
import { inferenceHeaders, replyHeaders } from '../inference-description.ts'
import { OpenObject, Text } from '../schema-types.ts'
import { completionsRequestSchema } from './request-schema.ts'

const FinishReason = StringEnum(['stop', 'length', 'content_filter'], {
  description: 'Why the model stopped.',
})

const choiceFields = {
  text: Text('The text, or more of it.'),
  index: Type.Integer({ minimum: 0, description: 'Always 0.' }),
  logprobs,
}

const TextChoice = OpenObject(
  { ...choiceFields, finish_reason: FinishReason },
  { $id: 'TextChoice', description: 'A text.' },
)

const TextChunkChoice = OpenObject(
  {
    ...choiceFields,
    finish_reason: Nullable(FinishReason, { description: 'Why the model stopped; null until then.' }),
  },
  { $id: 'TextChunkChoice', description: 'More of a text.' },
)

const fields = {
  id: Text('Id of the completion.'),
  object: Type.Literal('text_completion', { description: 'Always text_completion.' }),
  created: completionFields.created,
  model: completionFields.model,
}

export const TextCompletion = OpenObject(
  {
    ...fields,
    choices: Type.Array(TextChoice, { description: 'Always one text.' }),
    usage: completionFields.usage,
    ...replyExtensions,
  },
  { $id: 'TextCompletion', description: "A text in OpenAI's legacy format." },
)

const TextCompletionChunk = OpenObject(
  {
    ...fields,
    choices: Type.Array(TextChunkChoice, { description: 'One item; none in the record with the usage.' }),
    usage: Type.Optional(
      Nullable(completionFields.usage, { description: 'In the last record, if requested.' }),
    ),
    ...optionalFields(replyExtensions),
  },
  { $id: 'TextCompletionChunk', description: 'A record of a stream. The last record is the text [DONE].' },
)

const StreamRecord = Type.Union([TextCompletionChunk, errorBodySchema('openai')], {
  $id: 'TextStreamRecord',
  description: 'A record with text, or the error that ends the stream.',
})

const prompt = 'Name three signals of a railway.'

/** How `/openapi.json` describes `POST /v1/completions`. */
export const completionsDescription: InferenceDescription = {
  operationId: 'createTextCompletion',
  summary: "Completes a text in OpenAI's legacy format, as a chat with one message of the user.",
  tags: ['inference'],
  headers: inferenceHeaders,
  body: completionsRequestSchema,
  examples: {
    whole: { model: 'gpt-4o', prompt, max_tokens: 50 },
    streamed: { model: 'auto:fast', prompt: [prompt], stream: true },
  },
  responses: {
    200: {
      description: 'The text: a completion, or the records of a stream.',
      headers: replyHeaders,
      body: TextCompletion,
      events: StreamRecord,
    },
  },
}
