import { type Author, type EventLog, GatewayError, type OperatorRole } from '../../core/contract/index.ts'
import type { AppliedChange } from '../../core/http/idempotency.ts'
import { answerInTime } from '../../core/threads/timeout.ts'
import { newOperatorId, newOperatorKey } from '../../core/util/ids.ts'
import {
  OPERATORS_STREAM,
  type OperatorAccount,
  type OperatorEvent,
} from '../../projections/events/operators.ts'
import { readChange } from '../../projections/history.ts'
import type { OperatorAccounts } from '../../projections/operator-accounts.ts'
import type { EventWriter } from '../../projections/runtime/write.ts'
import { hashApiKey } from './api-key.ts'

/** An operator with its key, which is not stored and cannot be retrieved again. */
export interface NewOperator {
  readonly operator: OperatorAccount
  readonly key: string
}

/**
 * Changes to operators. Each resolves when all processes of this node apply the change, and throws a
 * `GatewayError` with code `not_found` for an unknown operator.
 */
export interface OperatorCommands {
  create(name: string, role: OperatorRole, author: Author, key?: string): Promise<NewOperator>
  /** `check` may refuse the change of the operator as it is then. */
  change(
    id: string,
    change: { name?: string; role?: OperatorRole },
    author: Author,
    check?: CheckOperator,
  ): Promise<OperatorAccount>
  remove(id: string, author: Author, check?: CheckOperator): Promise<void>
  /**
   * Returns the operator that a request with an `Idempotency-Key` created before. Throws 409 if its key was
   * another one.
   */
  created(change: AppliedChange, key: string): Promise<NewOperator>
}

/** Throws if a change of the operator is refused. */
type CheckOperator = (operator: OperatorAccount) => void

export function createOperatorCommands(
  operators: OperatorAccounts,
  writer: EventWriter,
  log: Pick<EventLog, 'read'>,
): OperatorCommands {
  function requireOperator(id: string): OperatorAccount {
    const operator = operators.find(id)
    if (operator !== undefined) return operator
    throw operatorNotFoundError(id)
  }

  function write(decide: () => readonly OperatorEvent[], author: Author): Promise<unknown> {
    return writer.write({ stream: OPERATORS_STREAM, revision: operators.revision, decide }, author)
  }

  const commands: OperatorCommands = {
    async create(name, role, author, key = newOperatorKey()) {
      const operatorId = newOperatorId()
      const hash = hashApiKey(key)
      await write(() => [{ type: 'OperatorCreated', data: { operatorId, name, role, hash } }], author)
      return { operator: requireOperator(operatorId), key }
    },
    async change(id, change, author, check) {
      await write(() => {
        const operator = requireOperator(id)
        check?.(operator)
        const isUnchanged =
          (change.name ?? operator.name) === operator.name && (change.role ?? operator.role) === operator.role
        return isUnchanged ? [] : [{ type: 'OperatorChanged', data: { operatorId: id, ...change } }]
      }, author)
      return requireOperator(id)
    },
    async remove(id, author, check) {
      await write(() => {
        const operator = requireOperator(id)
        check?.(operator)
        return [{ type: 'OperatorRemoved', data: { operatorId: id } }]
      }, author)
    },
    async created(change, key) {
      const [{ event, record } = {}] = await readChange(log, change)
      if (event?.type !== 'OperatorCreated')
        throw new Error(`the events of stream ${change.stream} cannot be decoded`)
      const { operatorId: id, name, role, hash } = event.data
      const createdAt = record?.metadata.time ?? ''
      if (hash === hashApiKey(key)) return { operator: { id, name, role, hash, createdAt }, key }
      const message =
        `The first request created the operator ${id}, whose key can only be shown again with the same ` +
        'operator key. Remove it and create another one with a new Idempotency-Key.'
      throw new GatewayError('conflict', message)
    },
  }
  return {
    create: (...args) => answerInTime(commands.create(...args)),
    change: (...args) => answerInTime(commands.change(...args)),
    remove: (...args) => answerInTime(commands.remove(...args)),
    created: commands.created,
  }
}

export function operatorNotFoundError(id: string): GatewayError {
  return new GatewayError('not_found', `Operator ${id} was not found.`)
}
