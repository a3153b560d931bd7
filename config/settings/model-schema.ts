import { StrictObject, StringEnum, type TObject, type TSchema, Type } from '../../core/contract/index.ts'
import {
  ANTHROPIC_QUIRKS,
  DEEPSEEK_QUIRKS,
  GEMINI_QUIRKS,
  MISTRAL_QUIRKS,
  OPENAI_QUIRKS,
} from '../../providers/shared/quirks.ts'
import { attributeFields } from './attribute-schema.ts'

/** The JSON modes of a model or provider, each including the ones before. */
export const JsonMode = ['none', 'object', 'schema'] as const

const Name = { pattern: '^[!-~]+$' }

export const ProviderId = { pattern: '^[a-z][a-z0-9-]*$' }

const Price = {
  input: Type.Number({ minimum: 0 }),
  cached: Type.Optional(Type.Number({ minimum: 0, description: 'Input tokens read from the cache.' })),
  cache_write: Type.Optional(Type.Number({ minimum: 0, description: 'Input tokens written to the cache.' })),
  output: Type.Number({ minimum: 0 }),
}

/** The adapter of the provider checks them, too: other formats have others. */
const Quirks = Type.Object(
  {
    forced_tools: Type.Optional(Type.Boolean({ description: 'False if a forced tool_choice is refused.' })),
    ...mergeQuirks({
      openai: OPENAI_QUIRKS,
      anthropic: ANTHROPIC_QUIRKS,
      gemini: GEMINI_QUIRKS,
      mistral: MISTRAL_QUIRKS,
      deepseek: DEEPSEEK_QUIRKS,
    }),
  },
  { default: {} },
)

/** Returns a description of each field. Its values are for the adapter to check. */
function mergeQuirks(formats: Readonly<Record<string, TObject>>): Record<string, TSchema> {
  const texts = new Map<string, string[]>()
  for (const [format, { properties }] of Object.entries(formats))
    for (const [name, { description }] of Object.entries(properties))
      texts.set(name, [...(texts.get(name) ?? []), `${format}: ${description}`])
  const described = [...texts].map(([name, lines]) => {
    return [name, Type.Optional(Type.Unknown({ description: lines.join(' ') }))] as const
  })
  return Object.fromEntries(described)
}

const Dimensions = StrictObject(
  {
    default: Type.Integer({ minimum: 1 }),
    min: Type.Optional(Type.Integer({ minimum: 1, description: 'Default: there is only one length.' })),
    max: Type.Optional(Type.Integer({ minimum: 1, description: 'Default: default.' })),
  },
  { description: 'Lengths of the vectors of an embedding model.' },
)

/** A row of the model catalogue. */
export const ModelRowSchema = StrictObject({
  id: Type.String({ ...Name, description: 'The name at the provider.' }),
  provider: Type.String({ ...ProviderId, description: 'The id of the provider.' }),
  aliases: Type.Optional(
    Type.Array(Type.String(Name), { default: [], description: 'Other names of the model.' }),
  ),
  operation: Type.Optional(
    StringEnum(['chat', 'embeddings', 'moderation'], { description: 'What the model does. Default: chat.' }),
  ),
  dimensions: Type.Optional(Dimensions),
  context: Type.Integer({
    minimum: 1,
    description: 'Tokens of input and output together; of each text of an embedding model.',
  }),
  max_output: Type.Integer({ minimum: 0, description: 'Tokens; 0 for models that do not chat.' }),
  price: StrictObject(
    {
      ...Price,
      above: Type.Optional(
        StrictObject(
          { input_tokens: Type.Integer({ minimum: 1 }), ...Price },
          { description: 'Prices of the whole request if its input is larger than input_tokens.' },
        ),
      ),
      tiers: Type.Optional(
        Type.Record(Type.String(), Type.Number({ minimum: 0 }), {
          description: 'Prices of service tiers, where they differ from those of the provider.',
        }),
      ),
    },
    { description: 'USD per million tokens.' },
  ),
  quality: Type.Number({ minimum: 0, maximum: 100, description: 'An estimate, higher is better.' }),
  latency_ms: Type.Number({ exclusiveMinimum: 0, description: 'An estimate for a short reply.' }),
  capabilities: StrictObject(
    {
      tools: Type.Boolean(),
      images: Type.Boolean(),
      json: StringEnum(JsonMode),
    },
    { description: 'Whether it takes tools, images and JSON formats, within those of the provider.' },
  ),
  reasoning: Type.Optional(
    Type.Boolean({ default: false, description: 'Accepts max_completion_tokens but not max_tokens.' }),
  ),
  sampling: Type.Optional(
    Type.Boolean({
      default: true,
      description: 'False if temperature, top_p, penalties, logprobs and logit_bias are refused.',
    }),
  ),
  quirks: Type.Optional(Quirks),
  automatic: Type.Optional(
    Type.Boolean({
      default: true,
      description: 'False if automatic choice considers the model only for callers who prefer it by name.',
    }),
  ),
  retires: Type.Optional(
    Type.String({
      pattern: '^\\d{4}-\\d{2}-\\d{2}$',
      description: 'The day from which the provider no longer serves the model: it is not chosen then.',
    }),
  ),
  ...attributeFields,
})
