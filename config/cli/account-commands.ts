import { isPlan, type Plan } from '../../core/contract/index.ts'
import { listSuspendedRules } from '../../plugins/auth/suspended-rules.ts'
import { type CommandArgs, UsageError } from './command.ts'
import { authorOf, withState } from './command-state.ts'

export function addUser(args: CommandArgs): Promise<void> {
  const { options, environment, print } = args
  const author = authorOf(args)
  const name = options.get('name') ?? ''
  const plan = parsePlan(options.get('plan'))
  return withState(environment, async ({ accountCommands }) => {
    const user = await accountCommands.createUser(name, plan, author)
    const key = await accountCommands.issueKey(user.id, author)
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
  return withState(environment, async ({ accounts, accountCommands, rules }) => {
    const before = accounts.user(userId)?.plan ?? plan
    const user = await accountCommands.changeUser(userId, { plan }, author)
    const warnings = listSuspendedRules(before, user.plan, rules.of(userId))
    const { id, name } = user
    print(JSON.stringify({ id, name, plan: user.plan, ...(warnings.length > 0 && { warnings }) }))
  })
}

export function addKey(args: CommandArgs): Promise<void> {
  const { operands, environment, print } = args
  const author = authorOf(args)
  const userId = parseUserId(operands[0])
  return withState(environment, async ({ accountCommands }) => {
    print(JSON.stringify(await accountCommands.issueKey(userId, author)))
  })
}

export function revokeKey(args: CommandArgs): Promise<void> {
  const { operands, environment, print } = args
  const [keyId = ''] = operands
  const author = authorOf(args)
  return withState(environment, async ({ accountCommands }) => {
    await accountCommands.revokeKey(keyId, author)
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
