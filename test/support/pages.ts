import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { makeFolder } from './folders.ts'
import { ADMIN_KEY, type RunningGateway } from './gateway.ts'
import { ROOT } from './root.ts'

const execute = promisify(execFile)

/** The blocks of a page (from the project's root) in this language, in order. */
export async function readBlocks(page: string, language: 'sh' | 'yaml' | 'js'): Promise<readonly string[]> {
  const text = await readFile(new URL(page, ROOT), 'utf8')
  return [...text.matchAll(/```(\w+)\n(.*?)```/gs)].flatMap(([, name, block = '']) =>
    name === language ? [block] : [],
  )
}

/** The shell blocks of a page that call the gateway, in order. */
export async function readCurlBlocks(page: string): Promise<readonly string[]> {
  return (await readBlocks(page, 'sh')).filter((block) => block.includes('curl'))
}

/**
 * Runs a block as it stands, with the demo key and the admin key, at the gateway's real address. Rejects if a
 * response is an error or a variable is not set.
 */
export async function runBlock(gateway: RunningGateway, script = ''): Promise<string> {
  const env = { ...process.env, SIGNALBOX_KEY: gateway.demoKey, ADMIN_KEY }
  const here = script
    .replaceAll('http://127.0.0.1:8080', gateway.url)
    .replaceAll('curl ', 'curl --silent --show-error --fail ')
  return (await execute('sh', ['-euc', here], { env, cwd: await makeFolder() })).stdout
}

/** Pages can be run only where curl and jq are installed. */
export async function hasTools(): Promise<boolean> {
  const tools = ['curl', 'jq'].map((tool) => execute(tool, ['--version']))
  return Promise.all(tools).then(
    () => true,
    () => false,
  )
}
