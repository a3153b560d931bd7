import type { JsonObject } from '../../core/contract/index.ts'
import { simulationSchema } from '../audit/parse-simulation.ts'
import { userErrors } from './errors.ts'
import { describeOperation } from './operation.ts'
import { closed, data, integer, list, number, object, oneOf, orNull, ref, text } from './schema.ts'

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
