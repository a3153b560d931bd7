import { type JsonObject, PLANS } from '../../core/contract/index.ts'
import { newUserSchema, userChangeSchema } from '../auth/admin-endpoints.ts'
import {
  anyObject,
  arrayOf,
  closedObject,
  dataEnvelope,
  describeOperation,
  errorResponses,
  integer,
  nullable,
  pathParameter,
  ref,
  string,
  stringEnum,
  successBody,
  timestamp,
} from './builders.ts'

const tag = 'admin'
const key = 'adminKey'

const userId = pathParameter('id', 7, 'The id of a user.')

export const adminPaths: JsonObject = {
  '/admin/users': {
    get: describeOperation({
      id: 'listUsers',
      tag,
      key,
      summary: 'Lists all users.',
      responses: { 200: dataEnvelope(arrayOf(ref('User'))), ...errorResponses('Error', 401, 429) },
    }),
    post: describeOperation({
      id: 'createUser',
      tag,
      key,
      summary: 'Creates a user.',
      body: { schema: ref('NewUser'), examples: { paid: { name: 'Ada', plan: 'paid' } } },
      responses: { 201: dataEnvelope(ref('User')), ...errorResponses('Error', 400, 401, 429, 409, 413, 507) },
    }),
  },
  '/admin/users/{id}': {
    parameters: [userId],
    patch: describeOperation({
      id: 'updateUser',
      tag,
      key,
      summary: 'Updates the plan or the rate limit of a user; a limit of null means unlimited.',
      body: {
        schema: ref('UserChange'),
        examples: {
          plan: { plan: 'free' },
          limit: { plan: 'paid', requests_per_minute: 120 },
          unlimited: { requests_per_minute: null },
        },
      },
      responses: {
        200: dataEnvelope(ref('User')),
        ...errorResponses('Error', 400, 401, 429, 404, 409, 413, 507),
      },
    }),
  },
  '/admin/users/{id}/keys': {
    parameters: [userId],
    post: describeOperation({
      id: 'issueKey',
      tag,
      key,
      summary: 'Creates an API key for a user. The key is only returned once.',
      responses: {
        201: dataEnvelope(closedObject({ id: string, key: string })),
        ...errorResponses('Error', 401, 429, 404, 409, 507),
      },
    }),
  },
  '/admin/keys/{id}': {
    parameters: [pathParameter('id', 'key_gGvBxwr2CTTZ4RYVqXhM0SkL', 'The id of a key.')],
    delete: describeOperation({
      id: 'revokeKey',
      tag,
      key,
      summary: 'Revokes an API key.',
      responses: { 200: successBody, ...errorResponses('Error', 401, 429, 404, 409, 507) },
    }),
  },
}

export const adminSchemas: JsonObject = {
  NewUser: newUserSchema,
  UserChange: userChangeSchema,
  User: closedObject({
    id: integer,
    name: string,
    plan: stringEnum(...PLANS),
    'requests_per_minute?': nullable(integer),
    created_at: timestamp,
    keys: arrayOf(closedObject({ id: string, created_at: timestamp, revoked_at: nullable(timestamp) })),
  }),
}

export const probePaths: JsonObject = {
  '/healthz': {
    get: describeOperation({
      id: 'checkHealth',
      tag: 'operation',
      key: 'none',
      summary: 'Responds as long as the process runs.',
      responses: { 200: closedObject({ status: { const: 'ok' } }) },
    }),
  },
  '/readyz': {
    get: describeOperation({
      id: 'checkReadiness',
      tag: 'operation',
      key: 'none',
      summary: 'Reports whether this node can serve traffic.',
      responses: {
        200: closedObject({ status: { const: 'ready' }, event_log: string }),
        503: closedObject({ status: { const: 'not ready' }, reason: string, event_log: string }),
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
      summary: 'Returns this document.',
      responses: { 200: anyObject },
    }),
  },
}

export const metricsPaths: JsonObject = {
  '/metrics': {
    get: describeOperation({
      id: 'readMetrics',
      tag: 'operation',
      key: 'adminKey',
      summary: "Returns all metrics in Prometheus' text format.",
      responses: { 200: 'text/plain', ...errorResponses('Error', 401, 429) },
    }),
  },
}
