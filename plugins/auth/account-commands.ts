import { type Author, GatewayError, type Plan, type RequestLimit } from '../../core/contract/index.ts'
import type { DomainEvent } from '../../core/events/codec.ts'
import { userStream } from '../../core/events/domain-events.ts'
import { newApiKey, newKeyId } from '../../core/util/ids.ts'
import type { Accounts, User } from '../../projections/accounts.ts'
import type { IdSource } from '../../projections/ids.ts'
import type { EventWriter } from '../../projections/runtime/write.ts'
import { hashApiKey } from './authenticate.ts'

/** Left out: the plan stays; the limit is the plan's from now on. */
interface UserChange {
  readonly plan?: Plan
  readonly requestsPerMinute?: RequestLimit
}

/** What administrators do with users and keys; each resolves when this node's projections show it. */
export interface AccountCommands {
  createUser(name: string, plan: Plan, author: Author): Promise<User>
  changeUser(userId: number, change: UserChange, author: Author): Promise<User>
  /** The key is given out here and never again. */
  issueKey(userId: number, author: Author): Promise<{ id: string; key: string }>
  revokeKey(keyId: string, author: Author): Promise<void>
}

export function createAccountCommands(
  accounts: Accounts,
  ids: IdSource,
  writer: EventWriter,
): AccountCommands {
  function find(userId: number): User {
    const user = accounts.user(userId)
    if (user === undefined) throw new GatewayError('not_found', `There is no user ${userId}.`)
    return user
  }

  async function write(userId: number, decide: () => readonly DomainEvent[], author: Author): Promise<User> {
    const revision = () => accounts.user(userId)?.revision ?? -1
    await writer.write({ stream: userStream(userId), revision, decide }, author)
    return find(userId)
  }

  return {
    async createUser(name, plan, author) {
      const userId = await ids.reserve(1, author)
      return write(userId, () => [{ type: 'UserCreated', data: { userId, name, plan } }], author)
    },
    async changeUser(userId, change, author) {
      return write(userId, () => decideChange(find(userId), change), author)
    },
    async issueKey(userId, author) {
      const id = newKeyId()
      const key = newApiKey()
      const decide = (): readonly DomainEvent[] => {
        find(userId)
        return [{ type: 'KeyIssued', data: { userId, keyId: id, hash: hashApiKey(key) } }]
      }
      await write(userId, decide, author)
      return { id, key }
    },
    async revokeKey(keyId, author) {
      const owner = accounts.ownerOfKey(keyId)
      if (owner === undefined) throw new GatewayError('not_found', `There is no key ${keyId}.`)
      const isActive = () => find(owner.id).keys.some((key) => key.id === keyId && key.revokedAt === null)
      const decide = (): readonly DomainEvent[] =>
        isActive() ? [{ type: 'KeyRevoked', data: { userId: owner.id, keyId } }] : []
      await write(owner.id, decide, author)
    },
  }
}

function decideChange(user: User, { plan, requestsPerMinute }: UserChange): readonly DomainEvent[] {
  const userId = user.id
  const events: DomainEvent[] = []
  if (plan !== undefined && plan !== user.plan) events.push({ type: 'PlanChanged', data: { userId, plan } })
  if (requestsPerMinute !== user.requestsPerMinute) {
    const limit = requestsPerMinute === undefined ? {} : { requestsPerMinute }
    events.push({ type: 'RequestLimitChanged', data: { userId, ...limit } })
  }
  return events
}
