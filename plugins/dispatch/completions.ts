import {
  type ChatRequest,
  type Dialect,
  type FinishReason,
  GatewayError,
  type InferenceDescription,
  type JsonObject,
  Nullable,
  type RepliedExchange,
  type ReplyPart,
  StringEnum,
  Type,
  type Usage,
} from '../../core/contract/index.ts'
import { splitRuns } from '../../core/contract/native-records.ts'
import { inferenceHeaders, replyHeaders } from '../../core/dialects/inference-description.ts'
import { streamedReply, toImageText, warnOfLostPart, wholeReply } from '../../core/dialects/reply-parts.ts'
import { NullableBoolean, NullableText, OpenObject, Text } from '../../core/dialects/schema-types.ts'
import { errorBodySchema, formatError } from '../../core/http/errors.ts'
import { recordReplyError } from '../../core/pipeline/read-reply.ts'
import { relatedId } from '../../core/util/ids.ts'
import { createLazyParser } from '../../core/util/json-schema.ts'
import { toCompletionUsage } from './chat/completion.ts'
import { chatRequestSchema } from './chat/request-schema.ts'
import { completionFields, logprobs, optionalFields, replyExtensions } from './chat/response-schemas.ts'
import { CONVERSATION_FIELDS, withoutFields } from './refused-fields.ts'

/** What a completion shows of a reply. */
interface CompletedText {
  /** Text and refusals; the format has no place for reasoning. */
  text: string
  model: string
  usage: Usage | undefined
  finishReason: FinishReason
}

function addToCompletedText(
  completed: CompletedText,
  parts: readonly ReplyPart[],
  exchange: RepliedExchange,
): void {
  for (const part of parts) {
    if (part.type === 'text' || part.type === 'refusal') completed.text += part.text
    else if (part.type === 'image') completed.text += toImageText(exchange, part)
    else if (part.type === 'start') completed.model = part.model
    else if (part.type === 'usage') completed.usage = part.usage
    else if (part.type === 'finish') completed.finishReason = part.reason
    else warnOfLostPart(exchange, part)
  }
}

function startCompletedText(): CompletedText {
  return { text: '', model: '', usage: undefined, finishReason: 'stop' }
}

/** Builds a completion in OpenAI's legacy format, with the gateway's extension fields. */
function buildTextCompletion(exchange: RepliedExchange): JsonObject {
  const completed = startCompletedText()
  addToCompletedText(completed, wholeReply(exchange).parts, exchange)
  const { text, model, usage, finishReason } = completed
  return {
    ...createCompletionFrame(exchange),
    model: model || (exchange.target?.model ?? ''),
    choices: [toTextChoice(text, finishReason)],
    ...(usage && { usage: toCompletionUsage(usage) }),
    ...exchange.decoration?.last(),
  }
}

/** The fields that all records of a completion share. */
function createCompletionFrame({ id }: RepliedExchange): JsonObject {
  const created = Math.floor(Date.now() / 1000)
  return { id: relatedId('cmpl-', id), object: 'text_completion', created }
}

/** The format has no tool calls, so they end a text like anything else. */
function toTextChoice(text: string, finishReason: FinishReason | null): JsonObject {
  const finish_reason = finishReason === 'tool_calls' ? 'stop' : finishReason
  return { text, index: 0, logprobs: null, finish_reason }
}

const { model, temperature, top_p, presence_penalty, frequency_penalty } = chatRequestSchema.properties
const { max_tokens, n, stream, stream_options, stop, user, metadata, logit_bias, seed } =
  chatRequestSchema.properties

const prompt = Type.Unsafe<string | readonly unknown[]>(
  Type.Union(
    [
      Type.String({ minLength: 1 }),
      Type.Array(Type.Unsafe<unknown>({ type: ['string', 'integer', 'array'] }), {
        minItems: 1,
        'x-documented': { maxItems: 1, items: { type: 'string' } },
      }),
    ],
    { description: 'The text of the user, or a list of it. Several texts and token ids are not supported.' },
  ),
)

/** The body of `POST /v1/completions` (docs/api.md, "Completions"). Unknown fields are passed through. */
const completionsRequestSchema = OpenObject(
  {
    model,
    prompt,
    ...{ temperature, top_p, presence_penalty, frequency_penalty, max_tokens },
    ...{ n, stream, stream_options, stop, user, metadata, logit_bias, seed },
    suffix: Type.Optional(NullableText('Not supported: must be empty.')),
    echo: Type.Optional(NullableBoolean('Not supported: must not be true.')),
    best_of: n,
    logprobs: Type.Optional(
      Nullable(Type.Integer(), {
        description: 'Not supported: must be null.',
        'x-documented': { not: { type: 'integer' } },
      }),
    ),
  },
  { $id: 'TextCompletionRequest', description: 'A request for a completion of a text.' },
)

const TextFinishReason = StringEnum(['stop', 'length', 'content_filter'], {
  description: 'Why the model stopped.',
})

const choiceFields = {
  text: Text('The text, or more of it.'),
  index: Type.Integer({ minimum: 0, description: 'Always 0.' }),
  logprobs,
}

const TextChoice = OpenObject(
  { ...choiceFields, finish_reason: TextFinishReason },
  { $id: 'TextChoice', description: 'A text.' },
)

const TextChunkChoice = OpenObject(
  {
    ...choiceFields,
    finish_reason: Nullable(TextFinishReason, { description: 'Why the model stopped; null until then.' }),
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

const example = 'Name three signals of a railway.'

/** How `/openapi.json` describes `POST /v1/completions`. */
const completionsDescription: InferenceDescription = {
  operationId: 'createTextCompletion',
  summary: "Completes a text in OpenAI's legacy format, as a chat with one message of the user.",
  tags: ['inference'],
  headers: inferenceHeaders,
  body: completionsRequestSchema,
  examples: {
    whole: { model: 'gpt-4o', prompt: example, max_tokens: 50 },
    streamed: { model: 'auto:fast', prompt: [example], stream: true },
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

const parseBody = createLazyParser(completionsRequestSchema)

/** Parses the body of `POST /v1/completions` as a chat with one message of the user. */
function parseCompletionsRequest(body: JsonObject): ChatRequest {
  const { prompt, suffix, echo, best_of, logprobs, n, ...fields } = parseBody(body)
  if (suffix) throw unsupportedError('suffix', 'Omit it.')
  if (echo === true) throw unsupportedError('echo', 'Omit it or set it to false.')
  if (logprobs != null) throw unsupportedError('logprobs', 'Omit it.')
  if (best_of != null && best_of > 1) throw unsupportedError('best_of greater than 1', 'Omit it.', 'best_of')
  if (n != null && n > 1) throw unsupportedError('n greater than 1', 'Omit it or set it to 1.', 'n')
  return {
    ...withoutFields(fields, CONVERSATION_FIELDS, '/v1/completions'),
    messages: [{ role: 'user', content: toText(prompt) }],
  }
}

function toText(prompt: string | readonly unknown[]): string {
  if (typeof prompt === 'string') return prompt
  const [only] = prompt
  if (typeof only !== 'string')
    throw unsupportedError('prompt as token ids', 'Send the prompt as text.', 'prompt')
  if (prompt.length > 1) throw unsupportedError('several prompts', 'Send one request for each.', 'prompt')
  if (only !== '') return only
  throw new GatewayError('invalid_value', 'prompt[0] must not be empty.', { param: 'prompt[0]' })
}

function unsupportedError(what: string, advice: string, param = what): GatewayError {
  const message = `POST /v1/completions does not support ${what}. ${advice}`
  return new GatewayError('unsupported_parameter', message, { param })
}

/**
 * Streams a completion as SSE, in OpenAI's legacy format. As in chat streams, the first record carries the
 * extension fields that are known, and the last record all of them; a failure is an error record in place of
 * `[DONE]`.
 */
async function* streamTextCompletion(exchange: RepliedExchange): AsyncGenerator<string> {
  const { decoration, request, target } = exchange
  const batches = streamedReply(exchange)
  const wantsUsage = request.stream_options?.include_usage === true
  const frame = createCompletionFrame(exchange)
  const completed = startCompletedText()
  const build = (choices: readonly JsonObject[], fields: JsonObject = {}) => {
    const model = completed.model || (target?.model ?? '')
    return { ...frame, model, choices, ...(wantsUsage && { usage: null }), ...fields }
  }
  let isFirst = true
  try {
    for await (const batch of batches) {
      let records = ''
      for (const { parts } of splitRuns(batch)) {
        addToCompletedText(completed, parts, exchange)
        if (completed.text === '') continue
        const choice = toTextChoice(completed.text, null)
        records += toSseRecord(build([choice], isFirst ? decoration?.first() : {}))
        completed.text = ''
        isFirst = false
      }
      if (records !== '') yield records
    }
    const finish = [toTextChoice('', completed.finishReason)]
    const usage = completed.usage && { usage: toCompletionUsage(completed.usage) }
    const records = wantsUsage
      ? toSseRecord(build(finish)) + toSseRecord(build([], { ...usage, ...decoration?.last() }))
      : toSseRecord(build(finish, decoration?.last()))
    yield `${records}data: [DONE]\n\n`
  } catch (error) {
    if (exchange.client.isAborted) return
    yield toSseRecord(formatError(recordReplyError(exchange, error), 'openai'))
  }
}

function toSseRecord(data: JsonObject): string {
  return `data: ${JSON.stringify(data)}\n\n`
}

/** `POST /v1/completions`. */
export const completionsDialect: Dialect = {
  parseRequest: parseCompletionsRequest,
  writeWhole: buildTextCompletion,
  writeStream: streamTextCompletion,
  parameterNames: { messages: 'prompt' },
  errorStyle: 'openai',
  description: completionsDescription,
}
