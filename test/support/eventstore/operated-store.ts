import { exec } from 'node:child_process'
import { promisify } from 'node:util'
import type { StoreUnderTest } from './store-under-test.ts'

/** A store that a command of its operator controls. */
export interface OperatedStore {
  readonly connectionString: string
  /** Is run by the shell, with an action and its argument appended, such as `kill 0`. */
  readonly command: string
}

/** Long enough for a server to start, in milliseconds. */
const COMMAND_TIMEOUT_MS = 120_000

/** Controls a store by its operator's command. A command that fails, fails the test. */
export function operateStore({ connectionString, command }: OperatedStore): StoreUnderTest {
  const run = async (action: string, argument: number | string = '') => {
    const { stdout } = await promisify(exec)(`${command} ${action} ${argument}`, {
      timeout: COMMAND_TIMEOUT_MS,
    })
    return stdout.trim()
  }
  const act = (action: string) => async (argument?: number | string) => void (await run(action, argument))
  return {
    connectionString,
    async leader() {
      const answer = await run('leader')
      if (!/^\d+$/.test(answer)) throw new Error(`"${command} leader" must print the number of a node`)
      return Number(answer)
    },
    kill: act('kill'),
    start: act('start'),
    freeze: act('freeze'),
    thaw: act('thaw'),
    save: act('save'),
    load: act('load'),
    wipe: act('wipe'),
    close: async () => undefined,
  }
}
