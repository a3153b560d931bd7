import { type InferenceDescription, Type } from '../../contract/index.ts'
import { replyExtensions } from '../chat/response-schemas.ts'
import { inferenceHeaders, replyHeaders } from '../inference-description.ts'
import { OpenObject, Text } from '../schema-types.ts'
import { embeddingsRequestSchema } from './request-schema.ts'

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
export const embeddingsDescription: InferenceDescription = {
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
