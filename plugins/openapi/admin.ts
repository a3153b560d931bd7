import { type JsonObject, PLANS } from '../../core/contract/index.ts'
import { newUserSchema, userChangeSchema } from '../auth/admin-endpoints.ts'
import {
  anyObject,
  closed,
  data,
  describeOperation,
  errors,
  inPath,
  integer,
  list,
  oneOf,
  orNull,
  ref,
  success,
  text,
  time,
} from './builders.ts'

const tag = 'admin'
const key = 'adminKey'

const userId = inPath('id', 7, 'The number of a user.')

export const adminPaths: JsonObject = {
  '/admin/users': {
    get: describeOperation({
      id: 'listUsers',
      tag,
      key,
      summary: 'Lists all users.',
      answers: { 200: data(list(ref('User'))), ...errors('Error', 401, 429) },
    }),
    post: describeOperation({
      id: 'createUser',
      tag,
      key,
      summary: 'Makes a user.',
      body: { schema: ref('NewUser'), examples: { paid: { name: 'Ada', plan: 'paid' } } },
      answers: { 201: data(ref('User')), ...errors('Error', 400, 401, 429, 409, 413, 507) },
    }),
  },
  '/admin/users/{id}': {
    parameters: [userId],
    patch: describeOperation({
      id: 'updateUser',
      tag,
      key,
      summary: 'Changes the plan of a user, or the limit that is their own; null is no limit.',
      body: {
        schema: ref('UserChange'),
        examples: {
          plan: { plan: 'free' },
          limit: { plan: 'paid', requests_per_minute: 120 },
          unlimited: { requests_per_minute: null },
        },
      },
      answers: { 200: data(ref('User')), ...errors('Error', 400, 401, 429, 404, 409, 413, 507) },
    }),
  },
  '/admin/users/{id}/keys': {
    parameters: [userId],
    post: describeOperation({
      id: 'issueKey',
      tag,
      key,
      summary: 'Gives a user an API key, which is shown this once.',
      answers: { 201: data(closed({ id: text, key: text })), ...errors('Error', 401, 429, 404, 409, 507) },
    }),
  },
  '/admin/keys/{id}': {
    parameters: [inPath('id', 'key_gGvBxwr2CTTZ4RYVqXhM0SkL', 'The id of a key.')],
    delete: describeOperation({
      id: 'revokeKey',
      tag,
      key,
      summary: 'Revokes an API key.',
      answers: { 200: success, ...errors('Error', 401, 429, 404, 409, 507) },
    }),
  },
}

export const adminSchemas: JsonObject = {
  NewUser: newUserSchema,
  UserChange: userChangeSchema,
  User: closed({
    id: integer,
    name: text,
    plan: oneOf(...PLANS),
    'requests_per_minute?': orNull(integer),
    created_at: time,
    keys: list(closed({ id: text, created_at: time, revoked_at: orNull(time) })),
  }),
}

export const probePaths: JsonObject = {
  '/healthz': {
    get: describeOperation({
      id: 'checkHealth',
      tag: 'operation',
      key: 'none',
      summary: 'Answers while the process lives.',
      answers: { 200: closed({ status: { const: 'ok' } }) },
    }),
  },
  '/readyz': {
    get: describeOperation({
      id: 'checkReadiness',
      tag: 'operation',
      key: 'none',
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
      tag: 'operation',
      key: 'none',
      summary: 'This document.',
      answers: { 200: anyObject },
    }),
  },
}

export const metricsPaths: JsonObject = {
  '/metrics': {
    get: describeOperation({
      id: 'readMetrics',
      tag: 'operation',
      key: 'adminKey',
      summary: "Shows all metrics in Prometheus' text format.",
      answers: { 200: 'text/plain', ...errors('Error', 401, 429) },
    }),
  },
}
