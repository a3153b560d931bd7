import type { JsonObject } from '../../core/contract/index.ts'
import { SUBJECTS } from '../audit/audit-entries.ts'
import { revertSchema } from '../audit/endpoints.ts'
import { simulationSchema } from '../audit/read-simulation.ts'
import {
  anyObject,
  arrayOf,
  asOfParameter,
  closedObject,
  dataEnvelope,
  describeOperation,
  ifMatchParameter,
  integer,
  nullable,
  number,
  object,
  queryParameter,
  ref,
  string,
  stringEnum,
  timestamp,
  userErrorResponses,
} from './builders.ts'
import { ruleIdParameter } from './rules.ts'

const messages = [{ role: 'user', content: 'Send the contract to ada@example.com' }]

const draft = {
  name: 'Draft',
  is_enabled: true,
  scope: 'prompt',
  type: 'substring',
  pattern: 'contract',
  action: 'block',
  priority: 1,
}

export const simulationPaths: JsonObject = {
  '/v1/simulate': {
    post: describeOperation({
      id: 'simulate',
      tag: 'audit',
      summary: 'Says what would become of an inference request; nothing is sent.',
      body: {
        schema: ref('SimulationRequest'),
        examples: {
          now: { model: 'auto:cost', messages },
          past: { model: 'auto:cost', messages, as_of: '2026-03-01T09:30:00Z' },
          drafts: { input: 'Send the contract', endpoint: 'responses', rules: { firewall: [draft] } },
        },
      },
      responses: {
        200: dataEnvelope(ref('Simulation')),
        ...userErrorResponses('ErrorWithParameter', 400, 404, 413, 422),
      },
    }),
  },
}

const requests = ['ChatRequest', 'ResponsesRequest', 'RouteRequest'].map(ref)

export const simulationSchemas: JsonObject = {
  SimulationRequest: { ...simulationSchema, anyOf: requests },
  Simulation: closedObject({
    outcome: stringEnum('allowed', 'refused'),
    blocked_by: nullable(closedObject({ rule_id: integer, name: string })),
    'error?': ref('RecordedError'),
    request: nullable(ref('ChatRequest')),
    warnings: arrayOf(ref('Warning')),
    rule_trace: arrayOf(ref('RuleTraceEntry')),
    routing_mode: nullable(string),
    routing_reason: nullable(string),
    routing_score: nullable(number),
    targets: arrayOf(object({ provider: string, model: string })),
    rules_position: integer,
  }),
}

const tag = 'audit'

export const auditPaths: JsonObject = {
  ...describeHistory('RoutingRule', '/v1/routing-rules'),
  ...describeHistory('FirewallRule', '/v1/firewall-rules'),
  '/v1/audit': {
    get: describeOperation({
      id: 'audit',
      tag,
      summary: 'Lists all that happened to your rules, keys and plan, newest first.',
      parameters: [
        asOfParameter('since', '2026-03-01T09:30:00Z', 'Not before'),
        asOfParameter('until', '2026-03-02T09:30:00Z', 'Not after'),
        queryParameter('actor', string, 'key_gGvBxwr2CTTZ4RYVqXhM0SkL', 'Who made the change.'),
        queryParameter('kind', stringEnum(...SUBJECTS), 'routing', 'What was changed.'),
        queryParameter(
          'limit',
          { type: 'integer', minimum: 1, maximum: 500 },
          10,
          'Entries in the answer; 50 when left out.',
        ),
        queryParameter('cursor', string, 'YmVsb3c6Nw', 'The next_cursor of the answer before.'),
      ],
      responses: {
        200: closedObject({ data: arrayOf(ref('Change')), next_cursor: nullable(string) }),
        ...userErrorResponses('ErrorWithParameter', 400),
      },
    }),
  },
  '/v1/rules/diff': {
    get: describeOperation({
      id: 'diffRules',
      tag,
      summary: 'Says what became of your rules from one moment to another.',
      parameters: [
        { ...asOfParameter('from', '2026-03-01T09:30:00Z', 'The one moment'), required: true },
        asOfParameter('to', '2026-03-02T09:30:00Z', 'The other; now when left out'),
      ],
      responses: { 200: dataEnvelope(ref('Diff')), ...userErrorResponses('ErrorWithParameter', 400, 403) },
    }),
  },
  ...simulationPaths,
}

function describeHistory(name: string, path: string): JsonObject {
  return {
    [`${path}/{id}/history`]: {
      parameters: [ruleIdParameter],
      get: describeOperation({
        id: `read${name}History`,
        tag,
        summary: 'Lists all that happened to a rule, oldest first.',
        responses: {
          200: dataEnvelope(arrayOf(ref('Change'))),
          ...userErrorResponses('ErrorWithParameter', 403, 404),
        },
      }),
    },
    [`${path}/{id}/revert`]: {
      parameters: [ruleIdParameter],
      post: describeOperation({
        id: `revert${name}`,
        tag,
        summary: 'Gives a rule the content of an earlier revision, as a new change.',
        parameters: [ifMatchParameter],
        body: { schema: ref('Revert'), examples: { first: { revision: 1 } } },
        responses: {
          200: closedObject({ data: ref(name), 'warnings?': arrayOf(ref('Warning')) }),
          ...userErrorResponses('ErrorWithParameter', 400, 403, 404, 409, 412, 413, 422, 507),
        },
      }),
    },
  }
}

const diffOfKind = closedObject({
  added: arrayOf(anyObject),
  changed: arrayOf(closedObject({ id: integer, name: string, changes: anyObject })),
  removed: arrayOf(anyObject),
})

export const auditSchemas: JsonObject = {
  Revert: revertSchema,
  Change: closedObject({
    position: integer,
    time: timestamp,
    actor: string,
    request_id: nullable(string),
    kind: stringEnum(...SUBJECTS, 'unknown'),
    id: { type: ['integer', 'string', 'null'] },
    revision: integer,
    event: string,
    'reverted_to?': integer,
    before: nullable(anyObject),
    after: nullable(anyObject),
  }),
  Diff: closedObject({ from: integer, to: integer, routing: diffOfKind, firewall: diffOfKind }),
  ...simulationSchemas,
}
