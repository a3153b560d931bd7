import type { JsonObject } from '../../core/contract/index.ts'
import { SUBJECTS } from '../audit/audit-entries.ts'
import { revertSchema } from '../audit/endpoints.ts'
import { simulationSchema } from '../audit/read-simulation.ts'
import {
  anyObject,
  closed,
  data,
  describeOperation,
  ifMatch,
  inQuery,
  integer,
  list,
  momentIn,
  number,
  object,
  oneOf,
  orNull,
  ref,
  text,
  time,
  userErrors,
} from './builders.ts'
import { ruleIdInPath } from './rules.ts'

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
      answers: {
        200: data(ref('Simulation')),
        ...userErrors('ErrorWithParameter', 400, 404, 413, 422),
      },
    }),
  },
}

const requests = ['ChatRequest', 'ResponsesRequest', 'RouteRequest'].map(ref)

export const simulationSchemas: JsonObject = {
  SimulationRequest: { ...simulationSchema, anyOf: requests },
  Simulation: closed({
    outcome: oneOf('allowed', 'refused'),
    blocked_by: orNull(closed({ rule_id: integer, name: text })),
    'error?': ref('RecordedError'),
    request: orNull(ref('ChatRequest')),
    warnings: list(ref('Warning')),
    rule_trace: list(ref('RuleTraceEntry')),
    routing_mode: orNull(text),
    routing_reason: orNull(text),
    routing_score: orNull(number),
    targets: list(object({ provider: text, model: text })),
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
        momentIn('since', '2026-03-01T09:30:00Z', 'Not before'),
        momentIn('until', '2026-03-02T09:30:00Z', 'Not after'),
        inQuery('actor', text, 'key_gGvBxwr2CTTZ4RYVqXhM0SkL', 'Who made the change.'),
        inQuery('kind', oneOf(...SUBJECTS), 'routing', 'What was changed.'),
        inQuery(
          'limit',
          { type: 'integer', minimum: 1, maximum: 500 },
          10,
          'Entries in the answer; 50 when left out.',
        ),
        inQuery('cursor', text, 'YmVsb3c6Nw', 'The next_cursor of the answer before.'),
      ],
      answers: {
        200: closed({ data: list(ref('Change')), next_cursor: orNull(text) }),
        ...userErrors('ErrorWithParameter', 400),
      },
    }),
  },
  '/v1/rules/diff': {
    get: describeOperation({
      id: 'diffRules',
      tag,
      summary: 'Says what became of your rules from one moment to another.',
      parameters: [
        { ...momentIn('from', '2026-03-01T09:30:00Z', 'The one moment'), required: true },
        momentIn('to', '2026-03-02T09:30:00Z', 'The other; now when left out'),
      ],
      answers: { 200: data(ref('Diff')), ...userErrors('ErrorWithParameter', 400, 403) },
    }),
  },
  ...simulationPaths,
}

function describeHistory(name: string, path: string): JsonObject {
  return {
    [`${path}/{id}/history`]: {
      parameters: [ruleIdInPath],
      get: describeOperation({
        id: `read${name}History`,
        tag,
        summary: 'Lists all that happened to a rule, oldest first.',
        answers: { 200: data(list(ref('Change'))), ...userErrors('ErrorWithParameter', 403, 404) },
      }),
    },
    [`${path}/{id}/revert`]: {
      parameters: [ruleIdInPath],
      post: describeOperation({
        id: `revert${name}`,
        tag,
        summary: 'Gives a rule the content of an earlier revision, as a new change.',
        parameters: [ifMatch],
        body: { schema: ref('Revert'), examples: { first: { revision: 1 } } },
        answers: {
          200: closed({ data: ref(name), 'warnings?': list(ref('Warning')) }),
          ...userErrors('ErrorWithParameter', 400, 403, 404, 409, 412, 413, 422, 507),
        },
      }),
    },
  }
}

const diffOfKind = closed({
  added: list(anyObject),
  changed: list(closed({ id: integer, name: text, changes: anyObject })),
  removed: list(anyObject),
})

export const auditSchemas: JsonObject = {
  Revert: revertSchema,
  Change: closed({
    position: integer,
    time,
    actor: text,
    request_id: orNull(text),
    kind: oneOf(...SUBJECTS, 'unknown'),
    id: { type: ['integer', 'string', 'null'] },
    revision: integer,
    event: text,
    'reverted_to?': integer,
    before: orNull(anyObject),
    after: orNull(anyObject),
  }),
  Diff: closed({ from: integer, to: integer, routing: diffOfKind, firewall: diffOfKind }),
  ...simulationSchemas,
}
