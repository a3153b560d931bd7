import { foldOperator, type OperatorAccount } from './events/operators.ts'
import type { SavedProjection } from './runtime/projection.ts'

/** All operators, in memory. */
export interface OperatorAccounts extends SavedProjection {
  /** The operator with a valid key, by the key's SHA-256 in hex. */
  byKeyHash(hash: string): OperatorAccount | undefined
  /** The operator with a key that has expired and was not replaced since. */
  byExpiredKeyHash(hash: string): OperatorAccount | undefined
  /** The operator who is a subject of an identity provider. */
  byExternal(issuer: string, subject: string): OperatorAccount | undefined
  find(id: string): OperatorAccount | undefined
  /** Oldest first. */
  list(): readonly OperatorAccount[]
  /** Unix time in milliseconds of the newest recorded sign-in of an operator or of root. */
  lastSignIn(actorId: string): number | undefined
  /** Whether somebody has signed out of a session of the console, by its id in the event. */
  isSessionEnded(session: string): boolean
  /** Revision of the stream `operators`; -1 before the first operator. */
  revision(): number
}

type SavedOperators = [
  revision: number,
  operators: OperatorAccount[],
  signIns: [string, number][],
  endedSessions: [string, number][],
]

export function createOperatorAccounts(): OperatorAccounts {
  const byId = new Map<string, OperatorAccount>()
  const idsByHash = new Map<string, string>()
  const idsBySubject = new Map<string, string>()
  const signIns = new Map<string, number>()
  /** When each would have expired. */
  const endedSessions = new Map<string, number>()
  let revision = -1

  function endSession(session: string, expiresAtMs: number): void {
    for (const [id, expiry] of endedSessions) if (expiry <= Date.now()) endedSessions.delete(id)
    endedSessions.set(session, expiresAtMs)
  }

  function put(operator: OperatorAccount): void {
    const before = byId.get(operator.id)
    if (before) forgetKeys(before)
    byId.set(operator.id, operator)
    for (const hash of keysOf(operator)) idsByHash.set(hash, operator.id)
    if (operator.external) idsBySubject.set(subjectKey(operator.external), operator.id)
  }

  function forgetKeys(operator: OperatorAccount): void {
    for (const hash of keysOf(operator)) idsByHash.delete(hash)
  }

  function remove(operator: OperatorAccount): void {
    forgetKeys(operator)
    if (operator.external) idsBySubject.delete(subjectKey(operator.external))
    byId.delete(operator.id)
    signIns.delete(operator.id)
  }

  return {
    name: 'operators',
    apply(event, record) {
      if (event.type === 'OperatorSignedIn')
        signIns.set(record.metadata.actor.id, Date.parse(record.metadata.time))
      if (event.type === 'SessionEnded') endSession(event.data.session, Date.parse(event.data.expiresAt))
      if (!foldOperator.has(event)) return
      const { operatorId } = event.data
      const before = byId.get(operatorId)
      const after = foldOperator(before, event, record)
      if (after !== undefined) put(after)
      else if (before !== undefined) remove(before)
      revision = record.revision
    },
    byKeyHash(hash) {
      const operator = byId.get(idsByHash.get(hash) ?? '')
      return operator && isExpired(operator, hash) ? undefined : operator
    },
    byExpiredKeyHash(hash) {
      const operator = byId.get(idsByHash.get(hash) ?? '')
      return operator && isExpired(operator, hash) ? operator : undefined
    },
    byExternal: (issuer, subject) => byId.get(idsBySubject.get(subjectKey({ issuer, subject })) ?? ''),
    find: (id) => byId.get(id),
    list: () => [...byId.values()],
    lastSignIn: (actorId) => signIns.get(actorId),
    isSessionEnded: (session) => endedSessions.has(session),
    revision: () => revision,
    save: () => [JSON.stringify([revision, [...byId.values()], [...signIns], [...endedSessions]])],
    load(lines) {
      for (const line of lines) {
        const saved: SavedOperators = JSON.parse(line.toString())
        revision = saved[0]
        for (const operator of saved[1]) put(operator)
        for (const [id, time] of saved[2]) signIns.set(id, time)
        for (const [session, time] of saved[3]) endedSessions.set(session, time)
      }
    },
  }
}

/** The hashes of the key of an operator, and of the one that it has replaced. */
function keysOf({ hash, replaced }: OperatorAccount): readonly string[] {
  return [hash, replaced?.hash].filter((each) => each !== undefined)
}

function isExpired({ hash, expiresAt, replaced }: OperatorAccount, given: string): boolean {
  const end = given === hash ? expiresAt : replaced?.expiresAt
  return end !== null && end !== undefined && Date.now() >= Date.parse(end)
}

function subjectKey({ issuer, subject }: NonNullable<OperatorAccount['external']>): string {
  return JSON.stringify([issuer, subject])
}
