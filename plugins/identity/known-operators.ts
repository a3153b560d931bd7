import {
  type Author,
  identityActor,
  type JsonObject,
  OPERATOR_ROLES,
  type OperatorRole,
} from '../../core/contract/index.ts'
import { answerInTime } from '../../core/threads/timeout.ts'
import { newOperatorId } from '../../core/util/ids.ts'
import {
  OPERATORS_STREAM,
  type OperatorAccount,
  type OperatorEvent,
} from '../../projections/events/operators.ts'
import type { OperatorAccounts } from '../../projections/operator-accounts.ts'
import type { EventWriter } from '../../projections/runtime/write.ts'
import { readTexts } from './claims.ts'
import type { ConsoleSettings } from './settings.ts'
import type { SignedIn } from './sign-in.ts'

interface KnownOperatorServices {
  readonly operators: Pick<OperatorAccounts, 'byExternal' | 'revision'>
  readonly writer: Pick<EventWriter, 'write' | 'checkAvailable'>
}

const MAX_NAME_LENGTH = 128

/**
 * Returns a function that makes the operators of the log agree with what the identity provider says of a
 * person, and resolves with the operator; undefined if the person has no role. Everything that differs is an
 * event whose actor is the subject: a new operator, another role or name, and the removal of one without a
 * role.
 */
export function createKnownOperators(roles: ConsoleSettings['roles'], services: KnownOperatorServices) {
  const { operators, writer } = services

  return async (person: SignedIn, requestId: string): Promise<OperatorAccount | undefined> => {
    const { issuer, subject, claims } = person
    const role = roleOf(claims, roles)
    const name = nameOf(claims, subject)
    const author: Author = { actor: identityActor({ issuer, subject }, name), requestId }
    const revision = operators.revision
    const decide = () => decideChange(operators.byExternal(issuer, subject), person, name, role)
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
  name: string,
  role: OperatorRole | undefined,
): readonly OperatorEvent[] {
  if (known === undefined) {
    if (role === undefined) return []
    const external = { issuer, subject }
    const data = { operatorId: newOperatorId(), name, role, scope: null, external }
    return [{ type: 'OperatorCreated', data }]
  }
  const operatorId = known.id
  if (role === undefined) return [{ type: 'OperatorRemoved', data: { operatorId } }]
  const changes = { ...(name !== known.name && { name }), ...(role !== known.role && { role }) }
  return Object.keys(changes).length === 0 ? [] : [{ type: 'OperatorChanged', data: { operatorId, changes } }]
}

/** The highest role of the values of the claim. Only values of the map count, whatever they are called. */
function roleOf(claims: JsonObject, { claim, map }: ConsoleSettings['roles']): OperatorRole | undefined {
  const given = readTexts(claims, claim).flatMap((value) => (Object.hasOwn(map, value) ? [map[value]] : []))
  return OPERATOR_ROLES.find((role) => given.includes(role))
}

function nameOf(claims: JsonObject, subject: string): string {
  const names = ['email', 'preferred_username', 'name'].flatMap((claim) => readTexts(claims, claim))
  return (names[0] ?? subject).slice(0, MAX_NAME_LENGTH)
}
