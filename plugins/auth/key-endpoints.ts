import {
  data,
  type Endpoint,
  type EndpointDescription,
  endpoint,
  GatewayError,
  operator,
  type Static,
  Type,
} from '../../core/contract/index.ts'
import { contentConditions, ifNoneMatchHeader } from '../../core/http/conditional.ts'
import { repeatable } from '../../core/http/idempotency.ts'
import { invalidParameterError } from '../../core/http/parse-call.ts'
import { Success, WarningSchema } from '../../core/http/schemas.ts'
import { WRITE_ERRORS } from '../../core/resources/endpoints.ts'
import { showFields } from '../../core/resources/names.ts'
import { parseTime } from '../../core/util/as-of.ts'
import type { Accounts } from '../../projections/accounts.ts'
import { deriveRepeatedKey } from './derive-key.ts'
import type { KeyCommands, NewKey } from './key-commands.ts'
import { IssuedKey, KeyInput, KeyRotation, KeySchema, keyId, UsedKeySchema } from './schemas.ts'
import { requireUser, userId, userNotFoundError } from './users.ts'

export interface KeyEndpointServices {
  readonly accounts: Pick<Accounts, 'user' | 'ownerOfKey'>
  readonly commands: KeyCommands
  /** Returns the name of a model that a key is restricted to; undefined if there is no such model. */
  readonly resolveAllowedModel: (name: string) => string | undefined
  /** Resolves with the hour of the last request by key id, in milliseconds. Rejects if it is not known. */
  readonly lastUse: (userId: number) => Promise<ReadonlyMap<string, number>>
  /** All endpoints, once the plugins are set up. */
  readonly endpoints: () => readonly EndpointDescription[]
}

const common = { access: operator('admin'), tags: ['admin'] }

const KeyList = Type.Object(
  {
    data: Type.Array(UsedKeySchema, { description: 'All keys, including revoked ones, oldest first.' }),
    warnings: Type.Optional(Type.Array(WarningSchema, { description: 'What could not be read.' })),
  },
  { $id: 'UsedApiKeyList', description: 'The keys of a user.' },
)

const { etag, conditions, respond, parseCheck } = contentConditions('key', showFields)

const created = { 201: { description: 'The new key.', body: data(IssuedKey) } }

/** Creates the `/admin` endpoints for keys. */
export function createKeyEndpoints(services: KeyEndpointServices): readonly Endpoint[] {
  const { accounts, commands } = services

  function requireModel(name: string): string {
    const model = services.resolveAllowedModel(name)
    if (model !== undefined) return model
    const advice = 'GET /v1/models lists them; for another one, give provider/name.'
    throw invalidParameterError('models', `The model ${name} is not in the catalogue. ${advice}`)
  }

  function parseKey({ name, expires_at, models, endpoints }: Static<typeof KeyInput>): NewKey {
    const allowed = models?.map(requireModel)
    const paths = services.endpoints().flatMap(({ access, path }) => (access.type === 'user' ? [path] : []))
    const missing = endpoints?.find((entry) => !paths.some((path) => `${path}/`.startsWith(`${entry}/`)))
    if (missing !== undefined) {
      const message = `There is no endpoint for users at or below ${missing}. Give paths as in the docs.`
      throw invalidParameterError('endpoints', message)
    }
    return {
      ...(name !== undefined && { name }),
      ...(expires_at !== undefined && { expiresAt: parseFutureTime(expires_at) }),
      ...(allowed && { models: allowed }),
      ...(endpoints && { endpoints }),
    }
  }

  return [
    endpoint({
      ...common,
      method: 'GET',
      path: '/admin/users/{id}/keys',
      access: operator('auditor'),
      operationId: 'listKeys',
      summary: 'Lists the keys of a user, and when they were last used.',
      params: { id: userId },
      responses: { 200: { description: 'All keys of the user.', body: KeyList } },
      notFound: userNotFoundError,
      async handle({ params }) {
        const { id, keys } = requireUser(accounts, params.id)
        const uses = await services.lastUse(id).catch(() => undefined)
        const shown = keys.map((key) => {
          const usedAt = uses?.get(key.id)
          const last_used_at = usedAt === undefined ? null : new Date(usedAt).toISOString()
          return { ...showFields(key), ...(uses && { last_used_at }) }
        })
        return { status: 200, body: { data: shown, ...(!uses && { warnings: [NO_LEDGER] }) } }
      },
    }),
    repeatable(
      endpoint({
        ...common,
        method: 'POST',
        path: '/admin/users/{id}/keys',
        operationId: 'issueKey',
        summary: 'Creates an API key for a user.',
        description: 'The key is returned only once.',
        params: { id: userId },
        body: Type.Optional(KeyInput),
        examples: {
          restricted: {
            name: 'Batch job',
            expires_at: '2099-12-31T00:00:00Z',
            models: ['gpt-4o'],
            endpoints: ['/v1/chat/completions'],
          },
        },
        responses: created,
        errors: WRITE_ERRORS,
        notFound: userNotFoundError,
        async handle({ params, body = {}, author, headers }) {
          const { id } = requireUser(accounts, params.id)
          const key = parseKey(body)
          const secret = author.idempotency && (await deriveRepeatedKey('tr', headers, String(id)))
          return { status: 201, body: { data: await commands.issueKey(id, author, key, secret) } }
        },
      }),
      async ({ params, headers }, change) => {
        const { id } = requireUser(accounts, (params as { id: number }).id)
        const issued = await commands.issuedKey(change, await deriveRepeatedKey('tr', headers, String(id)))
        return { status: 201, body: { data: issued } }
      },
    ),
    repeatable(
      endpoint({
        ...common,
        method: 'POST',
        path: '/admin/keys/{id}/rotate',
        operationId: 'rotateKey',
        summary: 'Replaces an API key by a new one with the same name, restrictions and budget.',
        description: 'The replaced key stays valid for the overlap. The new key is returned only once.',
        params: { id: keyId },
        headers: conditions,
        body: KeyRotation,
        examples: { day: { overlap_seconds: 86_400 } },
        responses: created,
        errors: [...WRITE_ERRORS, 'revision_mismatch'],
        async handle({ params, body: { overlap_seconds, expires_at }, author, headers }) {
          const rotation = {
            overlapSeconds: overlap_seconds,
            ...(expires_at !== undefined && { expiresAt: parseFutureTime(expires_at) }),
          }
          const secret = author.idempotency && (await deriveRepeatedKey('tr', headers, params.id))
          return {
            status: 201,
            body: {
              data: await commands.rotateKey(params.id, rotation, author, secret, parseCheck(headers)),
            },
          }
        },
      }),
      async ({ params, headers }, change) => {
        const { id } = params as { id: string }
        const issued = await commands.issuedKey(change, await deriveRepeatedKey('tr', headers, id))
        return { status: 201, body: { data: issued } }
      },
    ),
    endpoint({
      ...common,
      method: 'GET',
      path: '/admin/keys/{id}',
      access: operator('auditor'),
      operationId: 'readKey',
      summary: 'Returns an API key without its secret.',
      params: { id: keyId },
      headers: ifNoneMatchHeader,
      responses: { 200: { description: 'The key.', headers: etag, body: data(KeySchema) } },
      handle({ params }) {
        const key = accounts.ownerOfKey(params.id)?.keys.find(({ id }) => id === params.id)
        if (key === undefined) throw new GatewayError('not_found', `Key ${params.id} was not found.`)
        return respond(key)
      },
    }),
    endpoint({
      ...common,
      method: 'DELETE',
      path: '/admin/keys/{id}',
      operationId: 'revokeKey',
      summary: 'Revokes an API key.',
      params: { id: keyId },
      headers: conditions,
      responses: { 200: { description: 'The key is revoked.', body: Success } },
      errors: [...WRITE_ERRORS, 'revision_mismatch'],
      async handle({ params, headers, author }) {
        await commands.revokeKey(params.id, author, parseCheck(headers))
        return { status: 200, body: { success: true } }
      },
    }),
  ]
}

const NO_LEDGER = {
  code: 'ledger_unavailable',
  message: 'The request ledger cannot be read at the moment, so it is not known when the keys were used.',
}

/** Throws 400 unless the text is a time in the future. */
function parseFutureTime(text: string): string {
  const time = parseTime(text)
  if (time !== undefined && Date.parse(time) > Date.now()) return time
  const example = 'an ISO 8601 time with a time zone, such as 2099-12-31T00:00:00Z'
  throw invalidParameterError('expires_at', `expires_at must be ${example}, in the future.`)
}
