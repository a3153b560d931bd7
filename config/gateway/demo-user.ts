import { SYSTEM_ACTOR } from '../../core/event-log/actor.ts'
import type { State } from './state.ts'

/**
 * Creates the paid user `demo` on an empty event log and returns its key. Returns undefined if there is a
 * user already.
 */
export async function createDemoUser({ accounts, accountCommands }: State): Promise<string | undefined> {
  if (accounts.users().length > 0) return undefined
  const author = { actor: SYSTEM_ACTOR }
  const demo = await accountCommands.createFirstUser('demo', 'paid', author)
  if (demo === undefined) return undefined
  const { key } = await accountCommands.issueKey(demo.id, author)
  return key
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
