import { type Static, StrictObject, Type } from '../../core/contract/index.ts'

/**
 * `endpoint`: base URL of a collector that takes OTLP over HTTP; `/v1/traces` is appended. `sample_ratio`:
 * the share of requests that are recorded, unless the caller's `traceparent` says whether this one is.
 * `export_interval_ms`: how long spans wait to be sent together.
 */
export const tracingOptions = StrictObject({
  endpoint: Type.Optional(Type.String({ pattern: '^https?://[^@]+$' })),
  sample_ratio: Type.Number({ minimum: 0, maximum: 1, default: 0.1 }),
  service_name: Type.Optional(Type.String({ minLength: 1 })),
  export_interval_ms: Type.Integer({ minimum: 10, maximum: 60_000, default: 5000 }),
})

export type TracingOptions = Static<typeof tracingOptions>
