import type { JsonObject, Static } from '../../core/contract/index.ts'
import { type AsOf, parseAsOf } from '../../core/util/as-of.ts'
import { createLazyParser } from '../../core/util/json-schema.ts'
import {
  type Draft,
  type DraftsByKind,
  type PolicyDraftSchema,
  type SIMULATED_ENDPOINTS,
  SimulationFields,
} from './simulation-schemas.ts'

/** The endpoint that the simulated request would be sent to. */
export type SimulatedEndpoint = (typeof SIMULATED_ENDPOINTS)[number]

/** A new rule as it would be created. With an `id`, a change to the stored rule with that id. */
export type RuleDraft = Static<typeof Draft>

export type RuleDrafts = Static<typeof DraftsByKind>

export type PolicyDraft = Static<typeof PolicyDraftSchema>

const parseFields = createLazyParser(SimulationFields)

/** A parsed body of `POST /v1/simulate`. */
export interface Simulation {
  readonly endpoint: SimulatedEndpoint
  /** The body that the endpoint would receive. */
  readonly request: JsonObject
  /** Undefined for the current rules and plan. */
  readonly asOf: AsOf | undefined
  readonly keyId: string | undefined
  readonly requestId: string | undefined
  readonly drafts: RuleDrafts
  readonly policyDrafts: readonly PolicyDraft[]
}

/**
 * Parses the body of `POST /v1/simulate`: the body of an inference request with the additional fields
 * `endpoint`, `as_of` and `rules`. Throws 400 naming the invalid field. See docs/decisions/rules.md, "A
 * simulated request is the request itself, with as_of and rules beside its fields".
 */
export function parseSimulation(body: JsonObject): Simulation {
  const { endpoint, as_of, key_id, request_id, rules = {}, ...request } = parseFields(body)
  return toSimulation(request, { endpoint, as_of, key_id, request_id, drafts: rules, policyDrafts: [] })
}

/** Throws 400 if `as_of` is invalid. */
export function toSimulation(
  request: JsonObject,
  { endpoint, as_of, key_id, request_id, drafts, policyDrafts }: SimulationTerms,
): Simulation {
  return {
    endpoint: endpoint ?? detectEndpoint(request),
    request,
    asOf: as_of === undefined ? undefined : parseAsOf(as_of, 'as_of'),
    keyId: key_id,
    requestId: request_id,
    drafts,
    policyDrafts,
  }
}

interface SimulationTerms extends Pick<Simulation, 'drafts' | 'policyDrafts'> {
  readonly endpoint: SimulatedEndpoint | undefined
  readonly as_of: string | number | undefined
  readonly key_id?: string | undefined
  readonly request_id?: string | undefined
}

/** Detects the endpoint by a field that only one of them has. */
function detectEndpoint(request: JsonObject): SimulatedEndpoint {
  if (request.system !== undefined) return 'messages'
  if (request.messages !== undefined) return 'chat'
  if (request.input !== undefined) return 'responses'
  return request.prompt !== undefined ? 'route' : 'chat'
}
