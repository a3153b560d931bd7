import { StringEnum, type TProperties, Type } from '../contract/index.ts'
import { Text } from './schema-types.ts'

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
  'x-cache': Type.Optional(Text('hit or miss, if the cache applies to the request.')),
  'x-ratelimit-limit-tokens': Type.Optional(Text('Tokens per minute, if they are limited.')),
  'x-ratelimit-remaining-tokens': Type.Optional(Text('Tokens that are neither used nor reserved.')),
  'x-ratelimit-reset-tokens': Type.Optional(Text('Time until the tokens are counted anew, such as 42s.')),
}
