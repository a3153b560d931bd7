import { isPlan, type Plan } from '../../core/contract/index.ts'
import { createLogger } from '../../core/process/logger.ts'
import { openState, type State } from '../gateway/state.ts'
import type { Environment } from '../settings/environment.ts'
import { readSettings } from '../settings/settings.ts'
import { type CommandArgs, UsageError } from './command.ts'
import { printLine } from './stdout.ts'

/** Recorded with the events of commands. */
const AUTHOR = { actor: 'cli' }

export function addUser({ options, environment }: CommandArgs): Promise<void> {
  const name = options.get('name') ?? ''
  const plan = parsePlan(options.get('plan'))
  return withState(environment, async ({ accountCommands }) => {
    const user = await accountCommands.createUser(name, plan, AUTHOR)
    const key = await accountCommands.issueKey(user.id, AUTHOR)
    printJson({ id: user.id, name, plan, key_id: key.id, key: key.key })
  })
}

export function listUsers({ environment }: CommandArgs): Promise<void> {
  return withState(environment, async ({ accounts }) => {
    for (const { id, name, plan, keys } of accounts.users()) {
      const activeKeys = keys.filter(({ revokedAt }) => revokedAt === null).map((key) => key.id)
      printJson({ id, name, plan, keys: activeKeys })
    }
  })
}

export function changePlan({ operands, environment }: CommandArgs): Promise<void> {
  const userId = parseUserId(operands[0])
  const plan = parsePlan(operands[1])
  return withState(environment, async ({ accountCommands }) => {
    const user = await accountCommands.changeUser(userId, { plan }, AUTHOR)
    printJson({ id: user.id, name: user.name, plan: user.plan })
  })
}

export function addKey({ operands, environment }: CommandArgs): Promise<void> {
  const userId = parseUserId(operands[0])
  return withState(environment, async ({ accountCommands }) => {
    printJson(await accountCommands.issueKey(userId, AUTHOR))
  })
}

export function revokeKey({ operands: [keyId = ''], environment }: CommandArgs): Promise<void> {
  return withState(environment, async ({ accountCommands }) => {
    await accountCommands.revokeKey(keyId, AUTHOR)
    printJson({ id: keyId, revoked: true })
  })
}

async function withState(environment: Environment, run: (state: State) => Promise<void>): Promise<void> {
  const settings = readSettings(environment)
  const state = await openState(settings, createLogger(settings.log_level))
  try {
    await run(state)
  } finally {
    await state.close()
  }
}

function parseUserId(text = ''): number {
  if (!/^\d+$/.test(text)) throw new UsageError('USER must be the id of a user, an integer.')
  return Number(text)
}

function parsePlan(text = ''): Plan {
  if (!isPlan(text)) throw new UsageError('PLAN must be free or paid.')
  return text
}

function printJson(value: object): void {
  printLine(JSON.stringify(value))
}
