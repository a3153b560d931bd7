import { type Static, StrictObject, StringEnum, Type } from '../../core/contract/index.ts'

export const GUARDRAIL_PHASES = ['request', 'reply'] as const

export type GuardrailPhase = (typeof GUARDRAIL_PHASES)[number]

export const guardrailOptions = StrictObject({
  url: Type.String({
    pattern: '^https?://[^/@]+(/|$)',
    description: 'Where texts are sent. Must not contain a user or password.',
  }),
  phases: Type.Array(StringEnum(GUARDRAIL_PHASES), {
    minItems: 1,
    uniqueItems: true,
    default: ['request', 'reply'],
    description: 'What is checked: requests, replies, or both.',
  }),
  timeout_ms: Type.Integer({
    minimum: 10,
    maximum: 60_000,
    default: 2000,
    description: 'For a whole call, including the connection.',
  }),
  on_failure: StringEnum(['block', 'allow'], {
    default: 'block',
    description: 'What happens to a request or reply that could not be checked.',
  }),
  max_request_bytes: Type.Integer({
    minimum: 1024,
    maximum: 67_108_864,
    default: 1_048_576,
    description: 'Maximum size of the body of a call. Also the number of characters of a stream to hold.',
  }),
  max_answer_bytes: Type.Integer({ minimum: 1024, maximum: 67_108_864, default: 1_048_576 }),
  secret_header: Type.String({
    pattern: '^[A-Za-z][A-Za-z0-9-]*$',
    default: 'authorization',
    description: 'The header with the secret of GUARDRAIL_SECRET; in authorization as a bearer token.',
  }),
  breaker_min_requests: Type.Integer({ minimum: 1, default: 5 }),
  breaker_open_ms: Type.Integer({ minimum: 1, default: 5000 }),
})

export type GuardrailOptions = Static<typeof guardrailOptions>
