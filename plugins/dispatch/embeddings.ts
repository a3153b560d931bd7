import {
  type ChatRequest,
  type Dialect,
  GatewayError,
  type InferenceDescription,
  type JsonObject,
  type Message,
  Nullable,
  type RepliedExchange,
  type ReplyPart,
  StringEnum,
  TokenIds,
  Type,
} from '../../core/contract/index.ts'
import { inferenceHeaders, replyHeaders } from '../../core/dialects/inference-description.ts'
import { wholeReply } from '../../core/dialects/reply-parts.ts'
import { AnyObject, ModelName, OpenObject, Text } from '../../core/dialects/schema-types.ts'
import { createLazyParser } from '../../core/util/json-schema.ts'
import { toVectorForm, vectorTextOf } from '../../providers/shared/vectors.ts'
import { replyExtensions } from './chat/response-schemas.ts'
import { TEXT_FIELDS, withoutFields } from './refused-fields.ts'

/** As OpenAI's API. */
const MAX_INPUTS = 2048

const inputText = Type.String({ minLength: 1, description: 'A text.' })

const inputTokens = Type.Array(Type.Integer({ minimum: 0 }), {
  minItems: 1,
  description: 'A text as token ids of the model.',
})

const input = Type.Unsafe<string | readonly string[] | readonly number[] | readonly (readonly number[])[]>(
  Type.Union(
    [
      inputText,
      Type.Array(inputText, { minItems: 1, maxItems: MAX_INPUTS, description: 'Several texts.' }),
      inputTokens,
      Type.Array(inputTokens, {
        minItems: 1,
        maxItems: MAX_INPUTS,
        description: 'Several texts as token ids.',
      }),
    ],
    {
      description:
        'The texts. Token ids are for models of OpenAI and compatible providers, and are refused where ' +
        'firewall rules apply.',
    },
  ),
)

/** The body of `POST /v1/embeddings` (docs/api.md, "Embeddings"). Unknown fields are passed through. */
const embeddingsRequestSchema = OpenObject(
  {
    model: Type.Optional(ModelName),
    input,
    dimensions: Type.Optional(
      Nullable(Type.Integer({ minimum: 1 }), {
        description: 'Length of the vectors. Required for an automatic choice of the model.',
      }),
    ),
    encoding_format: Type.Optional(
      Nullable(StringEnum(['float', 'base64']), {
        description: 'Form of the vectors: numbers (the default), or base64 of 32-bit floats.',
      }),
    ),
    user: Type.Optional(Text('An id of your user, or metadata as JSON text.')),
    metadata: Type.Optional(Nullable(AnyObject('Metadata'), { description: 'Metadata for routing rules.' })),
  },
  { $id: 'EmbeddingsRequest', description: 'A request for the embeddings of texts.' },
)

const tokens = (description: string) => Type.Integer({ minimum: 0, description })

const Embedding = OpenObject(
  {
    object: Type.Literal('embedding', { description: 'Always embedding.' }),
    index: Type.Integer({ minimum: 0, description: 'Position of the text in the input.' }),
    embedding: Type.Union(
      [
        Type.Array(Type.Number(), { description: 'The numbers.' }),
        Type.String({ description: 'Base64 of 32-bit floats, if encoding_format is base64.' }),
      ],
      { description: 'The vector.' },
    ),
  },
  { $id: 'Embedding', description: 'The vector of a text.' },
)

const EmbeddingList = OpenObject(
  {
    object: Type.Literal('list', { description: 'Always list.' }),
    data: Type.Array(Embedding, { description: 'The vectors, in the order of the texts.' }),
    model: Text('The model that made the vectors. Vectors of different models cannot be compared.'),
    usage: OpenObject(
      { prompt_tokens: tokens('Tokens of the texts.'), total_tokens: tokens('The same.') },
      { $id: 'EmbeddingUsage', description: 'Token usage.' },
    ),
    ...replyExtensions,
  },
  { $id: 'EmbeddingList', description: 'The vectors of texts.' },
)

/** How `/openapi.json` describes `POST /v1/embeddings`. */
const embeddingsDescription: InferenceDescription = {
  operationId: 'createEmbeddings',
  summary: "Returns the vectors of texts in OpenAI's format.",
  description:
    'Rules, budgets and limits apply as they do to chat completions. An automatic choice of the model ' +
    'requires dimensions, because vectors of different lengths cannot be stored together.',
  tags: ['inference'],
  headers: inferenceHeaders,
  body: embeddingsRequestSchema,
  examples: {
    text: { model: 'text-embedding-3-small', input: 'The train departs from track 9.' },
    several: { model: 'mistral-embed', input: ['Track 9', 'Track 10'], encoding_format: 'base64' },
    automatic: { model: 'auto:cost', input: 'Track 9', dimensions: 1536 },
  },
  responses: { 200: { description: 'The vectors.', headers: replyHeaders, body: EmbeddingList } },
}

const parseBody = createLazyParser(embeddingsRequestSchema)

/**
 * Parses the body of `POST /v1/embeddings`. Each text becomes a message of the user, so that everything that
 * inspects, masks and measures messages does so with texts to embed. See docs/decisions/replies.md, "Texts to
 * embed or to judge are messages of the user".
 */
function parseEmbeddingsRequest(body: JsonObject): ChatRequest {
  const { input, ...fields } = parseBody(body)
  const messages = toTexts(input).map(toInputMessage)
  return { ...withoutFields(fields, TEXT_FIELDS, '/v1/embeddings'), messages }
}

type Input = ReturnType<typeof parseBody>['input']

function toTexts(input: Input): readonly (string | readonly number[])[] {
  if (typeof input === 'string') return [input]
  return isTokenList(input) ? [input] : input
}

/** The schema allows no list of several types, so the first item tells them apart. */
function isTokenList(input: Exclude<Input, string>): input is readonly number[] {
  return typeof input[0] === 'number'
}

function toInputMessage(text: string | readonly number[]): Message {
  if (typeof text === 'string') return { role: 'user', content: text }
  return { role: 'user', content: [{ type: 'token_ids', token_ids: new TokenIds(text) }] }
}

type EmbeddingPart = Extract<ReplyPart, { type: 'embedding' }>

/**
 * Builds the list of vectors in OpenAI's format, in the order of the texts, with the extension fields: as
 * JSON text if the provider wrote the vectors as the client wants them.
 */
function buildEmbeddingList(exchange: RepliedExchange): JsonObject | string {
  const { request, target, usage, decoration } = exchange
  const embeddings: EmbeddingPart[] = []
  let model = ''
  for (const part of wholeReply(exchange).parts) {
    if (part.type === 'embedding') embeddings[part.index] = part
    else if (part.type === 'start') model = part.model
  }
  if (embeddings.length === 0)
    throw new GatewayError('internal_error', 'A plugin answered the request without vectors.')
  const tokens = usage?.input ?? 0
  const others = {
    model: model || (target?.model ?? ''),
    usage: { prompt_tokens: tokens, total_tokens: tokens },
    ...decoration?.last(),
  }
  const { encoding_format: format } = request
  return (
    (format === 'base64' ? undefined : joinTexts(embeddings, others)) ?? toList(embeddings, others, format)
  )
}

function toList(embeddings: readonly EmbeddingPart[], others: JsonObject, format: unknown): JsonObject {
  const data = embeddings.map(({ vector }, index) => ({
    object: 'embedding',
    index,
    embedding: toVectorForm(vector, format),
  }))
  return { object: 'list', data, ...others }
}

/** Undefined unless all vectors have a text. */
function joinTexts(embeddings: readonly EmbeddingPart[], others: JsonObject): string | undefined {
  let data = ''
  for (const [index, part] of embeddings.entries()) {
    const text = part && vectorTextOf(part)
    if (text === undefined) return undefined
    if (index > 0) data += ','
    data += `{"object":"embedding","index":${index},"embedding":[${text.numbers}]}`
  }
  return `{"object":"list","data":[${data}],${JSON.stringify(others).slice(1)}`
}

/** `POST /v1/embeddings`. */
export const embeddingsDialect: Dialect = {
  operation: 'embeddings',
  parseRequest: parseEmbeddingsRequest,
  writeWhole: buildEmbeddingList,
  writeStream() {
    throw new GatewayError('internal_error', 'Embeddings are not streamed.')
  },
  parameterNames: { messages: 'input' },
  errorStyle: 'openai',
  description: embeddingsDescription,
}
