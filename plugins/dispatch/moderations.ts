import {
  type ChatRequest,
  type ContentPart,
  type Dialect,
  GatewayError,
  type InferenceDescription,
  isJsonObject,
  type JsonObject,
  type Message,
  Nullable,
  type RepliedExchange,
  type TSchema,
  Type,
} from '../../core/contract/index.ts'
import { inferenceHeaders, replyHeaders } from '../../core/dialects/inference-description.ts'
import { wholeReply } from '../../core/dialects/reply-parts.ts'
import {
  AnyObject,
  Constant,
  ModelName,
  OpenObject,
  Text,
  Variants,
} from '../../core/dialects/schema-types.ts'
import { relatedId } from '../../core/util/ids.ts'
import { createLazyParser } from '../../core/util/json-schema.ts'
import { replyExtensions } from './chat/response-schemas.ts'
import { TEXT_FIELDS, withoutFields } from './refused-fields.ts'

/** As OpenAI's API. */
const MAX_INPUTS = 2048

const inputText = Type.String({ minLength: 1, description: 'A text.' })

const ModerationPart = Variants(
  'type',
  [
    OpenObject(
      { type: Constant('text'), text: inputText },
      { $id: 'ModerationText', description: 'A text.' },
    ),
    OpenObject(
      {
        type: Constant('image_url'),
        image_url: OpenObject(
          { url: Text('URL of the image, or a data URL.') },
          { description: 'The image.' },
        ),
      },
      { $id: 'ModerationImage', description: 'An image, for models of OpenAI.' },
    ),
  ],
  { isClosed: true, $id: 'ModerationPart', description: 'A text or an image.' },
)

type Part = (typeof ModerationPart)['static']

const input = Type.Unsafe<string | readonly string[] | readonly Part[]>(
  Type.Union(
    [
      inputText,
      Type.Array(inputText, { minItems: 1, maxItems: MAX_INPUTS, description: 'Several texts.' }),
      Type.Array(ModerationPart, { minItems: 1, description: 'Texts and images that are judged together.' }),
    ],
    { description: 'What is judged.' },
  ),
)

/** The body of `POST /v1/moderations` (docs/api.md, "Moderations"). Unknown fields are passed through. */
const moderationsRequestSchema = OpenObject(
  {
    model: Type.Optional(ModelName),
    input,
    metadata: Type.Optional(Nullable(AnyObject('Metadata'), { description: 'Metadata for routing rules.' })),
  },
  { $id: 'ModerationRequest', description: 'A request to judge texts.' },
)

/** OpenAI's categories, which its clients require, with those of Mistral that mean the same. */
const CATEGORIES: Readonly<Record<string, string | undefined>> = {
  harassment: undefined,
  'harassment/threatening': undefined,
  hate: 'hate_and_discrimination',
  'hate/threatening': undefined,
  illicit: 'dangerous_and_criminal_content',
  'illicit/violent': undefined,
  'self-harm': 'selfharm',
  'self-harm/intent': undefined,
  'self-harm/instructions': undefined,
  sexual: undefined,
  'sexual/minors': undefined,
  violence: 'violence_and_threats',
  'violence/graphic': undefined,
}

/** Builds the judgement of texts in OpenAI's format, in their order, with the extension fields. */
function buildModeration(exchange: RepliedExchange): JsonObject {
  const { target, decoration, id } = exchange
  const { parts } = wholeReply(exchange)
  const results = parts.flatMap((part) => (part.type === 'moderation' ? [toResult(part.result)] : []))
  if (results.length === 0)
    throw new GatewayError('internal_error', 'A plugin answered the request without a judgement.')
  const start = parts.find((part) => part.type === 'start')
  const model = start?.model || (target?.model ?? '')
  return { id: relatedId('modr-', id), model, results, ...decoration?.last() }
}

function toResult(result: JsonObject): JsonObject {
  const categories = toObject(result.categories)
  const scores = toObject(result.category_scores)
  const isFlagged = Object.values(categories).some((value) => value === true)
  return {
    ...result,
    flagged: result.flagged ?? isFlagged,
    categories: { ...complete(categories, false), ...categories },
    category_scores: { ...complete(scores, 0), ...scores },
    category_applied_input_types: result.category_applied_input_types ?? complete({}, ['text']),
  }
}

/** A category that the provider does not have gets `missing`. */
function complete(values: JsonObject, missing: unknown): JsonObject {
  const entries = Object.entries(CATEGORIES).map(([name, other]) => {
    return [name, values[name] ?? (other === undefined ? undefined : values[other]) ?? missing]
  })
  return Object.fromEntries(entries)
}

function toObject(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {}
}

/** Providers add categories of their own. */
function byCategory(value: TSchema, name: string, description: string) {
  const properties = Object.fromEntries(Object.keys(CATEGORIES).map((category) => [category, value]))
  return OpenObject(properties, { $id: name, description })
}

const ModerationResult = OpenObject(
  {
    flagged: Type.Boolean({ description: 'Whether any category applies.' }),
    categories: byCategory(
      Type.Boolean({ description: 'Whether the category applies.' }),
      'ModerationCategories',
      'Whether each category applies; false for those that the provider does not have.',
    ),
    category_scores: byCategory(
      Type.Number({ description: 'Score of the category, from 0 to 1.' }),
      'ModerationScores',
      'The score of each category.',
    ),
    category_applied_input_types: byCategory(
      Type.Array(Type.String(), { description: 'Kinds of input.' }),
      'ModerationInputTypes',
      'The kinds of input that each category was judged by.',
    ),
  },
  { $id: 'ModerationResult', description: 'The judgement of a text.' },
)

const Moderation = OpenObject(
  {
    id: Text('Id of the judgement.'),
    model: Text('The model that judged.'),
    results: Type.Array(ModerationResult, { description: 'The judgements, in the order of the texts.' }),
    ...replyExtensions,
  },
  { $id: 'Moderation', description: 'The judgements of texts.' },
)

/** How `/openapi.json` describes `POST /v1/moderations`. */
const moderationsDescription: InferenceDescription = {
  operationId: 'createModeration',
  summary: "Judges texts in OpenAI's format, with models of OpenAI and Mistral.",
  description: 'Rules, budgets and limits apply as they do to chat completions.',
  tags: ['inference'],
  headers: inferenceHeaders,
  body: moderationsRequestSchema,
  examples: {
    text: { input: 'The train departs from track 9.' },
    several: { model: 'mistral-moderation-latest', input: ['Track 9', 'Track 10'] },
  },
  responses: { 200: { description: 'The judgements.', headers: replyHeaders, body: Moderation } },
}

const parseBody = createLazyParser(moderationsRequestSchema)

/**
 * Parses the body of `POST /v1/moderations`. Each text becomes a message of the user, as for embeddings;
 * texts and images that are judged together become one message.
 */
function parseModerationsRequest(body: JsonObject): ChatRequest {
  const { input, ...fields } = parseBody(body)
  return { ...withoutFields(fields, TEXT_FIELDS, '/v1/moderations'), messages: toMessages(input) }
}

function toMessages(input: ReturnType<typeof parseBody>['input']): readonly Message[] {
  if (typeof input === 'string') return [{ role: 'user', content: input }]
  if (isTextList(input)) return input.map((content) => ({ role: 'user', content }))
  // The cast is safe: the schema allows parts of chats only.
  return [{ role: 'user', content: input as readonly ContentPart[] }]
}

/** The schema allows no list of several types, so the first item tells them apart. */
function isTextList(input: readonly unknown[]): input is readonly string[] {
  return typeof input[0] === 'string'
}

/** `POST /v1/moderations`. */
export const moderationsDialect: Dialect = {
  operation: 'moderation',
  parseRequest: parseModerationsRequest,
  writeWhole: buildModeration,
  writeStream() {
    throw new GatewayError('internal_error', 'Moderations are not streamed.')
  },
  errorStyle: 'openai',
  description: moderationsDescription,
}
