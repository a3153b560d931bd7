import type { State } from './state.ts'

/** On an empty log, makes the paid user `demo` and gives out its key; undefined when there is any user already. */
export async function createDemoUser({ accounts, accountCommands }: State): Promise<string | undefined> {
  if (accounts.users().length > 0) return undefined
  const author = { actor: 'system' }
  const demo = await accountCommands.createUser('demo', 'paid', author)
  const { key } = await accountCommands.issueKey(demo.id, author)
  return key
}
