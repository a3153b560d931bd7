import path from 'node:path'
import { SYSTEM_ACTOR } from '../../core/event-log/actor.ts'
import { manageKeys } from '../../plugins/auth/manage-keys.ts'
import { manageOperators } from '../../plugins/auth/operators.ts'
import { manageUsers } from '../../plugins/auth/users.ts'
import type { Gateway } from './gateway.ts'
import type { OpenState } from './state.ts'

/**
 * Returns the notice about the first user of an event log without users, undefined if there are users. While
 * the sandbox stands in for the providers, creates a user `demo` and shows the key, and an operator if
 * nobody could be one. Once a provider is configured, a key in the log could spend money, so the notice says
 * how to create a user. See docs/decisions/operators.md, "The first operator of a sandbox is shown to a
 * person".
 */
export async function introduceFirstUser(
  {
    state,
    baseUrl,
    sandboxUrl,
    hasOperators,
  }: Pick<Gateway, 'state' | 'baseUrl' | 'sandboxUrl' | 'hasOperators'>,
  isTerminal = process.stderr.isTTY,
): Promise<string | undefined> {
  if (sandboxUrl === undefined) {
    if (state.accounts.users().length > 0) return undefined
    return hasOperators() ? formatNoUserNotice() : formatNoUserNotice() + formatNoOperatorNotice()
  }
  const key = await createDemoUser(state)
  if (key === undefined) return undefined
  const notice = formatDemoNotice(baseUrl, key)
  if (hasOperators()) return notice
  if (!isTerminal) return notice + formatNoOperatorNotice()
  const operator = await manageOperators(state).create('demo', 'admin', { actor: SYSTEM_ACTOR })
  return notice + formatDemoOperatorNotice(operator.key)
}

/**
 * Creates the paid user `demo` on an empty event log and returns its key. Returns undefined if there is a
 * user already.
 */
export async function createDemoUser(state: OpenState): Promise<string | undefined> {
  if (state.accounts.users().length > 0) return undefined
  const author = { actor: SYSTEM_ACTOR }
  const demo = await manageUsers(state).createFirst('demo', 'paid', author)
  if (demo === undefined) return undefined
  const { key } = await manageKeys(state).issue(demo.id, author)
  return key
}

function formatNoUserNotice(): string {
  return [
    '',
    'There is no user yet. Create one on the same data folder or event store; its key is shown only once:',
    '',
    `  ${ownCommand()} users add --name Ada --plan paid`,
    '',
  ].join('\n')
}

function formatNoOperatorNotice(): string {
  return [
    '',
    'There is no operator, so nobody can manage users, policies and budgets. Start the gateway with a secret',
    'of at least 16 characters in ADMIN_KEY to be one.',
    '',
  ].join('\n')
}

function formatDemoOperatorNotice(key: string): string {
  return [
    '',
    'An operator "demo", who may do everything, was created as well. Its key, which also signs in to the',
    'console, is shown only once:',
    '',
    `  export ADMIN_KEY=${key}`,
    '',
  ].join('\n')
}

/** The command that started this program in the working directory: from a package, or from a clone. */
export function ownCommand(script = process.argv[1] ?? '', folder = process.cwd()): string {
  if (path.basename(script) === 'signalbox') return 'npx signalbox'
  const relative = path.relative(folder, script)
  return `node ${relative.startsWith('..') ? script : relative}`
}

/** The notice about the demo user of an empty event log, with the user's key. */
export function formatDemoNotice(baseUrl: string, key: string): string {
  return [
    '',
    `The event log was empty, so a paid user "demo" was created. Its key is shown only once:`,
    '',
    `  export SIGNALBOX_KEY=${key}`,
    '',
    `  curl ${baseUrl}/v1/chat/completions \\`,
    `    -H "Authorization: Bearer $SIGNALBOX_KEY" -H "Content-Type: application/json" \\`,
    `    -d '{"model":"auto:balance","messages":[{"role":"user","content":"Hello"}]}'`,
    '',
  ].join('\n')
}
