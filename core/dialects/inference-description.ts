import { type JsonObject, Nullable, StringEnum, type TProperties, Type } from '../contract/index.ts'
import { RuleTraceEntrySchema, WarningSchema } from '../http/schemas.ts'
import { AnyObject, NullableText, OpenObject, Text } from './schema-types.ts'

// The parts of the OpenAPI description that all inference endpoints share.

/** The headers that requests may have. */
export const inferenceHeaders: TProperties = {
  'x-include-trace': Type.Optional(
    Type.String({
      description: 'If true, signalbox.rule_trace of the response lists the outcome of every rule.',
      examples: ['true'],
    }),
  ),
  'x-response-form': Type.Optional(
    StringEnum(['interface', 'openai'], {
      description: "The form of the response: the interface's or OpenAI's. Default: by the client.",
      examples: ['openai'],
    }),
  ),
  'x-retry-on-timeout': Type.Optional(
    StringEnum(['true', 'false'], {
      description:
        'Whether a request that a provider did not answer is sent again, or to another provider, although ' +
        'it may be executed and billed twice. Default: the setting failover.on_timeout, which is false.',
      examples: ['true'],
    }),
  ),
  'x-cache': Type.Optional(
    Type.String({
      description:
        'on uses the cache for any temperature, no-store not at all. Ignored, whatever its value, if the ' +
        'gateway has no cache.',
      examples: ['on'],
    }),
  ),
}

/** The headers of successful responses. */
export const replyHeaders: TProperties = {
  'x-provider': Text('The provider that answered.'),
  'x-model': Text('The model that answered.'),
  'x-routing-mode': Text('The routing mode.'),
  'x-deployment': Type.Optional(Text('The deployment that answered, if its provider has any.')),
  'x-cache': Type.Optional(Text('hit or miss, if the cache applies to the request.')),
  'x-ratelimit-limit-tokens': Type.Optional(Text('Tokens per minute, if they are limited.')),
  'x-ratelimit-remaining-tokens': Type.Optional(Text('Tokens that are neither used nor reserved.')),
  'x-ratelimit-reset-tokens': Type.Optional(Text('Time until the tokens are counted anew, such as 42s.')),
}

/** The field `signalbox` of responses (docs/api.md, "Metadata and warnings"). */
export const SignalboxSchema = OpenObject(
  {
    provider: NullableText('The provider that answered; null if none did.'),
    deployment: Type.Optional(Text('The deployment that answered, if its provider has any.')),
    routing_mode: NullableText('The routing mode; null if the request failed before routing.'),
    rules_position: Type.Integer({
      minimum: 0,
      format: 'int64',
      description: 'Log position of the rules that decided the request.',
    }),
    cost_usd: Type.Optional(
      Nullable(Type.Number({ minimum: 0 }), {
        description: 'Cost of the reply in USD; null if it is unknown. Missing until the reply has ended.',
      }),
    ),
    cache: Type.Optional(
      StringEnum(['hit', 'miss'], { description: 'Whether the cache answered, if it applies.' }),
    ),
    kept_for_prompt_cache: Type.Optional(
      Type.Object(
        {
          instead_of: Text('The model that would have been chosen, as provider/model.'),
          cached_tokens: Type.Integer({
            minimum: 0,
            description: 'Tokens of the prompt that were expected to be cached.',
          }),
          saving_usd: Type.Number({ minimum: 0, description: 'What was expected to be saved, in USD.' }),
        },
        { description: 'Present if the conversation stayed with its model because of its cached prompt.' },
      ),
    ),
    router: Type.Optional(
      Type.Object(
        {
          version: Type.Integer({ minimum: 1, description: 'Version of the router.' }),
          p: Nullable(Type.Number({ minimum: 0, maximum: 1 }), {
            description: 'P(good | prompt) of the chosen model; null if the version does not know it.',
          }),
        },
        { description: 'What the learned router said about the chosen model; missing if it was not asked.' },
      ),
    ),
    warnings: Type.Optional(Type.Array(WarningSchema, { description: 'Missing if there are none.' })),
    rule_trace: Type.Optional(
      Type.Array(RuleTraceEntrySchema, { description: 'Present if the header x-include-trace is true.' }),
    ),
    error: Type.Optional(AnyObject('Why a response failed, as errors of other endpoints say it.')),
  },
  { $id: 'Signalbox', description: 'How the request was decided.' },
)

export const ResponseMetadata = Type.Unsafe<JsonObject>({
  $id: 'ResponseMetadata',
  type: 'object',
  additionalProperties: true,
  description:
    "The caller's metadata, and fields of signalbox. A map of strings, except in the interface's form.",
})
