import { isDeepStrictEqual } from 'node:util'
import {
  type Author,
  identityActor,
  type JsonObject,
  OPERATOR_ROLES,
  type OperatorRole,
} from '../../core/contract/index.ts'
import { answerInTime } from '../../core/threads/timeout.ts'
import { newOperatorId } from '../../core/util/ids.ts'
import type { Group } from '../../projections/events/groups.ts'
import {
  OPERATORS_STREAM,
  type OperatorAccount,
  type OperatorEvent,
} from '../../projections/events/operators.ts'
import type { Groups } from '../../projections/groups.ts'
import type { OperatorAccounts } from '../../projections/operator-accounts.ts'
import type { EventWriter } from '../../projections/runtime/write.ts'
import { cutName, readTexts } from './claims.ts'
import type { ConsoleSettings } from './settings.ts'
import type { SignedIn } from './sign-in.ts'

interface KnownOperatorServices {
  readonly operators: Pick<OperatorAccounts, 'byExternal' | 'revision'>
  readonly groups: Pick<Groups, 'groups'>
  readonly writer: Pick<EventWriter, 'write' | 'checkAvailable'>
}

/** What the provider says of an operator. */
interface ClaimedOperator {
  readonly name: string
  /** Undefined: the person is no operator. */
  readonly role: OperatorRole | undefined
  /** Undefined if the provider does not say it. */
  readonly scope: OperatorAccount['scope'] | undefined
}

/**
 * Returns a function that makes the operators of the log agree with what the identity provider says of a
 * person, and resolves with the operator; undefined if the person has no role. Everything that differs is an
 * event whose actor is the subject: a new operator, another role, scope or name, and the removal of one
 * without a role.
 */
export function createKnownOperators(
  { roles, scope }: Pick<ConsoleSettings, 'roles' | 'scope'>,
  services: KnownOperatorServices,
) {
  const { operators, groups, writer } = services

  return async (person: SignedIn, requestId: string): Promise<OperatorAccount | undefined> => {
    const { issuer, subject, claims } = person
    const name = nameOf(claims, subject)
    const claimed = {
      ...{ name, role: roleOf(claims, roles) },
      scope: scope && scopeOf(claims, scope, groups.groups()),
    }
    const author: Author = { actor: identityActor({ issuer, subject }, name), requestId }
    const revision = operators.revision
    const decide = () => decideChange(operators.byExternal(issuer, subject), person, claimed)
    if (decide().length > 0) {
      writer.checkAvailable()
      await answerInTime(writer.write({ stream: OPERATORS_STREAM, revision, decide }, author))
    }
    return operators.byExternal(issuer, subject)
  }
}

function decideChange(
  known: OperatorAccount | undefined,
  { issuer, subject }: SignedIn,
  { name, role, scope }: ClaimedOperator,
): readonly OperatorEvent[] {
  if (known === undefined) {
    if (role === undefined) return []
    const external = { issuer, subject }
    const data = { operatorId: newOperatorId(), name, role, scope: scope ?? null, external }
    return [{ type: 'OperatorCreated', data }]
  }
  const operatorId = known.id
  if (role === undefined) return [{ type: 'OperatorRemoved', data: { operatorId } }]
  const changes = {
    ...(name !== known.name && { name }),
    ...(role !== known.role && { role }),
    ...(scope !== undefined && !isDeepStrictEqual(scope, known.scope) && { scope }),
  }
  return Object.keys(changes).length === 0 ? [] : [{ type: 'OperatorChanged', data: { operatorId, changes } }]
}

/** The groups that the claim names, as far as they exist; null for everything. */
function scopeOf(
  claims: JsonObject,
  { claim, map }: NonNullable<ConsoleSettings['scope']>,
  groups: readonly Group[],
): OperatorAccount['scope'] {
  const names = readTexts(claims, claim).flatMap((value) => (Object.hasOwn(map, value) ? [map[value]] : []))
  if (names.includes('*')) return null
  return { groups: groups.filter(({ name }) => names.includes(name)).map(({ id }) => id) }
}

/** The highest role of the values of the claim. Only values of the map count, whatever they are called. */
function roleOf(claims: JsonObject, { claim, map }: ConsoleSettings['roles']): OperatorRole | undefined {
  const given = readTexts(claims, claim).flatMap((value) => (Object.hasOwn(map, value) ? [map[value]] : []))
  return OPERATOR_ROLES.find((role) => given.includes(role))
}

function nameOf(claims: JsonObject, subject: string): string {
  const names = ['email', 'preferred_username', 'name'].flatMap((claim) => readTexts(claims, claim))
  return cutName(names[0] ?? subject)
}
