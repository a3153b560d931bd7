import { isPlan, type Plan } from '../../core/contract/index.ts'
import { anyRevision } from '../../core/http/change-headers.ts'
import { manageKeys } from '../../plugins/auth/manage-keys.ts'
import { listSuspendedRules } from '../../plugins/auth/suspended-rules.ts'
import { manageUsers } from '../../plugins/auth/users.ts'
import { type CommandArgs, UsageError } from './command.ts'
import { authorOf, withState } from './command-state.ts'

export function addUser(args: CommandArgs): Promise<void> {
  const { options, environment, print } = args
  const author = authorOf(args)
  const name = options.get('name') ?? ''
  const plan = parsePlan(options.get('plan'))
  return withState(environment, async (state) => {
    const user = await manageUsers(state).commands.create({ name, plan }, author)
    const key = await manageKeys(state).issue(user.id, author)
    print(JSON.stringify({ id: user.id, name, plan, key_id: key.id, key: key.key }))
  })
}

export function listUsers({ environment, print }: CommandArgs): Promise<void> {
  return withState(environment, async ({ accounts }) => {
    for (const { id, name, plan, keys } of accounts.users()) {
      const activeKeys = keys.filter(({ revokedAt }) => revokedAt === null).map((key) => key.id)
      print(JSON.stringify({ id, name, plan, keys: activeKeys }))
    }
  })
}

export function changePlan(args: CommandArgs): Promise<void> {
  const { operands, environment, print } = args
  const author = authorOf(args)
  const userId = parseUserId(operands[0])
  const plan = parsePlan(operands[1])
  return withState(environment, async (state) => {
    const { commands } = manageUsers(state)
    const { before, after } = await commands.change(userId, { plan }, anyRevision, author)
    const warnings = listSuspendedRules(before.plan, after.plan, state.rules.of(userId))
    const { id, name } = after
    print(JSON.stringify({ id, name, plan: after.plan, ...(warnings.length > 0 && { warnings }) }))
  })
}

export function addKey(args: CommandArgs): Promise<void> {
  const { operands, environment, print } = args
  const author = authorOf(args)
  const userId = parseUserId(operands[0])
  return withState(environment, async (state) => {
    const { id, key } = await manageKeys(state).issue(userId, author)
    print(JSON.stringify({ id, key }))
  })
}

export function revokeKey(args: CommandArgs): Promise<void> {
  const { operands, environment, print } = args
  const [keyId = ''] = operands
  const author = authorOf(args)
  return withState(environment, async (state) => {
    await manageKeys(state).revoke(keyId, author)
    print(JSON.stringify({ id: keyId, revoked: true }))
  })
}

function parseUserId(text = ''): number {
  if (!/^\d+$/.test(text)) throw new UsageError('USER must be the id of a user, an integer.')
  return Number(text)
}

function parsePlan(text = ''): Plan {
  if (!isPlan(text)) throw new UsageError('PLAN must be free or paid.')
  return text
}
