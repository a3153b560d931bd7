import { Nullable, StringEnum, Type } from '../../contract/index.ts'
import { AnyObject, ModelName, OpenObject, Text } from '../schema-types.ts'

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
export const embeddingsRequestSchema = OpenObject(
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
