import { Nullable, Type } from '../../contract/index.ts'
import { chatRequestSchema } from '../chat/request-schema.ts'
import { NullableBoolean, NullableText, OpenObject } from '../schema-types.ts'

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
export const completionsRequestSchema = OpenObject(
  {
    model,
    prompt,
    ...{ temperature, top_p, presence_penalty, frequency_penalty, max_tokens },
    ...{ n, stream, stream_options, stop, user, metadata, logit_bias, seed },
    suffix: Type.Optional(NullableText('Not supported: must be empty.')),
    echo: Type.Optional(NullableBoolean('Not supported: must not be true.')),
    best_of: Type.Optional(
      Nullable(Type.Integer({ minimum: 1 }), {
        description: 'Only 1 is supported.',
        'x-documented': { maximum: 1 },
      }),
    ),
    logprobs: Type.Optional(
      Nullable(Type.Integer(), {
        description: 'Not supported: must be null.',
        'x-documented': { not: { type: 'integer' } },
      }),
    ),
  },
  { $id: 'TextCompletionRequest', description: 'A request for a completion of a text.' },
)
