import type { JsonObject } from '../../core/contract/index.ts'
import { type AsOf, parseAsOf } from '../../core/util/as-of.ts'
import { createLazyParser } from '../../core/util/json-schema.ts'

/** Where the request would be sent. */
export type SimulatedEndpoint = 'chat' | 'responses' | 'route'

/** A rule as it would be created; with an `id`, a change to the stored rule that has it. */
export type RuleDraft = JsonObject & { readonly id?: number }

export interface RuleDrafts {
  readonly routing?: readonly RuleDraft[]
  readonly firewall?: readonly RuleDraft[]
}

/** What is to be simulated. */
export interface Simulation {
  readonly endpoint: SimulatedEndpoint
  /** The body as the endpoint would get it. */
  readonly request: JsonObject
  /** Undefined for now. */
  readonly asOf: AsOf | undefined
  readonly drafts: RuleDrafts
}

interface Extras extends JsonObject {
  readonly endpoint?: SimulatedEndpoint
  readonly as_of?: string | number
  readonly rules?: RuleDrafts
}

const drafts = {
  type: 'array',
  maxItems: 1000,
  items: { type: 'object', properties: { id: { type: 'integer', minimum: 1 } } },
}

/** What the body of `POST /v1/simulate` holds besides that of the request. */
export const simulationSchema: JsonObject = {
  type: 'object',
  properties: {
    endpoint: { type: 'string', enum: ['chat', 'responses', 'route'] },
    as_of: { type: ['string', 'integer'] },
    rules: {
      type: 'object',
      additionalProperties: false,
      properties: { routing: drafts, firewall: drafts },
    },
  },
}

const readExtras = createLazyParser<Extras>(simulationSchema)

/** Reads the body of `POST /v1/simulate`: that of an inference request, with `endpoint`, `as_of` and `rules` beside its fields. */
export function parseSimulation(body: JsonObject): Simulation {
  const { endpoint, as_of, rules = {}, ...request } = readExtras(body)
  return {
    endpoint: endpoint ?? guessEndpoint(request),
    request,
    asOf: as_of === undefined ? undefined : parseAsOf(as_of, 'as_of'),
    drafts: rules,
  }
}

/** By the field that only one of the endpoints requires. */
function guessEndpoint(request: JsonObject): SimulatedEndpoint {
  if (request.messages !== undefined) return 'chat'
  if (request.input !== undefined) return 'responses'
  return request.prompt !== undefined ? 'route' : 'chat'
}
