import {
  type Author,
  data,
  type Endpoint,
  endpoint,
  GatewayError,
  Nullable,
  OPERATOR_ROLES,
  operator,
  type Static,
  StringEnum,
  type TObject,
  type TSchema,
  Type,
} from '../../core/contract/index.ts'
import {
  anyRevision,
  type Precondition,
  parsePrecondition,
  preconditionHeaders,
} from '../../core/http/change-headers.ts'
import { Timestamp } from '../../core/http/schemas.ts'
import type { ResourceCommands } from '../../core/resources/commands.ts'
import { WRITE_ERRORS } from '../../core/resources/endpoints.ts'
import { newOperatorKey } from '../../core/util/ids.ts'
import type { OperatorAccount } from '../../projections/events/operators.ts'
import type { OperatorAccounts } from '../../projections/operator-accounts.ts'
import { hashApiKey } from './api-key.ts'
import type { createKeyIssuer } from './issue-key.ts'
import { endOfOverlap, KeyRotation, parseFutureTime } from './keys.ts'

interface RotationServices {
  readonly resource: { readonly schemas: { readonly id: TSchema; readonly shown: TObject } }
  readonly commands: Pick<ResourceCommands<OperatorAccount, never>, 'require' | 'write'>
  readonly issuer: Pick<ReturnType<typeof createKeyIssuer<OperatorAccount>>, 'respond' | 'responses'>
  readonly operators: Pick<OperatorAccounts, 'find' | 'lastSignIn'>
}

const HOUR_MS = 3_600_000

/** The hour of the last request; null if there was none. */
export function lastUseOf(id: string, { lastSignIn }: Pick<OperatorAccounts, 'lastSignIn'>): string | null {
  const usedAt = lastSignIn(id)
  return usedAt === undefined ? null : new Date(Math.floor(usedAt / HOUR_MS) * HOUR_MS).toISOString()
}

const ROTATION = {
  method: 'POST',
  tags: ['operators'],
  description: 'The replaced key stays valid for the overlap. The new key is returned only once.',
  body: KeyRotation,
  examples: { day: { overlap_seconds: 86_400 } },
  errors: [...WRITE_ERRORS, 'revision_mismatch', 'not_found'],
} as const

/** `GET /admin/operators/self` and `POST /admin/operators/self/rotate`, for operators of any role. */
export function createOwnKeyEndpoints(services: RotationServices): readonly Endpoint[] {
  const { resource, operators, issuer } = services
  const Self = Type.Object(
    {
      type: StringEnum(['operator', 'root'], { description: 'An operator, or the ADMIN_KEY.' }),
      id: Type.String({ description: 'Id of the operator, or root.' }),
      name: Type.String({ description: 'Name of the operator, or root.' }),
      role: StringEnum(OPERATOR_ROLES, { description: 'What the operator may do.' }),
      // The cast is safe: the resource has this field.
      scope: resource.schemas.shown.properties.scope as TSchema,
      expires_at: Nullable(Timestamp('When the key expires; null if it does not.')),
      last_used_at: Nullable(Timestamp('The hour of the last request; null if there was none.')),
    },
    { $id: 'OperatorSelf', description: 'Who calls.' },
  )
  return [
    endpoint({
      method: 'GET',
      path: '/admin/operators/self',
      access: operator('auditor', 'whole'),
      operationId: 'readSelf',
      summary: 'Returns the operator who calls.',
      tags: ['operators'],
      responses: { 200: { description: 'The operator.', body: data(Self) } },
      handle({ author: { actor } }) {
        const { type, id, name } = actor
        const account = type === 'operator' ? operators.find(id) : undefined
        const { role = 'admin', scope = null, expiresAt: expires_at = null } = account ?? {}
        const shown = { type, id, name, role, scope, expires_at, last_used_at: lastUseOf(id, operators) }
        return { status: 200, body: { data: shown } }
      },
    }),
    endpoint({
      ...ROTATION,
      path: '/admin/operators/self/rotate',
      access: operator('auditor', 'whole'),
      operationId: 'rotateOwnOperatorKey',
      summary: 'Replaces the key of the operator who calls.',
      responses: issuer.responses,
      handle({ author, body }) {
        if (author.actor.type === 'operator')
          return rotate(author.actor.id, body, anyRevision, author, services)
        const message = 'The ADMIN_KEY is no operator. Change it where the settings of the gateway are.'
        throw new GatewayError('not_found', message)
      },
    }),
  ]
}

/**
 * `POST /admin/operators/{id}/rotate`. See docs/decisions/operators.md, "An operator keeps at most one
 * replaced key".
 */
export function createRotation(services: RotationServices): Endpoint {
  return endpoint({
    ...ROTATION,
    path: '/admin/operators/{id}/rotate',
    access: operator('admin'),
    params: { id: services.resource.schemas.id },
    headers: preconditionHeaders('operator'),
    operationId: 'rotateOperatorKey',
    summary: 'Replaces the key of an operator.',
    responses: services.issuer.responses,
    handle({ params, headers, author, body }) {
      // The cast is safe: the parameter matches the schema.
      const { id } = params as { readonly id: string }
      return rotate(id, body, parsePrecondition(headers), author, services)
    },
  })
}

async function rotate(
  id: string,
  { overlap_seconds: overlapSeconds, expires_at }: Static<typeof KeyRotation>,
  expected: Precondition,
  author: Author,
  { commands, issuer }: RotationServices,
) {
  const given = expires_at === undefined ? undefined : parseFutureTime(expires_at)
  const key = newOperatorKey()
  const decide = () => {
    const { expiresAt, external, name } = commands.require(id, expected)
    if (external !== undefined) {
      const message = `${name} signs in at the identity provider, and has no key.`
      throw new GatewayError('conflict', message)
    }
    const data = {
      operatorId: id,
      hash: hashApiKey(key),
      expiresAt: given ?? requireFuture(expiresAt),
      replacedUntil: overlapSeconds === 0 ? null : endOfOverlap(overlapSeconds, expiresAt),
    }
    return [{ type: 'OperatorKeyRotated', data }]
  }
  const { after = commands.require(id) } = await commands.write(id, decide, author)
  return issuer.respond(after, key)
}

function requireFuture(expiresAt: string | null): string | null {
  if (expiresAt === null || Date.parse(expiresAt) > Date.now()) return expiresAt
  throw new GatewayError('conflict', 'The key has expired. Say in expires_at when the new one expires.')
}
