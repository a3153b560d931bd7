import type { JsonObject } from '../../core/contract/index.ts'
import { AUDIT_SUBJECTS } from '../audit/audit-entries.ts'
import { revertSchema } from '../audit/endpoints.ts'
import { simulationSchema } from '../audit/parse-simulation.ts'
import {
  anyObject,
  arrayOf,
  closedObject,
  dataEnvelope,
  describeOperation,
  ifMatchParameter,
  integer,
  logPointParameter,
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

const simulationPaths: JsonObject = {
  '/v1/simulate': {
    post: describeOperation({
      id: 'simulate',
      tag: 'audit',
      summary: 'Simulates an inference request without calling a model.',
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

const inferenceRequests = ['ChatRequest', 'ResponsesRequest', 'RouteRequest'].map(ref)

const simulationSchemas: JsonObject = {
  SimulationRequest: { ...simulationSchema, anyOf: inferenceRequests },
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
      summary: 'Lists the changes to your rules, keys and plan, newest first.',
      parameters: [
        logPointParameter('since', '2026-03-01T09:30:00Z', 'Start of the range, inclusive'),
        logPointParameter('until', '2026-03-02T09:30:00Z', 'End of the range, inclusive'),
        queryParameter('actor', string, 'key_gGvBxwr2CTTZ4RYVqXhM0SkL', 'The author of the changes.'),
        queryParameter('kind', stringEnum(...AUDIT_SUBJECTS), 'routing', 'The kind of changed object.'),
        queryParameter(
          'limit',
          { type: 'integer', minimum: 1, maximum: 500 },
          10,
          'Maximum number of entries. Default: 50.',
        ),
        queryParameter('cursor', string, 'YmVsb3c6Nw', 'The next_cursor of the previous page.'),
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
      summary: 'Compares your rules at two points in the log.',
      parameters: [
        {
          ...logPointParameter('from', '2026-03-01T09:30:00Z', 'The start of the comparison'),
          required: true,
        },
        logPointParameter('to', '2026-03-02T09:30:00Z', 'The end of the comparison, by default now'),
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
        summary: 'Lists the changes to a rule, oldest first.',
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
        summary: 'Restores the content of an earlier revision of a rule as a new revision.',
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

const diffByKind = closedObject({
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
    kind: stringEnum(...AUDIT_SUBJECTS, 'unknown'),
    id: { type: ['integer', 'string', 'null'] },
    revision: integer,
    event: string,
    'reverted_to?': integer,
    before: nullable(anyObject),
    after: nullable(anyObject),
  }),
  Diff: closedObject({ from: integer, to: integer, routing: diffByKind, firewall: diffByKind }),
  ...simulationSchemas,
}
