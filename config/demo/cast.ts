import { type Account, type Author, keyActor } from '../../core/contract/index.ts'
import { ROOT_ACTOR } from '../../core/event-log/actor.ts'
import type { Issued } from '../../plugins/auth/issue-key.ts'
import { manageKeys } from '../../plugins/auth/manage-keys.ts'
import { manageOperators } from '../../plugins/auth/operators.ts'
import { manageUsers } from '../../plugins/auth/users.ts'
import { applyFile, type RulesFileServices } from '../../plugins/rules-file/apply.ts'
import type { OperatorAccount } from '../../projections/events/operators.ts'
import type { Key } from '../../projections/events/users.ts'
import type { OpenState } from '../gateway/state.ts'
import type { DemoChange, SpentUsd } from './changes.ts'
import type { ManageDemoTools } from './manage-tools.ts'
import { DEMO_OPERATORS, DEMO_USERS, type DemoUser } from './users.ts'

type CastServices = RulesFileServices &
  Pick<OpenState, 'accounts' | 'log' | 'ids' | 'identities' | 'operators' | 'history'>

interface CastMember {
  readonly user: DemoUser
  readonly userId: number
  /** The current key by name. */
  readonly keys: Map<string, Issued<Key>>
}

/** Secrets to try the demo with. */
export interface DemoKeys {
  readonly operatorKey: string
  readonly userKey: string
  /** Of a user whose agents call tools. */
  readonly agentKey: string
}

/** Who is in the demo so far, and how they make changes: with the commands of the endpoints. */
export class DemoCast {
  readonly #services: CastServices
  readonly #manageTools: ManageDemoTools
  readonly #operators = new Map<string, Issued<OperatorAccount>>()
  readonly #members = new Map<string, CastMember>()

  constructor(services: CastServices, manageTools: ManageDemoTools) {
    this.#services = services
    this.#manageTools = manageTools
  }

  async addOperators(): Promise<void> {
    const author = { actor: ROOT_ACTOR, reason: 'First operators' }
    for (const { name, role } of DEMO_OPERATORS)
      this.#operators.set(name, await manageOperators(this.#services).create(name, role, author))
  }

  async addUser(user: DemoUser): Promise<void> {
    const keyCommands = manageKeys(this.#services)
    const author = this.authorOf(DEMO_OPERATORS[0].name, `Access for ${user.name}`)
    const { id: userId } = await manageUsers(this.#services).commands.create(
      { name: user.name, plan: user.plan },
      author,
    )
    const keys = new Map<string, Issued<Key>>()
    for (const name of user.keys) keys.set(name, await keyCommands.issue(userId, author, { name }))
    this.#members.set(user.name, { user, userId, keys })
  }

  /** `sumSpending` returns what the user with an id, or everybody, has spent so far. */
  async makeChange(
    change: DemoChange,
    sumSpending: (period: 'month' | 'all', userId?: number) => number,
  ): Promise<void> {
    const { by, reason, file, rotate, tools } = change
    const author = this.authorOf(by, reason)
    if (tools) await this.#manageTools(tools, author)
    if (rotate) {
      const { keys } = this.#member(rotate.user)
      const { id } = this.#key(rotate.user, rotate.key)
      const rotation = { overlapSeconds: 86_400 }
      keys.set(rotate.key, await manageKeys(this.#services).rotate(id, rotation, author))
    }
    const spentUsd: SpentUsd = (period, name) =>
      sumSpending(period, name === undefined ? name : this.#member(name).userId)
    const document = typeof file === 'function' ? file(spentUsd) : file
    if (document) await applyFile(document, {}, this.#services, author)
  }

  /** The users so far. */
  users(): readonly DemoUser[] {
    return [...this.#members.values()].map(({ user }) => user)
  }

  /** The caller of a request with a key. */
  accountOf({ name }: DemoUser, keyName: string): Account {
    const { userId, user } = this.#member(name)
    const position = this.#services.accounts.user(userId)?.position ?? 0
    return { userId, name, plan: user.plan, keyId: this.#key(name, keyName).id, position }
  }

  /** The operator who trains routers. */
  trainer(): Author {
    return this.authorOf(DEMO_OPERATORS[1].name, 'OPS-131: ratings of the period')
  }

  keys(): DemoKeys {
    const operatorKey = this.#operators.get(DEMO_OPERATORS[0].name)?.key ?? ''
    const keyOf = ({ name, keys }: DemoUser) => this.#key(name, keys[0]).key
    const agent = DEMO_USERS.find(({ sessionHeader }) => sessionHeader !== undefined)
    return { operatorKey, userKey: keyOf(DEMO_USERS[0]), agentKey: agent ? keyOf(agent) : '' }
  }

  /** An operator, or a user with their first key. */
  authorOf(name: string, reason?: string): Author {
    const operator = this.#operators.get(name)
    const actor = operator
      ? ({ type: 'operator', id: operator.id, name } as const)
      : keyActor({ keyId: this.#key(name, this.#member(name).user.keys[0]).id, name })
    return { actor, ...(reason !== undefined && { reason }) }
  }

  #member(name: string): CastMember {
    const member = this.#members.get(name)
    if (member === undefined) throw new Error(`the demo has no user ${name} yet`)
    return member
  }

  #key(user: string, name: string): Issued<Key> {
    const key = this.#member(user).keys.get(name)
    if (key === undefined) throw new Error(`the user ${user} of the demo has no key ${name}`)
    return key
  }
}
