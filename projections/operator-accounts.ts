import type { OperatorRole } from '../core/contract/index.ts'
import type { SavedProjection } from './runtime/projection.ts'

/** A person or program that operates the gateway. */
export interface OperatorAccount {
  /** `operator_…`. */
  readonly id: string
  readonly name: string
  readonly role: OperatorRole
  /** SHA-256 of the key in hex. */
  readonly hash: string
  readonly createdAt: string
}

/** All operators, in memory. */
export interface OperatorAccounts extends SavedProjection {
  /** The operator with a key, by the key's SHA-256 in hex; undefined for an unknown or removed one. */
  byKeyHash(hash: string): OperatorAccount | undefined
  find(id: string): OperatorAccount | undefined
  /** Oldest first. */
  list(): readonly OperatorAccount[]
  /** Revision of the stream `operators`; -1 before the first operator. */
  revision(): number
}

export function createOperatorAccounts(): OperatorAccounts {
  const byId = new Map<string, OperatorAccount>()
  const idsByHash = new Map<string, string>()
  let revision = -1

  function put(operator: OperatorAccount): void {
    byId.set(operator.id, operator)
    idsByHash.set(operator.hash, operator.id)
  }

  return {
    name: 'operators',
    apply(event, record) {
      if (event.type === 'OperatorCreated') {
        const { operatorId: id, name, role, hash } = event.data
        put({ id, name, role, hash, createdAt: record.metadata.time })
      } else if (event.type === 'OperatorChanged') {
        const { operatorId, name, role } = event.data
        const operator = byId.get(operatorId)
        if (operator) put({ ...operator, ...(name !== undefined && { name }), ...(role && { role }) })
      } else if (event.type === 'OperatorRemoved') {
        const operator = byId.get(event.data.operatorId)
        if (operator) idsByHash.delete(operator.hash)
        byId.delete(event.data.operatorId)
      } else return
      revision = record.revision
    },
    byKeyHash: (hash) => byId.get(idsByHash.get(hash) ?? ''),
    find: (id) => byId.get(id),
    list: () => [...byId.values()],
    revision: () => revision,
    save: () => [JSON.stringify([revision, [...byId.values()]])],
    load(lines) {
      for (const line of lines) {
        const [savedRevision, operators]: [number, OperatorAccount[]] = JSON.parse(line.toString())
        revision = savedRevision
        for (const operator of operators) put(operator)
      }
    },
  }
}
