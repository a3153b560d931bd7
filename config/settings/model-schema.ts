import { StrictObject, StringEnum, Type } from '../../core/contract/index.ts'

/** The JSON modes of a model or provider, each including the ones before. */
export const JsonMode = ['none', 'object', 'schema'] as const

const Name = Type.String({ pattern: '^[!-~]+$' })

export const ProviderId = { pattern: '^[a-z][a-z0-9-]*$' }

const Price = {
  input: Type.Number({ minimum: 0 }),
  cached: Type.Optional(Type.Number({ minimum: 0, description: 'Input tokens read from the cache.' })),
  cache_write: Type.Optional(Type.Number({ minimum: 0, description: 'Input tokens written to the cache.' })),
  output: Type.Number({ minimum: 0 }),
}

const Quirks = StrictObject(
  {
    forced_tools: Type.Optional(Type.Boolean({ description: 'False if a forced tool_choice is refused.' })),
    responses: Type.Optional(
      Type.Union([Type.Boolean(), Type.Literal('always')], {
        description:
          'True if tools with reasoning, and the effort max, are taken in the Responses API only (openai); ' +
          'always if every request is.',
      }),
    ),
    thinking: Type.Optional(
      StringEnum(['effort', 'budget', 'prompt_mode'], {
        description:
          'How thinking is requested: by effort (the default), by a token budget (anthropic), or by ' +
          'prompt_mode (mistral).',
      }),
    ),
    thinking_off: Type.Optional(
      StringEnum(['disabled', 'between_tools'], {
        description: 'How thinking is switched off, if that is possible (anthropic, mistral).',
      }),
    ),
    efforts: Type.Optional(
      Type.Array(StringEnum(['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']), {
        minItems: 1,
        description:
          'Supported reasoning efforts, lowest first. Defaults: all (anthropic, openai), low to high ' +
          '(gemini), none (mistral).',
      }),
    ),
    top_p: Type.Optional(
      StringEnum(['thinking', 'plain'], {
        description:
          'The only mode in which top_p has an effect (deepseek): while thinking, from 0.95 up, or in ' +
          'plain replies.',
      }),
    ),
    thinking_by_alias: Type.Optional(
      Type.Record(Type.String(), StringEnum(['enabled', 'disabled']), {
        description: 'Whether the model thinks by default if one of its aliases is requested (deepseek).',
      }),
    ),
  },
  { default: {} },
)

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
  id: Name,
  provider: Type.String(ProviderId),
  aliases: Type.Optional(Type.Array(Name, { default: [], description: 'Other names of the model.' })),
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
  capabilities: StrictObject({
    tools: Type.Boolean(),
    images: Type.Boolean(),
    json: StringEnum(JsonMode),
  }),
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
})
