import { StrictObject, StringEnum, Type } from '../../core/contract/index.ts'
import { FieldSetting } from '../../providers/chat-format/field-settings.ts'
import { attributeFields, REGION } from './attribute-schema.ts'
import { deploymentFields } from './deployment-schema.ts'
import { JsonMode } from './model-schema.ts'
import { ProviderTimeouts } from './timeout-schema.ts'

const optionalText = (description: string) => Type.Optional(Type.String({ minLength: 1, description }))

/** What the kinds of cloud credentials need. */
const CLOUD_FIELDS = {
  role_arn: optionalText('With auth: aws, the role to assume with the credentials found.'),
  profile: optionalText('With auth: aws, the profile of the shared configuration files.'),
  project: optionalText('Project of Google Cloud. Required with format: vertex.'),
  location: optionalText(
    'Location of Google Cloud, such as europe-west4 or global. Required with format: vertex.',
  ),
  credentials_file: optionalText(
    'With auth: google, a key file or the configuration of an external account. Default: that of the ' +
      'environment.',
  ),
  tenant_id: optionalText('With auth: entra, the tenant that issues tokens.'),
  client_id: optionalText('With auth: entra, the application or the user-assigned managed identity.'),
  client_secret_variable: Type.Optional(
    Type.String({
      pattern: '^[A-Z][A-Z0-9_]*$',
      description:
        'With auth: entra, the environment variable that holds the client secret. Needs tenant_id and ' +
        'client_id.',
    }),
  ),
  token_scope: optionalText(
    'With auth: entra, what tokens are for. Default: https://cognitiveservices.azure.com/.default.',
  ),
}

/** A provider's entry under `providers`. */
export const ProviderRow = StrictObject({
  preset: Type.Optional(
    Type.String({
      examples: ['groq', 'openrouter', 'vllm'],
      description:
        'A provider whose settings are known, such as groq. The other settings of the row override them.',
    }),
  ),
  format: Type.Optional(
    Type.String({
      pattern: '^[a-z][a-z0-9-]*$',
      examples: ['openai', 'anthropic', 'gemini', 'mistral', 'deepseek', 'bedrock', 'vertex'],
      description:
        'The wire format of the provider: openai for every compatible one, anthropic, gemini, mistral, ' +
        'deepseek, bedrock, vertex, or a format that a listed plugin adds. Required without a preset.',
    }),
  ),
  base_url: Type.Optional(
    Type.String({
      pattern: '^https?://',
      description:
        'The part of the URL before /chat/completions, /v1/messages and the like. {model} in it stands for ' +
        'the model of the request. Default: that of the preset or of the format, if it has one.',
    }),
  ),
  auth: Type.Optional(
    Type.Union(
      [
        StringEnum(['none', 'aws', 'google', 'entra']),
        StrictObject({
          header: Type.String({
            pattern: '^[A-Za-z][A-Za-z0-9-]*$',
            description: 'Header whose value is the API key.',
          }),
        }),
      ],
      {
        description:
          'How requests authenticate: none, for a provider without keys, a header with the key, or the ' +
          'identity that a cloud gives to the gateway (aws, google, entra). ' +
          'Default: as the format requires.',
      },
    ),
  ),
  ...CLOUD_FIELDS,
  query: Type.Optional(
    Type.Record(Type.String(), Type.String(), {
      description: 'Query parameters of every request, such as api-version. Not for secrets.',
    }),
  ),
  key_variable: Type.Optional(
    Type.String({
      pattern: '^[A-Z][A-Z0-9_]*$',
      description: 'Environment variable that holds the API key. Default: <ID>_API_KEY.',
    }),
  ),
  fields: Type.Optional(
    Type.Record(Type.String(), FieldSetting, {
      description:
        'What becomes of fields of requests, where the provider differs from OpenAI: ' +
        '{ logprobs: drop }. Only for the format openai.',
    }),
  ),
  body: Type.Optional(
    Type.Record(Type.String(), Type.Unknown(), {
      description: 'Further fields of every request. Only for the format openai.',
    }),
  ),
  check_path: Type.Optional(
    Type.String({
      minLength: 1,
      description:
        'What "signalbox providers check" gets, relative to base_url or, with a leading /, to its host; ' +
        'none if nothing free of charge needs the key. Default: the list of models.',
    }),
  ),
  timeouts: Type.Optional(
    Type.Partial(ProviderTimeouts, {
      description: 'Timeouts of this provider. Default: those under timeouts.',
    }),
  ),
  tiers: Type.Optional(
    Type.Record(Type.String(), Type.Number({ minimum: 0 }), {
      description:
        'Prices of service tiers, compared with the usual one: { flex: 0.5 }. The cost of a reply in a ' +
        'tier that is not listed is unknown.',
    }),
  ),
  tool_fees: Type.Optional(
    Type.Record(Type.String(), Type.Number({ minimum: 0 }), {
      description:
        'USD per 1,000 calls of tools that the provider runs: { web_search: 10 }. The cost of a reply with ' +
        'calls of a tool that is not listed is unknown.',
    }),
  ),
  ...deploymentFields,
  ...attributeFields,
  region: Type.Optional(
    Type.String({
      ...REGION,
      description:
        'Where requests are processed, such as eu or eu-west-1. With auth: aws, the region that is called; ' +
        'required.',
    }),
  ),
  capabilities: Type.Optional(
    StrictObject(
      {
        json: Type.Optional(
          StringEnum(JsonMode, {
            default: 'none',
            description:
              'JSON mode: none, json_object, or json_schema too. The row of a model may allow less.',
          }),
        ),
        logit_bias: Type.Optional(Type.Boolean({ default: false, description: 'Takes logit_bias.' })),
        seed: Type.Optional(Type.Boolean({ default: false, description: 'Takes seed.' })),
        reasoning: Type.Optional(
          Type.Union([Type.Boolean(), Type.Literal('required')], {
            description:
              'Earlier replies in messages may have their reasoning (reasoning_content). required: those ' +
              'with tool calls get a blank one if theirs is not known. Default: true, except for hosts of ' +
              'OpenAI and Azure, which refuse it.',
          }),
        ),
        developer_role: Type.Optional(
          Type.Boolean({
            description:
              'Messages may have the role developer; otherwise it becomes system. Default: true for hosts ' +
              'of OpenAI and Azure, false for others.',
          }),
        ),
        cache_control: Type.Optional(
          Type.Boolean({
            description:
              "Sends Anthropic's cache_control of messages and tools to a provider of the format openai, " +
              'such as OpenRouter. Default: false for this format.',
          }),
        ),
      },
      { description: 'Limits what requests to the models of the provider may use.' },
    ),
  ),
})
