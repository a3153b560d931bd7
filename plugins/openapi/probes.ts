import type { JsonObject } from '../../core/contract/index.ts'
import { errors } from './errors.ts'
import { describeOperation } from './operation.ts'
import { anyObject, closed, text } from './schema.ts'

const tag = 'operation'
const key = 'none'

export const probePaths: JsonObject = {
  '/healthz': {
    get: describeOperation({
      id: 'checkHealth',
      tag,
      key,
      summary: 'Answers while the process lives.',
      answers: { 200: closed({ status: { const: 'ok' } }) },
    }),
  },
  '/readyz': {
    get: describeOperation({
      id: 'checkReadiness',
      tag,
      key,
      summary: 'Says whether traffic may be sent here.',
      answers: {
        200: closed({ status: { const: 'ready' }, event_log: text }),
        503: closed({ status: { const: 'not ready' }, reason: text, event_log: text }),
      },
    }),
  },
}

export const documentPaths: JsonObject = {
  '/openapi.json': {
    get: describeOperation({
      id: 'readDocument',
      tag,
      key,
      summary: 'This document.',
      answers: { 200: anyObject },
    }),
  },
}

export const metricsPaths: JsonObject = {
  '/metrics': {
    get: describeOperation({
      id: 'readMetrics',
      tag,
      key: 'adminKey',
      summary: "Shows all metrics in Prometheus' text format.",
      answers: { 200: 'text/plain', ...errors('Error', 401, 429) },
    }),
  },
}
